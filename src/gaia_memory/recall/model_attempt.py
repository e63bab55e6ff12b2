"""Asks a model for a part of recall that can be done without."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from gaia_memory.config.sections.recall_section import RecallConfig
from gaia_memory.errors import ModelError
from gaia_memory.log import logger_for
from gaia_memory.model_calls import remaining_seconds, time_limit
from gaia_memory.models import Scope
from gaia_memory.telemetry import log_fields

logger = logger_for(__name__)

MAX_KEPT_SECONDS = 1.0
"""What remains of `memory.recall.seconds` for the answer without a model that is late, at most half of them."""

_Answer = TypeVar("_Answer")


async def attempt(
    answer: Awaitable[_Answer], name: str, scope: Scope, settings: RecallConfig
) -> tuple[_Answer | None, tuple[str, ...]]:
    """Return a model's answer, or None and the name of what failed; the log has only the type of the error."""
    kept_seconds = min(MAX_KEPT_SECONDS, settings.seconds / 2)
    try:
        async with time_limit(remaining_seconds() - kept_seconds):
            return await answer, ()
    except (ModelError, TimeoutError) as error:
        kind = type(error).__name__
        fields = log_fields("recall.partial", scope, retriever=name, error=kind)
        reason = "no answer in time" if isinstance(error, TimeoutError) else kind
        logger.warning("recall goes on without %s: %s", name, reason, extra=fields)
        return None, (name,)
