"""The keys of facts: one current fact of a context has each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Row, func, select, update

from gaia_memory.database.id_encoding import decode_id
from gaia_memory.facts import scopes
from gaia_memory.facts.current import current, current_or_past
from gaia_memory.facts.history.timeline import Timeline, load_timeline, stored_ids
from gaia_memory.facts.rows import from_epoch_seconds, select_in, to_epoch_seconds
from gaia_memory.facts.tables import facts, past_facts
from gaia_memory.models import DEFAULT_CONTEXT, UNCONFIRMED_KEY, Draft, FactEnd, draft_context

if TYPE_CHECKING:
    from gaia_memory.facts.history.fact_history import FactHistory
    from gaia_memory.models import Scope
    from gaia_memory.ports import Clock, Transaction

_NAMES = (
    *("id", "key", "context", "said_at", "created_at", "session_id", "metadata", "sensitive", "valid_from"),
    "valid_until",
)


class _KeyedStatement(NamedTuple):
    """A fact, who said it, when, its place among what is written, and whether only current facts are compared."""

    row: Row[Any]
    actor: str
    moment: float
    place: int
    is_current: bool


class KeyedFacts:
    """Keeps one current fact of each key in a context."""

    def __init__(self, history: FactHistory, clock: Clock) -> None:
        """Take the history that facts go to, and the clock that says which have expired or not begun."""
        self._history, self._clock = history, clock

    async def settle_keys(
        self,
        tx: Transaction,
        scope: Scope,
        sayings: Sequence[tuple[str, str, datetime | None]],
        *,
        now: datetime,
        besides: str | None = None,
    ) -> frozenset[str]:
        """Let one current fact of a context have each key, after sayings of facts were written.

        A saying is the id of a fact, who said it, and when; None counts a current fact as said when it was said last,
        and compares it with other current ones.
        What was said later than the others of its key, or at the same time but written later, replaces them; what was
        said earlier goes to history. What has a lower rank than a current fact of its key is kept beside it without the
        key. A saying of a fact that is not current ends no current one. Facts that begin to hold later are left for
        `begin`, and the fact `besides` is left as it is. Return the facts that were current and were replaced.
        """
        rows = await _keyed_rows(tx, scope, "id", {fact_id for fact_id, _, _ in sayings})
        rivals: dict[tuple[str, str], list[Row[Any]]] = {}
        for row in (await _keyed_rows(tx, scope, "key", {row.key for row in rows.values()})).values():
            if row.id != besides:
                rivals.setdefault((row.key, row.context), []).append(row)
        is_current = await stored_ids(tx, scope, rows)
        timeline = await load_timeline(tx, scope, [row.id for slot in rivals.values() for row in slot])
        moments = {row.id: _moment(row, timeline) for slot in rivals.values() for row in slot}
        said = [
            _KeyedStatement(
                rows[fact_id], actor, _stands_since(rows[fact_id], timeline, said_at), place, said_at is None
            )
            for place, (fact_id, actor, said_at) in enumerate(sayings)
            if fact_id in is_current or (fact_id in rows and said_at is not None)
        ]
        # An earlier saying may give a key or a context to a fact that was said last before this.
        known = {(each.row.id, each.moment) for each in said}
        latest = [(rows[fact_id], _stands_since(rows[fact_id], timeline)) for fact_id in is_current]
        said += [_KeyedStatement(row, "host", at, -1, True) for row, at in latest if (row.id, at) not in known]
        # What begins to hold later replaces when it begins.
        said = [each for each in said if each.moment <= max(to_epoch_seconds(now), _said(each.row, timeline))]
        replaced: set[str] = set()
        for each in sorted(said, key=lambda each: (each.moment, each.place)):
            # Of what is written together and was said at the same moment, the last counts.
            said_after = {other.row.id for other in said if other.moment == each.moment and other.place > each.place}
            others = [row for row in rivals[each.row.key, each.row.context] if row.id not in {each.row.id, *said_after}]
            if others:
                replaced |= await self._settle(tx, scope, each, others, moments, now)
        return frozenset(replaced)

    async def _settle(
        self,
        tx: Transaction,
        scope: Scope,
        saying: _KeyedStatement,
        others: Sequence[Row[Any]],
        moments: Mapping[str, float],
        now: datetime,
    ) -> set[str]:
        """End what a saying replaces, and its fact if something of its key was said later; return what ended."""
        new, moment, rank = saying.row, saying.moment, _rank(saying.row)
        stored, at = await stored_ids(tx, scope, [new.id, *(each.id for each in others)]), to_epoch_seconds(now)
        is_current = {each.id for each in (new, *others) if each.id in stored and _is_valid(each, at)}
        if saying.is_current:
            others = [each for each in others if each.id in stored]
        above = {each.id for each in others if _rank(each) > rank and moments[each.id] <= moment}
        if new.id in is_current and above & is_current:
            await _change(tx, scope, [new.id], key=None)
            return set()
        below = {each.id for each in others if _rank(each) < rank and moments[each.id] > moment}
        await _change(tx, scope, sorted(below & is_current), key=None)
        others = [each for each in others if each.id not in above | below]
        around = await self._history.said_around(tx, scope, {each.id for each in others}, from_epoch_seconds(moment))
        later = [(said.again, fact_id) for fact_id, said in around.items() if said.again is not None]
        # A key that somebody has keeps a current fact.
        has_current = (new.id in is_current and not later) or any(fact_id in is_current for _, fact_id in later)
        held = [
            each
            for each in others
            if each.id in around
            and around[each.id].since is not None
            and _rank(each) <= rank
            and _is_valid(each, moment)
            and (has_current or each.id not in is_current)
        ]
        ending = FactEnd(
            fact_id=new.id,
            ended_at=from_epoch_seconds(moment),
            why="replaced",
            actor=saying.actor,
            session_id=None if new.session_id is None else decode_id(new.session_id),
        )
        ended = [replace(ending, fact_id=each.id, ended_by=new.id) for each in held]
        if later:
            ended_at, ended_by = min(later)
            ended.append(replace(ending, ended_at=ended_at, ended_by=ended_by))
        elif any(each.sensitive for each in held if each.id in is_current) and not new.sensitive:
            await _change(tx, scope, [new.id], sensitive=True)
        if ended:
            await self._history.end_facts(tx, scope, ended, now=now)
        return {each.id for each in held if each.id in is_current}

    async def meet_keys(self, tx: Transaction, scope: Scope, drafts: Sequence[Draft]) -> list[bool]:
        """Return for each draft whether a current fact of its context, or another of the drafts, has its key."""
        known = await _known_slots(tx, scope, drafts, to_epoch_seconds(self._clock.now()))
        slots = [_slot(draft, known) for draft in drafts]
        return [slot is not None and (slot in known or slots.count(slot) > 1) for slot in slots]

    async def known_keys(self, tx: Transaction, scope: Scope, *, limit: int) -> list[str]:
        """Return keys of current facts that are not sensitive, the last said first."""
        is_meant = facts.c.partition == scope.partition, facts.c.key.is_not(None), ~facts.c.sensitive
        latest = func.max(func.coalesce(facts.c.said_at, facts.c.created_at))
        statement = (
            select(facts.c.key).where(*is_meant, current(to_epoch_seconds(self._clock.now()))).group_by(facts.c.key)
        )
        return list((await tx.execute(statement.order_by(latest.desc(), facts.c.key).limit(limit))).scalars())


async def in_context_of_key(tx: Transaction, scope: Scope, drafts: Sequence[Draft], now: float) -> Sequence[Draft]:
    """Return drafts of which those without a context of their own belong to where their key is known already.

    A home that is told while the context `work` is active ends the one that was told before.
    """
    if all(draft.fact.key is None or draft.active_context == DEFAULT_CONTEXT for draft in drafts):
        return drafts
    known = await _known_slots(tx, scope, drafts, now)
    slots = [_slot(draft, known) for draft in drafts]
    return [
        draft if slot is None else replace(draft, active_context=slot[1])
        for draft, slot in zip(drafts, slots, strict=True)
    ]


async def _known_slots(tx: Transaction, scope: Scope, drafts: Sequence[Draft], now: float) -> set[tuple[str, str]]:
    """Return the keys of drafts that current facts have, each with the context of such a fact."""
    keys = {draft.fact.key for draft in drafts if draft.fact.key is not None}
    statement = select(facts.c.key, facts.c.context).where(facts.c.partition == scope.partition, current(now))
    return {(row.key, row.context) for row in await select_in(tx, statement, facts.c.key, keys)}


async def _keyed_rows(tx: Transaction, scope: Scope, name: str, values: Collection[str]) -> dict[str, Row[Any]]:
    """Return the current and past facts with a key whose `id` or `key` is one of these, by id."""
    stored = select(*(facts.c[each] for each in _NAMES)).where(facts.c.key.is_not(None), current_or_past())
    stored = stored.where(facts.c.partition == scope.partition)
    past = select(*(past_facts.c[each] for each in _NAMES)).where(past_facts.c.key.is_not(None))
    past = past.where(past_facts.c.partition == scope.partition)
    rows = await select_in(tx, stored, facts.c[name], sorted(values))
    return {row.id: row for row in (*rows, *await select_in(tx, past, past_facts.c[name], sorted(values)))}


def _slot(draft: Draft, known: Collection[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the key of a draft and the context it belongs to; None without a key."""
    if (key := draft.fact.key) is None:
        return None
    own = key, draft_context(draft)
    is_implied = draft.fact.context == DEFAULT_CONTEXT and own not in known
    return (key, DEFAULT_CONTEXT) if is_implied and (key, DEFAULT_CONTEXT) in known else own


async def _change(tx: Transaction, scope: Scope, fact_ids: list[str], **values: Any) -> None:
    if fact_ids:
        state = await scopes.bump_revision(tx, scope)
        is_meant = facts.c.partition == scope.partition, facts.c.id.in_(fact_ids)
        await tx.execute(update(facts).where(*is_meant).values(version=state.revision, **values))
        await scopes.mark_dirty(tx, fact_ids, state.revision)


def _said(row: Row[Any], timeline: Timeline) -> float:
    """Return when a fact was said last by anybody, as far as that is known."""
    said = timeline.last_said_at(row.id)
    return float(row.created_at if said is None else said)


def _moment(row: Row[Any], timeline: Timeline) -> float:
    """Return since when a fact may take the place of others: when it was said last, or when it begins to hold later."""
    return max(_said(row, timeline), row.valid_from or 0.0)


def _stands_since(row: Row[Any], timeline: Timeline, said_at: datetime | None = None) -> float:
    """Return since when a saying counts: what was wanted back later stands before all that was said until then."""
    moment = _said(row, timeline) if said_at is None else to_epoch_seconds(said_at)
    undone = (each.undone_at or 0.0 for each in timeline.endings.get(row.id, ()))
    return max(moment, row.valid_from or 0.0, *undone)


def _is_valid(row: Row[Any], at: float) -> bool:
    return row.valid_until is None or row.valid_until > at


def _rank(row: Row[Any]) -> tuple[bool, bool]:
    """Return what a fact ends, which is nothing of a higher rank: confirmed before unconfirmed, open before limited."""
    is_unconfirmed = row.metadata.get(UNCONFIRMED_KEY) is True or row.metadata.get("attributed_to") == "assistant"
    return not is_unconfirmed, row.valid_until is None
