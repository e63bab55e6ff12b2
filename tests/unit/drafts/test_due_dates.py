"""When a model's answer or a date in words says that a fact is due."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from gaia_memory.backend.answers import parse_extraction
from gaia_memory.drafts.due_dates import DueFields, due_of_answer, due_of_mention
from gaia_memory.language.dates import read_dates

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 24, 10, tzinfo=BERLIN)
"""A Tuesday."""


def described(due: DueFields) -> tuple[str | None, str | None]:
    """Return a due date in local time, a day without its time."""
    if "due_at" not in due:
        return None, None
    local = due["due_at"].astimezone(BERLIN)
    return local.strftime("%Y-%m-%d" if due["due_all_day"] else "%Y-%m-%d %H:%M"), due["every"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"due_at": "2026-11-27T09:00", "every": "weekly"}, ("2026-11-27 09:00", "weekly")),
        ({"due_at": "2026-11-27"}, ("2026-11-27", None)),
        ({"due_at": "2026-11-27T09:00:00+00:00"}, ("2026-11-27 10:00", None)),
        ({"due_at": "2026-11-27", "every": "hourly"}, ("2026-11-27", None)),
        ({"due_at": "2026-11-20"}, (None, None)),
        ({"due_at": "2026-11-20", "every": "weekly"}, (None, None)),
        ({"due_at": "soon"}, (None, None)),
        ({"due_at": 7, "every": ["daily"]}, (None, None)),
    ],
)
def test_a_model_may_say_when_a_fact_is_due(given: dict[str, object], expected: tuple[str | None, str | None]) -> None:
    """What it says is used if it can be; otherwise the fact is kept without."""
    [fact] = parse_extraction(str({"memory": [{"text": "Calls Anna", **given}]}).replace("'", '"'))

    assert fact.text == "Calls Anna"
    assert described(due_of_answer(fact, NOW.astimezone(UTC), BERLIN)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Friday at 9", ("2026-11-27 09:00", None)),
        ("every Monday at 9", ("2026-11-30 09:00", "weekly")),
        ("yesterday at 9", (None, None)),
        ("today", ("2026-11-24", None)),
    ],
)
def test_a_date_in_words_is_due_while_it_is_to_come(text: str, expected: tuple[str | None, str | None]) -> None:
    """A day is not over before midnight."""
    [mention] = read_dates(text, NOW, BERLIN)

    assert described(due_of_mention(mention, NOW)) == expected
