"""Sensitive facts, seen from outside: only the person is shown them, and only when they ask."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from google.adk.memory.base_memory_service import SearchMemoryResponse

from gaia_memory import NewFact
from gaia_memory.models import FactDetails
from gaia_memory.testing import call
from support.harness import ALL, Sut, facts, tool_responses
from support.storage.plain_mem0 import list_rows

Make = Callable[..., Awaitable[Sut]]

SECRET, PLAIN = "Takes Truvada against HIV", "Takes the tram against traffic jams"


def texts_of(found: SearchMemoryResponse) -> list[str]:
    return [part.text or "" for entry in found.memories for part in entry.content.parts or []]


@pytest.mark.acceptance("W05")
@pytest.mark.parametrize("noted", [{"sensitive": True}, {"metadata": {"sensitive": True}}], ids=["field", "metadata"])
async def test_a_sensitive_fact_is_shown_to_the_person_alone(make: Make, noted: dict[str, object]) -> None:
    """No profile, recall, tool, search or question about other facts has it; `/memory` and who asks for it have."""
    sut = await make(
        "memory: {preload_facts: true}",
        main=["hello", call("load_memory", query="What does Ada take?"), "the tram"],
        profiler=["- takes the tram"] * 3,
        extractor=[facts("Ada takes the bus against traffic jams")],
    )
    scope, memory = sut.scope("ada"), sut.gaia.memory
    tomorrow = sut.clock.now() + timedelta(days=1)
    await memory.remember(scope, SECRET, due_at=tomorrow, **noted)
    await memory.remember(scope, PLAIN, due_at=tomorrow)

    await sut.chat("ada", "cli", "hi")
    await sut.chat("ada", "cli", "what do I take?")
    [recalled] = tool_responses(sut.REQ[-1])
    searched = await sut.gaia.memory_service.search_memory(app_name="gaia", user_id="ada", query="What does Ada take?")
    await sut.sweep_after_idle()
    questions = [*sut.PROF, *sut.EXT, *map(ALL, sut.REQ), json.dumps(recalled)]
    everything = await memory.recall(scope, "What does Ada take?", include_sensitive=True)
    [listed] = await sut.chat("ada", "cli", "/memory Truvada")

    assert f"] {PLAIN} (" in ALL(sut.REQ[-1]), "the notes of the turn"
    assert PLAIN in json.dumps(recalled)
    assert PLAIN in texts_of(searched)
    assert SECRET not in texts_of(searched)
    assert not [question for question in questions if "Truvada" in question]
    assert SECRET not in [hit.fact.text for hit in await memory.recall(scope, SECRET)]
    assert SECRET in [hit.fact.text for hit in everything]
    assert f"{SECRET} (sensitive" in listed


@pytest.mark.acceptance("W05")
async def test_a_sensitive_fact_is_in_no_question_about_other_facts(make: Make) -> None:
    """Reconciling asks the model about the plain fact alone, and not at all for a sensitive new one."""
    sut = await make("memory: {reconcile: model}", main=["ok"], extractor=[facts("Takes the bus against traffic jams")])
    scope, memory = sut.scope("ada"), sut.gaia.memory
    await memory.add(scope, [NewFact(SECRET, sensitive=True), NewFact(PLAIN)])

    await sut.chat("ada", "cli", "I take the bus against traffic jams")
    await sut.sweep_after_idle()
    asked = sut.script.prompts["reconciler"]

    assert [PLAIN in question for question in asked] == [True]
    assert not [question for question in asked if "Truvada" in question]


async def test_the_tool_finds_a_sensitive_fact_that_the_person_names(make: Make) -> None:
    """The words of this turn decide, not those of the model."""
    asks = call("load_memory", query="Truvada HIV")
    sut = await make(main=[asks, "I do not know", asks, "for your HIV"])
    await sut.gaia.memory.remember(sut.scope("ada"), SECRET, sensitive=True)

    await sut.chat("ada", "cli", "tell me about myself")
    await sut.chat("ada", "cli", "why do I take Truvada?")
    unasked, asked = tool_responses(sut.REQ[1])[-1], tool_responses(sut.REQ[3])[-1]

    assert unasked["memories"] == []
    assert [memory["text"] for memory in asked["memories"]] == [SECRET]


@pytest.mark.acceptance("W06")
@pytest.mark.parametrize("again", [False, True], ids=["updated", "said_again"])
async def test_a_fact_that_becomes_sensitive_is_gone_from_the_very_next_request(make: Make, again: bool) -> None:
    """The frozen profile goes within the turn; the next one is made without it."""
    sut = await make(profiler=["- takes Truvada", "- takes the tram"])
    scope, memory = sut.scope("ada"), sut.gaia.memory
    fact = await memory.remember(scope, SECRET)
    await memory.remember(scope, PLAIN)

    async def marks(_: object) -> object:
        if again:
            await memory.remember(scope, SECRET, sensitive=True)
        else:
            await memory.update(scope, fact.id, metadata={"sensitive": True})
        return call("load_memory", query="tram")

    sut.main.add("ok", marks, "ok", "ok")
    for text in ("hi", "keep that to yourself", "hi"):
        await sut.chat("ada", "cli", text)
    await memory.settled()
    [copy] = [row for row in list_rows(sut.gaia.mem0_config(), scope) if "HIV" in str(row)]

    assert ["Truvada" in ALL(request) for request in sut.REQ] == [True, True, False, False]
    assert "takes the tram" in ALL(sut.REQ[-1])
    assert "Truvada" not in sut.PROF[-1]
    assert copy["metadata"]["sensitive"] is True
    assert (await memory.update(scope, fact.id, metadata={"sensitive": None})).sensitive is False


async def test_merging_people_keeps_the_stricter_word(make: Make) -> None:
    """A fact that is sensitive under one id is so under both."""
    sut = await make()
    memory = sut.gaia.memory
    await memory.remember(sut.scope("ada"), SECRET, sensitive=True)
    await memory.remember(sut.scope("ada-work"), SECRET)
    await memory.remember(sut.scope("bob"), PLAIN)
    await memory.merge(sut.scope("ada"), sut.scope("ada-work"))

    assert await memory.recall(sut.scope("ada-work"), SECRET) == []
    [fact] = await memory.facts(sut.scope("ada-work"))
    assert fact.sensitive
    assert [fact.sensitive for fact in await memory.facts(sut.scope("bob"))] == [False]


@pytest.mark.parametrize("is_on", [True, False])
async def test_learning_marks_delicate_topics_if_that_is_switched_on(make: Make, is_on: bool) -> None:
    """By the model's answer, and by the category it gives."""
    answer = {
        "memory": [
            {"id": "0", "text": "Ada prays every day", "sensitive": True},
            {"id": "1", "text": "Ada has asthma", "category": "health"},
            {"id": "2", "text": "Ada likes chess", "category": "hobby"},
        ]
    }
    settings = f"memory: {{mark_sensitive: {str(is_on).lower()}}}"
    sut = await make(settings, main=["ok"], extractor=[json.dumps(answer)])
    await sut.chat("ada", "cli", "I pray every day, I have asthma and I like chess")
    await sut.sweep_after_idle()

    marked = {fact.text for fact in await sut.gaia.memory.facts(sut.scope("ada")) if fact.sensitive}
    assert marked == ({"Ada prays every day", "Ada has asthma"} if is_on else set())
    assert ('"sensitive": true only for' in sut.EXT[0]) == is_on


async def test_sensitive_facts_can_be_kept_from_the_embedder(make: Make) -> None:
    """They are found by their words, and neither the follower nor a reindex embeds them later."""
    sut = await make("memory: {embed_sensitive: false}")
    scope, memory = sut.scope("ada"), sut.gaia.memory
    await memory.remember(scope, SECRET, sensitive=True)
    await memory.remember(scope, PLAIN)
    await memory.settled()
    [hit] = await memory.recall(scope, "Truvada", include_sensitive=True, limit=1)
    [copy] = list_rows(sut.gaia.mem0_config(), scope)

    assert hit.fact.text == SECRET
    assert copy["memory"] == PLAIN
    assert not [text for text in sut.script.embedded if "Truvada against" in text]


async def test_a_sensitive_fact_said_again_without_the_mark_is_kept_from_the_embedder(make: Make) -> None:
    """By a person, code, an import, a correction or a conversation; neither is what replaces it embedded."""
    home: FactDetails = {"key": "user/home"}
    learned = json.dumps({"memory": [{"text": f"{SECRET}."}, {"text": "I live in Rome", **home}]})
    sut = await make("memory: {embed_sensitive: false}", main=["ok"], extractor=[learned])
    scope, memory, other = sut.scope("ada"), sut.gaia.memory, sut.scope("bob")
    await memory.remember(scope, SECRET, sensitive=True)
    await memory.remember(scope, "I live in Oslo", sensitive=True, **home)
    await memory.remember(other, "Takes Truvada", sensitive=True)
    exported = await memory.export(other)
    exported["facts"][0] |= {"text": SECRET, "sensitive": False}

    await memory.remember(scope, SECRET.upper())
    await memory.add(scope, [NewFact(SECRET), NewFact(PLAIN)])
    await memory.add(scope, [NewFact("Has asthma"), NewFact("Has asthma.", sensitive=True)])
    await memory.remember(scope, "I live in Berlin", **home)
    await memory.import_(scope, exported)
    [plain] = [fact for fact in await memory.facts(scope) if fact.text == PLAIN]
    await memory.update(scope, plain.id, text=f"{SECRET}.")
    await sut.chat("ada", "cli", f"I live in Rome. {SECRET}.")
    await sut.sweep_after_idle()
    await memory.settled()

    assert {fact.text: fact.sensitive for fact in await memory.facts(scope)} == {
        SECRET: True, "Has asthma": True, "I live in Rome": True,
    }  # fmt: skip
    assert set(sut.script.embedded) <= {PLAIN}


async def test_a_fact_that_is_sensitive_no_longer_is_embedded(make: Make) -> None:
    """The person's own word counts, also against the mark of the same text."""
    sut = await make("memory: {embed_sensitive: false}")
    scope, memory = sut.scope("ada"), sut.gaia.memory
    fact = await memory.remember(scope, SECRET, sensitive=True)
    updated = await memory.update(scope, fact.id, text=SECRET, sensitive=False)
    await memory.settled()

    assert not updated.sensitive
    assert SECRET in sut.script.embedded
