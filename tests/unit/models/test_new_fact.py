"""A fact that no store could keep is refused at once."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest

from gaia_memory import NewFact
from gaia_memory.errors import InvalidInputError

FAR_EAST = timezone(timedelta(hours=14))

FAULTS = [
    ({"seq": 1.5}, "NewFact.seq is 1.5: pass a whole number"),
    ({"seq": "x"}, "NewFact.seq is 'x'"),
    ({"seq": True}, "NewFact.seq is True"),
    ({"seq": -1}, "NewFact.seq is -1"),
    ({"seq": 2**63}, "NewFact.seq is 9223372036854775808"),
    ({"seq": 10**5000}, "NewFact.seq is a int too long to show"),
    ({"session_id": 7}, "NewFact.session_id is 7"),
    ({"session_id": ""}, "NewFact.session_id is ''"),
    ({"said_at": "yesterday"}, "NewFact.said_at is 'yesterday'"),
    ({"said_at": datetime(2026, 1, 1)}, "pass a time with a time zone"),  # noqa: DTZ001 - what is refused
    ({"said_at": datetime.min.replace(tzinfo=FAR_EAST)}, "pass a time in the years 1 to 9999, also in UTC"),
    ({"said_at": datetime.max.replace(tzinfo=UTC)}, "pass a time in the years 1 to 9999, also in UTC"),
    ({"metadata": None}, "NewFact.metadata is None: pass a mapping"),
    ({"metadata": [("a", 1)]}, "NewFact.metadata is [('a', 1)]"),
    ({"metadata": {"a": math.nan}}, "NewFact.metadata['a'] is nan: pass a finite number"),
    ({"metadata": {"a": -math.inf}}, "NewFact.metadata['a'] is -inf"),
    ({"metadata": {"a": 2**63}}, "NewFact.metadata['a'] is 9223372036854775808"),
    ({"metadata": {"a": None}}, "NewFact.metadata['a'] is None: metadata is flat"),
    ({"metadata": {7: "a"}}, "a name in NewFact.metadata is 7"),
    ({"metadata": {"a\x00": 1}}, "a name in NewFact.metadata is 'a\\x00'"),
    ({"metadata": {"\udcff": 1}}, "a name in NewFact.metadata is '\\udcff'"),
    ({"metadata": {"chroma:document": "a"}}, "a name in NewFact.metadata is 'chroma:document'"),
    ({"metadata": {"user_id": "noa"}}, "NewFact.metadata names 'user_id'"),
]


@pytest.mark.parametrize(("wrong", "words"), FAULTS)
def test_a_field_that_cannot_be_stored_is_refused_with_name_value_and_fix(wrong, words):
    """The error comes at construction."""
    with pytest.raises(InvalidInputError) as caught:
        NewFact("Sister is Noa", **wrong)

    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["", " \n", "\u200b\u200d", "\x00", "\x07 \x1b", "\ufeff\u2060", "\u3164", None, 7])
def test_a_text_without_visible_characters_is_refused(text):
    """No one could read it, recall it or ask to forget it."""
    with pytest.raises(InvalidInputError, match=r"NewFact\.text is .*: pass a sentence"):
        NewFact(text)


def test_characters_that_no_database_can_store_are_replaced():
    """The stored, embedded and forgotten text is then the same."""
    assert NewFact("tea\x00 and \ud800 cake").text == "tea\ufffd and \ufffd cake"


def test_everything_that_can_be_stored_is_accepted():
    """Examples are extreme values, and words joined by invisible characters."""
    fact = NewFact(
        "נעה\u200d ☕\ufe0f",
        said_at=datetime(9999, 12, 31, tzinfo=UTC),
        session_id="itay:cli",
        seq=2**63 - 1,
        metadata={"a": True, "b": 1.5, "c": "\x00", "d": -(2**63)},
    )

    assert fact.text == "נעה\u200d ☕\ufe0f"
