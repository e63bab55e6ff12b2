"""Dates in sentences: which period they name, and what is no date."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from datetime import time as time_of_day
from functools import cache
from itertools import repeat
from zoneinfo import ZoneInfo

import pytest
from hypothesis import strategies as st

from gaia_memory.language.dates import Anchor, Bound, Frequency, Grain, Recurrence, read
from gaia_memory.language.dates.date_words import DateWords
from gaia_memory.language.dates.reader import load_language
from support.oracles.date_phrases import read_phrases
from support.property_testing import property_test
from support.running_time import assert_linear

BERLIN = ZoneInfo("Europe/Berlin")
SUNDAY = datetime(2026, 11, 22, 15, tzinfo=BERLIN)
PHRASES = list(read_phrases())
ZONES = [
    "Europe/Berlin",
    "America/New_York",
    "Pacific/Apia",
    "Asia/Kathmandu",
    "Africa/Casablanca",
    "America/Sao_Paulo",
]


@cache
def date_words() -> list[str]:
    """Every word of the labelled sentences, and what breaks them up."""
    words = {word for phrase in PHRASES for word in phrase.text.split()}
    return [
        *sorted(words),
        ",",
        ".",
        "-",
        "\u2013",
        "\n",
        "29 Feb",
        "31.12.9999",
        "1.1.0001",
        "999 years",
        "\u0663",
        "24:00",
    ]


texts = st.text(max_size=80) | st.lists(st.sampled_from(date_words()), max_size=12).map(" ".join)
zones = st.sampled_from(ZONES).map(ZoneInfo) | st.integers(-1439, 1439).map(lambda at: timezone(timedelta(minutes=at)))
moments = st.datetimes(timezones=st.just(UTC)) | st.sampled_from(
    [
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
        *(datetime(year, 12, 31, 23, 59, tzinfo=UTC) for year in (1, 1899, 2011, 2024, 9998, 9999)),
    ]
)
languages = st.sampled_from([None, "en", "de", "fr", "es"])


@pytest.mark.parametrize("language_is_known", [True, False])
def test_the_dates_of_the_labelled_sentences_are_found(language_is_known: bool) -> None:
    """At least 95 % are right, whether or not the language is given."""
    wrong = [
        phrase.text
        for phrase in PHRASES
        if not phrase.matches(
            read(phrase.text, phrase.now, phrase.zone, phrase.language if language_is_known else None)
        )
    ]

    assert len(PHRASES) >= 240
    assert len(wrong) <= 0.05 * len(PHRASES), wrong


def test_no_date_is_found_where_there_is_none() -> None:
    """Numbers, prices, names and "may" are no dates."""
    negatives = [phrase for phrase in PHRASES if not phrase.labels]
    found = [phrase.text for phrase in negatives if read(phrase.text, phrase.now, phrase.zone, phrase.language)]

    assert len(negatives) >= 70
    assert not found


@property_test(texts, moments, zones, languages, default_cases=300)
def test_every_date_is_a_period(text: str, now: datetime, zone: tzinfo, language: str | None) -> None:
    """Whatever is read, when and where: the same each time, in order, aware and not empty."""
    mentions = read(text, now, zone, language)

    assert mentions == read(text, now, zone, language)
    for mention in mentions:
        assert mention.start.astimezone(UTC) < mention.end.astimezone(UTC)
        assert mention.valid_from is not None or mention.valid_until is not None
        first, after = mention.widen()
        assert first.utcoffset() is not None
        assert first < after
    spans = [position for mention in mentions for position in mention.span]
    assert spans == sorted(spans)
    assert all(0 <= start < end <= len(text) for start, end in (mention.span for mention in mentions))


@pytest.mark.parametrize("code", ["en", "de", "fr", "es"])
def test_every_phrase_can_be_read(code: str) -> None:
    """Each phrase of a language has a meaning for the words in its slots, alone and before a time."""
    words, _ = load_language(code)

    for sentence in map(_sample_sentence, (text for text, _ in words.rows), repeat(words)):
        read(sentence, SUNDAY, BERLIN, code)
        read(f"{sentence} 2026 9:30", SUNDAY, BERLIN, code)


def _sample_sentence(phrase: str, words: DateWords) -> str:
    """Return a phrase with the first of its alternatives, and a word or a number in each slot."""
    samples = {
        **{"count": "3", "day": "3", "ordinal_day": "3.", "days": "3-5", "year": "2023", "years": "2021-22"},
        **{
            "numeric": "3.5.2026",
            "short_date": "3.5",
            "clock": "9:30",
            "dotted_clock": "9.30",
            "hour": "9",
            "minute": "5",
        },
        **{name: next(iter(slot.words)) for name, slot in words.build_slots().items() if slot.words},
    }
    parts = [part.removesuffix("?").split("|")[0] for part in phrase.split() if part[0] not in "!&$"]
    return " ".join(samples[part[1:-1]] if part.startswith("{") else part for part in parts)


@pytest.mark.parametrize(
    "piece", ["12-3--45-.7 20", "1 ", "tomorrow at 9 ", "on the first of ", "until ", "from May to ", "\u0663-"]
)
def test_reading_takes_time_in_proportion_to_the_text(piece: str) -> None:
    """A text of a hundred thousand characters must not block other users."""
    assert_linear(lambda size: read(piece * (size // len(piece)), SUNDAY, BERLIN), 8_000)


@pytest.mark.parametrize(
    ("text", "valid_from", "valid_until"),
    [
        ("until Friday", None, datetime(2026, 11, 28, tzinfo=BERLIN)),
        ("until 5 pm", None, datetime(2026, 11, 22, 17, tzinfo=BERLIN)),
        ("before Friday", None, datetime(2026, 11, 27, tzinfo=BERLIN)),
        ("since March 2024", datetime(2024, 3, 1, tzinfo=BERLIN), None),
        ("after Friday", datetime(2026, 11, 28, tzinfo=BERLIN), None),
        ("on Friday", datetime(2026, 11, 27, tzinfo=BERLIN), datetime(2026, 11, 28, tzinfo=BERLIN)),
    ],
)
def test_a_bound_opens_one_side(text: str, valid_from: datetime | None, valid_until: datetime | None) -> None:
    """ "Until Friday" includes Friday; "until 5 pm" ends at five."""
    [mention] = read(text, SUNDAY, BERLIN, "en")

    assert (mention.valid_from, mention.valid_until) == (valid_from, valid_until)


@pytest.mark.parametrize(
    ("text", "past", "future"),
    [
        ("in June", "2026-06-01", "2027-06-01"),
        ("in November", "2026-11-01", "2026-11-01"),
        ("on Friday", "2026-11-20", "2026-11-27"),
        ("on Sunday", "2026-11-15", "2026-11-29"),
        ("this Sunday", "2026-11-22", "2026-11-22"),
        ("next Sunday", "2026-11-29", "2026-11-29"),
        ("last Sunday", "2026-11-15", "2026-11-15"),
        ("on the 3rd", "2026-11-03", "2026-12-03"),
        ("on 29 February", "2024-02-29", "2028-02-29"),
        ("at 3", "2026-11-22", "2026-11-23"),
        ("yesterday", "2026-11-21", "2026-11-21"),
    ],
)
def test_the_direction_completes_a_date(text: str, past: str, future: str) -> None:
    """A period that goes on now counts as past and as future; what is counted from now has one meaning."""
    found = [read(text, SUNDAY, BERLIN, "en", direction=each)[0].start for each in ("past", "future")]

    assert [f"{each:%Y-%m-%d}" for each in found] == [past, future]


@pytest.mark.parametrize(
    ("text", "on_thursday", "on_sunday"),
    [
        ("My trip is next Friday", "2026-12-04", "2026-11-27"),
        ("dinner next Fri at 7pm", "2026-12-04", "2026-11-27"),
        ("next Saturday", "2026-11-28", "2026-11-28"),
        ("next Monday", "2026-11-30", "2026-11-23"),
        ("this coming Friday", "2026-11-27", "2026-11-27"),
        ("on Friday", "2026-11-27", "2026-11-27"),
        ("Nächsten Freitag fliege ich", "2026-12-04", "2026-11-27"),
        ("nächsten Freitagabend", "2026-12-04", "2026-11-27"),
        ("am kommenden Freitag", "2026-11-27", "2026-11-27"),
        ("nächsten Montag", "2026-11-30", "2026-11-23"),
        ("vendredi prochain", "2026-12-04", "2026-11-27"),
        ("samedi prochain", "2026-11-28", "2026-11-28"),
        ("el próximo viernes", "2026-12-04", "2026-11-27"),
        ("el viernes que viene", "2026-12-04", "2026-11-27"),
        ("el viernes próximo", "2026-12-04", "2026-11-27"),
    ],
)
def test_next_friday_is_not_tomorrow(text: str, on_thursday: str, on_sunday: str) -> None:
    """Said on Thursday, it is the one of the next week; on Sunday, the next Monday is in the next week already."""
    found = [read(text, now, BERLIN)[0].start for now in (SUNDAY + timedelta(days=4), SUNDAY)]

    assert [f"{each:%Y-%m-%d}" for each in found] == [on_thursday, on_sunday]


@pytest.mark.parametrize(
    ("text", "anchor"),
    [
        ("7 May 2023", Anchor.STATED),
        ("in 2023", Anchor.STATED),
        ("2026-11-25T10:00Z", Anchor.STATED),
        ("next Friday", Anchor.RELATIVE),
        ("in two hours", Anchor.CLOCK),
        ("in June", Anchor.YEARLESS),
        ("on Friday", Anchor.INFERRED),
        ("at 9:30", Anchor.INFERRED),
    ],
)
def test_a_date_says_where_it_comes_from(text: str, anchor: Anchor) -> None:
    """So a caller can tell what was said from what was completed."""
    assert [each.anchor for each in read(text, SUNDAY, BERLIN, "en")] == [anchor]


@pytest.mark.parametrize(
    ("text", "grain", "start", "end"),
    [
        ("two weeks ago", Grain.WEEK, "2026-11-02", "2026-11-09"),
        ("two months ago", Grain.MONTH, "2026-09-01", "2026-10-01"),
        ("three years ago", Grain.YEAR, "2023-01-01", "2024-01-01"),
        ("last month", Grain.MONTH, "2026-10-01", "2026-11-01"),
        ("three days ago", Grain.DAY, "2026-11-19", "2026-11-20"),
    ],
)
def test_a_count_is_as_exact_as_its_unit(text: str, grain: Grain, start: str, end: str) -> None:
    """ "Two months ago" names a day, but may mean any in that month."""
    [mention] = read(text, SUNDAY, BERLIN, "en")

    assert mention.grain is grain
    assert [f"{each:%Y-%m-%d}" for each in mention.widen()] == [start, end]


def test_a_recurrence_is_an_rrule() -> None:
    """Its first occurrence is the next one: today counts while its time is still to come."""
    [mention] = read("every Sunday at 9:30 pm", SUNDAY, BERLIN, "en")

    assert mention.recurrence == Recurrence(Frequency.WEEKLY, weekdays=(6,), at=time_of_day(21, 30))
    assert mention.recurrence.rrule == "FREQ=WEEKLY;BYDAY=SU;BYHOUR=21;BYMINUTE=30"
    assert mention.start == datetime(2026, 11, 22, 21, 30, tzinfo=BERLIN)


def test_a_time_that_the_clocks_skip_is_read_as_after_the_change() -> None:
    """At 02:30 on that day the clocks in Berlin show 03:30; the day has 23 hours."""
    saturday = datetime(2026, 3, 28, 12, tzinfo=BERLIN)
    [moment] = read("morgen um 2:30 Uhr", saturday, BERLIN, "de")
    [day] = read("morgen", saturday, BERLIN, "de")

    assert moment.start.astimezone(UTC) == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    assert day.end.astimezone(UTC) - day.start.astimezone(UTC) == timedelta(hours=23)


@pytest.mark.parametrize(
    ("text", "language", "span"),
    [
        ("Wir sehen uns \u00fcbermorgen!", "de", "\u00fcbermorgen"),
        ("Wir sehen uns u\u0308bermorgen!", "de", "u\u0308bermorgen"),
        ("On se voit a\u0300 9h, demain", "fr", "a\u0300 9h, demain"),
        (
            "See you \uff12\uff10\uff12\uff16-\uff11\uff12-\uff10\uff13.",
            "en",
            "\uff12\uff10\uff12\uff16-\uff11\uff12-\uff10\uff13",
        ),
        ("MA\u00d1ANA A LAS 9", "es", "MA\u00d1ANA A LAS 9"),
        ("next\u00a0Friday", "en", "next\u00a0Friday"),
    ],
)
def test_the_span_is_where_the_date_stands(text: str, language: str, span: str) -> None:
    """Accents may be characters of their own, and digits of any script."""
    assert [text[slice(*each.span)] for each in read(text, SUNDAY, BERLIN, language)] == [span]


@pytest.mark.parametrize(
    ("text", "language", "start"),
    [("03/04/2026", "en", "2026-03-04"), ("03/04/2026", "de", "2026-04-03"), ("13/04/2026", "en", "2026-04-13")],
)
def test_the_language_decides_between_day_and_month(text: str, language: str, start: str) -> None:
    """English has the month first, unless there is no such month."""
    assert [f"{each.start:%Y-%m-%d}" for each in read(text, SUNDAY, BERLIN, language)] == [start]


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("Ich wohne hier", []),
        ("J'habitais ici hier", ["2026-11-21"]),
        ("I am 9. Do 10:30 laps!", []),
        ("Ich am Mo, 9:30 Uhr", ["2026-11-23"]),
    ],
)
def test_the_text_tells_its_language(text: str, starts: list[str]) -> None:
    """ "Hier" is "here" in German and "yesterday" in French."""
    assert [f"{each.start:%Y-%m-%d}" for each in read(text, SUNDAY, BERLIN)] == starts


def test_a_local_time_without_a_zone_and_a_language_tag_are_accepted() -> None:
    """Hosts pass what they have."""
    [mention] = read("bis morgen", SUNDAY.replace(tzinfo=None), "Europe/Berlin", "de-AT")

    assert (mention.bound, mention.end) == (Bound.UNTIL, datetime(2026, 11, 24, tzinfo=BERLIN))


def test_an_unknown_zone_is_named() -> None:
    """The error says what would be right."""
    with pytest.raises(ValueError, match=r"zone 'Mars/Base' is no time zone of the IANA list, such as 'Europe/Berlin'"):
        read("tomorrow", SUNDAY, "Mars/Base")
