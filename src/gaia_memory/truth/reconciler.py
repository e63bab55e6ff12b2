"""Compares facts with the current ones of their person: by their keys, then by asking the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from gaia_memory.model_calls import asking_about
from gaia_memory.models import (
    AddResult,
    Draft,
    Fact,
    NewFact,
    Scope,
    SimilarFact,
    StoredFact,
    UndecidedFact,
    is_of_model,
)
from gaia_memory.ports import Clock, Embedder, Transaction
from gaia_memory.truth.by_model.model_reconciler import ModelPlanner, ReconcileModels, SimilarFacts
from gaia_memory.truth.plan import PlannedFact, apply_plan, repeat, said_at
from gaia_memory.truth.saved_in_turn import SavedInTurn

if TYPE_CHECKING:
    from gaia_memory.config.sections.memory_section import MemoryConfig
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts import FactStore

MAX_SAVED_FACTS = 300
"""Facts with a word in common among which one that a tool has saved is looked for."""

_COPIED_FIELDS = tuple(name for name in NewFact.__dataclass_fields__ if name != "_")


class FactSearch(SimilarFacts, Protocol):
    """Finds current facts to compare a fact with."""

    async def find_by_words(self, scope: Scope, words: str, *, limit: int) -> list[Fact]:
        """Return the facts that contain one of these words, best first."""


class Reconciler:
    """Plans what facts do to the current ones; it changes nothing itself."""

    def __init__(
        self,
        database: Database,
        facts: FactStore,
        search: FactSearch,
        models: ReconcileModels,
        settings: Callable[[], MemoryConfig],
        clock: Clock,
    ) -> None:
        """`settings` is called at each use, so that a changed configuration takes effect at once."""
        self._database = database
        self._facts = facts
        self._search = search
        self._settings = settings
        self._clock = clock
        self._saved = SavedInTurn(database, facts)
        self._model = ModelPlanner(database, facts, search, models, settings)

    @property
    def embedder(self) -> Embedder:
        """What makes the vectors of facts."""
        return self._model.embedder

    def asks_model(self, app: str | None) -> bool:
        """Return whether a model is asked about facts of an app."""
        with asking_about(app):
            return self._model.has_model

    async def plan(self, scope: Scope, drafts: Sequence[Draft], *, app: str) -> list[PlannedFact]:
        """Return what facts learned in a conversation of `app` do by the model's answer, with vectors.

        No sensitive fact is in a question. One whose key a current fact has is settled by that alone. A fact that the
        model does not decide about is added. A fact without a usable answer is queued, and so is one that is similar to
        another one of `drafts`. Without a model all are added.
        """
        async with self._database.read_transaction() as tx:
            revision = (await self._facts.state(tx, scope)).revision
            are_settled = await self._facts.keys.meet_keys(tx, scope, drafts)
        asks_model = self.asks_model(app)
        plan = [PlannedFact(extracted=draft, draft=draft) for draft in drafts]
        plan = [await self._without_saved(scope, planned) for planned in plan]
        embedded = await self._model.embed(scope, [planned.heir for planned in plan])
        plan = [planned.embedded(draft) for planned, draft in zip(plan, embedded, strict=True)]
        if not asks_model:
            return plan
        with asking_about(app):
            places = [at for at, planned in enumerate(plan) if _is_open(planned) and not are_settled[at]]
            plan = [replace(planned, revision=revision) if at in places else planned for at, planned in enumerate(plan)]
            return await self._model.complete(scope, plan, places)

    def writer(self, scope: Scope) -> Callable[[Transaction, Sequence[Draft]], Awaitable[AddResult]]:
        """Return what writes drafts and queues what the model is to be asked about."""

        async def write(tx: Transaction, drafts: Sequence[Draft]) -> AddResult:
            are_settled = await self._facts.keys.meet_keys(tx, scope, drafts)
            asks_model = {app: self.asks_model(app) for app in {draft.app for draft in drafts}}
            plan = [PlannedFact(extracted=draft, draft=draft) for draft in drafts]
            steps = [
                replace(planned, is_undecided=asks_model[planned.extracted.app] and _is_open(planned) and not settled)
                for planned, settled in zip(plan, are_settled, strict=True)
            ]
            return (await apply_plan(self._facts, tx, scope, steps, now=self._clock.now())).written

        return write

    async def plan_stored(
        self, scope: Scope, waiting: UndecidedFact, *, waiting_ids: Collection[str] = ()
    ) -> PlannedFact | None:
        """Return what a stored fact of the queue does; None if it has ended, or a model wrote it.

        Of a pair, that is the fact said later. Facts said later that wait too (`waiting_ids`) are compared with it when
        it is their turn.

        Raises:
            ModelError: the model gave no usable answer.
        """
        ids = [waiting.fact_id, *([waiting.other_id] if waiting.other_id else [])]
        async with self._database.read_transaction() as tx:
            stored = (await self._facts.history.stored(tx, scope, ids)).values()
        if len(stored) < len(ids) or any(is_of_model(each.fact.metadata) for each in stored):
            return None
        *others, known = sorted(stored, key=_order)
        draft = _draft_of(known, waiting.app)
        plan = PlannedFact(extracted=draft, draft=draft, stored=known)
        if not self.asks_model(waiting.app) or any(each.fact.sensitive for each in (known, *others)):
            return plan
        if not waiting.other_id:
            others = await self._load_similar(scope, known, waiting_ids)
        async with self._database.read_transaction() as tx:
            compared = await self._facts.comparisons.find_compared(
                tx, scope, known.fact, [each.fact for each in others]
            )
        others = [each for each in others if each.fact.id not in compared]
        if not others:
            return plan
        with asking_about(waiting.app):
            return await self._model.compare(scope, plan, others)

    async def find_similar(self, scope: Scope, known: StoredFact) -> list[SimilarFact]:
        """Return the facts with which the model may compare a stored one, the most similar first."""
        return await self._model.find_similar(scope, known)

    async def _without_saved(self, scope: Scope, planned: PlannedFact) -> PlannedFact:
        """Return the plan for a learned fact, which only repeats what a tool has saved of the same turn."""
        draft = planned.extracted
        if draft.source != "conversation" or self._settings().reconcile in ("off", "rules"):
            return planned
        found = await self._search.find_by_words(scope, draft.fact.text, limit=MAX_SAVED_FACTS)
        saved = await self._saved.find(scope, draft, [each for each in found if each.source == "agent"])
        return planned if saved is None else repeat(planned, saved, "rule:tool")

    async def _load_similar(self, scope: Scope, known: StoredFact, waiting_ids: Collection[str]) -> list[StoredFact]:
        ids = [each.fact.id for each in await self._model.find_similar(scope, known)]
        async with self._database.read_transaction() as tx:
            stored = (await self._facts.history.stored(tx, scope, ids)).values()
        return [each for each in stored if each.fact.id not in waiting_ids or _order(each) < _order(known)]


def _is_open(planned: PlannedFact) -> bool:
    """Return whether a model may be asked what a fact does to earlier ones: somebody said it, and not only again.

    It is not sensitive, either.
    """
    fact = planned.extracted.fact
    return planned.repeats is None and not fact.sensitive and not is_of_model(fact.metadata)


def _order(stored: StoredFact) -> tuple[datetime, datetime, int]:
    """Return by what facts are sorted in the order in which they were said."""
    return said_at(stored), stored.fact.created_at, stored.row


def _draft_of(stored: StoredFact, app: str | None) -> Draft:
    """Return a stored fact as a draft."""
    fact = stored.fact
    new_fact = NewFact(**{name: getattr(fact, name) for name in _COPIED_FIELDS})
    return Draft(fact=new_fact, source=fact.source, app=app, vector=stored.vector, embedder=stored.embedder)
