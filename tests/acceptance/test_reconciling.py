"""What new facts do to the stored ones by the decision of a model, seen from outside."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from support.harness import Sut, facts

Make = Callable[..., Awaitable[Sut]]

LOVES, HATES = "User loves pizza from Napoli", "User hates pizza from Napoli"


def decide(action: str, *existing: int, fact: int = 1, **more: Any) -> str:
    """Return an answer with one decision about a new fact."""
    return json.dumps({"decisions": [{"fact": fact, "action": action, "existing": list(existing), **more}]})


async def learn(sut: Sut, said: str, *learned: str, answers: tuple[Any, ...] = ()) -> None:
    """Learn facts from a conversation of a day of its own; `answers` are those of the reconciling question."""
    sut.script.answers["extractor"].append(facts(*learned))
    sut.script.answers["reconciler"].extend(answers)
    await sut.chat("ada", "cli", said)
    assert (await sut.sweep_after_idle()).consolidated == 1
    sut.clock.advance(timedelta(days=1))


def questions(sut: Sut) -> list[str]:
    """Return the reconciling questions."""
    return sut.script.prompts["reconciler"]


async def line_of(sut: Sut, text: str) -> list[tuple[str, str | None, str | None]]:
    """Return the history of a current fact: each text with the reason and the actor of its ending."""
    fact = next(fact for fact in await sut.gaia.memory.facts(sut.scope("ada")) if fact.text == text)
    history = await sut.gaia.memory.history(sut.scope("ada"), fact.id)
    return [(past.text, past.why, past.actor) for past in history]


@pytest.mark.acceptance("T02")
async def test_a_replaced_opinion_is_history(make: Make) -> None:
    """One current row, and both in the history."""
    sut = await make()
    await learn(sut, "I love pizza", LOVES)
    await learn(sut, "I hate pizza", HATES, answers=(decide("UPDATE", 1),))

    assert await sut.texts("ada") == [HATES]
    assert await line_of(sut, HATES) == [(LOVES, "replaced", "model"), (HATES, None, None)]


@pytest.mark.acceptance("T03")
async def test_a_joined_wording_keeps_the_metadata(make: Make) -> None:
    """The model may join both sentences; details of the old fact stay."""
    sut = await make()
    scope = sut.scope("ada")
    until = sut.clock.now() + timedelta(days=90)
    await sut.gaia.memory.remember(scope, LOVES, metadata={"level": 5}, category="food", valid_until=until)
    joined = "User hates pizza from Napoli and loves olives"
    await learn(
        sut,
        "I hate pizza, love olives",
        "User hates pizza from Napoli, loves olives",
        answers=(decide("UPDATE", 1, text=joined),),
    )

    [fact] = await sut.gaia.memory.facts(scope)
    assert (fact.text, fact.metadata["level"], fact.category) == (joined, 5, "food")
    assert fact.valid_until == until


@pytest.mark.acceptance("T04")
async def test_what_says_the_same_adds_a_source_and_no_row(make: Make) -> None:
    """The stored fact is the newest word then."""
    sut = await make()
    await learn(sut, "I love pizza", LOVES)
    [before] = await sut.gaia.memory.facts(sut.scope("ada"))
    await learn(sut, "Pizza is great", "User adores pizza from Napoli", answers=(decide("NONE", 1),))

    [after] = await sut.gaia.memory.facts(sut.scope("ada"))
    assert (after.id, after.text) == (before.id, LOVES)
    assert after.said_at is not None
    assert before.said_at is not None
    assert after.said_at > before.said_at
    assert len(await sut.gaia.memory.sources(sut.scope("ada"), after.id)) == 2


@pytest.mark.acceptance("T06")
@pytest.mark.parametrize(
    "bad",
    [
        decide("UPDATE", 99),
        '{"decisions": [{"fact": 1, "action": "UPDATE", "existing": [1]}, {"fact": 1, "action": "ADD"}]}',
        decide("DELETE", 1),
    ],
    ids=["unknown", "contradictory", "only deletes"],
)
async def test_a_senseless_answer_is_asked_again_and_ends_nothing_else(make: Make, bad: str) -> None:
    """The second answer counts."""
    sut = await make()
    await learn(sut, "I love pizza", LOVES)
    await learn(sut, "I hate pizza", HATES, answers=(bad, decide("UPDATE", 1)))

    assert await sut.texts("ada") == [HATES]
    assert len(questions(sut)) == 2


@pytest.mark.acceptance("T06")
async def test_an_answer_that_only_deletes_counts_if_it_is_repeated_and_ends_what_it_names(make: Make) -> None:
    """The fact that it does not name stays."""
    sut = await make()
    await learn(sut, "I love pizza", LOVES)
    await learn(sut, "I climb", "Climbs granite mountains on weekends")
    await learn(sut, "I hate pizza", HATES, answers=(decide("DELETE", 1),) * 2)

    assert await sut.texts("ada") == ["Climbs granite mountains on weekends"]
    assert len(questions(sut)) == 2


@pytest.mark.acceptance("T07")
async def test_an_unrelated_fact_costs_no_question(make: Make) -> None:
    """Only neighbours are shown to a model."""
    sut = await make()
    await learn(sut, "I love pizza", LOVES)
    await learn(sut, "I climb", "Climbs granite mountains on weekends")

    assert questions(sut) == []


@pytest.mark.acceptance("T08")
async def test_what_was_said_earlier_and_learned_later_is_history_at_once(make: Make) -> None:
    """Monday's conversation is learned after Wednesday's."""
    sut = await make()
    scope = sut.scope("ada")
    sut.clock.advance(timedelta(days=2))
    await learn(sut, "I hate pizza", HATES)
    sut.script.answers["extractor"].append(
        json.dumps({"memory": [{"id": "0", "text": LOVES, "attributed_to": "user", "said_at": "2020-01-06"}]})
    )
    sut.script.answers["reconciler"].append(decide("UPDATE", 1))
    await sut.chat("ada", "cli", "In January 2020 I loved pizza")
    await sut.sweep_after_idle()

    assert await sut.texts("ada") == [HATES]
    [current] = await sut.gaia.memory.facts(scope)
    assert [past.text for past in await sut.gaia.memory.history(scope, current.id)] == [LOVES, HATES]


@pytest.mark.acceptance("T08")
async def test_a_conversation_that_is_learned_after_a_later_one_is_history_at_once(make: Make) -> None:
    """Monday's, from which the model could not extract anything before Wednesday's was learned."""
    sut = await make()
    memory, scope, is_away = sut.gaia.memory, sut.scope("ada"), True
    monday, wednesday = LOVES, HATES

    def extract(prompt: str) -> str:
        if monday not in prompt:
            return facts(wednesday)
        if is_away:
            raise ConnectionError("away")
        return facts(monday)

    sut.script.answers["extractor"].extend([extract] * 20)
    sut.script.answers["reconciler"].append(decide("UPDATE", 1))
    for channel, said in (("cli", monday), ("web", wednesday)):
        await sut.chat("ada", channel, said)
        await sut.sweep_after_idle()
        sut.clock.advance(timedelta(days=2))
    assert await sut.texts("ada") == [wednesday]
    is_away = False
    await sut.sweep(force=True)

    assert await sut.texts("ada") == [wednesday]
    [current] = await memory.facts(scope)
    assert [past.text for past in await memory.history(scope, current.id)] == [monday, wednesday]


@pytest.mark.acceptance("T10")
async def test_a_target_forgotten_while_the_model_thinks_does_not_come_back(make: Make) -> None:
    """The new fact is added, and nothing else happens."""
    sut = await make()
    scope = sut.scope("ada")
    await sut.gaia.memory.remember(scope, LOVES)
    [target] = await sut.gaia.memory.facts(scope)
    sut.script.answers["reconciler"].append(decide("NONE", 1))
    sut.script.answers["extractor"].append(facts(HATES))
    await sut.chat("ada", "cli", "I hate pizza")
    original = sut.gaia.memory.reconciler.plan

    async def plan_and_forget(*arguments: Any, **options: Any) -> Any:
        plan = await original(*arguments, **options)
        await sut.gaia.memory.forget(scope, fact_id=target.id)
        return plan

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            type(sut.gaia.memory.reconciler), "plan", lambda _, *args, **options: plan_and_forget(*args, **options)
        )
        await sut.sweep_after_idle()

    assert LOVES not in await sut.texts("ada")
    assert questions(sut)


@pytest.mark.parametrize("settings", ["memory: {reconcile: rules}", "memory: {reconcile: off}"])
async def test_without_a_question_nothing_ends_but_what_has_the_same_key(make: Make, settings: str) -> None:
    """Neither what is remembered nor what is learned, and nothing waits."""
    sut = await make(settings)
    await sut.gaia.memory.remember(sut.scope("ada"), "I live in Oslo")
    await learn(sut, "I moved to Berlin", "User moved to Berlin from Oslo")
    assert await sut.texts("ada") == ["I live in Oslo", "User moved to Berlin from Oslo"]
    assert (questions(sut), (await sut.gaia.memory.status(sut.scope("ada"))).queued) == ([], 0)

    for text in ("Works at Acme", "Works at Globex"):
        await sut.gaia.memory.remember(sut.scope("ada"), text, key="user/employer")
    assert (await sut.texts("ada"))[2:] == ["Works at Globex"]


async def test_what_a_model_made_up_ends_nothing(make: Make) -> None:
    """A fact that nobody said stands beside the one that somebody said."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    await memory.remember(scope, "I live in Oslo")
    await memory.remember(scope, "I moved to Berlin", metadata={"unconfirmed": True})
    await memory.remember(scope, "I live in Rome", metadata={"unconfirmed": True})

    assert await sut.texts("ada") == ["I live in Oslo", "I moved to Berlin", "I live in Rome"]


@pytest.mark.acceptance("T11")
async def test_a_wording_with_a_credential_is_used_masked(make: Make) -> None:
    """What it joins is not lost with the credential."""
    sut = await make()
    await learn(sut, "I love pizza", LOVES)
    wording = "User hates pizza from Napoli, password: hunter2Xq9!"
    await learn(sut, "I hate pizza", HATES, answers=(decide("UPDATE", 1, text=wording),))

    assert await sut.texts("ada") == ["User hates pizza from Napoli, password: [redacted: a password]!"]


@pytest.mark.acceptance("T11")
@pytest.mark.parametrize("bad", ["long", "forgotten", "without words"])
async def test_a_wording_that_may_not_be_kept_is_not_used(make: Make, bad: str) -> None:
    """The extracted fact replaces the old one in its own words."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    joined = "User hates and loves pizza from Napoli"
    if bad == "forgotten":
        forgotten = await memory.remember(scope, joined)
        await memory.forget(scope, fact_id=forgotten.id)
    await learn(sut, "I love pizza", LOVES)
    wording = {
        "long": " ".join([HATES] * 100),
        "forgotten": joined,
        "without words": "\u200b",
    }[bad]
    await learn(sut, "I hate pizza", HATES, answers=(decide("UPDATE", 1, text=wording),))

    assert await sut.texts("ada") == [HATES]
    assert await line_of(sut, HATES) == [(LOVES, "replaced", "model"), (HATES, None, None)]
