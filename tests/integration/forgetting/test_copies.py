"""A forget says how many copies stand in other scopes, and deletes them if a host asks for that; on each database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from gaia_memory import NewFact, Scope
from gaia_memory.facts import provenance
from gaia_memory.memory import Memory
from support.database_matrix import make as make  # a fixture, on both databases
from support.harness import Sut
from support.oracles.mutants import Mutant

Make = Callable[..., Awaitable[Sut]]

MUTANTS = [
    Mutant(provenance.__name__, "Provenance.copies", "table.c.partition != scope.partition", "true()"),
    Mutant(provenance.__name__, "_is_copied", "sources.c.origin_scope == scope.partition", "true()"),
]
"""The conditions on partitions of the statements that look for copies."""


async def texts(memory: Memory, scope: Scope) -> list[str]:
    return [fact.text for fact in await memory.facts(scope)]


async def copy(memory: Memory, scope: Scope, into: Scope) -> None:
    await memory.import_(into, await memory.export(scope))


async def test_a_forget_leaves_copies_and_counts_them(make: Make) -> None:
    """Facts that came back into the scope itself, and copies that another import made, do not count."""
    sut = await make()
    memory, ann, ben, cleo = sut.gaia.memory, sut.scope("ann"), sut.scope("ben"), sut.scope("cleo")
    boat = await memory.remember(ann, "Owns a boat")
    data = await memory.export(ann)
    await memory.forget(ann, fact_id=boat.id)
    await memory.import_(ann, data, restore_forgotten=True)
    tea = await memory.remember(ann, "Likes tea")
    await memory.remember(cleo, "Plays chess")
    for scope in (ben, cleo):
        await copy(memory, ann, scope)
    await copy(memory, cleo, ben)

    one = await memory.forget(ann, fact_id=tea.id)
    rest = await memory.forget(ann)

    assert (one.count, one.copies) == (1, 2)
    assert (rest.count, rest.copies) == (1, 4)
    assert rest.notes[-1] == (
        "4 copies that imports made stay in the memory of others: `gaia memory forget --copies` deletes those, too"
    )
    assert await texts(memory, ben) == ["Owns a boat", "Likes tea", "Plays chess"]
    assert await texts(memory, cleo) == ["Plays chess", "Owns a boat", "Likes tea"]


@pytest.mark.parametrize(("corrects", "left"), [(False, []), (True, ["Has the illness brolga"])])
async def test_a_forget_with_copies_takes_their_earlier_wordings(make: Make, corrects: bool, left: list[str]) -> None:
    """Those that came with the copy, and the copy itself where only a correction of it has another source."""
    sut = await make()
    memory, ann, ben = sut.gaia.memory, sut.scope("ann"), sut.scope("ben")
    illness = await memory.remember(ann, "Has the illness zanzibar")
    await memory.update(ann, illness.id, text="Has the illness quillon")
    await copy(memory, ann, ben)
    [copied] = await memory.facts(ben)
    if corrects:
        await memory.update(ben, copied.id, text="Has the illness brolga")

    await memory.forget(ann, fact_id=illness.id, copies=True)

    assert await texts(memory, ben) == left
    assert not [word for word in ("zanzibar", "quillon") if word in str(await memory.export(ben))]


async def test_a_forget_with_copies_deletes_what_nothing_else_taught(make: Make) -> None:
    """What is known from elsewhere, too, stays, with its own source alone."""
    sut = await make()
    memory, ann, ben, cleo = sut.gaia.memory, sut.scope("ann"), sut.scope("ben"), sut.scope("cleo")
    await memory.add(ann, [NewFact("Likes tea", session_id="s1"), NewFact("Owns a boat", session_id="s2")])
    await copy(memory, ann, ben)
    await memory.remember(ben, "Owns a boat")
    await copy(memory, ben, cleo)
    await memory.remember(cleo, "Plays chess")
    assert len(await memory.recall(ben, "tea")) == 2

    gone = await memory.forget(ann, copies=True)
    [boat] = await memory.facts(ben)
    origins = await memory.sources(ben, boat.id)

    assert (gone.count, gone.copies, gone.removed["copies"]) == (2, 2, 2)
    assert gone.notes[-1] == "2 copies in the memory of others stay: something else taught the same there"
    assert await texts(memory, ann) == []
    assert (boat.text, boat.session_id, boat.source) == ("Owns a boat", None, "remember")
    assert [(origin.session_id, origin.origin_scope) for origin in origins] == [(None, None)]
    assert await texts(memory, cleo) == ["Owns a boat", "Plays chess"]
    assert [hit.fact.text for hit in await memory.recall(ben, "tea")] == ["Owns a boat"]


@pytest.mark.parametrize("kind", ["fact_id", "session_id"])
async def test_copies_can_be_deleted_after_the_forget(make: Make, kind: str) -> None:
    """The receipt of the first tells that there are some; only those of that fact or conversation go."""
    sut = await make()
    memory, ann, ben = sut.gaia.memory, sut.scope("ann"), sut.scope("ben")
    tea, _ = await memory.add(ann, [NewFact("Likes tea", session_id="s1"), NewFact("Owns a boat", session_id="s2")])
    await copy(memory, ann, ben)
    selection = {"fact_id": tea.id} if kind == "fact_id" else {"session_id": "s1"}

    first = await memory.forget(ann, **selection)
    second = await memory.forget(ann, **selection, copies=True)

    assert (first.count, first.copies) == (1, 1)
    assert (second.count, second.copies, second.removed["copies"]) == (0, 0, 1)
    assert await texts(memory, ann) == await texts(memory, ben) == ["Owns a boat"]


async def test_a_copy_that_was_deleted_may_be_learned_again(make: Make) -> None:
    """Whoever had the copy has forgotten nothing."""
    sut = await make()
    memory, ann, ben = sut.gaia.memory, sut.scope("ann"), sut.scope("ben")
    await memory.remember(ann, "Likes tea")
    data = await memory.export(ann)
    await memory.import_(ben, data)
    await memory.forget(ann, copies=True)

    assert await memory.import_(ben, data) == 1
    assert await memory.import_(ann, data) == 0


async def test_a_merge_keeps_the_way_to_the_copies(make: Make) -> None:
    """Facts of the merged scope that move, and those that join one of the other scope."""
    sut = await make()
    memory, ann, anna, ben = sut.gaia.memory, sut.scope("ann"), sut.scope("anna"), sut.scope("ben")
    await memory.remember(ann, "Likes tea")
    await memory.remember(ann, "Owns a boat")
    boat = await memory.remember(anna, "Owns a boat")
    await copy(memory, ann, ben)
    await memory.merge(ann, anna)

    assert (await memory.forget(anna, fact_id=boat.id, copies=True)).removed["copies"] == 1
    assert (await memory.forget(anna)).copies == 1
    assert await texts(memory, ben) == ["Likes tea"]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
async def test_without_a_condition_facts_of_others_would_count(make: Make, mutant: Mutant) -> None:
    """So `test_a_forget_leaves_copies_and_counts_them` covers both conditions."""
    with pytest.raises(AssertionError), mutant.applied():
        await test_a_forget_leaves_copies_and_counts_them(make)
