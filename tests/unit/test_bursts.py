"""Messages that follow each other closely."""

from __future__ import annotations

import asyncio

import pytest

from gaia_memory.sessions.bursts import Bursts
from support.mind import KEY

SOON = 0.05
LATE = 30.0


async def test_a_burst_is_joined_and_given_to_the_last_caller() -> None:
    """The others hear that a later one has it."""
    bursts = Bursts()

    joined = await asyncio.gather(*(bursts.join(KEY, text, seconds=SOON, private=False) for text in "abc"))

    assert joined == [None, None, "a\nb\nc"]


async def test_without_a_window_each_message_is_its_own() -> None:
    """Nobody waits."""
    bursts = Bursts()

    joined = await asyncio.gather(*(bursts.join(KEY, text, seconds=0, private=False) for text in "ab"))

    assert joined == ["a", "b"]


async def test_messages_apart_are_not_joined() -> None:
    """A burst ends when its window does."""
    bursts = Bursts()

    joined = [await bursts.join(KEY, text, seconds=SOON, private=False) for text in "ab"]

    assert joined == ["a", "b"]


async def test_a_private_message_never_shares_a_burst() -> None:
    """What may be learned and what may not are two turns, in order."""
    bursts = Bursts()

    joined = await asyncio.gather(
        bursts.join(KEY, "open", seconds=LATE, private=False),
        bursts.join(KEY, "secret", seconds=SOON, private=True),
    )

    assert joined == ["open", "secret"]


async def test_a_flush_begins_the_turn_at_once() -> None:
    """A command does not overtake what was said before it."""
    bursts = Bursts()
    waiting = asyncio.create_task(bursts.join(KEY, "a", seconds=LATE, private=False))
    await asyncio.sleep(0)

    bursts.flush(KEY)

    assert await waiting == "a"


async def test_a_cancelled_caller_takes_only_its_own_message_back() -> None:
    """What others said before is answered with the next message."""
    bursts = Bursts()
    first = asyncio.create_task(bursts.join(KEY, "a", seconds=LATE, private=False))
    await asyncio.sleep(0)
    second = asyncio.create_task(bursts.join(KEY, "b", seconds=LATE, private=False))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second

    last = await bursts.join(KEY, "c", seconds=SOON, private=False)

    assert (await first, last) == (None, "a\nc")
