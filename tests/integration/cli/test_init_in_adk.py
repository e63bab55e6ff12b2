"""What `gaia init` prints is pasted: from an empty folder to an agent that remembers, with ADK's own commands."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.cli.cli_runner import GAIA_COMMAND
from support.hosts.adk_process import ADK, Server, environment

SECONDS = 60


def gaia(folder: Path, *arguments: str, code: int = 0) -> Any:
    """Run a command like a new user, and return its JSON output."""
    done = subprocess.run(
        [*GAIA_COMMAND, *arguments],
        cwd=folder,
        env=environment(folder / "shell"),
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == code, done.stderr.decode()
    return json.loads(done.stdout)


@contextmanager
def served(command: str, folder: Path, environ: Mapping[str, str]) -> Iterator[Server]:
    """Run a pasted server command on a free port until the block ends."""
    log = folder / "server.log"
    program, name, *rest = shlex.split(command)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*({"adk": [ADK], "gaia": GAIA_COMMAND}[program]), name, *rest, "--port", "0"],
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(process, log)
    try:
        server.wait_until_ready()
        yield server
    finally:
        server.stop()


def run_once(command: str, folder: Path, message: str) -> str:
    """Run a pasted `adk run` with one message, and return its output."""
    words = [ADK, *shlex.split(command)[1:], message]
    with subprocess.Popen(
        words, cwd=folder, env=environment(folder / "shell"), stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            told, _ = process.communicate(timeout=SECONDS)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, told.decode()
    return told.decode()


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_the_printed_commands_run_an_agent_that_remembers(tmp_path: Path) -> None:
    """As a server and at the terminal, in a folder with a space in its name, learned by a sweep before any message."""
    folder = tmp_path / "my agents"
    made = gaia(tmp_path, "init", str(folder), "--agent", "assistant", "--json")
    config = str(folder / "gaia.yaml")
    with served(made["commands"]["adk api_server"], tmp_path, environment(tmp_path / "shell")) as server:
        session = server.create_session()
        server.send("/remember I like teal", session=session)
        server.send("My sister is called Noa.", session=session)
    swept = gaia(tmp_path, "sweep", "--force", "--json", "--config", config)
    listed = gaia(tmp_path, "memory", "list", "--user", "ada", "--json", "--config", config)
    gaia(tmp_path, "memory", "add", "--user", "test_user", "--json", "--config", config, "I like teal")
    told = run_once(made["commands"]["adk run"]["assistant"], tmp_path, "What do I like?")
    doctor = gaia(tmp_path, "doctor", "--json", "--config", config)

    assert swept == {"consolidated": 1, "failed": 0, "skipped": 0, "facts": 1, "waiting": 0, "error": None}
    assert [row["text"] for row in listed["memories"]] == ["I like teal", "My sister is called Noa."]
    assert 'you said: "I like teal"' in told
    assert doctor["ok"] is True
    assert {each["state"] for each in doctor["findings"]} == {"ok"}


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_gaia_web_serves_the_agents_with_their_memory(tmp_path: Path) -> None:
    """The one line that `gaia init` prints starts ADK's server with services, plugins and further options.

    In a fresh checkout, too, which has no home.
    """
    made = gaia(tmp_path, "init", "my agents", "--agent", "assistant", "--json")
    shutil.rmtree(tmp_path / "my agents" / ".gaia")
    line = made["commands"]["gaia web"]
    with served(f"{line} --allow_origins http://example.org", tmp_path, environment(tmp_path / "shell")) as server:
        session = server.create_session()
        told = server.send("/remember I like teal", session=session)
        origin = server.http.get("/list-apps", headers={"Origin": "http://example.org"})
        log = server.log
    listed = gaia(
        tmp_path, "memory", "list", "--user", "ada", "--json", "--config", str(tmp_path / "my agents" / "gaia.yaml")
    )

    assert line == "gaia web 'my agents'"
    assert told == "I will remember: I like teal"
    assert [row["text"] for row in listed["memories"]] == ["I like teal"]
    assert origin.headers["access-control-allow-origin"] == "http://example.org"
    assert "google_adk" in log or "ADK Web Server" in log
