"""The contract of ADK's BaseMemoryService, case by case as ADK tests its own services."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.genai import types

from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.adk.sessions.event_mapping import COMMAND_KEY, PRIVATE_KEY
from gaia_memory.adk.sessions.transcript import SessionTranscript
from gaia_memory.config.sources.load import load
from gaia_memory.engine import Engine
from gaia_memory.errors import (
    InvalidInputError,
    LeaseLostError,
    MemoryDisabledError,
    MemoryUnavailable,
    ModelUnavailableError,
)
from gaia_memory.models import SessionKey
from gaia_memory.ports import AnswerCheck
from gaia_memory.testing import ScriptedExtractor
from support.hosts.memory_service import service_over
from support.plugin_host import begin_turn

APP, USER, OTHER = "app", "itay", "dana"
"""Every test here is about these people of one app."""


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    opened = await Engine.open(await asyncio.to_thread(load, {"app": APP}, home=tmp_path / "gaia"))
    yield opened
    await opened.close()


@pytest.fixture
def extractor(engine: Engine) -> ScriptedExtractor:
    """Each chunk teaches the text of its user messages, unchanged."""
    scripted = ScriptedExtractor()
    ask = scripted.extract

    async def extract(chunk: Any, *, instructions: str, check: AnswerCheck) -> Any:
        scripted.add([message.text for message in chunk.messages if message.role == "user"])
        return await ask(chunk, instructions=instructions, check=check)

    scripted.extract = extract  # type: ignore[method-assign]
    engine.consolidator.learner._extractor = scripted
    return scripted


@pytest.fixture
def service(engine: Engine, extractor: ScriptedExtractor, monkeypatch: pytest.MonkeyPatch) -> Mem0MemoryService:
    return service_over(engine, monkeypatch)


def event(text: str, *, author: str = "user", event_id: str | None = None, **fields: Any) -> Event:
    role = "user" if author == "user" else "model"
    content = types.Content(role=role, parts=[types.Part(text=text)] if text else [])
    return Event(id=event_id or Event.new_id(), invocation_id=Event.new_id(), author=author, content=content, **fields)


def session(*events: Event, session_id: str = "s1", user: str = USER, app: str = APP) -> Session:
    return Session(app_name=app, user_id=user, id=session_id, events=list(events))


def entry(*texts: str, **fields: Any) -> MemoryEntry:
    return MemoryEntry(content=types.Content(parts=[types.Part(text=text) for text in texts]), **fields)


async def found(service: Mem0MemoryService, query: str, *, user: str = USER, app: str = APP) -> list[str]:
    response = await service.search_memory(app_name=app, user_id=user, query=query)
    return [_text(memory) for memory in response.memories]


async def listed(service: Mem0MemoryService, *, user: str = USER, app: str = APP) -> list[str]:
    return [_text(memory) for memory in await service.list_memories(app_name=app, user_id=user)]


def _text(memory: MemoryEntry) -> str:
    return "".join(part.text or "" for part in memory.content.parts or [])


async def add(service: Mem0MemoryService, *texts: str, user: str = USER, app: str = APP, **fields: Any) -> None:
    await service.add_memory(app_name=app, user_id=user, memories=[entry(text) for text in texts], **fields)


@pytest.mark.acceptance("L01")
def test_the_memory_service_is_created_without_a_loop_or_a_file(tmp_path: Path):
    """ADK's registry creates it from a URI, with its own arguments, before a loop runs."""
    missing = tmp_path / "nowhere"
    service = Mem0MemoryService("mem0://?config=gaia.yaml", agents_dir=str(missing), something_new=1)

    assert isinstance(service, BaseMemoryService)
    assert not missing.exists()


async def test_add_session_learns_messages_and_skips_empty_events(
    service: Mem0MemoryService, extractor: ScriptedExtractor
):
    """Events without text do not reach a model."""
    await service.add_session_to_memory(session(event("I have a dog"), event("", author="root"), event("  ")))

    assert [[message.text for message in chunk.messages] for chunk in extractor.chunks] == [["I have a dog"]]
    assert await listed(service) == ["I have a dog"]


async def test_add_session_again_learns_only_what_is_new(service: Mem0MemoryService, extractor: ScriptedExtractor):
    """A session may be added many times, and each event reaches the model once."""
    first, second = event("I have a dog"), event("I have a cat", timestamp=2_000_000_000.0)
    await service.add_session_to_memory(session(first))
    await service.add_session_to_memory(session(first))
    await service.add_session_to_memory(session(first, second))

    assert await listed(service) == ["I have a dog", "I have a cat"]
    assert [len(chunk.turns) for chunk in extractor.chunks] == [1, 1]


async def test_adding_a_trimmed_session_removes_no_facts(service: Mem0MemoryService):
    """A window plugin may have trimmed the session."""
    first, second = event("I have a dog"), event("I have a cat", timestamp=2_000_000_000.0)
    await service.add_session_to_memory(session(first, second))
    await service.add_session_to_memory(session(second))

    assert await listed(service) == ["I have a dog", "I have a cat"]


async def test_add_session_reads_the_whole_session_if_the_transcript_is_available(
    service: Mem0MemoryService, engine: Engine, extractor: ScriptedExtractor
):
    """A trimmed session is then learned completely, and not cleared."""
    sessions = InMemorySessionService()
    engine.attach_transcript(APP, SessionTranscript(sessions, APP, clear_method="keep"))
    kept = await sessions.create_session(app_name=APP, user_id=USER, session_id="s1")
    for text in ["I have a dog", "I have a cat"]:
        await sessions.append_event(kept, event(text))
    for _ in range(2):
        await service.add_session_to_memory(session(kept.events[-1]))
    now = await sessions.get_session(app_name=APP, user_id=USER, session_id="s1")

    assert await listed(service) == ["I have a dog", "I have a cat"]
    assert len(extractor.chunks) == 1
    assert now is not None
    assert len(now.events) == 2


async def test_add_session_learns_the_given_events_if_the_apps_own_service_has_no_such_session(
    service: Mem0MemoryService, engine: Engine, extractor: ScriptedExtractor
):
    """Each event once, without those that are private or rewound; what the transcript taught before is not repeated."""
    sessions = InMemorySessionService()
    engine.attach_transcript(APP, SessionTranscript(sessions, APP, clear_method="keep"))
    kept = await sessions.create_session(app_name=APP, user_id=USER, session_id="s1")
    await sessions.append_event(kept, event("I have a dog"))
    await service.add_session_to_memory(kept)
    await sessions.delete_session(app_name=APP, user_id=USER, session_id="s1")
    later = [
        event(text, timestamp=2_000_000_000.0 + number, custom_metadata=metadata)
        for number, (text, metadata) in enumerate(
            [("I have a cat", None), ("my PIN is 9817", {PRIVATE_KEY: True}), ("I have a fish", None)]
        )
    ]
    rewind = event("", timestamp=2_000_000_003.0)
    rewind.actions.rewind_before_invocation_id = later[-1].invocation_id
    for _ in range(2):
        await service.add_session_to_memory(session(*kept.events, *later, rewind))
    row = await engine.conversations.row(SessionKey(APP, USER, "s1"))

    assert await listed(service) == ["I have a dog", "I have a cat"]
    assert [[message.text for message in chunk.messages] for chunk in extractor.chunks] == [
        ["I have a dog"],
        ["I have a cat"],
    ]
    assert row is not None
    assert row.failures.attempts == 0


async def test_a_session_that_cannot_be_looked_up_is_left_for_later(
    service: Mem0MemoryService, engine: Engine, extractor: ScriptedExtractor, monkeypatch: pytest.MonkeyPatch
):
    """Its service may hold more than the given events; the failure is recorded and not raised."""
    sessions = InMemorySessionService()
    engine.attach_transcript(APP, SessionTranscript(sessions, APP, clear_method="keep"))

    async def fails(**_: object) -> None:
        raise OSError("away")

    monkeypatch.setattr(sessions, "get_session", fails)
    await service.add_session_to_memory(session(event("I have a dog")))
    row = await engine.conversations.row(SessionKey(APP, USER, "s1"))

    assert extractor.chunks == []
    assert row is not None
    assert row.failures.attempts == 1


async def test_add_session_skips_commands(service: Mem0MemoryService):
    """Commands to memory are not part of the conversation."""
    await service.add_session_to_memory(
        session(event("/remember x", custom_metadata={COMMAND_KEY: "remember"}), event("I have a dog"))
    )

    assert await listed(service) == ["I have a dog"]


async def test_add_events_learns_explicit_events(service: Mem0MemoryService):
    """Any events of a session can be learned on their own."""
    await service.add_events_to_memory(
        app_name=APP, user_id=USER, session_id="s1", events=[event("I have a dog"), event("Nice!", author="root")]
    )

    assert await listed(service) == ["I have a dog"]


async def test_add_events_without_a_session_id_uses_a_default_bucket(
    service: Mem0MemoryService, extractor: ScriptedExtractor
):
    """In that bucket, too, each event is learned once."""
    said = event("I have a dog")
    for events in ([said], (said,)):
        await service.add_events_to_memory(app_name=APP, user_id=USER, events=events)

    assert await listed(service) == ["I have a dog"]
    assert len(extractor.chunks) == 1


async def test_add_events_deduplicates_event_ids(service: Mem0MemoryService, extractor: ScriptedExtractor):
    """An event that was already learned is left out."""
    known = event("I have a dog", event_id="e1")
    await service.add_events_to_memory(app_name=APP, user_id=USER, session_id="s1", events=[known])
    await service.add_events_to_memory(
        app_name=APP, user_id=USER, session_id="s1", events=[known, event("I have a cat")]
    )

    assert [turn.event_ids for turn in extractor.chunks[-1].turns] != [("e1",)]
    assert len(extractor.chunks[-1].turns) == 1


async def test_events_with_the_same_id_in_two_sessions_are_distinct(service: Mem0MemoryService):
    """An event id is unique within its session only."""
    for session_id, text in [("s1", "I have a dog"), ("s2", "I have a cat")]:
        await service.add_events_to_memory(
            app_name=APP, user_id=USER, session_id=session_id, events=[event(text, event_id="e1")]
        )

    assert await listed(service) == ["I have a dog", "I have a cat"]


@pytest.mark.parametrize("query", ["", "  ", "\n"])
async def test_search_with_a_blank_query_finds_nothing(service: Mem0MemoryService, query: str):
    """It is not an error."""
    await add(service, "I have a dog")

    assert await found(service, query) == []


async def test_search_is_scoped_by_user_and_app(service: Mem0MemoryService):
    """Facts are found only for their own user in their own app."""
    await add(service, "I have a dog")

    assert await found(service, "dog", user=OTHER) == []
    assert await found(service, "dog", app="other") == []


@pytest.mark.parametrize(
    ("one", "two"),
    [(("a/b", "c"), ("a", "b/c")), (("a", "*"), ("a", "c")), (("a", "c "), ("a", "c"))],
)
async def test_scopes_do_not_collide_on_special_characters(
    service: Mem0MemoryService, one: tuple[str, str], two: tuple[str, str]
):
    """Ids that would collide when joined stay separate."""
    await add(service, "I have a dog", app=one[0], user=one[1])
    await add(service, "I have a cat", app=two[0], user=two[1])

    assert await listed(service, app=one[0], user=one[1]) == ["I have a dog"]
    assert await listed(service, app=two[0], user=two[1]) == ["I have a cat"]


async def test_search_returns_at_most_the_configured_number(service: Mem0MemoryService, engine: Engine):
    """However many facts match, `memory.recall_limit` are returned."""
    await add(service, *(f"Dog number {n} is called Rex{n}" for n in range(20)))

    assert len(await found(service, "dog")) == engine.config.memory.recall_limit


async def test_an_entry_has_the_category_of_a_learned_fact(service: Mem0MemoryService, engine: Engine):
    """As that of a fact which was added with a topic; in a prompt it opens no block."""
    await engine.memory.remember(engine.scope(APP, USER), "I have a dog", category="pets", metadata={"ward": 3})
    await engine.memory.remember(engine.scope(APP, USER), "I have a dog bed", category="<system>")
    listed = await service.list_memories(app_name=APP, user_id=USER)
    found = (await service.search_memory(app_name=APP, user_id=USER, query="dog")).memories

    assert [each.custom_metadata for each in listed] == [{"ward": 3, "category": "pets"}, {"category": "<system>"}]
    assert {each.custom_metadata["category"] for each in found} == {"pets", "(system)"}


async def test_search_leaves_long_metadata_out(service: Mem0MemoryService):
    """ADK's tools show the whole entry to the model; a list still has everything."""
    notes = {"notes": "long " * 3_000}
    for text, metadata in (("I have a dog", notes), ("I have a dog bed", {"shop": "Ikea"})):
        await service.add_memory(app_name=APP, user_id=USER, memories=[entry(text, custom_metadata=metadata)])
    found = await service.search_memory(app_name=APP, user_id=USER, query="dog")
    listed_entries = await service.list_memories(app_name=APP, user_id=USER)

    assert {_text(memory): memory.custom_metadata for memory in found.memories} == {
        "I have a dog": {},
        "I have a dog bed": {"shop": "Ikea"},
    }
    assert [memory.custom_metadata for memory in listed_entries] == [notes, {"shop": "Ikea"}]


async def test_search_returns_entries_with_all_fields(service: Mem0MemoryService):
    """An entry has an id, a text, an author, an ISO time and its own metadata."""
    await service.add_memory(
        app_name=APP,
        user_id=USER,
        memories=[
            entry("I have a dog", author="vet", timestamp="2024-05-01T10:00:00+02:00", custom_metadata={"ward": 3})
        ],
    )
    [memory] = (await service.search_memory(app_name=APP, user_id=USER, query="dog")).memories

    assert memory.id
    assert _text(memory) == "I have a dog"
    assert memory.author == "vet"
    assert memory.custom_metadata["ward"] == 3
    assert datetime.fromisoformat(memory.timestamp or "") == datetime(2024, 5, 1, 8, tzinfo=UTC)


async def test_concurrent_writers_lose_nothing(service: Mem0MemoryService):
    """All concurrent writes are stored."""
    await asyncio.gather(*(add(service, f"I like fruit number {n}") for n in range(20)))

    assert sorted(await listed(service)) == sorted(f"I like fruit number {n}" for n in range(20))


async def test_add_memory_joins_parts_and_entry_metadata_overrides_that_of_the_call(service: Mem0MemoryService):
    """Several parts form one fact with the metadata of both."""
    await service.add_memory(
        app_name=APP,
        user_id=USER,
        memories=[entry("I have a dog", "and a cat", custom_metadata={"origin": "chart"})],
        custom_metadata={"origin": "import", "batch": 7, "note": None},
    )
    [memory] = await service.list_memories(app_name=APP, user_id=USER)

    assert _text(memory) == "I have a dog\nand a cat"
    assert memory.custom_metadata == {"origin": "chart", "batch": 7}


@pytest.mark.parametrize("memories", ["a fact", 7, ["a fact"], [entry("x"), None]])
async def test_add_memory_refuses_other_types(service: Mem0MemoryService, memories: Any):
    """Only a sequence of MemoryEntry is accepted; otherwise nothing of the call is stored."""
    with pytest.raises(TypeError):
        await service.add_memory(app_name=APP, user_id=USER, memories=memories)

    assert await listed(service) == []


IMAGE = types.Part(inline_data=types.Blob(data=b"png", mime_type="image/png"))
FILE = types.Part(file_data=types.FileData(file_uri="gs://bucket/file"))


@pytest.mark.parametrize(
    "memories",
    [
        [],
        [entry("")],
        [entry("  \n")],
        [entry("fine"), MemoryEntry(content=types.Content(parts=[types.Part(text="a picture"), IMAGE]))],
        [MemoryEntry(content=types.Content(parts=[FILE]))],
        [MemoryEntry(content=types.Content())],
        [entry("fine", custom_metadata={"nested": {"a": 1}})],
        [entry("fine", custom_metadata={"source": "ours"})],
        [entry("fine", timestamp="yesterday")],
    ],
    ids=["none", "empty", "blank", "image", "file", "no parts", "nested metadata", "name of ours", "bad time"],
)
async def test_add_memory_refuses_invalid_entries(service: Mem0MemoryService, memories: Sequence[MemoryEntry]):
    """An entry that cannot be stored completely is an error, and nothing of the call is stored."""
    with pytest.raises(ValueError, match=r"\w"):
        await service.add_memory(app_name=APP, user_id=USER, memories=memories)

    assert await listed(service) == []


async def test_a_deleted_fact_is_not_learned_again_from_the_same_messages(service: Mem0MemoryService):
    """It is not found either."""
    talk = session(event("I have a dog"), event("I have a cat", timestamp=2_000_000_000.0))
    await service.add_session_to_memory(talk)
    [dog, _] = await service.list_memories(app_name=APP, user_id=USER)
    await service.delete_memory(app_name=APP, user_id=USER, memory_id=dog.id)
    await service.add_session_to_memory(talk)
    await service.add_events_to_memory(
        app_name=APP, user_id=USER, session_id="s2", events=[event("I have a dog", timestamp=2_000_000_001.0)]
    )

    assert await listed(service) == ["I have a cat"]
    assert "I have a dog" not in await found(service, "dog")


@pytest.mark.parametrize("memory_id", [None, "", "unknown"])
async def test_deleting_a_missing_or_unknown_id_changes_nothing(service: Mem0MemoryService, memory_id: str | None):
    """It is not an error."""
    await add(service, "I have a dog")
    await service.delete_memory(app_name=APP, user_id=USER, memory_id=memory_id)

    assert await listed(service) == ["I have a dog"]


async def test_deleting_another_users_id_changes_nothing(service: Mem0MemoryService):
    """An id is valid for its owner only."""
    await add(service, "I have a dog")
    [dog] = await service.list_memories(app_name=APP, user_id=USER)
    await service.delete_memory(app_name=APP, user_id=OTHER, memory_id=dog.id)

    assert await listed(service) == ["I have a dog"]


async def test_all_facts_of_a_user_or_a_session_can_be_deleted(service: Mem0MemoryService):
    """This goes beyond ADK's contract; other users keep their facts."""
    await service.add_session_to_memory(session(event("I have a dog")))
    await add(service, "I have a cat")
    await add(service, "I have a fish", user=OTHER)
    by_session = await service.delete_session_memories(app_name=APP, user_id=USER, session_id="s1")
    after_session = await listed(service)
    by_user = await service.delete_user_memories(app_name=APP, user_id=USER)

    assert (by_session.count, by_user.count) == (1, 1)
    assert after_session == ["I have a cat"]
    assert await listed(service) == []
    assert await listed(service, user=OTHER) == ["I have a fish"]


async def test_a_failed_search_returns_nothing_and_logs_no_query(
    service: Mem0MemoryService, engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """An unavailable memory must not fail the turn."""

    async def unavailable(*_: object, **__: object) -> None:
        raise MemoryUnavailable("no retriever could answer")

    monkeypatch.setattr(type(engine.memory), "recall", unavailable)
    with caplog.at_level(logging.WARNING, logger="gaia_memory"):
        answer = await found(service, "where is my diary")

    assert answer == []
    assert "no retriever could answer" in caplog.text
    assert "diary" not in caplog.text


async def test_a_model_failure_is_raised_for_added_events_but_not_for_a_session(
    service: Mem0MemoryService, extractor: ScriptedExtractor, engine: Engine
):
    """A session can be added again later; events may never be added again."""
    failing = ScriptedExtractor(default=ModelUnavailableError("down"))
    engine.consolidator.learner._extractor = failing
    talk = session(event("I have a dog"))
    await service.add_session_to_memory(talk)
    with pytest.raises(ModelUnavailableError):
        await service.add_events_to_memory(app_name=APP, user_id=USER, session_id="s1", events=talk.events)
    engine.consolidator.learner._extractor = extractor
    await service.add_session_to_memory(talk)

    assert await listed(service) == ["I have a dog"]


async def test_a_session_with_an_active_turn_is_not_learned_and_its_events_are_refused(
    service: Mem0MemoryService, engine: Engine
):
    """The session waits for the end of the turn; the caller has to add the events again."""
    await begin_turn(engine, SessionKey(APP, USER, "s1"))
    talk = session(event("I have a dog"))
    await service.add_session_to_memory(talk)
    with pytest.raises(LeaseLostError):
        await service.add_events_to_memory(app_name=APP, user_id=USER, session_id="s1", events=talk.events)

    assert await listed(service) == []


async def test_a_disabled_memory_returns_and_stores_nothing_but_still_deletes(
    service: Mem0MemoryService, engine: Engine, extractor: ScriptedExtractor
):
    """With `memory.enabled: false` only an explicit write is an error."""
    await add(service, "I have a dog")
    [dog] = await service.list_memories(app_name=APP, user_id=USER)
    loaded, config = engine.live.current, engine.config
    off = config.model_copy(update={"memory": config.memory.model_copy(update={"enabled": False})})
    engine.live._current = replace(loaded, config=off)
    await service.add_session_to_memory(session(event("I have a cat")))
    await service.add_events_to_memory(app_name=APP, user_id=USER, events=[event("I have a cat")])
    with pytest.raises(MemoryDisabledError):
        await add(service, "I have a cat")
    while_off = (await found(service, "dog"), await listed(service))
    await service.delete_memory(app_name=APP, user_id=USER, memory_id=dog.id)
    engine.live._current = loaded

    assert while_off == ([], [])
    assert extractor.chunks == []
    assert await listed(service) == []


def test_input_errors_are_value_errors():
    """Callers that know ADK's own services can catch the usual exception."""
    assert issubclass(InvalidInputError, ValueError)
