"""What the tool `remember` saved in a turn is not learned from it once more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import open_memory
from gaia_memory.models import ExtractedFact
from gaia_memory.testing import ScriptedExtractor, ScriptedLlm, call
from support.plugin_host import build_agent, set_extractor

DUE_AT = (datetime.now(UTC) + timedelta(days=1)).replace(microsecond=0)


async def learn(
    home: Path, *turns: tuple[str, dict[str, Any]], learned: Sequence[str | Sequence[ExtractedFact]] = ()
) -> list[tuple[str, bool]]:
    """Let the user say these messages, at each of which the model saves a fact; return the facts with due dates.

    `learned` are the words in which another model learns each message; without it, they are the person's own.
    """
    answers = [answer for _, saved in turns for answer in ([call("remember", **saved), "ok"] if saved else ["ok"])]
    async with open_memory({"sessions": {"coalesce_seconds": 0}}, home=home, model="offline") as gaia:
        if learned:
            set_extractor(
                gaia._engine, ScriptedExtractor(*([each] if isinstance(each, str) else each for each in learned))
            )
        conversation = gaia.conversation(build_agent(ScriptedLlm(*answers)), user_id="ada", channel="cli")
        for text, _ in turns:
            await conversation.send(text)
            await gaia.sweep(force=True)
        facts = await gaia.memory.facts(gaia.scope("ada"))
        return [(fact.text, fact.due_at is not None) for fact in facts]


@pytest.mark.parametrize(
    ("said", "saved", "learned"),
    [
        ("Remind me to call Anna", {"fact": "Call Anna"}, "User wants to be reminded to call Anna"),
        ("Remind me to call her", {"fact": "Reminder: call her"}, "User asked for a reminder to call her"),
        ("Remind me to rest", {"fact": "Rest", "every": "weekly"}, "User wants to be reminded to rest"),
        (
            "Erinnere mich an den Müll",
            {"fact": "Müll rausbringen"},
            "Der Nutzer will ans Müll-Rausbringen erinnert werden",
        ),
    ],
)
async def test_a_reminder_that_a_tool_saved_is_announced_once(
    tmp_path: Path, said: str, saved: dict[str, Any], learned: str
) -> None:
    """It is due at the same time and has most of its words."""
    fact = ExtractedFact(text=learned, due_at=DUE_AT, every=saved.get("every"))
    found = await learn(tmp_path, (said, {**saved, "due_at": DUE_AT.isoformat()}), learned=[[fact]])

    assert found == [(saved["fact"], True)]


async def test_another_reminder_of_the_turn_is_learned(tmp_path: Path) -> None:
    """At the same time, but about something else."""
    said = "Remind me to call Anna and Bob."
    learned = [ExtractedFact(text=f"User wants to call {name}", due_at=DUE_AT) for name in ("Anna", "Bob")]
    facts = await learn(tmp_path, (said, {"fact": "Call Anna", "due_at": DUE_AT.isoformat()}), learned=[learned])

    assert facts == [("Call Anna", True), ("User wants to call Bob", True)]


async def test_a_fact_that_a_tool_saved_is_stored_once(tmp_path: Path) -> None:
    """The name of the user makes no other fact."""
    facts = await learn(tmp_path, ("I live in Graz.", {"fact": "Lives in Graz"}), learned=["User lives in Graz."])
    assert facts == [("Lives in Graz", False)]


@pytest.mark.parametrize(
    ("said", "saved", "learned"),
    [
        ("I don't like tea", "Likes tea", "User doesn't like tea"),
        ("I like tea and my sister hates tea", "Likes tea", "User's sister hates tea"),
    ],
)
async def test_what_says_something_else_is_learned(tmp_path: Path, said: str, saved: str, learned: str) -> None:
    """The same words do not make the same fact."""
    facts = await learn(tmp_path, (said, {"fact": saved}), learned=[learned])
    assert [text for text, _ in facts] == [saved, learned]


async def test_what_is_said_in_a_later_turn_is_learned(tmp_path: Path) -> None:
    """Only the turn of the tool has been saved."""
    facts = await learn(tmp_path, ("Call me Zed", {"fact": "Likes tea"}), ("I like tea", {}))
    assert ("I like tea", False) in facts
