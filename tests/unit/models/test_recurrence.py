"""When a fact that comes back is due next: the same time of day, over changes of clocks and short months."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import NewFact, last_occurrence, next_occurrence
from gaia_memory.models.recurrence import describe_recurrence, parse_recurrence

BERLIN = ZoneInfo("Europe/Berlin")


def berlin(text):
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN)


def occurrences(first, every, count, zone=BERLIN):
    """Return the next times in local time, each found from the one before as reminders find them."""
    found, due_at = [], first
    for _ in range(count):
        following = next_occurrence(due_at, every, zone, due_at)
        if following is None:
            break
        due_at, every = following
        found.append(due_at.astimezone(zone).strftime("%Y-%m-%d %H:%M"))
    return found


@pytest.mark.parametrize(
    ("first", "every", "expected"),
    [
        ("2026-03-27 09:00", "daily", ["2026-03-28 09:00", "2026-03-29 09:00", "2026-03-30 09:00"]),
        ("2026-01-31 09:00", "monthly", ["2026-02-28 09:00", "2026-03-31 09:00", "2026-04-30 09:00"]),
        ("2026-12-29 09:00", "monthly", ["2027-01-29 09:00", "2027-02-28 09:00", "2027-03-29 09:00"]),
        ("2024-02-29 09:00", "yearly", [f"{year}-02-{28 + (year == 2028)} 09:00" for year in range(2025, 2029)]),
        ("2026-03-28 02:30", "daily", ["2026-03-29 03:30", "2026-03-30 02:30", "2026-03-31 02:30"]),
        ("2026-03-23 09:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO", ["2026-04-06 09:00", "2026-04-20 09:00"]),
        ("2026-03-28 02:30", "FREQ=DAILY;COUNT=3", ["2026-03-29 03:30", "2026-03-30 02:30"]),
        ("2026-03-02 09:00", "FREQ=MONTHLY;UNTIL=99991231T235959Z", ["2026-04-02 09:00", "2026-05-02 09:00"]),
        ("2026-03-02 09:00", "FREQ=DAILY;UNTIL=20260304", ["2026-03-03 09:00", "2026-03-04 09:00"]),
        ("2026-03-02 09:00", "FREQ=DAILY;UNTIL=20260304T075900Z", ["2026-03-03 09:00"]),
    ],
)  # fmt: skip
def test_a_fact_comes_back_at_its_local_time(first, every, expected):
    """Found step by step, so that no step forgets the 31st, the half hour that the clocks skipped, or a count."""
    assert occurrences(berlin(first), every, max(len(expected), 3))[: len(expected)] == expected
    if "COUNT" in every or "UNTIL=2026" in every:
        assert occurrences(berlin(first), every, 9) == expected


def test_the_next_time_after_a_long_pause_is_after_it():
    """Missed times are skipped, and a count has counted them."""
    due_at, every = next_occurrence(
        berlin("2026-03-02 09:00"), "FREQ=DAILY;COUNT=9", BERLIN, berlin("2026-03-05 12:00")
    )

    assert due_at == berlin("2026-03-06 09:00")
    assert occurrences(due_at, every, 9) == [f"2026-03-{day:02} 09:00" for day in (7, 8, 9, 10)]


def test_the_last_time_up_to_now_is_found_over_a_change_of_clocks():
    """Nine o'clock has passed once more at nine, not a minute before."""
    first, last = berlin("2026-03-02 09:00"), berlin("2026-03-30 09:00")

    assert last_occurrence(first, "weekly", BERLIN, last) == last
    assert last_occurrence(first, "weekly", BERLIN, last - timedelta(minutes=1)) == berlin("2026-03-23 09:00")


@pytest.mark.parametrize(
    "every",
    ["FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", "FREQ=DAILY;BYHOUR=9,17", "FREQ=DAILY;UNTIL=soon",
     "FREQ=DAILY;COUNT=2;UNTIL=20261231", "FREQ=DAILY;FREQ=SECONDLY",
     "FREQ=DAILY;INTERVAL=+0", "FREQ=DAILY;INTERVAL=-1", "FREQ=DAILY;INTERVAL=0_0",
     "FREQ=DAILY;INTERVAL=7;BYDAY=FR", "BYDAY=MO"],
)  # fmt: skip
def test_rules_that_never_occur_or_occur_twice_a_day_are_refused(every):
    """The message says what to pass instead; what the library would search for without an end is refused, too."""
    with pytest.raises(InvalidInputError, match=r"NewFact\.every is .*: pass one of daily, weekly"):
        NewFact("x", due_at=datetime(2026, 3, 2, 9, tzinfo=UTC), every=every)


def test_a_recurrence_that_began_before_1900_is_refused():
    """Each time since then would be counted at every look."""
    with pytest.raises(InvalidInputError, match=r"NewFact\.due_at is '1066.*from 1900 on"):
        NewFact("x", due_at=datetime(1066, 10, 14, tzinfo=UTC), every="daily")


@pytest.mark.parametrize(
    ("every", "described"),
    [
        ("weekly", "weekly"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TH", "every 2 weeks on Thursday"),
        ("FREQ=WEEKLY;BYDAY=MO,TU,FR", "weekly on Monday, Tuesday and Friday"),
        ("FREQ=DAILY;INTERVAL=2", "every 2 days"),
        ("FREQ=MONTHLY;BYDAY=-1FR", "FREQ=MONTHLY;BYDAY=-1FR"),
        ("FREQ=DAILY;COUNT=3", "FREQ=DAILY;COUNT=3"),
    ],
)
def test_a_recurrence_is_shown_in_words(every, described):
    """A rule that says more than an interval and weekdays is shown as it is."""
    assert describe_recurrence(every) == described


@pytest.mark.parametrize("rule", ["FREQ=MONTHLY;BYDAY=53TU", "FREQ=MONTHLY;BYDAY=1MO,53TU", "FREQ=YEARLY;BYDAY=54MO"])
def test_a_rule_over_which_the_library_stumbles_is_refused_and_if_stored_never_comes_back(rule):
    """Earlier releases stored such rules; `dateutil` raises IndexError in some months or years."""
    due_at = datetime(2026, 3, 2, 9, tzinfo=UTC)
    with pytest.raises(InvalidInputError, match="pass one of daily, weekly, monthly, yearly, or a rule"):
        parse_recurrence("every", rule)

    assert next_occurrence(due_at, rule, UTC, due_at) is None
    assert last_occurrence(due_at, rule, UTC, due_at + timedelta(days=400)) == due_at
