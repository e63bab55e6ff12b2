"""What is compared later: facts that the model could not decide about, and those kept in a turn."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from gaia_memory import NewFact
from gaia_memory.learning.reconcile_queue import (
    BAD_ANSWER_PAUSE_SECONDS,
    MAX_BAD_ANSWERS,
    MAX_QUESTIONS,
    MAX_QUESTIONS_PER_PERSON,
)
from support.harness import Sut, facts

Make = Callable[..., Awaitable[Sut]]

LOVES, HATES = "User loves pizza from Napoli", "User hates pizza from Napoli"


def decide(action: str, *existing: int, **more: Any) -> str:
    """Return an answer with one decision about a new fact."""
    return json.dumps({"decisions": [{"fact": 1, "action": action, "existing": list(existing), **more}]})


def questions(sut: Sut) -> list[str]:
    """Return the reconciling questions."""
    return sut.script.prompts["reconciler"]


def answer(sut: Sut, *answers: Any) -> None:
    """Add answers to reconciling questions."""
    sut.script.answers["reconciler"].extend(answers)


async def learn(sut: Sut, said: str, *learned: str) -> None:
    """Learn facts from a conversation, a day after what was said before."""
    sut.clock.advance(timedelta(days=1))
    sut.script.answers["extractor"].append(facts(*learned))
    await sut.chat("ada", "cli", said)
    assert (await sut.sweep_after_idle()).consolidated == 1


async def queued(sut: Sut, user: str = "ada") -> int:
    """Return how many facts of a person wait."""
    return (await sut.gaia.memory.status(sut.scope(user))).queued


async def history(sut: Sut, text: str) -> list[tuple[str, str | None, str | None]]:
    """Return the history of a current fact: each text with the reason and the actor of its ending."""
    fact = next(fact for fact in await sut.gaia.memory.facts(sut.scope("ada")) if fact.text == text)
    return [(past.text, past.why, past.actor) for past in await sut.gaia.memory.history(sut.scope("ada"), fact.id)]


@pytest.mark.acceptance("T05")
@pytest.mark.parametrize("failure", ["nonsense", ConnectionError("429")], ids=["nonsense", "away"])
async def test_what_got_no_answer_is_asked_about_by_the_next_sweep(make: Make, failure: Any) -> None:
    """The conversation is learned and cleared meanwhile."""
    sut = await make()
    await learn(sut, "I love pizza", LOVES)
    answer(sut, *[failure] * 4)
    await learn(sut, "I hate pizza", HATES)

    assert await sut.texts("ada") == [LOVES, HATES]
    assert await queued(sut) == 1
    assert len(questions(sut)) <= 4
    assert (await sut.gaia.memory.status(sut.scope("ada"))).pending == ()
    assert await sut.session("ada", "cli") is None

    sut.script.answers["reconciler"].clear()
    answer(sut, decide("UPDATE", 1))
    await sut.sweep()

    assert await sut.texts("ada") == [HATES]
    assert await history(sut, HATES) == [(LOVES, "replaced", "model"), (HATES, None, None)]
    assert await queued(sut) == 0


async def test_a_fact_about_which_the_model_answers_nonsense_leaves_the_queue_in_the_end(make: Make) -> None:
    """It is asked about once a day, and stays beside the other one."""
    sut = await make()
    for text in (LOVES, HATES):
        await sut.gaia.memory.remember(sut.scope("ada"), text)
    answer(sut, *["nonsense"] * 100)
    for _ in range(MAX_BAD_ANSWERS):
        await sut.sweep()
        await sut.sweep()
        sut.clock.advance(BAD_ANSWER_PAUSE_SECONDS)

    assert len(questions(sut)) == 4 * MAX_BAD_ANSWERS
    assert await queued(sut) == 0
    assert await sut.texts("ada") == [LOVES, HATES]


@pytest.mark.acceptance("T12")
@pytest.mark.parametrize("command", [True, False], ids=["command", "façade"])
async def test_remember_keeps_a_contradiction_at_once_and_the_next_sweep_settles_it(make: Make, command: bool) -> None:
    """No question in the turn; the fact said later counts."""
    sut = await make()
    for text in (LOVES, HATES):
        if command:
            await sut.chat("ada", "cli", f"/remember {text}")
        else:
            await sut.gaia.memory.remember(sut.scope("ada"), text)

    assert (await sut.texts("ada"), questions(sut), await queued(sut)) == ([LOVES, HATES], [], 2)
    answer(sut, decide("UPDATE", 1))
    await sut.sweep()

    [question] = questions(sut)
    assert f"{LOVES}\n</EXISTING_FACTS>" in question
    assert f"{HATES}\n</NEW_FACTS>" in question
    assert (await sut.texts("ada"), await queued(sut)) == ([HATES], 0)
    assert await history(sut, HATES) == [(LOVES, "replaced", "model"), (HATES, None, None)]


async def test_a_queued_fact_that_says_the_same_becomes_one_with_the_other(make: Make) -> None:
    """And one in a wording that joins both keeps its id."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    await memory.remember(scope, LOVES)
    sut.clock.advance(60)
    await memory.remember(scope, "User adores pizza from Napoli")
    answer(sut, decide("NONE", 1))
    await sut.sweep()
    [same] = await memory.facts(scope)

    assert (same.text, same.said_at) == (LOVES, sut.clock.now())
    fact = await memory.remember(scope, "User eats pizza from Napoli on Sundays")
    joined = "User loves pizza from Napoli and eats it on Sundays"
    answer(sut, decide("UPDATE", 1, text=joined))
    await sut.sweep()

    assert [(each.id, each.text) for each in await memory.facts(scope)] == [(fact.id, joined)]
    assert [(text, why) for text, why, _ in await history(sut, joined)][-1] == (joined, None)


async def test_taking_back_by_a_queued_fact_ends_only_what_it_names(make: Make) -> None:
    """What was remembered stays."""
    sut = await make()
    for text in (LOVES, "User stopped loving pizza from Napoli"):
        await sut.gaia.memory.remember(sut.scope("ada"), text)
    answer(sut, *[decide("DELETE", 1)] * 2)
    await sut.sweep()

    assert await sut.texts("ada") == ["User stopped loving pizza from Napoli"]


@pytest.mark.acceptance("T10")
@pytest.mark.parametrize("action", ["UPDATE", "NONE"])
async def test_a_target_replaced_while_the_model_thinks_is_not_ended_twice(make: Make, action: str) -> None:
    """The new fact is kept and compared again, with what is current then."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    await learn(sut, "I love pizza", LOVES)
    answer(sut, decide(action, 1), decide("UPDATE", 1))
    sut.clock.advance(timedelta(days=1))
    sut.script.answers["extractor"].append(facts(HATES))
    await sut.chat("ada", "cli", "I hate pizza")
    [target] = await memory.facts(scope)
    original = type(memory.reconciler).plan

    async def plan_and_replace(*arguments: Any, **options: Any) -> Any:
        plan = await original(*arguments, **options)
        await memory.update(scope, target.id, text="User likes pizza from Napoli")
        return plan

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(memory.reconciler), "plan", plan_and_replace)
        await sut.sweep_after_idle()
    replaced = ("User likes pizza from Napoli", HATES)

    assert sorted(await sut.texts("ada")) == sorted(replaced)
    assert await queued(sut) == 1
    await sut.sweep()
    assert len(questions(sut)) == 2
    assert len(await sut.texts("ada")) == 1
    endings = [past.text for past in await memory.history(scope, target.id) if past.ended_at is not None]
    assert sorted(endings) == sorted(set(endings))


async def test_similar_facts_of_one_answer_are_compared_later(make: Make) -> None:
    """Only with each other."""
    sut = await make()
    said = "I love pizza from Napoli. No, I hate it, and I climb granite"
    await learn(sut, said, LOVES, HATES, "User climbs granite")
    assert (questions(sut), await queued(sut)) == ([], 1)
    answer(sut, decide("UPDATE", 1))
    await sut.sweep()

    assert await sut.texts("ada") == [HATES, "User climbs granite"]
    assert len(questions(sut)) == 1


async def test_what_is_added_in_bulk_is_compared_only_if_that_is_wanted(make: Make) -> None:
    """By the next sweep; what has the key of another fact needs no question."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    homes = [NewFact("I live in Oslo", key="user/home"), NewFact("I moved to Berlin", key="user/home")]
    await memory.add(scope, [NewFact(LOVES), NewFact(HATES)])
    assert (len(await memory.facts(scope)), await queued(sut)) == (2, 0)

    await memory.add(sut.scope("bob"), [*homes, NewFact(LOVES)], reconcile=True)
    assert (await sut.texts("bob"), await queued(sut, "bob")) == (["I moved to Berlin", LOVES], 1)


@pytest.mark.slow
async def test_a_sweep_asks_a_bounded_number_of_questions(make: Make) -> None:
    """Of one person, and in all; the rest waits for the next sweep."""
    sut = await make()
    people = [f"user{number}" for number in range(MAX_QUESTIONS // MAX_QUESTIONS_PER_PERSON + 1)]
    # Each pair has its own two words, so that it is similar to no other one.
    dishes = [f"{letter}elbar {letter}omtin" for letter in "bcdfghjklmnpqrstvwxyzaeio"]
    pairs = [f"User {verb} {dish}" for dish in dishes for verb in ("loves", "hates")]
    for user in people:
        await sut.gaia.memory.add(sut.scope(user), [NewFact(text) for text in pairs], reconcile=True)
    await sut.sweep()
    left = [await queued(sut, user) for user in people]

    assert len(questions(sut)) == MAX_QUESTIONS
    assert left == [len(pairs) - 2 * MAX_QUESTIONS_PER_PERSON] * (len(people) - 1) + [len(pairs)]


@pytest.mark.parametrize("how", ["fact", "everything"])
async def test_what_is_forgotten_leaves_the_queue(make: Make, how: str) -> None:
    """No model is asked about it."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    await memory.remember(scope, LOVES)
    fact = await memory.remember(scope, HATES)
    await memory.forget(scope, fact_id=fact.id if how == "fact" else None)
    await sut.sweep()

    assert (questions(sut), await queued(sut)) == ([], 0)


async def test_what_is_imported_is_compared_only_if_that_is_wanted(make: Make) -> None:
    """By the next sweep."""
    sut = await make()
    memory = sut.gaia.memory
    await memory.add(sut.scope("ada"), [NewFact(LOVES), NewFact(HATES)])
    data = await memory.export(sut.scope("ada"))
    for user, is_wanted in (("bob", False), ("eve", True)):
        assert await memory.import_(sut.scope(user), data, reconcile=is_wanted) == 2
    assert (await queued(sut, "bob"), await queued(sut, "eve")) == (0, 2)
    # Pairs of the others are compared as well.
    answer(sut, *[decide("UPDATE", 1)] * 9)
    await sut.sweep()

    assert (await sut.texts("eve"), await queued(sut, "eve")) == ([HATES], 0)


@pytest.mark.acceptance("T10")
async def test_what_says_the_same_as_something_forgotten_meanwhile_is_not_stored(make: Make) -> None:
    """Neither in its own words nor in those of the model."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    target = await memory.remember(scope, LOVES)
    await sut.sweep()
    original = type(memory.reconciler).plan

    async def plan_and_forget(*arguments: Any, **options: Any) -> Any:
        plan = await original(*arguments, **options)
        await memory.forget(scope, fact_id=target.id)
        return plan

    sut.clock.advance(timedelta(days=1))
    sut.script.answers["extractor"].append(facts("Pizza from Napoli is what ada wants"))
    answer(sut, decide("NONE", 1))
    await sut.chat("ada", "cli", "I want pizza from Napoli")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(memory.reconciler), "plan", plan_and_forget)
        await sut.sweep_after_idle()

    assert len(questions(sut)) == 1
    assert await sut.texts("ada") == []
