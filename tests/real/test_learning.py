"""What must hold whatever a real model answers: the shipped configuration asks it, and nothing is scripted."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from gaia_memory.backend.extraction_question import SYSTEM_PROMPT
from gaia_memory.learning.prompts import DEFAULT_INSTRUCTIONS
from gaia_memory.models import SweepReport
from gaia_memory.testing import ScriptedLlm
from support.conversations import Conversations, open_conversations

logger = logging.getLogger(__name__)

pytestmark = [pytest.mark.real, pytest.mark.timeout(3600)]

MODEL = os.environ.get("GAIA_TEST_REAL_MODEL", "")
BASE_URL = os.environ.get("OPENAI_BASE_URL", "")

TALKS: Mapping[str, tuple[str, ...]] = {
    "moved": ("I moved to Rotterdam in May, and I write firmware.", "My brother Joris has a deaf cat called Bolt."),
    "changed": ("I stopped running and took up swimming.", "I no longer like jazz, I like fado."),
    "german": ("Ich wohne in Leipzig und arbeite als Hebamme.", "Meine Tochter Lea ist sieben Jahre alt."),
    "asks": ("Which nuts can I eat?", "How far is it from Lisbon to Porto?"),
    "idle": ("Hi!", "Nothing much, thanks."),
}
"""What each user says."""

EXAMPLE_NAMES = ("tomasz", "bakery", "everest")
"""What only the examples of the prompt are about."""


@pytest.fixture(scope="module", autouse=True)
def model_is_named() -> None:
    """Fail at once, instead of asking the scripted parts, if the environment names no model."""
    assert MODEL, "set GAIA_TEST_REAL_MODEL to the name of a model, and OPENAI_BASE_URL to its server"
    assert BASE_URL, "set OPENAI_BASE_URL to the server of the model"


@pytest.fixture
async def conversations(tmp_path: Path) -> AsyncIterator[Conversations]:
    llm = {"provider": "openai", "model": MODEL, "openai_base_url": BASE_URL, "max_tokens": 1_000}
    config = {"memory": {"llm": llm, "embedder": {"provider": "offline"}}, "sessions": {"clear": "delete"}}
    async with open_conversations(tmp_path, ScriptedLlm(default="I see."), config) as opened:
        yield opened


async def talk_and_sweep(conversations: Conversations) -> SweepReport:
    """Hold every conversation and learn from all of them once."""
    for user, texts in TALKS.items():
        for text in texts:
            await conversations.send(text, user=user)
    return await conversations.gaia.sweep(force=True)


async def test_each_conversation_is_learned_from_its_own_words_or_still_there(conversations: Conversations) -> None:
    """No fact is the prompt's; what is not learned waits, with a reason; and a second sweep asks nothing again."""
    report = await talk_and_sweep(conversations)
    prompt = f"{SYSTEM_PROMPT}\n{DEFAULT_INSTRUCTIONS}".casefold()
    for user, texts in TALKS.items():
        said = " ".join(texts).casefold()
        scope = conversations.gaia.scope(user_id=user)
        facts = await conversations.gaia.memory.facts(scope)
        session = await conversations.load_session(user)
        waiting = (await conversations.gaia.memory.status(scope)).pending
        logger.info("%s, %s: %s", user, "kept" if session else "cleared", [fact.text for fact in facts])

        assert not [fact.text for fact in facts if fact.text.casefold() in prompt]
        assert not [fact.text for fact in facts if any(name in fact.text.casefold() for name in EXAMPLE_NAMES)]
        confirmed = [fact.text for fact in facts if "unverified" not in fact.metadata]
        assert not [text for text in confirmed if not shared_pieces(text, said)]
        assert not waiting or waiting[0].reason
        assert session is None or (waiting and texts[0] in str(session.events))
    again = await conversations.gaia.sweep()

    assert report.consolidated + report.failed + report.skipped == len(TALKS)
    assert again.consolidated == 0


async def test_a_profile_is_bullets_or_the_facts(conversations: Conversations) -> None:
    """A model may write prose; then the facts themselves are the profile."""
    scope = conversations.gaia.scope(user_id="ada")
    texts = ("User lives in Rotterdam", "User's brother Joris has a deaf cat", "User is allergic to peanuts")
    for text in texts:
        await conversations.gaia.memory.remember(scope, text)
    profile = await conversations.gaia.memory.profile(scope)
    logger.info("profile by the %s: %s", profile.made_by, profile.bullets)

    assert profile.bullets
    assert profile.made_by == "model" or set(profile.bullets) == set(texts)
    assert all("\n" not in bullet for bullet in profile.bullets)


def shared_pieces(fact: str, said: str) -> set[str]:
    """Return the beginnings of the words of a fact, four letters long, that were said."""
    return {word[:4] for word in fact.casefold().split() if len(word) > 3 and word[:4] in said}
