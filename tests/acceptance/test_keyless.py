"""Changes told in conversations without a key: every sentence stays, and is quoted with its day."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent

from gaia_memory import open_memory
from support.wall_clock import DAY_SECONDS, WallClock

CHANGES = {
    "en": ("My bike stands in the cellar.", "My bike stands in the garden.", "Where does my bike stand?"),
    "de": ("Mein Fahrrad steht im Keller.", "Mein Fahrrad steht im Garten.", "Wo steht mein Fahrrad?"),
    "es": ("Mi bicicleta está en el sótano.", "Mi bicicleta está en el jardín.", "¿Dónde está mi bicicleta?"),
    "fr": ("Mon vélo est dans la cave.", "Mon vélo est dans le jardin.", "Où est mon vélo ?"),
    "ja": ("私の自転車は地下室にあります。", "私の自転車は庭にあります。", "私の自転車はどこにありますか\uff1f"),
}
SETTINGS = {
    "model": "offline",
    "sessions": {"coalesce_seconds": 0},
    "memory": {"llm": {"provider": "offline"}, "embedder": {"provider": "offline"}},
}


def day_of(clock: WallClock) -> datetime:
    """Return the local day that a clock shows."""
    return datetime.fromtimestamp(clock.now_seconds()).astimezone()


@pytest.mark.acceptance("T22")
async def test_keyless_nothing_ends_and_the_newest_sentence_is_quoted_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with its day: of the last week by its name, of others by its date."""
    days, answers, texts = [], {}, {}
    with WallClock().installed(monkeypatch) as clock:
        clock.shift(-10 * DAY_SECONDS)
        async with open_memory(SETTINGS, home=tmp_path) as gaia:
            agent = LlmAgent(name="assistant", model=gaia.model)
            for number, days_later in ((0, 8), (1, 2)):
                days.append(day_of(clock))
                for language, said in CHANGES.items():
                    talk = gaia.conversation(agent, user_id=language, channel="cli")
                    assert (await talk.send(said[number])).text == "Noted."
                await gaia.sweep(force=True)
                clock.shift(days_later * DAY_SECONDS)
            for language, (*_, question) in CHANGES.items():
                texts[language] = [fact.text for fact in await gaia.memory.facts(gaia.scope(language))]
                answer = await gaia.conversation(agent, user_id=language, channel="cli").send(question)
                answers[language] = answer.text.splitlines()

    then, lately = days
    quoted = {
        language: [
            f'On {lately:%A} you said: "{after}"',
            f'On {then.day} {then:%B %Y} you said: "{before}"',
        ]
        for language, (before, after, _) in CHANGES.items()
    }
    assert texts == {language: [before, after] for language, (before, after, _) in CHANGES.items()}
    assert answers == quoted
