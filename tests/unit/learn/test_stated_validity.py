"""Which texts, answers and metadata limit the time of a fact."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from gaia_memory.errors import InvalidInputError
from gaia_memory.learn.stated_validity import confirm_last_day, read_validity, take_lifetime
from gaia_memory.models import NewFact

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 3, 16, 10, tzinfo=BERLIN)
NOW = datetime(2026, 3, 16, 9, tzinfo=UTC)
SATURDAY = datetime(2026, 3, 21, tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("User's sister stays with him until Friday", SATURDAY),
        ("User's sister stays until Friday (2026-03-20)", SATURDAY),
        ("User is in Rome until 2026-03-20", SATURDAY),
        ("Ich bin bis Freitag in Rom", SATURDAY),
        ("Je suis à Rome jusqu'à vendredi", SATURDAY),
        ("Estoy en Roma hasta el viernes", SATURDAY),
        ("User has the flat until August 2027", datetime(2027, 9, 1, tzinfo=BERLIN)),
        ("User can be reached at work until tomorrow 5pm", datetime(2026, 3, 17, 17, tzinfo=BERLIN)),
    ],
)
def test_a_text_that_says_until_when_it_holds(text: str, end: datetime) -> None:
    """The day that is named is the last one, counted from when it was said and in the person's zone."""
    assert read_validity(text, MONDAY) == (None, end)


@pytest.mark.parametrize(
    "text",
    [
        "User must hand in the report by Friday",
        "User has to stay in bed until Friday",
        "Ich muss den Bericht bis Freitag abgeben",
        "User lived in Oslo until 2019",
        "User smoked until yesterday",
        "User ate meat until today",
        "User prefers tea until noon",
        "The shop is open until 6 pm",
        "User works from Monday until Friday",
        "On Mondays the user works until Friday",
        "User usually sleeps until Sunday",
        "User stays until Friday, and the brother until June",
        "User is vegan until further notice",
        "User flies to Rome on Friday",
        "User hopes to be done before Friday",
        "If it rains, the user stays until Friday",
    ],
)
def test_a_text_that_is_not_sure_holds_for_ever(text: str) -> None:
    """Deadlines, habits, conditions, the past, and dates of events end nothing."""
    assert read_validity(text, MONDAY) == (None, None)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("User has lived in Berlin since March", datetime(2026, 3, 1, tzinfo=BERLIN)),
        ("User is vegetarian since 2015", datetime(2015, 1, 1, tzinfo=BERLIN)),
        ("User is on parental leave from Friday on", None),
        ("User has been at work since 9 am", None),
    ],
)
def test_only_a_beginning_of_the_past_is_one(text: str, start: datetime | None) -> None:
    """What is planned is worth knowing before it begins."""
    assert read_validity(text, MONDAY) == (start, None)


def test_a_models_last_day_needs_the_persons_words() -> None:
    """A model may take the date of an event for an end."""
    said = ["My sister is here until Friday, and my exam is on 3 April"]

    assert confirm_last_day(date(2026, 3, 20), said, MONDAY) == SATURDAY
    assert confirm_last_day(date(2026, 4, 3), said, MONDAY) is None
    assert confirm_last_day(date(2026, 3, 21), said, MONDAY) is None


@pytest.mark.parametrize(
    ("metadata", "end"),
    [
        ({"ttl": "3600s"}, NOW + timedelta(hours=1)),
        ({"ttl": "0.5s"}, NOW + timedelta(milliseconds=500)),
        ({"expire_time": "2026-04-01T00:00:00Z"}, datetime(2026, 4, 1, tzinfo=UTC)),
        ({"expire_time": "2026-04-01T02:00:00+02:00"}, datetime(2026, 4, 1, tzinfo=UTC)),
        ({}, None),
    ],
)
def test_metadata_limit_the_life_of_a_fact(metadata: dict[str, str], end: datetime | None) -> None:
    """The other metadata stay."""
    fact = take_lifetime(NewFact("Has a guest", metadata={**metadata, "mood": "good"}), NOW)

    assert (fact.valid_until, dict(fact.metadata)) == (end, {"mood": "good"})


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        *(
            ({"ttl": ttl}, r"metadata\['ttl'\] is .*'3600s'")
            for ttl in ("1h", "0s", "-5s", "s", 3600, True, "9" * 12 + "s")
        ),
        *(
            ({"expire_time": time}, r"metadata\['expire_time'\] is .*ISO 8601")
            for time in ("tomorrow", "2026-04-01", "2026-04-01T00:00:00", 1_775_000_000, "")
        ),
        ({"ttl": "1s", "expire_time": "2026-04-01T00:00:00Z"}, "pass one of them"),
    ],
)
def test_a_wrong_lifetime_is_refused_by_name(metadata: dict[str, str], named: str) -> None:
    """The message names the key, the value and the form."""
    with pytest.raises(InvalidInputError, match=named):
        take_lifetime(NewFact("Has a guest", metadata=metadata), NOW)


def test_an_end_is_given_once() -> None:
    """As `valid_until` or in the metadata."""
    fact = NewFact("Has a guest", metadata={"ttl": "1s"}, valid_until=NOW)
    with pytest.raises(InvalidInputError, match=r"metadata\['ttl'\] and valid_until"):
        take_lifetime(fact, NOW)
