"""A keyed change, in five languages and without a question, learned and remembered."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import NewFact
from gaia_memory.testing import call
from support.harness import Sut

Make = Callable[..., Awaitable[Sut]]

HOME = "user/home"
CHANGES = {
    "en": ("I live in Oslo", "I moved to Rome"),
    "de": ("Ich wohne in Oslo", "Ich bin nach Rom gezogen"),
    "fr": ("J'habite à Oslo", "J'ai déménagé à Rome"),
    "he": ("אני גר באוסלו", "עברתי לרומא"),
    "ja": ("オスロに住んでいます", "ローマに引っ越しました"),
}


def learned(*facts: dict[str, Any]) -> str:
    """Return the extractor's answer."""
    items = [{"id": str(at), "attributed_to": "user", **fact} for at, fact in enumerate(facts)]
    return json.dumps({"memory": items}, ensure_ascii=False)


async def told(sut: Sut, said: str, *facts: dict[str, Any]) -> None:
    """Learn facts from a conversation of a day of its own."""
    sut.script.answers["extractor"].append(learned(*facts))
    await sut.chat("ada", "cli", said)
    assert (await sut.sweep_after_idle()).consolidated == 1
    sut.clock.advance(timedelta(days=1))


@pytest.mark.acceptance("T21")
@pytest.mark.parametrize("language", CHANGES)
async def test_a_keyed_change_ends_the_old_value_without_a_question(make: Make, language: str) -> None:
    """By two conversations and by `remember`; no model is asked what the new fact does."""
    sut, (before, after) = await make(), CHANGES[language]
    await told(sut, before, {"text": before, "key": HOME})
    await told(sut, after, {"text": after, "key": "User/Home"})
    assert await sut.texts("ada") == [after]

    memory, scope = sut.gaia.memory, sut.scope("ada")
    [fact] = await memory.facts(scope)
    history = [(past.text, past.why, past.actor) for past in await memory.history(scope, fact.id)]
    assert (history, fact.key) == ([(before, "replaced", "model"), (after, None, None)], HOME)

    sut.clock.advance(timedelta(days=1))
    again = await memory.remember(scope, before, key=HOME)
    await sut.sweep_after_idle()
    assert (await sut.texts("ada"), again.key) == ([before], HOME)
    assert sut.script.prompts["reconciler"] == []


async def test_what_was_over_when_it_was_said_replaces_nothing(make: Make) -> None:
    """And an end at the end of the calendar is none, without a failure."""
    sut = await make()
    await told(sut, "I live in Oslo", {"text": "Lives in Oslo", "key": HOME, "valid_until": "9999-12-31"})
    await told(sut, "I lived in Lima once", {"text": "Lived in Lima", "key": HOME, "valid_until": "2016-12-31"})

    assert sorted(await sut.texts("ada")) == ["Lived in Lima", "Lives in Oslo"]


async def test_the_learning_question_shows_the_known_keys(make: Make) -> None:
    """At most thirty, the last said first, one a line, none of a sensitive fact."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    await memory.remember(scope, "Is ill", key="user/illness", sensitive=True)
    for number in range(35):
        sut.clock.advance(timedelta(minutes=1))
        await memory.remember(scope, f"Fact {number}", key=f"user/thing-{number}")
    await told(sut, "I like tea", {"text": "User likes tea"})

    lines = sut.script.prompts["extractor"][-1].splitlines()
    shown = lines[lines.index("<KNOWN_KEYS>") + 1 : lines.index("</KNOWN_KEYS>")]
    assert shown == [f"user/thing-{34 - at}" for at in range(len(shown))]
    assert 20 <= len(shown) <= 30


async def test_two_facts_of_one_answer_with_the_same_key_lose_it(make: Make) -> None:
    """There is only one of it at a time, so neither can be it; a malformed key is left out."""
    sut = await make()
    facts = [{"text": "User has a cat", "key": "user/pet"}, {"text": "User has a dog", "key": "user/pet"}]
    await told(sut, "I have a cat, a dog and a tall aunt", *facts, {"text": "User has a tall aunt", "key": "aunt"})

    keys = {fact.text: fact.key for fact in await sut.gaia.memory.facts(sut.scope("ada"))}
    assert keys == {"User has a cat": None, "User has a dog": None, "User has a tall aunt": None}


async def test_a_key_without_a_counterpart_is_compared_as_before(make: Make) -> None:
    """So an older fact without a key can still end."""
    sut = await make()
    await sut.gaia.memory.remember(sut.scope("ada"), "User lives in Oslo in the big house")
    sut.clock.advance(timedelta(days=1))
    update = json.dumps({"decisions": [{"fact": 1, "action": "UPDATE", "existing": [1]}]})
    sut.script.answers["reconciler"].append(update)
    await told(sut, "I live in Rome in the big house now", {"text": "User lives in Rome in the big house", "key": HOME})

    assert await sut.texts("ada") == ["User lives in Rome in the big house"]
    assert len(sut.script.prompts["reconciler"]) == 1


async def test_every_way_of_writing_knows_the_key(make: Make) -> None:
    """Add, update, filters, export and import; a bad key names the fix."""
    sut = await make()
    memory, scope, other = sut.gaia.memory, sut.scope("ada"), sut.scope("bob")
    with pytest.raises(InvalidInputError, match=r"NewFact\.key is 'home'.*whose/what"):
        await memory.remember(scope, "Lives in Oslo", key="home")
    await memory.add(scope, [NewFact("Lives in Oslo", key=HOME), NewFact("Lives in Rome", key=" USER / home")])
    [rome] = await memory.facts(scope)
    assert (rome.text, rome.key) == ("Lives in Rome", HOME)

    sut.clock.advance(timedelta(days=1))
    paris = await memory.remember(scope, "Lives in Paris")
    await memory.update(scope, paris.id, key=HOME)
    assert await sut.texts("ada") == ["Lives in Paris"]
    assert [fact.text for fact in (await memory.browse(scope, filters={"key": "User/Home"})).facts] == [
        "Lives in Paris"
    ]

    data = await memory.export(scope)
    assert data["facts"][0]["key"] == HOME
    await memory.import_(other, data)
    assert await sut.texts("bob") == ["Lives in Paris"]
    actors = {past.actor for past in await memory.history(other, (await memory.facts(other))[0].id)}
    assert actors == {past.actor for past in await memory.history(scope, paris.id)}
    sut.clock.advance(timedelta(days=1))
    await memory.remember(other, "Lives in Lima", key=HOME)
    await memory.import_(other, data)
    assert await sut.texts("bob") == ["Lives in Lima"]
    plain = await memory.update(scope, paris.id, key=None)
    assert plain.key is None


async def test_an_export_brings_back_what_is_past_in_another_context(make: Make) -> None:
    """After a merge of two people, the same words may be both."""
    sut = await make()
    memory, ada, bob, eve = sut.gaia.memory, sut.scope("ada"), sut.scope("bob"), sut.scope("eve")
    day = sut.clock.now() - timedelta(days=9)
    said = {"key": "user/desk", "said_at": day}
    await memory.add(ada, [NewFact("At the window", context="work", **said)])
    await memory.add(ada, [NewFact("At the door", key="user/desk", context="work", said_at=day + timedelta(days=2))])
    await memory.add(bob, [NewFact("At the window", key="user/desk", said_at=day + timedelta(days=1))])
    await memory.merge(bob, ada)
    await memory.import_(eve, await memory.export(ada))

    assert sorted(await sut.texts("eve")) == sorted(await sut.texts("ada")) == ["At the door", "At the window"]


async def test_what_is_said_tomorrow_is_refused(make: Make) -> None:
    """Clocks differ by a minute; a past day that changes nothing now is told."""
    sut = await make()
    memory, scope, now = sut.gaia.memory, sut.scope("ada"), sut.clock.now()
    with pytest.raises(InvalidInputError, match=r"NewFact\.said_at is .*not to come"):
        await memory.add(scope, [NewFact("Lives in Oslo", said_at=now + timedelta(days=1))])
    [oslo] = await memory.add(scope, [NewFact("Lives in Oslo", key=HOME, said_at=now + timedelta(seconds=50))])
    assert oslo.said_at == now
    late = await memory.add(scope, [NewFact("Lived in Rome", key=HOME, said_at=now - timedelta(days=1))])
    assert late.past == {late[0].id}


async def test_the_tool_takes_a_key_and_shows_similar_facts(make: Make) -> None:
    """The agent's model may correct one of them by its short id."""
    said = "I moved from the big old house in Oslo to Rome"
    sut = await make(main=[call("remember", fact="User lives in Rome", key=HOME), "Noted."])
    memory, scope = sut.gaia.memory, sut.scope("ada")
    old = await memory.remember(scope, "User lives in the big old house in Oslo")
    await memory.remember(scope, "User lives in Rome for her illness", sensitive=True)
    sut.clock.advance(timedelta(days=1))
    await sut.chat("ada", "cli", said)

    response = sut.main.requests[-1].contents[-1].parts[-1].function_response.response
    assert (response["key"], [row["text"] for row in response["similar"]]) == (HOME, [old.text])
    assert old.id.startswith(response["similar"][0]["id"].removeprefix("#"))


async def test_the_tool_ends_a_fact_of_its_key_in_whatever_words_the_person_spoke(make: Make) -> None:
    """With no other tool's answer in sight it is their word, also if they said nothing of it."""
    sut = await make(main=[call("remember", fact="User lives in Rome", key=HOME), "Noted."])
    await sut.gaia.memory.remember(sut.scope("ada"), "User lives in Oslo", key=HOME)
    sut.clock.advance(timedelta(days=1))
    await sut.chat("ada", "cli", "Hello")

    assert await sut.texts("ada") == ["User lives in Rome"]
