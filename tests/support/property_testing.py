"""Tests over generated cases: 25 with `-m fast`, some hundred in a normal run, thousands with `-m slow`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy


def case_counts(default_cases: int = 200, slow_cases: int = 5_000) -> pytest.MarkDecorator:
    """Give the test the number of `cases` to generate: `default_cases`, or `slow_cases` in the slow tier.

    The Hypothesis profile of the fast tier limits it further.
    """
    if settings.get_current_profile_name() == "fast":
        default_cases = min(default_cases, settings().max_examples)
    return pytest.mark.parametrize(
        "cases", [default_cases, pytest.param(slow_cases, marks=[pytest.mark.slow, pytest.mark.timeout(7_200)])]
    )


def run_cases(cases: int, test: Callable[..., None], *strategies: SearchStrategy[Any]) -> None:
    """Call `test` with that many cases drawn from the strategies."""
    without_deadline = settings(max_examples=cases, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    without_deadline(given(*strategies)(test))()


def property_test(*strategies: SearchStrategy[Any], default_cases: int = 200) -> Callable[[Callable[..., None]], Any]:
    """Make a test of a function whose arguments are drawn from the strategies."""

    def decorate(test: Callable[..., None]) -> Any:
        def run(cases: int) -> None:
            run_cases(cases, test, *strategies)

        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        return case_counts(default_cases)(run)

    return decorate
