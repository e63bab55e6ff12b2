"""The screenshots of the docs show what the pages show today.

`GAIA_UPDATE_SCREENSHOTS=1 pytest -m "slow or not slow" tests/integration/server/test_docs_screenshots.py` takes them
anew. Each has the texts of its page in a `tEXt` chunk: pixels differ between browsers and days.
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gaia_memory import NewFact, open_memory
from gaia_memory.testing import FakeClock
from support.checkout import ROOT
from support.cli import chromium
from support.cli.cli_runner import gaia_home, write_offline_config
from support.cli.dashboard import DashboardPage, served_home
from support.hosts.adk_process import AgentsFolder, adk_server

pytestmark = [pytest.mark.heavy, chromium.NEEDS_CHROMIUM]

MUST_UPDATE = os.environ.get("GAIA_UPDATE_SCREENSHOTS") == "1"
IMAGES = ROOT / "docs" / "images"
AGENT_PATH = ROOT / "docs" / "examples" / "agents" / "assistant" / "agent.py"
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


LABELS_SCRIPT = """
    return [...document.querySelectorAll('h1, h2, h3, nav a, label, button, summary, dt, th')]
        .map(each => each.innerText.trim().replace(/#[0-9a-f]+$/, '#')).filter(text => text)
"""
_SIGNATURE_BYTES, _HEADER_BYTES = 8, 25
_KEYWORD = b"Description\0"


@pytest.mark.slow
def test_the_picture_of_the_tutorial_shows_its_conversation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of ADK, as somebody who follows the tutorial sees it."""
    agents = AgentsFolder(tmp_path / "agents", assistant=AGENT_PATH.read_text(encoding="utf-8"))
    monkeypatch.setattr(chromium, "FLAGS", (*chromium.FLAGS, "--window-size=1000,760"))
    with adk_server("web", agents, plugins=()) as server, chromium.open_page(server.url, tmp_path / "browser") as page:
        page.select_agent("assistant")
        page.send_message("My sister is called Noa", "Noted.")
        page.send_message("/remember I'm allergic to nuts", "I will remember")
        page.send_message("/reset", "A fresh start")
        page.start_new_session()
        page.send_message("What am I allergic to?", "nuts")
        page.send_message("/remember My favourite colour is teal", "I will remember")
        page.send_message("/memory", "3 facts")
        page.execute_script(HIDE_ICONS_SCRIPT)
        texts, picture = page.messages(), page.screenshot()

    require_current("adk-web", texts, picture)


@pytest.mark.slow
def test_the_picture_of_the_dashboard_shows_the_card_of_a_fact(tmp_path: Path) -> None:
    """Corrected a moment ago."""
    config = write_offline_config(tmp_path)
    asyncio.run(_remember(config))
    with (
        served_home(config, tmp_path) as address,
        chromium.open_browser(tmp_path / "browser", "--window-size=1000,960") as session,
    ):
        page = DashboardPage(session)
        page.log_in(address, (gaia_home() / "server.token").read_text(encoding="utf-8").strip())
        page.follow("ada")
        page.follow("Lives in Oslo with Noa")
        page.type_into("//textarea", "Lives in Bergen with Noa")
        page.click("//button[normalize-space()='Save']")
        page.wait_for_text("replaced")
        labels, picture = page.execute_script(LABELS_SCRIPT), page.screenshot()

    require_current("dashboard", labels, picture)


async def _remember(config: Path) -> None:
    async with open_memory(config, clock=FakeClock(MONDAY)) as gaia:
        fact = NewFact("Lives in Oslo with Noa", said_at=MONDAY, session_id="ada:telegram", category="home")
        await gaia.memory.add(gaia.scope("ada"), [fact])


def require_current(name: str, texts: list[str], picture: bytes) -> None:
    """Check that the picture in the docs was taken of a page with these texts; replace it first if asked to."""
    path = IMAGES / f"{name}.png"
    if MUST_UPDATE:
        content = _KEYWORD + json.dumps(texts).encode("ascii")
        place = _SIGNATURE_BYTES + _HEADER_BYTES
        path.write_bytes(picture[:place] + _chunk(b"tEXt", content) + picture[place:])
    assert texts_of(path.read_bytes()) == texts


def texts_of(picture: bytes) -> list[str]:
    """Return the texts of the page that a picture was taken of."""
    start = picture.index(b"tEXt" + _KEYWORD)
    [size] = struct.unpack(">I", picture[start - 4 : start])
    return list(json.loads(picture[start + 4 + len(_KEYWORD) : start + 4 + size]))


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
