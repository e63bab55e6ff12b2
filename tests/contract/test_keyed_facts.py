"""One current fact of each key in a scope and context, on each database."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from gaia_memory.facts import FactStore, merge_scopes
from gaia_memory.facts.history.timeline import load_timeline
from gaia_memory.models import UNCONFIRMED_KEY, Draft, Fact, NewFact, StatementTime, ToolTurn, holds
from gaia_memory.models.ledger_state import SessionKey
from support.databases import ITAY, NOA, NOW, database, fact_texts
from support.oracles.slot_life import Said, value_at

__all__ = ["database"]

facts = FactStore()
HOME = "user/home"
OSLO, ROME, PARIS = "Lives in Oslo", "Lives in Rome", "Lives in Paris"


def day(number: float) -> datetime:
    return NOW + timedelta(days=number)


def draft(text: str, at: datetime | None, key: str | None = HOME, **fields: Any) -> Draft:
    return Draft(fact=NewFact(text, said_at=at, key=key, **fields), source="add", app="gaia")


async def say(database, *drafts: Draft, scope=ITAY, now: datetime = NOW) -> list[Fact]:
    async with database.transaction() as tx:
        return list(await facts.writer.write(tx, scope, drafts, now=now))


async def current(database, scope=ITAY) -> list[str]:
    async with database.read_transaction() as tx:
        return fact_texts(await facts.facts(tx, scope, all_stored=True))


async def periods(database, fact: Fact, scope=ITAY) -> list[tuple[Any, ...]]:
    async with database.read_transaction() as tx:
        found = await facts.history.history(tx, scope, fact.id)
        return [(past.text, past.ended_at, past.why, past.actor) for past in found]


async def correct(database, fact: Fact, text: str | None = None, *, now: datetime, **changes: Any) -> Fact | None:
    fields = {"key": fact.key, "context": fact.context, "said_at": now} | changes
    new = Draft(fact=NewFact(text or fact.text, **fields), source="remember")
    async with database.transaction() as tx:
        return await facts.corrections.reword(tx, ITAY, fact.id, new, actor="person", now=now)


async def test_a_later_fact_replaces_the_one_with_its_key(database):
    """Whatever the words are; who wrote it is the actor."""
    oslo, _ = await say(database, draft(OSLO, day(1)), draft("Likes tea", day(1), None))
    by_agent = replace(draft(ROME, day(2)), source="agent", agent="helper")
    [rome] = await say(database, by_agent)

    assert await current(database) == ["Likes tea", ROME]
    assert await periods(database, rome) == [(OSLO, day(2), "replaced", "agent:helper"), (ROME, None, None, None)]
    assert (oslo.key, rome.key) == (HOME, HOME)


@pytest.mark.parametrize("late", [1.5, 0.5])
async def test_an_earlier_fact_goes_straight_to_history(database, late):
    """It is between those that were true before and after it."""
    await say(database, draft(OSLO, day(1)))
    await say(database, draft(ROME, day(2)))
    [paris] = await say(database, draft(PARIS, day(late)))

    assert await current(database) == [ROME]
    line = {text: ended_at for text, ended_at, *_ in await periods(database, paris)}
    expected = {OSLO: day(1.5), PARIS: day(2)} if late > 1 else {OSLO: day(2), PARIS: day(1)}
    assert line == {**expected, ROME: None}


async def test_of_facts_said_at_the_same_moment_the_last_written_counts(database):
    """In one write, in two, and without a date."""
    await say(database, draft(OSLO, day(1)), draft(ROME, day(1)))
    assert await current(database) == [ROME]
    await say(database, draft(PARIS, day(1)))
    assert await current(database) == [PARIS]
    await say(database, draft(OSLO, day(1)))
    assert await current(database) == [OSLO]
    await say(database, draft("blue", None, "user/colour"), draft("red", None, "user/colour"))
    assert await current(database) == [OSLO, "red"]


async def test_a_key_belongs_to_a_scope_and_a_context(database):
    """The same key elsewhere is another."""
    await say(database, draft(OSLO, day(1)))
    await say(database, draft(ROME, day(2), context="work"))
    await say(database, draft(PARIS, day(3)), scope=NOA)

    assert (await current(database), await current(database, NOA)) == ([OSLO, ROME], [PARIS])


async def test_another_persons_keys_are_neither_met_nor_known(database):
    """And what is replaced there is not replaced here."""
    await say(database, draft(OSLO, day(1)), scope=NOA)
    async with database.read_transaction() as tx:
        assert await facts.keys.known_keys(tx, ITAY, limit=9) == []
        assert await facts.keys.meet_keys(tx, ITAY, [draft(ROME, day(2))]) == [False]
    [rome] = await say(database, draft(ROME, day(2)))
    [paris] = await say(database, draft(PARIS, day(3)), scope=NOA)

    assert await periods(database, rome) == [(ROME, None, None, None)]
    assert [text for text, *_ in await periods(database, paris, NOA)] == [OSLO, PARIS]


async def test_what_is_said_in_a_context_replaces_what_is_known_in_all_of_them(database):
    """A context that is active says less than one that is given."""
    await say(database, draft(OSLO, day(1)))
    [rome] = await say(database, replace(draft(ROME, day(2)), active_context="work"))
    assert (await current(database), rome.context) == ([ROME], "global")

    await say(database, draft(PARIS, day(3), context="work"))
    await say(database, replace(draft("Lives in Lyon", day(4)), active_context="work"))
    assert await current(database) == [ROME, "Lives in Lyon"]


@pytest.mark.parametrize("mark", [{UNCONFIRMED_KEY: True}, {"attributed_to": "assistant"}])
async def test_what_nobody_confirmed_ends_nothing_that_is_confirmed(database, mark):
    """It is kept without its key; what is confirmed ends it, or takes the key from it."""
    await say(database, draft(OSLO, day(1)))
    [rome] = await say(database, draft(ROME, day(2), metadata=mark))
    assert (await current(database), rome.key) == ([OSLO, ROME], None)

    await say(database, draft("blue", day(1), "user/colour", metadata=mark))
    await say(database, draft("red", day(2), "user/colour", metadata=mark))
    assert await current(database) == [OSLO, ROME, "red"]
    await say(database, draft("green", day(3), "user/colour"))
    assert await current(database) == [OSLO, ROME, "green"]

    await say(database, draft("cat", day(5), "user/pet", metadata=mark))
    [dog] = await say(database, draft("dog", day(4), "user/pet"))
    async with database.read_transaction() as tx:
        keys = {fact.text: fact.key for fact in await facts.facts(tx, ITAY, all_stored=True)}
    assert (keys["cat"], keys["dog"], dog.key) == (None, "user/pet", "user/pet")


async def test_a_correction_may_give_a_key_another_one_or_another_context(database):
    """The fact that was said later stays."""
    [oslo] = await say(database, draft(OSLO, day(1), None))
    [rome] = await say(database, draft(ROME, day(2)))
    moved = await correct(database, oslo, now=day(3), key=HOME)
    assert (await current(database), moved and moved.id) == ([ROME], oslo.id)

    [paris] = await say(database, draft(PARIS, day(4), context="work"))
    await correct(database, paris, now=day(5), context="global")
    assert await current(database) == [PARIS]
    reworded = await correct(database, paris, "Lives in Lyon", now=day(6), context="global")
    assert (await current(database), reworded and (reworded.id, reworded.key)) == (["Lives in Lyon"], (paris.id, HOME))
    assert rome.id != paris.id
    until = await correct(database, paris, "In Lyon until May", now=day(7), context="global", valid_until=day(99))
    assert (await current(database), until and until.key) == (["In Lyon until May"], HOME)


async def test_what_is_restored_is_the_current_one(database):
    """Also with a key that another fact has by now."""
    [oslo] = await say(database, draft(OSLO, day(1)))
    await say(database, draft(ROME, day(2)))
    async with database.transaction() as tx:
        await facts.corrections.restore(tx, ITAY, oslo.id, actor="person", now=day(3))
    assert await current(database) == [OSLO]

    [paris] = await say(database, draft(PARIS, day(4), "user/holiday-home"))
    await say(database, draft("Owns nothing in France", day(5), "user/holiday-home"))
    async with database.transaction() as tx:
        await facts.corrections.restore(tx, ITAY, paris.id, actor="person", now=day(6))
    assert await current(database) == [OSLO, PARIS]


async def test_what_is_restored_stays_current_when_it_is_edited_or_merged(database):
    """Whatever was said between the statement and the restore."""
    [oslo] = await say(database, draft(OSLO, day(1)))
    await say(database, draft(ROME, day(2)))
    async with database.transaction() as tx:
        await facts.corrections.restore(tx, ITAY, oslo.id, actor="person", now=day(3))
    await correct(database, oslo, now=day(4), category="home", said_at=day(1))
    assert await current(database) == [OSLO]
    async with database.transaction() as tx:
        await merge_scopes(facts, tx, ITAY, NOA)
    assert await current(database, NOA) == [OSLO]

    await say(database, draft(PARIS, day(5)), scope=NOA)
    assert await current(database, NOA) == [PARIS]


async def test_a_merge_of_people_keeps_the_last_word(database):
    """What both know has the key of either."""
    await say(database, draft(OSLO, day(1)), draft("Likes tea", day(1), None), scope=NOA)
    await say(database, draft("Likes tea", day(1), "user/drink"))
    await say(database, draft(ROME, day(2)))
    async with database.transaction() as tx:
        await merge_scopes(facts, tx, ITAY, NOA)
        assert await facts.keys.known_keys(tx, NOA, limit=9) == [HOME, "user/drink"]
    assert await current(database, NOA) == ["Likes tea", ROME]


async def test_what_replaces_a_sensitive_fact_is_sensitive(database):
    """And its text is not embedded where that is off."""
    await say(database, draft("Is ill", day(1), "user/health", sensitive=True))
    new = draft("Is well", day(2), "user/health")
    async with database.read_transaction() as tx:
        assert await facts.past.are_sensitive(tx, ITAY, [new.fact]) == [True]
        assert await facts.keys.known_keys(tx, ITAY, limit=9) == []
    [well] = await say(database, new)
    assert well.sensitive


async def test_a_fact_that_begins_later_replaces_when_it_begins(database):
    """Until then the other one holds."""
    await say(database, draft(OSLO, day(-2)))
    await say(database, draft(ROME, day(-1), valid_from=day(1)))
    assert await current(database) == [OSLO, ROME]
    async with database.transaction() as tx:
        await facts.validity.begin(tx, now=day(2), limit=9)
    assert await current(database) == [ROME]


async def test_a_withdrawn_fact_that_is_put_back_is_no_second_one(database):
    """Somebody has said another in between."""
    turn = ToolTurn(SessionKey("gaia", "itay", "itay:cli"), "turn")
    [oslo] = await say(database, draft(OSLO, day(1)))
    async with database.transaction() as tx:
        rows = await facts.tool_changes.stored_rows(tx, ITAY, {oslo.id})
        await facts.delete(tx, ITAY, [oslo.id])
        rows |= {"number": 0, "skips": [], "erase_at": day(9).timestamp()}
        await facts.tool_changes.note_change(tx, ITAY, turn, oslo.id, rows, now=day(2))
    await say(database, draft(ROME, day(3)))
    async with database.transaction() as tx:
        [noted] = await facts.tool_changes.noted_changes(tx, ITAY, turn.key)
        assert await facts.tool_changes.take_back(tx, ITAY, noted, now=day(4))
    assert await current(database) == [ROME]


async def test_drafts_meet_the_keys_of_current_facts_and_of_each_other(database):
    """Then nobody is asked."""
    await say(database, draft(OSLO, day(1)))
    drafts = [
        draft(ROME, day(2)),
        draft(ROME, day(2), context="work"),
        replace(draft(PARIS, day(2), "user/desk"), active_context="work"),
        draft("blue", day(2), "user/colour"),
        draft("Likes tea", day(2), None),
    ]
    async with database.read_transaction() as tx:
        assert await facts.keys.meet_keys(tx, ITAY, drafts) == [True, False, False, False, False]


async def test_what_stays_in_history_ends_nothing_that_is_current(database):
    """It was undone, and said again before that, by a tool or the person; so was what it had replaced."""
    await say(database, draft(OSLO, day(-9)))
    [rome] = await say(database, draft(ROME, day(-8)))
    async with database.transaction() as tx:
        await facts.corrections.restore(tx, ITAY, rome.id, actor="person", now=day(0))
    await say(database, draft(ROME, day(-7), metadata={UNCONFIRMED_KEY: True}))
    assert await current(database) == [OSLO]
    await say(database, draft(ROME, day(-6)), draft(PARIS, day(-8.5)))
    assert await current(database) == [OSLO]


async def test_a_known_fact_that_gets_a_key_from_an_earlier_saying_stands_since_it_was_said_last(database):
    """Also with a context: what was said before that ends."""
    await say(database, draft(OSLO, day(1)))
    await say(database, draft(ROME, day(2), None))
    await say(database, draft(ROME, day(0)))
    assert await current(database) == [ROME]

    await say(database, draft("red", day(3), "user/colour", context="work"))
    await say(database, draft("blue", day(4), "user/colour"))
    await say(database, draft("blue", day(1), None, context="work"))
    assert await current(database) == [ROME, "blue"]


async def test_a_fact_that_ends_is_beside_one_that_does_not(database):
    """After it the other one is true, again or still; what is over already is beside any."""
    await say(database, draft(OSLO, day(-3)))
    [rome] = await say(database, draft(ROME, day(-2), valid_until=day(5)))
    await say(database, draft("Lived in Ulm", day(-1), valid_until=day(-900)))
    assert (await current(database), rome.key) == ([OSLO, ROME, "Lived in Ulm"], None)

    await say(database, draft("blue", day(-3), "user/colour", valid_until=day(9)))
    await say(database, draft("red", day(-2), "user/colour", valid_until=day(-1)))
    async with database.transaction() as tx:
        await facts.validity.expire(tx, now=day(0), limit=9)
    assert await current(database) == [OSLO, ROME, "blue"]
    await say(database, draft(PARIS, day(-1)))
    assert await current(database) == [ROME, "blue", PARIS]


@pytest.mark.parametrize("seed", range(8))
async def test_whatever_happens_to_facts_one_of_each_key_is_current(database, seed):
    """Said, given a key or a context, restored and merged in any order."""
    chance = random.Random(seed)
    for step in range(25):
        async with database.read_transaction() as tx:
            stored = await facts.facts(tx, ITAY, all_stored=True)
            past = [each.fact for each in (await facts.history.past(tx, ITAY)).values()]
        fields = {"key": chance.choice([HOME, "user/job", None]), "context": chance.choice(["global", "work"])}
        said = f"Value {chance.randrange(5)}"
        marks = chance.choice([{}, {}, {UNCONFIRMED_KEY: True}])
        match chance.choice(["say", "say", "say", "correct", "restore", "merge"]):
            case "correct" if stored:
                await correct(database, chance.choice(stored), now=day(30 + step), **fields)
            case "restore" if past:
                async with database.transaction() as tx:
                    await facts.corrections.restore(tx, ITAY, chance.choice(past).id, actor="host", now=day(30 + step))
            case "merge":
                await say(database, draft(said, day(chance.randrange(30)), **fields), scope=NOA)
                async with database.transaction() as tx:
                    await merge_scopes(facts, tx, NOA, ITAY)
            case _:
                new = draft(said, day(chance.randrange(30)), metadata=marks, **fields)
                await say(database, new, now=day(30 + step))
        async with database.read_transaction() as tx:
            slots = [(each.key, each.context) for each in await facts.facts(tx, ITAY, all_stored=True) if each.key]
        assert len(slots) == len(set(slots)), (step, slots)


@pytest.mark.parametrize("seed", range(12))
async def test_the_last_word_is_current_in_any_order(database, seed):
    """Each statement once, at its own time, learned in any order and in parts."""
    chance = random.Random(seed)
    said = [
        (f"{key} {number}", day(number), key, context)
        for number, (key, context) in enumerate(
            chance.choices([(HOME, "global"), (HOME, "work"), ("user/job", "global")], k=9)
        )
    ]
    learned = chance.sample(said, k=len(said))
    while learned:
        size = chance.randint(1, 3)
        part, learned = learned[:size], learned[size:]
        await say(database, *(draft(text, at, key, context=context) for text, at, key, context in part), now=day(20))

    last = {(key, context): text for text, _, key, context in said}
    assert sorted(await current(database)) == sorted(last.values())
    async with database.read_transaction() as tx:
        ended = {end.fact_id: end for end in await facts.history.endings(tx, ITAY)}
        past = await facts.history.past(tx, ITAY)
    following = {
        text: next((at for _, at, *slot in said[place + 1 :] if slot == [key, context]), None)
        for place, (text, _, key, context) in enumerate(said)
    }
    first_ends = {each.fact.text: None for each in past.values()}
    async with database.read_transaction() as tx:
        for end in await facts.history.endings(tx, ITAY):
            text = past[end.fact_id].fact.text
            first_ends[text] = min(filter(None, (first_ends[text], end.ended_at)))
    assert first_ends == {text: at for text, at in following.items() if at is not None}
    assert ended.keys() == past.keys()


@pytest.mark.parametrize("seed", range(8))
async def test_the_order_of_learning_changes_no_period(database, seed):
    """Values that come back, learned in any order: what held on each day, as known after each of them."""
    chance = random.Random(seed)
    days = chance.sample(range(40), k=9)
    life = [Said(float(at), "home", f"home {chance.choice('ABC')}") for at in days]
    for number, said in enumerate(life):
        await say(database, draft(said.value, day(said.day)), now=day(100 + number))

    async with database.read_transaction() as tx:
        past = await facts.history.past(tx, ITAY)
        stored = past | await facts.history.stored(tx, ITAY, await facts.ids(tx, ITAY))
        timeline = await load_timeline(tx, ITAY, stored)
    for fact_id, each in stored.items():
        sayings, ends = [StatementTime(*said) for said in timeline.sayings[fact_id]], timeline.ending_times(fact_id)
        for known in range(len(life)):
            for at in range(-1, 42):
                answer = holds(sayings, ends, at=day(at).timestamp(), known_at=day(100 + known).timestamp())
                expected = value_at(life[: known + 1], "home", at) == each.fact.text
                assert answer == expected, (life, each.fact.text, at, known)
        assert (fact_id not in past) == (value_at(life, "home", 99) == each.fact.text)
