"""A quiet conversation becomes facts: claimed, read, extracted, committed, and only then cleared.

Killed before a chunk's commit, nothing of it happened; killed after it, nothing of it is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from gaia_memory.errors import LeaseLostError, MemoryDisabledError, MemoryUnavailable, ModelError
from gaia_memory.log import logger_for
from gaia_memory.models import LedgerRow, Scope, SessionKey, Talk, Turn
from gaia_memory.ports import Clock, Database, Embedder, Extractor, FactStore, Ledger, Transcript
from gaia_memory.sessions.clearing.clear import Clearing
from gaia_memory.sessions.learning.async_iter import each
from gaia_memory.sessions.learning.circuit_breaker import Reach
from gaia_memory.sessions.learning.conversation_lease import Lease, Leases
from gaia_memory.sessions.learning.failure_recorder import Postponing
from gaia_memory.sessions.learning.learner import Learner, Learning, LearnSettings
from gaia_memory.sessions.learning.learning_telemetry import Told, telling
from gaia_memory.sessions.learning.out_of_order_learner import LateTalk
from gaia_memory.sessions.transcript_registry import Transcripts
from gaia_memory.sessions.turns.session_locks import SessionLocks
from gaia_memory.telemetry import about

logger = logger_for(__name__)

Outcome = Literal["learned", "kept", "failed", "skipped"]
"""How it ended: learned, and cleared where that was wanted; learned, and kept because somebody spoke meanwhile;
not learned; somebody else at work."""

MISSING_SECONDS = 24 * 3600.0


class Consolidator:
    """Learns one conversation at a time; any number of processes may do so on one database."""

    def __init__(
        self,
        *,
        database: Database,
        facts: FactStore,
        ledger: Ledger,
        extractor: Extractor,
        reach: Reach,
        embedder: Embedder,
        transcripts: Transcripts,
        locks: SessionLocks,
        clock: Clock,
        scope_of: Callable[[str, str], Scope],
        owner: str,
        settings: Callable[[], LearnSettings],
    ) -> None:
        """Take what is needed; `settings` are asked for whenever they count, so that they may change meanwhile."""
        self.learner = Learner(
            database=database,
            facts=facts,
            ledger=ledger,
            extractor=extractor,
            reach=reach,
            embedder=embedder,
            clock=clock,
            owner=owner,
            settings=settings,
        )
        self._late = LateTalk(database, ledger, transcripts, self.learner, owner=owner)
        self._transcripts = transcripts
        self._clock = clock
        self._scope_of = scope_of
        self._settings = settings
        self._leases = Leases(database, ledger, clock, owner=owner)
        self._clearing = Clearing(database, ledger, clock, locks, owner=owner)
        self._postponing = Postponing(database, ledger, clock, owner=owner)

    async def run(self, key: SessionKey, *, clear: bool = True, only_due: bool = False, talker: str = "") -> Outcome:
        """Learn what was said since the watermark and clear what was learned; `talker` is the turn that asks for it.

        Returns "kept" when somebody spoke meanwhile, so that it was learned and not cleared; "skipped" when
        somebody else is at it, the person is talking, memory was switched off or the lease was lost; "failed" when
        the model gave no usable answer, the session is not found here, or something broke, which is noted for a
        later try. With `only_due` what somebody else has finished is skipped, too.
        """
        if key.app not in self._transcripts.apps:
            return "skipped"
        async with self._leases.taken(key, talker=talker) as lease:
            if lease is None or (only_due and lease.row.is_done):
                return "skipped"
            with telling(key, self._scope_of(key.app, key.user)) as told:
                outcome = told.outcome = await self._learn_and_clear(lease, told, clear=clear)
        return outcome

    async def clear(self, key: SessionKey, *, talker: str = "") -> Outcome:
        """Clear a conversation that nobody wants learned; what was said in it is gone."""
        if key.app not in self._transcripts.apps:
            return "skipped"
        async with self._leases.taken(key, talker=talker) as lease:
            if lease is None:
                return "skipped"
            row = lease.row
            talk, transcript = await self._transcripts.read(key, after=row.watermark, turns_before=row.learned_turns)
            is_cleared = await self._clearing.clear(lease, talk, transcript, mode=self._settings().clear)
        return "learned" if is_cleared else "kept"

    async def learn(self, key: SessionKey, turns: Sequence[Turn]) -> int:
        """Learn turns handed over by the host, each event once, whether or not their session can be read.

        Returns the number of facts written or confirmed. Raises `ModelError` when the model gave no usable
        answer, and `MemoryDisabledError` when memory was switched off; then nothing of that chunk is kept or marked.
        """
        async with self._leases.taken(key) as lease:
            if lease is None:
                raise LeaseLostError(f"conversation {key.session!r} is being learned elsewhere: try again later")
            with telling(key, self._scope_of(key.app, key.user)) as told:
                after = lease.row.watermark
                fresh = each(turn for turn in turns if after is None or turn.ended > after)
                learning = await self._open(lease.row, told)
                await self.learner.learn(replace(learning, is_handed_over=True), fresh)
                told.outcome = "kept"
            return told.facts

    async def _learn_and_clear(self, lease: Lease, told: Told, *, clear: bool) -> Outcome:
        try:
            talk, transcript = await self._learn_talk(lease.row, told)
            if talk is None and self._may_be_elsewhere(lease.row, transcript):
                told.span.failed("session_not_found")
                await self._postponing.postpone(lease, "its session is in no session database that this process reads")
                return "failed"
            self.learner.require_enabled()
            is_done = not clear or await self._clearing.clear(lease, talk, transcript, mode=self._settings().clear)
        except ModelError as error:
            told.span.failed(error)
            await self._postponing.postpone(lease, str(error), error)
            return "failed"
        except (LeaseLostError, MemoryDisabledError) as lost:
            key = lease.row.key
            fields = about("conversation.left", key, error=type(lost).__name__)
            logger.info("conversation %s is not learned to its end now: %s", key.session, lost, extra=fields)
            return "skipped"
        except MemoryUnavailable:
            # The memory database is away, so that nothing can be noted in it.
            raise
        except Exception as error:
            # Whatever breaks one conversation, such as a session service that is away, is counted and told.
            told.span.failed(error)
            await self._postponing.postpone(lease, f"reading or clearing it broke off ({type(error).__name__})", error)
            return "failed"
        return "learned" if is_done else "kept"

    async def _learn_talk(self, row: LedgerRow, told: Told) -> tuple[Talk | None, Transcript]:
        """Learn what was said since the watermark; returns what was read, and from where."""
        learning = await self._open(row, told)
        row = await self._late.learn(learning)
        talk, transcript = await self._transcripts.read(row.key, after=row.watermark, turns_before=row.learned_turns)
        if talk is None or talk.end is None:
            return talk, transcript
        await self.learner.learn(replace(learning, row=row), talk.turns, before=talk.before, end=talk.end)
        return talk, transcript

    async def _open(self, row: LedgerRow, told: Told) -> Learning:
        return await self.learner.open(row, self._scope_of(row.key.app, row.key.user), told)

    def _may_be_elsewhere(self, row: LedgerRow, transcript: Transcript) -> bool:
        """Say whether a session that is not found may belong to another process; after a day it was deleted."""
        is_given_up = transcript.is_whole and self._now() - row.touched >= MISSING_SECONDS
        return not row.is_learned and not is_given_up

    def _now(self) -> float:
        return self._clock.now().timestamp()
