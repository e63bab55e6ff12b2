"""The circuit breaker for the model that learns, as seen by this process.

While the model is unavailable, one conversation is tried from time to time; any answer, even a bad one, closes the
circuit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gaia_memory.errors import ModelError, ModelUnavailableError
from gaia_memory.log import logger_for
from gaia_memory.models import ModelOutage
from gaia_memory.ports import Clock
from gaia_memory.sessions.learning.backoff import outage_backoff_seconds
from gaia_memory.telemetry import log_fields

logger = logger_for(__name__)

FAILURE_THRESHOLD = 3
"""Failed calls in a row before the circuit opens."""


@dataclass(slots=True)
class _FailureStreak:
    """Calls in a row that did not reach the model, and the users they were about."""

    failing_since: float
    users: set[str] = field(default_factory=set)
    reason: str = ""
    failures: int = 0
    backoff_count: int = 0
    retry_at: float = 0.0

    def record(self, error: ModelUnavailableError, user: str, *, now: float) -> None:
        self.users.add(user)
        self.failures += 1
        self.reason = str(error)
        # Calls that were already running when the back-off began do not prolong it.
        if self.failures == FAILURE_THRESHOLD or (self.failures > FAILURE_THRESHOLD and now >= self.retry_at):
            self.backoff_count += 1
            self.retry_at = now + outage_backoff_seconds(self.backoff_count, retry_after=error.retry_after)


class ModelCircuitBreaker:
    """Watches calls of the model that learns; `failure_count` counts those that did not reach it."""

    def __init__(self, clock: Clock) -> None:
        """Start with a closed circuit."""
        self._clock = clock
        self._streak: _FailureStreak | None = None
        self.failure_count = 0

    def reset(self) -> None:
        """Close the circuit: another model will be called."""
        self._streak = None

    @contextmanager
    def observe_request(self, user: str) -> Iterator[None]:
        """Watch one call about a user's messages."""
        try:
            yield
        except ModelUnavailableError as error:
            self.record_failure(user, error)
            raise
        except ModelError:
            self.record_answer()
            raise
        self.record_answer()

    def current_outage(self) -> ModelOutage | None:
        """Return the outage; None while the circuit is closed."""
        streak = self._streak
        if streak is None or streak.failures < FAILURE_THRESHOLD:
            return None
        return ModelOutage(since=streak.failing_since, retry_at=streak.retry_at, reason=streak.reason)

    @property
    def recent_failures(self) -> frozenset[str]:
        """The users with a failed call since the last answer: other users are tried first."""
        return frozenset(self._streak.users if self._streak is not None else ())

    def record_failure(self, user: str, error: ModelUnavailableError) -> None:
        """Note a call about a user that did not reach the model."""
        now = self._clock.now().timestamp()
        self.failure_count += 1
        self._streak = self._streak or _FailureStreak(now)
        self._streak.record(error, user, now=now)
        if self._streak.failures == FAILURE_THRESHOLD:
            message = "the model is away: it is asked about one conversation now and then until it answers"
            logger.warning(message, extra=log_fields("model.away", error=type(error).__name__))

    def record_answer(self) -> None:
        """Note an answer, which closes the circuit."""
        if self.current_outage() is not None:
            logger.info("the model answers again", extra=log_fields("model.back"))
        self._streak = None
