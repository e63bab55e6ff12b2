"""Merging two user ids loses nothing, duplicates nothing and restores nothing forgotten."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from gaia_memory import NewFact, Scope
from gaia_memory.errors import InvalidInputError
from gaia_memory.facts.tables import outbox, tombstones
from support.database_matrix import make as make  # a fixture, on both databases
from support.databases import database as database  # a fixture, on both databases
from support.harness import Sut, facts

Make = Callable[..., Awaitable[Sut]]


async def known(sut: Sut, user: str) -> dict[str, str]:
    """Return a user's facts by id, after checking that plain mem0 shows the same."""
    return {row["id"]: row["text"] for row in await sut.fact_rows(user)}


async def two(make: Make) -> Sut:
    sut = await make()
    memory = sut.gaia.memory
    await memory.add(sut.scope("guest"), [NewFact("Likes tea", session_id="g1"), NewFact("Has a dog", session_id="g1")])
    await memory.add(sut.scope("ada"), [NewFact("likes  TEA.", session_id="a1"), NewFact("Lives in Haifa")])
    await memory.remember(sut.scope("noa"), "Likes tea")
    return sut


async def test_facts_keep_their_ids_and_a_fact_known_to_both_users_is_stored_once(make: Make) -> None:
    """This covers database, keyword index, vectors and mem0 store; other users keep their facts."""
    sut = await two(make)
    before = {**await known(sut, "guest"), **await known(sut, "ada")}
    others = await known(sut, "noa")

    merged = await sut.gaia.memory.merge(sut.scope("guest"), sut.scope("ada"))

    assert (merged.moved, merged.joined, merged.dropped) == (1, 1, 0)
    after = await known(sut, "ada")
    assert sorted(after.values()) == ["Has a dog", "Lives in Haifa", "likes  TEA."]
    assert after.items() <= before.items()
    assert await known(sut, "guest") == {}
    assert await known(sut, "noa") == others
    hits = await sut.gaia.memory.recall(sut.scope("ada"), "dog")
    assert (hits[0].fact.text, {"keywords", "vectors"} <= hits[0].why.keys()) == ("Has a dog", True)
    assert await sut.gaia.memory.recall(sut.scope("guest"), "dog") == []


async def test_sources_move_so_that_a_conversation_can_still_be_forgotten(make: Make) -> None:
    """A fact known to both users keeps the conversations of both."""
    sut = await two(make)
    memory, ada = sut.gaia.memory, sut.scope("ada")
    await memory.merge(sut.scope("guest"), ada)

    assert (await memory.forget(ada, session_id="a1")).count == 0
    assert (await memory.forget(ada, session_id="g1")).count == 2
    assert list((await known(sut, "ada")).values()) == ["Lives in Haifa"]


@pytest.mark.parametrize("forgetful", ["guest", "ada"])
async def test_a_fact_forgotten_by_either_user_stays_forgotten(make: Make, forgetful: str) -> None:
    """This holds after a second merge and for other spellings; remembering it explicitly lifts the tombstone."""
    sut = await two(make)
    memory, ada = sut.gaia.memory, sut.scope("ada")
    fact = await memory.remember(sut.scope(forgetful), "Collects stamps")
    await memory.forget(sut.scope(forgetful), fact_id=fact.id)
    await memory.merge(sut.scope("guest"), ada)
    await memory.remember(sut.scope("elsewhere"), "Plays chess")
    await memory.merge(ada, sut.scope("elsewhere"))
    last = sut.scope("elsewhere")

    async with memory.stores.database.read_transaction() as tx:
        assert await memory.stores.facts.tombstones.have_tombstones(
            tx, last, ["collects \u200bSTAMPS", "Has a dog"]
        ) == [
            True,
            False,
        ]
    await memory.remember(last, "Collects stamps")
    async with memory.stores.database.read_transaction() as tx:
        assert await memory.stores.facts.tombstones.have_tombstones(tx, last, ["Collects stamps"]) == [False]


async def test_a_fact_the_target_user_has_forgotten_is_dropped(make: Make) -> None:
    """Both ids are one person, who wanted it forgotten."""
    sut = await two(make)
    memory, ada = sut.gaia.memory, sut.scope("ada")
    dog = await memory.remember(ada, "has a dog")
    await memory.forget(ada, fact_id=dog.id)

    merged = await memory.merge(sut.scope("guest"), ada)

    assert (merged.moved, merged.joined, merged.dropped) == (0, 1, 1)
    assert await known(sut, "guest") == {}
    assert "Has a dog" not in (await known(sut, "ada")).values()


async def test_the_later_time_of_forgetting_everything_is_kept(make: Make) -> None:
    """An earlier export of one id does not restore under the other what was forgotten."""
    sut = await two(make)
    memory, guest, ada = sut.gaia.memory, sut.scope("guest"), sut.scope("ada")
    data = await memory.export(guest)
    await asyncio.sleep(0.01)
    await memory.forget(guest)
    await memory.merge(guest, ada)

    assert await memory.import_(ada, data) == 0


@pytest.mark.parametrize("whose", ["app_user", "user"])
async def test_a_forgotten_conversation_stays_forgotten_under_the_target_id(make: Make, whose: str) -> None:
    """An earlier export restores facts of other conversations only, also after a further merge."""
    sut = await make(f"memory: {{scope: {whose}}}", extractor=[facts("Has a dog"), facts("Plays chess")])
    memory, guest, ada, eve = sut.gaia.memory, *map(sut.scope, ("guest", "ada", "eve"))
    await memory.remember(ada, "Likes tea")
    await memory.remember(eve, "Likes milk")
    await sut.chat("guest", "cli", "I have a dog")
    await sut.sweep_after_idle()
    await sut.chat("guest", "phone", "I play chess")
    await sut.sweep_after_idle()
    data = await memory.export(guest)
    assert (await memory.forget(guest, session_id="guest:cli")).count == 1
    await memory.merge(guest, ada)

    assert await memory.import_(ada, data) == 1
    assert sorted((await known(sut, "ada")).values()) == ["Likes tea", "Plays chess"]
    await memory.merge(ada, eve)
    assert await memory.import_(eve, data) == 1
    assert sorted((await known(sut, "eve")).values()) == ["Likes milk", "Likes tea", "Plays chess"]
    assert await memory.import_(eve, data, restore_forgotten=True) == 2


async def test_pending_conversations_must_be_learned_before_a_merge(make: Make) -> None:
    """Those of either user block it; nothing is moved until they are learned."""
    sut = await make(extractor=[facts("Has a boat")])
    memory, guest, ada = sut.gaia.memory, sut.scope("guest"), sut.scope("ada")
    await memory.remember(guest, "Has a dog")
    await memory.remember(ada, "Likes tea")
    await sut.chat("guest", "cli", "I bought a boat")

    for one, other in ((guest, ada), (ada, guest)):
        with pytest.raises(
            InvalidInputError, match=r"conversations of 'guest' are not learned yet .*gaia sweep --force"
        ):
            await memory.merge(one, other)
    assert list((await known(sut, "ada")).values()) == ["Likes tea"]
    await sut.sweep(force=True)
    assert (await memory.merge(guest, ada)).moved == 2


async def test_a_user_cannot_be_merged_with_themselves_or_an_unknown_user(make: Make) -> None:
    """The message contains the id; no fact moves."""
    sut = await two(make)
    memory, ada = sut.gaia.memory, sut.scope("ada")

    with pytest.raises(InvalidInputError, match=r"'ada' cannot be merged into itself: pass two different"):
        await memory.merge(ada, ada)
    for one, other in ((sut.scope("eve"), ada), (ada, sut.scope("eve"))):
        with pytest.raises(InvalidInputError, match=r"nothing is known about 'eve' in the app 'gaia'"):
            await memory.merge(one, other)
    assert len(await known(sut, "ada")) == 2


async def test_a_configured_user_without_facts_can_be_a_merge_target(make: Make) -> None:
    """This is how a guest gets an id of their own."""
    sut = await make("people: {users: {eve: {telegram: ['555']}}}")
    await sut.gaia.memory.remember(sut.scope("telegram:555"), "Likes tea")

    assert (await sut.gaia.memory.merge(sut.scope("telegram:555"), sut.scope("eve"))).moved == 1
    assert list((await known(sut, "eve")).values()) == ["Likes tea"]


async def test_concurrent_merges_into_one_user_leave_each_fact_once(make: Make) -> None:
    """Two sources are each merged twice: nothing is lost or duplicated, and no merge hangs."""
    sut = await two(make)
    memory, guest, ada, noa = sut.gaia.memory, *map(sut.scope, ("guest", "ada", "noa"))
    async with asyncio.timeout(60):
        merged = await asyncio.gather(
            memory.merge(guest, ada), memory.merge(guest, ada), memory.merge(noa, ada), memory.merge(noa, ada)
        )

    assert (sum(each.moved for each in merged), sum(each.joined for each in merged)) == (1, 2)
    assert sorted((await known(sut, "ada")).values()) == ["Has a dog", "Lives in Haifa", "likes  TEA."]
    assert (await known(sut, "guest"), await known(sut, "noa")) == ({}, {})


async def test_two_opposite_merges_at_once_both_finish(make: Make) -> None:
    """One of the ids ends up with all facts."""
    sut = await two(make)
    memory, guest, ada = sut.gaia.memory, sut.scope("guest"), sut.scope("ada")
    async with asyncio.timeout(60):
        await asyncio.gather(memory.merge(guest, ada), memory.merge(ada, guest))

    assert sorted([len(await known(sut, user)) for user in ("guest", "ada")]) == [0, 3]


@pytest.mark.slow
@pytest.mark.parametrize(
    "step",
    [
        "_move_facts",
        *(
            pytest.param(step, marks=pytest.mark.slow)
            for step in ("bump_revision", "_copy_sources", "FactStore.delete", "move_tombstones")
        ),
    ],
)
async def test_a_killed_merge_moves_nothing_and_can_be_repeated(make: Make, step: str) -> None:
    """Another process is killed with SIGKILL after each step; then the same merge runs again."""
    sut = await two(make)
    fact = await sut.gaia.memory.remember(sut.scope("guest"), "Collects stamps")
    await sut.gaia.memory.forget(sut.scope("guest"), fact_id=fact.id)
    before = [await known(sut, user) for user in ("guest", "ada")]

    done = await asyncio.to_thread(killed, sut.config_path, sut.home, step)

    assert done.returncode == -signal.SIGKILL, done.stderr
    assert [await known(sut, user) for user in ("guest", "ada")] == before
    merged = await sut.gaia.memory.merge(sut.scope("guest"), sut.scope("ada"))
    assert (merged.moved, merged.joined) == (1, 1)
    assert len(await known(sut, "ada")) == 3
    async with sut.gaia.memory.stores.database.read_transaction() as tx:
        assert (await tx.execute(text(f"SELECT count(*) FROM {outbox.name}"))).scalar_one() == 0
        left = text(f"SELECT count(*) FROM {tombstones.name} WHERE partition = 'gaia:guest'")
        assert (await tx.execute(left)).scalar_one() == 0


PROGRAM = """
import asyncio, os, signal, sys
from gaia_memory.config.sources.load import load
from gaia_memory.engine import Engine
from gaia_memory.facts import FactStore, move_scope
from support.storage import scripted_mem0

owner, step = (FactStore, "delete") if sys.argv[3] == "FactStore.delete" else (move_scope, sys.argv[3])
real = getattr(owner, step)

async def die(*arguments, **options):
    await real(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    engine = await Engine.open(load({"home": sys.argv[2], "sessions": {"database_url": sys.argv[1]}}))
    setattr(owner, step, die)
    await engine.memory.merge(engine.scope("gaia", "guest"), engine.scope("gaia", "ada"))

asyncio.run(main())
"""


def killed(config: Path, home: Path, step: str) -> subprocess.CompletedProcess[str]:
    from gaia_memory.config.sources.load import load

    address = load(config, home=home).config.sessions_url
    paths = [str(Path(__file__).parents[1]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-c", PROGRAM, address, str(home), step]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


async def test_the_facts_of_an_app_are_merged_with_nobodys(make: Make) -> None:
    """Otherwise what is private would be told to every user."""
    sut = await two(make)
    memory, shared = sut.gaia.memory, Scope.app_wide("gaia")
    await memory.remember(shared, "Closes at nine")
    for pair in ((shared, sut.scope("ada")), (sut.scope("ada"), shared)):
        with pytest.raises(InvalidInputError, match="no person's"):
            await memory.merge(*pair)

    assert [fact.text for fact in await memory.facts(shared)] == ["Closes at nine"]
