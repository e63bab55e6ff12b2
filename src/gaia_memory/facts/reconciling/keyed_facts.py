"""The part of the fact store that keeps one current fact of each key in a context."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, func, select, update
from typing_extensions import override

from gaia_memory.database.id_encoding import decode_id
from gaia_memory.facts import scopes
from gaia_memory.facts.current import ClockedFactStore, current, current_or_past
from gaia_memory.facts.rows import from_epoch_seconds, in_chunks, to_epoch_seconds
from gaia_memory.facts.tables import facts, past_facts
from gaia_memory.models import UNCONFIRMED_KEY, Draft, FactEnd, draft_context

if TYPE_CHECKING:
    from gaia_memory.models import Scope
    from gaia_memory.ports import Transaction

_NAMES = ("id", "row", "key", "context", "said_at", "created_at", "metadata", "sensitive", "valid_from", "valid_until")
_NAMES_OF_SESSION = (*_NAMES, "session_id")


class KeyedFactsMixin(ClockedFactStore):
    """The part of the fact store that knows the keys of facts."""

    @override
    async def settle_keys(
        self, tx: Transaction, scope: Scope, actors: Mapping[str, str], *, now: datetime, at: datetime | None = None
    ) -> frozenset[str]:
        since = to_epoch_seconds(at or now)
        is_begun = facts.c.valid_from.is_(None) | (facts.c.valid_from <= since)
        columns = [facts.c[name] for name in _NAMES_OF_SESSION]
        written: list[Row[Any]] = []
        for chunk in in_chunks(actors):
            is_meant = facts.c.partition == scope.partition, facts.c.id.in_(chunk), facts.c.key.is_not(None), is_begun
            written += await tx.execute(select(*columns).where(*is_meant, current_or_past()))
        rivals = await _facts_by_key(tx, scope, {row.key for row in written})
        places = {fact_id: place for place, fact_id in enumerate(actors)}
        written = [row for row in written if len(rivals[row.key, row.context]) > 1]
        moments = {row.id: _moment(row) if at is None else since for row in written}
        replaced: set[str] = set()
        for row in sorted(written, key=lambda each: (moments[each.id], places[each.id])):
            # Of what is written together and was said at the same moment, the last counts.
            said_after = {
                each.id for each in written if moments[each.id] == moments[row.id] and places[each.id] > places[row.id]
            }
            others = [each for each in rivals[row.key, row.context] if each.id not in {row.id, *said_after}]
            replaced |= await self._settle(tx, scope, row, others, actors[row.id], moments[row.id], now)
        return frozenset(replaced)

    async def _settle(
        self,
        tx: Transaction,
        scope: Scope,
        new: Row[Any],
        others: Sequence[Row[Any]],
        actor: str,
        moment: float,
        now: datetime,
    ) -> set[str]:
        """End what a fact replaces, and the fact itself if something of its key was said later; return what ended."""
        ids = {each.id for each in others}
        is_current = (await self.stored(tx, scope, {*ids, new.id})).keys()
        if new.id not in is_current:
            return set()
        if _is_unconfirmed(new):
            if any(each.id in is_current and not _is_unconfirmed(each) for each in others):
                await _change(tx, scope, [new.id], key=None)
                return set()
            others = [each for each in others if _is_unconfirmed(each)]
        else:
            outranked = {each.id for each in others if _is_unconfirmed(each) and _moment(each) > moment}
            await _change(tx, scope, sorted(outranked & is_current), key=None)
            others = [each for each in others if each.id not in outranked]
        around = await self.said_around(tx, scope, {each.id for each in others}, from_epoch_seconds(moment))
        held = [
            each
            for each in others
            if each.id in around
            and around[each.id].since is not None
            and (each.valid_until is None or each.valid_until > moment)
        ]
        session_id = None if new.session_id is None else decode_id(new.session_id)
        ending = FactEnd(
            fact_id=new.id, ended_at=from_epoch_seconds(moment), why="replaced", actor=actor, session_id=session_id
        )
        ended = [replace(ending, fact_id=each.id, ended_by=new.id) for each in held]
        later = [(said.again, fact_id) for fact_id, said in around.items() if said.again is not None]
        if later:
            ended_at, ended_by = min(later)
            ended.append(replace(ending, ended_at=ended_at, ended_by=ended_by))
        elif any(each.sensitive for each in held if each.id in is_current) and not new.sensitive:
            await _change(tx, scope, [new.id], sensitive=True)
        if ended:
            await self.end_facts(tx, scope, ended, now=now)
        return {each.id for each in held if each.id in is_current}

    @override
    async def meet_keys(self, tx: Transaction, scope: Scope, drafts: Sequence[Draft]) -> list[bool]:
        slots = [None if draft.fact.key is None else (draft.fact.key, draft_context(draft)) for draft in drafts]
        known: set[tuple[str, str]] = set()
        for chunk in in_chunks({slot[0] for slot in slots if slot is not None}):
            is_meant = facts.c.partition == scope.partition, facts.c.key.in_(chunk)
            rows = await tx.execute(select(facts.c.key, facts.c.context).where(*is_meant, current(self._now())))
            known |= {(row.key, row.context) for row in rows}
        return [slot is not None and (slot in known or slots.count(slot) > 1) for slot in slots]

    @override
    async def known_keys(self, tx: Transaction, scope: Scope, *, limit: int) -> list[str]:
        is_meant = facts.c.partition == scope.partition, facts.c.key.is_not(None), ~facts.c.sensitive
        latest = func.max(func.coalesce(facts.c.said_at, facts.c.created_at))
        statement = select(facts.c.key).where(*is_meant, current(self._now())).group_by(facts.c.key)
        return list((await tx.execute(statement.order_by(latest.desc(), facts.c.key).limit(limit))).scalars())


async def _facts_by_key(tx: Transaction, scope: Scope, keys: Collection[str]) -> dict[tuple[str, str], list[Row[Any]]]:
    """Return the current and past facts with these keys, by key and context."""
    found: dict[tuple[str, str], list[Row[Any]]] = {}
    for chunk in in_chunks(keys):
        is_stored = facts.c.partition == scope.partition, facts.c.key.in_(chunk)
        rows = list(await tx.execute(select(*(facts.c[name] for name in _NAMES)).where(*is_stored, current_or_past())))
        is_past = past_facts.c.partition == scope.partition, past_facts.c.key.in_(chunk)
        rows += await tx.execute(select(*(past_facts.c[name] for name in _NAMES)).where(*is_past))
        for row in rows:
            found.setdefault((row.key, row.context), []).append(row)
    return found


async def _change(tx: Transaction, scope: Scope, fact_ids: list[str], **values: Any) -> None:
    if fact_ids:
        state = await scopes.bump_revision(tx, scope)
        is_meant = facts.c.partition == scope.partition, facts.c.id.in_(fact_ids)
        await tx.execute(update(facts).where(*is_meant).values(version=state.revision, **values))
        await scopes.mark_dirty(tx, fact_ids, state.revision)


def _moment(row: Row[Any]) -> float:
    """Return when a fact was said, as far as that is known; one that begins later, when it begins."""
    said = row.created_at if row.said_at is None else row.said_at
    return float(said if row.valid_from is None else max(said, row.valid_from))


def _is_unconfirmed(row: Row[Any]) -> bool:
    return row.metadata.get(UNCONFIRMED_KEY) is True or row.metadata.get("attributed_to") == "assistant"
