"""Every kind of answer from Gemini, with the reply to the user and the number of requests."""

from __future__ import annotations

from dataclasses import dataclass

from gaia_memory import model_calls
from gaia_memory.adk.conversation import APOLOGY
from support.servers.fake_gemini import (
    Answer,
    Blocked,
    Drop,
    Failure,
    Hang,
    Raw,
    Reply,
    call,
    finished_with,
    in_parts,
    invalid_key,
    no_candidate,
    only_thoughts,
    proxy_page,
    text_and_call,
    truncated,
    with_thoughts,
)

THOUGHT = "Let me think."
SECRET = "no-real-key"
SHORT_TIMEOUT_SECONDS = 2.0
"""Seconds after which an impatient client gives up."""

ANSWER_REPEATS = 9
"""More answers than any test requests."""


@dataclass(frozen=True)
class Scenario:
    """The successive answers of the agent's model, and the expected outcome.

    `streamed_reply` is the text of a stream if it differs, `request_count` the number of requests in a turn. A scenario
    that `hangs` is not awaited for longer than `SHORT_TIMEOUT_SECONDS`.
    """

    answers: tuple[Answer, ...]
    reply: str = APOLOGY
    streamed_reply: str | None = None
    request_count: int = 1
    streaming_request_count: int | None = None
    hangs: bool = False


def repeated(answer: Answer) -> tuple[Answer, ...]:
    """Return a script that repeats a failure."""
    return (answer,) * ANSWER_REPEATS


MAX_ATTEMPTS = model_calls.AGENT.max_attempts
INTERRUPTED_REPLY = f"half of\n{APOLOGY}"

AGENT_SCENARIOS = {
    # Refusals
    "429 once": Scenario((Failure(429),), "ok", request_count=2),
    "429 always": Scenario(repeated(Failure(429)), request_count=MAX_ATTEMPTS),
    "429, back in 0.2 s": Scenario((Failure(429, 0.2),), "ok", request_count=2),
    "429, back in a minute": Scenario(repeated(Failure(429, 60, header=False))),
    "500 once": Scenario((Failure(500),), "ok", request_count=2),
    "503 always": Scenario(repeated(Failure(503)), request_count=MAX_ATTEMPTS),
    "504 twice": Scenario((Failure(504), Failure(504)), "ok", request_count=3),
    "a refused request": Scenario(repeated(Failure(400))),
    "a wrong key": Scenario(repeated(invalid_key())),
    "no permission": Scenario(repeated(Failure(403))),
    "no such model": Scenario(repeated(Failure(404))),
    # The connection
    "dropped once": Scenario((Drop("headers"),), "ok", request_count=2),
    "dropped always": Scenario(repeated(Drop("headers")), request_count=MAX_ATTEMPTS),
    "dropped in the body": Scenario(
        (Drop("body"),), "ok", INTERRUPTED_REPLY, request_count=2, streaming_request_count=1
    ),
    "a hang": Scenario(repeated(Hang()), hangs=True),
    "a hang in the middle": Scenario(repeated(Hang("half of")), streamed_reply=INTERRUPTED_REPLY, hangs=True),
    "an error in the middle": Scenario(
        (Failure(503, partial_text="half of"),), "ok", INTERRUPTED_REPLY, request_count=2, streaming_request_count=1
    ),
    # Not an answer of Gemini
    "broken JSON": Scenario(repeated(Raw('{"candidates": [{'))),
    "no JSON": Scenario(repeated(Raw("Once upon a time"))),
    "JSON of another form": Scenario(repeated(Raw('{"candidates": "Once upon a time"}'))),
    "an empty body": Scenario(repeated(Raw(""))),
    "a proxy's page": Scenario(repeated(proxy_page())),
    "a proxy's error": Scenario(repeated(proxy_page(502)), request_count=MAX_ATTEMPTS),
    "an error in broken JSON": Scenario(repeated(Raw('{"error', 503))),
    # Blocked and empty
    "a blocked prompt": Scenario((Blocked(),)),
    "SAFETY": Scenario((finished_with("SAFETY"),)),
    "RECITATION": Scenario((finished_with("RECITATION"),)),
    "PROHIBITED_CONTENT": Scenario((finished_with("PROHIBITED_CONTENT"),)),
    "SAFETY after some words": Scenario((finished_with("SAFETY", "Once upon"),), "Once upon"),
    "no candidate": Scenario((no_candidate(),)),
    "no content": Scenario((Reply(None),)),
    "no parts": Scenario((Reply(()),)),
    "only thoughts": Scenario((only_thoughts(),)),
    "cut in its thoughts": Scenario((only_thoughts(finish="MAX_TOKENS"),)),
    "cut before a word": Scenario((truncated(""),)),
    "MALFORMED_FUNCTION_CALL": Scenario((finished_with("MALFORMED_FUNCTION_CALL"),)),
    # Successful answers
    "cut": Scenario((truncated("Once upon a"),), "Once upon a"),
    "no reason to stop": Scenario((Reply(({"text": "Once"},), None),), "Once"),
    "split": Scenario((in_parts("Once upon a time", 3),), "Once upon a time"),
    "thoughts first": Scenario((with_thoughts("It is 42", thought=THOUGHT),), "It is 42"),
    "words beside a call": Scenario(
        (text_and_call("Let me look.", "load_memory", query="x"), "Found it."),
        "Found it.",
        "Let me look.\nFound it.",
        request_count=2,
    ),
    "words beside a call and none after": Scenario(
        (text_and_call("Let me look.", "load_memory", query="x"), Reply(None)), "Let me look.", request_count=2
    ),
    "words beside a call and a failure after": Scenario(
        (text_and_call("Let me look.", "load_memory", query="x"), Failure(400)),
        streamed_reply=f"Let me look.\n{APOLOGY}",
        request_count=2,
    ),
    "a call of no tool": Scenario(
        (call("nonsense"), "Sorry, there is none."), "Sorry, there is none.", request_count=2
    ),
}
