"""A quiet conversation becomes facts: claimed, read, extracted, committed, and only then cleared.

Killed before a chunk's commit, nothing of it happened; killed after it, nothing of it is asked again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gaia_memory.errors import BadAnswerError, LeaseLostError, MemoryDisabledError, ModelError, ModelUnavailableError
from gaia_memory.learn.apply import embed_drafts
from gaia_memory.learn.chunk import chunks
from gaia_memory.learn.screen import drafts_of
from gaia_memory.models import Chunk, Draft, LedgerRow, Mark, Scope, SessionKey, Talk, Turn
from gaia_memory.ports import Clock, Database, Embedder, Extractor, FactStore, Ledger, Transaction, Transcript
from gaia_memory.sessions.leases import Lease, Leases
from gaia_memory.sessions.locks import SessionLocks
from gaia_memory.sessions.retry import PARK_AFTER, retry_after
from gaia_memory.sessions.transcripts import Transcripts

logger = logging.getLogger(__name__)

Outcome = Literal["learned", "kept", "failed", "skipped"]
"""How it ended: learned, and cleared where that was wanted; learned, and kept because somebody spoke meanwhile;
not learned; somebody else at work."""
ClearMode = Literal["auto", "delete", "rewind", "keep"]

CLEAR_SECONDS = 5.0
MISSING_SECONDS = 24 * 3600.0
LONGEST_NAMED_PAUSE = 24 * 3600.0
"""A provider that names a longer pause before the next try is not believed."""


@dataclass(frozen=True, slots=True)
class LearnSettings:
    """What consolidation takes from the configuration."""

    instructions: str
    clear: ClearMode
    enabled: bool


@dataclass(frozen=True, slots=True)
class Learning:
    """One conversation at work: the lease's row, what was read, and the scope it belongs to."""

    row: LedgerRow
    scope: Scope
    forgotten_at: float | None
    skipped: frozenset[str]


class Consolidator:
    """Learns one conversation at a time; any number of processes may do so on one database."""

    def __init__(
        self,
        *,
        database: Database,
        facts: FactStore,
        ledger: Ledger,
        extractor: Extractor,
        embedder: Embedder,
        transcripts: Transcripts,
        locks: SessionLocks,
        clock: Clock,
        scope_of: Callable[[str, str], Scope],
        owner: str,
        settings: Callable[[], LearnSettings],
    ) -> None:
        """Take what is needed; `settings` are asked for whenever they count, so that they may change meanwhile."""
        self._database = database
        self._facts = facts
        self._ledger = ledger
        self._extractor = extractor
        self._embedder = embedder
        self._transcripts = transcripts
        self._locks = locks
        self._clock = clock
        self._scope_of = scope_of
        self._owner = owner
        self._settings = settings
        self._leases = Leases(database, ledger, clock, owner=owner)

    async def run(self, key: SessionKey, *, clear: bool = True) -> Outcome:
        """Learn what was said since the watermark and clear what was learned.

        Returns "kept" when somebody spoke meanwhile, so that it was learned and not cleared; "skipped" when
        somebody else is at it, the person is talking, memory was switched off or the lease was lost; "failed" when
        the model gave no usable answer, or the session is not found here, which is noted for a later try.
        """
        if key.app not in self._transcripts.apps:
            return "skipped"
        async with self._leases.taken(key) as lease:
            if lease is None:
                return "skipped"
            try:
                talk, transcript = await self._learn_talk(lease.row)
                if talk is None and self._may_be_elsewhere(lease.row, transcript):
                    await self._postpone(lease, "its session is in no session database that this process reads")
                    return "failed"
                self._require_enabled()
                is_done = not clear or await self._clear(lease, talk, transcript)
            except ModelError as error:
                await self._postpone(lease, str(error), error)
                return "failed"
            except (LeaseLostError, MemoryDisabledError) as lost:
                logger.info("conversation %s is not learned to its end now: %s", key.session, lost)
                return "skipped"
        return "learned" if is_done else "kept"

    async def clear(self, key: SessionKey) -> Outcome:
        """Clear a conversation that nobody wants learned; what was said in it is gone."""
        if key.app not in self._transcripts.apps:
            return "skipped"
        async with self._leases.taken(key) as lease:
            if lease is None:
                return "skipped"
            row = lease.row
            talk, transcript = await self._transcripts.read(key, after=row.watermark, turns_before=row.learned_turns)
            is_cleared = await self._clear(lease, talk, transcript)
        return "learned" if is_cleared else "kept"

    async def learn(self, key: SessionKey, turns: Sequence[Turn]) -> int:
        """Learn turns handed over by the host, each event once, whether or not their session can be read.

        Returns the number of facts written or confirmed. Raises `ModelError` when the model gave no usable
        answer, and `MemoryDisabledError` when memory was switched off; then nothing of that chunk is kept or marked.
        """
        async with self._leases.taken(key) as lease:
            if lease is None:
                raise LeaseLostError(f"conversation {key.session!r} is being learned elsewhere: try again later")
            learning = await self._open(lease.row)
            after = lease.row.watermark
            fresh = [turn for turn in turns if after is None or turn.ended > after]
            count = 0
            for chunk in chunks(_without(fresh, learning), key=key):
                drafts = await self._ask(chunk)
                count += await self._commit(learning, chunk, drafts, to=None)
            return count

    async def _learn_talk(self, row: LedgerRow) -> tuple[Talk | None, Transcript]:
        """Learn chunk by chunk; the watermark moves with each commit. Returns what was read, and from where."""
        talk, transcript = await self._transcripts.read(row.key, after=row.watermark, turns_before=row.learned_turns)
        if talk is None or talk.end is None:
            return talk, transcript
        learning = await self._open(row)
        pieces = list(chunks(_without(talk.turns, learning), key=row.key))
        for number, chunk in enumerate(pieces):
            drafts = await self._ask(chunk)
            to = talk.end if number == len(pieces) - 1 else chunk.turns[-1].ended
            await self._commit(learning, chunk, drafts, to=to)
            learning = replace(learning, row=replace(learning.row, watermark=to))
        if not pieces and talk.end != row.watermark:
            await self._commit(learning, None, [], to=talk.end)
        return talk, transcript

    async def _open(self, row: LedgerRow) -> Learning:
        scope = self._scope_of(row.key.app, row.key.user)
        async with self._database.reading() as tx:
            state = await self._facts.state(tx, scope)
            skipped = await self._ledger.skipped(tx, row.key)
        border = _later(state.forgotten_at, row.forgotten_at)
        return Learning(row=row, scope=scope, forgotten_at=border, skipped=frozenset(skipped))

    async def _ask(self, chunk: Chunk) -> list[Draft]:
        self._require_enabled()
        extracted = await self._extractor.extract(chunk, instructions=self._settings().instructions)
        return await embed_drafts(self._embedder, drafts_of(chunk, extracted))

    async def _commit(self, learning: Learning, chunk: Chunk | None, drafts: list[Draft], *, to: Mark | None) -> int:
        """Write a chunk's facts and move the watermark, or (`to` None) mark its events as learned."""
        key = learning.row.key
        self._require_enabled()
        async with self._database.transaction() as tx:
            await self._check_unchanged(tx, learning, chunk)
            if to is None:
                await self._ledger.skip(tx, key, _event_ids(chunk))
            elif not await self._ledger.advance(
                tx,
                key,
                self._owner,
                read=learning.row.watermark,
                to=to,
                turns=len(chunk.turns) if chunk else 0,
                now=self._now(),
            ):
                raise LeaseLostError(f"conversation {key.session!r} was taken over: nothing was written")
            buried = await self._facts.buried(tx, learning.scope, [draft.fact.text for draft in drafts])
            kept = [draft for draft, gone in zip(drafts, buried, strict=True) if not gone]
            if kept:
                await self._facts.write(tx, learning.scope, kept, now=self._clock.now())
        return len(kept)

    async def _check_unchanged(self, tx: Transaction, learning: Learning, chunk: Chunk | None) -> None:
        """Refuse a commit of talk that was forgotten while the model was asked."""
        state = await self._facts.state(tx, learning.scope)
        skipped = await self._ledger.skipped(tx, learning.row.key)
        row = await self._ledger.row(tx, learning.row.key)
        border = _later(state.forgotten_at, row.forgotten_at if row is not None else None)
        if border != learning.forgotten_at or skipped.intersection(_event_ids(chunk)):
            raise LeaseLostError(f"talk of {learning.row.key.session!r} was forgotten meanwhile: nothing was written")

    async def _clear(self, lease: Lease, talk: Talk | None, transcript: Transcript) -> bool:
        """Clear what was read, as configured; False where somebody spoke meanwhile."""
        mode = self._settings().clear
        how = transcript.clears_by if mode == "auto" else mode
        row, key, owner = lease.row, lease.row.key, self._owner
        if how == "keep":
            async with self._database.transaction() as tx:
                await self._ledger.release(tx, key, owner, done=True)
            lease.given_back = True
            return True
        async with self._locks.of(key):
            async with self._database.transaction() as tx:
                if not await self._ledger.begin_clearing(
                    tx, key, owner, turn_no=row.turn_no, now=self._now(), seconds=CLEAR_SECONDS
                ):
                    return False
            cleared_at = None
            try:
                if talk is None or await transcript.clear(talk, how=how):
                    cleared_at = self._now()
            finally:
                async with self._database.transaction() as tx:
                    await self._ledger.end_clearing(tx, key, owner, cleared_at=cleared_at)
        return cleared_at is not None

    def _may_be_elsewhere(self, row: LedgerRow, transcript: Transcript) -> bool:
        """Say whether a session that is not found may belong to another process; after a day it was deleted."""
        is_given_up = transcript.is_whole and self._now() - row.touched >= MISSING_SECONDS
        return not row.is_learned and not is_given_up

    async def _postpone(self, lease: Lease, reason: str, error: ModelError | None = None) -> None:
        row = lease.row
        attempts = row.attempts + 1
        parked = isinstance(error, BadAnswerError) and attempts >= PARK_AFTER
        kind = type(error).__name__ if error is not None else reason
        named = (error.retry_after or 0.0) if isinstance(error, ModelUnavailableError) else 0.0
        pause = max(retry_after(attempts), min(named, LONGEST_NAMED_PAUSE))
        key = row.key
        logger.warning("%s of app %s is not learned yet (try %d): %s", key.session, key.app, attempts, kind)
        async with self._database.transaction() as tx:
            await self._ledger.failed(
                tx,
                row.key,
                self._owner,
                error=reason,
                retry_at=self._now() + pause,
                parked=parked,
            )
        lease.given_back = True

    def _require_enabled(self) -> None:
        if not self._settings().enabled:
            raise MemoryDisabledError

    def _now(self) -> float:
        return self._clock.now().timestamp()


def _later(one: float | None, other: float | None) -> float | None:
    return max((moment for moment in (one, other) if moment is not None), default=None)


def _event_ids(chunk: Chunk | None) -> set[str]:
    return {event_id for turn in chunk.turns for event_id in turn.event_ids} if chunk else set()


def _without(turns: Sequence[Turn], learning: Learning) -> list[Turn]:
    """Drop turns that were forgotten, and messages whose events must not be learned from (again)."""
    limit = learning.forgotten_at
    kept = [turn for turn in turns if limit is None or turn.messages[0].said_at.timestamp() > limit]
    told = [
        replace(turn, messages=tuple(said for said in turn.messages if said.event_id not in learning.skipped))
        for turn in kept
    ]
    return [turn for turn in told if turn.messages]
