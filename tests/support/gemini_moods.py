"""Every mood of Gemini, with what a person reads then and how often it was asked."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gaia_memory.adk.conversation import APOLOGY
from gaia_memory.adk.models import gemini
from gaia_memory.backend.providers import gemini as gemini_parts
from support.fake_gemini import (
    Answer,
    Blocked,
    Drop,
    Failure,
    Hang,
    Raw,
    Reply,
    beside,
    call,
    cut,
    nothing,
    only_thoughts,
    proxy_page,
    split,
    stopped,
    thinking,
    wrong_key,
)

THOUGHT = "Let me think."
SECRET = "no-real-key"
HASTE = 2.0
"""Seconds after which a client that shall give up does."""

ALWAYS = 9
"""More answers than anybody asks for."""


@dataclass(frozen=True)
class Mood:
    """What the agent's model answers, one after the other, and what becomes of it.

    `streamed` is the text of a stream where it is another one, `asked` the number of requests of a turn. One that
    `hangs` is worth waiting for no longer than `HASTE`.
    """

    answers: tuple[Answer, ...]
    said: str = APOLOGY
    streamed: str | None = None
    asked: int = 1
    asked_streaming: int | None = None
    hangs: bool = False


def always(answer: Answer) -> tuple[Answer, ...]:
    """Return a script that never gets better."""
    return (answer,) * ALWAYS


TRIES = gemini.ATTEMPTS
BROKEN_OFF = f"half of\n{APOLOGY}"

OF_AGENTS = {
    # Refusals
    "429 once": Mood((Failure(429),), "ok", asked=2),
    "429 always": Mood(always(Failure(429)), asked=TRIES),
    "429, back in 0.2 s": Mood((Failure(429, 0.2),), "ok", asked=2),
    "429, back in a minute": Mood(always(Failure(429, 60, header=False))),
    "500 once": Mood((Failure(500),), "ok", asked=2),
    "503 always": Mood(always(Failure(503)), asked=TRIES),
    "504 twice": Mood((Failure(504), Failure(504)), "ok", asked=3),
    "a refused request": Mood(always(Failure(400))),
    "a wrong key": Mood(always(wrong_key())),
    "no permission": Mood(always(Failure(403))),
    "no such model": Mood(always(Failure(404))),
    # The line
    "dropped once": Mood((Drop("headers"),), "ok", asked=2),
    "dropped always": Mood(always(Drop("headers")), asked=TRIES),
    "dropped in the body": Mood((Drop("body"),), "ok", BROKEN_OFF, asked=2, asked_streaming=1),
    "a hang": Mood(always(Hang()), hangs=True),
    "a hang in the middle": Mood(always(Hang("half of")), streamed=BROKEN_OFF, hangs=True),
    "an error in the middle": Mood((Failure(503, after="half of"),), "ok", BROKEN_OFF, asked=2, asked_streaming=1),
    # No answer of Gemini
    "broken JSON": Mood(always(Raw('{"candidates": [{'))),
    "no JSON": Mood(always(Raw("Once upon a time"))),
    "JSON of another form": Mood(always(Raw('{"candidates": "Once upon a time"}'))),
    "an empty body": Mood(always(Raw(""))),
    "a proxy's page": Mood(always(proxy_page())),
    "a proxy's error": Mood(always(proxy_page(502)), asked=TRIES),
    "an error in broken JSON": Mood(always(Raw('{"error', 503))),
    # Blocked and silent
    "a blocked prompt": Mood((Blocked(),)),
    "SAFETY": Mood((stopped("SAFETY"),)),
    "RECITATION": Mood((stopped("RECITATION"),)),
    "PROHIBITED_CONTENT": Mood((stopped("PROHIBITED_CONTENT"),)),
    "SAFETY after some words": Mood((stopped("SAFETY", "Once upon"),), "Once upon"),
    "no candidate": Mood((nothing(),)),
    "no content": Mood((Reply(None),)),
    "no parts": Mood((Reply(()),)),
    "only thoughts": Mood((only_thoughts(),)),
    "cut in its thoughts": Mood((only_thoughts(finish="MAX_TOKENS"),)),
    "cut before a word": Mood((cut(""),)),
    "MALFORMED_FUNCTION_CALL": Mood((stopped("MALFORMED_FUNCTION_CALL"),)),
    # Answers all the same
    "cut": Mood((cut("Once upon a"),), "Once upon a"),
    "no reason to stop": Mood((Reply(({"text": "Once"},), None),), "Once"),
    "split": Mood((split("Once upon a time", 3),), "Once upon a time"),
    "thoughts first": Mood((thinking("It is 42", thought=THOUGHT),), "It is 42"),
    "words beside a call": Mood(
        (beside("Let me look.", "load_memory", query="x"), "Found it."),
        "Found it.",
        "Let me look.\nFound it.",
        asked=2,
    ),
    "words beside a call and none after": Mood(
        (beside("Let me look.", "load_memory", query="x"), Reply(None)), "Let me look.", asked=2
    ),
    "words beside a call and a failure after": Mood(
        (beside("Let me look.", "load_memory", query="x"), Failure(400)),
        streamed=f"Let me look.\n{APOLOGY}",
        asked=2,
    ),
    "a call of no tool": Mood((call("nonsense"), "Sorry, there is none."), "Sorry, there is none.", asked=2),
}


def be_hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every client of ours come back at once; pauses that are named stay."""
    for name, seconds in {"FIRST_PAUSE": 0.01, "LONGEST_PAUSE": 0.01, "JITTER": 0.0}.items():
        monkeypatch.setattr(gemini, name, seconds)
    for name, seconds in {"FIRST_DELAY": 0.01, "MAX_DELAY": 0.01, "JITTER": 0.0}.items():
        monkeypatch.setattr(gemini_parts, name, seconds)
