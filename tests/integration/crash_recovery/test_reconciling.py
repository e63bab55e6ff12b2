"""A process killed between a reconciling question and its commit: each fact is stored once and ends once."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable

import pytest
from sqlalchemy import text as sql

from support.kill.kill_harness import Installation
from support.kill.kill_process import BULK_USER
from support.kill.kill_steps import RECONCILING_STEPS, KillPoint
from support.servers.fake_gemini import Answer
from support.servers.gemini_answers import Body, text

MakeSite = Callable[..., Installation]

slow = (pytest.mark.slow, pytest.mark.timeout(900))
on_each_database = pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=slow)])


def replace_all(body: Body) -> Answer:
    """Answer that the first new fact replaces every stored one that is shown."""
    asked = "\n".join(part.get("text", "") for content in body["contents"] for part in content["parts"])
    block = re.search(r"<EXISTING_FACTS>\n(.*?)\n</EXISTING_FACTS>", asked, re.DOTALL)
    existing = [int(number) for number in re.findall(r"^\[(\d+)\]", block[1] if block else "", re.MULTILINE)]
    return text(json.dumps({"decisions": [{"fact": 1, "action": "UPDATE", "existing": existing}]}))


async def read(here: Installation, user: str) -> tuple[list[str], list[str], int]:
    """Return a user's current and past facts, and how many wait; check that each decision has ended a fact once.

    A fact may end twice: by what was said next, and before by what was said between but learned later.
    """
    its = {"its": f"gaia:{user}"}
    async with here._databases() as (memory, _), memory.connect() as tx:
        current, past, endings, waiting = [
            [tuple(row) for row in await tx.execute(sql(f"SELECT {columns} FROM {table} WHERE partition = :its"), its)]
            for columns, table in (
                ("text", "gaia_facts"),
                ("text, id", "gaia_past_facts"),
                ("fact_id, ended_by", "gaia_endings"),
                ("row", "gaia_undecided_facts"),
            )
        ]
    assert {fact_id for _, fact_id in past} == {fact_id for fact_id, _ in endings}
    assert len(endings) == len(set(endings))
    return [text for (text,) in current], [text for text, _ in past], len(waiting)


def settle(here: Installation) -> None:
    """Sweep until nothing waits: each process sweeps while it has a message of somebody else to learn."""
    for _ in range(2):
        here.run(here.new_messages(2)[1:])


def words_of(texts: list[str]) -> Counter[str]:
    """Return how often each bird, or fact of a bulk, occurs."""
    return Counter(re.findall(r"b\d{5}|number \d+", "\n".join(texts)))


@pytest.mark.slow
@pytest.mark.acceptance("T09")
@on_each_database
def test_a_kill_while_a_conversation_is_compared_loses_and_doubles_nothing(site: MakeSite, kind: str) -> None:
    """The next process asks both questions again, or has all of it."""
    here = site(kind=kind)
    here.gemini.set_default("reconciler", replace_all)
    here.run(here.new_messages(1))
    for step in (*RECONCILING_STEPS[:2], "written", "committed"):
        worker = here.run(here.new_messages(1), kill_point=KillPoint(step))

        assert worker.was_killed, f"{step} was not reached"
        current, past, _ = asyncio.run(read(here, "ada"))
        assert set(words_of([*current, *past]).values()) == {1}
    here.run(here.new_messages(1))
    settle(here)
    current, past, waiting = asyncio.run(read(here, "ada"))

    assert list(words_of([*current, *past]).values()) == [1] * 6
    assert (len(current), waiting) == (1, 0)


@pytest.mark.acceptance("T09")
@on_each_database
def test_a_kill_while_the_queue_is_settled_decides_each_fact_once(site: MakeSite, kind: str) -> None:
    """The lease of the dead process is free at once."""
    here = site(kind=kind)
    here.gemini.set_default("reconciler", replace_all)
    for step in RECONCILING_STEPS:
        here.run((), here.new_bulk_facts(2), batch_size=1, is_learning=False)
        worker = here.run(here.new_messages(1), kill_point=KillPoint(step))

        assert worker.was_killed, f"{step} was not reached"
    settle(here)
    current, past, waiting = asyncio.run(read(here, BULK_USER))
    found = words_of([*current, *past])

    assert [found[f"number {number}"] for number in range(8)] == [1] * 8
    assert (len(current), waiting) == (1, 0)


@pytest.mark.acceptance("T14")
@on_each_database
def test_two_processes_that_learn_contradictions_of_one_person_lose_and_double_nothing(
    site: MakeSite, kind: str
) -> None:
    """What both learn at once is compared by a later sweep: in the end one statement is current."""
    here = site(kind=kind)
    here.gemini.set_default("reconciler", replace_all)
    here.gemini.delay_seconds = 0.3
    for prefix in "pq":
        here.wait_for_workers(*(here.start(here.new_messages(1, prefix=f"{prefix}{number}")) for number in range(2)))
    settle(here)
    current, past, waiting = asyncio.run(read(here, "ada"))

    assert list(words_of([*current, *past]).values()) == [1] * 4
    assert (len(current), waiting) == (1, 0)
