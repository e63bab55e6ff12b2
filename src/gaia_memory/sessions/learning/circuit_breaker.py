"""The circuit breaker for the model that learns, as seen by this process.

While the model is unavailable, one conversation is tried from time to time; any answer, even a bad one, closes the
circuit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gaia_memory.errors import BadAnswerError, ModelUnavailableError
from gaia_memory.log import logger_for
from gaia_memory.models import ModelOutage
from gaia_memory.ports import Clock
from gaia_memory.sessions.learning.backoff import outage_backoff_seconds
from gaia_memory.telemetry import log_fields

logger = logger_for(__name__)

FAILURE_THRESHOLD = 3
"""How many users in a row must have failed calls before the circuit opens for all users.

One user whose calls always time out must not stop the others. For a single user it is the number of failed calls
before that user's other conversations wait.
"""


@dataclass(slots=True)
class _FailureStreak:
    """Calls in a row that did not reach the model; `last_failure_number` is the failure count at the latest one."""

    failing_since: float
    reason: str = ""
    failures: int = 0
    backoff_count: int = 0
    retry_at: float = 0.0
    last_failure_number: int = 0

    @property
    def is_over_threshold(self) -> bool:
        return self.failures >= FAILURE_THRESHOLD

    def record(self, error: ModelUnavailableError, *, now: float, failure_number: int) -> None:
        self.failures += 1
        self.last_failure_number = failure_number
        self.reason = str(error)
        if not self.is_over_threshold:
            return
        # Calls that were already running when the back-off began do not prolong it.
        if self.failures == FAILURE_THRESHOLD or now >= self.retry_at:
            self.backoff_count += 1
            self.retry_at = now + outage_backoff_seconds(self.backoff_count, retry_after=error.retry_after)

    def outage(self) -> ModelOutage | None:
        return (
            ModelOutage(since=self.failing_since, retry_at=self.retry_at, reason=self.reason)
            if self.is_over_threshold
            else None
        )


class ModelCircuitBreaker:
    """Watches calls of the model that learns; `failure_count` counts those that did not reach it."""

    def __init__(self, clock: Clock) -> None:
        """Start with a closed circuit."""
        self._clock = clock
        self.failure_count = 0
        self.reset()

    def reset(self) -> None:
        """Close the circuit: another model will be called."""
        self._global_streak: _FailureStreak | None = None
        self._streaks_by_user: dict[str, _FailureStreak] = {}
        self._recent_failures: set[str] = set()

    @contextmanager
    def observe_request(self, user: str) -> Iterator[None]:
        """Watch one call about a user's messages."""
        try:
            yield
        except ModelUnavailableError as error:
            self._record_failure(user, error)
            raise
        except BadAnswerError:
            self._record_answer(user)
            raise
        self._record_answer(user)

    def current_outage(self, user: str | None = None) -> ModelOutage | None:
        """Return the outage for all users, or for `user` alone; None while the circuit is closed."""
        global_outage = self._global_streak.outage() if self._global_streak is not None else None
        if global_outage is not None or user is None:
            return global_outage
        streak = self._streaks_by_user.get(user)
        return streak.outage() if streak is not None else None

    def users_backing_off(self, now: float) -> set[str]:
        """Return the users in back-off while the circuit is closed for others."""
        return {
            person
            for person, streak in self._streaks_by_user.items()
            if streak.is_over_threshold and now < streak.retry_at
        }

    def users_failing_since(self, failure_number: int) -> set[str]:
        """Return the users over the failure threshold with a failed call after `failure_number`."""
        return {
            person
            for person, streak in self._streaks_by_user.items()
            if streak.is_over_threshold and streak.last_failure_number > failure_number
        }

    @property
    def recent_failures(self) -> frozenset[str]:
        """The users with a failed call since the last answer: other users are tried first."""
        return frozenset(self._recent_failures)

    def _record_failure(self, user: str, error: ModelUnavailableError) -> None:
        now = self._clock.now().timestamp()
        self.failure_count += 1
        self._streaks_by_user.setdefault(user, _FailureStreak(now)).record(
            error, now=now, failure_number=self.failure_count
        )
        if self._global_streak is None:
            self._global_streak = _FailureStreak(now)
        if user not in self._recent_failures or self._global_streak.is_over_threshold:
            self._recent_failures.add(user)
            self._global_streak.record(error, now=now, failure_number=self.failure_count)
            if self._global_streak.failures == FAILURE_THRESHOLD:
                message = "the model is away: it is asked about one conversation now and then until it answers"
                logger.warning(message, extra=log_fields("model.away", error=type(error).__name__))

    def _record_answer(self, user: str) -> None:
        if self.current_outage() is not None:
            self._streaks_by_user.clear()
            logger.info("the model answers again", extra=log_fields("model.back"))
        self._streaks_by_user.pop(user, None)
        self._global_streak = None
        self._recent_failures.clear()
