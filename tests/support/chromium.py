"""ADK's web interface in Debian's Chromium, as a person uses it: `apt-get install chromium chromium-driver`.

The driver speaks JSON over HTTP (W3C WebDriver), which httpx does: Selenium would be 43 MB for one test.
"""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from support.adk_process import end_group, wait_for

PROGRAM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Nothing but this machine has an address: the page asks for fonts and icons from elsewhere.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--window-size=1280,800",
)

_MOVING = {"no such element", "stale element reference", "element not interactable", "element click intercepted"}
"""What the driver says of an element while the page draws it anew."""

_CONTROL, _RELEASED, _ENTER = "\ue009", "\ue000", "\ue007"
_PORT = re.compile(r"started successfully on port (\d+)")


class Page:
    """ADK's web interface, opened."""

    def __init__(self, session: httpx.Client) -> None:
        """Take a session of the driver."""
        self._session = session

    def open(self, address: str) -> None:
        """Go to an address."""
        self._do("url", url=address)

    def choose(self, agent: str) -> None:
        """Pick an agent from the list."""
        self._click("//button[@mattooltip='Select an app']")
        self._click(f"//button[contains(@class, 'app-selector-item')][.//span[normalize-space()='{agent}']]")

    def say(self, text: str, answer: str) -> None:
        """Type a message and wait for an answer that holds this text."""
        # The page may leave a message in the box after it was sent: type over it.
        keys = f"{_CONTROL}a{_RELEASED}{text}{_ENTER}"
        self._once_there("//textarea[contains(@class, 'chat-input-box')]", "value", text=keys)
        wait_for(lambda: answer in self.answer(text), told=lambda: str(self.talk()))

    def answer(self, message: str) -> str:
        """Return what stands behind a message, as it is seen."""
        talk = self.talk()
        return "\n".join(talk[talk.index(message) + 1 :]) if message in talk else ""

    def begin_anew(self) -> None:
        """Open a new session."""
        self._click("//button[contains(@class, 'new-session-button')]")
        wait_for(lambda: not self.talk(), told=lambda: str(self.talk()))

    def talk(self) -> list[str]:
        """Return what stands in the conversation."""
        rows = "document.querySelectorAll('app-chat-panel .message-row-container .message-content')"
        return list(self.run(f"return [...{rows}].map(row => row.innerText.trim()).filter(text => text)"))

    def run(self, script: str) -> Any:
        """Run a script in the page and return what it returns."""
        return self._do("execute/sync", script=script, args=[])

    def picture(self) -> bytes:
        """Return what is to be seen once nothing moves any more, as a PNG."""
        seen = [b""]

        def is_still() -> bool:
            seen.append(base64.b64decode(self._session.get("screenshot").json()["value"]))
            return seen[-1] == seen[-2]

        wait_for(is_still)
        return seen[-1]

    def _click(self, place: str) -> None:
        self._once_there(place, "click")

    def _once_there(self, place: str, deed: str, **what: str) -> None:
        """Do something to an element as soon as the page lets it be done."""

        def done() -> bool:
            try:
                [element] = self._do("element", using="xpath", value=place).values()
                self._do(f"element/{element}/{deed}", **what)
            except _MovingError:
                return False
            return True

        wait_for(done, told=lambda: f"nothing to {deed} at {place}")

    def _do(self, command: str, **what: Any) -> Any:
        answer = self._session.post(command, json=what).json()["value"]
        if isinstance(answer, dict) and "error" in answer:
            raise (_MovingError if answer["error"] in _MOVING else AssertionError)(answer["message"])
        return answer


class _MovingError(Exception):
    """The page is drawing what was to be used."""


@contextmanager
def opened(address: str, folder: Path) -> Iterator[Page]:
    """Open an address in a new browser with an empty profile in this folder."""
    log = folder / "chromedriver.log"
    folder.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        command = [str(DRIVER), "--port=0"]
        driver = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        port = wait_for(lambda: _PORT.search(log.read_text(encoding="utf-8")))[1]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60.0) as http:
            chrome = {"binary": PROGRAM, "args": [*FLAGS, f"--user-data-dir={folder / 'profile'}"]}
            wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": chrome}}}
            session = http.post("/session", json=wanted).json()["value"]
            assert "sessionId" in session, session
            http.base_url = httpx.URL(f"http://127.0.0.1:{port}/session/{session['sessionId']}/")
            page = Page(http)
            page.open(address)
            yield page
            http.delete("")
    finally:
        end_group(driver)
