"""A PostgreSQL server that accepts and does not answer, or falls silent in the middle: nobody waits without end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from gaia_memory import open_memory
from gaia_memory.adk.failure_replies import APOLOGY
from gaia_memory.database import migrate, postgresql
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
    """Give a server up sooner."""
    monkeypatch.setattr(postgresql, "CONNECT_TIMEOUT_SECONDS", LIMIT)
    monkeypatch.setattr(postgresql, "STATEMENT_TIMEOUT_SECONDS", LIMIT)


@pytest.fixture
def silent() -> Iterator[int]:
    """Return the port of a server that accepts and says nothing."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


@asynccontextmanager
async def served(make: Make, folder: Path, *, sessions: bool) -> AsyncIterator[tuple[Sut, TcpProxy]]:
    """Open a system whose memory, and with `sessions` its sessions too, are on a server behind a wire."""
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


async def test_opening_memory_on_a_server_that_never_answers_is_refused(silent: int, tmp_path: Path) -> None:
    """It says what does not answer, and where to look."""
    settings = {"memory": {"database_url": f"postgresql://gaia@127.0.0.1:{silent}/gaia"}}
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(MemoryUnavailable, match=r"the memory database does not answer .*check memory.database_url"):
            async with open_memory(settings, home=tmp_path / "home"):
                raise AssertionError("memory was opened")


async def test_while_the_memory_database_hangs_turns_are_answered_and_nothing_is_pretended(
    make: Make, tmp_path: Path
) -> None:
    """What cannot be kept is refused, what was said is learned once it answers again."""
    async with served(make, tmp_path, sessions=False) as (sut, wire):
        memory, scope = sut.gaia.memory, sut.scope("u")
        await sut.chat("u", "cli", "before")
        assert (await sut.sweep_after_idle()).consolidated == 1
        wire.stall()

        assert await sut.chat("u", "cli", "while it hangs") == ["b"]
        for refused in (memory.remember(scope, "x"), memory.recall(scope, "fact")):
            with pytest.raises(MemoryUnavailable, match="does not answer"):
                await refused
        assert (await memory.status(scope)).state == "degraded"
        assert wire.stalled_count

        wire.resume()
        await memory.remember(scope, "x")
        await sut.sweep()
        assert (await sut.sweep_after_idle()).consolidated == 1
        assert "while it hangs" in sut.EXT[-1]
        assert await sut.texts("u") == ["fact 0", "x", "fact 1"]


async def test_where_sessions_hang_too_the_person_is_told(make: Make, tmp_path: Path) -> None:
    """And is answered as soon as the server is."""
    async with served(make, tmp_path, sessions=True) as (sut, wire):
        await sut.chat("u", "cli", "before")
        wire.stall()

        assert await sut.chat("u", "cli", "while it hangs") == [APOLOGY]

        wire.resume()
        assert await sut.chat("u", "cli", "after") == ["b"]
        assert (await sut.sweep_after_idle()).consolidated == 1
        assert await sut.texts("u") == ["fact 0"]


@pytest.mark.parametrize("at", [b"COMMIT", b""])
async def test_a_server_that_falls_silent_in_a_transaction_has_kept_the_fact_or_not_and_never_twice(
    make: Make, tmp_path: Path, at: bytes
) -> None:
    """The fact is not acknowledged; its connection is not used again."""
    async with served(make, tmp_path, sessions=True) as (sut, wire):
        memory, scope = sut.gaia.memory, sut.scope("u")
        await memory.remember(scope, "the first")
        wire.stall(pattern=at, armed_by=b"allergic to nuts")
        with pytest.raises(MemoryUnavailable, match="does not answer"):
            await memory.remember(scope, "allergic to nuts")

        assert wire.stalled_count
        wire.resume()
        assert await sut.texts("u") == ["the first"]
        await memory.remember(scope, "allergic to nuts")
        assert await sut.texts("u") == ["the first", "allergic to nuts"]


async def test_memory_is_closed_while_its_server_hangs(make: Make, tmp_path: Path) -> None:
    """What it held runs out by itself."""
    async with served(make, tmp_path, sessions=True) as (sut, wire):
        await sut.chat("u", "cli", "before")
        wire.stall()


async def test_the_url_may_give_a_server_more_time(silent: int) -> None:
    """Ours are limits for those who set none."""
    plain = make_url(f"postgresql+asyncpg://gaia@127.0.0.1:{silent}/gaia")
    patient = plain.update_query_dict({"command_timeout": "300"})

    assert postgresql.connect_args(plain, {}) == {"timeout": LIMIT, "command_timeout": LIMIT}
    assert postgresql.connect_args(patient, {"timeout": 5}) == {"timeout": 5}


@pytest.mark.parametrize("what", ["a migration", "a vacuum"])
async def test_what_rewrites_tables_has_longer(tmp_path: Path, what: str) -> None:
    """Here it waits for somebody else, as it would for its own work on large tables."""
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
