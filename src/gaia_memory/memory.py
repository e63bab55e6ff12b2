"""Memory: everything a host can ask of a person's memory, in one place and without logic of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources.live_config import LiveConfig
from gaia_memory.errors import InvalidInputError, MemoryDisabledError, MemoryUnavailable
from gaia_memory.forget.delete import Forgetter
from gaia_memory.health import HealthCheck, quarantine_note
from gaia_memory.learn.embed_drafts import EMBED_TIMEOUT_SECONDS, embed_drafts
from gaia_memory.learn.forget_guard import reject_forgotten
from gaia_memory.learn.screen import reject_unkeepable
from gaia_memory.learn.verbatim import build_verbatim_drafts
from gaia_memory.log import logger_for
from gaia_memory.models import (
    Contact,
    Draft,
    Fact,
    Filters,
    Hit,
    MergeResult,
    ModelOutage,
    NewFact,
    Origin,
    Page,
    Profile,
    RecallResult,
    Receipt,
    Scope,
    SessionKey,
    Status,
    UserStatement,
    compile_filters,
    require_scopes,
)
from gaia_memory.models.validation import raise_invalid, require_int, require_text
from gaia_memory.ports import Clock, Database, Embedder, FactStore, Follower, Ledger, Outbox
from gaia_memory.profile.distil import Distiller
from gaia_memory.recall.browse import MAX_PAGE_FACTS, find_by_words, load_page
from gaia_memory.recall.contact import find_contact
from gaia_memory.recall.pipeline import Recall
from gaia_memory.telemetry import log_fields, memory_span
from gaia_memory.transfer.merge_people import Merger
from gaia_memory.transfer.transfer import Transfer

logger = logger_for(__name__)

Progress = Callable[[int, int], None]
"""Called with the number of facts done and their total."""

MAX_RECALL_LIMIT = 1_000
"""Facts that one `recall` may be asked for."""

REMEMBER_EMBED_TIMEOUT_SECONDS = 5.0
"""How long a fact that is remembered in a turn waits for its vector, which follows later otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A person's memory, for hosts, tools and commands. Every method takes the `Scope` it is about first."""

    live: LiveConfig
    clock: Clock
    database: Database
    facts_store: FactStore
    ledger: Ledger
    outbox: Outbox
    embedder: Embedder
    recaller: Recall
    distiller: Distiller
    forgetter: Forgetter
    follower: Follower
    describe_model: Callable[[], str]
    store_problem: Callable[[], str | None]
    model_outage: Callable[[str], ModelOutage | None]
    readable_apps: Callable[[], Collection[str]]

    @property
    def config(self) -> GaiaConfig:
        """Every setting in force."""
        return self.live.config

    async def remember(
        self, scope: Scope, text: str, *, origin: Origin | None = None, user_statement: UserStatement | None = None
    ) -> Fact:
        """Keep one fact word for word; it is on disk when this returns.

        A fact that is already there is confirmed and returned as it stands. `origin` names the conversation and the
        events in which it was told: once the fact is forgotten, they are never learned from. What was forgotten comes
        back by this; where a model wants it kept, `user_statement`, what the person says meanwhile, has to speak of it.

        Raises:
            InvalidInputError: the text is blank or shows nothing, is too long, or holds a credential; or it was
                forgotten, and `user_statement` does not speak of it.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        fact_text = require_text("text", text).strip()
        session = await self._known_session_id(scope, origin)
        draft = Draft(
            fact=NewFact(fact_text, session_id=session),
            source="remember",
            app=scope.app if origin is None else origin.app,
            event_ids=() if origin is None or session is None else origin.event_ids,
        )
        await asyncio.to_thread(reject_unkeepable, draft)
        [fact] = await self._write(scope, [draft], user_statement=user_statement)
        return fact

    async def _known_session_id(self, scope: Scope, origin: Origin | None) -> str | None:
        """Return the id of a conversation that the ledger counts; others, such as a tool's own, are gone soon."""
        app = scope.app if origin is None else origin.app
        if origin is None or origin.session_id is None or app is None:
            return None
        async with self.database.read_transaction() as tx:
            row = await self.ledger.row(tx, SessionKey(app, scope.user, origin.session_id))
        return None if row is None else origin.session_id

    async def add(self, scope: Scope, facts: Sequence[NewFact], *, progress: Progress | None = None) -> list[Fact]:
        """Keep many facts word for word, all or none; returns the fact each became, in order.

        Raises:
            InvalidInputError: one is no `NewFact`, is too long or holds a credential; nothing was written.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        # Ten thousand facts are some 50 ms of work: other turns go on meanwhile.
        return await self._write(scope, await asyncio.to_thread(build_verbatim_drafts, facts, scope), progress=progress)

    async def recall(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int | None = None,
        filters: Filters | None = None,
        extra_scopes: Sequence[Scope] = (),
    ) -> list[Hit]:
        """Return the facts that answer a question best, at most `limit` (default `memory.recall_limit`).

        Only facts for which the `filters` hold, in mem0's form (`holds`): `{"category": "health"}`,
        `{"said_at": {"gte": "2026-03-01"}}`. `extra_scopes` are further scopes whose facts may answer, such as what a
        whole family shares; `hit.fact.scope` says whose a fact is.

        Raises:
            InvalidInputError: the query is no text, `limit` is not from 1 to 1000, the filters are of another form, or
                one of `extra_scopes` is no scope.
            MemoryUnavailable: no way of searching could answer.
        """
        return list((await self.explain(scope, query, limit=limit, filters=filters, extra_scopes=extra_scopes)).hits)

    async def explain(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int | None = None,
        filters: Filters | None = None,
        extra_scopes: Sequence[Scope] = (),
    ) -> RecallResult:
        """Return what `recall` finds or raise what it raises, with what it left out and what could not answer."""
        await self._require(scope)
        require_scopes("beside", extra_scopes)
        if not isinstance(query, str):
            raise_invalid("query", query, "pass what to look for as text")
        if limit is not None:
            require_int("limit", limit, minimum=1, maximum=MAX_RECALL_LIMIT, fix=f"pass 1 to {MAX_RECALL_LIMIT}")
        predicate = None if filters is None else compile_filters(filters)
        settings = self.config.memory
        if limit is None and settings.recall_limit != "auto":
            limit = settings.recall_limit
        with memory_span("search_memory", scope) as span:
            span.record_query(query)
            recalled = await self.recaller.explain(
                scope,
                query,
                limit=limit,
                threshold=settings.score_threshold,
                predicate=predicate,
                extra_scopes=extra_scopes,
            )
            span.record_hits(recalled.hits)
        return recalled

    async def facts(self, scope: Scope) -> list[Fact]:
        """Return every current fact, oldest first."""
        await self._require(scope)
        async with self.database.read_transaction() as tx:
            return await self.facts_store.facts(tx, scope)

    async def browse(
        self, scope: Scope, *, filters: Filters | None = None, offset: int = 0, limit: int = MAX_PAGE_FACTS
    ) -> Page:
        """Return the current facts from `offset` on for which the `filters` hold, at most `limit`, oldest first.

        Raises:
            InvalidInputError: `offset` is below 0, `limit` is not from 1 to 100, or the filters are of another form.
        """
        await self._require(scope)
        predicate = None if filters is None else compile_filters(filters)
        return await load_page(self.database, self.facts_store, scope, predicate, offset=offset, limit=limit)

    async def holding(self, scope: Scope, words: str, *, limit: int) -> list[Fact]:
        """Return the facts that hold one of these words, in any of its forms, best first; asks no embedder."""
        await self._require(scope)
        return await find_by_words(self.database, self.facts_store, scope, words, limit=limit)

    async def count(self, scope: Scope) -> int:
        """Count the current facts."""
        await self._require(scope)
        async with self.database.read_transaction() as tx:
            return await self.facts_store.count(tx, scope)

    async def forget(self, scope: Scope, *, fact_id: str | None = None, session_id: str | None = None) -> Receipt:
        """Forget everything, one fact, or what only one conversation taught; works while memory is off.

        Nothing forgotten is shown once this returns; the files are rewritten in the background
        (`Receipt.pending`, `settled`). An unknown or foreign id gives a count of 0.
        """
        await self._require(scope, enabled=False)
        if fact_id is not None and session_id is not None:
            raise InvalidInputError("forget takes fact_id or session_id, not both")
        with memory_span("delete_memory", scope, record_id=fact_id, session=session_id) as span:
            receipt = await self._forget(scope, fact_id, session_id)
            span.set_record_count(receipt.count)
        if quarantined := await self.follower.quarantined_stores():
            receipt = replace(receipt, notes=(*receipt.notes, quarantine_note(quarantined)))
        fields = log_fields("memory.forgotten", scope, facts=receipt.count, pending=receipt.pending)
        logger.info("%d facts were forgotten", receipt.count, extra=fields)
        self.follower.wake()
        return receipt

    async def merge(self, scope: Scope, into: Scope) -> MergeResult:
        """Make all that is known of `scope` known of `into`, another id of the same person; works while memory is off.

        Ids of facts stay, what both know stands once with all its sources, and what either has forgotten stays
        forgotten. Merging again moves what has come since.

        Raises:
            InvalidInputError: both are one, talk of one waits to be learned, or one is unknown (`into` may be new
                where `people.users` names it); nothing was moved.
        """
        await self._require(scope, enabled=False)
        await self._require(into, enabled=False)
        merger = Merger(self.database, self.facts_store, self.ledger, self.outbox)
        known_users = self.config.people.users
        merged = await merger.merge(scope, into, known_users=known_users, now=self.clock.now())
        logger.info("%d facts were merged", merged.count, extra=log_fields("memory.merged", into, facts=merged.count))
        self.follower.wake()
        return merged

    async def profile(self, scope: Scope) -> Profile:
        """Return what an agent is told about this person; asks a model only when something changed."""
        await self._require(scope)
        return await self.distiller.profile(scope)

    async def resolve_contact(self, scope: Scope, who: str) -> Contact:
        """Return the phone number of a relation or a name ("girlfriend"): one for certain, several, or none.

        Only facts that name `who` as a word count.

        Raises:
            InvalidInputError: `who` is blank.
        """
        if not isinstance(who, str):
            raise_invalid("who", who, "pass a relation or a name, such as 'girlfriend'")
        return find_contact(await self.facts(scope), who)

    async def export(self, scope: Scope) -> dict[str, Any]:
        """Return everything held about a person as data for JSON; works while memory is off.

        Facts with all their sources, the last profile, and which conversations wait to be learned; no vectors.
        """
        await self._require(scope, enabled=False)
        return await self._transfer.export(scope)

    async def import_(self, scope: Scope, data: Mapping[str, Any], *, restore_forgotten: bool = False) -> int:
        """Store what `export` returned, all or none; returns how many facts were written or confirmed.

        Facts keep their times and sources. Importing twice changes nothing, and the data may come from another scope
        or home. Unless `restore_forgotten` is set, what this scope forgot stays forgotten: single facts, what was
        noted before everything was, and what a conversation taught before it was.

        Raises:
            InvalidInputError: the data is not of that form; it names place, value and fix, and nothing is written.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        with memory_span("upsert_memory", scope) as span:
            count = await self._transfer.import_facts(scope, data, restore_forgotten=restore_forgotten)
            span.set_record_count(count)
        self.follower.wake()
        return count

    async def status(self, scope: Scope) -> Status:
        """Return how memory is doing for this person: state, reason and remedy, counts, what waits.

        While the database does not answer that is the reason, and nothing is counted.
        """
        await self._require(scope, enabled=False)
        try:
            return await self._status(scope)
        except MemoryUnavailable as error:
            return Status(
                state="degraded" if self.config.memory.enabled else "disabled",
                reason=error.reason,
                remedy=error.remedy,
                model=self.describe_model(),
                embedder=self.embedder.identity,
            )

    async def _status(self, scope: Scope) -> Status:
        async with self.database.read_transaction() as tx:
            count = await self.facts_store.count(tx, scope)
            pending = await self.ledger.pending(tx, user=scope.user, app=scope.app)
            store = await self.outbox.store(tx)
        health_check = HealthCheck(
            live=self.live,
            store_problem=self.store_problem(),
            outage=self.model_outage(scope.user),
            pending=pending,
            readable_apps=self.readable_apps(),
            quarantined=await self.follower.quarantined_stores(),
        )
        state, reason, remedy = health_check.evaluate()
        return Status(
            state=state,
            reason=reason,
            remedy=remedy,
            facts=count,
            pending=tuple(pending),
            lag=store.lag,
            erasures=store.erasures,
            model=self.describe_model(),
            embedder=self.embedder.identity,
            store=store.store_id,
            owner=store.owner_description,
        )

    async def scopes(self) -> list[Scope]:
        """Return every scope that holds a fact."""
        async with self.database.read_transaction() as tx:
            return await self.facts_store.scopes(tx)

    async def settled(self) -> None:
        """Wait until the mem0 store holds exactly the current facts and no erasure is pending.

        Raises:
            StoreStalledError: there was no progress for a minute; it names the process that owns the store.
        """
        self.database.require_open()
        await self.live.reload_if_changed()
        await self.follower.settled()

    @property
    def _transfer(self) -> Transfer:
        return Transfer(
            database=self.database,
            facts=self.facts_store,
            ledger=self.ledger,
            embedder=self.embedder,
            clock=self.clock,
        )

    async def _forget(self, scope: Scope, fact_id: str | None, session_id: str | None) -> Receipt:
        now = self.clock.now()
        # Transcripts carry the host's wall clock, so the border between before and after does too.
        said_until = time.time()
        if fact_id is not None:
            return await self.forgetter.forget_fact(scope, fact_id, now=now, said_until=said_until)
        if session_id is not None:
            return await self.forgetter.forget_conversation(scope, session_id, now=now, said_until=said_until)
        return await self.forgetter.forget_all(scope, now=now, said_until=said_until)

    async def _write(
        self,
        scope: Scope,
        drafts: list[Draft],
        *,
        progress: Progress | None = None,
        user_statement: UserStatement | None = None,
    ) -> list[Fact]:
        seconds = (
            EMBED_TIMEOUT_SECONDS if any(draft.source == "add" for draft in drafts) else REMEMBER_EMBED_TIMEOUT_SECONDS
        )
        with memory_span("create_memory", scope) as span:
            drafts = await embed_drafts(self.embedder, drafts, timeout_seconds=seconds, progress=progress)
            async with self.database.transaction() as tx:
                if user_statement is not None:
                    texts = [draft.fact.text for draft in drafts]
                    await reject_forgotten(self.facts_store, tx, scope, texts, user_statement)
                await self.facts_store.remove_tombstones(tx, scope, [draft.fact.text for draft in drafts])
                written = await self.facts_store.write(tx, scope, drafts, now=self.clock.now())
            span.record_facts(written)
        logger.debug("%d facts were kept", len(written), extra=log_fields("memory.kept", scope, facts=len(written)))
        self.follower.wake()
        return written

    async def _require(self, scope: object, *, enabled: bool = True) -> None:
        """Return only for a scope, while memory is open and, unless `enabled` is false, on by the newest file."""
        self.database.require_open()
        if not isinstance(scope, Scope):
            raise_invalid("scope", scope, "pass a Scope, such as gaia.scope(user_id)")
        await self.live.reload_if_changed()
        if enabled and not self.config.memory.enabled:
            raise MemoryDisabledError
