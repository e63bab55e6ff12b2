"""Installations in every condition, for `gaia doctor`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.cli.cli_runner import CommandResult, run_gaia

Findings = list[tuple[str, str, str]]
FileStats = dict[str, tuple[int, int, int]]

_OWNER_SCRIPT = """
import asyncio, sys
from gaia_memory import open_memory

async def main():
    async with open_memory(sys.argv[1]) as gaia:
        await gaia.memory.settled()
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""
_BUILD_HOME_SCRIPT = """
import asyncio, sys
from google.adk.agents import LlmAgent
from gaia_memory import open_memory

OFFLINE = {"provider": "offline"}

async def main():
    settings = {"model": "offline", "memory": {"llm": OFFLINE, "embedder": OFFLINE}}
    async with open_memory(settings, home=sys.argv[1]) as gaia:
        await gaia.memory.remember(gaia.scope("itay"), "allergic to nuts")
        talk = gaia.conversation(LlmAgent(name="gaia", model=gaia.model), user_id="itay", channel="cli")
        await talk.send("My sister is called Noa.")
        await gaia.memory.settled()

asyncio.run(main())
"""


def build_home(folder: Path) -> Path:
    """Fill a home: one fact, one pending conversation, and a store that was closed cleanly."""
    subprocess.run([sys.executable, "-c", _BUILD_HOME_SCRIPT, str(folder)], check=True, capture_output=True, timeout=60)
    return folder


def run_doctor(config: Path | str, *options: str) -> CommandResult:
    """Run the doctor and return its findings as data."""
    return run_gaia("doctor", "--config", str(config), "--json", *options)


def findings_of(done: CommandResult, part: str) -> Findings:
    """Return the findings about a part: state, sentence and remedy."""
    return [
        (each["state"], each["says"], each["remedy"]) for each in done.json_output["findings"] if each["part"] == part
    ]


def worst_states(done: CommandResult) -> dict[str, str]:
    """Return the worst state of each part."""
    order = ["skipped", "ok", "warn", "fail"]
    worst: dict[str, str] = {}
    for each in done.json_output["findings"]:
        worst[each["part"]] = max(worst.get(each["part"], "skipped"), each["state"], key=order.index)
    return worst


def file_stats(folder: Path) -> FileStats:
    """Return every file and folder with its size, time of change and permissions."""
    found = {str(path.relative_to(folder)): path.lstat() for path in folder.rglob("*")}
    return {name: (stat.st_size, stat.st_mtime_ns, stat.st_mode) for name, stat in found.items()}


@contextmanager
def opened_by_another_process(config: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Keep memory open, with its store, in another process."""
    command = [sys.executable, "-c", _OWNER_SCRIPT, str(config)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.kill()
