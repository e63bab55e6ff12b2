"""Whether a fact holds at a time, as known at another: compared with a slow model that replays what was noted."""

from __future__ import annotations

import random

import pytest

from gaia_memory.models import EndTime, StatementTime, holds
from support.oracles.two_clocks import expected_to_hold, random_history

CASES = 2_000


def compare(seed: int, cases: int) -> None:
    chance = random.Random(seed)
    for _ in range(cases):
        history = random_history(chance)
        for _ in range(4):
            at, known_at = chance.uniform(-1, 13), chance.uniform(-1, 13)
            if chance.random() < 0.5:
                at, known_at = round(at), round(known_at)
            answer = holds(
                [StatementTime(*each) for each in history.sayings],
                [EndTime(*each) for each in history.endings],
                valid_from=history.valid_from,
                valid_until=history.valid_until,
                at=at,
                known_at=known_at,
            )
            assert answer == expected_to_hold(history, at, known_at), (history, at, known_at)


def test_random_histories_agree_with_the_model() -> None:
    """Late news, repetitions, endings before sayings, and undone endings included."""
    compare(1, CASES)


@pytest.mark.slow
def test_a_hundred_thousand_random_histories_agree_with_the_model() -> None:
    """The full count."""
    compare(2, 100_000)


@pytest.mark.parametrize(
    ("at", "expected"), [(0, False), (1, True), (2, True), (3, False), (4, False), (5, True), (9, True)]
)
def test_a_value_that_came_back_held_twice(at: float, expected: bool) -> None:
    """Said on day 1, ended on day 3, said again on day 5."""
    assert holds([StatementTime(1, 1), StatementTime(5, 5)], [EndTime(3, 3)], at=at) is expected


def test_a_statement_without_any_date_is_true_from_ever() -> None:
    """Until it ends."""
    assert holds([StatementTime(None, 8)], [], at=-1)
    assert not holds([StatementTime(None, 8)], [], at=9, known_at=7)
    assert not holds([StatementTime(None, 8)], [EndTime(3, 9)], at=4)
