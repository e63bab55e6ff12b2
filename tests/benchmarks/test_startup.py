"""What a host pays for memory when it starts, beside what it pays for ADK anyway."""

from __future__ import annotations

import pytest

from benchmarks import startup


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("name", "most"),
    [("from gaia_memory import MemoryPlugin, open_memory", 1.5), ("open_memory to its first turn", 2.2)],
)
def test_starting_takes_little_longer_than_adk_alone(name: str, most: float) -> None:
    """Both sides run by turns, so that other work on the machine meets both."""
    [case] = [case for case in startup.CASES if case.name == name]

    assert startup.measure(case, 7).ratio <= most
