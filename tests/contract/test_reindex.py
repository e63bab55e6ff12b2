"""The contract of reindexing words and vectors, on each database."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from sqlalchemy import text as sql
from sqlalchemy import update

from gaia_memory.errors import BadAnswerError, ModelUnavailableError
from gaia_memory.facts import SqlFacts, SqlIndexes, SqlOutbox
from gaia_memory.facts.tables import facts as table
from gaia_memory.language.tokenizer import TOKENIZER_VERSION
from gaia_memory.recall.index import rebuild_index as module
from gaia_memory.recall.index.rebuild_index import Reindexer
from support.databases import ITAY, NOA, NOW, count_indexed, database, make_draft

__all__ = ["database"]

facts, indexes, outbox = SqlFacts(), SqlIndexes(), SqlOutbox()
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
    monkeypatch.setattr(module, "KEYWORD_BATCH_SIZE", BATCH)
    monkeypatch.setattr(module, "VECTOR_BATCH_SIZE", BATCH)
    monkeypatch.setattr(module, "MAX_PAUSE_SECONDS", 0.0)


@pytest.fixture
async def written(database):
    """Write facts of two users with vectors of the old embedder, and acknowledge them in the outbox."""
    async with database.transaction() as tx:
        drafts = [make_draft(f"likes word{number:03d}", vector=(1.0, 0.0), embedder=OLD) for number in range(COUNT)]
        mine = await facts.write(tx, ITAY, drafts[::2], now=NOW)
        theirs = await facts.write(tx, NOA, drafts[1::2], now=NOW)
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


async def found(database, fact) -> bool:
    """Return whether the index has a fact under its own word."""
    async with database.read_transaction() as tx:
        return await count_indexed(tx, fact.scope, fact.text.split()[1]) == 1


async def embedded(database, identity: str) -> set[str]:
    """Return the ids of facts with a vector of an embedder."""
    async with database.read_transaction() as tx:
        both = [await facts.vectors(tx, scope, identity) for scope in (ITAY, NOA)]
    return {fact_id for ids, _ in both for fact_id in ids}


async def rows_of_words(database) -> int:
    """Count the rows of the keyword index."""
    async with database.read_transaction() as tx:
        return (await tx.execute(sql("SELECT count(*) FROM gaia_words"))).scalar_one()


async def spoil(database, statement) -> None:
    """Change the database directly, without the fact store."""
    async with database.transaction() as tx:
        await tx.execute(statement)


async def test_a_lost_keyword_index_is_rebuilt_from_the_texts(database, written, reindexer):
    """Each fact is indexed once, in the scope of its own user."""
    await spoil(database, sql("DELETE FROM gaia_words WHERE 1 = 1"))
    assert not await found(database, written[0])
    told: list[tuple[int, int]] = []
    await reindexer.rebuild_keywords(lambda *now: told.append(now))

    assert [await found(database, fact) for fact in written] == [True] * COUNT
    assert await rows_of_words(database) == COUNT
    assert reindexer.report.indexed == COUNT
    assert (told[0], told[-1]) == ((0, COUNT), (COUNT, COUNT))
    async with database.read_transaction() as tx:
        assert await count_indexed(tx, NOA, "word000") == 0


async def test_facts_indexed_by_an_older_version_are_counted_and_updated(database, written, reindexer):
    """Their word counts are corrected; newer facts already have the current form."""
    await spoil(database, update(table).where(table.c.row <= 1_000_000).values(form=TOKENIZER_VERSION - 1, words=99))
    async with database.transaction() as tx:
        await facts.write(tx, ITAY, [make_draft("newer")], now=NOW)
        before = await indexes.count_outdated(tx)
    await reindexer.rebuild_keywords(silent)
    async with database.read_transaction() as tx:
        after = await indexes.count_outdated(tx)
        counts = set((await tx.execute(table.select().with_only_columns(table.c.words))).scalars())

    assert (before, after) == (COUNT, 0)
    assert counts == {1, 2}


async def test_a_merged_fact_gets_the_current_index_form(database, written):
    """The merge indexes its words again."""
    await spoil(database, update(table).where(table.c.row <= 1_000_000).values(form=TOKENIZER_VERSION - 1))
    async with database.transaction() as tx:
        await facts.merge(tx, NOA, ITAY)
        assert await indexes.count_outdated(tx) == len(written[::2])


async def test_a_killed_run_is_resumed(database, written, reindexer):
    """After a complete run, the next one starts with the first fact."""
    told = await stop_after(3, reindexer.rebuild_keywords)
    second, third = again(reindexer), again(reindexer)
    await second.rebuild_keywords(silent)
    await third.rebuild_keywords(silent)

    assert told[-1] == (3 * BATCH, COUNT)
    assert (second.report.resumed, second.report.indexed) == (3 * BATCH, COUNT - 3 * BATCH)
    assert (third.report.resumed, third.report.indexed) == (0, COUNT)
    assert await rows_of_words(database) == COUNT


async def test_a_killed_run_restarts_if_requested_or_if_the_tokenizer_changed(database, written, reindexer):
    """Work done for an older form is useless."""
    await stop_after(2, reindexer.rebuild_keywords)
    anew = again(reindexer)
    await stop_after(3, lambda progress: anew.rebuild_keywords(progress, from_scratch=True))
    await spoil(database, sql(f"UPDATE gaia_reindexing SET form = {TOKENIZER_VERSION - 1}"))
    newer = again(reindexer)
    await newer.rebuild_keywords(silent)

    assert anew.report.resumed == 0
    assert (newer.report.resumed, newer.report.indexed) == (0, COUNT)


async def test_facts_written_by_an_older_version_behind_the_run_are_reindexed_too(database, written, reindexer):
    """A process that was not restarted still writes the old form."""
    await stop_after(4, reindexer.rebuild_keywords)
    await spoil(database, update(table).where(table.c.id == written[0].id).values(form=TOKENIZER_VERSION - 1))
    await again(reindexer).rebuild_keywords(silent)

    async with database.read_transaction() as tx:
        assert await indexes.count_outdated(tx) == 0


async def test_two_concurrent_runs_share_the_work(database, written, reindexer):
    """The index contains each fact once."""
    second = again(reindexer)
    await asyncio.gather(reindexer.rebuild_keywords(silent), second.rebuild_keywords(silent))

    assert reindexer.report.indexed + second.report.indexed in (COUNT, 2 * COUNT)
    assert await rows_of_words(database) == COUNT
    assert all([await found(database, fact) for fact in written])


async def test_every_fact_can_be_found_during_a_rebuild(database, written, reindexer):
    """This holds for the facts of every batch."""
    done = asyncio.Event()

    async def look() -> list[bool]:
        seen = []
        while not done.is_set():
            seen += [await found(database, fact) for fact in written]
        return seen

    looking = asyncio.create_task(look())
    for _ in range(3):
        await again(reindexer).rebuild_keywords(silent)
        await again(reindexer).rebuild_vectors(silent)
        await spoil(database, update(table).values(embedder=OLD))
    done.set()
    seen = await looking

    assert len(seen) >= COUNT
    assert all(seen)


async def test_facts_without_a_vector_of_the_current_embedder_get_one_and_become_dirty(
    database, written, reindexer, embedder
):
    """Facts that have one keep it, and the embedder is not asked for them."""
    async with database.transaction() as tx:
        kept = await facts.write(tx, ITAY, [make_draft("mine", vector=(1.0, 0.0, 0.0), embedder=NEW)], now=NOW)
        bare = await facts.write(tx, ITAY, [make_draft("bare")], now=NOW)
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
    await reindexer.rebuild_keywords(silent)
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
    await reindexer.rebuild_keywords(silent)
    await reindexer.rebuild_vectors(silent)

    assert (embedder.asked, reindexer.report.indexed, reindexer.report.left) == ([], 0, 0)
