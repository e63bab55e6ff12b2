"""Changes, and what only looks like one, told in a conversation without a key, in four languages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent

from gaia_memory import open_memory
from gaia_memory.testing import ScriptedLlm

CHANGES = {
    "en": {
        "I am 34 years old.": "I am 35 years old now.",
        "I eat meat.": "I no longer eat meat.",
        "We have a car.": "We sold the car.",
        "I live in Berlin.": "I moved from Berlin to Lisbon.",
        "I live in Rome.": "I am back in Oslo.",
    },
    "de": {
        "Ich bin 34 Jahre alt.": "Ich bin jetzt 35 Jahre alt.",
        "Ich esse Fleisch.": "Ich esse kein Fleisch mehr.",
        "Wir haben ein Auto.": "Wir haben das Auto verkauft.",
        "Ich wohne in Berlin.": "Ich bin von Berlin nach Lissabon gezogen.",
        "Ich wohne in Rom.": "Ich bin wieder in Oslo.",
    },
    "es": {
        "Tengo 34 años.": "Ahora tengo 35 años.",
        "Como carne.": "Ya no como carne.",
        "Tenemos un coche.": "Vendimos el coche.",
        "Vivo en Berlín.": "Me mudé de Berlín a Lisboa.",
        "Vivo en Roma.": "Estoy de vuelta en Oslo.",
    },
    "fr": {
        "J'ai 34 ans.": "J'ai maintenant 35 ans.",
        "Je mange de la viande.": "Je ne mange plus de viande.",
        "Nous avons une voiture.": "Nous avons vendu la voiture.",
        "J'habite à Berlin.": "J'ai déménagé de Berlin à Lisbonne.",
        "J'habite à Rome.": "Je suis de retour à Oslo.",
    },
}
NO_CHANGES = {
    "en": {
        "I live in Berlin.": [
            *("My brother moved to Lisbon.", "I love Lisbon, too.", "I visited Oslo.", "Should I move to Rome?"),
            *("If I moved to Rome, I would learn Italian.", "I used to think that Rome is small."),
            *('"I moved to Lisbon", sang the man.', "I moved to the moon, haha."),
        ],
        "I eat meat.": ["My sister is called Noa. She no longer eats meat.", "I no longer eat meat on Fridays."],
        "I have a car.": ["I sold my mother's car.", "I almost sold the car.", "My car died.", "I don't have the car."],
    },
    "de": {
        "Ich wohne in Berlin.": [
            *("Mein Bruder ist nach Lissabon gezogen.", "Ich liebe Lissabon auch.", "Soll ich nach Rom ziehen?"),
            *("Wenn ich nach Rom ziehen würde, würde ich Italienisch lernen.", "Ich bin nach Rom gezogen, haha."),
            *("Früher dachte ich, Rom sei klein.", "„Ich bin nach Lissabon gezogen“, sang der Mann."),
        ],
        "Ich esse Fleisch.": [
            "Meine Schwester heißt Noa. Sie isst kein Fleisch mehr.",
            "Freitags esse ich kein Fleisch.",
        ],
    },
    "es": {
        "Vivo en Berlín.": [
            *("Mi hermano se mudó a Lisboa.", "También me encanta Lisboa.", "Visité Oslo.", "¿Debería mudarme a Roma?"),
            *("Si me mudara a Roma, aprendería italiano.", "Antes pensaba que Roma es pequeña."),
            *("«Me mudé a Lisboa», cantaba el hombre.", "Me mudé a la luna, jajaja."),
        ],
        "Como carne.": ["Mi hermana se llama Noa. Ya no come carne.", "No como carne los viernes."],
    },
    "fr": {
        "J'habite à Berlin.": [
            *("Mon frère a déménagé à Lisbonne.", "J'adore aussi Lisbonne.", "J'ai visité Oslo."),
            *("Est-ce que je devrais déménager à Rome ?", "Si je déménageais à Rome, j'apprendrais l'italien."),
            *("Avant, je pensais que Rome est petite.", "« J'ai déménagé à Lisbonne », chantait l'homme."),
        ],
        "Je mange de la viande.": [
            "Ma sœur s'appelle Noa. Elle ne mange plus de viande.",
            "Je ne mange pas de viande le lundi.",
        ],
    },
}


async def keyless_texts(home: Path, talks: Sequence[Sequence[str]]) -> list[list[set[str]]]:
    """Return the current facts of a person each after each message of a talk; each message is learned alone, no key."""
    agent = LlmAgent(name="assistant", model=ScriptedLlm(default="Hello."))
    settings: dict[str, Any] = {"memory": {"llm": {"provider": "offline"}, "embedder": {"provider": "offline"}}}
    known: list[list[set[str]]] = [[] for _ in talks]
    async with open_memory(settings, home=home) as gaia:
        for number in range(max(map(len, talks))):
            for person, talk in enumerate(talks):
                await gaia.conversation(agent, user_id=f"user{person}", channel="cli").send(talk[number])
            assert (await gaia.sweep(force=True)).failed == 0
            for person, texts in enumerate(known):
                texts.append({fact.text for fact in await gaia.memory.facts(gaia.scope(f"user{person}"))})
    return known


@pytest.mark.acceptance("T21")
@pytest.mark.parametrize("language", CHANGES)
async def test_a_plain_change_ends_the_old_fact_without_a_key(tmp_path: Path, language: str) -> None:
    """Through a conversation and a sweep, each change in each language."""
    talks = list(CHANGES[language].items())
    known = await keyless_texts(tmp_path, talks)

    assert all(before and after for before, after in known)
    assert [talk for talk, (before, after) in zip(talks, known, strict=True) if before & after] == []


@pytest.mark.acceptance("T22")
@pytest.mark.parametrize("language", NO_CHANGES)
async def test_what_only_looks_like_a_change_ends_nothing(tmp_path: Path, language: str) -> None:
    """Every fact of before is current after it."""
    talks = [(fact, said) for fact, looks in NO_CHANGES[language].items() for said in looks]
    known = await keyless_texts(tmp_path, talks)

    assert all(before for before, _ in known)
    assert [talk for talk, (before, after) in zip(talks, known, strict=True) if before - after] == []


async def test_what_one_conversation_puts_in_doubt_is_marked(tmp_path: Path) -> None:
    """The move and the home before it are learned together. What is said again after the move is not in doubt."""
    async with open_memory({"home": tmp_path, "sessions": {"coalesce_seconds": 0}}) as gaia:
        agent = LlmAgent(name="assistant", model=gaia.model)
        for user, further in (("ada", []), ("eve", ["I live in Oslo with my wife Anna"])):
            talk = gaia.conversation(agent, user_id=user, channel="cli")
            for text in ("I live in Oslo with my wife Anna", "I moved to Berlin", *further):
                await talk.send(text)
        await gaia.sweep(force=True)
        marks = {
            user: {fact.text: fact.marks for fact in await gaia.memory.facts(gaia.scope(user_id=user))}
            for user in ("ada", "eve")
        }

    home = "User lives in Oslo with their wife Anna"
    assert marks["ada"] == {home: ("in doubt",), "User moved to Berlin": ()}
    assert marks["eve"][home] == ()


async def test_what_is_said_again_in_one_conversation_is_the_newest_word(tmp_path: Path) -> None:
    """Oslo, Berlin, Oslo, learned at once."""
    async with open_memory({"home": tmp_path, "sessions": {"coalesce_seconds": 0}}) as gaia:
        talk = gaia.conversation(LlmAgent(name="assistant", model=gaia.model), user_id="ada", channel="cli")
        for place in ("Oslo", "Berlin", "Oslo"):
            await talk.send(f"I live in {place}.")
        await gaia.sweep(force=True)
        facts = await gaia.memory.facts(gaia.scope(user_id="ada"))

    assert [fact.text for fact in facts] == ["User lives in Oslo."]


async def test_a_sentence_whose_only_word_is_a_verb_is_learned(tmp_path: Path) -> None:
    """In the third person, it shares no word with what was said."""
    known = await keyless_texts(tmp_path, [["Ya no fumo."], ["Dejé de fumar."], ["Tengo 34 años."]])

    assert known == [[{"El usuario ya no fuma."}], [{"El usuario dejó de fumar."}], [{"El usuario tiene 34 años."}]]
