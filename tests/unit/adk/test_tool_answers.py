"""The output of a tool is compact."""

from datetime import timedelta

import pytest

from gaia_memory.adk.fact_framing import render_hits
from gaia_memory.models import Hit
from support.factories import NOON, make_fact

pytestmark = pytest.mark.heavy


@pytest.mark.acceptance("Q01")
def test_a_row_contains_id_text_and_time():
    """The time is ISO; a fact without a time of speech shows when it was stored."""
    said = Hit(fact=make_fact("a", "likes tea", said_at=NOON - timedelta(days=1)), score=1.0, why={})
    stored = Hit(fact=make_fact("b", "likes coffee"), score=0.5, why={})

    assert render_hits([said, stored]) == [
        {"id": "a", "text": "likes tea", "timestamp": "2024-02-29T12:00:00.000+00:00"},
        {"id": "b", "text": "likes coffee", "timestamp": "2024-03-01T12:00:00.000+00:00"},
    ]
