"""Turns become facts chunk by chunk: asked for, screened, embedded, and committed with the watermark at once."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo

from gaia_memory.errors import LeaseLostError, MemoryDisabledError
from gaia_memory.learn.chunk import chunks
from gaia_memory.learn.embed_drafts import embed_drafts
from gaia_memory.learn.screen import drafts_of, of_the_user
from gaia_memory.models import Chunk, Draft, LedgerRow, Mark, Message, Scope, Turn
from gaia_memory.ports import Clock, Database, Embedder, Extractor, FactStore, Ledger, Transaction
from gaia_memory.sessions.clearing.clear import ClearMode
from gaia_memory.sessions.learning.async_iter import batches, each, with_last
from gaia_memory.sessions.learning.circuit_breaker import Reach
from gaia_memory.sessions.learning.learning_telemetry import Told

TURNS_AT_ONCE = 50
"""Turns whose events are looked up in the skip list at once."""


@dataclass(frozen=True, slots=True)
class LearnSettings:
    """What consolidation takes from the configuration.

    `zone` is where people are, None this machine's; `takes_all`: also what only the assistant said becomes a fact.
    """

    instructions: str
    clear: ClearMode
    enabled: bool
    zone: tzinfo | None = None
    takes_all: bool = False


@dataclass(frozen=True, slots=True)
class Learning:
    """One conversation at work: the lease's row, what was read, and the scope it belongs to.

    `marked` are the events of the last chunk, where they were put on the skip list because they are learned, and
    `taught` the facts they gave: that one of these was forgotten since, the list does not tell. Of a turn that is
    handed over in parts the rest is learned, too: there the list says what came before.
    """

    row: LedgerRow
    scope: Scope
    told: Told
    forgotten_at: float | None
    marked: frozenset[str] = frozenset()
    taught: frozenset[str] = frozenset()
    is_handed_over: bool = False


class Learner:
    """Learns turns of conversations whose lease `owner` holds."""

    def __init__(
        self,
        *,
        database: Database,
        facts: FactStore,
        ledger: Ledger,
        extractor: Extractor,
        reach: Reach,
        embedder: Embedder,
        clock: Clock,
        owner: str,
        settings: Callable[[], LearnSettings],
    ) -> None:
        """Take what is needed; `settings` are asked for whenever they count, so that they may change meanwhile."""
        self._database = database
        self._facts = facts
        self._ledger = ledger
        self._extractor = extractor
        self._reach = reach
        self._embedder = embedder
        self._clock = clock
        self._owner = owner
        self._settings = settings

    async def open(self, row: LedgerRow, scope: Scope, told: Told) -> Learning:
        """Begin with a conversation whose lease is held."""
        async with self._database.reading() as tx:
            state = await self._facts.state(tx, scope)
        return Learning(row=row, scope=scope, told=told, forgotten_at=_later(state.forgotten_at, row.forgotten_at))

    async def learn(
        self,
        learning: Learning,
        turns: AsyncIterable[Turn],
        *,
        before: Sequence[Turn] = (),
        end: Mark | None = None,
    ) -> None:
        """Learn chunk by chunk; with each commit the watermark moves, at last to `end`.

        Without `end` the turns are marked instead. A turn that had to be cut is committed with its last piece.
        `before` are the turns ahead of them, for context.
        """
        row, zone = learning.row, self._settings().zone
        ahead = await self._ahead(before, learning)
        asked: list[Chunk] = []
        drafts: list[Draft] = []
        fresh = self._fresh(turns, learning)
        pieces = chunks(fresh, key=row.key, before=ahead, zone=zone, bad_answers=row.bad_answers)
        async for chunk, is_last in with_last(pieces):
            asked.append(chunk)
            async with self._database.reading() as tx:
                await self._check_unchanged(tx, learning, [chunk])
            drafts += await self._ask(chunk)
            if not chunk.goes_on:
                to = None if end is None else end if is_last else chunk.turns[-1].ended
                learning = await self._commit(learning, asked, drafts, to=to, is_all=is_last)
                asked, drafts = [], []
        if end is not None and learning.row.watermark != end:
            await self._commit(learning, [], [], to=end)

    async def _ahead(self, before: Sequence[Turn], learning: Learning) -> Sequence[Message]:
        """Return what was said just ahead; nothing where that must not be shown, whatever was said before it."""
        kept = [turn async for turn in self._fresh(each(before[-1:]), learning)]
        is_whole = bool(kept) and kept[-1].event_ids[-1] == before[-1].event_ids[-1]
        return kept[-1].messages if is_whole else ()

    async def _fresh(self, turns: AsyncIterable[Turn], learning: Learning) -> AsyncIterator[Turn]:
        """Drop turns that were forgotten, and messages that may be private or must not be learned from (again)."""
        limit = learning.forgotten_at
        async for some in batches(turns, TURNS_AT_ONCE):
            kept = [turn for turn in some if limit is None or turn.messages[0].said_at.timestamp() > limit]
            ids = {event_id for turn in kept for event_id in turn.event_ids}
            async with self._database.reading() as tx:
                skipped = await self._ledger.skipped(tx, learning.row.key, among=ids)
            for turn in kept:
                said = tuple(message for message in turn.messages if _may_be_learned(message, learning, skipped))
                # An answer to what must not be learned from repeats it.
                if said and (learning.is_handed_over or not _only_answers(said, turn, skipped)):
                    yield replace(turn, messages=said)

    async def _ask(self, chunk: Chunk) -> list[Draft]:
        self.require_enabled()
        settings = self._settings()
        with self._reach.asking(chunk.key.user):
            extracted = await self._extractor.extract(chunk, instructions=settings.instructions)
        kept = extracted if settings.takes_all else of_the_user(extracted)
        return await embed_drafts(self._embedder, drafts_of(chunk, kept))

    async def _commit(
        self, learning: Learning, asked: Sequence[Chunk], drafts: list[Draft], *, to: Mark | None, is_all: bool = True
    ) -> Learning:
        """Write the facts of chunks and move the watermark, or (`to` None) mark their events as learned."""
        row, key = learning.row, learning.row.key
        learned_turns = asked[-1].turns[-1].seq if asked else row.learned_turns
        self.require_enabled()
        async with self._database.transaction() as tx:
            await self._check_unchanged(tx, learning, asked)
            if to is not None and not await self._ledger.advance(
                tx,
                key,
                self._owner,
                read=row.watermark,
                to=to,
                turns=learned_turns - row.learned_turns,
                now=self._now(),
                is_all=is_all,
            ):
                raise LeaseLostError(f"conversation {key.session!r} was taken over: nothing was written")
            # Whoever reads late turns by name would meet some of these again.
            is_marked = to is None or bool(await self._ledger.late_turns(tx, key))
            marked = frozenset(_event_ids(asked) if is_marked else ())
            await self._ledger.skip(tx, key, marked)
            kept = await self._wanted(tx, learning.scope, drafts)
            written = await self._facts.write(tx, learning.scope, kept, now=self._clock.now())
        learning.told.committed(asked, kept)
        if to is not None:
            row = replace(row, watermark=to, learned_turns=learned_turns)
        taught = frozenset(fact.id for fact in written) if is_marked else frozenset()
        return replace(learning, row=row, marked=marked, taught=taught)

    async def _wanted(self, tx: Transaction, scope: Scope, drafts: Sequence[Draft]) -> list[Draft]:
        """Return the drafts that do not say what was forgotten."""
        buried = await self._facts.buried(tx, scope, [draft.fact.text for draft in drafts])
        told_again = await self._facts.told_again(tx, scope, [draft.fact for draft in drafts])
        return [draft for draft, *gone in zip(drafts, buried, told_again, strict=True) if not any(gone)]

    async def _check_unchanged(self, tx: Transaction, learning: Learning, asked: Sequence[Chunk]) -> None:
        """Refuse talk, and context, that was forgotten or learned by somebody else since it was read."""
        state = await self._facts.state(tx, learning.scope)
        context = {message.event_id for chunk in asked for message in chunk.before}
        shown = _event_ids(asked) | context
        skipped = await self._ledger.skipped(tx, learning.row.key, among=shown - learning.marked)
        taught = learning.taught if context & learning.marked else frozenset()
        is_gone = len(await self._facts.get(tx, learning.scope, taught)) < len(taught)
        row = await self._ledger.row(tx, learning.row.key)
        if row is None or (row.lease_owner, row.watermark) != (self._owner, learning.row.watermark):
            raise LeaseLostError(f"conversation {learning.row.key.session!r} was taken over: nothing was written")
        border = _later(state.forgotten_at, row.forgotten_at)
        if border != learning.forgotten_at or skipped or is_gone:
            raise LeaseLostError(f"talk of {learning.row.key.session!r} was forgotten meanwhile: nothing was written")

    def require_enabled(self) -> None:
        """Return only while memory is on.

        Raises:
            MemoryDisabledError: it was switched off.
        """
        if not self._settings().enabled:
            raise MemoryDisabledError

    def _now(self) -> float:
        return self._clock.now().timestamp()


def _later(one: float | None, other: float | None) -> float | None:
    return max((moment for moment in (one, other) if moment is not None), default=None)


def _event_ids(asked: Sequence[Chunk]) -> set[str]:
    return {event_id for chunk in asked for turn in chunk.turns for event_id in turn.event_ids}


def _may_be_learned(said: Message, learning: Learning, skipped: Collection[str]) -> bool:
    is_private = said.may_be_private and learning.row.is_private
    return not is_private and said.event_id not in skipped


def _only_answers(said: Sequence[Message], turn: Turn, skipped: Collection[str]) -> bool:
    """Say whether nothing of the user's is left of a turn, because some of it must not be learned from."""
    left_out = any(message.role == "user" and message.event_id in skipped for message in turn.messages)
    return left_out and not any(message.role == "user" for message in said)
