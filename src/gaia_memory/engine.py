"""The engine: opens and shares everything that is not ADK, once per configuration and event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from gaia_memory.backend.builder import Backend
from gaia_memory.backend.mem0_store.follower import StoreFollower
from gaia_memory.backend.mem0_store.ownership import StoreOwner
from gaia_memory.backend.providers.provider_check import check_providers
from gaia_memory.config.sources import live_config
from gaia_memory.config.sources.load import LoadedConfig
from gaia_memory.database.bounded_waits import DatabaseWaits
from gaia_memory.database.session_engine import SessionEngine
from gaia_memory.database.sql_engine import Database, PoolSettings, open_database
from gaia_memory.errors import ConfigError, MemoryDisabledError
from gaia_memory.facts import FactStore, Indexes, Outbox, load_dominant_embedder
from gaia_memory.health import EngineState
from gaia_memory.learning.circuit_breaker import ModelCircuitBreaker
from gaia_memory.learning.consolidate import Consolidator, ForgottenSessions, Outcome
from gaia_memory.learning.learner import Learner, learn_settings
from gaia_memory.learning.reconcile_queue import ReconcileQueue
from gaia_memory.learning.sweep import Progress, Sweeper
from gaia_memory.learning.sweep_scheduler import SweepScheduler
from gaia_memory.ledger import Ledger, MemoryStores, add_token_sums, is_owner_dead, mark_dead, new_owner
from gaia_memory.memory import Memory
from gaia_memory.models import LearnedFacts, Metadata, Scope, SessionKey, SweepReport, Turn
from gaia_memory.ports import Clock, ProjectsProvider, SystemClock, Transcript
from gaia_memory.profile.distil import Distiller, profile_settings
from gaia_memory.recall.index.vector_filler import VectorFiller
from gaia_memory.recall.pipeline import Recall
from gaia_memory.sessions.ledger_client import LedgerClient
from gaia_memory.sessions.message_debounce import MessageDebouncer, SessionLocks
from gaia_memory.sessions.pending_confirmations import PendingConfirmations
from gaia_memory.sessions.transcript_registry import TranscriptRegistry
from gaia_memory.sessions.turn_presence import TurnPresence
from gaia_memory.truth.reconciler import Reconciler

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from gaia_memory.config.schema import GaiaConfig


class Engine:
    """Everything behind one configuration: the databases, the facts, the ledger, mem0 and the sweep."""

    def __init__(
        self,
        loaded: LoadedConfig,
        database: Database,
        *,
        clock: Clock,
        projects: ProjectsProvider | None,
        stored_embedder: str | None,
    ) -> None:
        """Put the parts together; nothing is opened but what is given."""
        config = loaded.config
        self.live = live_config.LiveConfig(
            loaded, check=lambda new: check_providers(new, previous=self.config), apply=self._apply_config
        )
        self.clock, self.loop = clock, asyncio.get_running_loop()
        # Two engines of one process are two owners: neither takes the other's lease, or gives it back.
        self.owner = new_owner()
        self.database = database
        self.facts, self.ledger, self.outbox, self.indexes = FactStore(clock), Ledger(), Outbox(), Indexes()
        self.backend = Backend(config, stored_embedder=stored_embedder, save_tokens=partial(add_token_sums, database))
        self.agent_models = self.backend.agent_models
        self.locks = SessionLocks()
        self.debouncer, self.pending_confirmations = MessageDebouncer(self.locks), PendingConfirmations()
        self.conversations = LedgerClient(database, self.ledger, self.facts, clock, owner=self.owner)
        self.turns = TurnPresence(self.conversations)
        self.transcripts = TranscriptRegistry()
        self.listing_errors, self.readable_apps = self.transcripts.listing_errors, self.transcripts.list_apps
        self.set_transcript_fallback = self.transcripts.set_fallback
        self._sessions = SessionEngine(database, lambda: (self.config.sessions_url, self.config.memory_url))
        self._has_started = False
        self.follower = StoreFollower(
            database,
            self.outbox,
            self.backend,
            clock,
            home=config.home,
            owner=StoreOwner(self.owner, is_owner_dead),
            scrub=self._scrub,
            is_enabled=lambda: self.config.memory.enabled,
        )
        self.vectors = VectorFiller(database, self.indexes, self.outbox, self.backend)
        self.circuit_breaker = ModelCircuitBreaker(clock)
        self.memory = self._build_memory(projects)
        self.consolidator = self._build_consolidator()
        self.can_read, self.last_waiting_turn = self.consolidator.can_read, self.consolidator.last_waiting_turn
        self.read_details = self.consolidator.read_details
        self._sweeper = self._build_sweeper()
        self._reconcile_queue = ReconcileQueue(
            client=self.conversations,
            facts=self.facts,
            reconciler=self.memory.reconciler,
            circuit_breaker=self.circuit_breaker,
            is_owner_dead=is_owner_dead,
            has_model_for=self.agent_models.has_model_for,
            is_enabled=self._is_learning_still_enabled,
        )
        scheduled = partial(self.sweep, is_scheduled=True)
        self._sweep_scheduler = SweepScheduler(scheduled, idle_seconds=config.sessions.idle_seconds)
        self.agent_models.on_new_app = self._sweep_scheduler.trigger
        self.turns.on_turn_end = self._sweeper.learn_before_quiet

    @classmethod
    async def open(
        cls, loaded: LoadedConfig, *, clock: Clock | None = None, projects: ProjectsProvider | None = None
    ) -> Engine:
        """Open the database and return an engine that does nothing in the background yet.

        Raises:
            ConfigError: a provider or one of its keys is unknown to mem0.
            MemoryUnavailable: the database cannot be opened.
        """
        config = loaded.config
        database = await open_database(config.memory_url, home=config.home, pool=PoolSettings.of(config.sessions))
        try:
            stored = await DatabaseWaits().run(load_dominant_embedder(database))
            engine = cls(loaded, database, clock=clock or SystemClock(), projects=projects, stored_embedder=stored)
            await engine.check()
            return engine
        except BaseException:
            await database.close()
            raise

    async def check(self) -> None:
        """Check the providers with mem0, where other than the usual ones are named: importing mem0 takes a second.

        Raises:
            ConfigError: a provider or one of its keys is unknown; all are listed.
        """
        try:
            await check_providers(self.config, backend=self.backend)
        except ConfigError as error:
            raise error.found_in(self.loaded.source) from error

    @property
    def loaded(self) -> LoadedConfig:
        """The configuration in force, and where it came from."""
        return self.live.current

    @property
    def config(self) -> GaiaConfig:
        """Every setting in force."""
        return self.live.config

    @property
    def is_learning_enabled(self) -> bool:
        """True when conversations are learned by themselves."""
        return self.config.memory.enabled and self.config.memory.auto_ingest

    @property
    def model_name(self) -> str:
        """The provider and name of the model that learns and writes profiles, as `provider/model`."""
        return self.backend.language_model.identity

    @property
    def embedder_name(self) -> str:
        """The identity of the embedder."""
        return self.backend.embedder.identity

    @property
    def is_read_only(self) -> bool:
        """Whether the memory database can only be read, so that nothing is learned or followed."""
        return self.database.is_read_only

    @property
    def remote_stores(self) -> tuple[str, ...]:
        """The stores whose files are on a server."""
        database = () if self.database.is_local else ("the memory database",)
        return database if self.follower.is_embedded else (*database, "the vector store")

    def describe_model(self) -> str:
        """Return one line: the model and the embedder, and why they differ from the expected ones."""
        return self.backend.describe()

    def scope(self, app: str, user: str) -> Scope:
        """Return the scope of a person in an app, as `memory.scope` has it."""
        return Scope(None if self.config.memory.scope == "user" else app, user)

    def attach_transcript(self, app: str, transcript: Transcript) -> None:
        """Make an app's sessions readable for consolidation, in addition to those of earlier transcripts."""
        if self.transcripts.attach(app, transcript):
            self._sweep_scheduler.trigger()

    def require_open(self) -> None:
        """Raise `MemoryUnavailable` if the memory database is closed."""
        self.database.require_open()

    async def reload_config(self) -> None:
        """Put the configuration file in force where it changed."""
        await self.live.reload_if_changed()

    def mem0_config(self) -> dict[str, Any]:
        """Return the configuration with which plain mem0 opens the store."""
        return self.backend.mem0_config(self.follower.address)

    def sessions_engine(self) -> AsyncEngine:
        """Return the engine of the session database, opened at first use and closed with this one."""
        return self._sessions.get()

    def start(self, *, delay_seconds: float = 0.0) -> None:
        """Start the sweep in the background after `delay_seconds`, and the follower when the first turns are over.

        While memory is off, the store is opened only to erase forgotten facts from it.
        """
        if self.is_read_only:
            return
        self._has_started = True
        self.follow()
        if self.is_learning_enabled or self.loaded.origin is not None:
            self._sweep_scheduler.start(delay_seconds=delay_seconds)

    def follow(self) -> None:
        """Start what fills in vectors, and the follower of the mem0 store."""
        self.vectors.start()
        self.follower.start(is_busy=lambda: self.turns.has_running)

    async def sweep(
        self, *, force: bool = False, progress: Progress | None = None, is_scheduled: bool = False
    ) -> SweepReport:
        """Learn what is due and delete what was cleared long ago; `force` ignores idleness, back-off and parking."""
        await self.live.reload_if_changed()
        if not self.is_learning_enabled or (is_scheduled and not self.config.sessions.background_sweep):
            return SweepReport()
        try:
            last_row = await self._reconcile_queue.last_row()
            report = await self._sweeper.sweep(force=force, progress=progress, is_scheduled=is_scheduled)
            await self._reconcile_queue.settle(last_row=last_row)
        finally:
            self.follower.wake()
        days = self.config.sessions.retain_days
        purged = 0 if days is None else await self.consolidator.purge_expired(retain_seconds=days * 86_400.0)
        if report.consolidated or report.private or report.nothing_left or purged:
            await self._sessions.truncate_wal()
        return report

    async def consolidate(
        self,
        key: SessionKey,
        *,
        clear: bool = True,
        turn_owner: str = "",
        resets: bool = False,
        learned: LearnedFacts | None = None,
    ) -> Outcome:
        """Learn one conversation now, quiet or not, and clear it; `learned` gets the new facts.

        `turn_owner` asked for it. If it `resets`, requests hold nothing of it any more, also where the session is kept.
        With `memory.auto_ingest` off it is only cleared or, with `clear=False`, learned.
        """
        row = await self.conversations.ensure_row(key)
        if row.turn.active_owner in (None, turn_owner):
            await self._sweeper.finish_window(key)
        if clear and not self.is_learning_enabled:
            return await self.consolidator.clear(key, turn_owner=turn_owner, resets=resets)
        if not self.config.memory.enabled:
            return "skipped"
        try:
            outcome = await self.consolidator.consolidate(
                key, clear=clear, turn_owner=turn_owner, resets=resets, learned=learned
            )
        finally:
            self.follower.wake()
        await self._sessions.truncate_wal()
        return outcome

    async def delete_forgotten(self, scope: Scope, session_id: str | None = None) -> ForgottenSessions:
        """Delete the sessions of a scope, or one, in which nothing is left to learn; return what stays in the files."""
        forgotten = await self.consolidator.delete_forgotten(scope, session_id)
        is_truncated = await self._sessions.truncate_wal()
        return forgotten if is_truncated else forgotten._replace(open=max(forgotten.open, 1))

    async def learn(self, key: SessionKey, turns: Sequence[Turn], metadata: Metadata | None = None) -> int:
        """Learn turns handed over by the host, with metadata for the facts; returns how many facts they gave."""
        if not self.config.memory.enabled:
            return 0
        try:
            return await self.consolidator.learn(key, turns, metadata)
        except MemoryDisabledError:
            return 0
        finally:
            self.follower.wake()

    async def close(self) -> None:
        """Stop what runs, give leases and the store back, close the databases; learns nothing, loses nothing."""
        self._has_started = False
        # Each step is taken, the last one pushed first, even where another one fails.
        async with AsyncExitStack() as steps:
            steps.push_async_callback(self.database.close)
            steps.push_async_callback(self._sessions.close)
            steps.push_async_callback(self.backend.close)
            steps.push_async_callback(self.conversations.release_all)
            steps.push_async_callback(self.follower.stop)
            steps.push_async_callback(self.vectors.stop)
            steps.push_async_callback(self._sweeper.stop)
            await self._sweep_scheduler.stop()

    def abandon(self) -> None:
        """Give back what the operating system should not wait for, when the event loop is gone."""
        mark_dead(self.owner)
        self.follower.close_without_loop()
        self.backend.pools.shut_down()
        self.database.abandon()
        self._sessions.abandon()

    def _state(self) -> EngineState:
        return EngineState(
            model=self.describe_model(),
            embedder=self.embedder_name,
            store_problem=self.follower.trouble,
            outage=self.circuit_breaker.current_outage(),
            readable_apps=self.transcripts.apps,
            has_model_for=self.agent_models.has_model_for,
            notes=self.agent_models.notes,
            unsaved_tokens=self.backend.meter.unsaved,
        )

    async def _is_learning_still_enabled(self) -> bool:
        """Look at the file in the middle of a sweep, which may take long, so that it ends where it was switched off."""
        await self.live.reload_if_changed()
        return self.is_learning_enabled and not self.is_read_only

    async def _scrub(self) -> bool:
        """Remove deleted text from the files; False while a reader blocks one: call again later."""
        steps = self.database.scrub, self._sessions.truncate_wal, self.backend.erase_history
        return all([await step() for step in steps])

    def _apply_config(self, config: GaiaConfig) -> None:
        """Put in force what is not read from the configuration at each use."""
        self.backend.reconfigure(config)
        self.circuit_breaker.reset()
        self._sweep_scheduler.reschedule(config.sessions.idle_seconds)
        if self._has_started:
            self.start()

    def _build_consolidator(self) -> Consolidator:
        learner = Learner(
            client=self.conversations,
            facts=self.facts,
            extractor=self.backend.extractor,
            circuit_breaker=self.circuit_breaker,
            reconciler=self.memory.reconciler,
            settings=lambda: learn_settings(self.config),
        )
        return Consolidator(
            client=self.conversations,
            learner=learner,
            transcripts=self.transcripts,
            locks=self.locks,
            scope_of=self.scope,
            settings=lambda: learn_settings(self.config),
            has_model_for=self.agent_models.has_model_for,
        )

    def _build_sweeper(self) -> Sweeper:
        return Sweeper(
            client=self.conversations,
            transcripts=self.transcripts,
            consolidator=self.consolidator,
            circuit_breaker=self.circuit_breaker,
            idle_seconds=lambda: self.config.sessions.idle_seconds,
            window_turns=lambda: self.config.background_window if self._sweep_scheduler.has_begun else None,
            is_enabled=self._is_learning_still_enabled,
            has_model_for=self.agent_models.has_model_for,
        )

    def _build_memory(self, projects: ProjectsProvider | None) -> Memory:
        recall = Recall(self.database, self.facts, self.backend, self.clock, lambda: self.config.memory)
        memory = Memory(
            live=self.live,
            clock=self.clock,
            stores=MemoryStores(self.database, self.facts, self.ledger, self.outbox),
            recaller=recall,
            reconciler=Reconciler(
                self.database, self.facts, recall, self.backend, lambda: self.config.memory, self.clock
            ),
            distiller=Distiller(
                self.database,
                self.facts,
                self.backend.language_model,
                projects,
                settings=lambda: profile_settings(self.config, self.live.profile_fingerprint),
                clock=self.clock,
            ),
            follower=self.follower,
            engine_state=self._state,
        )
        self.follower.foreign_rows.take_in = memory.take_in
        return memory
