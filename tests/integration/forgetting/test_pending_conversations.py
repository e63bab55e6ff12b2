"""A conversation that is not learned yet does not bring back a forgotten fact, in whatever words."""

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


async def test_a_pending_conversation_does_not_restore_a_forgotten_fact(make: Make) -> None:
    """Only the forgotten fact is missing from it; later messages are learned."""
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


async def test_later_messages_of_the_same_conversation_do_not_restore_a_forgotten_fact(make: Make) -> None:
    """Sent after the message that taught it, but before a command forgot it."""
    sut = await make(extractor=[LIVES, MOVED])
    await sut.chat("itay", "cli", "I live in Berlin with my dog Rex")
    await sut.sweep_after_idle()
    await sut.chat("itay", "cli", "I came to Berlin in May. I play the cello.")
    await sut.chat("itay", "cli", "/forget berlin")
    assert "forgot 1 fact" in (await sut.chat("itay", "cli", "/forget berlin yes"))[0]
    await sut.sweep_after_idle()

    assert await sut.texts("itay") == ["User has a dog named Rex", "User plays the cello"]


async def test_another_users_pending_conversation_is_not_affected(make: Make) -> None:
    """A fact that one user forgot is learned for another."""
    sut = await make(extractor=[MOVED])
    await sut.gaia.memory.add(sut.scope("itay"), [NewFact("User lives in Berlin")])
    await sut.chat("noa", "cli", "I came to Berlin in May. I play the cello.")
    await sut.gaia.memory.forget(sut.scope("itay"), fact_id=await fact_id(sut, "User lives in Berlin"))
    await sut.sweep_after_idle()

    assert await sut.texts("noa") == ["User moved to Berlin in May", "User plays the cello"]


async def test_a_remember_command_allows_a_forgotten_fact_in_a_pending_conversation(make: Make) -> None:
    """It lifts the tombstone for pending messages too, as does a host that adds the fact."""
    sut = await make(extractor=[MOVED])
    await sut.gaia.memory.add(sut.scope("itay"), [NewFact("User lives in Berlin")])
    await sut.chat("itay", "cli", "I came to Berlin in May. I play the cello.")
    await sut.gaia.memory.forget(sut.scope("itay"), fact_id=await fact_id(sut, "User lives in Berlin"))
    await sut.chat("itay", "cli", "/remember Berlin is home")
    await sut.sweep_after_idle()

    assert "User moved to Berlin in May" in await sut.texts("itay")
