"""A page over HTTP costs little more than what it asks of memory."""

import pytest

from benchmarks.server_pages import measure

pytestmark = pytest.mark.slow


async def test_a_page_costs_a_few_times_what_memory_needs_for_it():
    """And counting 10,000 facts is some pages' worth of work."""
    found = await measure()
    (page, _), (browse, _) = found["facts?limit=100"], found["browse"]

    assert page <= 8 * browse, found
    assert found["stats"][0] <= 20 * browse, found
