"""OpenTelemetry spans of memory, without what users said."""

from __future__ import annotations

from gaia_memory.telemetry.spans import MemorySpan, in_background, memory_span

__all__ = ["MemorySpan", "in_background", "memory_span"]
