"""The parts of a question that recall understands only in English, only partly or not at all."""

from __future__ import annotations

import inspect

import pytest

from gaia_memory.recall.query.dates import parse_dates
from gaia_memory.recall.query.expansion import generate_expansions
from gaia_memory.recall.query.parsed_query import parse_query
from gaia_memory.recall.ranking.adaptive_limit import DEFAULT_LIMIT, adaptive_limit
from gaia_memory.recall.ranking.diversity import diversify
from gaia_memory.recall.ranking.rank import RankedFact
from support.factories import make_fact
from support.recall_parts import columns_of


@pytest.mark.parametrize("text", ["7 maggio 2023", "2023\u5e745\u67087\u65e5", "7 \u043c\u0430\u044f"])
def test_a_date_is_read_in_english_only(text: str) -> None:
    """Of a date in another language only the year is read, and where words have no spaces not even that."""
    assert parse_dates(text).months == frozenset()


def test_a_question_for_several_things_is_recognised_in_english_only() -> None:
    """This concerns `recall_limit: auto`; the drop in scores works in every language."""
    scores = [1.0, 0.9, 0.5]

    assert adaptive_limit("List all my friends", scores) > DEFAULT_LIMIT
    assert adaptive_limit("Nenne alle meine Freunde", scores) == DEFAULT_LIMIT


def test_the_middle_of_a_long_question_is_not_searched_for() -> None:
    """Of more than 64 words the first and the last 32 count."""
    words = [f"word{number}" for number in range(100)]
    asked = frozenset().union(*parse_query(" ".join(words)).words)

    assert asked.isdisjoint(words[32:68])
    assert asked.issuperset([*words[:32], *words[68:]])


def test_query_expansion_sees_the_question_and_no_fact() -> None:
    """The model therefore guesses the language of the facts: that of the question, and English."""
    assert list(inspect.signature(generate_expansions).parameters) == ["model", "question"]


def test_near_duplicates_are_compared_among_the_first_fifty_hits() -> None:
    """A duplicate further down keeps its score."""
    facts = [make_fact(f"f{number:02}", f"Owns the boat {number}") for number in range(50)]
    facts += [make_fact("f50", "Plays chess on Mondays"), make_fact("f51", "Plays chess on Mondays!")]
    ranked = [
        RankedFact(fact_id=fact.id, parts={"keywords": 1 - place / 100}, confidence=1.0)
        for place, fact in enumerate(facts)
    ]
    columns = columns_of(facts)

    assert diversify(ranked, columns, 1.0)[50:] == ranked[50:]
    assert diversify(ranked[50:], columns, 1.0) != ranked[50:]
