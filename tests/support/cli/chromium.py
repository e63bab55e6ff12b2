"""Pages in Debian's Chromium, driven like a user would: `apt-get install chromium chromium-driver`.

The driver speaks JSON over HTTP (W3C WebDriver), which httpx does: Selenium would be 43 MB for one test.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.hosts.adk_process import kill_process_group, wait_for

CHROMIUM_PATH, CHROMEDRIVER_PATH = shutil.which("chromium"), shutil.which("chromedriver")
_IS_REQUIRED = os.environ.get("GAIA_REQUIRE_CHROMIUM") == "1"
NEEDS_CHROMIUM = pytest.mark.skipif(
    not (CHROMIUM_PATH and CHROMEDRIVER_PATH) and not _IS_REQUIRED,
    reason="no Chromium here: apt-get install chromium chromium-driver",
)
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Only this machine can be reached: the page requests fonts and icons from elsewhere.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--window-size=1280,800",
)

_TRANSIENT_ERRORS = {
    "no such element",
    "stale element reference",
    "element not interactable",
    "element click intercepted",
}
"""The driver's errors for an element that the page is redrawing."""

_CONTROL, _RELEASED, _ENTER = "\ue009", "\ue000", "\ue007"
_PORT = re.compile(r"started successfully on port (\d+)")


class BrowserPage:
    """An open page."""

    def __init__(self, session: httpx.Client) -> None:
        """Accept a session of the driver."""
        self._session = session

    def open(self, address: str) -> None:
        """Go to an address."""
        self._do("url", url=address)

    def resize(self, width: int, height: int) -> None:
        """Give the window another size, in pixels."""
        self._do("window/rect", width=width, height=height)

    def press(self, keys: str) -> None:
        """Press keys, whatever has the focus."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._do("actions", actions=[{"type": "key", "id": "keyboard", "actions": actions}])

    def click(self, xpath: str) -> None:
        """Click an element as soon as the page allows it."""
        self._retry_until_ready(xpath, "click")

    def type_into(self, xpath: str, text: str) -> None:
        """Replace the text of a field."""
        self._retry_until_ready(xpath, "clear")
        self._retry_until_ready(xpath, "value", text=text)

    def text(self) -> str:
        """Return the visible text."""
        return str(self.execute_script("return document.body.innerText"))

    def wait_for_text(self, text: str) -> None:
        """Wait until the page shows a text."""
        wait_for(lambda: text in self.text(), describe=self.text)

    def console_errors(self) -> list[str]:
        """Return what the browser has complained about since the last call."""
        entries = self._session.post("se/log", json={"type": "browser"}).json()["value"]
        return [str(entry["message"]) for entry in entries if entry["level"] == "SEVERE"]

    def execute_script(self, script: str) -> Any:
        """Run a script in the page and return its result."""
        return self._do("execute/sync", script=script, args=[])

    def screenshot(self) -> bytes:
        """Return a screenshot (PNG) taken once nothing moves any more."""
        frames = [b""]

        def is_still() -> bool:
            frames.append(base64.b64decode(self._session.get("screenshot").json()["value"]))
            return frames[-1] == frames[-2]

        wait_for(is_still)
        return frames[-1]

    def _retry_until_ready(self, xpath: str, action: str, **payload: str) -> None:
        """Act on an element as soon as the page allows it."""

        def done() -> bool:
            try:
                [element] = self._do("element", using="xpath", value=xpath).values()
                self._do(f"element/{element}/{action}", **payload)
            except _TransientPageError:
                return False
            return True

        wait_for(done, describe=lambda: f"nothing to {action} at {xpath}")

    def _do(self, command: str, **payload: Any) -> Any:
        answer = self._session.post(command, json=payload).json()["value"]
        if isinstance(answer, dict) and "error" in answer:
            raise (_TransientPageError if answer["error"] in _TRANSIENT_ERRORS else AssertionError)(answer["message"])
        return answer


class AdkWebPage(BrowserPage):
    """An open page of ADK's web interface."""

    def select_agent(self, agent: str) -> None:
        """Select an agent from the list."""
        self.click("//button[@mattooltip='Select an app']")
        self.click(f"//button[contains(@class, 'app-selector-item')][.//span[normalize-space()='{agent}']]")

    def send_message(self, text: str, answer: str) -> None:
        """Type a message and wait for an answer that contains this text."""
        # The page may leave a sent message in the box: type over it.
        keys = f"{_CONTROL}a{_RELEASED}{text}{_ENTER}"
        self._retry_until_ready("//textarea[contains(@class, 'chat-input-box')]", "value", text=keys)
        wait_for(lambda: answer in self.answer(text), describe=lambda: str(self.messages()))

    def answer(self, message: str) -> str:
        """Return the visible text after a message."""
        talk = self.messages()
        return "\n".join(talk[talk.index(message) + 1 :]) if message in talk else ""

    def start_new_session(self) -> None:
        """Open a new session."""
        self.click("//button[contains(@class, 'new-session-button')]")
        wait_for(lambda: not self.messages(), describe=lambda: str(self.messages()))

    def messages(self) -> list[str]:
        """Return the messages of the conversation."""
        rows = "document.querySelectorAll('app-chat-panel .message-row-container .message-content')"
        return list(self.execute_script(f"return [...{rows}].map(row => row.innerText.trim()).filter(text => text)"))


class _TransientPageError(Exception):
    """The page is redrawing the element."""


@contextmanager
def open_page(address: str, folder: Path) -> Iterator[AdkWebPage]:
    """Open ADK's web interface in a new browser whose empty profile is in this folder."""
    with open_browser(folder) as session:
        page = AdkWebPage(session)
        page.open(address)
        yield page


@contextmanager
def open_browser(folder: Path, *flags: str) -> Iterator[httpx.Client]:
    """Start a new browser whose empty profile is in this folder; yield a session of its driver."""
    log = folder / "chromedriver.log"
    folder.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        command = [str(CHROMEDRIVER_PATH), "--port=0"]
        driver = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        port = wait_for(lambda: _PORT.search(log.read_text(encoding="utf-8")))[1]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60.0) as http:
            chrome = {"binary": CHROMIUM_PATH, "args": [*FLAGS, *flags, f"--user-data-dir={folder / 'profile'}"]}
            capabilities = {
                "capabilities": {"alwaysMatch": {"goog:chromeOptions": chrome, "goog:loggingPrefs": {"browser": "ALL"}}}
            }
            session = http.post("/session", json=capabilities).json()["value"]
            assert "sessionId" in session, session
            http.base_url = httpx.URL(f"http://127.0.0.1:{port}/session/{session['sessionId']}/")
            yield http
            http.delete("")
    finally:
        kill_process_group(driver)
