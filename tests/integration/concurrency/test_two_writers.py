"""Two processes that work on one database at once leave it as if they had taken turns, in either order.

Each test lets the second in after every single statement of the first: without a lock on the row that both depend
on, READ COMMITTED shows the first one half of what the second did.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.engine import URL

from gaia_memory.adk.plugins.request_injection import profile_block_for_session
from gaia_memory.engine import Engine
from gaia_memory.facts.tables import profiles
from gaia_memory.models import DEFAULT_CONTEXT, NewFact, SessionKey
from support.concurrency.two_writers import APP, KEY, SCOPE, USER, EnginePair, Operation, open_pair
from support.databases import empty_database, shared_postgres_url
from support.plugin_host import begin_turn, record_turn

OTHER = SessionKey(APP, USER, "itay:web")
LATER = 3600.0

Check = Callable[[EnginePair], Any]


@pytest.fixture(
    params=[
        ("sqlite", 40),
        ("postgresql", 12),
        pytest.param(("sqlite", 1), marks=pytest.mark.slow),
        pytest.param(("postgresql", 1), marks=pytest.mark.slow),
    ],
    ids=lambda given: f"{given[0]}-every-{given[1]}",
)
async def both(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EnginePair]:
    """Two engines over an empty database of each kind; the parameter sets after which statements they interleave."""
    kind, stride = request.param
    file = URL.create("sqlite+aiosqlite", database=str(tmp_path / "memory.db"))
    async with open_pair(file if kind == "sqlite" else await shared_postgres_url(request.config), tmp_path) as opened:
        await empty_database(opened.first.database)
        opened.statement_stride = stride
        yield opened


async def everywhere(both: EnginePair, prepare: Check, act: Operation, other: Operation, check: Check) -> None:
    """Run `other` after each statement of `act`, and the other way round, each time starting from `prepare`.

    Outside the slow tier only after every so many.
    """
    for one, two in ((act, other), (other, act)):
        at, met = 1, True
        while met:
            await _anew(both)
            await prepare(both)
            met = await both.run_interleaved(one, two, statement_number=at)
            if not met:
                await two(both.second)
            await check(both)
            at += both.statement_stride
        assert at > 3


async def _anew(both: EnginePair) -> None:
    await empty_database(both.first.database)
    both.transcript.turns.clear()
    both.clock.offset_seconds = 0.0
    both.script_extractor(both.first, "F")
    both.script_extractor(both.second, "F")


async def spoken(engine: Engine, key: SessionKey = KEY) -> None:
    """Run a turn."""
    await record_turn(engine, key)


async def talked(both: EnginePair) -> None:
    """Run a turn whose message is to be learned."""
    both.transcript.add_turn("hello")
    await spoken(both.first)


async def learn_it(engine: Engine) -> Any:
    return await engine.consolidate(KEY)


async def forget_all(engine: Engine) -> Any:
    return await engine.memory.forget(SCOPE)


async def forget_talk(engine: Engine) -> Any:
    return await engine.memory.forget(SCOPE, session_id=KEY.session)


async def forget_fact(engine: Engine) -> Any:
    known = [fact.id for fact in await engine.memory.facts(SCOPE) if fact.text == "F"]
    return await engine.memory.forget(SCOPE, fact_id=known[0]) if known else None


async def remember(engine: Engine) -> Any:
    return await engine.memory.remember(SCOPE, "F")


async def texts(engine: Engine) -> list[str]:
    return [fact.text for fact in await engine.memory.facts(SCOPE)]


async def nothing_left(both: EnginePair) -> None:
    assert await texts(both.first) == []


@pytest.mark.parametrize("forget", [forget_all, forget_talk])
async def test_a_conversation_forgotten_while_it_is_learned_is_not_learned(both: EnginePair, forget: Operation) -> None:
    """The forget is later than the messages, so nothing of them remains."""
    await everywhere(both, talked, learn_it, forget, nothing_left)


async def test_a_fact_forgotten_while_it_is_learned_again_stays_forgotten(both: EnginePair) -> None:
    """Either the tombstone is seen, or the new source is removed with the fact."""

    async def prepared(both: EnginePair) -> None:
        await remember(both.first)
        await talked(both)

    await everywhere(both, prepared, learn_it, forget_fact, nothing_left)


@pytest.mark.slow
async def test_a_fact_also_learned_from_another_conversation_survives_forgetting_the_first(
    both: EnginePair,
) -> None:
    """Whichever comes first, the other conversation remains its source."""

    async def prepared(both: EnginePair) -> None:
        await talked(both)
        await learn_it(both.first)
        both.transcript.add_turn("hello again", key=OTHER)
        await spoken(both.first, OTHER)

    async def learn_other(engine: Engine) -> Any:
        return await engine.consolidate(OTHER)

    async def check(both: EnginePair) -> None:
        async with both.first.database.read_transaction() as tx:
            origins = await both.first.facts.provenance.origins(tx, SCOPE)
        assert [[source.session_id for source in sources] for sources in origins.values()] == [[OTHER.session]]

    await everywhere(both, prepared, learn_other, forget_talk, check)


async def one_learned(both: EnginePair) -> None:
    assert await texts(both.first) in (["F"], ["G"])


async def taken_over(engine: Engine) -> Any:
    """Learn the conversation after the other worker's lease has expired."""
    engine.clock.offset_seconds += LATER  # type: ignore[attr-defined]
    return await engine.consolidate(KEY)


@pytest.mark.parametrize("other", [learn_it, taken_over])
async def test_two_workers_learn_one_conversation_once(both: EnginePair, other: Operation) -> None:
    """If the first worker's lease expired, its late result is not written."""

    async def prepared(both: EnginePair) -> None:
        await talked(both)
        both.script_extractor(both.second, "G")

    await everywhere(both, prepared, learn_it, other, one_learned)


@pytest.mark.parametrize("lost", [False, True])
async def test_turns_passed_in_while_their_conversation_is_learned_are_learned_once(
    both: EnginePair, lost: bool
) -> None:
    """Either the sweep or the caller learns them, never both."""
    turns: list[Any] = []

    async def prepared(both: EnginePair) -> None:
        await talked(both)
        turns[:] = both.transcript.turns[KEY]
        both.script_extractor(both.second, "G")

    async def handed(engine: Engine) -> Any:
        both.clock.offset_seconds += LATER if lost else 0.0
        return await engine.learn(KEY, turns)

    await everywhere(both, prepared, taken_over if lost else learn_it, handed, one_learned)


async def test_two_processes_remembering_the_same_fact_at_once_store_one_fact(both: EnginePair) -> None:
    """Both calls succeed."""

    async def prepared(_: EnginePair) -> None:
        return

    async def check(both: EnginePair) -> None:
        assert await texts(both.first) == ["F"]

    await everywhere(both, prepared, remember, remember, check)


async def test_a_fact_is_either_remembered_or_forgotten(both: EnginePair) -> None:
    """A tombstone next to the fact would keep it from ever being learned again."""

    async def prepared(both: EnginePair) -> None:
        await remember(both.first)

    async def check(both: EnginePair) -> None:
        async with both.first.database.read_transaction() as tx:
            [is_buried] = await both.first.facts.tombstones.have_tombstones(tx, SCOPE, ["F"])
        assert await texts(both.first) == ([] if is_buried else ["F"])

    await everywhere(both, prepared, remember, forget_fact, check)


@pytest.mark.slow
async def test_forgetting_everything_during_an_import_leaves_nothing(both: EnginePair) -> None:
    """The export is older than the forget."""
    exported: dict[str, Any] = {}

    async def prepared(both: EnginePair) -> None:
        await remember(both.first)
        exported.update(await both.first.memory.export(SCOPE))

    async def take(engine: Engine) -> Any:
        return await engine.memory.import_(SCOPE, exported)

    await everywhere(both, prepared, take, forget_all, nothing_left)


@pytest.mark.slow
async def test_a_profile_never_outlives_its_facts(both: EnginePair) -> None:
    """This covers the profile frozen for the session and the cached one."""

    async def prepared(both: EnginePair) -> None:
        await remember(both.first)
        await spoken(both.first)

    async def profiled(engine: Engine) -> Any:
        row = await engine.conversations.row(KEY)
        assert row is not None
        return await profile_block_for_session(engine, KEY, row, DEFAULT_CONTEXT)

    async def check(both: EnginePair) -> None:
        row = await both.first.conversations.row(KEY)
        assert row is not None
        assert row.session.profile is None or not row.session.profile.block
        async with both.first.database.read_transaction() as tx:
            kept = (await tx.execute(select(profiles.c.bullets))).scalars().all()
        assert kept in ([], [[]])

    await everywhere(both, prepared, profiled, forget_all, check)


async def test_a_turn_during_learning_and_clearing_is_learned_too(
    both: EnginePair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Turn and clear wait for each other; each message reaches the extractor once."""
    monkeypatch.setattr("gaia_memory.sessions.turn_presence.CLEAR_WAIT_SECONDS", 0.05)
    asked: Counter[str] = Counter()

    async def turn(engine: Engine) -> None:
        hold = await begin_turn(engine, KEY)
        both.transcript.add_turn("more", at=2_000.0)
        await engine.turns.release(hold)

    async def check(both: EnginePair) -> None:
        for engine in (both.first, both.second):
            asked.update(_asked(engine))
        both.script_extractor(both.first, "F")
        await both.first.sweep(force=True)
        asked.update(_asked(both.first))

        assert asked == {"hello": 1, "more": 1}
        assert KEY not in both.transcript.turns
        asked.clear()

    await everywhere(both, talked, learn_it, turn, check)


def _asked(engine: Engine) -> list[str]:
    extractor: Any = engine.consolidator.learner._extractor
    return [message.text for chunk in extractor.chunks for message in chunk.messages]


@pytest.mark.slow
async def test_two_sweeps_of_existing_sessions_learn_each_session_once(both: EnginePair) -> None:
    """Both sweeps enter the sessions they find, whose Runner is unknown: they stay."""

    async def prepared(both: EnginePair) -> None:
        for number in range(2):
            both.transcript.add_turn(f"hello {number}", key=SessionKey(APP, USER, f"s{number}"))

    async def swept(engine: Engine) -> Any:
        return await engine.sweep(force=True)

    async def check(both: EnginePair) -> None:
        asked = Counter(_asked(both.first) + _asked(both.second))
        both.script_extractor(both.first, "F")
        await both.first.sweep(force=True)
        asked.update(_asked(both.first))

        assert asked == {f"hello {number}": 1 for number in range(2)}
        assert len(both.transcript.turns) == 2

    await everywhere(both, prepared, swept, swept, check)


@pytest.mark.slow
async def test_a_batch_added_while_everything_is_forgotten_is_kept_whole_or_not_at_all(both: EnginePair) -> None:
    """A batch is atomic."""
    batch = [NewFact(f"fact {number}") for number in range(3)]

    async def prepared(both: EnginePair) -> None:
        await remember(both.first)

    async def added(engine: Engine) -> Any:
        return await engine.memory.add(SCOPE, batch)

    async def check(both: EnginePair) -> None:
        assert await texts(both.first) in ([], [fact.text for fact in batch])

    await everywhere(both, prepared, added, forget_all, check)


@pytest.mark.slow
async def test_deleting_facts_while_the_store_is_reset_does_not_deadlock(both: EnginePair) -> None:
    """One locks the outbox fact by fact, the other as a whole."""
    ids: list[str] = []

    async def prepared(both: EnginePair) -> None:
        written = await both.first.memory.add(SCOPE, [NewFact("one"), NewFact("two"), NewFact("three")])
        ids[:] = [fact.id for fact in written]
        async with both.first.database.transaction() as tx:
            await both.first.outbox.acknowledge(tx, await both.first.outbox.dirty(tx, limit=10))

    async def gone(engine: Engine) -> None:
        async with engine.database.transaction() as tx:
            for fact_id in reversed(ids):
                await engine.facts.delete(tx, SCOPE, [fact_id])

    async def begun(engine: Engine) -> None:
        async with engine.database.transaction() as tx:
            await engine.outbox.reset_store(tx, uuid.uuid4().hex)

    await everywhere(both, prepared, gone, begun, nothing_left)


async def test_a_conversation_that_is_not_in_the_ledger_can_be_forgotten(both: EnginePair) -> None:
    """It existed before the first sweep; later messages in it are learned."""
    both.transcript.add_turn("hello")
    await forget_talk(both.first)
    both.transcript.add_turn("and now?", at=time.time() + LATER)
    await both.first.sweep(force=True)

    assert _asked(both.first) == ["and now?"]


async def test_a_clock_that_is_behind_never_lowers_the_time_of_a_forget(both: EnginePair) -> None:
    """Two hosts forget the same conversation, and one clock is a minute behind."""
    await spoken(both.first)
    for said_until in (100.0, 40.0):
        async with both.first.database.transaction() as tx:
            await both.first.ledger.forget_session(tx, user=USER, app=APP, session=KEY.session, said_until=said_until)
    row = await both.first.conversations.row(KEY)

    assert row is not None
    assert row.progress.forgotten_at == 100.0


async def test_a_turn_that_begins_as_a_clear_ends_is_counted(both: EnginePair) -> None:
    """If the clear ended between the refusal and the next look, no one would count the turn."""
    now = both.clock.now().timestamp()

    async def prepared(both: EnginePair) -> None:
        await spoken(both.first)
        async with both.second.database.transaction() as tx:
            await both.second.ledger.claim(tx, KEY, "elsewhere:1:1", now=now, lease_seconds=30)
            assert await both.second.ledger.begin_clearing(tx, KEY, "elsewhere:1:1", turn_no=1, now=now, seconds=5)

    async def end(engine: Engine) -> None:
        async with engine.database.transaction() as tx:
            await engine.ledger.end_clearing(tx, KEY, "elsewhere:1:1", cleared_at=now)

    async def check(both: EnginePair) -> None:
        row = await both.first.conversations.row(KEY)
        assert row is not None
        assert (row.turn.turn_no, row.clearing.owner) == (2, None)

    async def turn(engine: Engine) -> None:
        await record_turn(engine, KEY)

    for at in (1, 2, 3):
        await _anew(both)
        await prepared(both)
        assert await both.run_interleaved(turn, end, statement_number=at)
        await check(both)
