"""Turns, commands and recall while a stranger holds a lock on the memory database, as a backup or a migration does."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.engine import URL

from gaia_memory.database import bounded_waits
from gaia_memory.database import sqlite as sqlite_settings
from gaia_memory.database.migrate import VERSION_TABLE
from gaia_memory.database.migrations import REVISIONS
from gaia_memory.database.sql_engine import open_database, open_engine
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.testing import ScriptedLlm
from support.conversations import Conversations, open_conversations
from support.databases import memory_database, memory_url, on_each_database
from support.plugin_host import build_agent, events_text, open_plugin_host

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

WAIT_SECONDS = 2.0
"""How long a turn may wait here. SQLite's driver waits for 15 s, a statement on a server for 30."""

DRIVER_SECONDS = 15.0


@pytest.fixture
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten what a turn may wait."""
    monkeypatch.setattr(bounded_waits, "MEMORY_WAIT_SECONDS", WAIT_SECONDS)


@asynccontextmanager
async def locked(url: URL) -> AsyncIterator[None]:
    """Hold a lock that every write of memory waits for; on a server every read, too."""
    if url.get_backend_name() == "sqlite":
        stranger = sqlite3.connect(str(url.database), isolation_level=None)
        stranger.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            stranger.close()
        return
    engine = open_engine(url)
    async with engine.begin() as tx:
        await tx.execute(text("LOCK TABLE gaia_conversations, gaia_facts, gaia_scopes IN ACCESS EXCLUSIVE MODE"))
        yield
    await engine.dispose()


@asynccontextmanager
async def opened(url: URL, folder: Path, model: Any, **memory: Any) -> AsyncIterator[Conversations]:
    """Open conversations whose facts are in this database, and whose sessions are elsewhere."""
    address = url.render_as_string(hide_password=False)
    sessions = {"database_url": f"sqlite:///{folder / 'sessions.db'}", "background_sweep": False}
    config = {"memory": {"database_url": address, **memory}, "sessions": sessions}
    async with open_conversations(folder, model, config) as conversations:
        yield conversations


async def seconds_of(work: Awaitable[Any]) -> float:
    """Return how long some work takes, whatever becomes of it."""
    time = asyncio.get_running_loop().time
    started = time()
    await asyncio.gather(work, return_exceptions=True)
    return time() - started


async def answers_again(caplog: pytest.LogCaptureFixture) -> None:
    """Wait until memory has found out that its database answers."""
    caplog.set_level(logging.INFO, logger="gaia_memory")
    async with asyncio.timeout(60):
        while "answers again" not in caplog.text:
            await asyncio.sleep(0.05)


@pytest.mark.slow
@on_each_database
@pytest.mark.usefixtures("short_wait")
async def test_the_first_turn_waits_once_and_later_ones_not_at_all(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """All are answered, and learned afterwards; the log names the database, once."""
    async with memory_url(kind, tmp_path) as url, opened(url, tmp_path, ScriptedLlm(default="ok")) as talk:
        await talk.send("before")
        async with locked(url):
            first = await seconds_of(talk.send("I have a dog"))
            later = [await seconds_of(talk.send(f"I have {number} cats", user="noa")) for number in range(3)]
        await answers_again(caplog)
        await talk.send("after")
        row = await talk.engine.conversations.row(talk.get().key)
        session = await talk.load_session()

    assert first < DRIVER_SECONDS
    assert max(later) < WAIT_SECONDS
    lines = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len([line for line in lines if "the memory database did not answer within 2 s" in line]) == 1
    assert not [line for line in lines if "the model" in line]
    assert row is not None
    assert row.turn.active_owner is None
    assert session is not None
    assert [part.text for event in session.events if event.author == "user" for part in event.content.parts] == [  # type: ignore[union-attr]
        "before",
        "I have a dog",
        "after",
    ]


@on_each_database
@pytest.mark.usefixtures("short_wait")
async def test_turns_in_a_third_party_runner_wait_no_longer(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The plugin alone keeps the bound."""
    async with memory_url(kind, tmp_path) as url:
        config = {"memory": {"database_url": url.render_as_string(hide_password=False)}}
        async with open_plugin_host(tmp_path, build_agent(ScriptedLlm(default="ok")), config=config) as host:
            await host.run_turn("before")
            async with locked(url):
                first = await seconds_of(host.run_turn("I have a dog"))
                later = await seconds_of(host.run_turn("I have a cat"))
            await answers_again(caplog)
            assert events_text(await host.run_turn("after")) == "ok"
            row = await host.ledger_row()

    assert first < DRIVER_SECONDS
    assert later < WAIT_SECONDS
    assert row is not None
    assert row.turn.turn_no == 2


@on_each_database
async def test_a_cancelled_turn_ends_at_once(kind: str, tmp_path: Path) -> None:
    """It leaves the wait to the background."""
    async with memory_url(kind, tmp_path) as url, opened(url, tmp_path, ScriptedLlm(default="ok")) as talk:
        await talk.send("before")
        async with locked(url):
            turn = asyncio.create_task(talk.send("I have a dog"))
            await asyncio.sleep(0.5)
            assert not turn.done()
            turn.cancel()
            took = await seconds_of(turn)

        assert turn.cancelled()
        assert took < bounded_waits.MEMORY_WAIT_SECONDS / 2
        assert await talk.send("after") == "ok"


@on_each_database
@pytest.mark.usefixtures("short_wait")
async def test_a_command_says_that_memory_is_away(kind: str, tmp_path: Path) -> None:
    """Its text is never sent to the model."""
    model = ScriptedLlm(default="ok")
    async with memory_url(kind, tmp_path) as url, opened(url, tmp_path, model) as talk:
        await talk.send("before")
        async with locked(url):
            reply = await talk.send("/remember I have a dog")

        assert reply == "Memory is not available right now. Please try again later."
        assert len(model.requests) == 1
        assert await talk.fact_texts() == []


async def test_a_recall_ends_in_its_time_whatever_is_locked(tmp_path: Path) -> None:
    """The error says what to check."""
    recall = {"seconds": 1.0}
    async with (
        memory_url("postgresql", tmp_path) as url,
        opened(url, tmp_path, ScriptedLlm(default="ok"), recall=recall) as talk,
    ):
        scope, memory = talk.gaia.scope("itay"), talk.gaia.memory
        await memory.remember(scope, "has a dog")
        async with locked(url):
            with pytest.raises(MemoryUnavailable, match=r"recall did not end within 1 s.*locked"):
                await memory.recall(scope, "dog")

        assert [hit.fact.text for hit in await memory.recall(scope, "dog")] == ["has a dog"]


@pytest.mark.slow
async def test_opening_memory_on_locked_tables_fails_in_the_time_of_a_turn(tmp_path: Path) -> None:
    """A plugin opens memory in its first turn."""
    async with memory_url("postgresql", tmp_path) as url:
        async with opened(url, tmp_path, ScriptedLlm(default="ok")):
            pass
        async with locked(url):
            with pytest.raises(MemoryUnavailable, match="the memory database did not answer within 5 s"):
                async with opened(url, tmp_path, ScriptedLlm(default="ok")):
                    raise AssertionError("memory was opened")


async def test_opening_a_database_of_an_older_version_waits_as_long_as_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may be migrating it, so each turn of a plugin that opens memory waits longer than others."""
    monkeypatch.setattr(bounded_waits, "MEMORY_WAIT_SECONDS", 0.2)
    async with memory_database("sqlite", tmp_path) as database:
        url = database.engine.url
    with closing(sqlite3.connect(str(url.database))) as connection, connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = ?", [REVISIONS[-2]])
    monkeypatch.setattr(sqlite_settings, "_PRAGMAS", ("busy_timeout=2000",))
    async with locked(url):
        took = await seconds_of(open_database(url, home=tmp_path))

    assert took >= 2.0
