"""`adk web` without a key: over HTTP, while its agents are edited, and in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cli import chromium
from support.hosts.adk_process import APP, OFFLINE_MODEL, AgentsFolder, Server, adk_server, agent_source, wait_for

IDLE = "sessions: {idle_consolidate_minutes: 0.02}\n"


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> AgentsFolder:
    """Return two agents with the offline model, one of which has its own plugins."""
    folder = tmp_path_factory.mktemp("web") / "agents"
    brings = agent_source(model=OFFLINE_MODEL, own_plugins="brings")
    return AgentsFolder(folder, IDLE, assistant=agent_source(model=OFFLINE_MODEL), brings=brings)


@pytest.fixture(scope="module")
def server(agents: AgentsFolder) -> Iterator[Server]:
    """Run the server for the whole module; it watches for edited agents."""
    with adk_server("web", agents, "--reload_agents") as running:
        yield running


@pytest.mark.slow
def test_a_user_is_remembered_across_sessions_without_any_key(server: Server, agents: AgentsFolder) -> None:
    """It takes the steps of a browser, through the same API."""
    server.create_session("one")
    assert server.stream("Hello", session="one") == "Noted."
    assert server.stream("/remember I like teal", session="one") == "I will remember: I like teal"
    server.create_session("two")
    assert 'you said: "I like teal"' in server.stream("What do I like?", session="two")

    server.send("My sister is called Noa", session="one")
    wait_for(lambda: any("Noa" in text for text in agents.fact_texts()), describe=lambda: str(agents.facts()))
    assert "Noa" in server.send("Who is my sister?", session="one")


def test_an_app_with_its_own_plugins_answers_once(server: Server) -> None:
    """`--extra_plugins` adds the same plugins to every app; the second ones do nothing and log it."""
    server.create_session(app="brings")
    assert server.send("/remember I like amber", app="brings") == "I will remember: I like amber"
    assert server.send("/memory", app="brings").startswith("I remember 1 fact about you:\n1. I like amber")
    assert server.log.count("'gaia_memory.MemoryPlugin' does nothing") == 1


def test_an_edited_agent_keeps_its_memory(server: Server, agents: AgentsFolder) -> None:
    """`--reload_agents` closes the Runner with its plugins and creates new ones."""
    server.create_session("before", user="tal")
    server.send("/remember I like green", session="before", user="tal")
    program = agents.folder / APP / "agent.py"
    closed = server.log.count("Closing runner")
    program.write_text(program.read_text(encoding="utf-8").replace("Help the user.", "Be brief."), encoding="utf-8")
    wait_for(lambda: f"Change detected in agents directory: {program}" in server.log, describe=lambda: server.log)

    assert "1. I like green" in server.send("/memory", session="before", user="tal")
    assert server.log.count("Closing runner") == closed + 1
    server.send("My boat is called Argo", session="before", user="tal")
    wait_for(lambda: any("Argo" in text for text in agents.fact_texts("tal")), describe=lambda: str(agents.facts()))


def test_an_edited_gaia_yaml_beside_the_agents_loses_nothing(server: Server, agents: AgentsFolder) -> None:
    """ADK mistakes the file for an unknown agent."""
    server.create_session("edited", user="uri")
    server.send("/remember I like red", session="edited", user="uri")
    agents.configure(f"{IDLE}memory: {{recall_limit: 7}}\n")
    wait_for(lambda: f"Change detected in agents directory: {agents.config}" in server.log, describe=lambda: server.log)

    assert "1. I like red" in server.send("/memory", session="edited", user="uri")
    assert "red" in server.send("What do I like?", session="edited", user="uri")


@chromium.NEEDS_CHROMIUM
def test_in_a_browser_a_user_is_known_in_a_new_session(server: Server, tmp_path: Path) -> None:
    """Open, select the agent, give it something to remember, start a new session, ask."""
    with chromium.open_page(server.url, tmp_path) as page:
        page.select_agent(APP)
        page.send_message("Hello", "Noted.")
        page.send_message("/remember I like mauve", "I will remember: I like mauve")
        page.start_new_session()
        page.send_message("What do I like?", "I like mauve")
        page.send_message("/forget yes", "I forgot 1 fact about you.")
        page.send_message("/memory", "Nothing is stored about you yet.")
