"""The page on ADK's commands, followed literally, and the folder of agents beside it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from support.checkout import ROOT
from support.cli.cli_runner import run_gaia
from support.cli.docs_pages import run_page

PAGE = "how-to/adk-web.md"
IN_BACKGROUND = """\
#!/bin/bash
# Ends the server that runs, starts another one, and waits until it answers.
[ -s "$0.pid" ] && kill "$(cat "$0.pid")" && tail --pid="$(cat "$0.pid")" -f /dev/null
"$@" >> "$0.log" 2>&1 &
echo $! > "$0.pid"
for _ in $(seq 400); do curl -s -o /dev/null "$ADDRESS/list-apps" && exit 0; sleep 0.1; done
cat "$0.log" >&2
exit 1
"""


@pytest.fixture
def background_command(tmp_path: Path) -> Path:
    """Run the commands that start a server; the last one is stopped after the test."""
    program = tmp_path / "background_command"
    program.write_text(IN_BACKGROUND, encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    yield program
    with suppress(OSError, ValueError):
        os.kill(int(program.with_suffix(".pid").read_text(encoding="utf-8")), signal.SIGKILL)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here, with which the page asks the server")
def test_the_commands_of_the_page_work(background_command: Path, tmp_path: Path) -> None:
    """From an empty folder, without a key, on a free port."""
    address = f"http://127.0.0.1:{(port := free_port())}"
    folder = tmp_path / "reader"
    folder.mkdir()
    instead = {
        "adk web --": f"{background_command} adk web --port {port} --",
        "gaia web agents\n": f"{background_command} gaia web agents --port {port}\n",
        "http://127.0.0.1:8000": address,
    }

    shown, _ = run_page(PAGE, folder, replacements=instead, environment={"ADDRESS": address})

    assert [(each.missing_lines, each.printed) for each in shown if each.missing_lines] == []
    assert len(shown) == 3
    log = background_command.with_suffix(".log").read_text(encoding="utf-8")
    assert "Failed to load plugin" not in log
    assert "memory cannot be opened" not in log


def test_the_folder_in_the_docs_is_what_init_writes(tmp_path: Path) -> None:
    """A reader then finds the same files as on their own machine."""
    assert run_gaia("init", str(tmp_path / "agents"), "--agent", "assistant").code == 0

    shown, made = texts(ROOT / "docs/examples/agents"), texts(tmp_path / "agents")

    assert shown == made
    assert {"gaia.yaml", "services.yaml", "assistant/agent.py", "assistant/services.yaml"} <= shown.keys()


def texts(folder: Path) -> dict[str, str]:
    """Return the files of a folder by name, without stored data and Python's caches."""
    files = [
        path for path in folder.rglob("*") if path.is_file() and not {".gaia", ".adk", "__pycache__"} & set(path.parts)
    ]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}
