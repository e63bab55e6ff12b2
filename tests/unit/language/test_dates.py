"""The reader of dates: which period a text names, and what is no date."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import strategies as st

from gaia_memory.language.dates import DateMention, read_date, read_dates, read_iso
from support.property_testing import property_test
from support.running_time import assert_linear

BERLIN = ZoneInfo("Europe/Berlin")
SUNDAY = datetime(2026, 11, 22, 15, tzinfo=BERLIN)
DAYS = {
    "2026-11-25": "2026-11-25",
    "on 2026-11-25": "2026-11-25",
    "11/25/2026": "2026-11-25",
    "25/11/2026": "2026-11-25",
    "on the 25th of November": "2026-11-25",
    "November 25th, 2026": "2026-11-25",
    "Wed, 25 Nov 2026": "2026-11-25",
    "the 25th": "2026-11-25",
    "tomorrow": "2026-11-23",
    "the day after tomorrow": "2026-11-24",
    "three days ago": "2026-11-19",
    "in 3 days": "2026-11-25",
    "in a fortnight": "2026-12-06",
    "two weeks from now": "2026-12-06",
    "Friday": "2026-11-27",
    "this Friday": "2026-11-27",
    "last Friday": "2026-11-20",
    "next Monday": "2026-11-23",
    "Friday of next week": "2026-11-27",
    "29 February": "2028-02-29",
}
PERIODS = {
    "last week": ("2026-11-09", "2026-11-16"),
    "next month": ("2026-12-01", "2027-01-01"),
    "this weekend": ("2026-11-21", "2026-11-23"),
    "the last 3 weeks": ("2026-11-01", "2026-11-23"),
    "2026-05": ("2026-05-01", "2026-06-01"),
    "in May": ("2027-05-01", "2027-06-01"),
    "May 2023": ("2023-05-01", "2023-06-01"),
    "last May": ("2026-05-01", "2026-06-01"),
    "in 2023": ("2023-01-01", "2024-01-01"),
    "last winter": ("2025-12-01", "2026-03-01"),
    "in the summer of 2023": ("2023-06-01", "2023-09-01"),
    "3-5 May": ("2027-05-03", "2027-05-06"),
}
TIMES = {
    "2026-11-25T09:00": "2026-11-25 09:00",
    "2026-11-25T09:00Z": "2026-11-25 10:00",
    "Friday at 9": "2026-11-27 09:00",
    "tomorrow 9am": "2026-11-23 09:00",
    "at 9:30 p.m. tomorrow": "2026-11-23 21:30",
    "tomorrow at 3": "2026-11-23 15:00",
    "tomorrow at half past four": "2026-11-23 16:30",
    "tomorrow at quarter to five in the morning": "2026-11-23 04:45",
    "tomorrow evening at 8": "2026-11-23 20:00",
    "Monday at noon": "2026-11-23 12:00",
    "tomorrow at midnight": "2026-11-24 00:00",
    "tomorrow at 9 EST": "2026-11-23 15:00",
    "in two hours": "2026-11-22 17:00",
    "at 9": "2026-11-23 09:00",
}
RECURRENCES = {
    "every day": ("2026-11-22 00:00", "daily"),
    "every Monday at 9": ("2026-11-23 09:00", "weekly"),
    "on Mondays and Thursdays at 9": ("2026-11-23 09:00", "FREQ=WEEKLY;BYDAY=MO,TH"),
    "every weekday at 8:30": ("2026-11-23 08:30", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
    "every 2 weeks on Thursday": ("2026-11-26 00:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TH"),
    "every other week": ("2026-11-22 00:00", "FREQ=WEEKLY;INTERVAL=2"),
    "on the 31st of every month": ("2026-12-31 00:00", "monthly"),
    "every month on the 15th at 9": ("2026-12-15 09:00", "monthly"),
    "every 5 May": ("2027-05-05 00:00", "yearly"),
    "daily at 9": ("2026-11-23 09:00", "daily"),
    "every morning": ("2026-11-23 06:00", "daily"),
    "every 4 weeks, next on Wednesday at 9": ("2026-11-25 09:00", "FREQ=WEEKLY;INTERVAL=4"),
}
NO_DATES = [
    "May I march? You may.",
    "on 30 February",
    "2026-13-45",
    "in May 9999",
    "Call 030 123456",
    "I ate 3 eggs and 2.5 apples for 5 euros",
    "at 9 people",
    "I am on the 3rd floor",
    "Black Friday",
    "every hour",
    "version 1.5",
    "24/7",
]


def read_one(text: str, now: datetime = SUNDAY) -> DateMention:
    """Return the only date of a text."""
    [mention] = read_dates(text, now, BERLIN)
    return mention


@pytest.mark.parametrize(("text", "day"), DAYS.items())
def test_a_day_is_read(text: str, day: str) -> None:
    """In ISO 8601 and as it is said in English."""
    mention = read_one(text)

    assert f"{mention.start:%Y-%m-%d %H:%M}" == f"{day} 00:00"
    assert mention.end - mention.start == timedelta(days=1)


@pytest.mark.parametrize(("text", "period"), PERIODS.items())
def test_a_period_is_read(text: str, period: tuple[str, str]) -> None:
    """From its first midnight to the one after its last day."""
    mention = read_one(text)

    assert (f"{mention.start:%Y-%m-%d}", f"{mention.end:%Y-%m-%d}") == period


@pytest.mark.parametrize(("text", "time"), TIMES.items())
def test_a_time_is_read(text: str, time: str) -> None:
    """In the reader's zone, whichever the text names; "at 3" is in the afternoon."""
    assert f"{read_one(text).start:%Y-%m-%d %H:%M}" == time


@pytest.mark.parametrize(("text", "expected"), RECURRENCES.items())
def test_a_recurrence_is_read(text: str, expected: tuple[str, str]) -> None:
    """Its first occurrence is the next one, or that which the text begins it with."""
    mention = read_one(text)

    assert (f"{mention.start:%Y-%m-%d %H:%M}", mention.every) == expected


@pytest.mark.parametrize("text", NO_DATES)
def test_what_is_no_date_is_not_read(text: str) -> None:
    """Numbers, names and days that the calendar does not have."""
    assert [text[slice(*each.span)] for each in read_dates(text, SUNDAY, BERLIN)] == []


@pytest.mark.parametrize(
    ("text", "bound", "valid_until"),
    [
        ("until Friday", "until", datetime(2026, 11, 28, tzinfo=BERLIN)),
        ("until tomorrow 5 pm", "until", datetime(2026, 11, 23, 17, tzinfo=BERLIN)),
        ("before Friday", "before", datetime(2026, 11, 27, tzinfo=BERLIN)),
        ("by Friday", "within", datetime(2026, 11, 28, tzinfo=BERLIN)),
        ("since March 2024", "since", None),
        ("after Friday", "after", None),
    ],
)
def test_a_bound_opens_one_side(text: str, bound: str, valid_until: datetime | None) -> None:
    """ "Until Friday" includes Friday; "until 5 pm" ends at five."""
    mention = read_one(text)

    assert (mention.bound, mention.valid_until) == (bound, valid_until)


@pytest.mark.parametrize(
    ("text", "past", "future"),
    [
        ("in June", "2026-06-01", "2027-06-01"),
        ("on Friday", "2026-11-20", "2026-11-27"),
        ("this Sunday", "2026-11-22", "2026-11-22"),
        ("on the 3rd", "2026-11-03", "2026-12-03"),
        ("on 29 February", "2024-02-29", "2028-02-29"),
        ("at 3", "2026-11-22", "2026-11-23"),
    ],
)
def test_the_direction_completes_a_date(text: str, past: str, future: str) -> None:
    """A period that goes on now counts as past and as future; what is counted from now has one meaning."""
    found = [read_dates(text, SUNDAY, BERLIN, direction=each)[0].start for each in ("past", "future")]

    assert [f"{each:%Y-%m-%d}" for each in found] == [past, future]


@pytest.mark.parametrize(("text", "day"), [("next Friday", "2026-12-04"), ("this coming Friday", "2026-11-27")])
def test_next_friday_is_not_tomorrow(text: str, day: str) -> None:
    """Said on a Thursday, it is the one of the next week."""
    assert f"{read_one(text, SUNDAY + timedelta(days=4)).start:%Y-%m-%d}" == day


@pytest.mark.parametrize(("text", "name"), [("tomorrow at 9 IST", "IST"), ("9am Tokyo time on Friday", "Tokyo time")])
def test_a_zone_that_is_not_known_is_named(text: str, name: str) -> None:
    """So the writer can be told that the time is their own."""
    assert read_one(text).unread_zone == name


def test_a_sentence_may_name_several_dates() -> None:
    """In order, each with the place where it stands."""
    text = "I leave on 3 May at 9, and I am back until 7 May."

    assert [text[slice(*each.span)] for each in read_dates(text, SUNDAY, BERLIN)] == ["on 3 May at 9", "until 7 May"]


@pytest.mark.parametrize("text", ["Friday or Sunday", "on 2026-12-32", "room 5 on Friday", "soon", "", "30 February"])
def test_only_a_text_that_is_one_date_is_one(text: str) -> None:
    """A number beside it is a part that was not understood."""
    assert read_date(text, SUNDAY, BERLIN) is None


def test_a_text_may_be_any_form_of_iso_8601() -> None:
    """A time without a zone is the reader's; what has another form is none."""
    moment = datetime(2026, 3, 1, 18, 0, 30, tzinfo=BERLIN)
    found = [
        read_date(each, SUNDAY, BERLIN) for each in ("2026-03-01 18:00:30", "2026-03-01T17:00:30+00:00", "20260301")
    ]

    assert [each and each.start for each in found] == [moment, moment, moment.replace(hour=0, second=0)]
    assert read_iso("2026-03-01") == date(2026, 3, 1)
    assert [read_iso(each) for each in ("tomorrow", "", None, 7, "2026-02-30", "9999-12-31")] == [None] * 6


def test_a_time_that_the_clocks_skip_is_read_as_after_the_change() -> None:
    """At 02:30 on that day the clocks in Berlin show 03:30; the day has 23 hours."""
    saturday = datetime(2026, 3, 28, 12, tzinfo=BERLIN)
    moment, day = read_one("tomorrow at 2:30", saturday), read_one("tomorrow", saturday)

    assert moment.start.astimezone(UTC) == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    assert day.end.astimezone(UTC) - day.start.astimezone(UTC) == timedelta(hours=23)


_WORDS = [*" ".join((*DAYS, *PERIODS, *TIMES, *RECURRENCES, *NO_DATES)).split(), ",", "-", "\n", "31.12.9999", "\u0663"]
texts = st.text(max_size=80) | st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join)
zones = st.sampled_from(["Europe/Berlin", "Pacific/Apia", "Africa/Casablanca"]).map(ZoneInfo) | st.integers(
    -1439, 1439
).map(lambda at: timezone(timedelta(minutes=at)))
moments = st.datetimes(timezones=st.just(UTC)) | st.sampled_from(
    [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
)


@property_test(texts, moments, zones, default_cases=300)
def test_every_date_is_a_period(text: str, now: datetime, zone: tzinfo) -> None:
    """Whatever is read, when and where: in order, aware and not empty."""
    mentions = read_dates(text, now, zone)

    assert all(each.start.astimezone(UTC) < each.end.astimezone(UTC) for each in mentions)
    spans = [position for mention in mentions for position in mention.span]
    assert spans == sorted(spans)
    assert all(0 <= start < end <= len(text) for start, end in (mention.span for mention in mentions))


@pytest.mark.parametrize("text", ["last winter", "in winter", "last summer", "29 February", "the 31st", "next May"])
def test_every_day_of_two_years_has_an_answer(text: str) -> None:
    """A season that crosses the year has no match in January."""
    for offset in range(730):
        for direction in ("past", "future"):
            read_dates(text, SUNDAY + timedelta(days=offset), BERLIN, direction=direction)  # type: ignore[arg-type]


@pytest.mark.parametrize("piece", ["12-3--45-.7 20", "tomorrow at 9 ", "Friday next week "])
def test_reading_takes_time_in_proportion_to_the_text(piece: str) -> None:
    """A text of a hundred thousand characters must not block other users."""
    assert_linear(lambda size: read_dates(piece * (size // len(piece)), SUNDAY, BERLIN), 8_000)
