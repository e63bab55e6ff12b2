"""Forgotten text is in no file of the home, byte for byte, among many other facts that stay unchanged."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_memory import NewFact, open_memory
from gaia_memory.testing import FakeClock
from support.storage.plain_mem0 import mem0_facts
from support.storage.residual_data import SearchTerms, find_residual_data

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia

SETTINGS = {"memory": {"llm": {"provider": "offline"}, "embedder": {"provider": "offline"}}}
PEOPLE = ("ben", "cleo", "dora", "*", "ann:x")
QUESTIONS = ("Which boat is it?", "trip 17", "Who likes tea?")
SAMPLE = 8

State = dict[str, tuple[list[tuple[str, str]], list[list[tuple[str, str, float]]]]]


def word(number: int) -> str:
    """Return a made-up word; every other one is not ASCII."""
    letters = "".join("bcdfghklmnprstvz"[(number * 7919 + place * 104729 >> place) % 16] for place in range(12))
    return f"qu{number:04d}{letters}" + ("öß" if number % 2 else "")


async def fill(gaia: Gaia, others: int) -> dict[str, list[str]]:
    """Write all facts, those to forget among those that stay; return the former by the way they will be forgotten."""
    memory, doomed = gaia.memory, {"all": [], "one": [], "talk": []}
    batches = 10
    for batch in range(batches):
        numbers = range(batch * others // batches, (batch + 1) * others // batches)
        for place, person in enumerate(PEOPLE):
            stay = [
                NewFact(f"{person} took trip {n} by boat and likes tea") for n in numbers if n % len(PEOPLE) == place
            ]
            await memory.add(gaia.scope(person), stay)
        for place, (user, kind) in enumerate((("ann", "all"), ("ada", "one"), ("ida", "talk"))):
            texts = [f"Likes {word(60 * batch + 6 * n + 2 * place + n % 2)} tea on trip {n}" for n in range(10)]
            doomed[kind] += texts
            labels = [dict.fromkeys(("category", "entity", "context", "agent"), text) for text in texts]
            facts = [
                NewFact(text, session_id="gone", metadata={"note": text}, **label)
                for text, label in zip(texts, labels, strict=True)
            ]
            await memory.add(gaia.scope(user), facts)
        await memory.settled()
    await memory.add(gaia.scope("ada"), [NewFact("Ada likes tea")])
    await memory.add(gaia.scope("ida"), [NewFact("Ida likes tea", session_id="kept")])
    return doomed


async def state(gaia: Gaia) -> State:
    """Return other users' data: ids and texts, and search results with scores."""
    found: State = {}
    for person in PEOPLE:
        scope = gaia.scope(person)
        facts = [(fact.id, fact.text) for fact in await gaia.memory.facts(scope)]
        hits = [await gaia.memory.recall(scope, question) for question in QUESTIONS]
        found[person] = (facts, [[(hit.fact.id, hit.fact.text, hit.score) for hit in each] for each in hits])
    return found


async def sought(gaia: Gaia, user: str, texts: Sequence[str]) -> SearchTerms:
    """Return the search terms that no file may contain: the words of some texts, and their vectors.

    As they are stored: the last bits of a vector differ with the texts that are embedded beside it.
    """
    sample = texts[:: max(1, len(texts) // SAMPLE)]
    ids = {fact.text: fact.id for fact in await gaia.memory.facts(gaia.scope(user))}
    async with gaia.memory.stores.database.read_transaction() as tx:
        stored = await gaia.memory.stores.outbox.load_facts(tx, [ids[text] for text in sample])
    vectors = [each.vector for each in stored.values() if each.vector is not None]
    assert len(vectors) == len(sample)
    return SearchTerms([text.split()[1] for text in sample], vectors)


async def forget_all_ways(gaia: Gaia) -> None:
    """Forget a whole user, single facts, and a conversation."""
    memory = gaia.memory
    assert (await memory.forget(gaia.scope("ann"))).count == 100
    for fact in await memory.facts(gaia.scope("ada")):
        if fact.text != "Ada likes tea":
            assert (await memory.forget(gaia.scope("ada"), fact_id=fact.id)).count == 1
    assert (await memory.forget(gaia.scope("ida"), session_id="gone")).count == 100


async def check(gaia: Gaia, home: Path, gone: SearchTerms, before: State) -> None:
    """Check that nothing forgotten is in a file or shown, and that other users have what they had."""
    await gaia.memory.settled()
    assert await find_residual_data(home, gone) == []
    assert await state(gaia) == before
    for person in PEOPLE:
        assert await mem0_facts(gaia, person) == dict(before[person][0])
    for person, texts in (("ann", []), ("ada", ["Ada likes tea"]), ("ida", ["Ida likes tea"])):
        assert list((await mem0_facts(gaia, person)).values()) == texts
        assert [fact.text for fact in await gaia.memory.facts(gaia.scope(person))] == texts


@pytest.mark.acceptance("C11")
@pytest.mark.parametrize("others", [40, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
async def test_neither_text_nor_vector_is_left_after_any_kind_of_forget(tmp_path: Path, others: int) -> None:
    """Users, facts and conversations leave every page; restart, sweep and rebuild bring nothing back."""
    home = tmp_path / "home"
    # Scores fade with time: everything happens in one moment.
    clock = FakeClock()
    async with open_memory(SETTINGS, home=home, clock=clock) as gaia:
        doomed = await fill(gaia, others)
        every = [
            await sought(gaia, user, texts) for user, texts in zip(("ann", "ada", "ida"), doomed.values(), strict=True)
        ]
        gone = SearchTerms([word for each in every for word in each.words], [v for each in every for v in each.vectors])
        before = await state(gaia)
        held = await find_residual_data(home, gone)
        await forget_all_ways(gaia)
        await check(gaia, home, gone, before)

    assert {line.rpartition(": ")[2] for line in held} == set(gone.byte_patterns().values())
    assert {"memory.db", "chroma.sqlite3"} <= {Path(line.split(":")[0].split()[0]).name for line in held}
    assert await find_residual_data(home, gone) == []

    async with open_memory(SETTINGS, home=home, clock=clock) as gaia:
        await gaia.sweep(force=True)
        await check(gaia, home, gone, before)
        folder = home / "store" / (await gaia.memory.status(gaia.scope("ben"))).store
    await asyncio.to_thread(shutil.rmtree, folder)
    async with open_memory(SETTINGS, home=home, clock=clock) as gaia:
        await check(gaia, home, gone, before)
    assert await find_residual_data(home, gone) == []
