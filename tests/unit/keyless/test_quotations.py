"""Days as they stand before a quotation."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from gaia_memory.keyless.quotations import name_day

TODAY = date(2026, 3, 10)
"""A Tuesday."""


@pytest.mark.parametrize(
    ("days", "name"),
    [
        (0, "Tuesday"),
        (6, "Wednesday"),
        (7, "3 March 2026"),
        (-1, "11 March 2026"),
    ],
)
def test_a_day_of_the_last_week_has_its_name_and_any_other_its_date(days: int, name: str) -> None:
    """A week ago would have the name of today."""
    assert name_day(TODAY - timedelta(days=days), TODAY) == name
