"""What a plan ends when statements are learned in another order than they were said, on each database."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from gaia_memory.database.sql_engine import Database
from gaia_memory.facts import FactStore
from gaia_memory.facts.history.timeline import load_timeline
from gaia_memory.models import Draft, NewFact, StatementTime, holds
from gaia_memory.ports import Transaction
from gaia_memory.truth.plan import PlannedFact, apply_plan
from support.databases import ITAY, NOW, database
from support.oracles.slot_life import Said, random_life, value_at

__all__ = ["database"]

facts: FactStore = FactStore()


def day(number: float) -> datetime:
    return NOW + timedelta(days=number)


def noted_on(number: int) -> datetime:
    return NOW + timedelta(days=1_000 + number)


def text_of(said: Said) -> str:
    return f"No longer: {said.value}" if said.is_retraction else said.value


def contradicts(said: Said, text: str) -> bool:
    if said.is_retraction:
        return text == said.value
    return text == f"No longer: {said.value}" or (text.startswith(said.slot) and text != said.value)


async def plan(tx: Transaction, said: Said) -> PlannedFact:
    """Return what a model that makes no mistake decides, which sees current facts and those that ended later."""
    draft = Draft(fact=NewFact(text_of(said), said_at=day(said.day)), source="conversation")
    known = await facts.history.stored(tx, ITAY, await facts.ids(tx, ITAY))
    if any(each.fact.text == text_of(said) and each.fact.last_said_at <= day(said.day) for each in known.values()):
        return PlannedFact(extracted=draft, draft=draft)
    known |= await facts.history.past(tx, ITAY, ended_after=day(said.day))
    existing = [each for each in known.values() if contradicts(said, each.fact.text)]
    later = tuple(each for each in existing if each.fact.last_said_at > day(said.day))
    earlier = tuple(each for each in existing if each not in later)
    decided = PlannedFact(extracted=draft, draft=draft, actor="model", compared=tuple(known.values()))
    if said.is_retraction and earlier:
        return replace(decided, draft=None, why="retracted", ends=tuple(existing))
    return replace(decided, ends=earlier, outdated_by=later)


async def learn(database: Database, said: Said, number: int) -> None:
    async with database.transaction() as tx:
        await facts.state(tx, ITAY)
        await apply_plan(facts, tx, ITAY, [await plan(tx, said)], now=noted_on(number))


def describe(life: Sequence[Said]) -> str:
    return "; ".join(f"{each.day:g} {text_of(each)}" for each in life)


async def require_truth(database: Database, life: Sequence[Said]) -> None:
    """Check what holds on each day as known after each conversation, and what is current."""
    async with database.read_transaction() as tx:
        past = await facts.history.past(tx, ITAY)
        stored = past | await facts.history.stored(tx, ITAY, await facts.ids(tx, ITAY))
        timeline = await load_timeline(tx, ITAY, stored)
    values = {each.fact.text: fact_id for fact_id, each in stored.items() if not each.fact.text.startswith("No")}
    assert set(values) == {said.value for said in life if not said.is_retraction}
    days = [said.day + offset for said in life for offset in (0, 0.5)]
    for text, fact_id in values.items():
        sayings = [StatementTime(*each) for each in timeline.sayings[fact_id]]
        for known in range(len(life)):
            for at in days:
                answer = holds(
                    sayings,
                    timeline.ending_times(fact_id),
                    at=day(at).timestamp(),
                    known_at=noted_on(known).timestamp(),
                )
                slot = text.split(" is ")[0]
                expected = value_at(life[: known + 1], slot, at) == text
                assert answer == expected, (describe(life), text, at, known)
        is_current = value_at(life, text.split(" is ")[0], 10**6) == text
        assert (fact_id not in past) == is_current, (describe(life), text)


@pytest.mark.parametrize("cases", [12, pytest.param(400, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
async def test_the_order_of_learning_changes_no_period(database: Database, cases: int) -> None:
    """Statements between two others, repetitions and retractions, as known after each conversation."""
    chance = random.Random(cases)
    for number in range(cases):
        async with database.transaction() as tx:
            await facts.delete_all(tx, ITAY, forgotten_at=0.0)
        life = random_life(chance, slots=2, statements=3 + number % 8)
        for place, said in enumerate(life):
            await learn(database, said, place)
        await require_truth(database, life)
