"""Facts are read from JSON of several forms, bullets and lines; an error names the place."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from gaia_memory.cli.ui.fact_files import parse_facts
from gaia_memory.errors import InvalidInputError
from gaia_memory.models import NewFact

GET_ALL = {
    "results": [
        {
            "id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e",
            "memory": "Allergic to nuts",
            "hash": "4bc9",
            "metadata": {"channel": "web"},
            "categories": ["health"],
            "created_at": "2024-07-20T01:30:36.275141-07:00",
            "updated_at": None,
            "user_id": "ada",
        },
        {"id": "1", "memory": "Lives in Rome", "metadata": None, "created_at": None, "user_id": "ada"},
    ]
}
"""What mem0's `get_all` returns."""

TEXTS = ["Likes tea", "Has a dog"]


def texts(content: str) -> list[str]:
    """Return the texts of the facts in a file."""
    return [entry.fact.text for entry in parse_facts(content)]


def test_what_mem0_lists_keeps_its_times_metadata_and_category() -> None:
    """The user it names is reported, not used."""
    entries = parse_facts(json.dumps(GET_ALL))

    said_at = datetime(2024, 7, 20, 1, 30, 36, 275141, tzinfo=timezone(timedelta(hours=-7)))
    assert [entry.fact for entry in entries] == [
        NewFact("Allergic to nuts", said_at=said_at, metadata={"category": "health", "channel": "web"}),
        NewFact("Lives in Rome"),
    ]
    assert {entry.user for entry in entries} == {"ada"}


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(TEXTS),
        json.dumps(TEXTS, indent=2),
        json.dumps([{"text": text} for text in TEXTS]),
        json.dumps([{"content": "Likes tea"}, "Has a dog"]),
        json.dumps({"memories": [{"memory": text} for text in TEXTS], "total": 2}),
        "- Likes tea\n- Has a dog\n",
        "- [ ] Likes tea\n- [x] Has a dog\n",
        "# About me\n\n* Likes tea\n  * Has a dog\n",
        "# About me\n\nLikes tea\n  #a comment\n\nHas a dog\n#\n",
        "Likes tea\n\n  Has a dog  \n",
        "Likes tea\r\nHas a dog\r\n",
    ],
)
def test_each_form_gives_the_same_facts(content: str) -> None:
    """The form is recognised by the content."""
    assert texts(content) == TEXTS


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        ("24. December is his birthday", ["24. December is his birthday"]),
        ("-5 degrees is too cold", ["-5 degrees is too cold"]),
        ("#1 fan of the band", ["#1 fan of the band"]),
        ("", []),
        ("[]", []),
    ],
)
def test_text_that_only_looks_like_a_list_is_kept_whole(content: str, facts: list[str]) -> None:
    """Only a bullet is dropped."""
    assert texts(content) == facts


@pytest.mark.parametrize(
    ("value", "said_at"),
    [
        ("2026-03-01T12:00:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        (None, None),
    ],
)
def test_a_time_without_a_zone_is_in_utc(value: Any, said_at: datetime | None) -> None:
    """Without a time it is unknown."""
    [entry] = parse_facts(json.dumps([{"text": "Likes tea", "created_at": value}]))

    assert entry.fact.said_at == said_at


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('["Likes tea", 5]', "entry 2 is 5: pass a text"),
        ('["Likes tea", " "]', "entry 2 has no text"),
        ('[{"name": "Likes tea"}]', "entry 1 has no text"),
        ('[{"text": "Likes tea", "created_at": "soon"}]', "entry 1: a time is 'soon': pass an ISO 8601 time"),
        ('[{"text": "Likes tea", "metadata": {"tags": ["a"]}}]', "entry 1: NewFact.metadata"),
        ('[{"text": "Likes tea", "metadata": "x"}]', "entry 1: its metadata is 'x': pass an object"),
        ('["Likes tea",\n"Has a dog"', "it is not valid JSON"),
        ('{"people": []}', "the JSON has no list of facts"),
        ('{"format": "gaia-memory", "version": 1, "facts": []}', "`gaia memory import`"),
        ("[" * 100_000 + "]" * 100_000, "not valid JSON"),
    ],
)
def test_a_wrong_entry_is_an_error_that_names_its_place(content: str, message: str) -> None:
    """Nothing is kept of such a file."""
    with pytest.raises(InvalidInputError, match=message):
        parse_facts(content)
