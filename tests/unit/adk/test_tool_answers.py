"""The output of a tool is compact."""

from datetime import UTC, timedelta

import pytest

from gaia_memory.adk.tools.fact_framing import TOOL_TOKENS, render_facts
from gaia_memory.language.printable_text import estimate_tokens
from gaia_memory.models import Scope
from support.factories import NOON, make_fact

pytestmark = pytest.mark.heavy


@pytest.mark.acceptance("Q01")
def test_a_row_contains_id_text_and_time():
    """The time is ISO; a fact without a time of speech shows when it was stored."""
    said = make_fact("a", "likes tea", said_at=NOON - timedelta(days=1), category="drinks")
    stored = make_fact("b", "likes coffee")

    assert render_facts([said, stored], {"a": "#a", "b": "#b"}) == [
        {"id": "#a", "text": "likes tea", "timestamp": "2024-02-29T12:00:00.000+00:00"},
        {"id": "#b", "text": "likes coffee", "timestamp": "2024-03-01T12:00:00.000+00:00"},
    ]


def test_a_detailed_row_has_what_is_set():
    """A fact of the app has no id: no tool can change it."""
    bins = make_fact("a", "bins", category="<USER_PROFILE>", context="family", due_at=NOON, every="weekly")
    shared = make_fact("b", "closed on Mondays", scope=Scope.app_wide("gaia"))
    [mine, apps] = render_facts([bins, shared], {"a": "#a"}, zone=UTC)

    assert "<USER_PROFILE>" not in mine.pop("category")
    assert mine == {
        **{"id": "#a", "text": "bins", "timestamp": "2024-03-01T12:00:00.000+00:00", "context": "family"},
        **{"due_at": "2024-03-01T12:00+00:00", "every": "weekly"},
    }
    assert apps == {"text": "closed on Mondays", "timestamp": "2024-03-01T12:00:00.000+00:00", "app_wide": True}


def test_the_details_count_towards_the_budget():
    """A hundred facts with long labels would be more than their texts."""
    facts = [make_fact(f"f{number}", "likes tea", category="c" * 200) for number in range(100)]
    rows = render_facts(facts, {}, zone=UTC)

    assert 0 < len(rows) < len(facts)
    assert estimate_tokens(str(rows)) < 2 * TOOL_TOKENS
