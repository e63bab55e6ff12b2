"""Endings, earlier wordings and what comes back, on each database."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from gaia_memory.facts import FactStore, Outbox
from gaia_memory.models import Draft, FactEnd, NewFact
from support.databases import ITAY, NOA, NOW, database, fact_texts, make_draft
from support.oracles.two_clocks import History, expected_to_hold

__all__ = ["database"]

facts, outbox = FactStore(), Outbox()
OSLO, BERLIN = "Lives in Oslo", "Lives in Berlin"


def day(number: int) -> datetime:
    return NOW + timedelta(days=number)


async def say(database, text, at, *, scope=ITAY, noted=None, **details):
    draft = Draft(fact=NewFact(text, said_at=at, **details), source="remember", vector=(1.0, 0.5), embedder="test")
    async with database.transaction() as tx:
        [fact] = await facts.writer.write(tx, scope, [draft], now=noted or at)
    return fact


async def end(database, fact, at, *, by=None, why="replaced", scope=ITAY, version=None, noted=None):
    ending = FactEnd(fact_id=fact.id, ended_at=at, why=why, actor="rule:test", ended_by=by and by.id, version=version)
    async with database.transaction() as tx:
        return await facts.history.end_facts(tx, scope, [ending], now=noted or at)


async def texts(database, scope=ITAY):
    async with database.read_transaction() as tx:
        return fact_texts(await facts.facts(tx, scope))


async def periods(database, fact_id, scope=ITAY):
    async with database.read_transaction() as tx:
        return [
            (past.text, past.said_at, past.ended_at, past.why)
            for past in await facts.history.history(tx, scope, fact_id)
        ]


async def test_an_ended_fact_leaves_every_read_and_keeps_its_vector(database):
    """The row moves to history; the follower removes the copy."""
    oslo, berlin = await say(database, OSLO, day(1)), await say(database, BERLIN, day(2))
    assert await end(database, oslo, day(2), by=berlin) == []

    async with database.transaction() as tx:
        assert fact_texts(await facts.facts(tx, ITAY)) == [BERLIN]
        assert await facts.get(tx, ITAY, [oslo.id]) == {}
        assert (await facts.vectors(tx, ITAY, "test"))[0] == [berlin.id]
        assert oslo.id in {row.fact_id for row in await outbox.dirty(tx, limit=9)}
        assert await outbox.load_facts(tx, [oslo.id]) == {}
        assert await facts.corrections.restore(tx, ITAY, oslo.id, actor="person", now=day(3)) == oslo
        assert (await facts.vectors(tx, ITAY, "test"))[1].tolist()[0] == [1.0, 0.5]


async def test_a_value_that_comes_back_has_three_periods(database):
    """One row is current, with its own id."""
    oslo, berlin = await say(database, OSLO, day(1)), await say(database, BERLIN, day(2))
    await end(database, oslo, day(2), by=berlin)
    again = await say(database, OSLO, day(3))
    await end(database, berlin, day(3), by=again)

    assert (again.id, again.said_at, again.first_said_at) == (oslo.id, day(3), day(1))
    assert await texts(database) == [OSLO]
    expected = [
        (OSLO, day(1), day(2), "replaced"),
        (BERLIN, day(2), day(3), "replaced"),
        (OSLO, day(3), None, None),
    ]
    assert await periods(database, oslo.id) == await periods(database, berlin.id) == expected
    assert await periods(database, oslo.id, NOA) == await periods(database, "unknown") == []


async def test_what_was_said_before_the_ending_stays_in_history(database):
    """Monday's conversation is learned after Wednesday's."""
    oslo = await say(database, OSLO, day(1))
    await end(database, oslo, day(3), why="retracted")
    again = await say(database, OSLO, day(2), noted=day(4))

    assert (again.id, again.said_at) == (oslo.id, day(2))
    assert await texts(database) == []
    assert await periods(database, oslo.id) == [(OSLO, day(2), day(3), "retracted")]


async def test_an_ending_before_the_last_saying_ends_nothing_now(database):
    """The fact was said since."""
    oslo = await say(database, OSLO, day(1))
    await say(database, OSLO, day(5))
    assert await end(database, oslo, day(3), why="retracted", noted=day(6)) == []

    assert await texts(database) == [OSLO]
    assert await periods(database, oslo.id) == [(OSLO, day(1), day(3), "retracted"), (OSLO, day(5), None, None)]


async def test_a_lost_race_is_reported_and_changes_nothing(database):
    """Changed, ended, unknown or another person's."""
    oslo, berlin = await say(database, OSLO, day(1)), await say(database, BERLIN, day(2))
    async with database.read_transaction() as tx:
        shown = {fact_id: each.version for fact_id, each in (await facts.history.stored(tx, ITAY, [oslo.id])).items()}
    await say(database, OSLO, day(3))
    for lost in (
        await end(database, oslo, day(4), version=shown[oslo.id]),
        await end(database, oslo, day(4), scope=NOA),
        await end(database, replace(oslo, id="unknown"), day(4)),
    ):
        assert len(lost) == 1
    async with database.read_transaction() as tx:
        version = (await facts.history.stored(tx, ITAY, [berlin.id]))[berlin.id].version
    await end(database, berlin, day(4), why="retracted")
    assert len(await end(database, berlin, day(5), version=version)) == 1

    assert await texts(database) == [OSLO]


async def test_a_fact_may_end_several_times_at_once(database):
    """Each ending is kept, and one that is noted twice counts once."""
    oslo = await say(database, OSLO, day(1))
    await say(database, OSLO, day(4))
    ends = [FactEnd(fact_id=oslo.id, ended_at=at, why="retracted", actor="model") for at in (day(5), day(2), day(5))]
    async with database.transaction() as tx:
        assert await facts.history.end_facts(tx, ITAY, ends, now=day(6)) == []
        assert await facts.history.end_facts(tx, ITAY, ends, now=day(7)) == []
    assert await texts(database) == []
    assert await periods(database, oslo.id) == [
        (OSLO, day(1), day(2), "retracted"),
        (OSLO, day(4), day(5), "retracted"),
    ]

    async with database.transaction() as tx:
        assert (await facts.corrections.restore(tx, ITAY, oslo.id, actor="person", now=day(8))).id == oslo.id
    assert await periods(database, oslo.id) == [(OSLO, day(1), day(2), "retracted"), (OSLO, day(4), None, None)]


async def test_undoing_a_retraction_ends_the_sentence_that_took_it_back(database):
    """Both cannot be true; restoring again goes back."""
    meat, none = await say(database, "Eats meat", day(1)), await say(database, "No longer eats meat", day(2))
    await end(database, meat, day(2), by=none, why="retracted")
    for number, expected in ((3, ["Eats meat"]), (4, ["No longer eats meat"])):
        async with database.transaction() as tx:
            assert await facts.corrections.restore(tx, ITAY, meat.id, actor="person", now=day(number)) is not None
        assert await texts(database) == expected


async def test_a_statement_without_a_date_brings_a_fact_back(database):
    """It counts as said when it is stored, even at the moment of the ending."""
    oslo = await say(database, OSLO, day(1))
    for moment in (day(2), day(3)):
        await end(database, oslo, moment, why="retracted")
        async with database.transaction() as tx:
            result = await facts.writer.write(tx, ITAY, [make_draft(OSLO)], now=moment)
        assert (result[0].id, result.is_new) == (oslo.id, (False,))
        assert await texts(database) == [OSLO]

    assert len(await periods(database, oslo.id)) == 3


async def test_a_model_that_repeats_a_past_fact_does_not_confirm_it(database):
    """It is current again, and marked."""
    oslo = await say(database, OSLO, day(1))
    await end(database, oslo, day(2), why="retracted")
    again = await say(database, OSLO, day(3), metadata={"unconfirmed": True})

    assert (again.id, again.is_unconfirmed, again.said_at) == (oslo.id, True, day(3))


async def test_a_new_wording_keeps_the_id_and_can_be_undone(database):
    """Going back and forth loses neither wording."""
    oslo = await say(database, OSLO, day(1), metadata={"mood": "good"})
    async with database.transaction() as tx:
        draft = Draft(fact=NewFact("Lives in Oslo, Norway", said_at=day(2)), source="remember")
        changed = await facts.corrections.reword(tx, ITAY, oslo.id, draft, actor="host", now=day(2))
    assert (changed.id, changed.text) == (oslo.id, "Lives in Oslo, Norway")
    assert (changed.created_at, changed.updated_at) == (oslo.created_at, day(2))
    expected = [(OSLO, day(1), day(2), "replaced"), ("Lives in Oslo, Norway", day(2), None, None)]
    assert await periods(database, oslo.id) == expected

    async with database.transaction() as tx:
        assert await facts.corrections.restore(tx, ITAY, oslo.id, actor="person", now=day(3)) == oslo
    assert await texts(database) == [OSLO]
    async with database.transaction() as tx:
        again = await facts.corrections.restore(tx, ITAY, oslo.id, actor="person", now=day(4))
    assert (again.id, again.text, again.created_at) == (oslo.id, "Lives in Oslo, Norway", oslo.created_at)
    assert await texts(database) == ["Lives in Oslo, Norway"]


async def test_a_wording_that_is_current_already_merges_the_facts(database):
    """Undone, both are current again."""
    oslo, berlin = await say(database, OSLO, day(1)), await say(database, BERLIN, day(2))
    async with database.transaction() as tx:
        draft = Draft(fact=NewFact(BERLIN, said_at=day(3)), source="remember")
        assert (await facts.corrections.reword(tx, ITAY, oslo.id, draft, actor="host", now=day(3))).id == berlin.id
    assert await texts(database) == [BERLIN]
    assert ("merged" in {why for *_, why in await periods(database, berlin.id)}) is True

    async with database.transaction() as tx:
        assert (await facts.corrections.restore(tx, ITAY, oslo.id, actor="person", now=day(4))).id == oslo.id
    assert sorted(await texts(database)) == [BERLIN, OSLO]


async def test_undoing_a_replacement_ends_what_replaced_it(database):
    """Everything that the same statement had ended comes back."""
    oslo, flat = await say(database, OSLO, day(1)), await say(database, "Rents a flat", day(1))
    berlin = await say(database, BERLIN, day(2))
    async with database.transaction() as tx:
        ended = [
            FactEnd(fact_id=each.id, ended_at=day(2), why="replaced", actor="model", ended_by=berlin.id)
            for each in (oslo, flat)
        ]
        await facts.history.end_facts(tx, ITAY, ended, now=day(2))
        await facts.corrections.restore(tx, ITAY, oslo.id, actor="person", now=day(3))

    assert sorted(await texts(database)) == [OSLO, "Rents a flat"]


@pytest.mark.parametrize("why", ["retracted", "expired"])
async def test_undoing_an_ending_brings_back_the_fact_as_it_was(database, why):
    """An expired fact has no end any more."""
    oslo = await say(database, OSLO, day(1), valid_until=day(2), metadata={"mood": "good"})
    if why == "expired":
        async with database.transaction() as tx:
            assert await facts.validity.expire(tx, now=day(2), limit=9) == 1
            assert await facts.validity.expire(tx, now=day(2), limit=9) == 0
    else:
        await end(database, oslo, day(1) + timedelta(hours=1), why=why)
    assert await texts(database) == []

    async with database.transaction() as tx:
        back = await facts.corrections.restore(tx, ITAY, oslo.id, actor="person", now=day(3))
        assert (
            await facts.corrections.restore(tx, ITAY, oslo.id, actor="person", now=day(3)) is None or why == "retracted"
        )
    assert back == (oslo if why == "retracted" else replace(oslo, valid_until=None))


async def test_an_expired_fact_that_is_said_again_without_a_date_has_no_ending(database):
    """Nobody knows that it was said after its end, so no later change takes it to history."""
    oslo = await say(database, OSLO, day(1), valid_until=day(3))
    async with database.transaction() as tx:
        await facts.writer.write(tx, ITAY, [make_draft(OSLO)], now=day(5))
        assert await facts.history.endings(tx, ITAY) == []
        assert (await facts.history.stored(tx, ITAY, [oslo.id]))[oslo.id].fact.valid_until is None


async def test_nobody_reaches_the_history_of_another_person(database):
    """Both said the same; each id and each wording is looked up within the person."""
    oslo, foreign = await say(database, OSLO, day(1)), await say(database, OSLO, day(1), scope=NOA)
    await end(database, oslo, day(2), why="retracted")
    draft = Draft(fact=NewFact("Lives in Rome", said_at=day(3)), source="remember")

    async with database.transaction() as tx:
        assert (
            await facts.history.stored(tx, NOA, [oslo.id]) == await facts.history.stored(tx, ITAY, [foreign.id]) == {}
        )
        assert await facts.history.history(tx, NOA, oslo.id) == await facts.history.history(tx, ITAY, foreign.id) == []
        assert await facts.corrections.restore(tx, NOA, oslo.id, actor="person", now=day(3)) is None
        assert await facts.corrections.reword(tx, ITAY, foreign.id, draft, actor="host", now=day(3)) is None
        assert fact_texts(await facts.facts(tx, NOA)) == [OSLO]
    changed = await say(database, OSLO, day(4), scope=NOA)
    assert (changed.id, await texts(database), await texts(database, NOA)) == (foreign.id, [], [OSLO])

    rome = await say(database, "Lives in Rome", day(5))
    assert (await say(database, OSLO, day(6))).id == oslo.id
    async with database.transaction() as tx:
        await facts.corrections.reword(tx, NOA, foreign.id, draft, actor="host", now=day(7))
    assert (await texts(database), await texts(database, NOA)) == ([OSLO, "Lives in Rome"], ["Lives in Rome"])
    assert await periods(database, rome.id) == [("Lives in Rome", day(5), None, None)]


async def replay(database, chance, number):
    """Say and end one fact at random times; return whether it is current, and what was said and ended."""
    text, sayings, ends, fact = f"Statement {number}", [], [], None
    for noted in range(1, chance.randint(3, 7)):
        at = chance.randint(1, 12)
        if fact is None or chance.random() < 0.5:
            fact = await say(database, text, day(at), noted=day(20 + noted))
            sayings.append((float(at), float(noted)))
        elif await end(database, fact, day(at), why="retracted", noted=day(20 + noted)) == []:
            ends.append((float(at), float(noted), None))
    return text in await texts(database), History(sayings, ends)


@pytest.mark.parametrize("cases", [20, pytest.param(300, marks=pytest.mark.slow)])
async def test_random_histories_leave_current_what_the_oracle_says(database, cases):
    """Late news and repetitions included; an ending of what has ended already is refused."""
    chance = random.Random(cases)
    for number in range(cases):
        is_current, history = await replay(database, chance, number)
        assert is_current == expected_to_hold(history, 100.0, 100.0), history


async def test_forgetting_a_conversation_leaves_what_came_after_it_in_force(database):
    """Oslo, Berlin from the forgotten conversation, Rome: Oslo is past all the same, until Rome."""
    oslo = await say(database, OSLO, day(1))
    berlin = await say(database, BERLIN, day(2), session_id="s")
    await end(database, oslo, day(2), by=berlin)
    rome = await say(database, "Lives in Rome", day(3))
    await end(database, berlin, day(3), by=rome)

    async with database.transaction() as tx:
        await facts.corrections.lift_endings(tx, ITAY, "s", gone=[berlin.id])
        await facts.delete(tx, ITAY, [berlin.id])
    assert await texts(database) == ["Lives in Rome"]
    assert await periods(database, oslo.id) == [
        (OSLO, day(1), day(3), "replaced"),
        ("Lives in Rome", day(3), None, None),
    ]


async def test_nobody_sees_the_line_of_another_person(database):
    """Endings, wordings, rivals and times are looked up within the person."""
    oslo, berlin = await say(database, OSLO, day(1)), await say(database, BERLIN, day(2))
    await end(database, oslo, day(2), by=berlin)
    ids = [oslo.id, berlin.id]
    async with database.transaction() as tx:
        await facts.history.note_wordings(tx, NOA, {oslo.id: berlin.id})
        assert await facts.history.wordings(tx, ITAY) == {}
        await facts.history.note_wordings(tx, ITAY, {oslo.id: berlin.id})
        assert await facts.history.wordings(tx, ITAY) == {oslo.id: berlin.id}
        assert (
            await facts.history.wordings(tx, NOA)
            == await facts.history.past(tx, NOA)
            == await facts.history.rivals(tx, NOA, ids)
            == {}
        )
        assert await facts.history.endings(tx, NOA) == []
        assert (
            await facts.history.said_around(tx, NOA, ids, day(1))
            == await facts.history.stored(tx, NOA, ids, or_past=True)
            == {}
        )
        assert await facts.history.line(tx, NOA, [berlin.id]) == {berlin.id}
        assert await facts.history.earlier_ids(tx, NOA, ids) == set()
        assert (
            set(await facts.history.stored(tx, ITAY, ids, or_past=True))
            == await facts.history.line(tx, ITAY, [oslo.id])
            == set(ids)
        )
        assert await facts.history.rivals(tx, ITAY, [oslo.id]) == {oslo.id: {berlin.id: "rule:test"}}
