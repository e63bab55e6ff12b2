"""Every key that ADK's service for Vertex AI Memory Bank knows has its effect or is answered by one warning."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.memory import vertex_ai_memory_bank_service as vertex
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

from gaia_memory.adk.memory_bank import IGNORED_KEYS, SWITCHES, Method
from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.config.sources.load import load
from gaia_memory.engine import Engine
from gaia_memory.models import Fact
from gaia_memory.testing import FakeClock, ScriptedExtractor, ScriptedLanguageModel
from support.hosts.memory_service import service_over

pytestmark = pytest.mark.heavy

APP, USER = "app", "itay"
NOW = datetime(2026, 3, 16, 9, tzinfo=UTC)
METHODS: list[Method] = ["add_memory", "add_events_to_memory"]
KNOWN_BY_VERTEX = (
    vertex._GENERATE_MEMORIES_CONFIG_FALLBACK_KEYS
    | vertex._CREATE_MEMORY_CONFIG_FALLBACK_KEYS
    | vertex._INGEST_EVENTS_CONFIG_FALLBACK_KEYS
    | {vertex._ENABLE_CONSOLIDATION_KEY}
)
IGNORED_VALUES: dict[str, Any] = {
    "revision_ttl": "60s",
    "revision_expire_time": "2026-04-01T00:00:00Z",
    "revision_labels": {"origin": "crm"},
    "memory_id": "m-1",
    "http_options": {"timeout": 5},
    "metadata_merge_strategy": "MERGE",
    "stream_id": "s-1",
    "generation_trigger_config": {"generation_rule": {"idle_duration": "60s"}},
    "allowed_topics": ["health"],
}
"""What does nothing in either method, each with a value that Memory Bank takes."""


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    """Yield an engine whose extractor returns what the person says."""
    loaded = await asyncio.to_thread(load, {"app": APP}, home=tmp_path / "gaia")
    opened = await Engine.open(loaded, clock=FakeClock(NOW))
    opened.consolidator.learner._extractor = ScriptedExtractor(default=["I have a guest"])
    yield opened
    await opened.close()


@pytest.fixture
def service(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Mem0MemoryService:
    """Return a service over this engine."""
    return service_over(engine, monkeypatch)


async def store(service: Mem0MemoryService, method: Method, custom_metadata: dict[str, Any]) -> None:
    content = types.Content(role="user", parts=[types.Part(text="I have a guest")])
    if method == "add_memory":
        entry = MemoryEntry(content=content)
        await service.add_memory(app_name=APP, user_id=USER, memories=[entry], custom_metadata=custom_metadata)
    else:
        event = Event(author="user", invocation_id="i", content=content, timestamp=NOW.timestamp())
        await service.add_events_to_memory(
            app_name=APP, user_id=USER, events=[event], session_id="s", custom_metadata=custom_metadata
        )


async def stored(engine: Engine) -> list[Fact]:
    return await engine.memory.facts(engine.scope(APP, USER))


@pytest.mark.acceptance("W23")
@pytest.mark.parametrize("method", METHODS)
def test_each_key_that_the_installed_service_knows_is_in_the_table(method: Method) -> None:
    """A later ADK with another key fails here."""
    effective = {"ttl", "expire_time", "metadata", "display_name", "description", "topics"}
    assert SWITCHES[method].keys() | IGNORED_KEYS[method] | effective == KNOWN_BY_VERTEX


@pytest.mark.acceptance("W23")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("given", "end", "metadata"),
    [
        ({"ttl": "3600s"}, NOW + timedelta(hours=1), {}),
        ({"expire_time": "2026-04-01T00:00:00Z"}, datetime(2026, 4, 1, tzinfo=UTC), {}),
        ({"expire_time": datetime(2026, 4, 1, tzinfo=UTC)}, datetime(2026, 4, 1, tzinfo=UTC), {}),
        ({"metadata": {"ward": 3, "by": {"string_value": "vet"}}}, None, {"ward": 3, "by": "vet"}),
        ({"metadata": {"at": datetime(2026, 4, 1, tzinfo=UTC)}}, None, {"at": "2026-04-01T00:00:00+00:00"}),
        (
            {"display_name": "guest", "description": "a visit"},
            None,
            {"display_name": "guest", "description": "a visit"},
        ),
        ({"wait_for_completion": False, "force_flush": True, "disable_memory_revisions": False}, None, {}),
        ({"mood": "good", "revision_labels": None}, None, {"mood": "good"}),
    ],
    ids=str,
)
async def test_a_key_has_its_effect(
    engine: Engine, service: Mem0MemoryService, method: Method, given: dict[str, Any], end: Any, metadata: Any
) -> None:
    """On what is stored at once and on what is learned."""
    await store(service, method, given)

    [fact] = await stored(engine)
    assert fact.valid_until == end
    assert metadata.items() <= fact.metadata.items()
    assert not given.keys() & fact.metadata.keys() - {"display_name", "description", "mood"}


@pytest.mark.acceptance("W23")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", IGNORED_VALUES)
async def test_a_key_without_a_meaning_gets_one_warning(
    engine: Engine, service: Mem0MemoryService, method: Method, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It names the key; the facts are stored without it, and the next call says nothing more."""
    await store(service, method, {name: IGNORED_VALUES[name]})
    [fact] = await stored(engine)
    await store(service, method, {name: IGNORED_VALUES[name]})
    warnings = [message for message in caplog.messages if "custom_metadata" in message]

    assert name not in fact.metadata
    assert len(warnings) == 1
    assert re.search(rf"{name}.*does nothing here: \S+", warnings[0])


@pytest.mark.acceptance("W23")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "given",
    [
        {"wait_for_completion": "yes"},
        {"ttl": "1 hour"},
        {"expire_time": "2026-04-01"},
        {"metadata": "ward 3"},
        {"nested": {"a": 1}},
    ],
    ids=str,
)
async def test_a_malformed_value_is_refused_by_name(
    engine: Engine, service: Mem0MemoryService, method: Method, given: dict[str, Any]
) -> None:
    """The message names key and fix, and nothing is stored or learned."""
    [name] = given
    with pytest.raises(ValueError, match=f"metadata.*{name}.*: [a-z]"):
        await store(service, method, given)
    assert await stored(engine) == []


@pytest.mark.acceptance("W23")
@pytest.mark.parametrize(
    ("method", "accepted", "ignored"),
    [
        ("add_memory", {"disable_consolidation": True}, {"disable_consolidation": False}),
        ("add_events_to_memory", {"disable_consolidation": False}, {"disable_consolidation": True}),
        ("add_events_to_memory", {"enable_consolidation": True}, {"enable_consolidation": False}),
    ],
)
async def test_a_choice_that_is_not_possible_gets_a_warning(
    service: Mem0MemoryService,
    method: Method,
    accepted: dict[str, Any],
    ignored: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The one that is made anyway gets none."""
    await store(service, method, accepted)
    silent = caplog.text
    await store(service, method, ignored)

    assert "does nothing here" not in silent
    assert "does nothing here" in caplog.text


@pytest.mark.acceptance("W23")
@pytest.mark.parametrize("wrong", [[], [{}], ["health", "work"]])
async def test_one_topic_is_the_category_of_an_added_fact(
    engine: Engine, service: Mem0MemoryService, wrong: list[Any]
) -> None:
    """A fact has no second one."""
    with pytest.raises(ValueError, match="topics"):
        await store(service, "add_memory", {"topics": wrong})
    await store(service, "add_memory", {"topics": [{"custom_memory_topic_label": "health"}]})

    [fact] = await stored(engine)
    assert fact.category == "health"


@pytest.mark.acceptance("W23")
@pytest.mark.parametrize(
    ("given", "compared"),
    [
        ({}, False),
        ({"enable_consolidation": False}, False),
        ({"enable_consolidation": True}, True),
        ({"enable_consolidation": True, "disable_consolidation": True}, False),
    ],
    ids=str,
)
async def test_consolidation_asks_the_model_what_is_over(
    engine: Engine,
    service: Mem0MemoryService,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, Any],
    compared: bool,
) -> None:
    """By the next sweep, where the call asks for it; an entry cannot ask for itself."""
    models = SimpleNamespace(embedder=engine.backend.embedder, language_model=ScriptedLanguageModel())
    monkeypatch.setattr(engine.memory.reconciler._model, "_models", models)
    content = types.Content(parts=[types.Part(text="I live in Berlin")])
    asking = MemoryEntry(content=content, custom_metadata={"enable_consolidation": True})
    with pytest.raises(ValueError, match=r"enable_consolidation.* of an entry is True: pass it in"):
        await service.add_memory(app_name=APP, user_id=USER, memories=[asking], custom_metadata={"mood": "good"})
    await service.add_memory(app_name=APP, user_id=USER, memories=[MemoryEntry(content=content)], custom_metadata=given)

    assert [fact.text for fact in await stored(engine)] == ["I live in Berlin"]
    assert (await engine.memory.status(engine.scope(APP, USER))).queued == compared


async def test_an_entrys_keys_override_those_of_the_call(engine: Engine, service: Mem0MemoryService) -> None:
    """Each entry has its own end."""
    content = types.Content(parts=[types.Part(text="I have a guest")])
    entry = MemoryEntry(content=content, custom_metadata={"ttl": "60s"})
    await service.add_memory(app_name=APP, user_id=USER, memories=[entry], custom_metadata={"ttl": "3600s"})

    assert [fact.valid_until for fact in await stored(engine)] == [NOW + timedelta(seconds=60)]
