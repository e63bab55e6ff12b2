"""Exported data is fully validated before it is used."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import Draft, NewFact
from gaia_memory.transfer.export_format import parse_export

SAID = datetime(2026, 1, 2, tzinfo=UTC)
VERSION_1 = Path(__file__).with_name("export_version_1.json")
"""An export that version 0.1 wrote."""

FACT = {
    "id": "1",
    "text": "Sister is Noa",
    "metadata": {"speaker": "Itay"},
    "said_at": "2026-01-02T00:00:00+00:00",
    "session_id": "itay:cli",
    "seq": 4,
    "source": "conversation",
    "sources": [
        {"source": "remember", "app": "gaia", "session_id": None, "seq": None, "said_at": None, "event_ids": []},
        {
            "source": "conversation",
            "app": "gaia",
            "session_id": "itay:cli",
            "seq": 4,
            "said_at": "2026-01-02T00:00:00Z",
            "event_ids": ["e1"],
        },
    ],
    "created_at": "2026-01-03T00:00:00+00:00",
    "updated_at": "2026-01-04T00:00:00+00:00",
}


def data(*facts: object) -> dict[str, Any]:
    return {"format": "gaia-memory", "version": 1, "facts": list(facts)}


def changed(*path: str | int, to: object) -> dict[str, Any]:
    whole = data(copy.deepcopy(FACT), copy.deepcopy(FACT))
    place: Any = whole
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return whole


def test_each_source_becomes_a_draft_and_that_of_the_fact_comes_first():
    """The first draft determines date and conversation of a new fact."""
    [imported] = parse_export(data(FACT))
    metadata = {"speaker": "Itay"}
    noted = datetime(2026, 1, 3, tzinfo=UTC)
    changed_at = datetime(2026, 1, 4, tzinfo=UTC)

    assert imported.text == "Sister is Noa"
    assert imported.created_at == noted
    copied = {"is_imported": True, "origin_id": "1", "noted_at": noted, "created_at": noted, "updated_at": changed_at}
    assert imported.drafts == (
        Draft(
            fact=NewFact("Sister is Noa", said_at=SAID, session_id="itay:cli", seq=4, metadata=metadata),
            source="conversation",
            app="gaia",
            event_ids=("e1",),
            **copied,
        ),
        Draft(fact=NewFact("Sister is Noa", metadata=metadata), source="remember", app="gaia", **copied),
    )


def test_a_fact_needs_only_a_text():
    """Data from other systems may contain nothing else."""
    [imported] = parse_export(data({"text": "likes teal"}))

    assert imported.drafts == (Draft(fact=NewFact("likes teal"), source="import", is_imported=True),)
    assert imported.created_at is None


def test_a_fact_without_a_source_kind_takes_that_of_the_matching_source():
    """Without a matching source it is an import."""
    without = {key: value for key, value in FACT.items() if key != "source"}
    [imported] = parse_export(data(without))
    [elsewhere] = parse_export(data({**without, "seq": 5}))

    assert [draft.source for draft in imported.drafts] == ["conversation", "remember"]
    assert [draft.source for draft in elsewhere.drafts] == ["import", "remember", "conversation"]


def test_an_export_of_version_1_is_read():
    """A model's tool call, which it called `remember`, has events; metadata sets the category."""
    nuts, canal, sister, tea, tokyo = parse_export(json.loads(VERSION_1.read_text(encoding="utf-8")))

    assert [each.drafts[0].source for each in (nuts, canal, sister, tea, tokyo)] == [
        "remember",
        "add",
        "conversation",
        "agent",
        "import",
    ]
    assert (canal.drafts[0].fact.category, canal.drafts[0].fact.metadata["level"]) == ("health", 5)
    assert [draft.event_ids for draft in sister.drafts] == [("e-1", "e-2"), ("e-7",)]
    assert {draft.origin_scope for draft in sister.drafts} == {"gaia:itay"}
    assert all(draft.is_imported and draft.noted_at == draft.created_at for draft in sister.drafts)


def test_a_credential_in_a_fact_or_an_excerpt_is_masked():
    """The rest of both is kept, and of the labels and the metadata."""
    source = {**FACT["sources"][1], "excerpt": "my password: hunter2hunter2", "channel": "cli"}
    secret = {"text": "tea, PIN 4921", "entity": "password: hunter2", "metadata": {"pin": 4921}, "sources": [source]}
    [imported] = parse_export({**data({**FACT, **secret}), "version": 2})

    fact = imported.drafts[0].fact
    assert (fact.text, fact.entity) == ("tea, PIN [redacted: a code]", "password: [redacted: a password]")
    assert fact.metadata["pin"] == "[redacted: a code]"
    assert (imported.drafts[0].excerpt, imported.drafts[0].channel) == ("my password: [redacted: a password]", "cli")


FAULTS: list[tuple[object, str]] = [
    ([FACT], "data is [{"),
    ({**data(FACT), "format": "mem0"}, "data['format'] is 'mem0'"),
    ({**data(FACT), "version": 3}, "data['version'] is 3: export again with a release that writes version 2"),
    (changed("facts", 1, "due_at", to="soon"), "data['facts'][1]['due_at'] is 'soon'"),
    (changed("facts", 1, "category", to=5), "data['facts'][1]: NewFact.category is 5"),
    (changed("facts", 1, "sources", 1, "agent", to=5), "data['facts'][1]['sources'][1]['agent'] is 5: pass text"),
    ({**data(FACT), "facts": None}, "data['facts'] is None: pass a list"),
    (data(FACT, "text"), "data['facts'][1] is 'text': pass a mapping"),
    (changed("facts", 1, "txt", to="x"), "a key of data['facts'][1] is 'txt'"),
    (changed("facts", 1, "text", to=" "), "data['facts'][1]['text'] is ' ': pass a sentence"),
    (changed("facts", 1, "text", to="x" * 100_001), "data['facts'][1]: the fact has 100001 characters"),
    (
        changed("facts", 1, "text", to="AKIA" + "IOSFODNN7EXAMPLE"),
        "data['facts'][1]: the fact contains a credential",
    ),
    (
        changed("facts", 1, "said_at", to="2026-01-02"),
        "data['facts'][1]['said_at'] is datetime.datetime(2026, 1, 2, 0, 0): pass a time with a time zone",
    ),
    (changed("facts", 1, "said_at", to=0), "data['facts'][1]['said_at'] is 0"),
    (
        changed("facts", 1, "created_at", to="0001-01-01T00:00:00+14:00"),
        ": pass a time in the years 1 to 9999",
    ),
    (changed("facts", 1, "source", to="guess"), "data['facts'][1]['source'] is 'guess': omit it or use one of"),
    (changed("facts", 1, "sources", 1, "source", to=[]), "data['facts'][1]['sources'][1]['source'] is []"),
    (changed("facts", 1, "session_id", to=3), "data['facts'][1]['session_id'] is 3: pass an id as text"),
    (changed("facts", 1, "seq", to=2**63), "data['facts'][1]['seq'] is 9223372036854775808"),
    (changed("facts", 1, "metadata", to={"a": []}), "data['facts'][1]: NewFact.metadata['a'] is []"),
    (changed("facts", 1, "sources", to={"a": 1}), "data['facts'][1]['sources'] is {'a': 1}: pass a list"),
    (changed("facts", 1, "sources", 1, "app", to=""), "data['facts'][1]['sources'][1]['app'] is ''"),
    (
        changed("facts", 1, "sources", 1, "event_ids", to=["e", None]),
        "data['facts'][1]['sources'][1]['event_ids'][1] is None",
    ),
]


@pytest.mark.parametrize(("broken", "words"), FAULTS)
def test_an_invalid_value_is_refused_with_path_value_and_fix(broken, words):
    """A file may contain thousands of facts."""
    with pytest.raises(InvalidInputError) as caught:
        parse_export(broken)

    assert words in str(caught.value)
    assert "nothing was imported" in str(caught.value)
