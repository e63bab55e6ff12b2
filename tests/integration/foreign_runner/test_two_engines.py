"""Several engines on one home: one owns the mem0 store, all of them write, and none waits for another."""

from __future__ import annotations

import asyncio
import os
import platform
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gaia_memory import MemoryPlugin, Scope, open_memory
from support.hosts.plain_runner import APP, USER, build_runner, fact_texts_in, run_turn, run_turn_sync

ADA = Scope(APP, USER)

OTHER = """
import asyncio, sys
from gaia_memory import MemoryPlugin
from support.hosts.plain_runner import build_runner, run_turn

async def main():
    plugin = MemoryPlugin(config={"home": sys.argv[1]})
    async with build_runner(plugin) as runner:
        await run_turn(runner, "/remember I like figs")
        engine = await plugin._source.engine()
        await engine.memory.settled()
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await run_turn(runner, "/remember I like dates")
        await engine.memory.settled()
        print("settled", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


@contextmanager
def another_process(home: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a Runner with the same memory in another process, which has opened the store."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", OTHER, str(home)]
    with subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


async def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return (await asyncio.wait_for(asyncio.to_thread(process.stdout.readline), 60)).strip()


async def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    await asyncio.to_thread(process.stdin.flush)


def owner_of(pid: int) -> str:
    return f"process {pid} on {platform.node()}"


@pytest.mark.slow
async def test_two_processes_write_and_settle_and_status_names_the_owner(tmp_path: Path) -> None:
    """The second one takes over when the first one is killed."""
    home = tmp_path / "data"
    plugin = MemoryPlugin(config={"home": str(home)})
    with another_process(home) as other:
        assert await line(other) == "ready"
        async with build_runner(plugin) as runner:
            assert await run_turn(runner, "/remember I like plums") == "I will remember: I like plums"
            engine = await plugin._source.engine()
            await engine.memory.settled()
            status = await engine.memory.status(ADA)
            await go_on(other)
            assert await line(other) == "settled"
            listed = await run_turn(runner, "/memory")
            owned_before = engine.follower.is_owner
            other.send_signal(signal.SIGKILL)
            await asyncio.to_thread(other.wait)
            await run_turn(runner, "/remember I like pears")
            await engine.memory.settled()
            later = await engine.memory.status(ADA)

    assert (status.owner, status.lag, status.facts) == (owner_of(other.pid), 0, 2)
    assert "1. I like figs\n2. I like plums\n3. I like dates" in listed
    assert not owned_before
    assert (later.owner, later.lag, later.facts) == (owner_of(os.getpid()), 0, 4)


async def test_two_files_with_one_home_are_two_engines_of_one_memory(tmp_path: Path) -> None:
    """They share the database, like two processes."""
    home = tmp_path / "data"
    files = [tmp_path / name for name in ("one.yaml", "two.yaml")]
    for file in files:
        await asyncio.to_thread(file.write_text, f"memory: {{recall_limit: {3 + len(file.name)}}}\n")
    async with open_memory(files[0], home=home) as one, open_memory(files[1], home=home) as two:
        await asyncio.gather(
            *(gaia.memory.remember(ADA, f"Likes number {number}") for number in range(10) for gaia in (one, two))
        )
        await asyncio.gather(one.memory.settled(), two.memory.settled())
        owners = [gaia._engine.follower.is_owner for gaia in (one, two)]
        counts = [(await gaia.memory.status(ADA)).facts for gaia in (one, two)]
        found = [len(await gaia.memory.recall(ADA, "number")) for gaia in (one, two)]

    assert one._engine is not two._engine
    assert sorted(owners) == [False, True]
    assert counts == [10, 10]
    assert min(found) > 0
    assert len(fact_texts_in(home)) == 10


def test_two_event_loops_of_one_process_are_two_engines_of_one_memory(tmp_path: Path) -> None:
    """A server's lasting loop, and a script's calls of `Runner.run` beside it."""
    plugin = MemoryPlugin(config={"home": str(tmp_path / "data")})
    runner = build_runner(plugin)
    ready, done = threading.Event(), threading.Event()
    seen: list[str] = []

    async def server() -> None:
        await run_turn(runner, "/remember I like figs")
        engine = await plugin._source.engine()
        await engine.memory.settled()
        assert engine.follower.is_owner
        ready.set()
        await asyncio.to_thread(done.wait, 60)
        seen.append(await run_turn(runner, "/memory"))
        await engine.memory.settled()
        seen.append(str((await engine.memory.status(ADA)).lag))
        await runner.close()

    lasting = threading.Thread(target=asyncio.run, args=(server(),))
    lasting.start()
    try:
        assert ready.wait(60)
        for fruit in ("plums", "pears", "dates"):
            assert run_turn_sync(runner, f"/remember I like {fruit}") == f"I will remember: I like {fruit}"
    finally:
        done.set()
        lasting.join(60)

    assert seen == [
        "I remember 4 facts about you:\n1. I like figs\n2. I like plums\n3. I like pears\n4. I like dates",
        "0",
    ]
