"""The history of facts: when they were said, and when they ended."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from math import inf
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, exists, insert, select, update

from gaia_memory.database.id_encoding import decode_id, encode_id
from gaia_memory.facts import scopes
from gaia_memory.facts.current import current_or_past
from gaia_memory.facts.history.move_facts import settle
from gaia_memory.facts.history.timeline import PAST_FACT_COLUMNS, Timeline, ids_of_line, load_texts, load_timeline
from gaia_memory.facts.rows import (
    fact_of,
    from_epoch_seconds,
    select_in,
    to_epoch_seconds,
    to_optional_seconds,
    unpack_vector,
)
from gaia_memory.facts.tables import endings, facts, past_facts
from gaia_memory.models import FactEnd, NearbySayings, PastFact, StoredFact, is_said_after

if TYPE_CHECKING:
    from gaia_memory.models import Scope
    from gaia_memory.ports import Transaction


_KEY_NAMES = ("fact_id", "ended_at", "ended_by", "undone_at")
"""What tells the endings of facts apart."""


_STORED_NAMES = ("version", "vector", "embedder", "row")
_STORED_PAST_COLUMNS = (*PAST_FACT_COLUMNS, *(past_facts.c[name] for name in _STORED_NAMES))


class FactHistory:
    """Knows when facts were true, and ends them.

    A fact that ended keeps its id, sources and vector, and is shown by none of the other reads. Endings are never
    overwritten: one that was undone stays with the time of that.
    """

    async def end_facts(
        self, tx: Transaction, scope: Scope, fact_endings: Sequence[FactEnd], *, now: datetime
    ) -> list[FactEnd]:
        """Store endings, noted at `now` unless they say when; return those that were not stored.

        That is one of an unknown fact, or of one that is not current in the version that the ending names: it was
        changed, ended or forgotten meanwhile. A fact that was said after its ending stays current, and one that has
        ended may end earlier, too. A fact ends once at a time by one fact: another such ending changes nothing.
        """
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

    async def earlier_ids(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> set[str]:
        """Return those of these facts that the scope has, current or past, with all past facts that they replaced."""
        found = await ids_of_line(tx, scope, await load_texts(tx, scope, fact_ids), ancestors_only=True)
        return set(await load_texts(tx, scope, found))

    async def endings(self, tx: Transaction, scope: Scope) -> list[FactEnd]:
        """Return all endings of facts, also those that were undone, in the order in which they were stored."""
        statement = select(endings).where(endings.c.partition == scope.partition).order_by(endings.c.row)
        return [_ending_of(row) for row in await tx.execute(statement)]

    async def wordings(self, tx: Transaction, scope: Scope) -> dict[str, str]:
        """Return, for each past fact that is the earlier wording of another one, the id of that."""
        is_wording = (past_facts.c.partition == scope.partition) & past_facts.c.wording_of.is_not(None)
        rows = await tx.execute(select(past_facts.c.id, past_facts.c.wording_of).where(is_wording))
        return {row.id: row.wording_of for row in rows}

    async def note_wordings(self, tx: Transaction, scope: Scope, wordings: Mapping[str, str]) -> None:
        """Mark past facts as earlier wordings of others."""
        for fact_id, wording_of in wordings.items():
            is_meant = past_facts.c.partition == scope.partition, past_facts.c.id == fact_id
            await tx.execute(update(past_facts).where(*is_meant).values(wording_of=wording_of))

    async def stored(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str], *, or_past: bool = False
    ) -> dict[str, StoredFact]:
        """Return those of these facts that have not ended, whatever their validity, with version and vector.

        With `or_past`, those that ended, too.
        """
        current = select(facts).where(facts.c.partition == scope.partition, current_or_past())
        rows = await select_in(tx, current, facts.c.id, fact_ids)
        if or_past:
            past = select(*_STORED_PAST_COLUMNS).where(past_facts.c.partition == scope.partition)
            rows += await select_in(tx, past, past_facts.c.id, fact_ids)
        return {row.id: _stored_fact(row, scope) for row in rows}

    async def past(
        self, tx: Transaction, scope: Scope, *, ended_after: datetime | None = None
    ) -> dict[str, StoredFact]:
        """Return the facts that ended, by id, in the order in which they were stored.

        With `ended_after`, only those with an ending after that time.
        """
        statement = select(*_STORED_PAST_COLUMNS).where(past_facts.c.partition == scope.partition)
        if ended_after is not None:
            is_its = (endings.c.partition == scope.partition) & (endings.c.fact_id == past_facts.c.id)
            is_later = endings.c.undone_at.is_(None) & (endings.c.ended_at > to_epoch_seconds(ended_after))
            statement = statement.where(exists().where(is_its, is_later))
        # The wordings of one fact were created together.
        order = past_facts.c.created_at, past_facts.c.updated_at, past_facts.c.id
        rows = await tx.execute(statement.order_by(*order))
        return {row.id: _stored_fact(row, scope) for row in rows}

    async def line(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> set[str]:
        """Return these facts, what they replaced or were replaced by, and so on."""
        return await ids_of_line(tx, scope, fact_ids, ancestors_only=False)

    async def rivals(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, dict[str, str]]:
        """Return, for those of these facts that have some, what they replaced or were replaced by directly.

        Each of them comes with the actor of that ending.
        """
        found: dict[str, dict[str, str]] = {}
        columns = endings.c.fact_id, endings.c.ended_by, endings.c.actor
        is_link = (endings.c.partition == scope.partition) & endings.c.undone_at.is_(None) & (endings.c.why != "merged")
        links = select(*columns).where(is_link, endings.c.ended_by.is_not(None))
        for column in (endings.c.fact_id, endings.c.ended_by):
            for row in await select_in(tx, links, column, fact_ids):
                found.setdefault(row.fact_id, {})[row.ended_by] = row.actor
                found.setdefault(row.ended_by, {})[row.fact_id] = row.actor
        return {fact_id: others for fact_id, others in found.items() if fact_id in fact_ids}

    async def said_around(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str], moment: datetime
    ) -> dict[str, NearbySayings]:
        """Return when each of these facts was said before a time, if it was true at that time, and when after it."""
        timeline = await load_timeline(tx, scope, await load_texts(tx, scope, fact_ids))
        at = to_epoch_seconds(moment)
        return {fact_id: _said_around(fact_id, timeline, at) for fact_id in timeline.sayings}

    async def history(self, tx: Transaction, scope: Scope, fact_id: str) -> list[PastFact]:
        """Return the periods of a fact and of all that it replaced or was replaced by, oldest first.

        An unknown or foreign id gives an empty list.
        """
        if fact_id not in await load_texts(tx, scope, [fact_id]):
            return []
        ids = await ids_of_line(tx, scope, [fact_id], ancestors_only=False)
        texts, timeline = await load_texts(tx, scope, ids), await load_timeline(tx, scope, ids)
        periods = [period for each in sorted(texts) for period in _periods(each, texts[each], timeline)]
        return [past for _, _, past in sorted(periods, key=lambda period: period[:2])]


async def undo_endings(tx: Transaction, scope: Scope, rows: Collection[int], *, now: datetime) -> None:
    """Undo endings by their rows; the facts that have no other one are current again."""
    state = await scopes.bump_revision(tx, scope)
    is_meant = endings.c.partition == scope.partition, endings.c.row.in_(rows)
    ids = set((await tx.execute(select(endings.c.fact_id).where(*is_meant))).scalars())
    await tx.execute(update(endings).where(*is_meant).values(undone_at=to_epoch_seconds(now)))
    await settle(tx, scope, ids, await load_timeline(tx, scope, ids), state)


async def _load_versions(tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, int]:
    statement = select(facts.c.id, facts.c.version).where(facts.c.partition == scope.partition, current_or_past())
    return {row.id: row.version for row in await select_in(tx, statement, facts.c.id, sorted(fact_ids))}


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
        "note": ending.note,
        "app": None if ending.app is None else encode_id(ending.app),
        "session_id": None if ending.session_id is None else encode_id(ending.session_id),
    }


def _ending_of(row: Row[Any]) -> FactEnd:
    return FactEnd(
        fact_id=row.fact_id,
        ended_at=from_epoch_seconds(row.ended_at),
        why=row.why,
        actor=row.actor,
        note=row.note,
        ended_by=row.ended_by,
        app=None if row.app is None else decode_id(row.app),
        session_id=None if row.session_id is None else decode_id(row.session_id),
        noted_at=from_epoch_seconds(row.noted_at),
        undone_at=None if row.undone_at is None else from_epoch_seconds(row.undone_at),
    )


def _stored_fact(row: Row[Any], scope: Scope) -> StoredFact:
    vector = None if row.vector is None else unpack_vector(row.vector)
    fact = fact_of(row, scope)
    return StoredFact(fact=fact, version=row.version, vector=vector, embedder=row.embedder, row=row.row or 0)


def _said_around(fact_id: str, timeline: Timeline, at: float) -> NearbySayings:
    # What has no date counts from when it was learned: that it was true before is no reason to end it.
    untrue_until = timeline.untrue_until(fact_id)
    counted = [saying for saying in timeline.sayings[fact_id] if is_said_after(saying, untrue_until)]
    said = [noted if said is None else said for said, noted in counted]
    since = max((each for each in said if each <= at), default=None)
    ended = max((row.ended_at for row in timeline.standing(fact_id) if row.ended_at <= at), default=-inf)
    again = min((each for each in said if each > at), default=None)
    return NearbySayings(
        since=None if since is None or since <= ended else from_epoch_seconds(since),
        again=None if again is None else from_epoch_seconds(again),
    )


def _periods(fact_id: str, text: str, timeline: Timeline) -> Iterator[tuple[float, float, PastFact]]:
    """Yield the periods in which a fact was true, each with the times to sort it by."""
    said_times = sorted(-inf if said is None else said for said, _ in timeline.sayings.get(fact_id, ()))
    remaining = said_times or [-inf]
    untrue_until = timeline.untrue_until(fact_id)
    for row in sorted(timeline.standing(fact_id), key=lambda row: row.ended_at):
        if row.ended_at <= untrue_until and row.why != "untrue":
            continue
        before = [said for said in remaining if said <= row.ended_at]
        remaining = remaining[len(before) :]
        if before:
            period = _period(fact_id, text, before)
            ending = {"ended_by": row.ended_by, "why": row.why, "actor": row.actor, "note": row.note}
            yield before[0], row.ended_at, replace(period, ended_at=from_epoch_seconds(row.ended_at), **ending)
    if remaining:
        yield remaining[0], inf, _period(fact_id, text, remaining)


def _period(fact_id: str, text: str, said: Sequence[float]) -> PastFact:
    return PastFact(id=fact_id, text=text, first_said_at=_to_time(said[0]), said_at=_to_time(said[-1]))


def _to_time(seconds: float) -> datetime | None:
    return None if seconds == -inf else from_epoch_seconds(seconds)
