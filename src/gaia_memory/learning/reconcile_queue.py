"""Compares the facts that wait for it with the others of their person, a few at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gaia_memory.drafts.hide_sensitive import hide_sensitive
from gaia_memory.errors import ModelError, ModelUnavailableError
from gaia_memory.learning.circuit_breaker import ModelCircuitBreaker
from gaia_memory.log import log_fields, logger_for
from gaia_memory.models import PairingState, Scope, StoredFact, UndecidedFact
from gaia_memory.sessions.ledger_client import LedgerClient
from gaia_memory.telemetry import in_background, memory_span
from gaia_memory.threads import run_in_thread
from gaia_memory.truth.plan import apply_plan, without_forgotten
from gaia_memory.truth.reconciler import Reconciler

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts import FactStore


logger = logger_for(__name__)

MAX_QUESTIONS = 100
MAX_QUESTIONS_PER_PERSON = 20
"""Questions of one sweep to the model, about queued facts and pairs each."""

MAX_PAIRED_PEOPLE = 10
"""People whose facts one sweep compares in pairs."""

PAIRING_INTERVAL_SECONDS = 24 * 3600.0
LEASE_SECONDS = 15 * 60.0
"""Longer than one question with all its repetitions; the lease of a process of this machine that ended is free."""

MAX_BAD_ANSWERS = 3
BAD_ANSWER_PAUSE_SECONDS = 24 * 3600.0
OUTAGE_PAUSE_SECONDS = 60.0
"""After how many bad answers a fact leaves the queue, and how long it waits after one, or after an outage."""

MAX_CHANGED_FACTS = 200
"""Changed facts whose pairs are looked for at once."""


_Unlikeness = tuple[bool, float, int]
"""By what pairs are sorted: those with common words first, since one pair in a hundred has near vectors in any case."""


class ReconcileQueue:
    """Works off the queue of undecided facts, under a lease for each person."""

    def __init__(
        self,
        *,
        client: LedgerClient,
        facts: FactStore,
        reconciler: Reconciler,
        circuit_breaker: ModelCircuitBreaker,
        is_owner_dead: Callable[[str], bool],
        has_model_for: Callable[[str], bool],
        is_enabled: Callable[[], Awaitable[bool]],
    ) -> None:
        """`is_enabled` and, with an app, `has_model_for` are called at each use; `is_owner_dead` in a thread."""
        self._client = client
        self._facts = facts
        self._reconciler = reconciler
        self._circuit_breaker = circuit_breaker
        self._is_owner_dead = is_owner_dead
        self._has_model_for = has_model_for
        self._is_enabled = is_enabled
        self._lock = asyncio.Lock()

    async def last_row(self) -> int:
        """Return the last place in the queue."""
        async with self._client.database.read_transaction() as tx:
            return await self._facts.comparisons.last_undecided(tx)

    async def settle(self, *, last_row: int) -> None:
        """Decide about what waits up to a place in the queue, then about likely pairs of facts of people who changed.

        The model is asked at most `MAX_QUESTIONS_PER_PERSON` times about the queue of a person, as often about pairs,
        and `MAX_QUESTIONS` times in all. Without a model that answers, the rest waits.
        """
        async with self._lock:
            with in_background():
                remaining = await self._settle_queue(last_row, MAX_QUESTIONS)
                await self._compare_pairs_of_people(remaining)

    async def _settle_queue(self, last_row: int, remaining: int) -> int:
        """Decide about what waits; return how many of the `remaining` questions are left."""
        async with self._client.database.read_transaction() as tx:
            waiting = await self._facts.comparisons.undecided_scopes(tx, now=self._client.now(), last=last_row)
        for scope in waiting:
            if remaining and await self._is_enabled():
                limit = min(remaining, MAX_QUESTIONS_PER_PERSON)
                remaining -= await self._settle_scope(scope, last_row=last_row, limit=limit)
        return remaining

    async def _compare_pairs_of_people(self, remaining: int) -> None:
        before = self._client.now() - PAIRING_INTERVAL_SECONDS
        async with self._client.database.read_transaction() as tx:
            changed = await self._facts.comparisons.scopes_to_pair(tx, before=before, limit=MAX_PAIRED_PEOPLE)
        for scope in changed:
            if remaining and self._may_ask(scope.app) and await self._is_enabled():
                remaining -= await self._compare_pairs(scope, limit=min(remaining, MAX_QUESTIONS_PER_PERSON))

    async def _settle_scope(self, scope: Scope, *, last_row: int, limit: int) -> int:
        """Decide about what waits in a scope; return how many questions that took."""
        async with self._client.database.read_transaction() as tx:
            rows = await self._facts.comparisons.undecided(tx, scope)
        now = self._client.now()
        due = [row for row in rows if row.row <= last_row and (row.retry_at is None or row.retry_at <= now)]
        waiting_ids = {row.fact_id for row in rows if row.other_id is None}
        return await self._settle_rows(scope, due, waiting_ids, limit=limit)

    async def _compare_pairs(self, scope: Scope, *, limit: int) -> int:
        """Compare likely pairs of facts of a scope; return how many questions that took."""
        if not self._reconciler.asks_model(scope.app):
            return 0
        pairs, state = await find_pairs(self._client.database, self._facts, self._reconciler, scope, limit=limit)
        asked = await self._settle_rows(scope, [replace(pair, app=scope.app) for pair in pairs], set(), limit=limit)
        async with self._client.database.transaction() as tx:
            await self._facts.comparisons.note_pairing(tx, scope, replace(state, paired_at=self._client.now()))
        return asked

    async def _settle_rows(
        self, scope: Scope, rows: Sequence[UndecidedFact], waiting_ids: set[str], *, limit: int
    ) -> int:
        asked = 0
        if not rows:
            return asked
        with memory_span("reconcile_facts", scope) as span:
            span.set_record_count(len(rows))
            counts = Counter[str]()
            try:
                for row in rows:
                    app = row.app or scope.app
                    if self._reconciler.asks_model(app) and not (asked < limit and self._may_ask(app)):
                        await self._keep(scope, row)
                    elif await self._claim(scope):
                        asked += await self._settle_row(scope, row, waiting_ids, counts)
                        waiting_ids.discard(row.fact_id)
            finally:
                span.add_attributes(**{name: counts[name] for name in ("judged", "replaced", "queued")})
                async with self._client.database.transaction() as tx:
                    await self._facts.comparisons.release_reconciling(tx, scope, self._client.owner)
        return asked

    async def _settle_row(self, scope: Scope, row: UndecidedFact, waiting_ids: set[str], counts: Counter[str]) -> bool:
        """Decide about one fact and take it off the queue; return whether the model was asked."""
        try:
            plan = await self._reconciler.plan_stored(scope, row, waiting_ids=waiting_ids)
        except ModelUnavailableError as error:
            self._circuit_breaker.record_failure(scope.user, error)
            await self._postpone(scope, row, error, attempts=row.attempts, seconds=OUTAGE_PAUSE_SECONDS)
            return True
        except (ModelError, ValueError, ArithmeticError) as error:
            # An odd decision is as bad as none.
            self._circuit_breaker.record_answer()
            await self._postpone(scope, row, error, attempts=row.attempts + 1, seconds=BAD_ANSWER_PAUSE_SECONDS)
            return True
        is_asked = plan is not None and bool(plan.compared)
        if is_asked:
            self._circuit_breaker.record_answer()
        async with self._client.database.transaction() as tx:
            kept = await without_forgotten(self._facts, tx, scope, [plan] if plan else [])
            applied = await apply_plan(self._facts, tx, scope, kept, now=self._client.clock.now())
            if plan is not None and plan.stored is not None and not plan.stored.fact.sensitive:
                sensitive = [fact for fact in applied.facts if fact.sensitive]
                await hide_sensitive(self._facts, self._client.ledger, tx, scope, sensitive)
            if not applied.lost:
                await self._facts.comparisons.drop_undecided(tx, scope, row.row)
        counts.update(judged=applied.judged, replaced=applied.replaced, queued=applied.lost)
        return is_asked

    async def _postpone(
        self, scope: Scope, row: UndecidedFact, error: Exception, *, attempts: int, seconds: float
    ) -> None:
        """Leave a fact in the queue after a question without a usable answer, until these were too many."""
        await self._keep(scope, row)
        async with self._client.database.transaction() as tx:
            if attempts < MAX_BAD_ANSWERS:
                until = self._client.now() + seconds
                await self._facts.comparisons.postpone_undecided(tx, scope, row.row, attempts=attempts, until=until)
            else:
                await self._facts.comparisons.drop_undecided(tx, scope, row.row)
        kind = type(error).__name__
        fields = log_fields("facts.not_reconciled", scope, facts=1, attempts=attempts, error=kind)
        logger.info("a queued fact was not compared with the stored ones: %s", kind, extra=fields)

    async def _keep(self, scope: Scope, row: UndecidedFact) -> None:
        """Queue a pair that cannot be compared now; what is in the queue stays there."""
        if not row.row:
            async with self._client.database.transaction() as tx:
                await self._facts.comparisons.queue_undecided(tx, scope, [row])

    async def _claim(self, scope: Scope) -> bool:
        """Take or renew the lease of a scope; False while another process has it."""
        owner, now, dead_owner = self._client.owner, self._client.now(), None
        while True:
            async with self._client.database.transaction() as tx:
                holder = await self._facts.comparisons.claim_reconciling(
                    tx, scope, owner, now=now, until=now + LEASE_SECONDS, dead_owner=dead_owner
                )
            if holder in (owner, dead_owner) or not await run_in_thread(self._is_owner_dead, holder):
                return holder == owner
            dead_owner = holder

    def _may_ask(self, app: str | None) -> bool:
        """Return whether the model may be asked about users of an app now."""
        outage = self._circuit_breaker.current_outage()
        is_away = outage is not None and self._client.now() < outage.retry_at
        return not is_away and (app is None or self._has_model_for(app))


async def find_pairs(
    database: Database, facts: FactStore, reconciler: Reconciler, scope: Scope, *, limit: int
) -> tuple[list[UndecidedFact], PairingState]:
    """Return likely pairs of facts, the most similar first, and the state to store once they are compared.

    One fact of each has changed since facts were last compared in pairs. With more than `limit` of them, the state
    stays what it is, so that the others are found next time.
    """
    async with database.read_transaction() as tx:
        state = await facts.comparisons.pairing_state(tx, scope)
        revision = (await facts.state(tx, scope)).revision
        changed = await facts.comparisons.changed_facts(tx, scope, since=state.paired_revision, limit=MAX_CHANGED_FACTS)
        waiting = {each.fact_id for each in await facts.comparisons.undecided(tx, scope)}
        stored = await facts.history.stored(tx, scope, changed.keys() - waiting)
    likeness: dict[tuple[str, str], _Unlikeness] = {}
    for known in stored.values():
        for other_id, like in (await _similar_to(database, facts, reconciler, scope, known)).items():
            first, second = sorted((known.fact.id, other_id))
            if other_id not in waiting:
                likeness[first, second] = like
    pairs = [UndecidedFact(fact_id=one, other_id=other) for one, other in sorted(likeness, key=lambda it: likeness[it])]
    if len(pairs) > limit:
        return pairs[:limit], state
    reached = revision if len(changed) < MAX_CHANGED_FACTS else max(changed.values())
    return pairs, PairingState(paired_revision=reached)


async def _similar_to(
    database: Database, facts: FactStore, reconciler: Reconciler, scope: Scope, known: StoredFact
) -> dict[str, _Unlikeness]:
    """Return the facts that are similar to one and that no model has compared with it."""
    similar = {each.fact.id: each for each in await reconciler.find_similar(scope, known)}
    async with database.read_transaction() as tx:
        compared = await facts.comparisons.find_compared(
            tx, scope, known.fact, [each.fact for each in similar.values()]
        )
    return {
        fact_id: (not each.is_similar_by_words, -each.cosine, -each.shared_words)
        for fact_id, each in similar.items()
        if fact_id not in compared
    }
