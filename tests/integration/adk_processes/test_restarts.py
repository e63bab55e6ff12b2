"""A server that ends, as it is told to or by a crash, and comes back: over the session services ADK makes itself."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from support.adk_process import Agents, serving, wait_for
from support.mind_of_agents import Mind

IDLE = "sessions: {idle_consolidate_minutes: 0.02}\n"
SOON = 10.0
"""Seconds in which a server ends that was told to: longer, and a service manager kills it."""


def test_after_a_restart_everything_is_known_and_what_waited_is_learned(tmp_path: Path, mind: Mind) -> None:
    """With the sessions where `adk` keeps them by itself, in a folder of each agent."""
    agents = Agents(tmp_path / "agents")
    with serving("api_server", agents, environ=mind.gemini.environment) as first:
        for user in ("ada", "bob"):
            first.begin(user=user)
        first.say("/remember I like teal")
        first.say("I moved to Berlin")
        first.say("I play jazz", user="bob")
        told = time.monotonic()
        first.stop()
    assert time.monotonic() - told < SOON
    assert agents.facts() == {("assistant", "ada"): ["I like teal"]}

    agents.configure(IDLE)
    with serving("api_server", agents, environ=mind.gemini.environment) as second:
        assert second.say("Where do I live?") == "re Where do I live?"
        [request] = mind.asked("Where do I live?")
        assert "- I like teal" in request.system
        assert request.contents == "I moved to Berlin\nre I moved to Berlin\nWhere do I live?"
        # Bob says nothing: somebody else's message has made his sessions readable.
        wait_for(lambda: agents.texts("bob") == ["I play jazz"], told=lambda: str(agents.facts()))
        wait_for(lambda: "I moved to Berlin" in agents.texts("ada"), told=lambda: str(agents.facts()))
    assert (agents.folder / "assistant" / ".adk" / "session.db").exists()


def test_a_server_killed_in_a_turn_comes_back_and_loses_nothing(tmp_path: Path, mind: Mind) -> None:
    """With the sessions in ADK's own SQLite; the turn's message was said, its answer never came."""
    agents = Agents(tmp_path / "agents", IDLE)
    sessions = f"sqlite:///{tmp_path / 'sessions.db'}"
    with ThreadPoolExecutor(1) as aside, mind.held("agent", "comet") as asked:
        with serving("api_server", agents, sessions=sessions, environ=mind.gemini.environment) as first:
            first.begin()
            first.say("/remember I like amber")
            turn = aside.submit(first.post, "I saw a comet")
            assert asked.wait(10)
            first.kill()
        assert isinstance(turn.exception(10), httpx.HTTPError)

    with serving("api_server", agents, sessions=sessions, environ=mind.gemini.environment) as second:
        assert second.say("Are you there?") == "re Are you there?"
        [request] = mind.asked("Are you there?")
        assert "- I like amber" in request.system
        assert request.contents == "I saw a comet\nAre you there?"
        wait_for(lambda: "Are you there?" in agents.texts(), told=lambda: str(agents.facts()))
        assert agents.texts() == ["I like amber", "I saw a comet", "Are you there?"]
        wait_for(lambda: second.session()["events"][-1]["actions"].get("rewindBeforeInvocationId"))
        assert second.say("Still?") == "re Still?"
    assert mind.asked("Still?")[0].contents == "Still?"
