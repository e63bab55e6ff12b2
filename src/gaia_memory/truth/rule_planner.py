"""Plans by rule what facts do to the current ones of their person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from gaia_memory.facts.identity.saved_in_turn import SavedInTurn
from gaia_memory.facts.identity.text_identity import normal_form
from gaia_memory.models import Draft, Fact, NewFact, Scope, StoredFact, draft_context, find_author, is_of_model
from gaia_memory.ports import Clock, FactStore
from gaia_memory.threads import run_in_thread
from gaia_memory.truth.outdating.late_statements import LateStatements
from gaia_memory.truth.plan import PlannedFact, follow, may_concern, repeat
from gaia_memory.truth.reconcile_by_rule import Statement, decide_by_rule, searches_for_rivals

if TYPE_CHECKING:
    from gaia_memory.config.sections.memory_section import MemoryConfig
    from gaia_memory.database.sql_engine import Database

MAX_COMPARED_FACTS = 300
"""Facts found by one search, or earlier in the same plan, with which a rule compares a fact."""

_NEW = "new:"


class WordSearch(Protocol):
    """Finds current facts by their words."""

    async def find_by_words(self, scope: Scope, words: str, *, limit: int) -> list[Fact]:
        """Return the facts that contain one of these words, best first."""


class RulePlanner:
    """Plans what facts do as far as rules are sure; it asks no model and changes nothing."""

    def __init__(
        self,
        database: Database,
        facts: FactStore,
        search: WordSearch,
        settings: Callable[[], MemoryConfig],
        clock: Clock,
    ) -> None:
        """`settings` is called at each use, so that a changed configuration takes effect at once."""
        self._database = database
        self._facts = facts
        self._search = search
        self._settings = settings
        self._clock = clock
        self._late = LateStatements(database, facts)
        self._saved = SavedInTurn(database, facts)

    async def plan(self, scope: Scope, drafts: Sequence[Draft], are_settled: Sequence[bool]) -> list[PlannedFact]:
        """Return what facts do as far as rules are sure; those that are settled by their key do nothing else."""
        if self._settings().reconcile == "off":
            return [PlannedFact(extracted=draft, draft=draft) for draft in drafts]
        async with self._database.read_transaction() as tx:
            revision = (await self._facts.state(tx, scope)).revision
        plan = [PlannedFact(extracted=draft, draft=draft, revision=revision) for draft in drafts]
        earlier: list[tuple[str, Statement]] = []
        for place in sorted(range(len(drafts)), key=lambda place: (self._time_of(drafts[place].fact), place)):
            # What nobody said ends nothing that somebody said.
            if not is_of_model(drafts[place].fact.metadata):
                new = self._statement(drafts[place].fact, f"{_NEW}{place}")
                decided = plan[place]
                if not are_settled[place]:
                    decided = await self._decide(scope, decided, new, earlier[-MAX_COMPARED_FACTS:])
                plan[place] = await self._without_saved(scope, decided)
                earlier.append((draft_context(drafts[place]), new))
        return plan

    async def plan_stored(
        self, scope: Scope, planned: PlannedFact, *, only: Sequence[StoredFact] | None
    ) -> PlannedFact:
        """Return what a fact that is stored already does to `only` these facts, or to all."""
        if planned.stored is None or self._settings().reconcile == "off":
            return planned
        fact = planned.stored.fact
        return await self._decide(scope, planned, self._statement(fact, fact.id), only=only)

    async def _decide(
        self,
        scope: Scope,
        planned: PlannedFact,
        new: Statement,
        earlier: Sequence[tuple[str, Statement]] = (),
        *,
        only: Sequence[StoredFact] | None = None,
    ) -> PlannedFact:
        """Return what a rule makes of a fact, compared with `only` these stored facts or with all."""
        searches = await run_in_thread(searches_for_rivals, new)
        if not searches:
            return planned
        if only is None:
            rivals = await self._find_rivals(scope, new, searches)
        else:
            rivals = [(each.fact, each.fact.last_said_at) for each in only]
        context = draft_context(planned.extracted)
        known = [
            replace(self._statement(fact, fact.id), said_at=said)
            for fact, said in rivals
            if fact.id != new.id and not is_of_model(fact.metadata) and may_concern(context, fact.context)
            # What is only said again later is no rival: the statement has rivals of its own time.
            if said <= new.said_at or normal_form(fact.text) != normal_form(new.text)
        ]
        if planned.stored is not None:
            # Of what was said at the same time, the later stored fact decides about the other.
            tied = [each.id for each in known if each.said_at == new.said_at]
            after = await self._stored_after(scope, planned.stored, tied)
            known = [each for each in known if each.id not in after]
        rivals_of_plan = [statement for its_context, statement in earlier if may_concern(context, its_context)]
        decision = await run_in_thread(decide_by_rule, new, [*known, *rivals_of_plan])
        if decision is None:
            return planned
        ids = (*decision.existing, *decision.outdated_by, *decision.in_doubt)
        async with self._database.read_transaction() as tx:
            known_ids = [each for each in ids if not each.startswith(_NEW)]
            stored = await self._facts.stored(tx, scope, known_ids, or_past=True)
        return follow(
            planned,
            decision.action,
            f"rule:{decision.rule}",
            existing=[stored[each] for each in decision.existing if each in stored],
            ends_new=_places(decision.existing),
            outdated_by=[stored[each] for each in decision.outdated_by if each in stored],
            in_doubt=[stored[each] for each in decision.in_doubt if each in stored],
            doubts_new=_places(decision.in_doubt),
        )

    async def _without_saved(self, scope: Scope, planned: PlannedFact) -> PlannedFact:
        """Return the plan for a learned fact, which only repeats what a tool has saved of the same turn."""
        draft = planned.extracted
        if draft.source != "conversation" or planned.repeats is not None:
            return planned
        found = await self._search.find_by_words(scope, draft.fact.text, limit=MAX_COMPARED_FACTS)
        ended = {each.fact.id for each in planned.ends}
        candidates = [each for each in found if each.source == "agent" and each.id not in ended]
        saved = await self._saved.find(scope, draft, candidates)
        return planned if saved is None else repeat(planned, saved, planned.actor or "rule:tool")

    async def _find_rivals(self, scope: Scope, new: Statement, searches: Sequence[str]) -> list[tuple[Fact, datetime]]:
        """Return the facts to compare a statement with, and when they were said."""
        found: dict[str, Fact] = {}
        for words in searches:
            by_words = await self._search.find_by_words(scope, words, limit=MAX_COMPARED_FACTS)
            found |= {fact.id: fact for fact in by_words}
        return await self._late.said_around(scope, new.said_at, " ".join(searches), list(found.values()))

    async def _stored_after(self, scope: Scope, known: StoredFact, fact_ids: Sequence[str]) -> set[str]:
        """Return those of these facts that were stored after another one."""
        async with self._database.read_transaction() as tx:
            stored = await self._facts.stored(tx, scope, fact_ids)
        return {fact_id for fact_id, each in stored.items() if each.row > known.row}

    def _statement(self, fact: Fact | NewFact, name: str) -> Statement:
        author = find_author(fact.metadata)
        speaker = "" if author in (None, "user") else str(author)
        return Statement(text=fact.text, said_at=self._time_of(fact), id=name, speaker=speaker)

    def _time_of(self, fact: Fact | NewFact) -> datetime:
        """Return when a fact was said; a new one without a date, now."""
        if isinstance(fact, Fact):
            return fact.last_said_at
        return fact.said_at or self._clock.now()


def _places(names: Sequence[str]) -> list[int]:
    """Return the places of the facts of the same plan among these names."""
    return [int(name.removeprefix(_NEW)) for name in names if name.startswith(_NEW)]
