"""What learning a conversation looks like from outside: one span, and one line in the log."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from gaia_memory.log import logger_for
from gaia_memory.models import Chunk, Draft, Scope, SessionKey
from gaia_memory.telemetry import MemorySpan, about, memory_span

logger = logger_for(__name__)

_LEARNED = ("learned", "kept")


@dataclass(slots=True)
class Told:
    """Counts what one conversation gave while it is learned; `outcome` is empty until that is known."""

    span: MemorySpan
    outcome: str = ""
    facts: int = 0
    turns: int = 0
    chunks: int = 0
    texts: list[str] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """How long it takes so far."""
        return round(time.monotonic() - self._began, 3)

    def committed(self, asked: Sequence[Chunk], drafts: Sequence[Draft]) -> None:
        """Count chunks whose facts are on disk; their texts are kept only for a span that shows them."""
        self.chunks += len(asked)
        self.turns += len({turn.seq for chunk in asked for turn in chunk.turns})
        self.facts += len(drafts)
        if self.span.shows_content:
            self.texts += [draft.fact.text for draft in drafts]


@contextmanager
def telling(key: SessionKey, scope: Scope) -> Iterator[Told]:
    """Tell of a conversation at work, under the current span or as a root of its own, and of its end."""
    with memory_span("upsert_memory", scope, session=key.session) as span:
        told = Told(span)
        try:
            yield told
        finally:
            span.count(told.facts)
            span.learned(told.texts)
            span.note(outcome=told.outcome or "broken", turns=told.turns, chunks=told.chunks)
    if told.outcome in _LEARNED:
        logger.info(
            "conversation %s of app %s is learned: %d facts from %d turns",
            key.session,
            key.app,
            told.facts,
            told.turns,
            extra=about(
                "conversation.learned",
                key,
                facts=told.facts,
                turns=told.turns,
                chunks=told.chunks,
                seconds=told.seconds,
                cleared=told.outcome == "learned",
            ),
        )
