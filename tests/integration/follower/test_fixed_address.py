"""Plain mem0, in a process of its own, reads the facts at an address that never changes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import NewFact, open_memory
from gaia_memory.adk.gaia import Gaia
from gaia_memory.errors import StoreStalledError
from gaia_memory.models import Scope
from support.cli.cli_runner import run_gaia
from support.storage.follower import open_follower
from support.storage.plain_mem0 import mem0_facts

CONFIG: dict[str, Any] = {
    "model": "offline",
    "memory": {"llm": {"provider": "offline"}, "embedder": {"provider": "offline"}},
}
READER = """
import json, os, sys
os.environ["MEM0_TELEMETRY"] = "False"
import gaia_memory.mem0_providers
from mem0 import Memory
from chromadb.api.client import SharedSystemClient
from chromadb.errors import InternalError, NotFoundError

def look():
    memory = Memory.from_config(json.loads(sys.argv[1]))
    user = {"user_id": sys.argv[2]}
    listed = [row["memory"] for row in memory.get_all(filters=user, top_k=10000)["results"]]
    found = [row["memory"] for row in memory.search(sys.argv[3], filters=user, top_k=1)["results"]]
    return [sorted(listed), found]

while True:
    try:
        print(json.dumps(look()))
        break
    except (InternalError, NotFoundError):
        SharedSystemClient.clear_system_cache()
"""

pytestmark = pytest.mark.acceptance("B01")


async def read(config: dict[str, Any], user: str, question: str) -> tuple[list[str], list[str]]:
    """Return what a plain mem0 program lists and finds."""
    command = [sys.executable, "-c", READER, json.dumps(config), user, question]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    listed, found = json.loads(done.stdout)
    return listed, found


async def test_another_program_reads_before_and_after_an_erasure_and_a_restart(tmp_path: Path) -> None:
    """The configuration stays the same, and no file has the forgotten word."""
    home = tmp_path / "home"
    async with open_memory(CONFIG, home=home) as gaia:
        config, ada = gaia.mem0_config(), gaia.scope("ada@example.com")
        facts = [await gaia.memory.remember(ada, text) for text in ("Likes teal", "Grows zebrawood")]
        await gaia.memory.settled()
        before = await read(config, "gaia:ada@example.com", "zebrawood")
        await gaia.memory.forget(ada, fact_id=facts[1].id)
        await gaia.memory.settled()
        after = await read(config, "gaia:ada@example.com", "teal")
        files = [path for path in home.rglob("*") if path.is_file() and b"zebrawood" in path.read_bytes()]
    async with open_memory(CONFIG, home=home) as gaia:
        await gaia.memory.remember(ada, "Plays chess")
        await gaia.memory.settled()
        again = await read(config, "gaia:ada@example.com", "Plays chess")
        same = gaia.mem0_config()

    assert before == (["Grows zebrawood", "Likes teal"], ["Grows zebrawood"])
    assert after == (["Likes teal"], ["Likes teal"])
    assert files == []
    assert again == (["Likes teal", "Plays chess"], ["Plays chess"])
    assert same == config


@pytest.mark.slow
async def test_a_program_that_opens_the_store_for_each_look_reads_while_we_write(tmp_path: Path) -> None:
    """A look that meets a write fails in Chroma, and is taken again; none is wrong, and both agree in the end."""
    async with open_memory(CONFIG, home=tmp_path / "home") as gaia:
        config, ada = gaia.mem0_config(), gaia.scope("ada")
        await gaia.memory.remember(ada, "Likes tea number 0")
        await gaia.memory.settled()
        written = asyncio.create_task(keep_writing(gaia, ada))
        looks = [await read(config, "gaia:ada", "tea") for _ in range(8)]
        written.cancel()
        await asyncio.wait({written})
        await gaia.memory.settled()
        current = sorted(fact.text for fact in await gaia.memory.facts(ada))
        last = await read(config, "gaia:ada", current[-1])

    assert all(text.startswith("Likes tea") for listed, _ in looks for text in listed)
    assert last == (current, [current[-1]])


async def keep_writing(gaia: Gaia, ada: Scope) -> None:
    """Add facts, correct some and forget some, without an end: few at a time, as each look reads the whole store."""
    for number in range(1, 100_000):
        added = await gaia.memory.add(ada, [NewFact(f"Likes tea number {number} {place}") for place in range(4)])
        await gaia.memory.update(ada, added.facts[0].id, text=f"Likes tea best, number {number}")
        if number % 20 == 0:
            await gaia.memory.forget(ada, fact_id=added.facts[1].id)
        await asyncio.sleep(0.05)


async def test_people_have_the_ids_of_a_mem0_program(tmp_path: Path) -> None:
    """The user's own where one memory spans all apps; only what mem0 or a store interprets is encoded."""
    config = {**CONFIG, "memory": {**CONFIG["memory"], "scope": "user"}}
    async with open_memory(config, home=tmp_path) as gaia:
        for user in ("ada@example.com", "a b*:%\n", "日本"):
            await gaia.memory.remember(gaia.scope(user), f"is {user!r}")
        await gaia.memory.settled()
        ids = [gaia.scope(user).mem0_user_id for user in ("ada@example.com", "a b*:%\n", "日本")]
        read_facts = [list((await mem0_facts(gaia, user)).values()) for user in ("ada@example.com", "a b*:%\n", "日本")]

    assert ids == ["ada@example.com", "a%20b%2A%3A%25%0A", "日本"]
    assert read_facts == [["is 'ada@example.com'"], ["is 'a b*:%\\n'"], ["is '日本'"]]


async def test_a_store_of_an_earlier_form_is_filled_anew_and_its_folder_goes(tmp_path: Path) -> None:
    """A home of 0.4 has its store under other ids, in a folder with a random name."""
    home = tmp_path / "home"
    async with open_follower(home) as memory:
        await memory.add(Scope("gaia", "ann"), "Ann lives in Haifa")
        await memory.follower.settled(stall_seconds=60)
        old = await memory.store_id()
    for path in (home / "store" / "current", home / "store" / f"{old}.closed"):
        path.unlink()
    (home / "store" / f"{old}.closed.json").write_text("{}")
    async with open_follower(home) as memory:
        await memory.follower.settled(stall_seconds=60)

        assert list((await memory.mem0_facts(Scope("gaia", "ann"))).values()) == ["Ann lives in Haifa"]
        assert {path.name for path in (home / "store").iterdir()} == {await memory.store_id(), "current"}
        assert await memory.store_id() != old


@pytest.mark.acceptance("B07")
async def test_what_another_program_put_at_the_address_is_not_changed(tmp_path: Path) -> None:
    """The error names the path, the folder stays as it is, and the attempts leave one of ours at most."""
    theirs = tmp_path / "home" / "store" / "current"
    theirs.mkdir(parents=True)
    (theirs / "chroma.sqlite3").write_text("theirs")
    async with open_follower(tmp_path / "home") as memory:
        await memory.add(Scope("gaia", "ann"), "Ann lives in Haifa")
        with pytest.raises(StoreStalledError, match="current is not a link of ours: delete it if"):
            await memory.follower.settled(stall_seconds=3)

    assert (theirs / "chroma.sqlite3").read_text() == "theirs"
    assert len(list(theirs.parent.iterdir())) <= 2


@pytest.mark.acceptance("B06")
def test_without_a_store_chroma_is_not_imported_and_a_forget_still_cleans_the_files(tmp_path: Path) -> None:
    """`provider: none`: recall, erasure and `settled` work."""
    config = {**CONFIG, "memory": {**CONFIG["memory"], "vector_store": {"provider": "none"}}}
    program = f"""
import asyncio, sys
from gaia_memory import ConfigError, open_memory

async def main():
    async with open_memory({config!r}, home={str(tmp_path)!r}) as gaia:
        ada = gaia.scope("ada")
        await gaia.memory.remember(ada, "Grows zebrawood")
        await gaia.memory.settled()
        [hit] = await gaia.memory.recall(ada, "zebrawood")
        await gaia.memory.forget(ada)
        await gaia.memory.settled()
        try:
            gaia.mem0_config()
        except ConfigError as refused:
            print(hit.fact.text, "chromadb" in sys.modules, "is 'none'" in str(refused))

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.stdout == "Grows zebrawood False True\n", done.stderr
    assert not (tmp_path / "store").exists()
    assert [path for path in tmp_path.rglob("*") if path.is_file() and b"zebrawood" in path.read_bytes()] == []


def test_the_command_line_prints_the_configuration_and_brings_facts_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`gaia memory mem0-config`, as YAML and JSON, and `gaia memory sync` after a short command."""
    monkeypatch.setenv("GAIA_HOME", str(tmp_path))
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    run_gaia("memory", "add", "--user", "ada", "Likes teal")
    early = run_gaia("memory", "mem0-config")
    synced = run_gaia("memory", "sync")
    printed = run_gaia("memory", "mem0-config", "--json")
    config = json.loads(printed.out)

    assert (early.code, "run `gaia memory sync` first" in early.err) == (1, True)
    assert "path: " + str(tmp_path / "store" / "current") in run_gaia("memory", "mem0-config").out
    assert "gaia_memory.mem0_providers" in printed.err
    assert synced.out == "The mem0 store has exactly the current facts.\n"
    assert asyncio.run(read(config, "gaia:ada", "teal")) == (["Likes teal"], ["Likes teal"])
