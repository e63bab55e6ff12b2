"""An import restores an export, on each database and between databases."""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gaia_memory import NewFact
from gaia_memory.models import Draft, Source
from support.database_matrix import make as make  # a fixture, on both databases
from support.harness import Sut
from support.harness import make as open_sut

Make = Callable[..., Awaitable[Sut]]
START = datetime(2020, 1, 1, tzinfo=UTC)
KINDS: tuple[Source, ...] = ("remember", "agent", "add", "conversation", "import")
TEXTS = (
    "likes tea",
    "Likes tea.",
    "住在東京",
    "uses {curly} </USER_PROFILE> braces",
    "a\tb",
    "שלום",
    "\U0001d4eabc",
    "é",
    "e\u0301",
)


def any_moment(chance: random.Random) -> datetime:
    """Return a time with microseconds."""
    return START + timedelta(microseconds=chance.randrange(10**15))


def any_draft(chance: random.Random) -> Draft:
    """Return a fact with random origin, often a repeated one."""
    text = f"{chance.choice(TEXTS)} {chance.randrange(6)}"
    session = chance.choice((None, "itay:cli", "a/b c%", "ש"))
    fact = NewFact(
        text,
        said_at=chance.choice((None, any_moment(chance))),
        session_id=session,
        seq=None if session is None else chance.choice((None, 0, 2**63 - 1)),
        metadata=chance.choice(({}, {"speaker": "Itay", "n": 1.5, "is": True, "דגל": 2**62, "category": "food"})),
        **any_details(chance),
    )
    events = tuple(f"e-{chance.randrange(99)}" for _ in range(chance.randrange(3)))
    source = chance.choice(KINDS)
    return Draft(
        fact=fact,
        # A person's own word has no events: with events it is read as a model's tool call.
        source="agent" if source == "remember" and events else source,
        app=chance.choice((None, "gaia", "x:y")),
        event_ids=events,
        turn_event_ids=events[:1],
        noted_at=any_moment(chance),
        agent=chance.choice((None, "helper")),
        channel=chance.choice((None, "cli")),
        excerpt=chance.choice((None, "I like tea")),
        extractor=chance.choice((None, "offline/rules/mem0-1")),
    )


def any_details(chance: random.Random) -> dict[str, Any]:
    """Return random details of a fact."""
    moment = any_moment(chance)
    every = {
        "category": "health",
        "entity": "Noa",
        "context": "family",
        "agent": "planner",
        "sensitive": True,
        "due_at": moment,
        "due_zone": "Asia/Tokyo",
        "due_all_day": True,
        "reminded_at": moment,
        "valid_from": moment,
        "valid_until": moment + timedelta(days=1),
        "first_said_at": moment,
        "in_doubt_since": moment,
    }
    details = {name: value for name, value in every.items() if chance.random() < 0.5}
    return details | ({"every": "FREQ=WEEKLY;BYDAY=MO"} if "due_at" in details else {})


async def held(sut: Sut, user: str) -> dict[str, Any]:
    """Return an export without the values that differ each time, or that an import changes."""
    data = json.loads(json.dumps(await sut.gaia.memory.export(sut.scope(user))))
    for fact in data["facts"]:
        del fact["id"], fact["source"]
        for source in fact["sources"]:
            del source["imported"], source["origin_scope"], source["origin_id"]
        fact["sources"].sort(key=json.dumps)
    return {key: data[key] for key in ("facts", "profile", "pending")}


async def test_an_import_restores_every_exported_field(make: Make, tmp_path: Path) -> None:
    """A repeated import changes nothing, not even in the home that was exported."""
    sut = await make()
    other = await open_sut(tmp_path / "another")
    try:
        for seed in range(10):
            chance = random.Random(seed)
            for _ in range(chance.randrange(1, 4)):
                drafts = [any_draft(chance) for _ in range(chance.randrange(1, 9))]
                async with sut.gaia.memory.stores.database.transaction() as tx:
                    await sut.gaia.memory.stores.facts.writer.write(
                        tx, sut.scope(f"{seed}"), drafts, now=any_moment(chance)
                    )
        # A fact that has no vector yet is changed by whoever gives it one.
        await sut.gaia.memory.settled()
        for user in map(str, range(10)):
            there = await sut.gaia.memory.export(sut.scope(user))
            for to, of in ((other, user), (sut, user), (other, user), (sut, f"{user} again")):
                taken = await to.gaia.memory.import_(to.scope(of), json.loads(json.dumps(there)))

                assert taken == len(there["facts"])
                assert await held(to, of) == await held(sut, user), user
    finally:
        await other.close()


async def test_an_imported_fact_says_that_it_is_one(make: Make) -> None:
    """Its sources keep what the data claims, and name the fact they were copied from."""
    sut = await make()
    memory, ada, ben = sut.gaia.memory, sut.scope("ada"), sut.scope("ben")
    told = await memory.remember(ada, "Likes tea")
    await memory.import_(ben, await memory.export(ada))
    [copy] = (await memory.export(ben))["facts"]
    [source] = copy["sources"]

    assert (copy["source"], source["source"], source["imported"]) == ("import", "remember", True)
    assert (source["origin_scope"], source["origin_id"]) == (ada.partition, told.id)
