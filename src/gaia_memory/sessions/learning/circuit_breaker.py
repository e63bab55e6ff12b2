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
from gaia_memory.models import Away
from gaia_memory.ports import Clock
from gaia_memory.sessions.learning.backoff import after_outages
from gaia_memory.telemetry import about

logger = logger_for(__name__)

ENOUGH = 3
"""Persons in a row for whom it could not be reached, before it counts as away for everybody.

One whose questions always take too long must not stop the others. Of a single person it is the number of questions
before the rest of that person's talk is left alone.
"""


@dataclass(slots=True)
class _Streak:
    """Questions in a row that did not reach the model; `last` is the number of the latest of all."""

    since: float
    reason: str = ""
    misses: int = 0
    pauses: int = 0
    until: float = 0.0
    last: int = 0

    @property
    def is_long(self) -> bool:
        return self.misses >= ENOUGH

    def add(self, error: ModelUnavailableError, *, now: float, number: int) -> None:
        self.misses += 1
        self.last = number
        self.reason = str(error)
        if not self.is_long:
            return
        # Questions that were under way when the pause began make it no longer.
        if self.misses == ENOUGH or now >= self.until:
            self.pauses += 1
            self.until = now + after_outages(self.pauses, named=error.retry_after)

    def away(self) -> Away | None:
        return Away(since=self.since, until=self.until, reason=self.reason) if self.is_long else None


class Reach:
    """Watches questions to the model that learns; `misses` counts those that did not reach it."""

    def __init__(self, clock: Clock) -> None:
        """Count by this clock, beginning with a model that is within reach."""
        self._clock = clock
        self.misses = 0
        self.forget()

    def forget(self) -> None:
        """Begin anew: it is another model that will be asked."""
        self._all: _Streak | None = None
        self._of: dict[str, _Streak] = {}
        self._in_a_row: set[str] = set()

    @contextmanager
    def asking(self, person: str) -> Iterator[None]:
        """Watch one question about what a person said."""
        try:
            yield
        except ModelUnavailableError as error:
            self._missed(person, error)
            raise
        except BadAnswerError:
            self._heard(person)
            raise
        self._heard(person)

    def away(self, person: str | None = None) -> Away | None:
        """Return since when it is away, for everybody or also for this person alone; None while it is within reach."""
        everybody = self._all.away() if self._all is not None else None
        if everybody is not None or person is None:
            return everybody
        streak = self._of.get(person)
        return streak.away() if streak is not None else None

    def resting(self, now: float) -> set[str]:
        """Return the persons about whom it is not asked yet, although it is within reach for others."""
        return {person for person, streak in self._of.items() if streak.is_long and now < streak.until}

    def in_vain_since(self, number: int) -> set[str]:
        """Return the persons about whom it was asked in vain, often enough, since `misses` was `number`."""
        return {person for person, streak in self._of.items() if streak.is_long and streak.last > number}

    @property
    def in_a_row(self) -> frozenset[str]:
        """The persons for whom it could not be reached since the last answer: others are worth asking about first."""
        return frozenset(self._in_a_row)

    def _missed(self, person: str, error: ModelUnavailableError) -> None:
        now = self._clock.now().timestamp()
        self.misses += 1
        self._of.setdefault(person, _Streak(now)).add(error, now=now, number=self.misses)
        if self._all is None:
            self._all = _Streak(now)
        if person not in self._in_a_row or self._all.is_long:
            self._in_a_row.add(person)
            self._all.add(error, now=now, number=self.misses)
            if self._all.misses == ENOUGH:
                told = "the model is away: it is asked about one conversation now and then until it answers"
                logger.warning(told, extra=about("model.away", error=type(error).__name__))

    def _heard(self, person: str) -> None:
        if self.away() is not None:
            self._of.clear()
            logger.info("the model answers again", extra=about("model.back"))
        self._of.pop(person, None)
        self._all = None
        self._in_a_row.clear()
