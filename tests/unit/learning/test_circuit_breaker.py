"""The circuit breaker of a model: it opens after failures in a row, and any answer closes it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gaia_memory.errors import BadAnswerError, ModelUnavailableError
from gaia_memory.learning import circuit_breaker
from gaia_memory.learning.circuit_breaker import (
    FAILURE_THRESHOLD,
    JITTER_RATIO,
    PARK_AFTER_BAD_ANSWERS,
    ModelCircuitBreaker,
    failure_backoff_seconds,
    outage_backoff_seconds,
)
from gaia_memory.testing import FakeClock

pytestmark = pytest.mark.heavy


class Seen:
    """A circuit breaker on a fake clock."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.reach = ModelCircuitBreaker(self.clock)

    def now(self) -> float:
        return self.clock.now().timestamp()

    def miss(self, *persons: str, retry_after: float | None = None) -> None:
        for person in persons:
            with pytest.raises(ModelUnavailableError), self.reach.observe_request(person):
                raise ModelUnavailableError(f"not for {person}", retry_after=retry_after)

    def hear(self, person: str) -> None:
        with self.reach.observe_request(person):
            pass

    def pause(self) -> float:
        away = self.reach.current_outage()
        assert away is not None
        return away.retry_at - self.now()

    def over(self) -> None:
        self.clock.advance(timedelta(seconds=self.pause() + 0.001))


def test_it_opens_after_failures_in_a_row() -> None:
    """It reports the latest reason and the time of the first failure."""
    seen = Seen()
    began = seen.now()
    seen.miss("a", "b")

    assert seen.reach.current_outage() is None

    seen.clock.advance(timedelta(seconds=60))
    seen.miss("c")
    away = seen.reach.current_outage()

    assert away is not None
    assert (away.since, away.reason) == (began, "not for c")
    assert 15 <= seen.pause() <= 15 * (1 + JITTER_RATIO)
    assert (seen.reach.failure_count, seen.reach.recent_failures) == (FAILURE_THRESHOLD, {"a", "b", "c"})


@pytest.mark.parametrize("bad", [False, True], ids=["a good answer", "a bad one"])
def test_an_answer_resets_the_count(bad: bool) -> None:
    """Even a bad answer shows that the model is reachable."""
    seen = Seen()
    seen.miss("a", "b")
    if bad:
        with pytest.raises(BadAnswerError), seen.reach.observe_request("x"):
            raise BadAnswerError("blank")
    else:
        seen.hear("x")
    seen.miss("c", "d")

    assert seen.reach.current_outage() is None

    seen.miss("e")

    assert seen.reach.current_outage() is not None


def test_calls_for_one_user_count_as_those_for_several() -> None:
    """Nobody else may be waiting who could show that the model is away."""
    seen = Seen()
    seen.miss(*["only"] * FAILURE_THRESHOLD)

    assert seen.reach.current_outage() is not None
    assert seen.reach.recent_failures == {"only"}

    seen.hear("other")

    assert seen.reach.current_outage() is None
    assert seen.reach.recent_failures == set()


def test_each_failed_probe_doubles_the_pause_up_to_ten_minutes() -> None:
    """Calls that were running when the pause began do not count."""
    seen = Seen()
    seen.miss("a", "b", "c")
    first = seen.pause()
    seen.miss("d")

    assert seen.pause() == first

    pauses = []
    for number in range(8):
        seen.over()
        seen.miss(f"probe {number}")
        pauses.append(seen.pause())

    assert pauses[:4] == sorted(pauses[:4])
    assert pauses[0] >= 30
    assert 480 <= pauses[-1] <= 600


def test_the_delay_of_the_provider_is_respected_up_to_a_limit() -> None:
    """A delay of a day is cut: the model may be back earlier, and one probe an hour is cheap."""
    seen = Seen()
    seen.miss("a", "b", "c", retry_after=120)

    assert seen.pause() == 120

    seen.over()
    seen.miss("d", retry_after=86_400)

    assert seen.pause() == circuit_breaker.MAX_RETRY_AFTER_SECONDS


def test_another_model_starts_with_a_closed_circuit() -> None:
    """An admin changed the configuration."""
    seen = Seen()
    seen.miss("a", "b", "c")
    seen.reach.reset()

    assert seen.reach.current_outage() is None
    assert seen.reach.recent_failures == set()


def test_pauses_double_with_jitter() -> None:
    """Outages: 15 seconds to ten minutes. Everything else: one minute to an hour."""
    outages = [min(outage_backoff_seconds(count) for _ in range(50)) for count in range(1, 9)]
    failures = [min(failure_backoff_seconds(count) for _ in range(50)) for count in range(1, 9)]
    spread = {round(outage_backoff_seconds(9), 3) for _ in range(50)}

    assert outages == sorted(outages[:6]) + outages[6:]
    assert 15 <= outages[0] < 17
    assert 60 <= failures[0] < 66
    assert failures[1] >= 120
    assert max(outage_backoff_seconds(count) for count in (0, 9, 99, 10_000)) <= 600
    assert max(failure_backoff_seconds(count) for count in (0, 9, 99, 10_000)) <= 3600
    assert max(spread) - min(spread) > 60


def test_a_conversation_is_parked_only_after_hours_of_bad_answers() -> None:
    """An admin who looks once a day finds few parked conversations."""
    assert sum(failure_backoff_seconds(count) for count in range(1, PARK_AFTER_BAD_ANSWERS)) > 1.5 * 3600
