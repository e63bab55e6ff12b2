"""Turns a quiet conversation into facts: claim it, read, extract, commit, and only then clear.

If the process is killed before a chunk's commit, the chunk is learned again; after it, the model is not asked again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from gaia_memory.drafts.screen import read_added_details
from gaia_memory.errors import (
    LeaseLostError,
    MemoryDisabledError,
    MemoryUnavailable,
    ModelError,
    ModelUnavailableError,
)
from gaia_memory.learning.async_iter import is_empty, to_async_iter
from gaia_memory.learning.circuit_breaker import record_failure
from gaia_memory.learning.learner import Learner, LearningState, LearnSettings
from gaia_memory.learning.learning_telemetry import LearningRecord, record_learning
from gaia_memory.ledger.usage_log import drop_old_usage
from gaia_memory.log import log_fields, logger_for
from gaia_memory.model_calls import stall_limit
from gaia_memory.models import LearnedFacts, LedgerRow, Metadata, NewFact, Scope, SessionKey, TranscriptSlice, Turn
from gaia_memory.ports import Transcript
from gaia_memory.ports.external import MISSING_AGENT_MODEL, MISSING_AGENT_MODEL_REMEDY
from gaia_memory.sessions.clear import SessionClearer
from gaia_memory.sessions.conversation_lease import ConversationLease, acquire_lease
from gaia_memory.sessions.learning_requests import decode_requests
from gaia_memory.sessions.ledger_client import LedgerClient
from gaia_memory.sessions.message_debounce import SessionLocks
from gaia_memory.sessions.transcript_registry import TranscriptRegistry

logger = logger_for(__name__)

Outcome = Literal["learned", "kept", "failed", "skipped"]
"""learned: also cleared, if requested. kept: learned, but not cleared, because there was a new message meanwhile.
failed: not learned. skipped: left to another process or to a later attempt."""


class ForgottenSessions(NamedTuple):
    """How many sessions of a forget were deleted, stay open, stay hidden by a rewind, or are not found here."""

    deleted: int
    open: int
    hidden: int
    elsewhere: int


STALL_SECONDS = 240.0
"""How long learning a conversation may stand still before it ends as a failure: longer than any bounded call of it."""

MISSING_SESSION_TIMEOUT_SECONDS = 24 * 3600.0

MAX_SESSIONS_PER_PURGE = 50
"""The most sessions that one sweep deletes: deleting must not delay learning."""


class Consolidator:
    """Learns one conversation at a time; any number of processes may do so on one database."""

    def __init__(
        self,
        *,
        client: LedgerClient,
        learner: Learner,
        transcripts: TranscriptRegistry,
        locks: SessionLocks,
        scope_of: Callable[[str, str], Scope],
        settings: Callable[[], LearnSettings],
        has_model_for: Callable[[str], bool],
    ) -> None:
        """`settings` and, with an app, `has_model_for` are called at each use: both may change at any time."""
        self.learner = learner
        self._client = client
        self._transcripts = transcripts
        self._scope_of = scope_of
        self._settings = settings
        self._has_model_for = has_model_for
        self._clearer = SessionClearer(client, locks)

    async def consolidate(
        self,
        key: SessionKey,
        *,
        clear: bool = True,
        only_due: bool = False,
        only_requests: bool = False,
        claimed: LedgerRow | None = None,
        left_out: int = 0,
        turn_owner: str = "",
        resets: bool = False,
        learned: LearnedFacts | None = None,
    ) -> Outcome:
        """Learn the messages since the watermark, and with `clear` clear what was learned.

        `turn_owner` is the turn that asks for it; `learned` gets the new facts; `claimed` is the row of a lease that
        was taken for this. Without `clear`, the last `left_out` turns are left to a later attempt. If it `resets`, no
        request holds what was learned, also where the session is kept.

        Returns "kept" if it was learned but not cleared, because there was a new message meanwhile; "skipped" if
        another owner has the lease, a turn is running, memory was switched off, the lease was lost, or the agent whose
        model learns has not run in this process; "failed" if the model gave no usable answer, the session is not found
        here, or another error occurred: it is recorded and tried again later. With `only_due`, a conversation that is
        already done is skipped, too. What was requested comes first; with `only_requests` the rest is left to later.
        """
        if key.app not in self._transcripts.apps or not self._has_model_for(key.app):
            return "skipped"
        async with acquire_lease(self._client, key, turn_owner=turn_owner, claimed=claimed) as lease:
            if lease is None or (only_due and lease.row.progress.is_done and not lease.row.progress.requests):
                return "skipped"
            with record_learning(key, self._scope_of(key.app, key.user), learned) as record:
                clearing = lease.row.clearing
                record.learned.since = max(clearing.cleared_at or 0.0, clearing.reset_at or 0.0)
                outcome = record.outcome = await self._learn_and_clear(
                    lease, record, clear=clear, left_out=left_out, resets=resets, only_requests=only_requests
                )
                record.learned.is_private = lease.row.session.is_private and not record.turns
        return outcome

    async def clear(self, key: SessionKey, *, turn_owner: str = "", resets: bool = False) -> Outcome:
        """Clear a conversation without learning it; its unlearned messages are lost."""
        if key.app not in self._transcripts.apps:
            return "skipped"
        async with acquire_lease(self._client, key, turn_owner=turn_owner) as lease:
            if lease is None:
                return "skipped"
            transcript_slice, transcript = await self._read_unlearned(lease.row)
            is_cleared = await self._clearer.clear(
                lease, transcript_slice, transcript, mode=self._settings().clear, resets=resets
            )
        return "learned" if is_cleared else "kept"

    async def delete_forgotten(self, scope: Scope, session_id: str | None = None) -> ForgottenSessions:
        """Delete the sessions of a scope, or one, in which nothing is left to learn; return what was deleted or stays.

        These are the open ones, those that a rewind hides and those of a host's own Runner. One with a running turn
        stays, as does one that is not found here, and all do if `sessions.clear` is `keep`.
        """
        async with self._client.database.read_transaction() as tx:
            opened = set(await self._client.ledger.open_sessions(tx, user=scope.user, app=scope.app))
            rewound = set(await self._client.ledger.rewound_sessions(tx, user=scope.user, app=scope.app))
            foreign = set(await self._client.ledger.foreign_sessions(tx, user=scope.user, app=scope.app))
        chosen = {key for key in opened | rewound | foreign if session_id in (None, key.session)}
        await self._transcripts.resolve(key for key in chosen if key.app not in self._transcripts.apps)
        fates = {key: await self._delete_if_forgotten(key) for key in chosen}
        kept = {key for key, fate in fates.items() if fate == "kept"} | (opened | rewound) - chosen
        counts = Counter(fates.values())
        return ForgottenSessions(
            deleted=counts["deleted"],
            open=len(kept - (rewound - opened)),
            hidden=len(kept & rewound),
            elsewhere=counts["elsewhere"],
        )

    async def _delete_if_forgotten(self, key: SessionKey) -> Literal["deleted", "kept", "elsewhere"]:
        if key.app not in self._transcripts.apps:
            return "elsewhere"
        try:
            async with acquire_lease(self._client, key) as lease:
                if lease is None:
                    return "kept"
                row, scope = lease.row, self._scope_of(key.app, key.user)
                found, transcript = await self._read_unlearned(row)
                if found is None:
                    return "elsewhere"
                if self._settings().clear == "keep" or await self.learner.has_learnable(row, scope, found.turns):
                    return "kept"
                return "deleted" if await self._clearer.clear(lease, found, transcript, mode="delete") else "kept"
        except Exception as error:
            # What was forgotten is forgotten: the next sweep clears it.
            fields = log_fields("conversation.not_cleared", key, error=type(error).__name__)
            logger.warning("conversation %s is not cleared yet: %s", key.session, type(error).__name__, extra=fields)
            return "kept"

    async def learn(self, key: SessionKey, turns: Sequence[Turn], metadata: Metadata | None = None) -> int:
        """Learn turns given by the host, each event once, even if their session cannot be read.

        The facts get the `metadata`, of which `ttl` and `expire_time` say when they expire. Returns the number of facts
        written or confirmed. Raises `ModelError` if the model gave no usable answer, and `MemoryDisabledError` if
        memory was switched off; then nothing of that chunk is stored or marked as learned. Raises `InvalidInputError`
        for metadata that no fact may have.
        """
        added = self.read_details(metadata)
        if not self._has_model_for(key.app):
            raise ModelUnavailableError(f"{MISSING_AGENT_MODEL}: {MISSING_AGENT_MODEL_REMEDY}")
        async with acquire_lease(self._client, key) as lease:
            if lease is None:
                raise LeaseLostError(f"conversation {key.session!r} is being learned elsewhere: try again later")
            with record_learning(key, self._scope_of(key.app, key.user)) as record:
                async with stall_limit(STALL_SECONDS):
                    await self._learn_given(lease.row, record, turns, added)
                record.outcome = "kept"
            return record.facts

    def read_details(self, metadata: Metadata | None) -> NewFact | None:
        """Return what the metadata of a call add to facts; raise `InvalidInputError` if no fact may have them."""
        allow_numbers = self._settings().allow_numbers
        return None if not metadata else read_added_details(metadata, self._client.clock.now(), allow_numbers)

    async def last_waiting_turn(self, key: SessionKey) -> Turn | None:
        """Return the last turn of a conversation that is not learned yet, None without one; none that is private."""
        row = await self._client.row(key)
        return None if row is None else await self._transcripts.last_turn(key, after=row.progress.watermark)

    async def can_read(self, key: SessionKey) -> bool:
        """Return True if the app's host is in this process and has the session, or does not answer."""
        if not any(transcript.is_complete for transcript in self._transcripts.for_app(key.app)):
            return False
        try:
            transcript_slice, _ = await self._transcripts.read(key, after=None, turns_before=0)
        except Exception:
            # `consolidate` records and reports it.
            return True
        return transcript_slice is not None

    async def purge_expired(self, *, retain_seconds: float) -> int:
        """Delete sessions that a setting had rewound more than `retain_seconds` ago; return how many were deleted."""
        cutoff = self._client.now() - retain_seconds
        async with self._client.database.read_transaction() as tx:
            rows = await self._client.ledger.find_purgeable(
                tx, before=cutoff, limit=MAX_SESSIONS_PER_PURGE, apps=self._transcripts.apps
            )
        return sum([await self._purge_session(row.key, cutoff) for row in rows])

    async def drop_old_usage(self) -> None:
        """Delete what was used in turns before `memory.usage_days` began."""
        before = self._client.now() - self._settings().usage_days * 86_400.0
        async with self._client.database.transaction() as tx:
            await drop_old_usage(tx, before=before)

    async def _learn_and_clear(
        self,
        lease: ConversationLease,
        record: LearningRecord,
        *,
        clear: bool,
        left_out: int,
        resets: bool,
        only_requests: bool,
    ) -> Outcome:
        limit: asyncio.Timeout | None = None
        try:
            async with stall_limit(STALL_SECONDS) as limit:
                if await self._learn_requests(lease.row, record, only_requests=only_requests):
                    return "learned"
                transcript_slice, transcript = await self._learn_transcript(
                    lease.row, record, left_out=None if clear else left_out
                )
                if transcript_slice is None and self._may_be_elsewhere(lease.row, transcript):
                    record.span.record_error("session_not_found")
                    reason = (
                        "its session is in no session database that this process reads: set `sessions.database_url`, "
                        f"now {self._settings().sessions_url}, to the absolute URL of the one that has it, and "
                        "`memory.database_url` to where the facts are"
                    )
                    await record_failure(self._client, lease, reason)
                    return "failed"
                self.learner.require_enabled()
                if lease.row.progress.requests:
                    await self._client.drop_requests(lease.row.key, lease.row.progress.requests)
                has_news = transcript_slice is not None and transcript_slice.end is not None
                record.learned.is_nothing_left = has_news and not record.turns
                is_done = not clear or await self._clearer.clear(
                    lease, transcript_slice, transcript, mode=self._settings().clear, resets=resets
                )
        except ModelError as error:
            record.span.record_error(error)
            await record_failure(self._client, lease, str(error), error)
            return "failed"
        except (LeaseLostError, MemoryDisabledError) as interruption:
            key = lease.row.key
            fields = log_fields("conversation.left", key, error=type(interruption).__name__)
            logger.info("conversation %s is not learned to its end now: %s", key.session, interruption, extra=fields)
            return "skipped"
        except MemoryUnavailable:
            # The memory database is unavailable, so the failure cannot be recorded.
            raise
        except Exception as error:
            # Any other error, such as an unavailable session service, is counted and logged.
            record.span.record_error(error)
            reason = f"reading or clearing it broke off ({type(error).__name__})"
            if limit is not None and limit.expired():
                reason = f"learning it stood still for {STALL_SECONDS:.0f} seconds and was stopped"
            await record_failure(self._client, lease, reason, error)
            return "failed"
        return "learned" if is_done else "kept"

    async def _learn_requests(self, row: LedgerRow, record: LearningRecord, *, only_requests: bool) -> bool:
        """Learn what was given in turns; return True if nothing else is to be learned."""
        requests = decode_requests(row.progress.requests)
        for request in requests:
            if request.turns is not None:
                await self._learn_given(row, record, request.turns, self.read_details(request.metadata))
        is_all = (
            bool(requests)
            and (only_requests or row.progress.is_done)
            and all(each.turns is not None for each in requests)
        )
        if is_all:
            await self._client.drop_requests(row.key, row.progress.requests or "")
        return is_all

    async def _learn_given(
        self, row: LedgerRow, record: LearningRecord, turns: Sequence[Turn], added: NewFact | None
    ) -> None:
        after = row.progress.watermark
        unlearned = to_async_iter(turn for turn in turns if after is None or turn.end > after)
        learning = await self._start_learning(row, record)
        await self.learner.learn(replace(learning, is_handed_over=True, added=added), unlearned)

    async def _learn_transcript(
        self, row: LedgerRow, record: LearningRecord, *, left_out: int | None
    ) -> tuple[TranscriptSlice | None, Transcript]:
        """Learn the messages since the watermark; return them and the transcript they are from.

        The last `left_out` turns, and those that began since the lease was taken, are left to a later attempt; None for
        no turn at all.
        """
        learning = await self._start_learning(row, record)
        transcript_slice, transcript = await self._read_unlearned(row)
        if transcript_slice is None or transcript_slice.end is None:
            return transcript_slice, transcript
        await self.learner.learn(
            learning,
            transcript_slice.turns,
            before=transcript_slice.before,
            end=transcript_slice.end,
            left_out=0 if left_out is None else left_out + await self._count_new_turns(row),
        )
        return transcript_slice, transcript

    async def _purge_session(self, key: SessionKey, cutoff: float) -> bool:
        async with acquire_lease(self._client, key) as lease:
            if lease is None:
                return False
            row = lease.row
            if (
                row.clearing.rewound_at is None
                or row.clearing.cleared_at is None
                or row.clearing.cleared_at > cutoff
                or not row.progress.is_learned
            ):
                return False
            transcript_slice, transcript = await self._read_unlearned(row)
            if transcript_slice is not None and not await is_empty(transcript_slice.turns):
                # There are messages for which no turn was counted, and they are not learned.
                return False
            is_deleted = await self._clearer.clear(lease, transcript_slice, transcript, mode="delete")
        if is_deleted:
            fields = log_fields("conversation.purged", key)
            logger.info("conversation %s was cleared long ago and is deleted now", key.session, extra=fields)
        return is_deleted

    async def _read_unlearned(self, row: LedgerRow) -> tuple[TranscriptSlice | None, Transcript]:
        return await self._transcripts.read(
            row.key, after=row.progress.watermark, turns_before=row.progress.learned_turns
        )

    async def _count_new_turns(self, claimed: LedgerRow) -> int:
        """Return how many turns began since a conversation was claimed; their messages are the last ones, if any."""
        row = await self._client.row(claimed.key)
        return 0 if row is None else max(0, row.turn.turn_no - claimed.turn.turn_no)

    async def _start_learning(self, row: LedgerRow, record: LearningRecord) -> LearningState:
        return await self.learner.start(row, self._scope_of(row.key.app, row.key.user), record)

    def _may_be_elsewhere(self, row: LedgerRow, transcript: Transcript) -> bool:
        """Return True if a missing session may be in another process; after a day it is presumed deleted."""
        is_presumed_deleted = (
            transcript.is_complete and self._client.now() - row.turn.touched >= MISSING_SESSION_TIMEOUT_SECONDS
        )
        return not row.progress.is_learned and not is_presumed_deleted
