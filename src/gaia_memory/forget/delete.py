"""Forgets facts in one transaction. Files are rewritten afterwards, in the background.

When `Forgetter.forget` returns, no read shows the facts, and the earlier messages are never learned again.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from gaia_memory.database.pooling.conflicts import retries_conflicts
from gaia_memory.errors import InvalidInputError
from gaia_memory.log import log_fields, logger_for
from gaia_memory.models import (
    Fact,
    FactPredicate,
    Filters,
    PendingConversation,
    Receipt,
    Scope,
    SessionKey,
    compile_filters,
    require_conditions,
)
from gaia_memory.ports import Transaction
from gaia_memory.telemetry import memory_span

if TYPE_CHECKING:
    from gaia_memory.backend.mem0_store.follower import StoreFollower
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts import FactStore
    from gaia_memory.facts.outbox import Outbox
    from gaia_memory.ledger import Ledger
    from gaia_memory.ledger.memory_stores import MemoryStores


logger = logger_for(__name__)

OPEN_SESSION_NOTE = (
    "messages in an open session stay there until it is deleted: `gaia memory forget` of everything does that once no "
    "turn runs in it, unless sessions.clear is `keep`"
)
"""The note of a receipt while the user has an open session, which forgetting does not clear."""

REWOUND_SESSION_NOTE = (
    "messages of earlier conversations stay in the session database, hidden, until `gaia memory forget` of everything "
    "deletes them or, with `sessions.clear: rewind`, sessions.retain_days are over"
)
"""The note of a receipt while the user has sessions that a rewind cleared."""

HOST_SESSION_NOTE = (
    "a conversation in your own Runner, or in an earlier session database, stays there until it is deleted: do that "
    "there, or set `sessions.database_url` in gaia.yaml to the absolute URL of that database, with "
    "`memory.database_url` where the facts are, and run `gaia memory forget` of everything"
)
"""The note of a receipt where such a conversation taught or may contain what was forgotten.

The Runner may have deleted it: the ledger does not tell, and an owner who looks in vain loses less than one who is not
told.
"""

_POLL_SECONDS = 0.05


def _copies_note(count: int, *, have_other_source: bool) -> str:
    noun, verb = ("copy", "stays") if count == 1 else ("copies", "stay")
    if have_other_source:
        return f"{count} {noun} in the memory of others {verb}: something else taught the same there"
    remedy = "`gaia memory forget --copies` deletes those, too"
    return f"{count} {noun} that imports made {verb} in the memory of others: {remedy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPreview:
    """The data that a `forget` would affect, read in one transaction.

    `facts` are those that pass the filters, also what a tool forgot and is not erased yet; `past` counts those that
    ended and pass them. `session_fact_ids` are the facts learned only from the named conversation, `pending_erasures`
    the earlier forgets whose text may still be in a file. `copies` are the facts that imports made in other scopes from
    all facts or from those of the conversation. `was_written` is true once anything was stored or forgotten for the
    scope. `has_usage` is true if it is known what the person used in a turn.
    """

    facts: tuple[Fact, ...]
    past: int
    session_fact_ids: tuple[str, ...]
    pending: tuple[PendingConversation, ...]
    pending_erasures: int
    copies: int
    was_written: bool
    has_usage: bool


@dataclass(frozen=True, slots=True)
class Forgetter:
    """Removes a user's facts: all, one, or those learned only from one conversation."""

    database: Database
    facts: FactStore
    ledger: Ledger
    outbox: Outbox

    async def preview(self, scope: Scope, session_id: str | None, filters: Filters | None) -> ForgetPreview:
        """Return the data that a forget would affect; change nothing."""
        from gaia_memory.ledger.usage_log import has_usage

        predicate = None if filters is None else compile_filters(require_conditions(filters))
        async with self.database.read_transaction() as tx:
            only = () if session_id is None else await self.facts.provenance.sourced_only_from(tx, scope, session_id)
            copied = await self.facts.provenance.copies(tx, scope, session_id=session_id)
            current, past = await self._matching(tx, scope, predicate)
            return ForgetPreview(
                facts=tuple(current),
                past=len(past),
                session_fact_ids=tuple(only),
                pending=tuple(await self.ledger.pending(tx, user=scope.user, app=scope.app)),
                pending_erasures=len(await self.outbox.pending_erasures(tx)),
                copies=sum(map(len, copied.values())),
                was_written=(await self.facts.state(tx, scope)).revision > 0,
                has_usage=await has_usage(tx, scope),
            )

    async def _matching(
        self, tx: Transaction, scope: Scope, predicate: FactPredicate | None
    ) -> tuple[list[Fact], list[Fact]]:
        """Return the facts that are current or withdrawn, and with a predicate those that ended and pass it."""
        # In a write transaction this locks the scope: what is about to change is seen as it will be.
        await self.facts.state(tx, scope)
        found = *await self.facts.facts(tx, scope, all_stored=True), *await self.facts.tool_changes.withdrawn(tx, scope)
        if predicate is None:
            return list(found), []
        past = (each.fact for each in (await self.facts.history.past(tx, scope)).values())
        return list(filter(predicate, found)), list(filter(predicate, past))

    async def forget(
        self,
        scope: Scope,
        *,
        fact_id: str | None,
        session_id: str | None,
        filters: Filters | None,
        copies: bool,
        now: datetime,
    ) -> Receipt:
        """Forget one fact, the facts of one conversation, those that pass filters or, if none is given, everything.

        Earlier messages never teach it again, in whatever wording. With `copies`, facts that an import made from it in
        other scopes are deleted there, unless they have another source; they may be learned there again.

        Raises:
            InvalidInputError: more than one of them is given, or a filter is empty or has another form.
        """
        if [fact_id, session_id, filters].count(None) < 2:
            raise InvalidInputError("forget takes one of fact_id, session_id and filters, not several")
        predicate = None if filters is None else compile_filters(require_conditions(filters))
        with memory_span("delete_memory", scope, record_id=fact_id, session=session_id) as span:
            # Transcripts carry the host's wall clock, so the border between before and after does, too.
            receipt = await self._forget_until(
                scope, fact_id, session_id, predicate, copies=copies, now=now, said_until=time.time()
            )
            span.set_record_count(receipt.count)
        fields = log_fields("memory.forgotten", scope, facts=receipt.count, pending=receipt.pending)
        logger.info("%d facts were forgotten", receipt.count, extra=fields)
        return receipt

    @retries_conflicts
    async def _forget_until(
        self,
        scope: Scope,
        fact_id: str | None,
        session_id: str | None,
        predicate: FactPredicate | None,
        *,
        copies: bool,
        now: datetime,
        said_until: float,
    ) -> Receipt:
        async with self.database.transaction() as tx:
            fact_ids = None if fact_id is None else [fact_id]
            if predicate is not None:
                current, past = await self._matching(tx, scope, predicate)
                fact_ids = [fact.id for fact in (*current, *past)]
            line = None
            if fact_ids is not None:
                line = {*fact_ids, *await self.facts.history.earlier_ids(tx, scope, fact_ids)}
            copied = await self.facts.provenance.copies(tx, scope, fact_ids=line, session_id=session_id)
            ended: dict[Scope, list[str]] = {}
            if copies:
                ended = await self.facts.provenance.copies(tx, scope, fact_ids=line, session_id=session_id, past=True)
            # Locks the scopes, so that the facts read are those deleted: on a server, a concurrent learner could
            # otherwise commit between the read and the delete. In one order, or two calls might wait for each other.
            for each in sorted({scope, *(copied if copies else ()), *ended}, key=lambda it: it.partition):
                await self.facts.state(tx, each)
            host_sessions = await self._host_sessions(tx, scope, fact_ids, session_id)
            if fact_ids is not None:
                removed = await self._forget_facts(tx, scope, fact_ids, said_until)
            elif session_id is not None:
                removed = await self.forget_conversation(tx, scope, session_id, said_until)
            else:
                removed = await self.facts.delete_all(tx, scope, forgotten_at=said_until)
                removed["profiles"] += await self._drop_profiles(tx, scope)
                await self.ledger.forget_messages(tx, user=scope.user, app=scope.app, said_until=said_until)
                removed |= await _forget_usage(tx, scope)
            remaining = sum(map(len, copied.values()))
            if copies and (copied or ended):
                ids = {each: [*copied.get(each, ()), *ended.get(each, ())] for each in (*copied, *ended)}
                found = await self._forget_copies(tx, scope, ids, line, session_id)
                removed["copies"] = found["facts"]
                removed["history"] = removed.get("history", 0) + found["history"]
                remaining -= removed["copies"]
            if not removed:
                return Receipt(count=0, copies=remaining)
            if any(removed.values()):
                await self.outbox.record_erasure(tx, scope, now=now.timestamp())
            pending = bool(await self.outbox.pending_erasures(tx))
            open_sessions = await self.ledger.open_sessions(tx, user=scope.user, app=scope.app)
            rewound_sessions = await self.ledger.rewound_sessions(tx, user=scope.user, app=scope.app)
        count = removed.pop("facts", 0)
        notes = [
            *([OPEN_SESSION_NOTE] if open_sessions else []),
            *([REWOUND_SESSION_NOTE] if rewound_sessions else []),
            *([HOST_SESSION_NOTE] if host_sessions else []),
            *([_copies_note(remaining, have_other_source=copies)] if remaining else []),
        ]
        return Receipt(count=count, removed=removed, pending=pending, notes=tuple(notes), copies=remaining)

    async def _host_sessions(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str] | None, session_id: str | None
    ) -> list[SessionKey]:
        """Return the sessions of the host's own Runner that taught a fact, or that are meant by the forget."""
        keys = await self.ledger.foreign_sessions(tx, user=scope.user, app=scope.app)
        if fact_ids is None:
            return [key for key in keys if session_id in (None, key.session)]
        line = await self.facts.history.earlier_ids(tx, scope, fact_ids)
        sources = await self.facts.provenance.sources(tx, scope, line)
        return [key for key in keys if key in sources]

    async def _forget_facts(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str], said_until: float
    ) -> dict[str, int]:
        """Forget facts and their earlier wordings, or what tools have withdrawn; returns nothing for unknown ids."""
        line = await self.facts.history.earlier_ids(tx, scope, fact_ids)
        removed: dict[str, int] = {}
        if line:
            # What they replaced is erased with them, and may be said again.
            await self.facts.tombstones.add_tombstones(tx, scope, fact_ids, said_until=said_until)
            removed = await self.remove_facts(tx, scope, line)
        for fact_id in sorted(set(fact_ids) - line):
            if withdrawn := await self.facts.tool_changes.drop_withdrawn(tx, scope, fact_id=fact_id):
                removed["facts"] = removed.get("facts", 0) + withdrawn
        return removed

    async def _forget_copies(
        self,
        tx: Transaction,
        scope: Scope,
        copied: Mapping[Scope, Sequence[str]],
        origin_ids: Collection[str] | None,
        session_id: str | None,
    ) -> Counter[str]:
        """Delete copies without another source, with their earlier wordings; return the number of rows by kind.

        The others lose the source that names `scope`.
        """
        count = Counter[str]()
        for other, copy_ids in copied.items():
            line = {*copy_ids, *await self.facts.history.earlier_ids(tx, other, copy_ids)}
            await self.facts.provenance.clear_excerpts(tx, other, line)
            deleted_ids = await self.facts.provenance.drop_copied_sources(
                tx, other, line, of=scope, origin_ids=origin_ids, session_id=session_id
            )
            count.update(await self.facts.delete(tx, other, deleted_ids))
            await self.facts.tombstones.record_forgotten_ids(tx, other, deleted_ids)
            await self._drop_profiles(tx, other)
        return count

    async def forget_conversation(
        self, tx: Transaction, scope: Scope, session_id: str, said_until: float
    ) -> dict[str, int]:
        """Forget the facts learned only from this conversation; facts with other sources lose this source.

        Imports do not restore its facts.
        """
        fact_ids = await self.facts.provenance.sourced_only_from(tx, scope, session_id)
        apps = {key.app for key in await self.facts.provenance.sources(tx, scope, fact_ids)}
        await self.facts.corrections.lift_endings(tx, scope, session_id, gone=fact_ids)
        removed = await self.remove_facts(tx, scope, fact_ids) if fact_ids else {}
        if withdrawn := await self.facts.tool_changes.drop_withdrawn(tx, scope, session_id=session_id):
            removed["facts"] = removed.get("facts", 0) + withdrawn
        removed["sources"] = removed.get("sources", 0) + await self.facts.provenance.drop_source(tx, scope, session_id)
        # With memory across apps, an app without a ledger row is known only as a source of facts.
        for app in (scope.app, *sorted(apps)):
            await self.ledger.forget_session(tx, user=scope.user, app=app, session=session_id, said_until=said_until)
        return removed | await _forget_usage(tx, scope, session_id)

    async def remove_facts(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, int]:
        """Remove facts and never learn from their events again; return the number of rows removed by kind."""
        for key, event_ids in (await self.facts.provenance.sources(tx, scope, fact_ids)).items():
            await self.ledger.skip_events(tx, key, event_ids)
        await self.facts.provenance.clear_excerpts(tx, scope, fact_ids)
        removed = await self.facts.delete(tx, scope, fact_ids)
        await self.facts.tombstones.record_forgotten_ids(tx, scope, fact_ids)
        return removed | {"profiles": removed["profiles"] + await self._drop_profiles(tx, scope)}

    async def _drop_profiles(self, tx: Transaction, scope: Scope) -> int:
        return await self.ledger.drop_profiles(tx, user=scope.user, app=scope.app)


async def finish_erasures(
    stores: MemoryStores, follower: StoreFollower, progress: Callable[[int, int], None]
) -> str | None:
    """Wait for the pending erasures if this process can own the mem0 store; else return which process finishes them.

    `progress` is called with the number of steps done and their total.

    Raises:
        StoreStalledError: there is no progress.
    """
    follower.start()
    settle_task = asyncio.create_task(follower.settled(progress=progress))
    try:
        while not (await asyncio.wait({settle_task}, timeout=_POLL_SECONDS))[0]:
            async with stores.database.read_transaction() as tx:
                state = await stores.outbox.store(tx)
            if state.lag + state.erasures and follower.is_ready and not follower.is_owner:
                owner = state.owner_description or "another process"
                return f"the mem0 store is owned by {owner}, which finishes the erasure"
        await settle_task
    finally:
        settle_task.cancel()
    return None


async def _forget_usage(tx: Transaction, scope: Scope, session_id: str | None = None) -> dict[str, int]:
    # The slash commands import this module, and a program that has no turn yet loads no SQLAlchemy.
    from gaia_memory.ledger.usage_log import forget_usage

    return await forget_usage(tx, scope, session_id)
