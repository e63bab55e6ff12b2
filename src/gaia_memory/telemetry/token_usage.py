"""What memory's questions to models cost: tokens as the clients report them, else estimated from the texts."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

from gaia_memory.errors import MemoryUnavailable
from gaia_memory.language.printable_text import estimate_tokens
from gaia_memory.models import TokenPurpose, TokenSums, TokenUsage
from gaia_memory.telemetry.spans import current_span

SAVE_SECONDS = 60.0
"""How long tokens stay in this process alone: a kill loses at most those."""

CLOSE_SECONDS = 5.0
_PURPOSES: dict[str | None, TokenPurpose] = {
    "reconcile_facts": "reconciling",
    "distil_profile": "profile",
    "search_memory": "recall",
}


class TokenMeter:
    """Sums the tokens of one engine by day (UTC) and purpose, and saves the sums a minute later and at close."""

    def __init__(self, save: Callable[[TokenSums], Awaitable[None]] | None = None) -> None:
        """Add the sums to the stored ones by `save`, if it is given."""
        self._save = save
        self._lock = threading.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None
        self.unsaved: defaultdict[tuple[date, TokenPurpose], TokenUsage] = defaultdict(TokenUsage)

    @contextmanager
    def question(self, purpose: TokenPurpose | None = None) -> Iterator[Question]:
        """Count what clients report in the block, or later in a thread that it started.

        It counts for the span around it, whose operation tells the `purpose` if it is not given.
        """
        question = Question(self, purpose)
        token = _current_question.set(question)
        try:
            yield question
        finally:
            _current_question.reset(token)
            if self._save is not None and self._timer is None and self.unsaved:
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(SAVE_SECONDS, self._begin_to_save, context=Context())

    def add(self, sums: TokenSums) -> None:
        """Add to the sums; from any thread."""
        with self._lock:
            for key, usage in sums.items():
                self.unsaved[key] += usage

    def _begin_to_save(self) -> None:
        self._timer = None
        self._saving = asyncio.create_task(self._save_sums())

    async def _save_sums(self) -> None:
        with self._lock:
            sums, self.unsaved = self.unsaved, defaultdict(TokenUsage)
        if self._save is not None and sums:
            try:
                await self._save(sums)
            except MemoryUnavailable:
                self.add(sums)

    async def close(self) -> None:
        """Save what is left, if the database answers in time."""
        if self._timer is not None:
            self._timer.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                if self._saving is not None:
                    await self._saving
                await self._save_sums()


class Question:
    """A question to a model, whose tokens are added as soon as they are known."""

    def __init__(self, meter: TokenMeter, purpose: TokenPurpose | None) -> None:
        """Start without tokens."""
        self._meter, self._span = meter, current_span()
        operation = self._span.operation if self._span else None
        self._purpose: TokenPurpose = purpose or _PURPOSES.get(operation, "learning")
        self._is_counted = False

    def add(self, usage: TokenUsage) -> None:
        """Add the tokens of an attempt; the first makes it count as a question."""
        usage = replace(usage, questions=int(not self._is_counted))
        self._is_counted = True
        self._meter.add({(datetime.now(UTC).date(), self._purpose): usage})
        if self._span is not None:
            self._span.add_usage(usage)

    def estimate(self, asked: Sequence[str], answer: str = "") -> None:
        """Add an estimate, unless the client has reported the tokens."""
        if not self._is_counted:
            given, got = sum(map(estimate_tokens, asked)), estimate_tokens(answer)
            self.add(TokenUsage(input=given, output=got, estimated=given + got))


MAX_REPORTED_TOKENS = 100_000_000
"""The most tokens of one question that are believed."""

_current_question: ContextVar[Question | None] = ContextVar("current_question", default=None)


def report_tokens(*, given: int | None, got: int | None = 0, cached: int | None = 0) -> None:
    """Add the tokens that a server reports to the question being asked; an answer that is not usable costs, too.

    A number that no question can have is not taken from the server: it could not be stored.
    """
    question = _current_question.get()
    asked, cached_tokens, answered = (min(max(each or 0, 0), MAX_REPORTED_TOKENS) for each in (given, cached, got))
    if question is not None and (asked or answered):
        question.add(TokenUsage(input=asked, cached=min(cached_tokens, asked), output=answered))


def report_gemini_tokens(metadata: Any) -> None:
    """Report the `usage_metadata` of google-genai, which ADK has for every model."""
    if metadata is not None:
        given, got = metadata.prompt_token_count or 0, metadata.candidates_token_count or 0
        # LiteLLM counts thoughts among the candidates as well.
        thoughts = 0 if metadata.total_token_count == given + got else metadata.thoughts_token_count or 0
        report_tokens(given=given, got=got + thoughts, cached=metadata.cached_content_token_count)


def summarize_tokens(*sums: TokenSums) -> dict[str, dict[TokenPurpose, TokenUsage]]:
    """Return sums by purpose, under `last_30_days`, and those of today (UTC) under `today`."""
    today, month = defaultdict[TokenPurpose, TokenUsage](TokenUsage), defaultdict[TokenPurpose, TokenUsage](TokenUsage)
    for each in sums:
        for (day, purpose), usage in list(each.items()):
            month[purpose] += usage
            if day == datetime.now(UTC).date():
                today[purpose] += usage
    return {"today": dict(today), "last_30_days": dict(month)}
