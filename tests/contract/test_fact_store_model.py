"""Facts, keyword index and outbox agree with a model after any sequence of changes."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from gaia_memory.facts import FactStore, Outbox
from gaia_memory.facts.identity.text_identity import normal_form
from gaia_memory.models import Scope
from support.databases import ITAY, NOA, NOW, make_draft, memory_database

facts = FactStore()
outbox = Outbox()
WORDS = ["tea", "dog", "Berlin", "guitar"]

texts = st.builds(
    "{} {} {}".format,
    st.sampled_from(["likes", "LIKES", "has"]),
    st.sampled_from(WORDS),
    st.sampled_from(["", ".", "!"]),
)
scopes = st.sampled_from([ITAY, NOA])
changes = st.one_of(
    st.tuples(st.just("write"), scopes, st.lists(texts, min_size=1, max_size=4)),
    st.tuples(st.just("delete"), scopes, st.sampled_from(WORDS)),
    st.tuples(st.just("forget"), scopes, st.none()),
    st.tuples(st.just("follow"), st.none(), st.integers(0, 5)),
    st.tuples(st.just("renew"), st.none(), st.none()),
    st.tuples(st.just("fail"), scopes, st.lists(texts, min_size=1, max_size=2)),
)


@dataclass
class Model:
    """The expected state: facts by normal form, contents of the mem0 store, and pending entries of the outbox."""

    facts: dict[Scope, dict[str, str]] = field(default_factory=lambda: {ITAY: {}, NOA: {}})
    store: dict[str, str] = field(default_factory=dict)


async def apply(database, model, change):
    """Apply one change to the database and to the model."""
    kind, scope, detail = change
    async with database.transaction() as tx:
        if kind == "write":
            for fact in await facts.writer.write(tx, scope, [make_draft(one) for one in detail], now=NOW):
                model.facts[scope].setdefault(normal_form(fact.text), fact.id)
        elif kind == "delete":
            gone = {normal: key for normal, key in model.facts[scope].items() if detail.casefold() in normal}
            everybody = [key for owned in model.facts.values() for key in owned.values()]
            foreign = [key for key in everybody if key not in model.facts[scope].values()]
            assert (await facts.delete(tx, scope, [*gone.values(), *foreign]))["facts"] == len(gone)
            for normal in gone:
                del model.facts[scope][normal]
        elif kind == "forget":
            removed = await facts.delete_all(tx, scope, forgotten_at=1.0)
            assert removed["facts"] == len(model.facts[scope])
            model.facts[scope] = {}
        elif kind == "follow":
            rows = await outbox.dirty(tx, limit=detail)
            now = await outbox.load_facts(tx, [row.fact_id for row in rows])
            for row in rows:
                if row.fact_id in now:
                    model.store[row.fact_id] = now[row.fact_id].fact.text
                else:
                    model.store.pop(row.fact_id, None)
            await outbox.acknowledge(tx, rows)
        elif kind == "renew":
            await outbox.reset_store(tx, "fresh")
            model.store = {}
        else:
            await facts.writer.write(tx, scope, [make_draft(f"undone {one}") for one in detail], now=NOW)
            raise RuntimeError("undo")


async def check(database, model):
    """Compare every table with the model."""
    async with database.read_transaction() as tx:
        current = {}
        for scope, expected in model.facts.items():
            listed = await facts.facts(tx, scope)
            current |= {fact.id: fact.text for fact in listed}
            assert {normal_form(fact.text): fact.id for fact in listed} == expected
        orphans = "SELECT count(*) FROM gaia_fact_sources WHERE fact_id NOT IN (SELECT id FROM gaia_facts)"
        assert (await tx.execute(text(orphans))).scalar() == 0
        owed = {row.fact_id for row in await outbox.dirty(tx, limit=1000)}
    behind = {key for key in current.keys() | model.store.keys() if current.get(key) != model.store.get(key)}
    assert behind <= owed


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_any_sequence_of_changes_keeps_all_tables_consistent(kind):
    """Whatever the mem0 store lacks is in the outbox, so following always ends at the current facts."""
    with asyncio.Runner() as runner, tempfile.TemporaryDirectory() as folder:
        lifetime = memory_database(kind, Path(folder))
        database = runner.run(lifetime.__aenter__())

        @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
        @given(st.lists(changes, max_size=12))
        def hold(sequence):
            runner.run(play(database, sequence))

        try:
            hold()
        finally:
            runner.run(lifetime.__aexit__(None, None, None))


async def play(database, sequence):
    """Apply a sequence of changes to an empty database, then let the store catch up."""
    model = Model()
    async with database.transaction() as tx:
        await facts.delete_all(tx, ITAY, forgotten_at=1.0)
        await facts.delete_all(tx, NOA, forgotten_at=1.0)
        await outbox.reset_store(tx, "fresh")
    for change in sequence:
        if change[0] == "fail":
            with pytest.raises(RuntimeError, match="undo"):
                await apply(database, model, change)
        else:
            await apply(database, model, change)
        await check(database, model)
    await apply(database, model, ("follow", None, 1000))

    assert set(model.store) == {key for owned in model.facts.values() for key in owned.values()}
