"""The models of agents that run as processes: they answer by rules, so that many users may chat at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gaia_memory.adk.plugins.turn_notes import without_notes
from support.servers.fake_gemini import Answer, FakeGemini, Kind, Request, call, facts

LOOK_UP_PREFIX = "look up "


class RuleBasedGemini:
    """The models of all agents: they echo, look things up when asked, and learn each message of the user."""

    def __init__(self, gemini: FakeGemini) -> None:
        """Install the rules in the server."""
        self.gemini = gemini
        self._gates: dict[tuple[Kind, str], tuple[threading.Event, threading.Event]] = {}
        gemini.set_default("agent", self._answer)
        gemini.set_default("extractor", self._learn)
        gemini.set_default("profile", self._write_profile)

    @contextmanager
    def paused(self, kind: Kind, word: str) -> Iterator[threading.Event]:
        """Block requests of a kind that contain this word until the block ends; the event is set when one waits."""
        reached, gate = self._gates[kind, word] = threading.Event(), threading.Event()
        try:
            yield reached
        finally:
            del self._gates[kind, word]
            gate.set()

    def requests_ending_in(self, user_said: str) -> list[Request]:
        """Return the agents' requests that end in these words, oldest first."""
        return [each for each in self.gemini.requests_of("agent") if each.contents.endswith(user_said)]

    def _answer(self, body: dict[str, Any]) -> Answer:
        last = body["contents"][-1]["parts"][-1]
        if "functionResponse" in last:
            return "found " + json.dumps(last["functionResponse"]["response"])
        said = without_notes(str(last.get("text", "")))
        self._wait_at_gate("agent", said)
        return (
            call("load_memory", query=said.removeprefix(LOOK_UP_PREFIX))
            if said.startswith(LOOK_UP_PREFIX)
            else f"re {said}"
        )

    def _learn(self, body: dict[str, Any]) -> Answer:
        messages, _ = json.JSONDecoder().raw_decode(_text(body).partition("## New Messages\n")[2])
        said = [message["content"] for message in messages if message["role"] == "user"]
        self._wait_at_gate("extractor", " ".join(said))
        return facts(*said)

    def _write_profile(self, body: dict[str, Any]) -> Answer:
        return _text(body).partition("<FACTS>\n")[2].partition("\n</FACTS>")[0]

    def _wait_at_gate(self, kind: Kind, text: str) -> None:
        for (held, word), (came, gate) in list(self._gates.items()):
            if held == kind and word in text:
                came.set()
                gate.wait(30)


def _text(body: dict[str, Any]) -> str:
    return "".join(part["text"] for content in body["contents"] for part in content["parts"])
