"""The memory database on disk and on a server: made, brought up to date, shared, scrubbed."""

from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from google.adk.events import Event
from google.adk.sessions import DatabaseSessionService
from sqlalchemy import inspect, text

import gaia_memory.facts.tables
import gaia_memory.ledger.tables  # noqa: F401 - both rooms' tables join the one metadata
from gaia_memory.database import migrations
from gaia_memory.database.metadata import TABLE_PREFIX, metadata
from gaia_memory.database.sql_engine import open_database, open_engine, truncate_wal
from gaia_memory.errors import ConfigError, MemoryUnavailable
from gaia_memory.facts import SqlFacts, SqlOutbox
from support.databases import ITAY, NOW, fact_texts, make_draft, memory_database, memory_url, on_each_database

facts = SqlFacts()


def belongs_to(dialect):
    """Leave out what another dialect has, the FTS5 tables that are no ordinary ones, and what is not ours."""

    def included(thing, name, kind, reflected, compare_to):
        if kind != "table":
            return True
        if reflected and dialect == "sqlite" and name.startswith("gaia_words"):
            return False
        return name.startswith(TABLE_PREFIX) and thing.info.get("only", dialect) == dialect

    return included


@on_each_database
async def test_the_migrations_lead_to_exactly_the_tables_the_code_uses(kind, tmp_path):
    """Types included; nothing more, nothing less."""
    async with memory_database(kind, tmp_path) as database, database.engine.connect() as connection:

        def differences(sync):
            options = {
                "compare_type": True,
                "include_object": belongs_to(kind),
                "version_table": "gaia_alembic_version",
            }
            return compare_metadata(MigrationContext.configure(sync, opts=options), metadata)

        assert await connection.run_sync(differences) == []


def test_the_revisions_the_code_names_are_the_scripts_that_are_there():
    """The last one is what a database is compared with at every start."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    scripts = ScriptDirectory.from_config(config)

    assert [script.revision for script in reversed(list(scripts.walk_revisions()))] == list(migrations.REVISIONS)


@on_each_database
async def test_only_tables_of_ours_are_made_and_those_of_the_host_stay_as_they_are(kind, tmp_path):
    """A server database may hold the host's sessions and a migration history of its own."""
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
    """Give the names of all tables."""
    async with engine.connect() as connection:
        return set(await connection.run_sync(lambda sync: inspect(sync).get_table_names()))


@on_each_database
async def test_many_may_open_a_new_database_at_the_same_moment(kind, tmp_path):
    """One of them makes the tables, the others wait for it."""
    async with memory_url(kind, tmp_path) as url:
        opened = await asyncio.gather(*(open_database(url, home=tmp_path) for _ in range(6)))
        stores = set()
        for database in opened:
            async with database.read_transaction() as tx:
                stores.add((await SqlOutbox().store(tx)).store_id)
            await database.close()

    assert len(stores) == 1


def test_two_processes_may_make_the_same_file_at_the_same_moment(tmp_path):
    """Also the change of the journal's mode, which waits for nobody by itself."""
    program = (
        "import asyncio, sys; from pathlib import Path\n"
        "from gaia_memory.database.sql_engine import open_database\n"
        "async def main():\n"
        "    database = await open_database(f'sqlite:///{sys.argv[1]}/memory.db', home=Path(sys.argv[1]))\n"
        "    await database.close()\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-W", "error", "-c", program, str(tmp_path)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    errors = [process.communicate()[1] for process in running]

    assert [process.returncode for process in running] == [0, 0, 0], errors


@on_each_database
async def test_a_database_that_is_up_to_date_is_opened_without_loading_the_migrations(kind, tmp_path, monkeypatch):
    """One short statement; nothing is written."""
    async with memory_url(kind, tmp_path) as url:
        await (await open_database(url, home=tmp_path)).close()
        monkeypatch.setitem(sys.modules, "alembic", None)
        database = await open_database(url, home=tmp_path)
        await database.close()


@on_each_database
async def test_a_database_of_a_newer_version_is_refused_in_words(kind, tmp_path):
    """It is left as it is."""
    async with memory_database(kind, tmp_path) as database:
        async with database.transaction() as tx:
            await tx.execute(text("UPDATE gaia_alembic_version SET version_num = '9999'"))
        with pytest.raises(MemoryUnavailable, match="'9999'") as refused:
            await open_database(database.engine.url, home=tmp_path)

    assert "newer" in refused.value.remedy


async def test_the_files_are_for_their_owner_only(tmp_path):
    """The folder, the database and what SQLite puts beside it; also of a sessions database."""
    home = tmp_path / "a" / "home"
    database = await open_database(f"sqlite:///{home}/memory.db", home=home)
    sessions = open_engine(f"sqlite:///{home}/sessions.db")
    service = DatabaseSessionService(db_engine=sessions)
    await service.create_session(app_name="gaia", user_id="itay")
    async with database.transaction() as tx:
        await facts.write(tx, ITAY, [make_draft("x")], now=NOW)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in home.iterdir()}
    await sessions.dispose()
    await database.close()

    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert set(modes) == {f"{name}.db{suffix}" for name in ("memory", "sessions") for suffix in ("", "-wal", "-shm")}
    assert set(modes.values()) == {0o600}


@on_each_database
async def test_an_engine_of_ours_serves_the_session_service_of_adk(kind, tmp_path):
    """Many sessions at once; on SQLite nobody is refused because somebody else writes."""
    async with memory_url(kind, tmp_path) as url:
        engine = open_engine(url)
        service = DatabaseSessionService(db_engine=engine)

        async def talk(number):
            session = await service.create_session(app_name="gaia", user_id="itay", session_id=f"s{number}")
            for _ in range(3):
                await service.append_event(session, Event(author="user"))
            return await service.get_session(app_name="gaia", user_id="itay", session_id=f"s{number}")

        sessions = await asyncio.gather(*(talk(number) for number in range(10)))
        await service.delete_session(app_name="gaia", user_id="itay", session_id="s0")
        async with engine.connect() as connection:
            left = (await connection.execute(text("SELECT count(*) FROM events"))).scalar()
        await engine.dispose()

    assert [len(session.events) for session in sessions] == [3] * 10
    assert left == 27


@on_each_database
async def test_a_reader_sees_one_state_while_others_write(kind, tmp_path):
    """And neither waits for the other."""
    async with memory_database(kind, tmp_path) as database:
        async with database.read_transaction() as tx:
            before = await facts.count(tx, ITAY)
            async with database.transaction() as writing:
                await facts.write(writing, ITAY, [make_draft("x")], now=NOW)
            during = await facts.count(tx, ITAY)
        async with database.read_transaction() as tx:
            after = await facts.count(tx, ITAY)

    assert (before, during, after) == (0, 0, 1)


@on_each_database
async def test_a_reader_cannot_write_on_a_server_and_does_not_take_the_lock_on_a_file(kind, tmp_path):
    """A write in the wrong transaction is found in a test, not in the field."""
    async with memory_database(kind, tmp_path) as database, database.read_transaction() as tx:
        if kind == "postgresql":
            with pytest.raises(Exception, match="read-only"):
                await tx.execute(text("DELETE FROM gaia_facts"))
        else:
            async with database.transaction() as writing:
                await writing.execute(text("DELETE FROM gaia_facts"))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://postgres@127.0.0.1:1/nobody-listens",
        "sqlite:////proc/no/such/folder/memory.db",
    ],
)
async def test_a_database_that_cannot_be_reached_is_named_as_the_reason(url, tmp_path):
    """With what to look at."""
    with pytest.raises(MemoryUnavailable) as refused:
        await open_database(url, home=tmp_path)

    assert "database_url" in refused.value.remedy


async def test_a_file_that_is_no_database_is_told_and_left_alone(tmp_path):
    """It may be somebody's."""
    file = tmp_path / "memory.db"
    file.write_bytes(b"something else entirely, and long enough to be looked at" * 100)
    with pytest.raises(MemoryUnavailable, match="not a database"):
        await open_database(f"sqlite:///{file}", home=tmp_path)

    assert file.read_bytes().startswith(b"something else")


@pytest.mark.parametrize("url", ["", "no url", "sqlite://", "sqlite:///:memory:"])
async def test_a_url_that_keeps_nothing_is_refused(url, tmp_path):
    """Memory has to outlive the process."""
    with pytest.raises(ConfigError):
        await open_database(url, home=tmp_path)


async def test_errors_of_statements_hold_no_text_of_a_person(tmp_path):
    """They may end in a log."""
    async with memory_database("sqlite", tmp_path) as database:

        async def fail():
            async with database.transaction() as tx:
                await tx.execute(text("INSERT INTO gaia_nowhere VALUES (:fact)"), {"fact": "likes zebra"})

        with pytest.raises(MemoryUnavailable) as failed:
            await fail()

    assert "zebra" not in f"{failed.value} {failed.value.__cause__}"


def files_holding(folder: Path, word: bytes) -> list[str]:
    """Name the files that hold a word."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and word in path.read_bytes().lower())


@pytest.mark.acceptance("C11")
async def test_after_a_scrub_no_file_holds_a_forgotten_word(tmp_path):
    """Neither the database nor the log beside it; what others said is still there."""
    async with memory_database("sqlite", tmp_path) as database:
        for batch in range(5):
            async with database.transaction() as tx:
                drafts = [make_draft(f"keeps zebra{batch}x{number} in the yard", note="zebra") for number in range(50)]
                await facts.write(tx, ITAY, drafts, now=NOW)
        async with database.transaction() as tx:
            await facts.write(tx, ITAY, [make_draft("keeps a quagga")], now=NOW)
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


async def test_a_scrub_says_when_a_reader_is_in_its_way(tmp_path):
    """It gives up soon, keeps nobody waiting, and is asked again."""
    async with memory_database("sqlite", tmp_path) as database:
        async with database.transaction() as tx:
            await facts.write(tx, ITAY, [make_draft("x")], now=NOW)
        async with database.read_transaction() as tx:
            await facts.count(tx, ITAY)
            async with database.transaction() as writing:
                await facts.delete_all(writing, ITAY, forgotten_at=1.0)

            assert not await database.scrub()
        assert await database.scrub()


async def test_the_log_of_a_sessions_database_is_emptied_on_request(tmp_path):
    """What was deleted is in no file afterwards."""
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


@on_each_database
async def test_a_scrub_of_a_database_at_rest_succeeds(kind, tmp_path):
    """On a server it is a VACUUM of our tables."""
    async with memory_database(kind, tmp_path) as database:
        async with database.transaction() as tx:
            await facts.write(tx, ITAY, [make_draft("stays")], now=NOW)

        assert await database.scrub()
        async with database.read_transaction() as tx:
            assert fact_texts(await facts.facts(tx, ITAY)) == ["stays"]
