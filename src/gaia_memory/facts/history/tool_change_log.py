"""What tools changed, as it is noted until it may no longer be taken back."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping
from datetime import datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import LargeBinary, Row, Table, delete, func, insert, select, update

from gaia_memory.database.id_encoding import encode_id
from gaia_memory.facts import scopes
from gaia_memory.facts.current import current_or_past
from gaia_memory.facts.history.fact_history import undo_endings
from gaia_memory.facts.history.move_facts import SHARED_NAMES, move_to_current
from gaia_memory.facts.history.timeline import load_texts
from gaia_memory.facts.identity.text_identity import normal_hash
from gaia_memory.facts.rows import DETAIL_DEFAULTS, FACT_COLUMNS, fact_of, to_epoch_seconds
from gaia_memory.facts.tables import (
    announcements,
    changes,
    endings,
    facts,
    past_facts,
    sources,
    tombstones,
    tool_changes,
    undecided_facts,
)
from gaia_memory.facts.tombstones import ID_PREFIX
from gaia_memory.models import Draft, NewFact, NotedChange, ToolChange, ToolTurn

if TYPE_CHECKING:
    from gaia_memory.facts.history.corrections import Corrections
    from gaia_memory.facts.reconciling.keyed_facts import KeyedFacts
    from gaia_memory.facts.tombstones import Tombstones
    from gaia_memory.models import Fact, Scope, SessionKey
    from gaia_memory.ports import Transaction

NOTED_SECONDS = 86_400.0
"""How long a change by a tool may be taken back; what one has forgotten is erased earlier."""

_COMPARED_NAMES = {"text", "metadata", *DETAIL_DEFAULTS} - {"agent", "first_said_at", "in_doubt_since"}
_TABLES: tuple[Table, ...] = (past_facts, sources, endings, announcements, undecided_facts, tool_changes)
_CURRENT = "current"


class ToolChanges:
    """Notes what tools change, and takes it back."""

    def __init__(self, corrections: Corrections, keys: KeyedFacts, tombstones: Tombstones) -> None:
        """Take what goes back to earlier wordings, and what a withdrawn fact that comes back settles and removes."""
        self._corrections, self._keys, self._tombstones = corrections, keys, tombstones

    async def before_change(
        self, tx: Transaction, scope: Scope, *, fact_id: str | None = None, text: str = ""
    ) -> dict[str, Any]:
        """Return a fact, by its id or text, for `note_change`; empty if it is not stored."""
        is_meant = facts.c.normal == normal_hash(text) if fact_id is None else facts.c.id == fact_id
        in_scope = facts.c.partition == scope.partition
        row = (await tx.execute(select(*FACT_COLUMNS).where(in_scope, is_meant, current_or_past()))).first()
        return {} if row is None else {**row._mapping, "number": await _last_number(tx, scope, row.id)}

    async def note_change(
        self, tx: Transaction, scope: Scope, turn: ToolTurn, fact_id: str, before: Mapping[str, Any], *, now: datetime
    ) -> bool:
        """Note what a tool did to a fact, unless it is as it was `before`, or was made and forgotten in this turn.

        Of one that is forgotten, `before` has the stored rows, `number` and perhaps `erase_at`, until which they are
        kept; return whether they are.
        """
        earlier = [row for row in before.get(tool_changes.name, ()) if row["invocation_id"] == turn.invocation_id]
        if any(row["action"] == "remembered" for row in earlier):
            return False
        after = await self.before_change(tx, scope, fact_id=fact_id)
        if before and after and all(before[name] == after[name] for name in _COMPARED_NAMES):
            return False
        made_at = to_epoch_seconds(now)
        is_old = tool_changes.c.erase_at.is_(None), tool_changes.c.made_at < made_at - NOTED_SECONDS
        await tx.execute(delete(tool_changes).where(tool_changes.c.partition == scope.partition, *is_old))
        changed_id, erase_at = before.get("id", fact_id), before.get("erase_at")
        values = {
            "partition": scope.partition,
            "app": encode_id(turn.key.app),
            "session_id": encode_id(turn.key.session),
            "invocation_id": turn.invocation_id,
            "fact_id": changed_id,
            "action": "forgot" if not after else "changed" if before else "remembered",
            "made_at": made_at,
            "number_before": before.get("number", 0),
            "number": await _last_number(tx, scope, changed_id),
            "state": None if not before or (not after and erase_at is None) else dict(before),
            "erase_at": erase_at,
        }
        await tx.execute(insert(tool_changes), values)
        return erase_at is not None

    async def stored_rows(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, Any]:
        """Return all that is stored of facts of this scope."""
        ids = sorted(fact_ids)
        is_meant = facts.c.partition == scope.partition, facts.c.id.in_(ids)
        shared = select(*(facts.c[name] for name in SHARED_NAMES)).where(*is_meant, current_or_past())
        found: dict[str, Any] = {_CURRENT: [_to_json(row) for row in await tx.execute(shared)]}
        for table in _TABLES:
            columns = [column for column in table.c if column.name != "row" or table is past_facts]
            is_its = (table.c.id if table is past_facts else table.c.fact_id).in_(ids)
            rows = await tx.execute(select(*columns).where(is_its).order_by(*table.primary_key))
            found[table.name] = [_to_json(row) for row in rows]
        return found

    async def noted_changes(
        self, tx: Transaction, scope: Scope, key: SessionKey, invocation_id: str | None = None
    ) -> list[NotedChange]:
        """Return what is noted of a turn of a conversation, by default the last one that has any, oldest first."""
        of_key = [tool_changes.c.partition == scope.partition, tool_changes.c.app == encode_id(key.app)]
        of_key.append(tool_changes.c.session_id == encode_id(key.session))
        if invocation_id is None:
            newest = select(tool_changes.c.invocation_id).where(*of_key).order_by(tool_changes.c.row.desc()).limit(1)
            invocation_id = (await tx.execute(newest)).scalar_one_or_none()
        of_turn = select(tool_changes).where(*of_key, tool_changes.c.invocation_id == invocation_id)
        rows = (await tx.execute(of_turn.order_by(tool_changes.c.row))).all()
        texts = await load_texts(tx, scope, [row.fact_id for row in rows])
        return [
            NotedChange(
                row=row.row,
                turn=ToolTurn(key, row.invocation_id),
                change=await _describe(tx, scope, row, texts),
                state=row.state,
                is_latest=row.number == await _last_number(tx, scope, row.fact_id),
            )
            for row in rows
        ]

    async def take_back(self, tx: Transaction, scope: Scope, noted: NotedChange, *, now: datetime) -> bool:
        """Delete the note and return whether the change could be taken back.

        Of a fact that was remembered, only what it ended is taken back.
        """
        fact_id, action, state = noted.change["id"], noted.change["action"], noted.state or {}
        statement = delete(tool_changes).where(tool_changes.c.row == noted.row).returning(tool_changes)
        row = (await tx.execute(statement)).one()
        if not noted.is_latest or (action == "forgot" and not await self._put_back(tx, scope, state, now)):
            return False
        is_ended_by_it = _ended_by(scope, fact_id), endings.c.noted_at >= row.made_at, ~_is_wording_of(scope, fact_id)
        ended = (await tx.execute(select(endings.c.row).where(*is_ended_by_it))).scalars().all()
        if action == "changed":
            normal = normal_hash(state["text"])
            is_wording = (past_facts.c.wording_of == fact_id) | (past_facts.c.id == fact_id)
            is_meant = past_facts.c.partition == scope.partition, past_facts.c.normal == normal, is_wording
            earlier = (await tx.execute(select(past_facts.c.id).where(*is_meant))).scalars().first()
            if earlier is not None:
                await self._corrections.restore(tx, scope, earlier, actor="person", now=now)
            else:
                fact = _fact_of_state(state, scope)
                details = {name: getattr(fact, name) for name in DETAIL_DEFAULTS}
                draft = Draft(fact=NewFact(fact.text, metadata=fact.metadata, **details), source=fact.source)
                await self._corrections.reword(tx, scope, fact_id, draft, actor="person", now=now)
        if action != "forgot" and ended:
            await undo_endings(tx, scope, ended, now=now)
        # What was noted before, and nothing came in between, may be taken back next.
        is_next = tool_changes.c.partition == scope.partition, tool_changes.c.fact_id == fact_id
        latest = {"number": await _last_number(tx, scope, fact_id)}
        await tx.execute(
            update(tool_changes).where(*is_next, tool_changes.c.number == row.number_before).values(latest)
        )
        return True

    async def _put_back(self, tx: Transaction, scope: Scope, rows: Mapping[str, Any], now: datetime) -> bool:
        """Store a withdrawn fact again as it was; False if its rows are erased or somebody has said it since."""
        if not rows:
            return False
        is_same = facts.c.partition == scope.partition, facts.c.normal.in_([row["normal"] for row in rows[_CURRENT]])
        if (await tx.execute(select(facts.c.id).where(*is_same, current_or_past()))).first() is not None:
            return False
        state = await scopes.bump_revision(tx, scope)
        await self._tombstones.remove_tombstones(tx, scope, [row["text"] for row in rows[_CURRENT]])
        ids = [row["id"] for row in (*rows[_CURRENT], *rows[past_facts.name])]
        marks = tombstones.c.hash.in_([ID_PREFIX + each for each in ids])
        await tx.execute(delete(tombstones).where(tombstones.c.partition == scope.partition, marks))
        for table, stored in ((past_facts, rows[_CURRENT]), *((table, rows[table.name]) for table in _TABLES)):
            if stored:
                await tx.execute(insert(table), [_from_json(table, scope, row) for row in stored])
        current_ids = [row["id"] for row in rows[_CURRENT]]
        await move_to_current(tx, scope, current_ids, state)
        await self._keys.settle_keys(tx, scope, [(fact_id, "person", None) for fact_id in current_ids], now=now)
        return True

    async def withdrawn(self, tx: Transaction, scope: Scope) -> list[Fact]:
        """Return the facts that tools have forgotten and that are not erased yet."""
        rows = [each for row in await _waiting(tx, scope) for each in row.state[_CURRENT] if each["id"] == row.fact_id]
        return [_fact_of_state(row, scope) for row in rows]

    async def drop_withdrawn(
        self, tx: Transaction, scope: Scope, *, fact_id: str | None = None, session_id: str | None = None
    ) -> int:
        """Delete those of them with this id or a source in this conversation, by default all; return how many."""
        session = None if session_id is None else encode_id(session_id)
        dropped = [
            row.row
            for row in await _waiting(tx, scope)
            if fact_id in (None, row.fact_id)
            and (session is None or any(each["session_id"] == session for each in row.state[sources.name]))
        ]
        await tx.execute(delete(tool_changes).where(tool_changes.c.row.in_(dropped)))
        return len(dropped)


async def _last_number(tx: Transaction, scope: Scope, fact_id: str) -> int:
    """Return the number of the last thing that happened to a fact."""
    of_fact = changes.c.partition == scope.partition, changes.c.fact_id == fact_id
    return (await tx.execute(select(func.max(changes.c.number)).where(*of_fact))).scalar_one() or 0


async def _describe(tx: Transaction, scope: Scope, row: Row[Any], texts: Mapping[str, str]) -> ToolChange:
    state, before = row.state or {}, None
    if row.action == "forgot":
        earlier = [
            each["state"]
            for each in state.get(tool_changes.name, ())
            if each["state"] and each["invocation_id"] == row.invocation_id and "text" in each["state"]
        ]
        current = [each for each in state.get(_CURRENT, ()) if each["id"] == row.fact_id]
        before = next((each["text"] for each in (*earlier, *current)), None)
    elif row.action == "changed":
        before = state["text"]
    else:
        replaced = select(endings.c.fact_id).where(_ended_by(scope, row.fact_id), endings.c.noted_at >= row.made_at)
        ended = await load_texts(tx, scope, list((await tx.execute(replaced)).scalars()))
        before = next(iter(ended.values()), None)
    return ToolChange(action=row.action, id=row.fact_id, before=before, after=texts.get(row.fact_id))


def _ended_by(scope: Scope, fact_id: str) -> Any:
    return (endings.c.partition == scope.partition) & (endings.c.ended_by == fact_id) & endings.c.undone_at.is_(None)


def _is_wording_of(scope: Scope, fact_id: str) -> Any:
    wordings = select(past_facts.c.id).where(
        past_facts.c.partition == scope.partition, past_facts.c.wording_of == fact_id
    )
    return endings.c.fact_id.in_(wordings)


async def _waiting(tx: Transaction, scope: Scope) -> list[Row[Any]]:
    """Return the notes of a scope that hold what tools have forgotten."""
    in_scope = tool_changes.c.partition == scope.partition, tool_changes.c.erase_at.is_not(None)
    return list(await tx.execute(select(tool_changes).where(*in_scope).order_by(tool_changes.c.row)))


def _fact_of_state(state: Mapping[str, Any], scope: Scope) -> Fact:
    """Return a fact as it was noted, perhaps by a version that knew fewer details."""
    return fact_of(cast(Any, SimpleNamespace(**{**DETAIL_DEFAULTS, **state})), scope)


def _to_json(row: Row[Any]) -> dict[str, Any]:
    return {
        name: b64encode(value).decode() if isinstance(value, bytes) else value for name, value in row._mapping.items()
    }


def _from_json(table: Table, scope: Scope, row: Mapping[str, Any]) -> dict[str, Any]:
    binary = {name for name in row if isinstance(table.c[name].type, LargeBinary) and row[name] is not None}
    own = {"partition": scope.partition} if "partition" in row else {}
    return {**row, **{name: b64decode(row[name]) for name in binary}, **own}
