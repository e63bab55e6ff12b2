"""A fact that no store could keep is refused at once."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from gaia_memory import NewFact
from gaia_memory.errors import InvalidInputError

DUE = datetime(2026, 3, 2, 9, tzinfo=UTC)
FAR_EAST = timezone(timedelta(hours=14))

FAULTS = [
    ({"seq": 1.5}, "NewFact.seq is 1.5: pass a whole number"),
    ({"seq": True}, "NewFact.seq is True"),
    ({"seq": -1}, "NewFact.seq is -1"),
    ({"seq": 2**63}, "NewFact.seq is 9223372036854775808"),
    ({"seq": 10**5000}, "NewFact.seq is a int too long to show"),
    ({"session_id": ""}, "NewFact.session_id is ''"),
    ({"said_at": "yesterday"}, "NewFact.said_at is 'yesterday'"),
    ({"said_at": datetime(2026, 1, 1)}, "pass a time with a time zone"),  # noqa: DTZ001 - what is refused
    ({"said_at": datetime.min.replace(tzinfo=FAR_EAST)}, "pass a time in the years 1 to 9999, also in UTC"),
    ({"metadata": None}, "NewFact.metadata is None: pass a mapping"),
    ({"metadata": {"a": math.nan}}, "NewFact.metadata['a'] is nan: pass a finite number"),
    ({"metadata": {"a": 2**63}}, "NewFact.metadata['a'] is 9223372036854775808"),
    ({"metadata": {"a": None}}, "NewFact.metadata['a'] is None: metadata is flat"),
    ({"metadata": {7: "a"}}, "a name in NewFact.metadata is 7"),
    ({"metadata": {"\udcff": 1}}, "a name in NewFact.metadata is '\\udcff'"),
    ({"metadata": {"user_id": "noa"}}, "NewFact.metadata names 'user_id'"),
    ({"category": " "}, "NewFact.category is ' ': pass a visible text"),
    ({"entity": "x" * 201}, "NewFact.entity is 'xxx"),
    ({"context": "a\nb"}, "NewFact.context is 'a\\nb'"),
    ({"context": None}, "NewFact.context is None"),
    ({"due_all_day": None}, "NewFact.due_all_day is None"),
    ({"due_zone": "Mars/Olympus"}, "NewFact.due_zone is 'Mars/Olympus': pass the IANA name"),
    ({"due_zone": 7}, "NewFact.due_zone is 7"),
    ({"due_at": DUE, "every": "hourly"}, "NewFact.every is 'hourly': pass one of daily, weekly"),
    ({"due_at": DUE, "every": "FREQ=SECONDLY"}, "NewFact.every is 'FREQ=SECONDLY'"),
    ({"due_at": DUE, "every": "FREQ=DAILY;INTERVAL=0"}, "NewFact.every is 'FREQ=DAILY;INTERVAL=0'"),
    ({"valid_from": DUE, "valid_until": DUE}, "NewFact.valid_until is '2026-03-02T09:00:00+00:00': pass a time after"),
]


@pytest.mark.parametrize(("wrong", "words"), FAULTS)
def test_a_field_that_cannot_be_stored_is_refused_with_name_value_and_fix(wrong, words):
    """The error comes at construction."""
    with pytest.raises(InvalidInputError) as caught:
        NewFact("Sister is Noa", **wrong)

    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({f"k{number}": 1 for number in range(65)}, "metadata has 65 names: pass at most 64"),
        ({"note": "é" * 8_000}, "metadata has 16,004 bytes in UTF-8: pass at most 16,000"),
    ],
)
def test_a_fact_larger_than_a_store_takes_is_refused(metadata, words):
    """The bound and the size are named; a store would hold up everybody behind it."""
    with pytest.raises(InvalidInputError) as caught:
        NewFact("x", metadata=metadata)

    assert words in str(caught.value)


def test_the_largest_fact_is_accepted_and_may_be_marked():
    """Marks of the package's own are not counted."""
    metadata = {f"k{number}": "v" for number in range(64)}

    assert NewFact("x", metadata={**metadata, "unconfirmed": True, "speaker": "Ada"}).metadata["k63"] == "v"


@pytest.mark.parametrize("text", ["", "\u200b\u200d", "\x00", "\u3164", 7])
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


def test_a_text_in_the_metadata_under_the_name_of_a_label_sets_it():
    """The metadata stay as they are; a value that is no label stays there alone."""
    fact = NewFact("x", metadata={"category": "health", "context": "work", "entity": 5, "agent": "a\nb"})

    assert (fact.category, fact.context, fact.entity, fact.agent) == ("health", "work", None, None)
    assert fact.metadata == {"category": "health", "context": "work", "entity": 5, "agent": "a\nb"}
    assert NewFact("x", metadata={"sensitive": True}).sensitive


def test_a_given_label_wins_over_the_metadata():
    """There is one category."""
    fact = NewFact("x", category="food", metadata={"category": "health", "level": 5})

    assert (fact.category, fact.metadata) == ("food", {"category": "food", "level": 5})


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("Weekly", "weekly"),
        ("RRULE:freq=monthly;byday=-1fr", "FREQ=MONTHLY;BYDAY=-1FR"),
        ("FREQ=DAILY;UNTIL=20261231T000000Z", "FREQ=DAILY;UNTIL=20261231T000000Z"),
        ("FREQ=YEARLY;UNTIL=20301231", "FREQ=YEARLY;UNTIL=20301231"),
    ],
)
def test_a_recurrence_is_stored_in_one_form(given, stored):
    """A word, or a rule without its prefix."""
    assert NewFact("x", due_at=DUE, every=given).every == stored


def test_the_zone_of_a_due_time_is_kept():
    """A weekly nine o'clock must survive a change of clocks."""
    berlin = datetime(2026, 3, 2, 9, tzinfo=ZoneInfo("Europe/Berlin"))

    assert NewFact("x", due_at=berlin).due_zone == "Europe/Berlin"
    assert NewFact("x", due_at=berlin, due_zone="Asia/Tokyo").due_zone == "Asia/Tokyo"
    assert NewFact("x", due_at=DUE).due_zone is None
