"""Filters select facts."""

from __future__ import annotations

import operator
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import Fact, Scope, compile_filters, require_scopes
from gaia_memory.models.filters import MAX_FILTER_DEPTH

KEPT = datetime(2026, 3, 1, 12, tzinfo=UTC)
SAID = datetime(2026, 2, 10, 8, tzinfo=UTC)


def fact(said_at=SAID, session_id="phone", **metadata):
    return Fact(
        id="f1",
        scope=Scope("gaia", "itay"),
        text="Runs on Sundays",
        source="add",
        created_at=KEPT,
        updated_at=KEPT,
        said_at=said_at,
        session_id=session_id,
        seq=3,
        metadata=metadata,
    )


RUNS = fact(category="health", level=3, share=0.5, sure=True, note="Tel Aviv", city="G\u00f6teborg")

HOLD = [
    {},
    {"category": "health"},
    {"category": "*"},
    {"category": {"ne": "work"}},
    {"nothing": {"ne": "work"}},
    {"nothing": {"ne": "*"}},
    {"city": "Go\u0308teborg"},
    {"city": {"contains": "G\u00f6t"}},
    {"nothing": {"nin": ["work"]}},
    {"category": {"in": ["work", "health"]}},
    {"level": 3},
    {"level": 3.0},
    {"level": {"gt": 2, "lte": 3}},
    {"share": {"lt": 1}},
    {"category": {"gt": "food", "lt": "hobby"}},
    {"sure": True},
    {"note": {"icontains": "AVIV"}},
    {"source": "add", "session_id": "phone", "seq": {"gte": 3}, "id": "f1"},
    {"said_at": {"gte": "2026-02-10", "lt": date(2026, 2, 11)}},
    {"said_at": {"in": ["2026-02-10T09:00:00+01:00"]}},
    {"AND": [{"category": "health"}, {"level": 3}]},
    {"OR": [{"category": "work"}, {"level": 3}]},
    {"NOT": [{"category": "work"}, {"level": 4}]},
]
DO_NOT_HOLD = [
    {"category": "Health"},
    {"category": "health", "level": 4},
    {"nothing": "*"},
    {"category": {"ne": "*"}},
    {"nothing": {"gt": 0}},
    {"level": "3"},
    {"level": True},
    {"sure": 1},
    {"sure": {"gte": 0}},
    {"note": {"contains": "aviv"}},
    {"category": {"in": []}},
    {"said_at": {"gte": "2026-02-11"}},
    {"NOT": [{"category": "work"}, {"level": 3}]},
]


@pytest.mark.parametrize("filters", HOLD, ids=str)
def test_a_fact_matches_a_filter(filters):
    """All names of a filter and all operators of a name must match."""
    assert compile_filters(filters)(RUNS)


@pytest.mark.parametrize("filters", DO_NOT_HOLD, ids=str)
def test_a_fact_does_not_match_a_filter(filters):
    """Values of another type and missing values do not match."""
    assert not compile_filters(filters)(RUNS)


def test_a_fact_without_said_at_is_filtered_by_its_creation_time():
    """Recency and tables use it as well; otherwise a date range would always hide such a fact."""
    unsaid = fact(said_at=None)

    assert compile_filters({"said_at": {"gte": KEPT}})(unsaid)
    assert not compile_filters({"said_at": {"lt": KEPT}})(unsaid)


def test_a_fact_without_a_conversation_equals_no_session_id():
    """A missing session equals no name."""
    assert not compile_filters({"session_id": "*"})(fact(session_id=None))
    assert compile_filters({"session_id": {"ne": "phone"}})(fact(session_id=None))


WRONG = [
    ("health", "filters is 'health': pass a mapping"),
    ({7: "a"}, "a name in filters is 7"),
    ({"AND": {"a": 1}}, "filters['AND'] is {'a': 1}: pass a list"),
    ({"OR": []}, "filters['OR'] is []: pass a list of one filter or more"),
    ({"a": {}}, "filters['a'] is {}: pass a value, or operators: eq, ne, gt"),
    ({"a": {"like": "b"}}, "an operator in filters['a'] is 'like': use one of eq, ne, gt"),
    ({"a": None}, "filters['a'] is None: pass a text, a number or true/false"),
    ({"a": {"in": "bcd"}}, "filters['a']['in'] is 'bcd': pass a list of values"),
    ({"a": {"gt": True}}, "filters['a']['gt'] is True"),
    ({"a": {"contains": 7}}, "filters['a']['contains'] is 7: pass a text"),
    ({"said_at": {"icontains": "2026"}}, "filters['said_at']['icontains'] is '2026': use gt, gte, lt or lte"),
    ({"said_at": {"gt": "2026-02-10T08:00"}}, "pass a time with a time zone or a day"),
    (
        {"user_id": "noa"},
        "filters names 'user_id', which no fact can be filtered by: the scope says whose memory it is",
    ),
    ({"OR": [{"run_id": "s"}]}, "filters['OR'][0] names 'run_id'"),
]


@pytest.mark.parametrize(("filters", "words"), WRONG, ids=str)
def test_an_invalid_filter_is_refused_with_position_value_and_fix(filters, words):
    """The check comes before the search: a misread filter would show facts that it should hide."""
    with pytest.raises(InvalidInputError) as caught:
        compile_filters(filters)

    assert words in str(caught.value)


def test_the_nesting_of_filters_is_limited():
    """Python's recursion limit would otherwise end the program."""
    filters = {"a": 1}
    for _ in range(MAX_FILTER_DEPTH):
        filters = {"NOT": [filters]}
    compile_filters(filters)

    with pytest.raises(InvalidInputError, match="make them flatter"):
        compile_filters({"NOT": [filters]})


numbers = st.integers(-5, 5) | st.floats(-5, 5)
ORDERS = {"eq": operator.eq, "ne": operator.ne, "gt": operator.gt, "gte": operator.ge, "lt": operator.lt}


@given(st.sampled_from(sorted(ORDERS)), numbers, numbers)
def test_numbers_compare_as_numbers(sign, value, bound):
    """This includes integers and floats."""
    assert compile_filters({"n": {sign: bound}})(fact(n=value)) is ORDERS[sign](value, bound)


@pytest.mark.parametrize("wrong", [None, "bob", Scope("gaia", "itay"), ["bob"], 7])
def test_extra_scopes_must_be_scopes(wrong):
    """Each element is checked; a name is not a scope."""
    with pytest.raises(InvalidInputError, match=r"beside is .*: pass a list of Scope"):
        require_scopes("beside", wrong)
    require_scopes("beside", (Scope("gaia", "household"),))
