"""What held at a time as known at another, read from each database and compared with a slow model."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from sqlalchemy import delete, insert

from gaia_memory.facts import FactStore
from gaia_memory.facts.history.move_facts import settle
from gaia_memory.facts.history.timeline import load_timeline
from gaia_memory.facts.scopes import ensure_scope
from gaia_memory.facts.tables import endings, sources
from gaia_memory.models import Draft, FactEnd, NewFact, PointInTime
from support.databases import ITAY, NOA, NOW, database
from support.oracles.two_clocks import History, expected_to_hold, random_history

__all__ = ["database"]

facts = FactStore()
TIMES = 40
slow = (pytest.mark.slow, pytest.mark.timeout(1200))


def day(number):
    return NOW + timedelta(days=number)


def seconds(number):
    return day(number).timestamp()


def random_times(chance):
    for _ in range(TIMES):
        at, known_at = chance.uniform(-1, 13), chance.uniform(-1, 13)
        yield (round(at), round(known_at)) if chance.random() < 0.5 else (at, known_at)


async def store_histories(database, scope, histories):
    """Store a fact for each history, with exactly these rows; return the ids in order."""
    drafts = [
        Draft(
            fact=NewFact(
                f"Statement {number}",
                said_at=NOW,
                valid_from=None if each.valid_from is None else day(each.valid_from),
                valid_until=None if each.valid_until is None else day(each.valid_until),
            ),
            source="add",
        )
        for number, each in enumerate(histories)
    ]
    async with database.transaction() as tx:
        ids = [fact.id for fact in await facts.writer.write(tx, scope, drafts, now=NOW)]
        await tx.execute(delete(sources).where(sources.c.fact_id.in_(ids)))
        said = [
            {
                "fact_id": fact_id,
                "origin": f"{place}",
                "kind": "add",
                "event_ids": [],
                "said_at": None if moment is None else seconds(moment),
                "noted_at": seconds(noted),
            }
            for fact_id, history in zip(ids, histories, strict=True)
            for place, (moment, noted) in enumerate(history.sayings)
        ]
        await tx.execute(insert(sources), said)
        ended = [
            {
                "partition": scope.partition,
                "fact_id": fact_id,
                "ended_at": seconds(at),
                "noted_at": seconds(noted),
                "why": "retracted",
                "actor": "model",
                "undone_at": None if undone is None else seconds(undone),
            }
            for fact_id, history in zip(ids, histories, strict=True)
            for at, noted, undone in history.endings
        ]
        await tx.execute(insert(endings), ended)
        await settle(tx, scope, ids, await load_timeline(tx, scope, ids), await ensure_scope(tx, scope))
    return ids


async def held_ids(database, scope, at, known_at):
    moment = PointInTime(seconds(at), seconds(known_at))
    async with database.read_transaction() as tx:
        return set(await facts.past.ids_as_of(tx, scope, moment))


def count_for(database, sqlite, postgresql):
    return sqlite if database.is_local else postgresql


@pytest.mark.parametrize("counts", [(40, 10), pytest.param((2_000, 300), marks=slow)], ids=str)
async def test_random_histories_hold_when_the_oracle_says(database, counts):
    """Undated, repeated, late, undone and limited statements, those of another person beside them."""
    count = count_for(database, *counts)
    chance = random.Random(count)
    histories = [random_history(chance) for _ in range(count)]
    ids = await store_histories(database, ITAY, histories)
    await store_histories(database, NOA, [random_history(chance) for _ in range(9)])

    for at, known_at in random_times(chance):
        expected = {
            fact_id
            for fact_id, history in zip(ids, histories, strict=True)
            if expected_to_hold(history, float(at), float(known_at))
        }
        assert await held_ids(database, ITAY, at, known_at) == expected, (at, known_at)


async def replay(database, chance, number):
    """Say, end and restore one fact at random times; return its id and what was done."""
    sayings, ends, fact = {}, [], None
    for step in range(1, chance.randint(3, 8)):
        # A statement made at the moment of an ending, but after it, counts as later: not tested here.
        noted = step + 0.5
        at, kind = chance.randint(1, 12), chance.random()
        if fact is None or kind < 0.5:
            draft = Draft(fact=NewFact(f"Statement {number}", said_at=day(at)), source="remember")
            async with database.transaction() as tx:
                [fact] = await facts.writer.write(tx, ITAY, [draft], now=day(noted))
            # The same source is stored once.
            sayings.setdefault(float(at), float(noted))
        elif kind < 0.8:
            ending = FactEnd(fact_id=fact.id, ended_at=day(at), why="retracted", actor="model")
            async with database.transaction() as tx:
                was_noted = await facts.history.end_facts(tx, ITAY, [ending], now=day(noted)) == []
            # The same ending is stored once.
            if was_noted and not any(end[0] == at and end[2] is None for end in ends):
                ends.append((float(at), float(noted), None))
        else:
            async with database.transaction() as tx:
                back = await facts.corrections.restore(tx, ITAY, fact.id, actor="host", now=day(noted))
                was_past = fact.id not in await facts.history.stored(tx, ITAY, [fact.id])
            if back is not None or was_past:
                # It is current again: no ending stands that is as late as the last statement.
                said_last = max(sayings)
                ends = [(*end[:2], float(noted)) if end[2] is None and end[0] >= said_last else end for end in ends]
    return fact.id, History(list(sayings.items()), ends)


@pytest.mark.parametrize("counts", [(40, 10), pytest.param((2_000, 300), marks=slow)], ids=str)
async def test_histories_that_the_store_wrote_hold_when_the_oracle_says(database, counts):
    """Whatever moved between current and past facts meanwhile."""
    count = count_for(database, *counts)
    chance = random.Random(-count)
    histories = dict([await replay(database, chance, number) for number in range(count)])

    for at, known_at in random_times(chance):
        expected = {
            each for each, history in histories.items() if expected_to_hold(history, float(at), float(known_at))
        }
        assert await held_ids(database, ITAY, at, known_at) == expected, (at, known_at)


async def test_a_restored_fact_keeps_the_end_of_an_earlier_period(database):
    """It was over from day 2 to day 3, which was learned last, and ended on day 11, which is undone."""
    sayings, ends = ((1, 3), (3, 1)), ((11, 2), (2, 4))
    fact_ids = set()
    for noted, at in sorted((noted, at) for at, noted in sayings):
        draft = Draft(fact=NewFact("Statement", said_at=day(at)), source="remember")
        async with database.transaction() as tx:
            fact_ids |= {fact.id for fact in await facts.writer.write(tx, ITAY, [draft], now=day(noted))}
    [fact_id] = fact_ids
    for at, noted in ends:
        ending = FactEnd(fact_id=fact_id, ended_at=day(at), why="retracted", actor="model")
        async with database.transaction() as tx:
            assert await facts.history.end_facts(tx, ITAY, [ending], now=day(noted)) == []
    async with database.transaction() as tx:
        assert await facts.corrections.restore(tx, ITAY, fact_id, actor="host", now=day(5)) is not None

    held = [bool(await held_ids(database, ITAY, at, 6)) for at in (0, 1, 2, 3, 12)]
    assert held == [False, True, False, True, True]
