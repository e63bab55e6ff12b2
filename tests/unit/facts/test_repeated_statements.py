"""What further sayings of a fact change of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from gaia_memory.facts.history.repeated_statements import add_sayings
from gaia_memory.facts.rows import DETAIL_DEFAULTS, to_epoch_seconds
from gaia_memory.models import Draft, NewFact

START = datetime(2026, 3, 1, tzinfo=UTC)
NOW = START + timedelta(days=30)


def day(number: int) -> datetime:
    return START + timedelta(days=number)


def said(number: int | None, source: str = "conversation", **fields: Any) -> Draft:
    fact = NewFact("Lives in Oslo", said_at=None if number is None else day(number), session_id=f"s{number}", **fields)
    return Draft(fact=fact, source=source)


def stored(draft: Draft) -> dict[str, Any]:
    """Return the fact as its first saying gives it."""
    at = None if draft.fact.said_at is None else to_epoch_seconds(draft.fact.said_at)
    row = {"text": draft.fact.text, "said_at": at, "first_said_at": at, "session_id": draft.fact.session_id}
    row |= {
        "seq": None,
        "source": draft.source,
        "metadata": dict(draft.fact.metadata),
        "traits": b"",
        "created_at": to_epoch_seconds(NOW),
    }
    validity = {name: getattr(draft.fact, name) for name in ("valid_from", "valid_until")}
    return {
        **DETAIL_DEFAULTS,
        **row,
        **{name: None if at is None else to_epoch_seconds(at) for name, at in validity.items()},
        "category": draft.fact.category,
    }


def learned(*drafts: Draft) -> dict[str, Any]:
    """Return the fact after its sayings were learned one by one."""
    row = stored(drafts[0])
    for draft in drafts[1:]:
        row |= add_sayings(row, [draft], NOW)
    return row


def test_the_last_saying_wins_in_whatever_order_they_are_learned() -> None:
    """What it does not mention is kept from the others."""
    sayings = [
        said(1, metadata={"mood": "sad", "place": "work"}, category="home"),
        said(2, metadata={"floor": 3}, valid_until=day(9)),
        said(5, metadata={"tone": "calm"}),
        said(20, metadata={"mood": "glad"}, category="address"),
    ]
    expected = {"mood": "glad", "place": "work", "floor": 3, "tone": "calm", "category": "address"}

    for order in permutations(sayings):
        row = learned(*order)
        assert {**row["metadata"], "category": row["category"]} == expected
        assert (row["said_at"], row["first_said_at"]) == (to_epoch_seconds(day(20)), to_epoch_seconds(day(1)))
        assert (row["session_id"], row["valid_until"]) == ("s20", None)


@pytest.mark.parametrize(
    "draft",
    [
        said(9, "agent", metadata={"unconfirmed": True}),
        said(9, metadata={"attributed_to": "assistant"}),
    ],
)
def test_what_a_model_wrote_is_no_saying(draft: Draft) -> None:
    """Otherwise an outdated fact would become the newest when a model repeats it."""
    assert add_sayings(stored(said(1)), [draft], NOW) == {}


def test_an_undated_repetition_gives_no_date() -> None:
    """A host that stores the same list each night says nothing about when."""
    assert add_sayings(stored(said(1)), [said(None)], NOW) == {}


def test_a_validity_that_has_not_ended_stays() -> None:
    """The later saying does not say that it has no end."""
    row = learned(said(1, valid_until=day(9)), said(5))

    assert row["valid_until"] == to_epoch_seconds(day(9))
