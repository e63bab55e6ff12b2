"""Facts are read from JSON of several forms, JSON Lines, bullets and lines; an error names the place."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from gaia_memory.cli.memory.fact_files import parse_facts, read_end
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

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
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
        "\n".join(json.dumps({"text": text}) for text in TEXTS),
        "\n\n".join(json.dumps({"text": text}) for text in TEXTS) + "\n",
        "- Likes tea\n- Has a dog\n",
        "- [ ] Likes tea\n- [x] Has a dog\n",
        "# About me\n\n* Likes tea\n  * Has a dog\n",
        "# About me\n\nLikes tea\n  #a comment\n\nHas a dog\n#\n",
        "1. Likes tea\n2) Has a dog\n",
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
        ("2. July: wedding\n1. May: move", ["2. July: wedding", "1. May: move"]),
        ("-5 degrees is too cold", ["-5 degrees is too cold"]),
        ("[sic] is what he writes", ["[sic] is what he writes"]),
        ("#1 fan of the band", ["#1 fan of the band"]),
        ("", []),
        ("[]", []),
    ],
)
def test_text_that_only_looks_like_a_list_is_kept_whole(content: str, facts: list[str]) -> None:
    """A number is dropped only where the lines are numbered from 1 on."""
    assert texts(content) == facts


@pytest.mark.parametrize(
    ("value", "said_at"),
    [
        ("2026-03-01T12:00:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        (1772366400, datetime(2026, 3, 1, 12, tzinfo=UTC)),
        (None, None),
    ],
)
def test_a_time_without_a_zone_is_in_utc(value: Any, said_at: datetime | None) -> None:
    """A number counts seconds since 1970."""
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
        ('{"text": "Likes tea"}\n{"text": 5}', "line 2 has no text"),
        ('{"text": "Likes tea"}\n{"text": ', "line 2 is not valid JSON"),
        ('["Likes tea",\n"Has a dog"', "line 1 is not valid JSON"),
        ('{"people": []}', "the JSON has no list of facts"),
        ('{"format": "gaia-memory", "version": 1, "facts": []}', "`gaia memory import`"),
        ("[" * 100_000 + "]" * 100_000, "not valid JSON"),
    ],
)
def test_a_wrong_entry_is_an_error_that_names_its_place(content: str, message: str) -> None:
    """Nothing is kept of such a file."""
    with pytest.raises(InvalidInputError, match=message):
        parse_facts(content)


@pytest.mark.parametrize(
    ("text", "suffix", "problem"),
    [
        ("text,category\nOwns a canoe,hobby\n", ".csv", "tables are not read"),
        ("{broken", ".json", "not valid JSON"),
        ("Likes tea\n", ".JSONL", "not valid JSON"),
    ],
)
def test_a_name_that_promises_another_form_than_lines_is_believed(text: str, suffix: str, problem: str) -> None:
    """Otherwise the header of a table and half a document would become facts."""
    with pytest.raises(InvalidInputError, match=problem):
        parse_facts(text, suffix=suffix)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"expiration_date": "2026-11-27"}, "expired"),
        ({"invalid_at": "2026-11-28T11:00:00Z"}, "expired"),
        ({"state": "paused"}, "paused"),
        ({"status": "DELETED"}, "deleted"),
        ({"deleted_at": "2026-01-01T00:00:00"}, "deleted"),
        ({"isForgotten": True}, "forgotten"),
    ],
)
def test_a_fact_that_is_over_has_a_reason(entry: dict[str, Any], reason: str) -> None:
    """Whatever the case, the underscores and the `is` of a name."""
    assert read_end(entry, NOON) == (reason, None)


@pytest.mark.parametrize(
    ("entry", "end"),
    [
        ({"state": "active", "deleted_at": None, "is_deleted": False, "status": "done"}, None),
        ({"expiration_date": "2026-11-28"}, datetime(2026, 11, 29, tzinfo=UTC)),
        ({"invalid_at": "2027-02-01T08:00:00+01:00"}, datetime.fromisoformat("2027-02-01T08:00:00+01:00")),
    ],
)
def test_a_fact_that_counts_keeps_the_end_to_come(entry: dict[str, Any], end: datetime | None) -> None:
    """A day counts to its end."""
    assert read_end(entry, NOON) == ("", end)


def test_an_end_that_is_no_time_is_refused() -> None:
    """A fact that is over would become current otherwise."""
    with pytest.raises(InvalidInputError, match="a time is 'soon': pass an ISO 8601 time"):
        read_end({"invalid_at": "soon"}, NOON)
