"""A SQLite file that is locked, damaged or deleted under a running server: each route says so."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from gaia_memory import NewFact, memory_app
from gaia_memory.database import sqlite
from support.harness import Sut
from support.servers.memory_server import ADA, PERSON_PAGES, admin_token, every_route, served

Make = Callable[..., Awaitable[Sut]]
pytestmark = pytest.mark.acceptance("H15")
BUSY_MILLISECONDS = 200
PAGE_BYTES = 4096


@asynccontextmanager
async def client_of(sut: Sut) -> AsyncIterator[httpx.AsyncClient]:
    """Serve memory at a port and yield a client of the admin: over a port a stream need not end."""
    headers = {"Authorization": f"Bearer {await admin_token(sut.gaia)}"}
    async with (
        served(memory_app(sut.gaia)) as address,
        httpx.AsyncClient(base_url=address, headers=headers, timeout=60) as client,
    ):
        yield client


async def ask(client: httpx.AsyncClient, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
    """Return the status of an answer, and its text if it is an error."""
    async with client.stream(method, path, json=body, headers=headers) as answer:
        if answer.status_code >= 400:
            await answer.aread()
            return answer.status_code, answer.text
        return answer.status_code, ""


def check_unavailable(sut: Sut, route: object, status: int, text: str) -> None:
    """Check that an answer is 503 with reason and remedy, and names no place of the machine."""
    assert status == 503, (route, status, text)
    problem = json.loads(text)
    assert problem["reason"], route
    assert problem["remedy"], route
    assert not any(word in text for word in (str(sut.home), "memory.db", "127.0.0.1", "localhost")), (route, text)


async def check_away(sut: Sut, client: httpx.AsyncClient, fact_id: str) -> None:
    """Check that each route and each page of the person, but none without the database, answers 503."""
    for method, path, body in every_route(fact_id):
        check_unavailable(sut, (method, path), *await ask(client, method, path, body))
    for method, path in (*PERSON_PAGES, ("GET", "")):
        url = f"/people/gaia/ada{path}" if (method, path) in PERSON_PAGES else "/"
        status, text = await ask(client, method, url, Accept="text/html")
        assert status == 503, (method, url, status)
        assert "Memory cannot answer now" in text
        assert str(sut.home) not in text
    for path in ("/login", "/api", "/openapi.json"):
        assert (await ask(client, "GET", path))[0] == 200, path


@pytest.mark.slow
async def test_a_locked_file_refuses_writes_and_is_read(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program holds the lock longer than anybody waits; after it, the same write goes through."""
    monkeypatch.setattr(sqlite, "_PRAGMAS", (f"busy_timeout={BUSY_MILLISECONDS}", "foreign_keys=ON"))
    sut = await make(main=["Noted."])
    fact = await sut.gaia.memory.remember(sut.scope("ada"), "Lives in Rome")
    fact = await sut.gaia.memory.update(sut.scope("ada"), fact.id, text="Lives in Oslo")
    await sut.chat("ada", "cli", "My cat is named Momo.")
    [waiting] = await sut.gaia.memory.pending(sut.scope("ada"))
    await sut.gaia.memory.settled()

    async with client_of(sut) as client:
        with closing(sqlite3.connect(sut.home / "memory.db", isolation_level=None)) as stranger:
            stranger.execute("BEGIN EXCLUSIVE")
            for method, path, body in every_route(fact.id, waiting.key.session):
                status, text = await ask(client, method, path, body)
                if method != "GET" or status != 200:
                    check_unavailable(sut, (method, path), status, text)
        written, _ = await ask(client, "PATCH", f"{ADA}/facts/{fact.id}", {"text": "Lives in Bergen"})

    assert written == 200
    assert [each.text for each in await sut.gaia.memory.facts(sut.scope("ada"))] == ["Lives in Bergen"]


@pytest.mark.slow
async def test_once_damage_was_found_no_route_answers_from_pages_in_memory(make: Make) -> None:
    """Status finds it; what another connection still has of the file is not passed off as memory."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    facts = await memory.add(scope, [NewFact(f"Fact {number} " + "lorem " * 40) for number in range(400)])
    await memory.settled()
    await sut.reopen()

    async with client_of(sut) as client:
        assert (await ask(client, "GET", f"{ADA}/facts?limit=1"))[0] == 200
        await asyncio.to_thread(_blank_all_but_the_first_page, sut.home / "memory.db")
        statuses = [(await ask(client, "GET", f"{ADA}/{path}"))[0] for path in ("status", "export")]
        await check_away(sut, client, facts[0].id)

    assert statuses[-1] == 503
    assert (await sut.gaia.memory.status(scope)).state == "degraded"


def _blank_all_but_the_first_page(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek(PAGE_BYTES)
        file.write(os.urandom(path.stat().st_size - PAGE_BYTES))


async def test_a_deleted_file_is_no_memory_any_more(make: Make) -> None:
    """The process has it open still, and would show what is lost when it ends."""
    sut = await make()
    fact = await sut.gaia.memory.remember(sut.scope("ada"), "Likes tea")
    await sut.gaia.memory.settled()

    async with client_of(sut) as client:
        assert (await ask(client, "GET", f"{ADA}/facts"))[0] == 200
        (sut.home / "memory.db").unlink()
        await check_away(sut, client, fact.id)

    assert not (sut.home / "memory.db").exists()
