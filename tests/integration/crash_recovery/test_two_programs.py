"""We are killed at random while a plain mem0 program writes to the same store on a server."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import open_memory
from support.servers.chroma_server import chroma_server
from support.storage.plain_mem0 import list_facts, plain_mem0

KILLS = 100
WRITER = """
import asyncio, random, sys
from gaia_memory import open_memory

async def main(config, home, seed):
    chance = random.Random(seed)
    async with open_memory(config, home=home) as gaia:
        ada, number = gaia.scope("ada"), 0
        while True:
            number += 1
            text = f"Likes number {seed} {number} zebra{seed}x{number}q"
            fact = await gaia.memory.remember(ada, text)
            print("kept", text, flush=True)
            if chance.random() < 0.2:
                print("forgetting", text, flush=True)
                await gaia.memory.forget(ada, fact_id=fact.id)
                print("forgotten", text, flush=True)
            if chance.random() < 0.1:
                await gaia.memory.settled()

asyncio.run(main(eval(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
"""


@pytest.fixture
def config(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """A configuration with a store on a server, of which everything is accepted."""
    offline = {"provider": "offline"}
    with chroma_server(tmp_path / "server") as server:
        store = {**server, "accept": True}
        yield {"model": "offline", "memory": {"llm": offline, "embedder": offline, "vector_store": store}}


async def killed_writer(config: dict[str, Any], home: Path, seed: int, seconds: float) -> list[str]:
    """Run our writer, kill it some time after its first write, and return the lines that it printed."""
    command = [sys.executable, "-c", WRITER, repr(config), str(home), str(seed)]
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert child.stdout is not None
    first = await child.stdout.readline()
    await asyncio.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    rest = await child.stdout.read()
    await child.wait()
    return (first + rest).decode().splitlines()


def write_as_another(store: dict[str, Any], number: int) -> str:
    """Add a row through plain mem0, opened anew where ours has just made another collection; return its text."""
    text, deadline = f"Theirs {number}", time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(Exception), plain_mem0(store) as memory:
            memory.add(text, user_id="gaia:ada", infer=False)
            return text
    raise TimeoutError(text)


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.acceptance("B02")
async def test_after_a_hundred_kills_both_agree_and_nothing_is_lost_doubled_or_back(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    """What was acknowledged is there, what was forgotten is not, and no file of the home has a forgotten word."""
    chance, home = random.Random(3), tmp_path / "home"
    kept, forgotten, theirs = set[str](), set[str](), set[str]()
    async with open_memory(config, home=home) as gaia:
        await gaia.memory.remember(gaia.scope("ada"), "Lives in Oslo")
        await gaia.memory.settled()
        store = gaia.mem0_config()
    for kill in range(KILLS):
        writer = asyncio.create_task(killed_writer(config, home, kill, chance.random() * 2))
        if kill % 4 == 0:
            theirs.add(await asyncio.to_thread(write_as_another, store, kill))
        for line in await writer:
            step, _, text = line.partition(" ")
            if step == "kept":
                kept.add(text)
            else:
                kept.discard(text)
                forgotten |= {text} if step == "forgotten" else set()
    async with open_memory(config, home=home) as gaia:
        await gaia.memory.settled()
        await gaia.memory.settled()
        facts = {fact.id: fact.text for fact in await gaia.memory.facts(gaia.scope("ada"))}
        copies = await asyncio.to_thread(list_facts, store, gaia.scope("ada"))
    words = [text.rpartition(" ")[2].encode() for text in forgotten]
    files = [path.read_bytes() for path in home.rglob("*") if path.is_file()]

    assert facts == copies
    assert len(set(facts.values())) == len(facts)
    assert not (kept | theirs) - set(facts.values())
    assert not forgotten & set(facts.values())
    assert len(forgotten) > KILLS / 4
    assert not [word for word in words if any(word in file for file in files)]
