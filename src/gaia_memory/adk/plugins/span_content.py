"""Reads whether a run wants content in its spans."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.adk.agents.run_config import RunConfig


def wants_span_content(run_config: RunConfig | None) -> bool | None:
    """Return the setting of `RunConfig.telemetry`, as ADK reads it for its own spans; None if it is not set."""
    telemetry = run_config.telemetry if run_config is not None else None
    if telemetry is None or telemetry.capture_message_content is None:
        return None
    return telemetry.should_add_content_to_experimental_spans
