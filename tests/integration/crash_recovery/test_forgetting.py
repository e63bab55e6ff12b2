"""Kills at every step of forgetting: the next start finishes it, and meanwhile shows none of the forgotten facts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_memory import NewFact, open_memory
from integration.crash_recovery.conftest import postgres_database
from support.kill.kill_forget import forget_and_kill_at
from support.kill.kill_steps import KillPoint
from support.servers.chroma_server import chroma_server
from support.storage.plain_mem0 import mem0_facts
from support.storage.residual_data import SearchTerms, find_residual_data

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia

WORDS = [f"qu{number}zvrkpltmnxw" for number in range(6)]
OTHERS = [f"ben took trip {number}" for number in range(130)]

EMBEDDED = (
    KillPoint("facts deleted"),
    KillPoint("forgotten"),
    KillPoint("folder linked"),
    KillPoint("store begun"),
    KillPoint("store named"),
    KillPoint("index written"),
    KillPoint("scrubbed"),
    KillPoint("applied"),
    KillPoint("applied", 2),
    KillPoint("row removed", 2),
    KillPoint("row removed", 3),
    KillPoint("crossing off"),
    KillPoint("crossed off"),
)
"""In this order; a store of 130 facts is filled in three batches."""

EVERY_RUN = {
    KillPoint("facts deleted"),
    KillPoint("store named"),
    KillPoint("row removed", 2),
    KillPoint("crossed off"),
}

ON_A_SERVER = ("facts deleted", "forgotten", "applied", "row removed", "scrubbed", "crossing off", "crossed off")


@contextmanager
def installed(folder: Path, database: str, store: str) -> Iterator[dict[str, Any]]:
    """Yield the settings of an installation whose database or store may be on a server."""
    with ExitStack() as stack:
        offline = {"provider": "offline"}
        settings: dict[str, Any] = {"memory": {"llm": offline, "embedder": offline}}
        if database == "postgresql":
            settings["sessions"] = {"database_url": stack.enter_context(postgres_database(folder))}
        if store == "chroma server":
            settings["memory"]["vector_store"] = stack.enter_context(chroma_server(folder / "chroma"))
        yield settings


async def fill(home: Path, settings: dict[str, Any]) -> tuple[dict[str, str], SearchTerms]:
    """Write facts to keep and facts to forget; return the former by id, and the search terms of the latter."""
    async with open_memory(settings, home=home) as gaia:
        ben = await gaia.memory.add(gaia.scope("ben"), [NewFact(text) for text in OTHERS])
        texts = [f"Ann keeps the {word} at home" for word in WORDS]
        await gaia.memory.add(gaia.scope("ann"), [NewFact(text, session_id="gone") for text in texts])
        await gaia.memory.profile(gaia.scope("ann"))
        await gaia.memory.settled()
        vectors = await gaia._engine.backend.embedder.embed(texts, purpose="add")
    return {fact.id: fact.text for fact in ben}, SearchTerms(WORDS, vectors)


async def shows_nothing(gaia: Gaia) -> None:
    """Check that Ann has no facts in memory."""
    ann = gaia.scope("ann")
    assert await gaia.memory.facts(ann) == []
    assert await gaia.memory.recall(ann, f"Where is the {WORDS[0]}?") == []
    assert (await gaia.memory.profile(ann)).bullets == ()


async def finish(home: Path, settings: dict[str, Any], others: dict[str, str], *, forgot: bool) -> None:
    """Start again: the erasure completes, nothing forgotten is shown meanwhile, other users keep everything."""
    async with open_memory(settings, home=home) as gaia:
        ann = gaia.scope("ann")
        if not forgot:
            assert len(await gaia.memory.facts(ann)) == len(WORDS)
            await gaia.memory.forget(ann)
        else:
            await shows_nothing(gaia)
        settling = asyncio.create_task(gaia.memory.settled())
        while not settling.done():
            if forgot:
                await shows_nothing(gaia)
            await asyncio.wait({settling}, timeout=0.02)
        await settling
        await shows_nothing(gaia)
        assert await mem0_facts(gaia, "ann") == {}
        assert (await gaia.memory.status(ann)).erasures == 0
        assert {fact.id: fact.text for fact in await gaia.memory.facts(gaia.scope("ben"))} == others
        assert await mem0_facts(gaia, "ben") == others
        found = await gaia.memory.recall(gaia.scope("ben"), OTHERS[7])
        assert found[0].fact.text == OTHERS[7]


async def check(folder: Path, settings: dict[str, Any], stop: KillPoint, how: str) -> None:
    """Kill the forget at `stop` and start again; afterwards no file under the home contains any of it."""
    home = folder / "home"
    others, gone = await fill(home, settings)
    assert await asyncio.to_thread(forget_and_kill_at, stop, str(home), settings, how), f"{stop.step} was not reached"
    await finish(home, settings, others, forgot=stop.step != "facts deleted")
    assert await find_residual_data(home, gone) == []


@pytest.mark.acceptance("C11")
@pytest.mark.parametrize(
    "stop",
    [
        pytest.param(stop, id=f"{stop.step} {stop.nth}", marks=() if stop in EVERY_RUN else pytest.mark.slow)
        for stop in EMBEDDED
    ],
)
def test_the_next_start_finishes_a_killed_forget(tmp_path: Path, stop: KillPoint) -> None:
    """The forget was committed or not at all; if it was, it is completed, and no file contains the text."""
    with installed(tmp_path, "sqlite", "folder") as settings:
        asyncio.run(check(tmp_path, settings, stop, "everything"))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["one by one", "conversation"])
def test_the_next_start_finishes_a_killed_forget_of_a_fact_or_conversation(tmp_path: Path, how: str) -> None:
    """The last of six facts, or the conversation, is still on disk when the process is killed."""
    with installed(tmp_path, "sqlite", "folder") as settings:
        asyncio.run(check(tmp_path, settings, KillPoint("forgotten", 6 if how == "one by one" else 1), how))


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("step", ON_A_SERVER)
def test_the_next_start_finishes_a_killed_forget_on_servers(tmp_path: Path, database: str, step: str) -> None:
    """With a Chroma server, whose files are its own, and with PostgreSQL."""
    with installed(tmp_path, database, "chroma server") as settings:
        asyncio.run(check(tmp_path, settings, KillPoint(step), "everything"))


@pytest.mark.slow
@pytest.mark.parametrize("stop", [KillPoint("store named"), KillPoint("scrubbed")], ids=lambda stop: str(stop.step))
def test_the_next_start_finishes_a_killed_forget_with_a_server_database(tmp_path: Path, stop: KillPoint) -> None:
    """The store is a local folder, the facts are in PostgreSQL."""
    with installed(tmp_path, "postgresql", "folder") as settings:
        asyncio.run(check(tmp_path, settings, stop, "everything"))
