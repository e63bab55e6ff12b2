"""A home of 0.4 is migrated with all its content; one of an older version is refused."""

from __future__ import annotations

import asyncio
import hashlib
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, inspect, select, text
from sqlalchemy.pool import NullPool

from gaia_memory.database import migrations
from gaia_memory.database.id_encoding import encode_id, index_key
from gaia_memory.database.sql_engine import open_database, open_engine
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.facts import FactStore, Indexes, scopes
from gaia_memory.facts.identity.text_identity import normal_hash
from gaia_memory.ledger import Ledger
from gaia_memory.ledger.tables import conversations
from gaia_memory.models import EventPosition, FrozenProfile, LearningProgress, SessionKey, WindowAnchor
from support.databases import ITAY, NOW, fact_texts, make_draft, memory_url, on_each_database

facts, ledger = FactStore(), Ledger()
ME = "elsewhere:1:1.00/a"
LONG = "\u05d0" * 2000
"""An app whose id does not fit into an index."""
EMPTY = {
    **dict.fromkeys(["active_until", "lease_owner", "lease_until", "clearing", "clearing_until", "cleared_at"]),
    **dict.fromkeys(["watermark_at", "watermark_event", "retry_at", "last_error", "forgotten_at"]),
    **dict.fromkeys(["profile", "profile_key", "anchor_turn_no", "anchor_at"]),
}
STATES = {
    "fresh": {"turn_no": 1},
    "talking": {"turn_no": 1, "active_until": 1_000.0},
    "leased": {"turn_no": 1, "lease_owner": ME, "lease_until": 220.0, "claimed_turn_no": 1},
    "clearing": {"turn_no": 1, "lease_owner": ME, "lease_until": 220.0, "clearing": ME, "clearing_until": 203.0},
    "failing": {"turn_no": 2, "attempts": 3, "retry_at": 500.0, "last_error": "no JSON"},
    "parked": {"turn_no": 2, "attempts": 8, "retry_at": 500.0, "last_error": "no JSON", "parked": True},
    "learned": {"turn_no": 3, "learned_turn_no": 3, "done_turn_no": 3, "learned_turns": 3, "watermark_at": 90.0}
    | {"watermark_event": "e%2F3", "cleared_at": 95.0, "forgotten_at": 5.0},
    "known": {"turn_no": 1, "profile": "- tea", "profile_key": "k", "anchor_turn_no": 1, "anchor_at": 1.0},
    "before us": {"learned_turn_no": -1, "done_turn_no": -1},
}


def key_of(state: str) -> SessionKey:
    """Return a conversation's key; the one of one state belongs to an app with a very long id."""
    return SessionKey(LONG if state == "fresh" else "gaia", "it:ay", state)


def old_row(state: str) -> dict:
    """Return a row as 0.4 wrote it."""
    key = key_of(state)
    row = {"conversation": index_key(key.app, key.user, key.session), "person": index_key(key.user)}
    row |= {"app": encode_id(key.app), "user_id": encode_id(key.user), "session_id": encode_id(key.session)}
    row |= {"turn_no": 0, "touched": 100.0, "learned_turns": 0, "learned_turn_no": 0, "done_turn_no": 0}
    row |= {"claimed_turn_no": 0, "attempts": 0, "parked": False, "app_key": index_key(key.app)}
    return row | EMPTY | STATES[state]


@asynccontextmanager
async def old_engine(url):
    """Yield an engine on a new database of 0.4."""

    async def make():
        # Alembic reads its scripts from disk.
        maker = open_engine(url, poolclass=NullPool)
        async with maker.begin() as connection:
            await connection.run_sync(_make_old)
        await maker.dispose()

    await asyncio.to_thread(lambda: asyncio.run(make()))
    engine = open_engine(url, poolclass=NullPool)
    try:
        yield engine
    finally:
        await engine.dispose()


KEYWORD_INDEX = {
    "sqlite": ["CREATE VIRTUAL TABLE gaia_words USING fts5(words, tokenize='porter unicode61 remove_diacritics 2')"],
    "postgresql": [
        "CREATE TEXT SEARCH DICTIONARY gaia_stem (TEMPLATE = snowball, Language = english)",
        "CREATE TEXT SEARCH CONFIGURATION gaia_text (COPY = simple)",
        "ALTER TEXT SEARCH CONFIGURATION gaia_text ALTER MAPPING FOR asciiword, word, numword WITH gaia_stem",
        "CREATE TABLE gaia_words (fact_row BIGINT PRIMARY KEY REFERENCES gaia_facts (row) ON DELETE CASCADE, "
        "words TSVECTOR NOT NULL)",
        "CREATE INDEX ix_gaia_words_words ON gaia_words USING gin (words)",
    ],
}
"""What 0.4 had beside the tables of the first migration."""


def _make_old(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["connection"] = connection
    command.upgrade(config, "0016")
    for statement in (
        *KEYWORD_INDEX[connection.dialect.name],
        "DROP INDEX ix_gaia_facts_partition_row",
        "ALTER TABLE gaia_facts ADD COLUMN words BIGINT NOT NULL DEFAULT 0",
        "CREATE INDEX ix_gaia_facts_partition_row_words ON gaia_facts (partition, row, words)",
        "CREATE TABLE gaia_reindexing (id BIGINT PRIMARY KEY, form BIGINT NOT NULL, after BIGINT NOT NULL)",
        "CREATE TABLE gaia_late_turns (conversation VARCHAR(256) NOT NULL, invocation_id TEXT NOT NULL)",
    ):
        connection.execute(text(statement))


async def fill(engine) -> None:
    """Write current and past facts, conversations, events to skip and an app's bootstrap, in the tables of 0.4."""

    async def insert(table: str, **values) -> None:
        names = ", ".join(values)
        marks = ", ".join(f":{name}" for name in values)
        await connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({marks})"), values)

    async with engine.begin() as connection:
        state = await scopes.bump_revision(connection, ITAY)
        its = {"partition": ITAY.partition}
        of_fact = {**its, "source": "add", "metadata": "{}", "version": state.revision}
        of_fact |= {"created_at": 1.0, "updated_at": 1.0}
        for number, said in enumerate(("drinks tea", "walks at dawn")):
            await insert("gaia_facts", id=f"f{number}", text=said, normal=normal_hash(said), words=2, **of_fact)
        await insert("gaia_past_facts", id="past", text="Lives in Oslo", normal=normal_hash("Lives in Oslo"), **of_fact)
        ending = {"fact_id": "past", "ended_at": 2.0, "noted_at": 2.0, "why": "retracted", "actor": "person"}
        await insert("gaia_endings", **its, **ending)
        await insert("gaia_profiles", **its, bullets='["tea"]', fingerprint="f", revision=1)
        for each in STATES:
            await insert("gaia_conversations", **old_row(each))
        await insert("gaia_skips", conversation=old_row("learned")["conversation"], event_id="e%2F1")
        await insert("gaia_bootstraps", app="gaia")


@on_each_database
async def test_everything_is_kept_and_the_keyword_index_is_gone(kind, tmp_path):
    """Each row keeps its values, and past facts can be told and restored."""
    async with memory_url(kind, tmp_path) as url:
        async with old_engine(url) as engine:
            await fill(engine)
        database = await open_database(url, home=tmp_path)
        async with database.read_transaction() as tx:
            version = (await tx.execute(text("SELECT version_num FROM gaia_alembic_version"))).scalar_one()
            rows = {row.session_id: row for row in await tx.execute(select(conversations))}
            kept = await facts.facts(tx, ITAY)
            skipped = await ledger.skipped_events(tx, key_of("learned"), event_ids=["e/1", "e/2", "e1"])
            learned = await ledger.row(tx, key_of("learned"))
            known = await ledger.row(tx, key_of("known"))
            assert await ledger.is_bootstrapped(tx, "gaia")
            cached = await facts.cached_profile(tx, ITAY)
            outdated = await Indexes().count_outdated(tx)
        async with database.engine.connect() as connection:
            tables = await connection.run_sync(lambda sync: inspect(sync).get_table_names())
        async with database.transaction() as tx:
            [past] = await facts.history.history(tx, ITAY, "past")
            await facts.corrections.restore(tx, ITAY, "past", actor="person", now=NOW)
            await facts.writer.write(tx, ITAY, [make_draft("new")], now=NOW)
            written = await facts.facts(tx, ITAY)
        await database.close()

    assert version == migrations.REVISIONS[-1]
    assert fact_texts(kept) == ["drinks tea", "walks at dawn"]
    assert outdated == 2
    assert [each for each in tables if each.startswith(("gaia_words", "gaia_reindexing", "gaia_late"))] == []
    assert (past.text, past.why) == ("Lives in Oslo", "retracted")
    assert {fact.text for fact in written} == {"drinks tea", "walks at dawn", "Lives in Oslo", "new"}
    assert skipped == {"e/1"}
    assert (cached.bullets, cached.fingerprint, cached.made_by, cached.made_at) == (("tea",), "f", None, None)
    assert learned.progress == LearningProgress(
        watermark=EventPosition(90.0, "e/3"), learned_turns=3, is_learned=True, is_done=True, forgotten_at=5.0
    )
    assert (known.session.profile, known.session.anchor) == (
        FrozenProfile(block="- tea", key="k"),
        WindowAnchor(turn_no=1, timestamp=1.0),
    )
    assert len(rows) == len(STATES)
    for state in STATES:
        row = rows[encode_id(state)]._mapping
        assert {name: row[name] for name in old_row(state)} == old_row(state)


@on_each_database
async def test_a_home_older_than_0_4_is_refused_unchanged(kind, tmp_path):
    """The error says which version migrates it."""
    async with memory_url(kind, tmp_path) as url:
        async with old_engine(url) as engine, engine.begin() as connection:
            await connection.execute(text("UPDATE gaia_alembic_version SET version_num = '0012'"))
        with pytest.raises(
            MemoryUnavailable, match=r"schema '0012', which is older than gaia-memory 0\.4.*open it once"
        ):
            await open_database(url, home=tmp_path)
        engine = open_engine(url, poolclass=NullPool)
        async with engine.connect() as connection:
            assert (await connection.execute(text("SELECT version_num FROM gaia_alembic_version"))).scalar() == "0012"
        await engine.dispose()


@on_each_database
async def test_due_conversations_are_found_after_the_migration_and_can_be_claimed(kind, tmp_path):
    """Marks expire as before, and an app with a very long id is found by its key."""
    async with memory_url(kind, tmp_path) as url:
        async with old_engine(url) as engine:
            await fill(engine)
        database = await open_database(url, home=tmp_path)

        async def due(now, quiet_since):
            async with database.transaction() as tx:
                await ledger.expire(tx, now=now)
            async with database.read_transaction() as tx:
                found = await ledger.due(tx, quiet_since=quiet_since, limit=99, apps=["gaia", LONG])
            return {one.key.session for one in found}

        early = await due(200.0, 150.0)
        forced = await due(200.0, None)
        late = await due(2_000.0, 1_000.0)
        async with database.transaction() as tx:
            claimed = await ledger.claim(tx, key_of("fresh"), ME, now=2_000.0, lease_seconds=30)
            pending = await ledger.pending(tx, user="it:ay", app=LONG)
        await database.close()

    at_rest = {"fresh", "known", "before us"}
    assert early == at_rest
    assert forced == at_rest | {"failing", "parked"}
    assert late == at_rest | {"failing", "talking", "leased", "clearing"}
    assert claimed is not None
    assert [one.key for one in pending] == [key_of("fresh")]


@on_each_database
async def test_concurrent_migrations_run_once(kind, tmp_path):
    """One process migrates, the others wait for it."""
    async with memory_url(kind, tmp_path) as url:
        async with old_engine(url) as engine:
            await fill(engine)
        opened = await asyncio.gather(*(open_database(url, home=tmp_path) for _ in range(4)))
        async with opened[0].read_transaction() as tx:
            assert len((await tx.execute(select(conversations))).all()) == len(STATES)
        for database in opened:
            await database.close()


_MIGRATE = """
import asyncio, sys, time
from pathlib import Path
from sqlalchemy import event
from sqlalchemy.engine import Engine
from gaia_memory.database.sql_engine import open_database

seen = 0

@event.listens_for(Engine, "after_cursor_execute")
def stop(connection, cursor, statement, parameters, context, many):
    global seen
    seen += statement.lstrip().upper().startswith(("ALTER", "CREATE", "DROP", "UPDATE", "INSERT"))
    if seen == int(sys.argv[2]):
        print("stopped", statement.split(), flush=True)
        time.sleep(600)

asyncio.run(open_database(sys.argv[1], home=Path(sys.argv[3])))
print("done", seen, flush=True)
"""


async def run_until(url, folder, step: int):
    """Migrate in a process that stops after a number of statements; return it with its output."""
    address = url.render_as_string(hide_password=False)
    arguments = [sys.executable, "-c", _MIGRATE, address, str(step), str(folder)]
    process = await asyncio.create_subprocess_exec(*arguments, stdout=asyncio.subprocess.PIPE)
    said = await asyncio.wait_for(process.stdout.readline(), 60)
    return process, said.decode()


async def killed_at(kind, folder, step: int) -> None:
    """Kill a process during its migration and check that the next one completes it."""
    async with memory_url(kind, folder) as url:
        async with old_engine(url) as engine:
            await fill(engine)
        process, said = await run_until(url, folder, step)
        assert said.startswith("stopped"), said
        process.send_signal(signal.SIGKILL)
        await process.wait()
        database = await asyncio.wait_for(open_database(url, home=folder), 60)
        async with database.read_transaction() as tx:
            rows = (await tx.execute(select(conversations))).all()
            version = (await tx.execute(text("SELECT version_num FROM gaia_alembic_version"))).scalar_one()
            assert len(await facts.facts(tx, ITAY)) == 2
        await database.close()

    assert version == migrations.REVISIONS[-1]
    assert {row.app_key for row in rows} == {"gaia", "sha256-" + hashlib.sha256(encode_id(LONG).encode()).hexdigest()}


@on_each_database
async def test_a_killed_migration_is_completed_by_the_next_process(kind, tmp_path):
    """Until then it leaves neither half-changed tables nor a lock."""
    await killed_at(kind, tmp_path, 7)


@pytest.mark.slow
@on_each_database
async def test_a_migration_may_be_killed_after_any_statement(kind, tmp_path):
    """From the first to the last."""
    async with memory_url(kind, tmp_path) as url:
        async with old_engine(url) as engine:
            await fill(engine)
        process, said = await run_until(url, tmp_path, 10_000)
        await process.wait()
    steps = int(said.split()[1])
    assert said.startswith("done")
    assert steps > 10
    for step in range(1, steps + 1):
        (tmp_path / str(step)).mkdir()
        await killed_at(kind, tmp_path / str(step), step)
