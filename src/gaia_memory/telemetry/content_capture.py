"""Whether spans may hold what people say and what is known about them: only where somebody asked for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

CAPTURE_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
ADK_CAPTURE_VARIABLE = "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS"

_SPAN_MODES = ("SPAN_ONLY", "SPAN_AND_EVENT")
_FALSE_VALUES = ("0", "false")

_capture_override: ContextVar[bool | None] = ContextVar("content_wanted", default=None)


def shows_content() -> bool:
    """Say whether spans may hold content here: as was said for this run, else as the environment has it.

    There `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` has to be `SPAN_ONLY` or `SPAN_AND_EVENT` (`true`
    means events, of which memory has none), and `ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS` must not be off: ADK has
    that on by default, so it can forbid content and never ask for it.
    """
    override = _capture_override.get()
    if override is not None:
        return override
    if os.environ.get(ADK_CAPTURE_VARIABLE, "").strip().lower() in _FALSE_VALUES:
        return False
    return os.environ.get(CAPTURE_VARIABLE, "").strip().upper() in _SPAN_MODES


def set_content_capture(is_enabled: bool | None) -> None:
    """Let spans hold content or not from here to the end of this task; None leaves it to the environment."""
    _capture_override.set(is_enabled)


@contextmanager
def capture_content(is_enabled: bool | None) -> Iterator[None]:
    """Let spans hold content or not while the block runs; None leaves it to the environment."""
    token = _capture_override.set(is_enabled)
    try:
        yield
    finally:
        _capture_override.reset(token)
