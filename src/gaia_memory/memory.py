"""The façade `Memory`: everything a host can do with a person's memory. It contains no logic of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from typing_extensions import Unpack

from gaia_memory.backend.mem0_store.follower import StoreFollower
from gaia_memory.backup.memory_files import MemoryFilesMixin
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources.live_config import LiveConfig
from gaia_memory.database.os_errors import translate_os_errors
from gaia_memory.drafts.lifetime import take_lifetime
from gaia_memory.drafts.write_verbatim import (
    OnRefused,
    WriteOptions,
    build_remembered_draft,
    build_verbatim_drafts,
    write_verbatim,
)
from gaia_memory.errors import MemoryDisabledError
from gaia_memory.facts.history.validity import PromptState
from gaia_memory.forget.forgetting import ForgettingMixin
from gaia_memory.forget.take_back import Undoer, note_written
from gaia_memory.growth.growing import GrowthMixin
from gaia_memory.health import EngineState, load_status
from gaia_memory.ledger.memory_stores import MemoryStores
from gaia_memory.log import log_fields, logger_for
from gaia_memory.models import (
    DEFAULT_CONTEXT,
    AddResult,
    Contact,
    Draft,
    Fact,
    FactDetails,
    MergeResult,
    NewFact,
    Origin,
    Profile,
    Scope,
    SessionKey,
    Status,
    ToolChange,
    ToolTurn,
    Undone,
    UserStatement,
    join_changes,
    require_future_due,
)
from gaia_memory.models.validation import raise_invalid, require_label, require_text
from gaia_memory.ports import Clock, Embedder
from gaia_memory.profile.distil import Distiller, ProfilePreview
from gaia_memory.profile.session_profiles import SessionProfile, load_session_profiles
from gaia_memory.recall.fact_reading import FactReadingMixin
from gaia_memory.recall.memory_overview_reading import MemoryOverviewMixin
from gaia_memory.recall.phone_numbers import find_contact
from gaia_memory.recall.pipeline import Recall
from gaia_memory.redaction.credentials import mask_credentials
from gaia_memory.reminders.due_reading import DUE_WINDOW, DueReadingMixin
from gaia_memory.telemetry import memory_span
from gaia_memory.threads import run_in_thread
from gaia_memory.transfer.from_mem0 import MoveInMixin
from gaia_memory.transfer.merge_people import Merger
from gaia_memory.transfer.transfer import Progress, Transfer
from gaia_memory.truth.reconciler import Reconciler

logger = logger_for(__name__)


@translate_os_errors
@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(
    FactReadingMixin,
    MemoryOverviewMixin,
    MoveInMixin,
    DueReadingMixin,
    MemoryFilesMixin,
    ForgettingMixin,
    GrowthMixin,
):
    """The memory of every person, for hosts, tools and commands. The first argument is the `Scope` of the person."""

    live: LiveConfig
    clock: Clock
    stores: MemoryStores
    recaller: Recall
    reconciler: Reconciler
    distiller: Distiller
    follower: StoreFollower
    engine_state: Callable[[], EngineState]

    @property
    def embedder(self) -> Embedder:
        """What makes the vectors of facts."""
        return self.reconciler.embedder

    @property
    def config(self) -> GaiaConfig:
        """The settings in force."""
        return self.live.config

    async def remember(
        self,
        scope: Scope,
        text: str,
        *,
        origin: Origin | None = None,
        user_statement: UserStatement | None = None,
        active_context: str = DEFAULT_CONTEXT,
        **details: Unpack[FactDetails],
    ) -> Fact:
        """Store one fact word for word, credentials masked; it is on disk when this returns.

        `details` are fields of `NewFact`, such as `metadata`, `category` and `valid_until`. Metadata named `ttl`
        ("3600s") and `expire_time` (ISO 8601) say when the fact expires, as in Vertex AI Memory Bank. A known fact is
        said again by this: it gets the new date and details. `origin` names the conversation and the events that the
        fact comes from: once it is forgotten, those events never teach it again. A forgotten fact may be remembered
        again. A tool that a model calls passes the source `agent` in `origin`, and `user_statement`, what the user
        said and what other tools answered: what has its words from there gets the metadata `unconfirmed: true`, and a
        forgotten fact that they do not mention is refused. Without a `context`, a new fact belongs to the
        `active_context`.

        Raises:
            InvalidInputError: the text is blank, too long or nothing but a credential, a detail is
                invalid, `due_at` is past, or `user_statement` does not mention it after it was forgotten.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        now = self.clock.now()
        new_fact = take_lifetime(NewFact(require_text("text", text).strip(), said_at=now, **details), now)
        require_future_due(new_fact, now)
        allow_numbers = self.config.memory.allow_numbers
        require_label("active_context", active_context)
        draft = await build_remembered_draft(
            self.stores, scope, new_fact, origin, user_statement, allow_numbers=allow_numbers
        )
        # A context that is given, be it `global`, counts more than the active one.
        draft = replace(draft, active_context=details.get("context", active_context))
        write = self.reconciler.writer(scope)
        if origin is not None and origin.turn is not None:
            write = note_written(self.stores.facts, scope, origin.turn, write, now)
        [fact] = await self._write(scope, [draft], write=write, user_statement=user_statement)
        return fact

    async def add(
        self,
        scope: Scope,
        facts: Sequence[NewFact],
        *,
        on_refused: OnRefused = "raise",
        reconcile: bool = False,
        progress: Progress | None = None,
    ) -> AddResult:
        """Store many facts word for word, in one transaction; returns what each became, in order.

        They end only facts with the same key, unless `reconcile` is true: then later sweeps ask the model about the
        others, as for `remember`.
        The result says which facts are new. With `on_refused="skip"` it also lists the facts that were left out because
        they are too long or nothing but a credential; with "raise" one of those means that nothing is stored. Metadata
        named `ttl` and `expire_time` are those of `remember`.

        Raises:
            InvalidInputError: an item is no `NewFact`, or, with "raise", too long or only a credential; nothing stored.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        # Ten thousand facts are some 50 ms of work: off the event loop.
        allow_numbers = self.config.memory.allow_numbers
        drafts, refused = await run_in_thread(
            build_verbatim_drafts,
            facts,
            scope,
            now=self.clock.now(),
            on_refused=on_refused,
            allow_numbers=allow_numbers,
        )
        write = self.reconciler.writer(scope) if reconcile else None
        return replace(await self._write(scope, drafts, progress=progress, write=write), refused=refused)

    async def withdraw(self, scope: Scope, fact_id: str, turn: ToolTurn) -> None:
        """Forget one fact for a tool: at once for every reader, and for good after `memory.undo_seconds`."""
        await self._require(scope)
        now = self.clock.now()
        erase_at = now + timedelta(seconds=self.config.memory.undo_seconds)
        await Undoer(*self.stores).withdraw(scope, fact_id, turn, now=now, erase_at=erase_at)
        self.follower.wake()

    async def withdrawn(self, scope: Scope) -> list[Fact]:
        """Return the facts that tools have forgotten and that are not erased yet; `forget` erases them at once."""
        await self._require(scope, enabled=False)
        async with self.stores.database.read_transaction() as tx:
            return await self.stores.facts.tool_changes.withdrawn(tx, scope)

    async def tool_changes(self, scope: Scope, turn: ToolTurn) -> list[ToolChange]:
        """Return what the tools of a turn did to facts, all in all."""
        await self._require(scope, enabled=False)
        async with self.stores.database.read_transaction() as tx:
            noted = await self.stores.facts.tool_changes.noted_changes(tx, scope, turn.key, turn.invocation_id)
        return self._masked(join_changes(each.change for each in noted))

    async def undo(self, scope: Scope, key: SessionKey) -> Undone | None:
        """Take back what tools did in the last turn of a conversation in which they did anything; None without one.

        What was forgotten is as it was, what was changed has its earlier wording, and what was remembered is forgotten.
        A change is left as it is if the fact has changed since. Each is taken back once.
        """
        await self._require(scope)
        undone = await Undoer(*self.stores).undo(scope, key, now=self.clock.now())
        self.follower.wake()
        return None if undone is None else Undone(*map(self._masked, undone))

    async def has_forgotten(self, scope: Scope, texts: Sequence[str]) -> bool:
        """Return whether one of these facts was forgotten, so that no conversation teaches it again."""
        await self._require(scope, enabled=False)
        async with self.stores.database.read_transaction() as tx:
            return any(await self.stores.facts.tombstones.have_tombstones(tx, scope, texts))

    async def merge(self, scope: Scope, into: Scope) -> MergeResult:
        """Move everything known of `scope` to `into`, another id of the same person; works while memory is off.

        Facts keep their ids. A fact known of both is kept once, with the sources of both. Anything either has forgotten
        stays forgotten. A second merge moves what was added after the first.

        Raises:
            InvalidInputError: both are the same, one has conversations to be learned, or one is that of an app or
                unknown (`into` may be new if `people.users` names it); nothing was moved.
        """
        await self._require(scope, enabled=False)
        await self._require(into, enabled=False)
        known_users = self.config.people.users
        merged = await Merger(*self.stores).merge(scope, into, known_users=known_users, now=self.clock.now())
        logger.info("%d facts were merged", merged.count, extra=log_fields("memory.merged", into, facts=merged.count))
        self.follower.wake()
        return merged

    async def profile(self, scope: Scope, *, context: str | None = None) -> Profile:
        """Return the profile for an agent's prompt; calls the model only if something changed.

        It has no sensitive facts and, with `context`, only facts of that context and `global` ones.
        """
        await self._require(scope)
        return await self.distiller.profile(scope, context)

    async def preview_profile(self, scope: Scope, *, context: str | None = None) -> ProfilePreview:
        """Return the profile that the next session would get, without calling the model."""
        await self._require(scope)
        return await self.distiller.preview(scope, context)

    async def session_profiles(self, scope: Scope) -> list[SessionProfile]:
        """Return the profiles that running sessions are using."""
        await self._require(scope)
        allow_numbers = self.config.memory.allow_numbers
        key = await self.profile_key(scope)
        return await load_session_profiles(self.stores, scope, cache_key=key, allow_numbers=allow_numbers)

    async def profile_key(self, scope: Scope) -> str:
        """Return what a profile in a running session depends on.

        That is the configuration, the model that writes it, and which facts have ended, expired or begun to hold.
        Facts that are added since do not change it.
        """
        return (await self.prompt_state(scope)).profile_key

    async def prompt_state(self, scope: Scope) -> PromptState:
        """Return what prompts depend on at this moment; due is what is due within 7 days."""
        now = self.clock.now()
        async with self.stores.database.single_statement(only_reads=True) as tx:
            state = await self.stores.facts.validity.prompt_state(tx, scope, now=now, due_until=now + DUE_WINDOW)
        key = f"{self.live.profile_fingerprint} {self.distiller.model_name} {state.profile_key}"
        may_have_profile = state.may_have_profile or self.distiller.has_projects
        return replace(state, profile_key=key, may_have_profile=may_have_profile)

    async def resolve_contact(self, scope: Scope, who: str) -> Contact:
        """Return the phone number of a relation or a name ("girlfriend"): one for certain, several, or none.

        Only facts that contain `who` as a word count, and no sensitive ones.

        Raises:
            InvalidInputError: `who` is blank.
        """
        return find_contact([fact for fact in await self.facts(scope) if not fact.sensitive], who)

    async def export(self, scope: Scope) -> dict[str, Any]:
        """Return everything stored about a person as data for JSON; works while memory is off.

        Facts with all their sources, the last profile and the pending conversations; no vectors.
        """
        await self._require(scope, enabled=False)
        return await self._transfer.export(scope)

    async def import_(
        self,
        scope: Scope,
        data: Mapping[str, Any],
        *,
        restore_forgotten: bool = False,
        reconcile: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Store what `export` returned, all or none; returns how many facts were stored or confirmed.

        Facts get the source `import` and keep everything else. Importing twice changes nothing. The data may come from
        another scope or home. What this scope forgot stays forgotten, unless `restore_forgotten` is true: single facts,
        everything noted before a forget of all, and what a conversation had taught before it was forgotten. The facts
        end only those with the same key, unless `reconcile` is true: then later sweeps compare them with the others, as
        `remember` does.

        Raises:
            InvalidInputError: the data has another form; the message names place, value and fix. Nothing was stored.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        with memory_span("upsert_memory", scope) as span:
            count = await self._transfer.import_facts(
                scope, data, restore_forgotten=restore_forgotten, reconcile=reconcile, progress=progress
            )
            span.set_record_count(count)
        self.follower.wake()
        return count

    async def status(self, scope: Scope) -> Status:
        """Return how memory is doing for this person; without an answer of the database nothing is counted."""
        await self._require(scope, enabled=False)
        return await load_status(scope, self.live, self.stores, self.follower, self.engine_state())

    async def settled(self, progress: Progress = lambda done, total: None) -> None:
        """Wait until the mem0 store contains exactly the current facts and no erasure is pending.

        `progress` is called with the steps done and their total.

        Raises:
            StoreStalledError: there was no progress for a minute; it names the process that owns the store.
        """
        self.stores.database.require_open()
        await self.live.reload_if_changed()
        await self.follower.settled(progress=progress)

    def _masked(self, changes: list[ToolChange]) -> list[ToolChange]:
        def masked(text: str | None) -> str | None:
            return text and mask_credentials(text, allow_numbers=self.config.memory.allow_numbers)

        return [{**each, "before": masked(each["before"]), "after": masked(each["after"])} for each in changes]

    @property
    def _transfer(self) -> Transfer:
        settings = self.config.memory
        return Transfer(
            self.stores,
            self.embedder,
            self.clock,
            allow_numbers=settings.allow_numbers,
            embeds_sensitive=settings.embed_sensitive,
        )

    async def _write(
        self,
        scope: Scope,
        drafts: Sequence[Draft],
        **options: Unpack[WriteOptions],
    ) -> AddResult:
        options.setdefault("embeds_sensitive", self.config.memory.embed_sensitive)
        written = await write_verbatim(self.stores, self.embedder, self.clock, scope, drafts, **options)
        self.follower.wake()
        return written

    async def _require(self, scope: object, *, enabled: bool = True) -> None:
        """Check that `scope` is a scope and memory is open, and, if `enabled`, on by the newest file."""
        self.stores.database.require_open()
        if not isinstance(scope, Scope):
            raise_invalid("scope", scope, "pass a Scope, such as gaia.scope(user_id)")
        await self.live.reload_if_changed()
        if enabled and not self.config.memory.enabled:
            raise MemoryDisabledError
