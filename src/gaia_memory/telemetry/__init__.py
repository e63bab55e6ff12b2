"""OpenTelemetry spans and log fields of memory, without what users said."""

from __future__ import annotations

from gaia_memory.telemetry.log_fields import error_frames, log_fields, store_id
from gaia_memory.telemetry.spans import MemorySpan, in_background, memory_span

__all__ = [
    "MemorySpan",
    "error_frames",
    "in_background",
    "log_fields",
    "memory_span",
    "store_id",
]
