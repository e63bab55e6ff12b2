"""A server that stops or crashes and comes back, and two servers at once."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from support.hosts.adk_process import APP, AgentsFolder, Server, adk_server, wait_for
from support.servers.rule_based_gemini import RuleBasedGemini

IDLE = "sessions: {idle_consolidate_minutes: 0.02, clear: rewind}\n"
SOON = 60.0
"""Seconds in which a server ends that was told to also where the machine is busy."""


@pytest.mark.slow
def test_stopping_or_killing_the_server_loses_nothing(tmp_path: Path, gemini_rules: RuleBasedGemini) -> None:
    """After each restart, pending conversations are learned, including those without a further message."""
    agents = AgentsFolder(tmp_path / "agents")
    sessions, environ = f"sqlite:///{tmp_path / 'sessions.db'}", gemini_rules.gemini.environment
    with adk_server("api_server", agents, sessions=sessions, environ=environ) as told:
        for user in ("ada", "bob"):
            told.create_session(user=user)
        told.send("/remember I like teal")
        told.send("I moved to Berlin")
        told.send("I play jazz", user="bob")
        begun = time.monotonic()
        told.stop()
        assert time.monotonic() - begun < SOON
    assert agents.facts() == {(APP, "ada"): ["I like teal"]}

    with ThreadPoolExecutor(1) as aside, gemini_rules.paused("agent", "comet") as asked:
        with adk_server("api_server", agents, sessions=sessions, environ=environ) as killed:
            assert killed.send("Where do I live?") == "re Where do I live?"
            turn = aside.submit(killed.post, "I saw a comet")
            assert asked.wait(60)
            killed.kill()
        assert isinstance(turn.exception(10), httpx.HTTPError)
    [request] = gemini_rules.requests_ending_in("Where do I live?")
    assert "- I like teal" in request.system
    assert request.contents == "I moved to Berlin\nre I moved to Berlin\nWhere do I live?"

    agents.configure(IDLE)
    with adk_server("api_server", agents, sessions=sessions, environ=environ) as back:
        assert back.send("I am back home") == "re I am back home"
        assert gemini_rules.requests_ending_in("I am back home")[0].contents.endswith("I saw a comet\nI am back home")
        # Bob says nothing: somebody else's message has made his sessions readable.
        wait_for(lambda: agents.fact_texts("bob") == ["I play jazz"], describe=lambda: str(agents.facts()))
        wait_for(lambda: "I am back home" in agents.fact_texts(), describe=lambda: str(agents.facts()))
        said = ["I moved to Berlin", "I saw a comet", "I am back home"]
        assert agents.fact_texts() == ["I like teal", *said]
        wait_for(lambda: back.session()["events"][-1]["actions"].get("rewindBeforeInvocationId"))
        assert back.send("Still?") == "re Still?"
    assert gemini_rules.requests_ending_in("Still?")[0].contents == "Still?"


@pytest.mark.slow
def test_two_servers_share_their_users_without_an_error(tmp_path: Path, gemini_rules: RuleBasedGemini) -> None:
    """Users talk to both while either learns and clears: no turn fails, and each fact is stored once."""
    agents = AgentsFolder(tmp_path / "agents", IDLE)
    sessions, environ = f"sqlite+aiosqlite:///{tmp_path / 'sessions.db'}", gemini_rules.gemini.environment
    people = [f"user{number}" for number in range(6)]
    with (
        adk_server("api_server", agents, sessions=sessions, environ=environ) as one,
        adk_server("api_server", agents, sessions=sessions, environ=environ) as other,
        ThreadPoolExecutor(len(people)) as together,
    ):
        kept = dict(zip(people, together.map(lambda user: talk(user, [one, other]), people), strict=True))
        wait_for(lambda: all(set(kept[user]) <= set(agents.fact_texts(user)) for user in people), seconds=60.0)

    assert {user: sorted(agents.fact_texts(user)) for user in people} == {user: sorted(kept[user]) for user in people}
    learned = "\n".join(request.contents for request in gemini_rules.gemini.requests_of("extractor"))
    assert [said for user in people for said in kept[user] if learned.count(f'"{said}"') > 1] == []
    assert '"/' not in learned


def talk(user: str, servers: list[Server]) -> list[str]:
    """Send messages and commands with pauses for the sweep; return the words that must be known afterwards."""
    chance = random.Random(user)
    servers[0].create_session(user=user)
    kept = []
    for number in range(25):
        fact = f"{user} says {number}."
        text = chance.choice([fact, fact, fact, f"/remember {fact}", "/memory", "/reset"])
        chance.choice(servers).send(text, user=user)
        kept += [fact] if fact in text else []
        time.sleep(chance.choice([0, 0.05, 0.9, 1.1, 1.2, 1.3, 1.5, 2]))
    return kept
