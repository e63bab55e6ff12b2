"""Takes the picture of `adk web` for the docs: `python -m support.docs_picture`, run in tests/."""

from __future__ import annotations

import tempfile
from pathlib import Path

from support import chromium
from support.adk_process import Agents, serving
from support.checkout import ROOT

PICTURE = ROOT / "docs" / "images" / "adk-web.png"
AGENT = ROOT / "docs" / "examples" / "agents" / "assistant" / "agent.py"
SIZE = "--window-size=1000,760"
# Fonts and icons come from the network; without it the names of the icons would be shown.
TIDY = """
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


def take(folder: Path) -> bytes:
    """Do in a browser what the page says, and return what is to be seen."""
    agents = Agents(folder / "agents", assistant=AGENT.read_text(encoding="utf-8"))
    chromium.FLAGS = (*chromium.FLAGS, SIZE)
    with serving("web", agents, plugins=()) as server, chromium.opened(server.url, folder / "browser") as page:
        page.choose("assistant")
        page.say("My sister is called Noa", "Noted.")
        page.say("/remember I'm allergic to nuts", "I will remember")
        page.say("/reset", "A fresh start")
        page.begin_anew()
        page.say("What do you know about me?", "nuts")
        page.say("/remember My favourite colour is teal", "I will remember")
        page.say("/memory", "3 facts")
        page.run(TIDY)
        return page.picture()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        PICTURE.write_bytes(take(Path(temporary)))
