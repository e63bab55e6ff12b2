"""Whether spans may contain messages and facts: only on request."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

CAPTURE_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
ADK_CAPTURE_VARIABLE = "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS"

_SPAN_MODES = ("SPAN_ONLY", "SPAN_AND_EVENT")
_FALSE_VALUES = ("0", "false")

_capture_override: ContextVar[bool | None] = ContextVar("content_capture_override", default=None)


def shows_content() -> bool:
    """Return whether spans may contain content here: the setting of the run, else that of the environment.

    The environment allows it if `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` is `SPAN_ONLY` or
    `SPAN_AND_EVENT`, unless `ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS` is off. The value `true` of the former means
    events, which memory does not emit. The latter is on by default in ADK, so it can only forbid content.
    """
    override = _capture_override.get()
    if override is not None:
        return override
    if os.environ.get(ADK_CAPTURE_VARIABLE, "").strip().lower() in _FALSE_VALUES:
        return False
    return os.environ.get(CAPTURE_VARIABLE, "").strip().upper() in _SPAN_MODES


def set_content_capture(is_enabled: bool | None) -> None:
    """Allow or forbid content in spans for the rest of this task; None leaves it to the environment."""
    _capture_override.set(is_enabled)


@contextmanager
def capture_content(is_enabled: bool | None) -> Iterator[None]:
    """Allow or forbid content in spans within the block; None leaves it to the environment."""
    token = _capture_override.set(is_enabled)
    try:
        yield
    finally:
        _capture_override.reset(token)
