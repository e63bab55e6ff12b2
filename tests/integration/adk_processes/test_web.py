"""`adk web`, keyless: over HTTP, while its agents are edited, and in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import chromium
from support.adk_process import APP, OFFLINE, Agents, Server, bare_agent, serving, wait_for

IDLE = "sessions: {idle_consolidate_minutes: 0.02}\n"


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Agents:
    """Give two agents that answer by rules, one of which brings its plugins along."""
    folder = tmp_path_factory.mktemp("web") / "agents"
    brings = bare_agent(model=OFFLINE, own_plugins="brings")
    return Agents(folder, IDLE, assistant=bare_agent(model=OFFLINE), brings=brings)


@pytest.fixture(scope="module")
def server(agents: Agents) -> Iterator[Server]:
    """Run the server for the whole module; it looks for edited agents."""
    with serving("web", agents, "--reload_agents") as running:
        yield running


def test_a_person_is_remembered_across_sessions_without_any_key(server: Server, agents: Agents) -> None:
    """What `adk web` does in a browser, over the interface the browser uses."""
    server.begin("one")
    assert "offline model" in server.stream("Hello", session="one")
    assert server.stream("/remember I like teal", session="one") == "I will remember: I like teal"
    server.begin("two")
    assert "I like teal" in server.stream("What do you know about me?", session="two")

    server.say("My sister is called Noa", session="one")
    wait_for(lambda: any("Noa" in text for text in agents.texts()), told=lambda: str(agents.facts()))
    assert "Noa" in server.say("Who is my sister?", session="one")


def test_an_app_with_plugins_of_its_own_answers_once(server: Server) -> None:
    """`--extra_plugins` puts the same plugins into every app; the second ones do nothing and say so."""
    server.begin(app="brings")
    assert server.say("/remember I like amber", app="brings") == "I will remember: I like amber"
    assert server.say("/memory", app="brings") == "I remember 1 fact about you:\n1. I like amber"
    assert server.log.count("'gaia_memory.MemoryPlugin' does nothing") == 1


def test_an_edited_agent_keeps_its_memory(server: Server, agents: Agents) -> None:
    """`--reload_agents` closes the Runner with its plugins and makes new ones."""
    server.begin("before", user="tal")
    server.say("/remember I like green", session="before", user="tal")
    program = agents.folder / APP / "agent.py"
    closed = server.log.count("Closing runner")
    program.write_text(program.read_text(encoding="utf-8").replace("Help the user.", "Be brief."), encoding="utf-8")
    wait_for(lambda: f"Change detected in agents directory: {program}" in server.log, told=lambda: server.log)

    assert "1. I like green" in server.say("/memory", session="before", user="tal")
    assert server.log.count("Closing runner") == closed + 1
    server.say("My boat is called Argo", session="before", user="tal")
    wait_for(lambda: any("Argo" in text for text in agents.texts("tal")), told=lambda: str(agents.facts()))


def test_an_edited_gaia_yaml_beside_the_agents_costs_nothing(server: Server, agents: Agents) -> None:
    """ADK takes the file for an agent that nobody knows."""
    server.begin("edited", user="uri")
    server.say("/remember I like red", session="edited", user="uri")
    agents.configure(f"{IDLE}memory: {{recall_limit: 7}}\n")
    wait_for(lambda: f"Change detected in agents directory: {agents.config}" in server.log, told=lambda: server.log)

    assert "1. I like red" in server.say("/memory", session="edited", user="uri")
    assert "red" in server.say("What do I like?", session="edited", user="uri")


@pytest.mark.skipif(
    not (chromium.PROGRAM and chromium.DRIVER), reason="no Chromium here: apt-get install chromium chromium-driver"
)
def test_in_a_browser_a_person_is_known_in_a_new_session(server: Server, tmp_path: Path) -> None:
    """Open, choose the agent, type, tell it something to remember, begin anew, ask."""
    with chromium.opened(server.url, tmp_path) as page:
        page.choose(APP)
        page.say("Hello", "I am the offline model")
        page.say("/remember I like mauve", "I will remember: I like mauve")
        page.begin_anew()
        page.say("What do you know about me?", "I like mauve")
        page.say("/forget yes", "I forgot 1 fact about you.")
        page.say("/memory", "I don't remember anything about you yet.")
