"""A database of the previous version is migrated with all its content."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import signal
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, select, text
from sqlalchemy.pool import NullPool

from gaia_memory.database import migrations
from gaia_memory.database.id_encoding import encode_id, index_key
from gaia_memory.database.sql_engine import open_database, open_engine
from gaia_memory.facts import SqlFacts, SqlIndexes, scopes, tables
from gaia_memory.facts.identity.text_identity import normal_hash
from gaia_memory.facts.indexing import keyword_index
from gaia_memory.facts.rows import from_epoch_seconds
from gaia_memory.ledger import SqlLedger
from gaia_memory.ledger.tables import bootstraps, conversations, late_turns, skips
from gaia_memory.models import Draft, EventPosition, FrozenProfile, LearningProgress, NewFact, SessionKey, WindowAnchor
from support.databases import ITAY, NOW, count_indexed, fact_texts, make_draft, memory_url, on_each_database

facts, ledger = SqlFacts(), SqlLedger()
TEA = normal_hash("likes tea")
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
    """Return a row as the first version wrote it."""
    key = key_of(state)
    row = {"conversation": index_key(key.app, key.user, key.session), "person": index_key(key.user)}
    row |= {"app": encode_id(key.app), "user_id": encode_id(key.user), "session_id": encode_id(key.session)}
    row |= {"turn_no": 0, "touched": 100.0, "learned_turns": 0, "learned_turn_no": 0, "done_turn_no": 0}
    row |= {"claimed_turn_no": 0, "attempts": 0, "parked": False}
    return row | EMPTY | STATES[state]


@asynccontextmanager
async def old_engine(url, version="0001"):
    """Yield an engine on a new database of an old version, by default the first."""

    async def make():
        # Alembic reads its scripts from disk.
        maker = open_engine(url, poolclass=NullPool)
        async with maker.begin() as connection:
            await connection.run_sync(_make_old, version)
        await maker.dispose()

    await asyncio.to_thread(lambda: asyncio.run(make()))
    engine = open_engine(url, poolclass=NullPool)
    try:
        yield engine
    finally:
        await engine.dispose()


def _make_old(connection: Connection, version: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["connection"] = connection
    command.upgrade(config, version)


async def old_facts(connection, *said: str) -> None:
    """Write facts of ITAY as every version did before facts had a `form` or `traits`."""
    state = await scopes.bump_revision(connection, ITAY)
    times = dict.fromkeys(["created_at", "updated_at"], 1.0)
    for number, each in enumerate(said):
        row = {"id": f"00000000-0000-4000-8000-{number:012}", "partition": ITAY.partition, "text": each}
        row |= {"normal": f"n{number}", "words": 2, "source": "add", "metadata": {}, "version": state.revision}
        await connection.execute(tables.facts.insert(), row | times)
    rows = (await connection.execute(select(tables.facts.c.row, tables.facts.c.text))).all()
    await keyword_index.index(connection, state.number, rows)


async def fill(engine) -> None:
    """Write facts, conversations, events to skip and an app's bootstrap, in the tables of the first version."""
    async with engine.begin() as connection:
        await old_facts(connection, "drinks tea", "walks at dawn")
        profile = {"partition": ITAY.partition, "bullets": '["tea"]'}
        names = "partition, bullets, fingerprint, revision"
        entry = f"INSERT INTO gaia_profiles ({names}) VALUES (:partition, :bullets, 'f', 1)"
        await connection.execute(text(entry), profile)
        for state in STATES:
            row = old_row(state)
            names = ", ".join(row)
            values = ", ".join(f":{name}" for name in row)
            await connection.execute(text(f"INSERT INTO gaia_conversations ({names}) VALUES ({values})"), row)
        entry = {"conversation": old_row("learned")["conversation"], "event_id": "e%2F1"}
        await connection.execute(text("INSERT INTO gaia_skips VALUES (:conversation, :event_id)"), entry)
        await connection.execute(text("INSERT INTO gaia_bootstraps VALUES ('gaia')"))


@on_each_database
async def test_everything_is_kept_and_new_columns_start_empty(kind, tmp_path):
    """Each row keeps its values."""
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
            found = await count_indexed(tx, ITAY, "tea")
            outdated = await SqlIndexes().count_outdated(tx)
            assert (await tx.execute(select(late_turns))).all() == []
        await database.close()

    assert version == migrations.REVISIONS[-1]
    assert fact_texts(kept) == ["drinks tea", "walks at dawn"]
    assert found == 1
    assert outdated == 2
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
        assert (row["bad_answers"], row["failing_since"], row["rewound_at"]) == (0, None, None)
        assert (row["is_foreign"], row["is_private"], row["asks_of_rows"]) == (False, False, False)
        assert row["active_owner"] is None
        assert (row["profile_made_at"], row["profile_made_by"]) == (None, None)
        assert row["app_key"] == index_key(key_of(state).app)


SOURCED = {
    "by a person": ("remember", "remember", None, {}, [("remember", None, [])]),
    "by a model": ("remember", "agent", "itay:cli", {}, [("remember", "itay:cli", ["e1"])]),
    "in bulk": ("add", "add", None, {"category": "health", "level": 5, "sensitive": True}, [("add", None, [])]),
    "imported": ("import", "import", None, {"entity": 7}, [("import", None, [])]),
    "twice": (
        "conversation",
        "conversation",
        "itay:cli",
        {"context": "work"},
        [("conversation", "itay:cli", ["e1", "e2"]), ("remember", "itay:tg", ["e3"])],
    ),
}
"""Facts of version 0.1: their source, the one they have now, their session, metadata and sources."""


async def write_sourced(connection) -> None:
    """Write facts with their sources in the tables of version 0.1."""
    state = await scopes.bump_revision(connection, ITAY)
    for number, (said, (source, _, session, noted, origins)) in enumerate(SOURCED.items()):
        row = {"id": f"f-{number}", "its": ITAY.partition, "said": said, "normal": said, "source": source}
        row |= {"session": session and encode_id(session), "noted": json.dumps(noted, separators=(",", ":"))}
        names = (
            "id, partition, text, normal, words, said_at, source, session_id, metadata, version, created_at, updated_at"
        )
        values = ":id, :its, :said, :normal, 1, 50, :source, :session, :noted, :version, :made, 200"
        entry = f"INSERT INTO gaia_facts ({names}) VALUES ({values})"
        await connection.execute(text(entry), {**row, "version": state.revision, "made": 100.0 + number})
        query = text("SELECT row FROM gaia_facts WHERE id = :id")
        place = (await connection.execute(query, {"id": row["id"]})).scalar_one()
        for kind, where, events in origins:
            names = "fact_row, origin, kind, app, session_id, event_ids"
            entry = f"INSERT INTO gaia_fact_sources ({names}) VALUES (:place, :hash, :kind, 'gaia', :session, :events)"
            hashed = {"kind": kind, "app": "gaia", "session_id": where and encode_id(where), "seq": None}
            hashed |= {"said_at": None, "event_ids": events}
            found = hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()
            told = {"place": place, "hash": found, "kind": kind, "session": hashed["session_id"]}
            await connection.execute(text(entry), {**told, "events": json.dumps(events, separators=(",", ":"))})


@on_each_database
async def test_facts_of_version_0_1_get_labels_and_sources_their_facts_id(kind, tmp_path):
    """Labels come from the metadata, which stay; a tool call that has events is the agent's."""
    async with memory_url(kind, tmp_path) as url:
        async with old_engine(url, "0008") as engine, engine.begin() as connection:
            await write_sourced(connection)
        database = await open_database(url, home=tmp_path)
        async with database.read_transaction() as tx:
            kept = {fact.text: fact for fact in await facts.facts(tx, ITAY)}
            origins = await facts.origins(tx, ITAY)
        again = Draft(fact=NewFact("by a model", session_id="itay:cli"), source="agent", app="gaia", event_ids=("e1",))
        async with database.transaction() as tx:
            await tx.execute(text("UPDATE gaia_facts SET normal = :it WHERE text = 'by a model'"), {"it": TEA})
            await facts.write(tx, ITAY, [replace(again, fact=replace(again.fact, text="likes tea"))], now=NOW)
            await facts.write(tx, ITAY, [make_draft("new")], now=NOW)
            sourced = await facts.origins(tx, ITAY)
        await database.close()

    assert {said: fact.source for said, fact in kept.items()} == {said: row[1] for said, row in SOURCED.items()}
    assert {said: dict(fact.metadata) for said, fact in kept.items()} == {said: row[3] for said, row in SOURCED.items()}
    bulk, twice = kept["in bulk"], kept["twice"]
    assert (bulk.category, bulk.context, bulk.sensitive) == ("health", "global", True)
    assert (twice.context, twice.category, kept["imported"].entity) == ("work", None, None)
    assert {fact.first_said_at for fact in kept.values()} == {from_epoch_seconds(50.0)}
    for fact in kept.values():
        assert {origin.noted_at for origin in origins[fact.id]} == {fact.created_at}
    assert [(each.source, each.event_ids) for each in origins[twice.id]] == [
        ("conversation", ("e1", "e2")),
        ("agent", ("e3",)),
    ]
    assert [each.is_imported for each in origins[kept["imported"].id]] == [True]
    # The same call again is the same source.
    assert len(sourced[kept["by a model"].id]) == 1
    assert len(sourced) == len(SOURCED) + 1


@on_each_database
@pytest.mark.parametrize("revision", ["0009", "0010", "0011"])
async def test_past_facts_of_earlier_versions_can_be_told_restored_and_exported(kind, revision, tmp_path):
    """The columns that later versions add to them are empty there."""
    async with memory_url(kind, tmp_path) as url:
        async with old_engine(url, revision) as engine, engine.begin() as connection:
            state = await scopes.bump_revision(connection, ITAY)
            row = {
                "id": "past",
                "partition": ITAY.partition,
                "text": "Lives in Oslo",
                "normal": normal_hash("Lives in Oslo"),
            }
            row |= {"said_at": 1.0, "source": "add", "metadata": "{}", "version": state.revision}
            row |= {"created_at": 1.0, "updated_at": 1.0}
            names = ", ".join(row)
            values = ", ".join(f":{name}" for name in row)
            await connection.execute(text(f"INSERT INTO gaia_past_facts ({names}) VALUES ({values})"), row)
            ending = {"partition": ITAY.partition, "fact_id": "past", "ended_at": 2.0, "noted_at": 2.0}
            ending |= {"why": "retracted", "actor": "person"}
            await connection.execute(tables.endings.insert(), ending)
        database = await open_database(url, home=tmp_path)
        try:
            facts = SqlFacts()
            async with database.transaction() as tx:
                [past] = await facts.history(tx, ITAY, "past")
                assert (past.text, past.why) == ("Lives in Oslo", "retracted")
                assert (
                    set(await facts.past(tx, ITAY))
                    == {each.fact_id for each in await facts.endings(tx, ITAY)}
                    == {"past"}
                )
                assert (await facts.said_around(tx, ITAY, ["past"], NOW), await facts.wordings(tx, ITAY)) == ({}, {})
                back = await facts.restore(tx, ITAY, "past", actor="person", now=NOW)
                assert [back] == await facts.facts(tx, ITAY)
                assert [each.id for each in await facts.indexed_facts(tx, ITAY)] == ["past"]
        finally:
            await database.close()


@on_each_database
async def test_an_upgrade_has_no_known_fact_compared(kind, tmp_path):
    """What is written after it may be."""
    async with memory_url(kind, tmp_path) as url:
        async with old_engine(url, "0011") as engine, engine.begin() as connection:
            await scopes.bump_revision(connection, ITAY)
        database = await open_database(url, home=tmp_path)
        try:
            async with database.transaction() as tx:
                assert await facts.last_undecided(tx) == 0
                assert await facts.scopes_to_pair(tx, before=9e9, limit=9) == []
                await facts.write(tx, ITAY, [make_draft("likes tea")], now=NOW)
                assert await facts.scopes_to_pair(tx, before=9e9, limit=9) == [ITAY]
        finally:
            await database.close()


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


@on_each_database
async def test_the_ledgers_indexes_are_exactly_those_defined_in_the_code(kind, tmp_path):
    """On SQLite including their WHERE conditions; for PostgreSQL the migration alone has them."""
    tables = [conversations, skips, late_turns, bootstraps]
    if kind == "sqlite":
        question = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'gaia_conversations'"
    else:
        question = "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'gaia_conversations'"
    found = []
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        async with memory_url(kind, tmp_path / str(number)) as url:
            if number == 1:
                await (await open_database(url, home=tmp_path)).close()
            engine = open_engine(url, poolclass=NullPool)
            async with engine.begin() as connection:
                if number == 2:
                    make = lambda sync: conversations.metadata.create_all(sync, tables=tables)  # noqa: E731
                    await connection.run_sync(make)
                rows = (await connection.execute(text(question))).all()
                pattern = re.compile(r" WHERE .*" if kind == "postgresql" else r"(?!)")
                found.append({name: pattern.sub("", " ".join(str(sql).split())) for name, sql in rows})
            await engine.dispose()

    assert found[0] == found[1]
    assert len(found[0]) >= 9


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
    await killed_at(kind, tmp_path, 12)


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
    assert steps > 15
    for step in range(1, steps + 1):
        (tmp_path / str(step)).mkdir()
        await killed_at(kind, tmp_path / str(step), step)
