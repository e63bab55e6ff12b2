"""Takes the screenshots of the docs: `python -m support.cli.docs_screenshot`, run in tests/."""

from __future__ import annotations

import asyncio
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from gaia_memory import NewFact, open_memory
from gaia_memory.testing import FakeClock
from support.checkout import ROOT
from support.cli import chromium
from support.cli.dashboard import DashboardPage, served_home
from support.hosts.adk_process import AgentsFolder, adk_server

IMAGES = ROOT / "docs" / "images"
AGENT_PATH = ROOT / "docs" / "examples" / "agents" / "assistant" / "agent.py"
WINDOW_SIZE_FLAG = "--window-size=1000,760"
MONDAY = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)
# Fonts and icons come from the network; without it the page shows the names of the icons.
HIDE_ICONS_SCRIPT = """
    const style = document.createElement('style');
    style.textContent = "mat-icon, .material-symbols-outlined { visibility: hidden !important }"
        + "* { font-family: 'DejaVu Sans', sans-serif !important }";
    document.head.append(style);
    document.querySelector("[aria-label='Toggle side panel']").click();
    const box = document.querySelector('textarea.chat-input-box');
    box.value = '';
    box.dispatchEvent(new Event('input'));
    box.blur();
"""


def show_adk_web(folder: Path) -> bytes:
    """Follow the tutorial's page in a browser and return a screenshot."""
    agents = AgentsFolder(folder / "agents", assistant=AGENT_PATH.read_text(encoding="utf-8"))
    chromium.FLAGS = (*chromium.FLAGS, WINDOW_SIZE_FLAG)
    with adk_server("web", agents, plugins=()) as server, chromium.open_page(server.url, folder / "browser") as page:
        page.select_agent("assistant")
        page.send_message("My sister is called Noa", "Noted.")
        page.send_message("/remember I'm allergic to nuts", "I will remember")
        page.send_message("/reset", "A fresh start")
        page.start_new_session()
        page.send_message("What do you know about me?", "nuts")
        page.send_message("/remember My favourite colour is teal", "I will remember")
        page.send_message("/memory", "3 facts")
        page.execute_script(HIDE_ICONS_SCRIPT)
        return page.screenshot()


def show_dashboard(folder: Path) -> bytes:
    """Correct a fact in a browser and return a screenshot of its card."""
    config = folder / "gaia.yaml"
    config.write_text(f"home: {folder / 'home'}\nmodel: offline\n", encoding="utf-8")
    asyncio.run(_remember(config))
    with (
        served_home(config, folder) as address,
        chromium.open_browser(folder / "browser", "--window-size=1000,960") as session,
    ):
        page = DashboardPage(session)
        page.log_in(address, (folder / "home" / "server.token").read_text(encoding="utf-8").strip())
        page.follow("ada")
        page.follow("Lives in Oslo with Noa")
        page.type_into("//textarea", "Lives in Bergen with Noa")
        page.click("//button[normalize-space()='Save']")
        page.wait_for_text("replaced")
        return page.screenshot()


async def _remember(config: Path) -> None:
    async with open_memory(config, clock=FakeClock(MONDAY)) as gaia:
        fact = NewFact("Lives in Oslo with Noa", said_at=MONDAY, session_id="ada:telegram", category="home")
        await gaia.memory.add(gaia.scope("ada"), [fact])


if __name__ == "__main__":
    for name, show in {"adk-web": show_adk_web, "dashboard": show_dashboard}.items():
        with tempfile.TemporaryDirectory() as temporary:
            (IMAGES / f"{name}.png").write_bytes(show(Path(temporary)))
