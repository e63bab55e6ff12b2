"""A page over HTTP costs little more than what it asks of memory."""

import pytest

from benchmarks.server_pages import measure

pytestmark = pytest.mark.slow


MAX_PAGE_MS = 50


async def test_a_page_costs_a_few_times_what_memory_needs_for_it():
    """Counting 10,000 facts is some pages' worth of work, and 95 of 100 pages of facts take at most 50 ms."""
    found = await measure()
    (page, _), (browse, _) = found["facts?limit=100"], found["browse"]

    assert page <= 8 * browse, found
    assert found["stats"][0] <= 20 * browse, found
    assert {name: p95 for name, (_, p95) in found.items() if name.startswith("facts") and p95 > MAX_PAGE_MS} == {}
