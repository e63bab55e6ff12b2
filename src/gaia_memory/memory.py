"""The façade `Memory`: everything a host can do with a person's memory. It contains no logic of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from typing_extensions import Unpack

from gaia_memory.backup.memory_files import MemoryFilesMixin
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources.live_config import LiveConfig
from gaia_memory.database.os_errors import translate_os_errors
from gaia_memory.errors import MemoryDisabledError
from gaia_memory.forget.delete import ForgetPreview, Forgetter
from gaia_memory.health import EngineState, foreign_stores_note, load_status
from gaia_memory.learn.write_verbatim import OnRefused, build_remembered_draft, build_verbatim_drafts, write_verbatim
from gaia_memory.log import logger_for
from gaia_memory.models import (
    AddResult,
    Contact,
    Draft,
    Fact,
    FactDetails,
    Filters,
    Hit,
    MergeResult,
    NewFact,
    Origin,
    Page,
    PendingConversation,
    PersonSummary,
    Profile,
    RecallResult,
    Receipt,
    Scope,
    Status,
    UserStatement,
    compile_filters,
    require_scopes,
)
from gaia_memory.models.validation import raise_invalid, require_text
from gaia_memory.ports import Clock, Embedder, Follower, MemoryStores
from gaia_memory.profile.distil import Distiller, ProfilePreview
from gaia_memory.profile.session_profiles import SessionProfile, load_session_profiles
from gaia_memory.recall.browse import MAX_PAGE_FACTS, load_page
from gaia_memory.recall.phone_numbers import find_contact
from gaia_memory.recall.pipeline import Recall
from gaia_memory.telemetry import log_fields, memory_span
from gaia_memory.transfer.merge_people import Merger
from gaia_memory.transfer.people_overview import load_people
from gaia_memory.transfer.transfer import Transfer

logger = logger_for(__name__)

Progress = Callable[[int, int], None]
"""Called with the number of facts done and their total."""


@translate_os_errors
@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(MemoryFilesMixin):
    """The memory of every person, for hosts, tools and commands. The first argument is the `Scope` of the person."""

    live: LiveConfig
    clock: Clock
    stores: MemoryStores
    embedder: Embedder
    recaller: Recall
    distiller: Distiller
    follower: Follower
    engine_state: Callable[[], EngineState]

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
        **details: Unpack[FactDetails],
    ) -> Fact:
        """Store one fact word for word; it is on disk when this returns.

        `details` are fields of `NewFact`, such as `metadata`, `category` and `due_at`. A fact that is known already is
        confirmed and returned as it is. `origin` names the conversation and the events that the fact comes from: once
        it is forgotten, those events never teach it again. A forgotten fact may be remembered again. A tool that a
        model calls passes the source `agent` in `origin`, and `user_statement`, what the user said: what they did not
        state gets the metadata `unconfirmed: true`, and a forgotten fact that they do not mention is refused.

        Raises:
            InvalidInputError: the text is blank or too long, it or the metadata contains a credential, a detail is
                invalid, or `user_statement` only asks it, or does not mention it after it was forgotten.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        new_fact = NewFact(require_text("text", text).strip(), **details)
        allow_numbers = self.config.memory.allow_numbers
        draft = await build_remembered_draft(
            self.stores, scope, new_fact, origin, user_statement, allow_numbers=allow_numbers
        )
        [fact] = await self._write(scope, [draft], user_statement=user_statement)
        return fact

    async def add(
        self,
        scope: Scope,
        facts: Sequence[NewFact],
        *,
        on_refused: OnRefused = "raise",
        progress: Progress | None = None,
    ) -> AddResult:
        """Store many facts word for word, in one transaction; returns what each became, in order.

        The result says which facts are new. With `on_refused="skip"` it also lists the facts that were left out because
        they are too long or contain a credential; with "raise" one of those means that nothing is stored.

        Raises:
            InvalidInputError: an item is no `NewFact`, or, with "raise", too long or with a credential; nothing stored.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        # Ten thousand facts are some 50 ms of work: off the event loop.
        allow_numbers = self.config.memory.allow_numbers
        drafts, refused = await asyncio.to_thread(
            build_verbatim_drafts, facts, scope, on_refused=on_refused, allow_numbers=allow_numbers
        )
        return replace(await self._write(scope, drafts, progress=progress), refused=refused)

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

        A blank question has no answer: the list is empty. `filters`, in mem0's form, select the facts that may answer:
        `{"category": "health"}`, `{"said_at": {"gte": "2026-03-01"}}`. Facts of `extra_scopes`, such as those of a
        family, may answer, too; `hit.fact.scope` says whose a fact is.

        Raises:
            InvalidInputError: the query is no text, `limit` is not from 1 to 1000, the filters have another form, or
                an item of `extra_scopes` is no scope.
            MemoryUnavailable: the database does not answer, or only vectors could answer and the embedder failed.
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
        """Return the hits of `recall` with what it dropped and what failed; raises what `recall` raises."""
        await self._require(scope)
        require_scopes("extra_scopes", extra_scopes)
        settings = self.config.memory
        if limit is None and settings.recall_limit != "auto":
            limit = settings.recall_limit
        return await self.recaller.recall(
            scope,
            query,
            limit=limit,
            threshold=settings.score_threshold,
            predicate=None if filters is None else compile_filters(filters),
            extra_scopes=extra_scopes,
        )

    async def facts(self, scope: Scope) -> list[Fact]:
        """Return every current fact, oldest first."""
        await self._require(scope)
        async with self.stores.database.read_transaction() as tx:
            return await self.stores.facts.facts(tx, scope)

    async def browse(
        self,
        scope: Scope,
        *,
        filters: Filters | None = None,
        offset: int = 0,
        limit: int = MAX_PAGE_FACTS,
        include_origins: bool = False,
    ) -> Page:
        """Return a page of the current facts that pass the `filters`, oldest first; `page.origins` if wanted.

        Raises:
            InvalidInputError: `offset` is below 0, `limit` is not from 1 to 100, or the filters have another form.
        """
        await self._require(scope)
        predicate = None if filters is None else compile_filters(filters)
        return await load_page(
            self.stores, scope, predicate, offset=offset, limit=limit, include_origins=include_origins
        )

    async def sources(self, scope: Scope, fact_id: str) -> list[Origin]:
        """Return where a fact comes from, with what the person said, oldest first; [] for an unknown or foreign id."""
        await self._require(scope)
        async with self.stores.database.read_transaction() as tx:
            return (await self.stores.facts.origins(tx, scope, [fact_id])).get(fact_id, [])

    async def holding(self, scope: Scope, words: str, *, limit: int) -> list[Fact]:
        """Return the facts that contain one of these words in any form, best first; calls no embedder."""
        await self._require(scope)
        return await self.recaller.find_by_words(scope, words, limit=limit)

    async def count(self, scope: Scope) -> int:
        """Count the current facts."""
        await self._require(scope)
        async with self.stores.database.read_transaction() as tx:
            return await self.stores.facts.count(tx, scope)

    async def preview_forget(self, scope: Scope, *, session_id: str | None = None) -> ForgetPreview:
        """Return what `forget` would meet, for a question to the user; works while memory is off."""
        await self._require(scope, enabled=False)
        return await Forgetter(*self.stores).preview(scope, session_id)

    async def forget(self, scope: Scope, *, fact_id: str | None = None, session_id: str | None = None) -> Receipt:
        """Forget everything, one fact, or what only one conversation taught; works while memory is off.

        Nothing forgotten is shown once this returns. The files are rewritten in the background (`Receipt.pending`,
        `settled`). An unknown or foreign id gives a count of 0.

        Raises:
            InvalidInputError: both `fact_id` and `session_id` are given.
        """
        await self._require(scope, enabled=False)
        forgetter = Forgetter(*self.stores)
        receipt = await forgetter.forget(scope, fact_id=fact_id, session_id=session_id, now=self.clock.now())
        if foreign := await self.follower.foreign_stores():
            receipt = replace(receipt, notes=(*receipt.notes, foreign_stores_note(foreign)))
        self.follower.wake()
        return receipt

    async def merge(self, scope: Scope, into: Scope) -> MergeResult:
        """Move everything known of `scope` to `into`, another id of the same person; works while memory is off.

        Facts keep their ids. A fact known of both is kept once, with the sources of both. Anything either has forgotten
        stays forgotten. A second merge moves what was added after the first.

        Raises:
            InvalidInputError: both are the same, one has conversations to be learned, or one is unknown (`into` may be
                new if `people.users` names it); nothing was moved.
        """
        await self._require(scope, enabled=False)
        await self._require(into, enabled=False)
        known_users = self.config.people.users
        merged = await Merger(*self.stores).merge(scope, into, known_users=known_users, now=self.clock.now())
        logger.info("%d facts were merged", merged.count, extra=log_fields("memory.merged", into, facts=merged.count))
        self.follower.wake()
        return merged

    async def profile(self, scope: Scope) -> Profile:
        """Return the profile for an agent's prompt; calls the model only if something changed."""
        await self._require(scope)
        return await self.distiller.profile(scope)

    async def preview_profile(self, scope: Scope) -> ProfilePreview:
        """Return the profile that the next session would get, without calling the model."""
        await self._require(scope)
        return await self.distiller.preview(scope)

    async def session_profiles(self, scope: Scope) -> list[SessionProfile]:
        """Return the profiles that running sessions are using."""
        await self._require(scope)
        return await load_session_profiles(self.stores, scope, cache_key=self.profile_key)

    @property
    def profile_key(self) -> str:
        """A hash of what shapes a profile besides the facts: the configuration and the model that writes it."""
        return f"{self.live.profile_fingerprint} {self.distiller.model_name}"

    async def resolve_contact(self, scope: Scope, who: str) -> Contact:
        """Return the phone number of a relation or a name ("girlfriend"): one for certain, several, or none.

        Only facts that contain `who` as a word count.

        Raises:
            InvalidInputError: `who` is blank.
        """
        return find_contact(await self.facts(scope), who)

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
        progress: Progress | None = None,
    ) -> int:
        """Store what `export` returned, all or none; returns how many facts were stored or confirmed.

        Facts get the source `import` and keep everything else. Importing twice changes nothing. The data may come from
        another scope or home. What this scope forgot stays forgotten, unless `restore_forgotten` is true: single facts,
        everything noted before a forget of all, and what a conversation had taught before it was forgotten.

        Raises:
            InvalidInputError: the data has another form; the message names place, value and fix. Nothing was stored.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        with memory_span("upsert_memory", scope) as span:
            count = await self._transfer.import_facts(
                scope, data, restore_forgotten=restore_forgotten, progress=progress
            )
            span.set_record_count(count)
        self.follower.wake()
        return count

    async def status(self, scope: Scope) -> Status:
        """Return how memory is doing for this person; without an answer of the database nothing is counted."""
        await self._require(scope, enabled=False)
        return await load_status(scope, self.live, self.stores, self.follower, self.engine_state)

    async def pending(self, scope: Scope | None = None) -> list[PendingConversation]:
        """Return the conversations of a person, or of all, that are not learned yet, the oldest first."""
        self.stores.database.require_open()
        user, app = (None, None) if scope is None else (scope.user, scope.app)
        async with self.stores.database.read_transaction() as tx:
            return await self.stores.ledger.pending(tx, user=user, app=app)

    async def scopes(self) -> list[Scope]:
        """Return every scope that has a fact."""
        async with self.stores.database.read_transaction() as tx:
            return await self.stores.facts.scopes(tx)

    async def people(self) -> list[PersonSummary]:
        """Return everybody with a fact or a pending conversation, with counts, sorted by user and app."""
        return await load_people(self.stores, app_scoped=self.config.memory.scope == "app_user")

    async def settled(self) -> None:
        """Wait until the mem0 store contains exactly the current facts and no erasure is pending.

        Raises:
            StoreStalledError: there was no progress for a minute; it names the process that owns the store.
        """
        self.stores.database.require_open()
        await self.live.reload_if_changed()
        await self.follower.settled()

    @property
    def _transfer(self) -> Transfer:
        return Transfer(self.stores, self.embedder, self.clock, allow_numbers=self.config.memory.allow_numbers)

    async def _write(
        self,
        scope: Scope,
        drafts: Sequence[Draft],
        *,
        user_statement: UserStatement | None = None,
        progress: Progress | None = None,
    ) -> AddResult:
        written = await write_verbatim(
            self.stores, self.embedder, self.clock, scope, drafts, user_statement=user_statement, progress=progress
        )
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
