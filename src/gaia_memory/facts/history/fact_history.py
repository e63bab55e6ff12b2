"""The part of the fact store that ends facts and undoes that."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, delete, insert, select, update
from typing_extensions import override

from gaia_memory.database.id_encoding import decode_id, encode_id
from gaia_memory.facts import scopes, tables
from gaia_memory.facts.current import ClockedFactStore, current_or_past
from gaia_memory.facts.history.move_facts import settle
from gaia_memory.facts.history.timeline import ids_of_line, load_texts, load_timeline
from gaia_memory.facts.rows import from_epoch_seconds, in_chunks, scope_of, to_epoch_seconds, to_optional_seconds
from gaia_memory.facts.tables import endings, facts, past_facts
from gaia_memory.models import FactEnd

if TYPE_CHECKING:
    from gaia_memory.models import Scope
    from gaia_memory.ports import Transaction


_KEY_NAMES = ("fact_id", "ended_at", "ended_by", "undone_at")
"""What tells the endings of facts apart."""


class FactHistoryMixin(ClockedFactStore):
    """The part of the fact store that changes until when facts were true."""

    @override
    async def end_facts(
        self, tx: Transaction, scope: Scope, fact_endings: Sequence[FactEnd], *, now: datetime
    ) -> list[FactEnd]:
        # Locks the scope: no other writer changes what is compared.
        await scopes.ensure_scope(tx, scope)
        known = await load_texts(tx, scope, {ending.fact_id for ending in fact_endings})
        versions = await _load_versions(tx, scope, {end.fact_id for end in fact_endings if end.version is not None})
        applied: list[FactEnd] = []
        lost: list[FactEnd] = []
        for ending in fact_endings:
            is_shown = ending.version is None or ending.version == versions.get(ending.fact_id)
            (applied if ending.fact_id in known and is_shown else lost).append(ending)
        if applied:
            state = await scopes.bump_revision(tx, scope)
            ids = {ending.fact_id for ending in applied}
            timeline = await load_timeline(tx, scope, ids)
            noted = {_key(row) for each in ids for row in timeline.endings.get(each, ())}
            rows = [_ending_row(scope, ending, now) for ending in reversed(applied)]
            new = {tuple(row[name] for name in _KEY_NAMES): row for row in rows}
            if rows := [new[key] for key in reversed(new) if key not in noted]:
                await tx.execute(insert(endings), rows)
            await settle(tx, scope, ids, await load_timeline(tx, scope, ids), state)
        return lost

    @override
    async def expire(self, tx: Transaction, *, now: datetime, limit: int) -> int:
        table = tables.scopes
        columns = facts.c.id, facts.c.version, facts.c.valid_until, table.c.app, table.c.user_id
        is_expired = facts.c.valid_until.is_not(None) & (facts.c.valid_until <= to_epoch_seconds(now))
        joined = table.c.partition == facts.c.partition
        statement = select(*columns).join(table, joined).where(is_expired, current_or_past()).limit(limit)
        rows = (await tx.execute(statement)).all()
        expired: dict[Scope, list[Any]] = {}
        for row in rows:
            expired.setdefault(scope_of(row.app, row.user_id), []).append(row)
        for scope, of_scope in sorted(expired.items(), key=lambda item: item[0].partition):
            timeline = await load_timeline(tx, scope, [row.id for row in of_scope])
            # What was said when it was over already ends when it was said: nothing can end before.
            found = [
                FactEnd(
                    fact_id=row.id,
                    ended_at=from_epoch_seconds(max(row.valid_until, timeline.last_said_at(row.id) or row.valid_until)),
                    why="expired",
                    actor="clock",
                    version=row.version,
                )
                for row in of_scope
            ]
            await self.end_facts(tx, scope, found, now=now)
        return len(rows)

    @override
    async def earlier_ids(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> set[str]:
        found = await ids_of_line(tx, scope, await load_texts(tx, scope, fact_ids), ancestors_only=True)
        return set(await load_texts(tx, scope, found))

    @override
    async def lift_endings(self, tx: Transaction, scope: Scope, session_id: str, *, gone: Collection[str]) -> None:
        in_scope = endings.c.partition == scope.partition
        rows = (await tx.execute(select(endings).where(in_scope).order_by(endings.c.ended_at))).all()
        # An ending by a fact that another conversation taught, too, stays true.
        caused = [
            row
            for row in rows
            if row.ended_by in gone or (row.session_id == encode_id(session_id) and row.ended_by is None)
        ]
        if not caused:
            return
        state = await scopes.bump_revision(tx, scope)
        for chunk in in_chunks(caused):
            await tx.execute(delete(endings).where(endings.c.row.in_([row.row for row in chunk])))
        followed = [found for row in caused if (found := _follow(row, rows, gone)) is not None]
        if followed:
            await tx.execute(insert(endings), followed)
        ids = {row.fact_id for row in caused}
        await settle(tx, scope, ids, await load_timeline(tx, scope, ids), state)
        now = from_epoch_seconds(self._now())
        await self.settle_keys(tx, scope, [(fact_id, "host", None) for fact_id in sorted(ids)], now=now)

    @override
    async def endings(self, tx: Transaction, scope: Scope) -> list[FactEnd]:
        statement = select(endings).where(endings.c.partition == scope.partition).order_by(endings.c.row)
        return [_ending_of(row) for row in await tx.execute(statement)]

    @override
    async def wordings(self, tx: Transaction, scope: Scope) -> dict[str, str]:
        is_wording = (past_facts.c.partition == scope.partition) & past_facts.c.wording_of.is_not(None)
        rows = await tx.execute(select(past_facts.c.id, past_facts.c.wording_of).where(is_wording))
        return {row.id: row.wording_of for row in rows}

    @override
    async def note_wordings(self, tx: Transaction, scope: Scope, wordings: Mapping[str, str]) -> None:
        for fact_id, wording_of in wordings.items():
            is_meant = past_facts.c.partition == scope.partition, past_facts.c.id == fact_id
            await tx.execute(update(past_facts).where(*is_meant).values(wording_of=wording_of))


def _follow(row: Row[Any], rows: Sequence[Row[Any]], gone: Collection[str]) -> dict[str, Any] | None:
    """Return the ending of a fact by what replaced the one that replaced it, which is gone; None without that."""
    following: Row[Any] | None = row
    passed = set[str]()
    while following is not None and following.ended_by in gone and following.ended_by not in passed:
        passed.add(following.ended_by)
        ended_by, since = following.ended_by, following.ended_at
        later = (each for each in rows if each.fact_id == ended_by and each.ended_at >= since)
        following = next((each for each in later if each.why == "replaced" and each.undone_at is None), None)
    if following is None or following.ended_by in (None, row.fact_id) or row.undone_at is not None:
        return None
    copied = {name: value for name, value in following._mapping.items() if name != "row"}
    return {**copied, "fact_id": row.fact_id}


async def undo_endings(tx: Transaction, scope: Scope, rows: Collection[int], *, now: datetime) -> None:
    """Undo endings by their rows; the facts that have no other one are current again."""
    state = await scopes.bump_revision(tx, scope)
    is_meant = endings.c.partition == scope.partition, endings.c.row.in_(rows)
    ids = set((await tx.execute(select(endings.c.fact_id).where(*is_meant))).scalars())
    await tx.execute(update(endings).where(*is_meant).values(undone_at=to_epoch_seconds(now)))
    await settle(tx, scope, ids, await load_timeline(tx, scope, ids), state)


async def _load_versions(tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for chunk in in_chunks(sorted(fact_ids)):
        in_scope = facts.c.partition == scope.partition, facts.c.id.in_(chunk)
        rows = await tx.execute(select(facts.c.id, facts.c.version).where(*in_scope, current_or_past()))
        found |= {row.id: row.version for row in rows}
    return found


async def note_endings(tx: Transaction, scope: Scope, noted: Iterable[FactEnd], *, now: datetime) -> None:
    """Store endings; the facts stay where they are."""
    if rows := [_ending_row(scope, ending, now) for ending in noted]:
        await tx.execute(insert(endings), rows)


def _key(row: Row[Any]) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in _KEY_NAMES)


def _ending_row(scope: Scope, ending: FactEnd, now: datetime) -> dict[str, Any]:
    return {
        "partition": scope.partition,
        "fact_id": ending.fact_id,
        "ended_at": to_epoch_seconds(ending.ended_at),
        "noted_at": to_epoch_seconds(ending.noted_at or now),
        "undone_at": to_optional_seconds(ending.undone_at),
        "ended_by": ending.ended_by,
        "why": ending.why,
        "actor": ending.actor,
        "app": None if ending.app is None else encode_id(ending.app),
        "session_id": None if ending.session_id is None else encode_id(ending.session_id),
    }


def _ending_of(row: Row[Any]) -> FactEnd:
    return FactEnd(
        fact_id=row.fact_id,
        ended_at=from_epoch_seconds(row.ended_at),
        why=row.why,
        actor=row.actor,
        ended_by=row.ended_by,
        app=None if row.app is None else decode_id(row.app),
        session_id=None if row.session_id is None else decode_id(row.session_id),
        noted_at=from_epoch_seconds(row.noted_at),
        undone_at=None if row.undone_at is None else from_epoch_seconds(row.undone_at),
    )
