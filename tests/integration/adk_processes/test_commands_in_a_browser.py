"""The slash commands in `adk web`, typed and read in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import chromium
from support.hosts.adk_process import APP, OFFLINE_MODEL, AgentsFolder, adk_server, agent_source

pytestmark = [chromium.NEEDS_CHROMIUM, pytest.mark.slow]

SETTINGS = "sessions: {idle_consolidate_minutes: 60}\n"
BROWSERS_USER = "user"
ADMIN = f"people: {{users: {{{BROWSERS_USER}: {{admin: true}}}}}}\n"
FACTS = ("I like mauve", "I am allergic to nuts", "I live in Haifa", "I own a boat")


@pytest.mark.acceptance("C07", "C09", "C10", "C15")
def test_a_user_lists_searches_and_forgets_facts(tmp_path: Path) -> None:
    """Rows keep their numbers, a bare yes to a question about rows forgets nothing, and finally everything goes."""
    agents = AgentsFolder(tmp_path / "agents", SETTINGS, assistant=agent_source(model=OFFLINE_MODEL))
    with adk_server("web", agents) as server, chromium.open_page(server.url, tmp_path / "browser") as page:
        page.select_agent(APP)
        page.send_message("/help", "/forget [ROWS or WORDS]")
        for fact in FACTS:
            page.send_message(f"/remember {fact}", f"I will remember: {fact}")
        page.send_message("/memory", "I own a boat")
        listed = page.answer("/memory")
        page.send_message("/memory nuts", "I am allergic to nuts")
        found = page.answer("/memory nuts")
        page.send_message("/forget 2-3", "Send /forget 2-3 yes to confirm")
        page.send_message("/forget yes", "Nothing is forgotten yet")
        kept = agents.fact_texts(BROWSERS_USER)
        page.send_message("/forget 2-3 yes", "I forgot 2 facts about you.")
        left = agents.fact_texts(BROWSERS_USER)
        page.send_message("What does this do: /forget yes", "Noted.")
        page.send_message("/forget", "This forgets 2 facts about you")
        page.send_message("/forget yes!", "I forgot 2 facts about you.")
        page.start_new_session()
        page.send_message("/memory", "Nothing is stored about you yet.")

    assert "I remember 4 facts about you" in listed
    assert "I found 1 fact about you" in found
    assert "Haifa" not in found
    assert kept == list(FACTS)
    assert left == [FACTS[0], FACTS[3]]
    assert agents.fact_texts(BROWSERS_USER) == []


@pytest.mark.acceptance("C16", "C17")
def test_only_an_admin_can_switch_memory_off_and_on(tmp_path: Path) -> None:
    """Others are refused and gaia.yaml is unchanged; once the file names the user as admin, the next message works."""
    agents = AgentsFolder(tmp_path / "agents", SETTINGS, assistant=agent_source(model=OFFLINE_MODEL))
    with adk_server("web", agents) as server, chromium.open_page(server.url, tmp_path / "browser") as page:
        page.select_agent(APP)
        page.send_message("/remember I like mauve", "I will remember: I like mauve")
        before = agents.config.read_text(encoding="utf-8")
        page.send_message("/memory off", "Only an admin can switch memory off or on.")
        untouched = agents.config.read_text(encoding="utf-8")
        agents.configure(SETTINGS + ADMIN)
        page.start_new_session()
        page.send_message("/memory off", "Memory is off now, for all users.")
        off = agents.config.read_text(encoding="utf-8")
        page.send_message("/memory", "Memory is off.")
        page.send_message("/memory on", "Memory is on again, for all users")
        page.start_new_session()
        page.send_message("/memory", "I like mauve")

    assert untouched == before
    assert "enabled: false" in off
    assert "enabled: true" in agents.config.read_text(encoding="utf-8")
