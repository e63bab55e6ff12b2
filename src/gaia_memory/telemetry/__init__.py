"""OpenTelemetry spans and log fields of memory, without what users said."""

from __future__ import annotations

from gaia_memory.telemetry.content_capture import capture_content, set_content_capture, shows_content
from gaia_memory.telemetry.log_fields import error_frames, log_fields
from gaia_memory.telemetry.spans import MemorySpan, memory_span
from gaia_memory.telemetry.store_id import store_id
from gaia_memory.telemetry.turn_spans import TurnSpans, in_background

__all__ = [
    "MemorySpan",
    "TurnSpans",
    "log_fields",
    "capture_content",
    "error_frames",
    "in_background",
    "memory_span",
    "shows_content",
    "store_id",
    "set_content_capture",
]
