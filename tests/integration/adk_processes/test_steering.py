"""`adk web`: a user searches and forgets facts, and an admin switches memory off and on."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.hosts.adk_process import OFFLINE_MODEL, AgentsFolder, adk_server, agent_source

SETTINGS = "# ours\npeople: {users: {boss: {admin: true}}}\nsessions: {idle_consolidate_minutes: 60}\n"


@pytest.mark.slow
@pytest.mark.acceptance("C07", "C10", "C16", "C17")
def test_memory_is_controlled_by_commands_in_adk_web(tmp_path: Path) -> None:
    """Through the API that the browser uses; the configuration file keeps everything but the one setting."""
    agents = AgentsFolder(tmp_path / "agents", SETTINGS, assistant=agent_source(model=OFFLINE_MODEL))
    with adk_server("web", agents) as server:
        server.create_session()
        server.create_session(user="boss")
        for fact in ("I like teal", "I am allergic to nuts", "I live in Haifa"):
            server.send(f"/remember {fact}")
        found = server.send("/memory NUTS")
        shown = server.send("/forget nuts")
        kept = len(agents.fact_texts())
        done = server.send("/forget nuts yes")
        left = agents.fact_texts()
        before = agents.config.read_text(encoding="utf-8")
        refused = server.send("/memory off")
        untouched = agents.config.read_text(encoding="utf-8")
        off = server.send("/memory off", user="boss")
        written = agents.config.read_text(encoding="utf-8")
        without = server.send("/memory")
        on = server.send("/memory on", user="boss")
        back = server.send("/memory")

    assert found.splitlines()[1:] == shown.splitlines()[1:2] == ["- 2. I am allergic to nuts"]
    assert kept == 3
    assert "1 fact" in done
    assert left == ["I like teal", "I live in Haifa"]
    assert "Only an admin" in refused
    assert untouched == before
    assert "Memory is off now" in off
    assert written == f"{before}memory: {{enabled: false}}\n"
    assert "Memory is off" in without
    assert "Memory is on again" in on
    assert back == "I remember 2 facts about you:\n1. I like teal\n2. I live in Haifa"
