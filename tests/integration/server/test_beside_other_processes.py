"""`gaia serve`, `gaia chat` and a server of ADK as processes of one home."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from support.cli.cli_runner import GAIA_COMMAND
from support.cli.dashboard import served_home
from support.hosts.adk_process import (
    OFFLINE_MODEL,
    AgentsFolder,
    Server,
    adk_server,
    agent_source,
    environment,
    wait_for,
)

FACTS = "/v1/apps/assistant/users/ada/facts"
SETTINGS = "app: assistant\nmodel: offline\n"


class PipedChat:
    """A `gaia chat` that reads lines from a pipe."""

    def __init__(self, agents: AgentsFolder, log: Path) -> None:
        """Start it for the user ada."""
        self._log = log
        command = [*GAIA_COMMAND, "chat", "--user", "ada", "--config", str(agents.config)]
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                env=environment(log.parent),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=log.parent,
            )

    def send(self, line: str, *, until: Callable[[str], bool]) -> str:
        """Type a line and return what is printed after it, once that is as expected."""
        assert self.process.stdin is not None
        before = len(self._printed())
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()
        wait_for(lambda: until(self._printed()[before:]), describe=self._printed)
        return self._printed()[before:]

    def end(self) -> int:
        """Close the pipe and return the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(60)

    def _printed(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")


@pytest.mark.slow
@pytest.mark.acceptance("H16")
@pytest.mark.parametrize("command", ["api_server", pytest.param("web", marks=pytest.mark.slow)])
def test_the_server_a_chat_and_adk_see_each_others_writes(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one of them adds, learns, corrects or forgets, the two others show at their next request."""
    agents = AgentsFolder(tmp_path / "agents", SETTINGS, assistant=agent_source(model=OFFLINE_MODEL))
    monkeypatch.setenv("GAIA_HOME", str(agents.data))
    chat = PipedChat(agents, tmp_path / "chat.log")
    try:
        with served_home(agents.config, tmp_path) as address, adk_server(command, agents) as adk:
            token = (agents.data / "server.token").read_text(encoding="utf-8").strip()
            headers = {"Authorization": f"Bearer {token}"}
            with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
                _write_and_look(chat, client, adk)
        assert chat.end() == 0
    finally:
        chat.process.kill()
        chat.process.wait()


def _write_and_look(chat: PipedChat, client: httpx.Client, adk: Server) -> None:
    adk.create_session()

    def check_all_show(*texts: str, hidden: str = "nothing else") -> None:
        listed = [each["text"] for each in client.get(FACTS).json()["items"]]
        in_chat = chat.send("/memory", until=lambda printed: all(text in printed for text in texts))
        in_adk = adk.send("/memory")
        assert sorted(listed) == sorted(texts)
        assert all(text in in_adk for text in texts), in_adk
        assert not any(hidden in shown for shown in (in_chat, in_adk)), hidden

    chat.send("/remember Plays chess", until=lambda printed: "chess" in printed)
    adk.send("/remember Allergic to nuts")
    boat = client.post(FACTS, json={"text": "Owns a boat"}).json()
    check_all_show("Plays chess", "Allergic to nuts", "Owns a boat")

    client.patch(f"{FACTS}/{boat['id']}", json={"text": "Owns a canoe"})
    check_all_show("Plays chess", "Allergic to nuts", "Owns a canoe", hidden="boat")

    chat.send("My cat is named Momo.", until=lambda printed: printed.endswith("\n"))
    assert client.post("/v1/sweep", json={"force": True}).json()["consolidated"] == 1
    adk.send("I live in Oslo.")
    assert adk.add_to_memory().status_code == 200
    client.delete(f"{FACTS}/{boat['id']}")
    learned = ("My cat is named Momo.", "I live in Oslo.")
    check_all_show("Plays chess", "Allergic to nuts", *learned, hidden="canoe")
