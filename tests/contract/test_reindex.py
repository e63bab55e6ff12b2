"""The contract of reindexing words and vectors, on each database."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from sqlalchemy import update

from gaia_memory.errors import BadAnswerError, ModelUnavailableError
from gaia_memory.facts import FactStore, Indexes, Outbox
from gaia_memory.facts.tables import facts as table
from gaia_memory.language.tokenizer import TOKENIZER_VERSION
from gaia_memory.recall.index import rebuild_index as module
from gaia_memory.recall.index.rebuild_index import Reindexer
from support.databases import ITAY, NOA, NOW, database, make_draft

__all__ = ["database"]

facts, indexes, outbox = FactStore(), Indexes(), Outbox()
OLD, NEW = "old/model/2", "new/model/3"
COUNT = 25
BATCH = 4


class Embedder:
    """An embedder with three dimensions that records its requests and fails on demand."""

    def __init__(self) -> None:
        self.identity = NEW
        self.asked: list[list[str]] = []
        self.refuses: set[str] = set()
        self.fails_at: int | None = None
        self.meanwhile = None

    async def embed(self, texts, *, purpose):
        assert purpose == "add"
        if self.fails_at == len(self.asked):
            raise ModelUnavailableError("the embedder is down")
        self.asked.append(list(texts))
        if self.refuses & set(texts):
            raise BadAnswerError("refused the request (400)")
        if self.meanwhile is not None:
            await self.meanwhile(list(texts))
        return [(1.0, 0.0, float(len(text))) for text in texts]

    @property
    def texts(self) -> list[str]:
        return [text for texts in self.asked for text in texts]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Make batches small."""
    monkeypatch.setattr(module, "FEATURES_BATCH_SIZE", BATCH)
    monkeypatch.setattr(module, "VECTOR_BATCH_SIZE", BATCH)
    monkeypatch.setattr(module, "MAX_PAUSE_SECONDS", 0.0)


@pytest.fixture
async def written(database):
    """Write facts of two users with vectors of the old embedder, and acknowledge them in the outbox."""
    async with database.transaction() as tx:
        drafts = [make_draft(f"likes word{number:03d}", vector=(1.0, 0.0), embedder=OLD) for number in range(COUNT)]
        mine = await facts.writer.write(tx, ITAY, drafts[::2], now=NOW)
        theirs = await facts.writer.write(tx, NOA, drafts[1::2], now=NOW)
        await outbox.acknowledge(tx, await outbox.dirty(tx, limit=1000))
    return [*mine, *theirs]


@pytest.fixture
def embedder():
    """Return the new embedder."""
    return Embedder()


@pytest.fixture
def reindexer(database, embedder):
    """Return the reindexer under test."""
    return Reindexer(database, indexes, outbox, embedder)


def again(reindexer: Reindexer) -> Reindexer:
    """Return another reindexer over the same database."""
    return Reindexer(reindexer._database, indexes, outbox, reindexer._embedder)


def silent(done: int, total: int) -> None:
    """Ignore progress."""


async def stop_after(batches: int, work) -> list[tuple[int, int]]:
    """Run until a number of progress reports, then interrupt as a kill would; return the reports."""
    told: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        told.append((done, total))
        if len(told) > batches:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        await work(progress)
    return told


async def embedded(database, identity: str) -> set[str]:
    """Return the ids of facts with a vector of an embedder."""
    async with database.read_transaction() as tx:
        both = [await facts.vectors(tx, scope, identity) for scope in (ITAY, NOA)]
    return {fact_id for ids, _ in both for fact_id in ids}


async def spoil(database, statement) -> None:
    """Change the database directly, without the fact store."""
    async with database.transaction() as tx:
        await tx.execute(statement)


async def outdate(database) -> None:
    """Let an older version have indexed every fact."""
    await spoil(database, update(table).values(form=TOKENIZER_VERSION - 1, traits=None))


async def test_facts_indexed_by_an_older_version_are_counted_and_updated(database, written, reindexer):
    """Newer facts have the current form already."""
    await outdate(database)
    async with database.transaction() as tx:
        await facts.writer.write(tx, ITAY, [make_draft("newer")], now=NOW)
        before = await indexes.count_outdated(tx)
    told: list[tuple[int, int]] = []
    await reindexer.rebuild_features(lambda *now: told.append(now))
    async with database.read_transaction() as tx:
        after = await indexes.count_outdated(tx)
        made = (await tx.execute(table.select().with_only_columns(table.c.traits))).scalars().all()

    assert (before, after, reindexer.report.indexed) == (COUNT, 0, COUNT)
    assert (told[0], told[-1]) == ((0, COUNT), (COUNT, COUNT))
    assert all(made)


async def test_a_killed_run_is_resumed_and_from_scratch_every_fact_is_indexed(database, written, reindexer):
    """What was done before the kill stays done."""
    await outdate(database)
    told = await stop_after(3, reindexer.rebuild_features)
    second, third, anew = again(reindexer), again(reindexer), again(reindexer)
    await second.rebuild_features(silent)
    await third.rebuild_features(silent)
    await anew.rebuild_features(silent, from_scratch=True)

    assert told[-1] == (3 * BATCH, COUNT)
    assert [each.report.indexed for each in (second, third, anew)] == [COUNT - 3 * BATCH, 0, COUNT]


async def test_two_concurrent_runs_do_no_harm(database, written, reindexer):
    """Each fact has its features in the end."""
    await outdate(database)
    second = again(reindexer)
    await asyncio.gather(reindexer.rebuild_features(silent), second.rebuild_features(silent))
    async with database.read_transaction() as tx:
        assert await indexes.count_outdated(tx) == 0


async def test_facts_written_by_an_older_version_behind_the_run_are_reindexed_too(database, written, reindexer):
    """A process that was not restarted still writes the old form."""
    await stop_after(4, reindexer.rebuild_features)
    await spoil(database, update(table).where(table.c.id == written[0].id).values(form=TOKENIZER_VERSION - 1))
    await again(reindexer).rebuild_features(silent)

    async with database.read_transaction() as tx:
        assert await indexes.count_outdated(tx) == 0


async def test_facts_without_a_vector_of_the_current_embedder_get_one_and_become_dirty(
    database, written, reindexer, embedder
):
    """Facts that have one keep it, and the embedder is not asked for them."""
    async with database.transaction() as tx:
        kept = await facts.writer.write(tx, ITAY, [make_draft("mine", vector=(1.0, 0.0, 0.0), embedder=NEW)], now=NOW)
        bare = await facts.writer.write(tx, ITAY, [make_draft("bare")], now=NOW)
        await outbox.acknowledge(tx, await outbox.dirty(tx, limit=1000))
        before = await outbox.load_facts(tx, [fact.id for fact in written])
        revision = (await facts.state(tx, ITAY)).revision
    await reindexer.rebuild_vectors(silent)
    everything = {fact.id for fact in [*written, *bare]}
    async with database.transaction() as tx:
        dirty = {row.fact_id: row.version for row in await outbox.dirty(tx, limit=1000)}
        after = await outbox.load_facts(tx, [*everything])
        risen = (await facts.state(tx, ITAY)).revision

    assert await embedded(database, NEW) == everything | {kept[0].id}
    assert sorted(embedder.texts) == sorted(fact.text for fact in [*written, *bare])
    assert max(map(len, embedder.asked)) == BATCH
    assert dirty == {fact_id: stored.version for fact_id, stored in after.items()}
    assert all(after[fact_id].version > stored.version for fact_id, stored in before.items())
    assert all(after[fact_id].fact == stored.fact for fact_id, stored in before.items())
    assert risen > revision
    assert (reindexer.report.embedded, reindexer.report.left) == (COUNT + 1, 0)


async def test_a_run_after_an_embedder_failure_requests_only_the_missing_vectors(
    database, written, reindexer, embedder
):
    """No vector is paid for twice."""
    embedder.fails_at = 3
    with pytest.raises(ModelUnavailableError):
        await reindexer.rebuild_vectors(silent)
    first = await embedded(database, NEW)
    embedder.fails_at = None
    second = again(reindexer)
    await second.rebuild_vectors(silent)

    assert len(first) == reindexer.report.embedded == 3 * BATCH
    assert second.report.embedded == COUNT - 3 * BATCH
    assert sorted(embedder.texts) == sorted(fact.text for fact in written)
    assert len(await embedded(database, NEW)) == COUNT


async def test_a_fact_forgotten_during_the_run_is_not_embedded_or_restored(database, written, reindexer, embedder):
    """This includes later batches and the batch that is being embedded."""
    mine, theirs = written[: COUNT // 2 + 1], written[COUNT // 2 + 1 :]

    async def forget(texts) -> None:
        if len(embedder.asked) == 1:
            async with database.transaction() as tx:
                await facts.delete_all(tx, ITAY, forgotten_at=1.0)
                await facts.delete(tx, NOA, [theirs[0].id])

    embedder.meanwhile = forget
    await reindexer.rebuild_features(silent)
    await reindexer.rebuild_vectors(silent)
    async with database.read_transaction() as tx:
        left = [fact.id for fact in [*await facts.facts(tx, ITAY), *await facts.facts(tx, NOA)]]

    sent = set(embedder.texts)
    gone = {fact.text for fact in [*mine, theirs[0]]}
    assert sent & gone == set(embedder.asked[0])
    assert set(left) == await embedded(database, NEW) == {fact.id for fact in theirs[1:]}


async def test_a_fact_embedded_by_another_run_keeps_that_vector(database, written, reindexer, embedder):
    """The result of the slower run is discarded."""
    other = Embedder()

    async def do_it_first(texts) -> None:
        if len(embedder.asked) == 1:
            await Reindexer(database, indexes, outbox, other).rebuild_vectors(silent)

    embedder.meanwhile = do_it_first
    await reindexer.rebuild_vectors(silent)

    assert sorted(other.texts) == sorted(fact.text for fact in written)
    assert embedder.asked == other.asked[:1]
    assert reindexer.report.embedded == 0
    assert len(await embedded(database, NEW)) == COUNT


async def test_a_text_refused_by_the_embedder_does_not_affect_other_facts(database, written, reindexer, embedder):
    """The fact keeps its old vector and is counted as refused."""
    embedder.refuses = {written[1].text, written[COUNT - 1].text}
    await reindexer.rebuild_vectors(silent)

    assert (reindexer.report.embedded, reindexer.report.refused, reindexer.report.left) == (COUNT - 2, 2, 2)
    assert await embedded(database, OLD) == {written[1].id, written[COUNT - 1].id}


async def test_a_run_stops_when_the_embedder_refuses_a_whole_batch(database, written, reindexer, embedder):
    """The problem is then not a single text."""
    embedder.refuses = {fact.text for fact in written}
    with pytest.raises(BadAnswerError, match="400"):
        await reindexer.rebuild_vectors(silent)

    assert len(embedder.asked) < 3 * BATCH
    assert len(await embedded(database, OLD)) == COUNT


async def test_an_embedder_without_a_known_identity_is_asked_for_one_vector_first(
    database, written, reindexer, embedder
):
    """Otherwise all its stored vectors would appear to be from another embedder."""
    await reindexer.rebuild_vectors(silent)
    embedder.identity = "new/model/?"
    asked: list[list[str]] = []

    async def embed(texts, *, purpose):
        asked.append(list(texts))
        embedder.identity = NEW
        return [(1.0, 0.0, 0.0) for _ in texts]

    embedder.embed = embed
    second = again(reindexer)
    await second.rebuild_vectors(silent)

    assert [len(texts) for texts in asked] == [1]
    assert second.report.embedded == 0


async def test_an_empty_memory_makes_no_request(database, reindexer, embedder):
    """There is nothing to do."""
    await reindexer.rebuild_features(silent)
    await reindexer.rebuild_vectors(silent)

    assert (embedder.asked, reindexer.report.indexed, reindexer.report.left) == ([], 0, 0)
