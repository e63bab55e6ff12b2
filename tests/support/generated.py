"""Tests over generated cases: some hundred in every run, thousands with `-m slow`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy


def generated(
    *strategies: SearchStrategy[Any], usual: int = 200, slow: int = 5_000
) -> Callable[[Callable[..., None]], Callable[[int], None]]:
    """Call the test with cases drawn from `strategies`, `usual` of them or, in the slow tier, `slow`."""

    def made(test: Callable[..., None]) -> Callable[[int], None]:
        @pytest.mark.timeout(3_600)
        @pytest.mark.parametrize("cases", [usual, pytest.param(slow, marks=pytest.mark.slow)])
        def run(cases: int) -> None:
            unhurried = settings(max_examples=cases, deadline=None, suppress_health_check=[HealthCheck.too_slow])
            unhurried(given(*strategies)(test))()

        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        return run

    return made
