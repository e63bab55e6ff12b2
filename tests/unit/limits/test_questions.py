"""The parts of a question that recall understands only in English, only partly or not at all."""

from __future__ import annotations

import pytest

from gaia_memory.recall.query.dates import parse_dates
from gaia_memory.recall.query.parsed_query import parse_query


@pytest.mark.parametrize("text", ["7 maggio 2023", "2023\u5e745\u67087\u65e5", "7 \u043c\u0430\u044f"])
def test_a_date_is_read_in_english_only(text: str) -> None:
    """Of a date in another language only the year is read, and where words have no spaces not even that."""
    assert parse_dates(text).months == frozenset()


def test_the_middle_of_a_long_question_is_not_searched_for() -> None:
    """Of more than 64 words the first and the last 32 count."""
    words = [f"word{number}" for number in range(100)]
    asked = frozenset().union(*parse_query(" ".join(words)).words)

    assert asked.isdisjoint(words[32:68])
    assert asked.issuperset([*words[:32], *words[68:]])
