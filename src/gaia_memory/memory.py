"""Memory: everything a host can ask of a person's memory, in one place and without logic of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gaia_memory.config.live import LiveConfig
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.errors import InvalidInputError, MemoryDisabledError
from gaia_memory.forget.delete import Forgetter
from gaia_memory.learn.apply import EMBED_SECONDS, embed_drafts
from gaia_memory.learn.screen import refuse_unkeepable
from gaia_memory.models import (
    Contact,
    Draft,
    Fact,
    Hit,
    MemoryState,
    NewFact,
    Pending,
    Profile,
    Receipt,
    Scope,
    Source,
    Status,
)
from gaia_memory.models.given import refuse, sentence, whole_number
from gaia_memory.ports import Clock, Database, Embedder, FactStore, Follower, Ledger, Outbox
from gaia_memory.profile.distil import Distiller
from gaia_memory.recall.contact import find_contact
from gaia_memory.recall.pipeline import Recall
from gaia_memory.transfer.transfer import Transfer

Progress = Callable[[int, int], None]
"""Called with the number of facts done and their total."""

MAX_RECALLED = 1_000
"""Facts that one `recall` may be asked for."""

REMEMBER_SECONDS = 5.0
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
    describe: Callable[[], str]
    trouble: Callable[[], str | None]
    readable_apps: Callable[[], Collection[str]]

    @property
    def config(self) -> GaiaConfig:
        """Every setting in force."""
        return self.live.config

    async def remember(self, scope: Scope, text: str) -> Fact:
        """Keep one fact word for word; it is on disk when this returns.

        A fact that is already there is confirmed and returned as it stands.

        Raises:
            InvalidInputError: the text is blank or shows nothing, is too long, or holds a credential.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        said = sentence("text", text).strip()
        [fact] = await self._write(scope, [NewFact(said)], source="remember", progress=None)
        return fact

    async def add(self, scope: Scope, facts: Sequence[NewFact], *, progress: Progress | None = None) -> list[Fact]:
        """Keep many facts word for word, all or none; returns the fact each became, in order.

        Raises:
            InvalidInputError: one is no `NewFact`, is too long or holds a credential; nothing was written.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        _require_facts(facts)
        return await self._write(scope, facts, source="add", progress=progress)

    async def recall(self, scope: Scope, query: str, *, limit: int | None = None) -> list[Hit]:
        """Return the facts that answer a question best, at most `limit` (default `memory.recall_limit`).

        Raises:
            InvalidInputError: the query is no text, or `limit` is not from 1 to 1000.
            MemoryUnavailable: no way of searching could answer.
        """
        await self._require(scope)
        if not isinstance(query, str):
            refuse("query", query, "pass what to look for as text")
        if limit is not None:
            whole_number("limit", limit, lowest=1, highest=MAX_RECALLED, fix=f"pass 1 to {MAX_RECALLED}")
        settings = self.config.memory
        return await self.recaller.recall(
            scope, query, limit=limit or settings.recall_limit, threshold=settings.score_threshold
        )

    async def facts(self, scope: Scope) -> list[Fact]:
        """Return every current fact, oldest first."""
        await self._require(scope)
        async with self.database.reading() as tx:
            return await self.facts_store.facts(tx, scope)

    async def count(self, scope: Scope) -> int:
        """Count the current facts."""
        await self._require(scope)
        async with self.database.reading() as tx:
            return await self.facts_store.count(tx, scope)

    async def forget(self, scope: Scope, *, fact_id: str | None = None, session_id: str | None = None) -> Receipt:
        """Forget everything, one fact, or what only one conversation taught; works while memory is off.

        Nothing forgotten is shown once this returns; the files are rewritten in the background
        (`Receipt.pending`, `settled`). An unknown or foreign id gives a count of 0.
        """
        await self._require(scope, enabled=False)
        if fact_id is not None and session_id is not None:
            raise InvalidInputError("forget takes fact_id or session_id, not both")
        now = self.clock.now()
        if fact_id is not None:
            receipt = await self.forgetter.fact(scope, fact_id, now=now)
        elif session_id is not None:
            receipt = await self.forgetter.conversation(scope, session_id, now=now, said_until=time.time())
        else:
            # Transcripts carry the host's wall clock, so the border between before and after does too.
            receipt = await self.forgetter.everything(scope, now=now, said_until=time.time())
        self.follower.wake()
        return receipt

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
            refuse("who", who, "pass a relation or a name, such as 'girlfriend'")
        return find_contact(await self.facts(scope), who)

    async def export(self, scope: Scope) -> dict[str, Any]:
        """Return everything held about a person as data for JSON; works while memory is off.

        Facts with all their sources, the last profile, and which conversations wait to be learned; no vectors.
        """
        await self._require(scope, enabled=False)
        return await self._transfer.give(scope)

    async def import_(self, scope: Scope, data: Mapping[str, Any], *, restore_forgotten: bool = False) -> int:
        """Store what `export` returned, all or none; returns how many facts were written or confirmed.

        Importing twice adds no fact twice, and the data may come from another scope or home. Unless
        `restore_forgotten` is set, single facts that this scope forgot stay forgotten, and so does everything
        noted before the whole scope was. What `forget(session_id=…)` removed is not marked, and comes back.

        Raises:
            InvalidInputError: the data is not of that form; it names place, value and fix, and nothing is written.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        count = await self._transfer.take(scope, data, restore_forgotten=restore_forgotten)
        self.follower.wake()
        return count

    async def status(self, scope: Scope) -> Status:
        """Return how memory is doing for this person: state, reason and remedy, counts, what waits."""
        await self._require(scope, enabled=False)
        async with self.database.reading() as tx:
            count = await self.facts_store.count(tx, scope)
            pending = await self.ledger.pending(tx, user=scope.user, app=scope.app)
            store = await self.outbox.store(tx)
        state, reason, remedy = _state(self.live, self.trouble(), pending, self.readable_apps())
        return Status(
            state=state,
            reason=reason,
            remedy=remedy,
            facts=count,
            pending=tuple(pending),
            lag=store.lag,
            erasures=store.erasures,
            model=self.describe(),
            embedder=self.embedder.identity,
            store=store.store_id,
            owner=store.owned_by,
        )

    async def scopes(self) -> list[Scope]:
        """Return every scope that holds a fact."""
        async with self.database.reading() as tx:
            return await self.facts_store.scopes(tx)

    async def settled(self) -> None:
        """Wait until the mem0 store holds exactly the current facts and no erasure is pending.

        Raises:
            StoreStalledError: there was no progress for a minute; it names the process that owns the store.
        """
        self.database.require_open()
        await self.live.look()
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

    async def _write(
        self, scope: Scope, facts: Sequence[NewFact], *, source: Source, progress: Progress | None
    ) -> list[Fact]:
        for fact in facts:
            refuse_unkeepable(fact)
        drafts = [Draft(fact=fact, source=source, app=scope.app) for fact in facts]
        seconds = REMEMBER_SECONDS if source == "remember" else EMBED_SECONDS
        drafts = await embed_drafts(self.embedder, drafts, seconds=seconds, progress=progress)
        async with self.database.transaction() as tx:
            await self.facts_store.unbury(tx, scope, [fact.text for fact in facts])
            written = await self.facts_store.write(tx, scope, drafts, now=self.clock.now())
        self.follower.wake()
        return written

    async def _require(self, scope: object, *, enabled: bool = True) -> None:
        """Return only for a scope, while memory is open and, unless `enabled` is false, on by the newest file."""
        self.database.require_open()
        if not isinstance(scope, Scope):
            refuse("scope", scope, "pass a Scope, such as gaia.scope(user_id)")
        await self.live.look()
        if enabled and not self.config.memory.enabled:
            raise MemoryDisabledError


def _require_facts(facts: object) -> None:
    if not isinstance(facts, Sequence) or isinstance(facts, str | bytes):
        refuse("facts", facts, "pass a list of NewFact")
    for place, fact in enumerate(facts):
        if not isinstance(fact, NewFact):
            refuse(f"facts[{place}]", fact, "pass a NewFact, such as NewFact('likes tea')")


_UNREAD_REMEDY = (
    "a process that runs that app learns them once somebody speaks in it; so does one whose gaia.yaml has it as `app` "
    "and its session database as `sessions.database_url`"
)


def _state(
    live: LiveConfig, trouble: str | None, pending: Sequence[Pending], readable: Collection[str]
) -> tuple[MemoryState, str, str]:
    """Return the state with its reason and remedy, the gravest first."""
    failing = [waiting for waiting in pending if waiting.attempts]
    unread = sorted({waiting.key.app for waiting in pending} - set(readable))
    not_taken = live.trouble
    if not live.config.memory.enabled:
        reason, remedy = "memory is off", "set `memory.enabled: true` in gaia.yaml"
        if not_taken:
            reason, remedy = f"{reason}; {not_taken.reason}", not_taken.remedy
        return "disabled", reason, remedy
    if not_taken:
        return "degraded", not_taken.reason, not_taken.remedy
    if trouble:
        return "degraded", trouble, "facts are safe in the database; the store is rebuilt by itself when it can be"
    if failing:
        reason = f"{len(failing)} conversation(s) could not be learned yet: {failing[0].reason}"
        return "degraded", reason, "they are tried again by themselves; `gaia sweep --force` tries now"
    if unread:
        reason = f"conversations of {', '.join(map(repr, unread))} wait: this process cannot read their sessions"
        return "degraded", reason, _UNREAD_REMEDY
    return "ok", "", ""
