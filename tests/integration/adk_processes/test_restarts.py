"""A server that ends, as it is told to or by a crash, and comes back; and two at once."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from support.adk_process import APP, Agents, Server, serving, wait_for
from support.mind_of_agents import Mind

IDLE = "sessions: {idle_consolidate_minutes: 0.02}\n"
SOON = 60.0
"""Seconds in which a server ends that was told to also where the machine is busy."""


def test_nothing_is_lost_when_a_server_ends_as_it_is_told_or_is_killed(tmp_path: Path, mind: Mind) -> None:
    """It comes back each time; what waits to be learned is learned then, also of those who say nothing more."""
    agents = Agents(tmp_path / "agents")
    sessions, environ = f"sqlite:///{tmp_path / 'sessions.db'}", mind.gemini.environment
    with serving("api_server", agents, sessions=sessions, environ=environ) as told:
        for user in ("ada", "bob"):
            told.begin(user=user)
        told.say("/remember I like teal")
        told.say("I moved to Berlin")
        told.say("I play jazz", user="bob")
        begun = time.monotonic()
        told.stop()
        assert time.monotonic() - begun < SOON
    assert agents.facts() == {(APP, "ada"): ["I like teal"]}

    with ThreadPoolExecutor(1) as aside, mind.held("agent", "comet") as asked:
        with serving("api_server", agents, sessions=sessions, environ=environ) as killed:
            assert killed.say("Where do I live?") == "re Where do I live?"
            turn = aside.submit(killed.post, "I saw a comet")
            assert asked.wait(60)
            killed.kill()
        assert isinstance(turn.exception(10), httpx.HTTPError)
    [request] = mind.asked("Where do I live?")
    assert "- I like teal" in request.system
    assert request.contents == "I moved to Berlin\nre I moved to Berlin\nWhere do I live?"

    agents.configure(IDLE)
    with serving("api_server", agents, sessions=sessions, environ=environ) as back:
        assert back.say("Are you there?") == "re Are you there?"
        assert mind.asked("Are you there?")[0].contents.endswith("I saw a comet\nAre you there?")
        # Bob says nothing: somebody else's message has made his sessions readable.
        wait_for(lambda: agents.texts("bob") == ["I play jazz"], told=lambda: str(agents.facts()))
        wait_for(lambda: "Are you there?" in agents.texts(), told=lambda: str(agents.facts()))
        said = ["I moved to Berlin", "Where do I live?", "I saw a comet", "Are you there?"]
        assert agents.texts() == ["I like teal", *said]
        wait_for(lambda: back.session()["events"][-1]["actions"].get("rewindBeforeInvocationId"))
        assert back.say("Still?") == "re Still?"
    assert mind.asked("Still?")[0].contents == "Still?"


@pytest.mark.slow
def test_two_servers_share_their_people_without_an_error(tmp_path: Path, mind: Mind) -> None:
    """Everybody talks to both, while either learns and clears them: no turn fails, and all is kept once."""
    agents = Agents(tmp_path / "agents", IDLE)
    sessions, environ = f"sqlite+aiosqlite:///{tmp_path / 'sessions.db'}", mind.gemini.environment
    people = [f"user{number}" for number in range(6)]
    with (
        serving("api_server", agents, sessions=sessions, environ=environ) as one,
        serving("api_server", agents, sessions=sessions, environ=environ) as other,
        ThreadPoolExecutor(len(people)) as together,
    ):
        kept = dict(zip(people, together.map(lambda user: talk(user, [one, other]), people), strict=True))
        wait_for(lambda: all(set(kept[user]) <= set(agents.texts(user)) for user in people), seconds=60.0)

    assert {user: sorted(agents.texts(user)) for user in people} == {user: sorted(kept[user]) for user in people}
    learned = "\n".join(request.contents for request in mind.gemini.of("extractor"))
    assert [said for user in people for said in kept[user] if learned.count(f'"{said}"') > 1] == []
    assert '"/' not in learned


def talk(user: str, servers: list[Server]) -> list[str]:
    """Say and command things with pauses in which the sweep may come; return what is to be known then."""
    chance = random.Random(user)
    servers[0].begin(user=user)
    kept = []
    for number in range(25):
        fact = f"{user} says {number}."
        text = chance.choice([fact, fact, fact, f"/remember {fact}", "/memory", "/reset"])
        chance.choice(servers).say(text, user=user)
        kept += [fact] if fact in text else []
        time.sleep(chance.choice([0, 0.05, 0.9, 1.1, 1.2, 1.3, 1.5, 2]))
    return kept
