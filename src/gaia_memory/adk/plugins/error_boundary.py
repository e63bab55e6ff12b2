"""The boundary between memory and the host's turn: errors of memory stop here.

The log names the kind and the place of a failure, never the message of an error: it may quote the user.
"""

from __future__ import annotations

import functools
import logging
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from gaia_memory.errors import BadAnswerError, ConfigError, GaiaMemoryError, MemoryUnavailable
from gaia_memory.log import MultiLine, logger_for
from gaia_memory.outage import classify_error, describe_database_failure

logger = logger_for(__name__)

_REMEDY = "the cause is chained; `memory.on_unavailable: degrade` lets turns go on without memory"

P = ParamSpec("P")
R = TypeVar("R")


class GuardedPlugin(Protocol):
    """A plugin whose callbacks are guarded."""

    @property
    def raises_errors(self) -> bool:
        """True if `memory.on_unavailable` is `fail`."""
        ...


S = TypeVar("S", bound=GuardedPlugin)


def never_breaks_the_turn(
    callback: Callable[Concatenate[S, P], Awaitable[R]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R | None]]:
    """Return a plugin callback that logs errors of memory and lets the turn continue without it.

    With `memory.on_unavailable: fail` a `GaiaMemoryError` is raised instead, and ADK ends the turn with it.
    """

    @functools.wraps(callback)
    async def guarded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return await callback(self, *args, **kwargs)
        except Exception as error:
            # ADK ends a turn with any error of a plugin callback, and the turn matters more than memory.
            if self.raises_errors and isinstance(error, GaiaMemoryError):
                raise
            if self.raises_errors:
                raise MemoryUnavailable(f"memory failed in {callback.__name__}", remedy=_REMEDY) from error
            log_failure(callback.__name__, error)
            return None

    return guarded


class ErrorBoundary:
    """A block whose error is logged and stored in `error` instead of raised."""

    def __init__(self, operation: str, *, asks_model: bool = False) -> None:
        """Name the operation for the log; with `asks_model` the turn fails with it."""
        self._operation = operation
        self._asks_model = asks_model
        self.error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> bool:
        if not isinstance(error, Exception):
            return False
        self.error = error
        if self._asks_model:
            outage = classify_error(error)
            description = outage.describe("the model") if outage is not None else describe_database_failure(error)
            description = description or _error_kind(error)
            logger.error("%s failed: %s\n%s", self._operation, description, _traceback_lines(error))
        else:
            log_failure(self._operation, error)
        return True


def log_failure(operation: str, error: Exception) -> None:
    """Log the kind and place of an error, without its message; at DEBUG if it is logged already."""
    logger.log(
        logging.DEBUG if isinstance(error, GaiaMemoryError) and error.is_logged else logging.ERROR,
        "%s failed and the turn goes on without it: %s\n%s",
        operation,
        _error_kind(error),
        _traceback_lines(error),
    )


def _traceback_lines(error: Exception) -> MultiLine:
    return MultiLine("".join(traceback.format_tb(error.__traceback__)))


def _error_kind(error: Exception) -> MultiLine:
    name = type(error).__name__
    if isinstance(error, MemoryUnavailable | ConfigError) or (isinstance(error, BadAnswerError) and not error.quote):
        return MultiLine(f"{name}: {error}")
    code = getattr(error, "code", None)
    return MultiLine(f"{name} ({code})" if isinstance(code, int) else name)
