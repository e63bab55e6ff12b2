"""Turns messages into facts chunk by chunk: extract, screen, reconcile, and commit together with the watermark."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import TYPE_CHECKING

from gaia_memory.drafts.excerpts import without_forgotten_excerpts
from gaia_memory.drafts.hide_sensitive import hide_sensitive, may_have_become_sensitive
from gaia_memory.drafts.screen import add_details, build_drafts, drop_assistant_claims
from gaia_memory.errors import LeaseLostError, MemoryDisabledError
from gaia_memory.learning.async_iter import WithoutLast, batches, is_empty, mark_last, to_async_iter
from gaia_memory.learning.chunk import split_into_chunks
from gaia_memory.learning.circuit_breaker import ModelCircuitBreaker
from gaia_memory.learning.grounding import GroundingCheck
from gaia_memory.learning.learning_telemetry import LearningRecord
from gaia_memory.learning.prompts import extraction_instructions
from gaia_memory.model_calls import note_progress
from gaia_memory.models import Chunk, Draft, EventPosition, LedgerRow, Message, NewFact, Scope, Turn
from gaia_memory.models.turns import MAX_LATER_TURNS
from gaia_memory.ports import Extractor, Transaction
from gaia_memory.redaction.mask import mask_secrets
from gaia_memory.sessions.clear import ClearMode
from gaia_memory.sessions.ledger_client import LedgerClient
from gaia_memory.truth.plan import PlannedFact, apply_plan, without_forgotten
from gaia_memory.truth.reconciler import Reconciler

if TYPE_CHECKING:
    from gaia_memory.config.schema import GaiaConfig
    from gaia_memory.facts import FactStore

MAX_KNOWN_KEYS = 30
"""Keys of a person that a question shows, so that they are used again."""

TURNS_PER_SKIP_QUERY = 50
"""Turns whose events are looked up in the skip list at once."""


@dataclass(frozen=True, slots=True)
class LearnSettings:
    """The settings of consolidation.

    `zone` is the users' time zone, None for this machine's. With `learns_from_assistant`, statements that only the
    assistant made become facts too. With `is_grounded`, facts have to come from their conversation. With
    `marks_sensitive`, learned facts may become sensitive. `sessions_url` is shown to the operator, without a password.
    What turns used is kept for `usage_days`.
    """

    instructions: str
    clear: ClearMode
    is_enabled: bool
    zone: tzinfo | None = None
    learns_from_assistant: bool = False
    allow_numbers: bool = False
    is_grounded: bool = True
    marks_sensitive: bool = False
    sessions_url: str = ""
    usage_days: int = 0


@dataclass(frozen=True, slots=True)
class LearningState:
    """The state of learning one conversation: the row of its lease, its scope, and the progress.

    `marked_event_ids` are the events of the last chunk if they were put on the skip list as learned, and
    `learned_fact_ids` the facts they gave: the skip list does not show whether one of these was forgotten since.
    With `is_handed_over`, the rest of a turn is learned even if the skip list contains its first part. The facts get
    the metadata and the end of `added`.
    """

    row: LedgerRow
    scope: Scope
    record: LearningRecord
    forgotten_at: float | None
    marked_event_ids: frozenset[str] = frozenset()
    learned_fact_ids: frozenset[str] = frozenset()
    is_handed_over: bool = False
    added: NewFact | None = None


def learn_settings(config: GaiaConfig) -> LearnSettings:
    """Return the settings of consolidation in a configuration."""
    return LearnSettings(
        instructions=extraction_instructions(config),
        clear=config.sessions.clear,
        is_enabled=config.memory.enabled,
        zone=config.memory.zone,
        learns_from_assistant=config.memory.learn_from == "both",
        allow_numbers=config.memory.allow_numbers,
        is_grounded=config.memory.grounded,
        marks_sensitive=config.memory.mark_sensitive,
        sessions_url=mask_secrets(config.sessions_url),
        usage_days=config.memory.usage_days,
    )


class Learner:
    """Learns turns of conversations under a lease of the client."""

    def __init__(
        self,
        *,
        client: LedgerClient,
        facts: FactStore,
        extractor: Extractor,
        circuit_breaker: ModelCircuitBreaker,
        reconciler: Reconciler,
        settings: Callable[[], LearnSettings],
    ) -> None:
        """`settings` is called at each use, so that a changed configuration takes effect at once."""
        self._client = client
        self._facts = facts
        self._extractor = extractor
        self._circuit_breaker = circuit_breaker
        self._reconciler = reconciler
        self._settings = settings

    async def start(self, row: LedgerRow, scope: Scope, record: LearningRecord) -> LearningState:
        """Return the initial state for a conversation whose lease was acquired."""
        return LearningState(
            row=row, scope=scope, record=record, forgotten_at=await self._load_forgotten_at(row, scope)
        )

    async def has_learnable(self, row: LedgerRow, scope: Scope, turns: AsyncIterable[Turn]) -> bool:
        """Return True if something in these turns is still to be learned."""
        return not await is_empty(self._learnable_turns(turns, row, await self._load_forgotten_at(row, scope)))

    async def _load_forgotten_at(self, row: LedgerRow, scope: Scope) -> float | None:
        async with self._client.database.read_transaction() as tx:
            state = await self._facts.state(tx, scope)
        return _latest(state.forgotten_at, row.progress.forgotten_at)

    async def learn(
        self,
        learning: LearningState,
        turns: AsyncIterable[Turn],
        *,
        before: Sequence[Turn] = (),
        end: EventPosition | None = None,
        left_out: int = 0,
    ) -> None:
        """Learn chunk by chunk; each commit moves the watermark, the last one to `end`.

        The last `left_out` turns are not learned, nor passed by the watermark: they only show what they take back.
        Without `end` the events are marked as learned instead. A turn that is split is committed with its last piece.
        `before` are the preceding turns, for context.
        """
        row, zone = learning.row, self._settings().zone
        context = await self._context_before(before, learning)
        pending_chunks: list[Chunk] = []
        drafts: list[Draft] = []
        early_turns = WithoutLast(turns, left_out)
        learnable_turns = self._learnable_turns(
            early_turns, row, learning.forgotten_at, is_handed_over=learning.is_handed_over
        )
        pieces = split_into_chunks(
            learnable_turns, key=row.key, preceding=context, zone=zone, bad_answer_count=row.failures.bad_answers
        )
        async for chunk, is_last in mark_last(pieces):
            if is_last and early_turns.held_back:
                after = await self._context_after(early_turns.held_back, learning)
                chunk = replace(chunk, after=after, ends_early=True)
            pending_chunks.append(chunk)
            async with self._client.database.read_transaction() as tx:
                await self._check_unchanged(tx, learning, [chunk])
                known_keys = await self._facts.keys.known_keys(tx, learning.scope, limit=MAX_KNOWN_KEYS)
            extracted = await self._extract(replace(chunk, known_keys=tuple(known_keys)))
            drafts += extracted if learning.added is None else add_details(extracted, learning.added)
            if not chunk.is_continued:
                is_end = is_last and not left_out
                new_watermark = None if end is None else end if is_end else chunk.turns[-1].end
                learning = await self._commit(
                    learning, pending_chunks, drafts, new_watermark=new_watermark, is_complete=is_last
                )
                pending_chunks, drafts = [], []
        if end is not None and not left_out and learning.row.progress.watermark != end:
            await self._commit(learning, [], [], new_watermark=end)

    async def _context_before(self, before: Sequence[Turn], learning: LearningState) -> Sequence[Turn]:
        """Return the turn before; none if any of it must not be shown."""
        kept = await self._kept_turns(before[-1:], learning)
        is_whole = bool(kept) and kept[-1].event_ids[-1] == before[-1].event_ids[-1]
        return kept if is_whole else ()

    async def _context_after(self, after: Iterable[Turn], learning: LearningState) -> tuple[Message, ...]:
        kept = await self._kept_turns([*after][:MAX_LATER_TURNS], learning)
        return tuple(message for turn in kept for message in turn.messages)

    async def _kept_turns(self, turns: Sequence[Turn], learning: LearningState) -> list[Turn]:
        """Return the turns with the messages of them that may be shown."""
        kept = self._learnable_turns(to_async_iter(turns), learning.row, learning.forgotten_at)
        return [turn async for turn in kept]

    async def _learnable_turns(
        self, turns: AsyncIterable[Turn], row: LedgerRow, cutoff: float | None, *, is_handed_over: bool = False
    ) -> AsyncIterator[Turn]:
        """Drop turns that were forgotten, and messages that may be private or must not be learned from (again)."""
        async for batch in batches(turns, TURNS_PER_SKIP_QUERY):
            kept = [turn for turn in batch if cutoff is None or turn.messages[0].said_at.timestamp() > cutoff]
            ids = {event_id for turn in kept for event_id in turn.event_ids}
            async with self._client.database.read_transaction() as tx:
                skipped = await self._client.ledger.skipped_events(tx, row.key, event_ids=ids)
            for turn in kept:
                messages = tuple(message for message in turn.messages if _may_be_learned(message, row, skipped))
                # An answer to a message that must not be learned from may repeat it.
                if messages and (is_handed_over or not _only_answers(messages, turn, skipped)):
                    yield replace(turn, messages=messages)

    async def _extract(self, chunk: Chunk) -> list[Draft]:
        self.require_enabled()
        settings = self._settings()
        with self._circuit_breaker.observe_request(chunk.key.user):
            check = GroundingCheck(chunk, is_enabled=settings.is_grounded)
            extracted = await self._extractor.extract(chunk, instructions=settings.instructions, check=check)
        kept = extracted if settings.learns_from_assistant else drop_assistant_claims(extracted, chunk)
        return build_drafts(chunk, kept, allow_numbers=settings.allow_numbers, marks_sensitive=settings.marks_sensitive)

    async def _commit(
        self,
        learning: LearningState,
        committed_chunks: Sequence[Chunk],
        drafts: list[Draft],
        *,
        new_watermark: EventPosition | None,
        is_complete: bool = True,
    ) -> LearningState:
        """Write the facts of chunks and move the watermark, or (`new_watermark` None) mark their events as learned."""
        row, key = learning.row, learning.row.key
        learned_turns = committed_chunks[-1].turns[-1].seq if committed_chunks else row.progress.learned_turns
        plan = await self._reconciler.plan(learning.scope, drafts, app=key.app)
        self.require_enabled()
        async with self._client.database.transaction() as tx:
            await self._check_unchanged(tx, learning, committed_chunks)
            if new_watermark is not None and not await self._client.ledger.advance_watermark(
                tx,
                key,
                self._client.owner,
                expected=row.progress.watermark,
                new_watermark=new_watermark,
                turn_count=learned_turns - row.progress.learned_turns,
                is_complete=is_complete,
            ):
                raise LeaseLostError(f"conversation {key.session!r} was taken over: nothing was written")
            marked_event_ids = frozenset(_event_ids(committed_chunks) if new_watermark is None else ())
            await self._client.ledger.skip_events(tx, key, marked_event_ids)
            kept = await self._without_forgotten(tx, learning.scope, plan)
            applied = await apply_plan(self._facts, tx, learning.scope, kept, now=self._client.clock.now())
            known = may_have_become_sensitive(applied.written)
            await hide_sensitive(self._facts, self._client.ledger, tx, learning.scope, known)
        note_progress()
        learning.record.add_committed(committed_chunks, applied)
        if new_watermark is not None:
            row = replace(row, progress=replace(row.progress, watermark=new_watermark, learned_turns=learned_turns))
        learned_fact_ids = frozenset(fact.id for fact in applied.written) if new_watermark is None else frozenset()
        return replace(learning, row=row, marked_event_ids=marked_event_ids, learned_fact_ids=learned_fact_ids)

    async def _without_forgotten(
        self, tx: Transaction, scope: Scope, plan: Sequence[PlannedFact]
    ) -> list[PlannedFact | None]:
        """Return the plan with None for what repeats a forgotten fact, and without excerpts that do."""
        kept = await without_forgotten(self._facts, tx, scope, plan)
        gone = [planned.extracted for planned, step in zip(plan, kept, strict=True) if step is None]
        drafts = [step.extracted for step in kept if step is not None]
        quoted = iter(await without_forgotten_excerpts(self._facts.tombstones, tx, scope, drafts, gone=gone))
        return [step and _with_excerpt(step, next(quoted).excerpt) for step in kept]

    async def _check_unchanged(self, tx: Transaction, learning: LearningState, chunk_batch: Sequence[Chunk]) -> None:
        """Raise `LeaseLostError` if messages or context were forgotten or learned elsewhere since they were read."""
        state = await self._facts.state(tx, learning.scope)
        context = {message.event_id for chunk in chunk_batch for message in chunk.before}
        context |= {message.event_id for chunk in chunk_batch if chunk.ends_early for message in chunk.after}
        event_ids = _event_ids(chunk_batch) | context
        skipped = await self._client.ledger.skipped_events(
            tx, learning.row.key, event_ids=event_ids - learning.marked_event_ids
        )
        learned_fact_ids = learning.learned_fact_ids if context & learning.marked_event_ids else frozenset()
        # One that ended since is not forgotten.
        has_missing_facts = bool(learned_fact_ids) and not learned_fact_ids <= await self._facts.history.earlier_ids(
            tx, learning.scope, learned_fact_ids
        )
        row = await self._client.ledger.row(tx, learning.row.key)
        if row is None or (row.lease.owner, row.progress.watermark) != (
            self._client.owner,
            learning.row.progress.watermark,
        ):
            raise LeaseLostError(f"conversation {learning.row.key.session!r} was taken over: nothing was written")
        cutoff = _latest(state.forgotten_at, row.progress.forgotten_at)
        if cutoff != learning.forgotten_at or skipped or has_missing_facts:
            raise LeaseLostError(
                f"conversation {learning.row.key.session!r} was forgotten meanwhile: nothing was written"
            )

    def require_enabled(self) -> None:
        """Check that memory is on.

        Raises:
            MemoryDisabledError: it was switched off.
        """
        if not self._settings().is_enabled:
            raise MemoryDisabledError


def _with_excerpt(planned: PlannedFact, excerpt: str | None) -> PlannedFact:
    draft = planned.draft and replace(planned.draft, excerpt=excerpt)
    return replace(planned, extracted=replace(planned.extracted, excerpt=excerpt), draft=draft)


def _latest(one: float | None, other: float | None) -> float | None:
    return max((moment for moment in (one, other) if moment is not None), default=None)


def _event_ids(chunk_batch: Sequence[Chunk]) -> set[str]:
    return {event_id for chunk in chunk_batch for turn in chunk.turns for event_id in turn.event_ids}


def _may_be_learned(message: Message, row: LedgerRow, skipped: Collection[str]) -> bool:
    is_private = message.may_be_private and row.session.is_private
    return not is_private and message.event_id not in skipped


def _only_answers(kept_messages: Sequence[Message], turn: Turn, skipped: Collection[str]) -> bool:
    """Return True if a turn lost all messages of the user because some must not be learned from."""
    left_out = any(message.role == "user" and message.event_id in skipped for message in turn.messages)
    return left_out and not any(message.role == "user" for message in kept_messages)
