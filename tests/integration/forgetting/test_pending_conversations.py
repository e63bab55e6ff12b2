"""Talk that was not learned yet does not bring back what was forgotten, in whatever words it says it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from gaia_memory import NewFact
from support.database_matrix import make as make  # a fixture, on both databases
from support.harness import Sut, facts

Make = Callable[..., Awaitable[Sut]]

pytestmark = pytest.mark.acceptance("C13")

LIVES = facts("User lives in Berlin", "User has a dog named Rex")
MOVED = facts("User moved to Berlin in May", "User plays the cello")


async def fact_id(sut: Sut, text: str) -> str:
    """Return the id of one of Itay's facts."""
    return next(row["id"] for row in await sut.fact_rows("itay") if row["text"] == text)


async def test_another_conversation_that_waits(make: Make) -> None:
    """Only what is forgotten is missing from it; what is said afterwards is learned."""
    sut = await make(extractor=[LIVES, MOVED, MOVED])
    await sut.chat("itay", "cli", "I live in Berlin with my dog Rex")
    await sut.sweep_after_idle()
    await sut.chat("itay", "phone", "I came to Berlin in May. I play the cello.")
    await sut.gaia.memory.forget(sut.scope("itay"), fact_id=await fact_id(sut, "User lives in Berlin"))
    await sut.reopen()
    # Here only the test says when to look for what is due.
    await sut.gaia._engine._sweep_scheduler.stop()
    await sut.sweep_after_idle()

    assert await sut.texts("itay") == ["User has a dog named Rex", "User plays the cello"]
    await sut.chat("itay", "phone", "I came to Berlin in May, as I said")
    await sut.sweep_after_idle()
    assert "User moved to Berlin in May" in await sut.texts("itay")


async def test_the_conversation_it_was_said_in_again(make: Make) -> None:
    """Later than what taught it, but before it was forgotten by a command."""
    sut = await make(extractor=[LIVES, MOVED])
    await sut.chat("itay", "cli", "I live in Berlin with my dog Rex")
    await sut.sweep_after_idle()
    await sut.chat("itay", "cli", "I came to Berlin in May. I play the cello.")
    await sut.chat("itay", "cli", "/forget berlin")
    assert "forgot 1 fact" in (await sut.chat("itay", "cli", "/forget berlin yes"))[0]
    await sut.sweep_after_idle()

    assert await sut.texts("itay") == ["User has a dog named Rex", "User plays the cello"]


async def test_somebody_elses_talk_that_says_the_same(make: Make) -> None:
    """What one person forgot is learned of another."""
    sut = await make(extractor=[MOVED])
    await sut.gaia.memory.add(sut.scope("itay"), [NewFact("User lives in Berlin")])
    await sut.chat("noa", "cli", "I came to Berlin in May. I play the cello.")
    await sut.gaia.memory.forget(sut.scope("itay"), fact_id=await fact_id(sut, "User lives in Berlin"))
    await sut.sweep_after_idle()

    assert await sut.texts("noa") == ["User moved to Berlin in May", "User plays the cello"]


async def test_what_somebody_wants_back(make: Make) -> None:
    """A host that adds it, or a person who says `/remember`, lifts it for the talk that waits, too."""
    sut = await make(extractor=[MOVED])
    await sut.gaia.memory.add(sut.scope("itay"), [NewFact("User lives in Berlin")])
    await sut.chat("itay", "cli", "I came to Berlin in May. I play the cello.")
    await sut.gaia.memory.forget(sut.scope("itay"), fact_id=await fact_id(sut, "User lives in Berlin"))
    await sut.chat("itay", "cli", "/remember Berlin is home")
    await sut.sweep_after_idle()

    assert "User moved to Berlin in May" in await sut.texts("itay")
