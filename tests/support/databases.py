"""Throw-away memory databases for tests: a SQLite file, or a database on the PostgreSQL server of the tests."""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import sqlite3
import tempfile
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import delete, text, update
from sqlalchemy.engine import URL, make_url

from gaia_memory.database.metadata import metadata
from gaia_memory.database.sql_engine import Database, open_database, open_engine
from gaia_memory.models import Draft, Fact, NewFact, Scope, Source, Vector

# Read before any test, because each test runs without GAIA_ variables.
POSTGRES_URL = make_url(
    os.environ.get("GAIA_TEST_POSTGRES_URL", "postgresql+asyncpg://postgres@127.0.0.1:5432/postgres")
)
POSTGRES_REQUIRED = os.environ.get("GAIA_REQUIRE_POSTGRES") == "1"

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ADK_TABLES = frozenset({"sessions", "events", "app_states", "user_states"})
_SHARED_URLS: dict[str, URL] = {}
_TEMPLATES: list[Path] = []
ITAY = Scope("gaia", "itay")
NOA = Scope("gaia", "noa")
on_each_database = pytest.mark.parametrize("kind", ["sqlite", "postgresql"])


@asynccontextmanager
async def memory_url(kind: str, folder: Path) -> AsyncIterator[URL]:
    """Yield the address of a database that does not exist yet (SQLite) or is empty (PostgreSQL)."""
    if kind == "sqlite":
        yield URL.create("sqlite+aiosqlite", database=str(folder / "memory.db"))
        return
    name = f"gaia_test_{uuid.uuid4().hex}"
    await _execute_on_server(f"CREATE DATABASE {name}")
    try:
        yield POSTGRES_URL.set(database=name)
    finally:
        await _execute_on_server(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


async def _execute_on_server(statement: str) -> None:
    # Independent of the test's own timeouts.
    server = open_engine(POSTGRES_URL, connect_args={"timeout": 60.0, "command_timeout": None})
    try:
        async with server.connect() as plain:
            connection = await plain.execution_options(isolation_level="AUTOCOMMIT")
            await connection.execute(text(statement))
    except OSError:
        if POSTGRES_REQUIRED:
            raise
        pytest.skip(f"no PostgreSQL at {POSTGRES_URL.host}:{POSTGRES_URL.port} (GAIA_TEST_POSTGRES_URL)")
    finally:
        await server.dispose()


@asynccontextmanager
async def memory_database(kind: str, folder: Path) -> AsyncIterator[Database]:
    """Yield an open, empty memory database."""
    async with memory_url(kind, folder) as url:
        if kind == "sqlite":
            await place_empty_database(folder / "memory.db")
        database = await open_database(url, home=folder)
        try:
            yield database
        finally:
            await database.close()


async def place_empty_database(file: Path) -> None:
    """Copy an empty SQLite memory database of this version to `file`: to migrate one takes longer than most tests."""
    if not _TEMPLATES:
        home = Path(await asyncio.to_thread(tempfile.mkdtemp))
        atexit.register(shutil.rmtree, home, ignore_errors=True)
        template = home / "memory.db"
        await (await open_database(f"sqlite:///{template}", home=home)).close()
        _TEMPLATES.append(template)
    await asyncio.to_thread(_copy_database, _TEMPLATES[0], file)


def _copy_database(template: Path, file: Path) -> None:
    shutil.copy(template, file)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE gaia_store SET store_id = ?", [uuid.uuid4().hex])


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """Yield an empty memory database of each kind."""
    if request.param == "sqlite":
        async with memory_database("sqlite", tmp_path) as opened:
            yield opened
        return
    opened = await open_database(await shared_postgres_url(request.config), home=tmp_path)
    try:
        await empty_database(opened)
        yield opened
    finally:
        await opened.close()


async def shared_postgres_url(config: pytest.Config) -> URL:
    """Yield the one PostgreSQL database of this process: creating one takes 0.25 s."""
    if "address" not in _SHARED_URLS:
        name = f"gaia_test_{uuid.uuid4().hex}"
        await _execute_on_server(f"CREATE DATABASE {name}")
        config.add_cleanup(lambda: asyncio.run(_execute_on_server(f"DROP DATABASE {name} WITH (FORCE)")))
        _SHARED_URLS["address"] = POSTGRES_URL.set(database=name)
    return _SHARED_URLS["address"]


async def empty_postgres_url(config: pytest.Config, home: Path) -> URL:
    """Yield the one PostgreSQL database of this process, emptied of facts and of ADK's sessions."""
    url = await shared_postgres_url(config)
    opened = await open_database(url, home=home)
    try:
        await empty_database(opened)
        async with opened.engine.begin() as server:
            found = await server.execute(text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"))
            for table in sorted(set(found.scalars()) & ADK_TABLES):
                await server.execute(text(f"TRUNCATE TABLE {table} CASCADE"))
    finally:
        await opened.close()
    return url


async def empty_database(opened: Database) -> None:
    """Empty a memory database."""
    async with opened.transaction() as tx:
        for table in reversed(metadata.sorted_tables):
            if table.name == "gaia_store":
                await tx.execute(update(table).values(owner=None, owned_until=None, awaited_until=None))
            else:
                await tx.execute(delete(table))


def make_draft(
    fact_text: str,
    *,
    source: Source = "add",
    session: str | None = None,
    seq: int | None = None,
    events: Sequence[str] = (),
    vector: Vector | None = None,
    embedder: str | None = "offline/test/2",
    said_at: datetime | None = None,
    **metadata: str,
) -> Draft:
    """Return a draft with the values that matter to a test."""
    fact = NewFact(fact_text, said_at=said_at, session_id=session, seq=seq, metadata=metadata)
    app = None if session is None else "gaia"
    return Draft(fact=fact, source=source, app=app, event_ids=tuple(events), vector=vector, embedder=embedder)


def fact_texts(facts: Sequence[Fact]) -> list[str]:
    """Return the texts of facts."""
    return [fact.text for fact in facts]
