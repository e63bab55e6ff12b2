"""Takes the screenshot of `adk web` for the docs: `python -m support.cli.docs_screenshot`, run in tests/."""

from __future__ import annotations

import tempfile
from pathlib import Path

from support.checkout import ROOT
from support.cli import chromium
from support.hosts.adk_process import AgentsFolder, adk_server

SCREENSHOT_PATH = ROOT / "docs" / "images" / "adk-web.png"
AGENT_PATH = ROOT / "docs" / "examples" / "agents" / "assistant" / "agent.py"
WINDOW_SIZE_FLAG = "--window-size=1000,760"
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


def take_screenshot(folder: Path) -> bytes:
    """Follow the page in a browser and return the screenshot."""
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


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        SCREENSHOT_PATH.write_bytes(take_screenshot(Path(temporary)))
