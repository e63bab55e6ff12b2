"""Likely pairs of current facts, which sweeps compare once a day."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from gaia_memory import NewFact
from support.harness import Sut

Make = Callable[..., Awaitable[Sut]]

DISHES = [f"{first}{vowel}{last}" for first in ("zub", "vok", "gim") for vowel in "aeiou" for last in ("rt", "nx")]
PAIRS = [(f"User loves {dish} with {dish[::-1]}", f"User hates {dish} with {dish[::-1]}") for dish in DISHES]


def questions(sut: Sut) -> list[str]:
    """Return the reconciling questions."""
    return sut.script.prompts["reconciler"]


def is_about_one_dish(question: str) -> bool:
    """Return whether a question is about two facts of one dish."""
    return any(question.count(f" {dish} ") == 2 for dish in DISHES)


async def sweep_next_day(sut: Sut) -> int:
    """Sweep a day later and return how many questions there were in all."""
    sut.clock.advance(timedelta(days=1))
    await sut.sweep()
    return len(questions(sut))


@pytest.mark.acceptance("T16")
async def test_of_thirty_pairs_twenty_are_asked_about_and_the_rest_next_time(make: Make) -> None:
    """None twice while both are unchanged; a pair with a reworded fact is asked about again."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    added = await memory.add(scope, [NewFact(text) for pair in PAIRS for text in pair])
    await sut.sweep()
    await sut.sweep()

    assert len(questions(sut)) == 20
    assert sum(map(is_about_one_dish, questions(sut))) == 20
    await sweep_next_day(sut)
    assert sum(map(is_about_one_dish, questions(sut))) == 30
    # One in a hundred pairs counts as similar, whatever it says.
    for _ in range(9):
        before = len(questions(sut))
        if await sweep_next_day(sut) == before:
            break
    assert len(set(questions(sut))) == before
    await memory.update(scope, added[0].id, text=PAIRS[0][0].replace("loves", "adores"))
    await sweep_next_day(sut)
    assert [each for each in questions(sut)[before:] if is_about_one_dish(each)]
    assert all("adores" in each for each in questions(sut)[before:])


async def test_the_later_of_two_facts_replaces_the_earlier_one(make: Make) -> None:
    """Whichever changed last."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    [loves, hates] = PAIRS[0]
    await memory.add(scope, [NewFact(hates, said_at=sut.clock.now()), NewFact(loves, said_at=sut.clock.now())])
    sut.script.answers["reconciler"].append(
        json.dumps({"decisions": [{"fact": 1, "action": "UPDATE", "existing": [1]}]})
    )
    await sut.sweep()

    assert await sut.texts("ada") == [loves]
    assert (await memory.status(scope)).replaced == 1


async def test_without_a_change_no_pair_is_looked_for_and_without_a_model_none_is_asked_about(make: Make) -> None:
    """A model that is away leaves the pairs to the queue."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    sut.script.answers["reconciler"].append(ConnectionError("away"))
    await memory.add(scope, [NewFact(text) for text in PAIRS[0]])
    await sut.sweep()
    assert (len(questions(sut)), (await memory.status(scope)).queued) == (1, 1)

    assert await sweep_next_day(sut) == 2
    assert await sweep_next_day(sut) == 2
    assert (await memory.status(scope)).judged == 1
