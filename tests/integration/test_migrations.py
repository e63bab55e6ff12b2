"""The memory database in a file and on a server: created, migrated, shared, scrubbed."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from google.adk.sessions import DatabaseSessionService
from sqlalchemy import inspect, text

import gaia_memory.facts.tables
import gaia_memory.ledger.tables  # noqa: F401 - both rooms' tables join the one metadata
from gaia_memory.database import migrations
from gaia_memory.database.metadata import TABLE_PREFIX, metadata
from gaia_memory.database.sql_engine import open_database, open_engine, truncate_wal
from gaia_memory.errors import ConfigError, MemoryUnavailable
from gaia_memory.facts import FactStore, Outbox
from support.databases import ITAY, NOW, make_draft, memory_database, memory_url, on_each_database

facts = FactStore()


def is_ours(thing, name, kind, reflected, compare_to):
    """Return whether Alembic compares a part of the schema: the tables of other programs it does not."""
    return kind != "table" or name.startswith(TABLE_PREFIX)


@on_each_database
async def test_the_migrations_create_exactly_the_tables_the_code_uses(kind, tmp_path):
    """Types included; no more, no less."""
    async with memory_database(kind, tmp_path) as database, database.engine.connect() as connection:

        def differences(sync):
            options = {
                "compare_type": True,
                "include_object": is_ours,
                "version_table": "gaia_alembic_version",
            }
            return compare_metadata(MigrationContext.configure(sync, opts=options), metadata)

        assert await connection.run_sync(differences) == []


def test_the_revisions_in_the_code_match_the_migration_scripts():
    """Every start compares the database with the last one."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    scripts = ScriptDirectory.from_config(config)

    assert [script.revision for script in reversed(list(scripts.walk_revisions()))] == list(migrations.REVISIONS)


@on_each_database
async def test_only_our_tables_are_created_and_the_hosts_are_unchanged(kind, tmp_path):
    """A server database may contain the host's sessions and a migration history of its own."""
    async with memory_url(kind, tmp_path) as url:
        engine = open_engine(url)
        async with engine.begin() as connection:
            await connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
            await connection.execute(text("INSERT INTO alembic_version VALUES ('theirs')"))
        service = DatabaseSessionService(db_engine=engine)
        session = await service.create_session(app_name="gaia", user_id="itay", session_id="s")
        before = await tables(engine)
        database = await open_database(url, home=tmp_path)
        await database.close()

        added = await tables(engine) - before
        async with engine.connect() as connection:
            theirs = (await connection.execute(text("SELECT version_num FROM alembic_version"))).scalars().all()
        loaded = await service.get_session(app_name="gaia", user_id="itay", session_id="s")
        await engine.dispose()
    assert theirs == ["theirs"]
    assert loaded.id == session.id
    assert all(name.startswith(TABLE_PREFIX) for name in added)
    assert "gaia_facts" in added


async def tables(engine):
    """Return the names of all tables."""
    async with engine.connect() as connection:
        return set(await connection.run_sync(lambda sync: inspect(sync).get_table_names()))


@on_each_database
async def test_concurrent_opens_of_a_new_database_create_it_once(kind, tmp_path):
    """One of them creates the tables, the others wait for it."""
    async with memory_url(kind, tmp_path) as url:
        opened = await asyncio.gather(*(open_database(url, home=tmp_path) for _ in range(6)))
        stores = set()
        for database in opened:
            async with database.read_transaction() as tx:
                stores.add((await Outbox().store(tx)).store_id)
            await database.close()

    assert len(stores) == 1


@on_each_database
async def test_an_up_to_date_database_is_opened_without_importing_the_migrations(kind, tmp_path, monkeypatch):
    """One short statement; nothing is written."""
    async with memory_url(kind, tmp_path) as url:
        await (await open_database(url, home=tmp_path)).close()
        monkeypatch.setitem(sys.modules, "alembic", None)
        database = await open_database(url, home=tmp_path)
        await database.close()


@on_each_database
async def test_a_database_of_a_newer_version_is_rejected_with_an_explanation(kind, tmp_path):
    """It is left unchanged."""
    async with memory_database(kind, tmp_path) as database:
        async with database.transaction() as tx:
            await tx.execute(text("UPDATE gaia_alembic_version SET version_num = '9999'"))
        with pytest.raises(MemoryUnavailable, match="'9999'") as refused:
            await open_database(database.engine.url, home=tmp_path)

    assert "newer" in refused.value.remedy


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://postgres@127.0.0.1:1/nobody-listens",
        "sqlite:////proc/no/such/folder/memory.db",
    ],
)
async def test_an_unreachable_database_is_named_as_the_reason(url, tmp_path):
    """The error has a remedy."""
    with pytest.raises(MemoryUnavailable) as refused:
        await open_database(url, home=tmp_path)

    assert "database_url" in refused.value.remedy


async def test_a_file_that_is_no_database_is_reported_and_unchanged(tmp_path):
    """It may be needed elsewhere."""
    file = tmp_path / "memory.db"
    file.write_bytes(b"something else entirely, and long enough to be looked at" * 100)
    with pytest.raises(MemoryUnavailable, match="not a database"):
        await open_database(f"sqlite:///{file}", home=tmp_path)

    assert file.read_bytes().startswith(b"something else")


async def test_a_failed_open_ends_the_threads_of_its_connections(tmp_path):
    """A thread that answers later finds the event loop closed and prints a traceback."""
    file = tmp_path / "memory.db"
    file.write_bytes(b"no database" * 1000)
    earlier_threads = set(threading.enumerate())
    for _ in range(20):
        with pytest.raises(MemoryUnavailable):
            await open_database(f"sqlite:///{file}", home=tmp_path)

        new_threads = set(threading.enumerate()) - earlier_threads
        assert [thread.name for thread in new_threads if thread.name.startswith("gaia-sqlite-")] == []


@pytest.mark.parametrize("url", ["", "no url", "sqlite://", "sqlite:///:memory:"])
async def test_an_in_memory_url_is_rejected(url, tmp_path):
    """Memory has to outlive the process."""
    with pytest.raises(ConfigError):
        await open_database(url, home=tmp_path)


async def test_errors_of_statements_contain_no_user_text(tmp_path):
    """They may be logged."""
    async with memory_database("sqlite", tmp_path) as database:

        async def fail():
            async with database.transaction() as tx:
                await tx.execute(text("INSERT INTO gaia_nowhere VALUES (:fact)"), {"fact": "likes zebra"})

        with pytest.raises(MemoryUnavailable) as failed:
            await fail()

    assert "zebra" not in f"{failed.value} {failed.value.__cause__}"


def files_holding(folder: Path, word: bytes) -> list[str]:
    """Return the files that contain a word."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and word in path.read_bytes().lower())


@pytest.mark.acceptance("C11")
async def test_after_a_scrub_no_file_contains_a_forgotten_word(tmp_path):
    """Neither the database nor the log beside it; other users' text is still there."""
    async with memory_database("sqlite", tmp_path) as database:
        for batch in range(5):
            async with database.transaction() as tx:
                drafts = [make_draft(f"keeps zebra{batch}x{number} in the yard", note="zebra") for number in range(50)]
                await facts.writer.write(tx, ITAY, drafts, now=NOW)
        async with database.transaction() as tx:
            await facts.writer.write(tx, ITAY, [make_draft("keeps a quagga")], now=NOW)
        assert files_holding(tmp_path, b"zebra") != []
        async with database.transaction() as tx:
            striped = [fact.id for fact in await facts.facts(tx, ITAY) if "zebra" in fact.text]
            await facts.delete(tx, ITAY, striped[:100])
        async with database.transaction() as tx:
            await facts.delete(tx, ITAY, striped[100:])

        assert await database.scrub()
        assert files_holding(tmp_path, b"zebra") == []
        assert files_holding(tmp_path, b"quagga") != []
        async with database.transaction() as tx:
            await facts.delete_all(tx, ITAY, forgotten_at=1.0)
        assert await database.scrub()
        assert files_holding(tmp_path, b"quagga") == []


async def test_a_scrub_blocked_by_a_reader_says_so(tmp_path):
    """It gives up soon, blocks no one, and can be repeated."""
    async with memory_database("sqlite", tmp_path) as database:
        async with database.transaction() as tx:
            await facts.writer.write(tx, ITAY, [make_draft("x")], now=NOW)
        async with database.read_transaction() as tx:
            await facts.count(tx, ITAY)
            async with database.transaction() as writing:
                await facts.delete_all(writing, ITAY, forgotten_at=1.0)

            assert not await database.scrub()
        assert await database.scrub()


async def test_the_log_of_a_session_database_is_emptied_on_request(tmp_path):
    """Afterwards no file contains deleted text."""
    engine = open_engine(f"sqlite:///{tmp_path}/sessions.db")
    service = DatabaseSessionService(db_engine=engine)
    await service.create_session(app_name="gaia", user_id="itay", session_id="s", state={"said": "zebra"})
    await service.delete_session(app_name="gaia", user_id="itay", session_id="s")
    before = files_holding(tmp_path, b"zebra")
    emptied = await truncate_wal(engine)
    after = files_holding(tmp_path, b"zebra")
    async with engine.connect() as connection:
        timeout = (await connection.execute(text("PRAGMA busy_timeout"))).scalar()
    await engine.dispose()

    assert before == ["sessions.db-wal"]
    assert emptied
    assert after == []
    assert timeout == 15_000
