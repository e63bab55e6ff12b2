"""What is true now, seen from outside: repeated statements, history and validity."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import FactEnd, Scope
from support.harness import Sut
from support.storage.plain_mem0 import list_rows

Make = Callable[..., Awaitable[Sut]]

OpenSut = Callable[..., Awaitable[Sut]]


OSLO, BERLIN = "Lives in Oslo", "Lives in Berlin"


@pytest.mark.acceptance("T01")
async def test_what_was_said_again_is_the_newest_word_on_it(opened: OpenSut) -> None:
    """Oslo, Berlin, Oslo on three days: the profile's question ends with Oslo, and Oslo is the first hit."""
    sut = await opened(main=["ok"], profiler=["- Lives in Oslo"])
    scope = sut.scope("ada")
    first_day = sut.clock.now()
    for text in (OSLO, BERLIN, OSLO):
        await sut.gaia.memory.remember(scope, text)
        sut.clock.advance(timedelta(days=1))

    await sut.chat("ada", "cli", "hi")
    hits = await sut.gaia.memory.recall(scope, "Where does Ada live?")
    oslo = next(fact for fact in await sut.gaia.memory.facts(scope) if fact.text == OSLO)
    await sut.gaia.memory.settled()
    copies = await asyncio.to_thread(list_rows, sut.gaia.mem0_config(), scope)
    [copy] = [row for row in copies if row["memory"] == OSLO]

    assert sut.PROF[-1].index(BERLIN) < sut.PROF[-1].index(OSLO)
    assert hits[0].fact.text == OSLO
    assert (oslo.first_said_at, oslo.said_at) == (first_day, first_day + timedelta(days=2))
    assert len(await sut.gaia.memory.sources(scope, oslo.id)) == 2
    assert copy["metadata"]["said_at"] == oslo.said_at.isoformat()


async def replace_text(sut: Sut, fact_id: str, *texts: str) -> None:
    """Give a fact these wordings, a day apart."""
    for text in texts:
        sut.clock.advance(timedelta(days=1))
        await sut.gaia.memory.update(sut.scope("ada"), fact_id, text=text)


@pytest.mark.acceptance("T13")
async def test_a_value_that_comes_back_has_three_periods_and_one_current_row(opened: OpenSut) -> None:
    """Each period has its days, whichever id is asked for."""
    sut = await opened()
    memory, scope, first_day = sut.gaia.memory, sut.scope("ada"), sut.clock.now()
    fact = await memory.remember(scope, OSLO)
    await replace_text(sut, fact.id, BERLIN, OSLO)

    history = await memory.history(scope, fact.id)
    days = [(past.said_at - first_day).days for past in history if past.said_at]
    assert [past.text for past in history] == [OSLO, BERLIN, OSLO]
    assert (days, history[-1].ended_at, history[-1].id) == ([0, 1, 2], None, fact.id)
    assert [past.ended_at for past in history[:2]] == [past.said_at for past in history[1:]]
    assert await sut.texts("ada") == [OSLO]
    assert await memory.history(scope, history[0].id) == history
    assert await memory.history(sut.scope("eve"), fact.id) == []


@pytest.mark.acceptance("T17")
async def test_forgetting_a_fact_erases_its_earlier_wordings_from_every_file(make: Make) -> None:
    """Only its own wording stays forgotten: the others may be said again."""
    words = ("Qaxxolem", "Wizzarbu", "Vonnekip")
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    fact = await memory.remember(scope, f"Lives in {words[0]}")
    await replace_text(sut, fact.id, f"Lives in {words[1]}", f"Lives in {words[2]}")

    receipt = await memory.forget(scope, fact_id=fact.id)
    await memory.settled()

    assert (receipt.count, receipt.removed["history"]) == (1, 2)
    assert await memory.history(scope, fact.id) == []
    for word in words:
        assert not await asyncio.to_thread(files_containing, sut.home, word)
    await memory.import_(
        scope, {"format": "gaia-memory", "version": 2, "facts": [{"text": f"Lives in {word}"} for word in words]}
    )
    assert await sut.texts("ada") == [f"Lives in {word}" for word in words[:2]]


def files_containing(folder: Path, word: str) -> list[str]:
    """Return the files below a folder that contain a word."""
    return [
        file.name
        for file in folder.rglob("*")
        if file.is_file() and word.lower() in file.read_bytes().decode("latin-1").lower()
    ]


@pytest.mark.acceptance("T20")
async def test_undoing_an_ending_brings_back_the_state_before_it(opened: OpenSut) -> None:
    """Replaced, merged, retracted and expired."""
    sut = await opened()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    oslo = await memory.remember(scope, OSLO, metadata={"mood": "good"})
    tea = await memory.remember(scope, "Likes tea", valid_until=sut.clock.now() + timedelta(days=30))
    before = await memory.facts(scope)

    await replace_text(sut, oslo.id, BERLIN)
    assert await memory.restore(scope, oslo.id) == oslo
    assert await memory.facts(scope) == before

    await replace_text(sut, oslo.id, "Likes tea")
    assert await sut.texts("ada") == ["Likes tea"]
    await memory.restore(scope, oslo.id)
    assert {fact.id for fact in await memory.facts(scope)} == {oslo.id, tea.id}
    assert oslo in await memory.facts(scope)

    for why in ("retracted", "replaced"):
        by = (await memory.remember(scope, BERLIN)).id if why == "replaced" else None
        ending = FactEnd(fact_id=oslo.id, ended_at=sut.clock.now(), why=why, actor="model", ended_by=by)
        async with memory.stores.database.transaction() as tx:
            assert await memory.stores.facts.history.end_facts(tx, scope, [ending], now=sut.clock.now()) == []
        assert OSLO not in await sut.texts("ada")
        assert await memory.restore(scope, oslo.id) == oslo
        assert sorted(await sut.texts("ada")) == ["Likes tea", OSLO]

    with pytest.raises(InvalidInputError, match="no ending can be undone"):
        await memory.restore(sut.scope("eve"), oslo.id)
    with pytest.raises(InvalidInputError, match="nothing to change"):
        await memory.update(scope, oslo.id)
    with pytest.raises(InvalidInputError, match="current fact of this user"):
        await memory.update(sut.scope("eve"), oslo.id, text=BERLIN)


@pytest.mark.acceptance("T19")
async def test_an_import_restores_the_whole_line_and_twice_changes_nothing(opened: OpenSut, make: Make) -> None:
    """Periods, reasons, wordings and undone endings; a merge keeps them too."""
    sut = await opened()
    memory, ada = sut.gaia.memory, sut.scope("ada")
    home = await memory.remember(ada, OSLO, metadata={"mood": "good"})
    await replace_text(sut, home.id, BERLIN, "Lives in Rome")
    await memory.restore(ada, home.id)
    await memory.remember(ada, "I eat meat", key="user/diet")
    sut.clock.advance(timedelta(days=1))
    meat = await memory.remember(ada, "I no longer eat meat", key="user/diet")
    expected = [await line_of(memory, ada, fact_id) for fact_id in (home.id, meat.id)]
    data = json.loads(json.dumps(await memory.export(ada)))
    assert (len(data["history"]), len(data["endings"])) == (3, 4)

    eve = sut.scope("eve")
    for _ in range(2):
        assert await memory.import_(eve, data) == 2
        ids = {fact.text: fact.id for fact in await memory.facts(eve)}
        assert set(ids) == {BERLIN, "I no longer eat meat"}
        assert [await line_of(memory, eve, ids[text]) for text in ids] == expected
    again = json.loads(json.dumps(await memory.export(eve)))
    assert (len(again["history"]), len(again["endings"])) == (3, 4)
    assert (await memory.restore(eve, ids[BERLIN])).text in (OSLO, "Lives in Rome")

    merged = sut.scope("max")
    await memory.remember(merged, "Likes tea")
    await memory.merge(ada, merged)
    assert [await line_of(memory, merged, fact_id) for fact_id in (home.id, meat.id)] == expected
    assert await memory.history(ada, home.id) == []


async def line_of(memory: Any, scope: Scope, fact_id: str) -> list[tuple[object, ...]]:
    """Return the history of a fact without ids."""
    return [
        (past.text, past.first_said_at, past.said_at, past.ended_at, past.why, past.actor)
        for past in await memory.history(scope, fact_id)
    ]


@pytest.mark.acceptance("T20")
async def test_restoring_a_value_from_the_middle_of_a_line_ends_the_current_one_and_can_be_undone(
    opened: OpenSut,
) -> None:
    """Oslo, Berlin, Rome: with Oslo, Rome goes, not only Berlin; undone, Rome is back and Berlin stays history."""
    sut = await opened()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    for text in ("I live in Oslo", "I moved to Berlin", "I moved to Rome"):
        await memory.remember(scope, text, key="user/home")
        sut.clock.advance(timedelta(days=1))
    oslo = next(past for past in await memory.past_facts(scope) if past.text == "I live in Oslo")

    await memory.restore(scope, oslo.id)
    assert await sut.texts("ada") == ["I live in Oslo"]
    sut.clock.advance(timedelta(days=1))
    await memory.restore(scope, oslo.id)
    assert await sut.texts("ada") == ["I moved to Rome"]
    assert [past.text for past in await memory.past_facts(scope)] == ["I live in Oslo", "I moved to Berlin"]


async def test_forgetting_an_old_value_keeps_the_one_that_is_current_again(opened: OpenSut) -> None:
    """Oslo, Berlin, Oslo: Berlin is forgotten."""
    sut = await opened()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    for text in ("I live in Oslo", "I live in Berlin", "I live in Oslo"):
        await memory.remember(scope, text, key="user/home")
        sut.clock.advance(timedelta(days=1))
    [berlin] = await memory.past_facts(scope)
    receipt = await memory.forget(scope, fact_id=berlin.id)

    assert (receipt.count, receipt.removed["history"]) == (0, 1)
    [oslo] = await memory.facts(scope)
    assert [(past.text, past.ended_by) for past in await memory.history(scope, oslo.id)] == [
        ("I live in Oslo", None),
        ("I live in Oslo", None),
    ]
