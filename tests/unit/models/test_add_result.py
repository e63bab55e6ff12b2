"""`AddResult` behaves like the list that `Memory.add` used to return, and adds the outcome of each fact."""

from __future__ import annotations

from datetime import UTC, datetime

from gaia_memory.models import AddResult, Fact, Scope

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def make_fact(text: str) -> Fact:
    """Return a fact."""
    return Fact(id=text, scope=Scope("gaia", "ada"), text=text, source="add", created_at=NOW, updated_at=NOW)


def test_an_add_result_is_a_sequence_of_its_facts():
    """Indexes, slices, unpacking and comparison work as with a list."""
    one, two = make_fact("one"), make_fact("two")
    result = AddResult((one, two), (True, False))

    first, second = result

    assert (first, second, result[-1], len(result)) == (one, two, two, 2)
    assert list(result[1:]) == [two]
    assert result == [one, two]
    assert result == AddResult((one, two))
    assert result != [one]
    assert one in result


def test_an_empty_result_is_false():
    """An empty list is false as well."""
    assert not AddResult()
    assert AddResult() == []
