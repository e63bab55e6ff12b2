"""Whether spans may hold what people say and what is known about them: only where somebody asked for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
ADK_CAPTURE = "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS"

_ON_SPANS = ("SPAN_ONLY", "SPAN_AND_EVENT")
_OFF = ("0", "false")

_wanted: ContextVar[bool | None] = ContextVar("content_wanted", default=None)


def shows_content() -> bool:
    """Say whether spans may hold content here: as was said for this run, else as the environment has it.

    There `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` has to be `SPAN_ONLY` or `SPAN_AND_EVENT` (`true`
    means events, of which memory has none), and `ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS` must not be off: ADK has
    that on by default, so it can forbid content and never ask for it.
    """
    wanted = _wanted.get()
    if wanted is not None:
        return wanted
    if os.environ.get(ADK_CAPTURE, "").strip().lower() in _OFF:
        return False
    return os.environ.get(CAPTURE, "").strip().upper() in _ON_SPANS


def want_content(wanted: bool | None) -> None:
    """Let spans hold content or not from here to the end of this task; None leaves it to the environment."""
    _wanted.set(wanted)


@contextmanager
def capture_content(wanted: bool | None) -> Iterator[None]:
    """Let spans hold content or not while the block runs; None leaves it to the environment."""
    token = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(token)
