"""Whether the model is within reach, as this process has seen it.

While it is away, asking about every conversation would be in vain: it is asked about one now and then, and only an
answer has it asked about the others again.
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
"""Persons in a row for whom it could not be reached, before it counts as away for everybody.

One whose questions always take too long must not stop the others. Of a single person it is the number of questions
before the rest of that person's talk is left alone.
"""


@dataclass(slots=True)
class _FailureStreak:
    """Questions in a row that did not reach the model; `last_failure_number` is the number of the latest of all."""

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
        # Questions that were under way when the pause began make it no longer.
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
    """Watches questions to the model that learns; `misses` counts those that did not reach it."""

    def __init__(self, clock: Clock) -> None:
        """Count by this clock, beginning with a model that is within reach."""
        self._clock = clock
        self.failure_count = 0
        self.reset()

    def reset(self) -> None:
        """Begin anew: it is another model that will be asked."""
        self._global_streak: _FailureStreak | None = None
        self._streaks_by_user: dict[str, _FailureStreak] = {}
        self._recent_failures: set[str] = set()

    @contextmanager
    def observe_request(self, user: str) -> Iterator[None]:
        """Watch one question about what a person said."""
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
        """Return since when it is away, for everybody or also for this person alone; None while it is within reach."""
        global_outage = self._global_streak.outage() if self._global_streak is not None else None
        if global_outage is not None or user is None:
            return global_outage
        streak = self._streaks_by_user.get(user)
        return streak.outage() if streak is not None else None

    def users_backing_off(self, now: float) -> set[str]:
        """Return the persons about whom it is not asked yet, although it is within reach for others."""
        return {
            person
            for person, streak in self._streaks_by_user.items()
            if streak.is_over_threshold and now < streak.retry_at
        }

    def users_failing_since(self, failure_number: int) -> set[str]:
        """Return the persons about whom it was asked in vain, often enough, since `misses` was `failure_number`."""
        return {
            person
            for person, streak in self._streaks_by_user.items()
            if streak.is_over_threshold and streak.last_failure_number > failure_number
        }

    @property
    def recent_failures(self) -> frozenset[str]:
        """The persons for whom it could not be reached since the last answer: others are worth asking about first."""
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
