"""Which cases of a test run in the normal tier, and which with `-m slow` alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def rest_slow(cases: Iterable[Any], normal: int = 1) -> list[Any]:
    """Return cases for `parametrize`: the first `normal` ones run in every tier, the rest with `-m slow`."""
    rest = list(cases)
    return [*rest[:normal], *(_slow(case) for case in rest[normal:])]


def _slow(case: Any) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)


sqlite_first = pytest.mark.parametrize("kind", rest_slow(["sqlite", "postgresql"]))
"""For a test that costs seconds and whose statements other tests run on PostgreSQL in the normal tier."""
