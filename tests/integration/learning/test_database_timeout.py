"""A PostgreSQL server that accepts connections and does not answer, or stops answering: every wait is bounded."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.engine import make_url

from gaia_memory import open_memory
from gaia_memory.database import migrate, sql_engine
from gaia_memory.database.sql_engine import open_database, open_engine
from gaia_memory.errors import MemoryUnavailable
from support.databases import POSTGRES_URL, memory_url
from support.harness import Sut, facts
from support.servers.tcp_proxy import TcpProxy

Make = Callable[..., Awaitable[Sut]]

PATIENCE = 150.0
"""Seconds after which a test says that something waits without end: more than any wait here, and less than those of
people."""

LIMIT = 2.0


@pytest.fixture(autouse=True)
def short_database_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the database timeouts."""
    monkeypatch.setattr(sql_engine, "CONNECT_TIMEOUT_SECONDS", LIMIT)
    monkeypatch.setattr(sql_engine, "STATEMENT_TIMEOUT_SECONDS", LIMIT)


@pytest.fixture
def silent() -> Iterator[int]:
    """Return the port of a server that accepts connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


@asynccontextmanager
async def served(make: Make, folder: Path, *, sessions: bool) -> AsyncIterator[tuple[Sut, TcpProxy]]:
    """Open a system whose memory, and with `sessions` its sessions too, are on a server behind a proxy."""
    async with memory_url("postgresql", folder) as url:
        with TcpProxy(POSTGRES_URL.host or "127.0.0.1", POSTGRES_URL.port or 5432) as wire:
            address = url.set(host="127.0.0.1", port=wire.port).render_as_string(hide_password=False)
            file = f"sqlite:///{folder / 'sessions.db'}"
            keys = [f"sessions: {{database_url: '{address if sessions else file}'}}"]
            keys += [f"memory: {{database_url: '{address}'}}"]
            learned = [facts(f"fact {number}") for number in range(9)]
            sut = await make("\n".join(keys), main=["a", "b", "c", "d"], extractor=learned)
            async with asyncio.timeout(PATIENCE):
                yield sut, wire
                await sut.close()


async def test_opening_memory_on_a_server_that_never_answers_fails(silent: int, tmp_path: Path) -> None:
    """The error names the server, and what to check."""
    settings = {"memory": {"database_url": f"postgresql://gaia@127.0.0.1:{silent}/gaia"}}
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(MemoryUnavailable, match=r"the memory database does not answer .*check memory.database_url"):
            async with open_memory(settings, home=tmp_path / "home"):
                raise AssertionError("memory was opened")


@pytest.mark.slow
async def test_while_the_memory_database_hangs_turns_are_answered_and_writes_are_refused(
    make: Make, tmp_path: Path
) -> None:
    """Messages are learned once it answers again."""
    async with served(make, tmp_path, sessions=False) as (sut, wire):
        memory, scope = sut.gaia.memory, sut.scope("u")
        await sut.chat("u", "cli", "a fact of before")
        assert (await sut.sweep_after_idle()).consolidated == 1
        wire.stall()

        assert await sut.chat("u", "cli", "a fact while it hangs") == ["b"]
        for refused in (memory.remember(scope, "x"), memory.recall(scope, "fact")):
            with pytest.raises(MemoryUnavailable, match="does not answer"):
                await refused
        assert (await memory.status(scope)).state == "degraded"
        assert wire.stalled_count

        wire.resume()
        await memory.remember(scope, "x")
        await sut.sweep()
        assert (await sut.sweep_after_idle()).consolidated == 1
        assert "a fact while it hangs" in sut.EXT[-1]
        assert await sut.texts("u") == ["fact 0", "x", "fact 1"]


@pytest.mark.slow
async def test_memory_can_be_closed_while_its_server_hangs(make: Make, tmp_path: Path) -> None:
    """Its leases expire by themselves."""
    async with served(make, tmp_path, sessions=True) as (sut, wire):
        await sut.chat("u", "cli", "a fact of before")
        wire.stall()


@pytest.mark.parametrize(
    ("query", "timeouts"),
    [({}, {"timeout": LIMIT, "command_timeout": LIMIT}), ({"command_timeout": "300"}, {"timeout": LIMIT})],
)
async def test_a_timeout_in_the_url_replaces_the_default(query: dict[str, str], timeouts: dict[str, float]) -> None:
    """The defaults are for a URL without one."""
    engine = open_engine(make_url("postgresql://gaia@127.0.0.1:1/gaia").update_query_dict(query))
    passed: dict[str, Any] = {}

    @event.listens_for(engine.sync_engine, "do_connect")
    def record(_: object, __: object, ___: object, arguments: dict[str, Any]) -> None:
        passed.update(arguments)

    with pytest.raises(OSError, match="Connect call failed"):
        await engine.connect()
    await engine.dispose()

    assert {name: value for name, value in passed.items() if "timeout" in name} == {**query, **timeouts}


@pytest.mark.slow
@pytest.mark.parametrize("what", ["a migration", "a vacuum"])
async def test_table_rewrites_have_a_longer_timeout(tmp_path: Path, what: str) -> None:
    """Here the operation waits for a lock, as it would for its own work on large tables."""
    async with asyncio.timeout(PATIENCE), memory_url("postgresql", tmp_path) as url:
        if what == "a vacuum":
            memory = await open_database(url, home=tmp_path)
            held, work = "LOCK TABLE gaia_facts IN SHARE MODE", memory.scrub
        else:
            held = f"SELECT pg_advisory_xact_lock({migrate._ADVISORY_LOCK_ID})"
            work = partial(open_database, url, home=tmp_path)
        other = open_engine(url)
        async with other.begin() as tx:
            await tx.execute(text(held))
            working = asyncio.create_task(work())
            done, _ = await asyncio.wait({working}, timeout=2 * LIMIT)
        await other.dispose()
        result = await working
        await (memory if what == "a vacuum" else result).close()

    assert not done
