"""Tests over generated cases: some hundred in every run, thousands with `-m slow`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy


def tiers(usual: int = 200, slow: int = 5_000) -> pytest.MarkDecorator:
    """Give the test the number of `cases` to generate: `usual`, or in the slow tier `slow`."""
    return pytest.mark.parametrize(
        "cases", [usual, pytest.param(slow, marks=[pytest.mark.slow, pytest.mark.timeout(7_200)])]
    )


def check(cases: int, test: Callable[..., None], *strategies: SearchStrategy[Any]) -> None:
    """Call `test` with that many cases drawn from the strategies."""
    unhurried = settings(max_examples=cases, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    unhurried(given(*strategies)(test))()


def generated(*strategies: SearchStrategy[Any], usual: int = 200) -> Callable[[Callable[..., None]], Any]:
    """Make a test of a function that takes what is drawn from the strategies."""

    def made(test: Callable[..., None]) -> Any:
        def run(cases: int) -> None:
            check(cases, test, *strategies)

        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        return tiers(usual)(run)

    return made
