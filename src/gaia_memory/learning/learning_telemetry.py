"""Reports the learning of a conversation: one span and one log line."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from gaia_memory.log import log_fields, logger_for
from gaia_memory.models import Chunk, LearnedFacts, Scope, SessionKey
from gaia_memory.telemetry import MemorySpan, memory_span
from gaia_memory.truth.plan import AppliedPlan

logger = logger_for(__name__)

_LEARNED_OUTCOMES = ("learned", "kept")


@dataclass(slots=True)
class LearningRecord:
    """Counts the results of learning one conversation; `outcome` is empty until it is known.

    `learned` gets the new facts; `reconciled` counts what `AppliedPlan` names.
    """

    span: MemorySpan
    outcome: str = ""
    facts: int = 0
    turns: int = 0
    chunks: int = 0
    reconciled: Counter[str] = field(default_factory=Counter)
    learned: LearnedFacts = field(default_factory=LearnedFacts)
    _started_at: float = field(default_factory=time.monotonic)

    @property
    def elapsed_seconds(self) -> float:
        """The seconds since the start."""
        return round(time.monotonic() - self._started_at, 3)

    def add_committed(self, chunks: Sequence[Chunk], applied: AppliedPlan) -> None:
        """Count chunks whose facts are committed."""
        self.chunks += len(chunks)
        self.turns += len({turn.seq for chunk in chunks for turn in chunk.turns})
        self.facts += len(applied.written)
        self.reconciled.update(judged=applied.judged, replaced=applied.replaced, queued=applied.queued)
        self.learned.add(applied.written, past_ids=applied.past_ids)


@contextmanager
def record_learning(key: SessionKey, scope: Scope, learned: LearnedFacts | None = None) -> Iterator[LearningRecord]:
    """Report the learning of a conversation in a child of the current span, or a root span, and log its success.

    `learned` gets the new facts, if given.
    """
    with memory_span("upsert_memory", scope, session=key.session) as span:
        record = LearningRecord(span, learned=learned or LearnedFacts())
        try:
            yield record
        finally:
            span.set_record_count(record.facts)
            span.add_attributes(outcome=record.outcome or "broken", turns=record.turns, chunks=record.chunks)
            span.add_attributes(**record.reconciled)
    if record.outcome in _LEARNED_OUTCOMES:
        logger.info(
            "conversation %s of app %s is learned: %d facts from %d turns",
            key.session,
            key.app,
            record.facts,
            record.turns,
            extra=log_fields(
                "conversation.learned",
                key,
                facts=record.facts,
                turns=record.turns,
                chunks=record.chunks,
                seconds=record.elapsed_seconds,
                cleared=record.outcome == "learned",
            ),
        )
