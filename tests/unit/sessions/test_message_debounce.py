"""Messages that follow each other closely."""

from __future__ import annotations

import asyncio

import pytest

from gaia_memory.sessions.turns.message_debounce import MessageDebouncer
from support.factories import KEY

SOON = 0.05
LATE = 120.0


async def test_a_burst_is_joined_and_given_to_the_last_caller() -> None:
    """The others hear that a later one has it."""
    bursts = MessageDebouncer()

    joined = await asyncio.gather(*(bursts.coalesce(KEY, text, quiet_seconds=SOON, private=False) for text in "abc"))

    assert joined == [None, None, "a\nb\nc"]


async def test_without_a_window_each_message_is_its_own() -> None:
    """Nobody waits."""
    bursts = MessageDebouncer()

    joined = await asyncio.gather(*(bursts.coalesce(KEY, text, quiet_seconds=0, private=False) for text in "ab"))

    assert joined == ["a", "b"]


async def test_messages_apart_are_not_joined() -> None:
    """A burst ends when its window does."""
    bursts = MessageDebouncer()

    joined = [await bursts.coalesce(KEY, text, quiet_seconds=SOON, private=False) for text in "ab"]

    assert joined == ["a", "b"]


async def test_a_private_message_never_shares_a_burst() -> None:
    """What may be learned and what may not are two turns, in order."""
    bursts = MessageDebouncer()

    joined = await asyncio.gather(
        bursts.coalesce(KEY, "open", quiet_seconds=LATE, private=False),
        bursts.coalesce(KEY, "secret", quiet_seconds=SOON, private=True),
    )

    assert joined == ["open", "secret"]


async def test_a_flush_begins_the_turn_at_once() -> None:
    """A command does not overtake what was said before it."""
    bursts = MessageDebouncer()
    waiting = asyncio.create_task(bursts.coalesce(KEY, "a", quiet_seconds=LATE, private=False))
    await asyncio.sleep(0)

    await bursts.flush(KEY)

    assert waiting.done()
    assert await waiting == "a"


async def test_what_was_flushed_stands_in_the_line_before_the_one_who_flushed() -> None:
    """Else a reset would clear a conversation whose last message was not yet answered."""
    bursts = MessageDebouncer()
    order: list[str] = []

    async def turn() -> None:
        text = await bursts.coalesce(KEY, "said", quiet_seconds=LATE, private=False)
        async with bursts.turn_lock(KEY):
            order.append(str(text))

    waiting = asyncio.create_task(turn())
    await asyncio.sleep(0)
    await bursts.flush(KEY)
    async with bursts.turn_lock(KEY):
        order.append("command")
    await waiting

    assert order == ["said", "command"]


async def test_a_message_whose_later_one_was_taken_back_is_answered_itself() -> None:
    """Nobody else may ever write again."""
    bursts = MessageDebouncer()
    first = asyncio.create_task(bursts.coalesce(KEY, "a", quiet_seconds=SOON, private=False))
    await asyncio.sleep(0)
    second = asyncio.create_task(bursts.coalesce(KEY, "b", quiet_seconds=LATE, private=False))
    await asyncio.sleep(0)
    second.cancel()

    assert await asyncio.wait_for(first, 60) == "a"
    assert await bursts.coalesce(KEY, "c", quiet_seconds=SOON, private=False) == "c"


async def test_a_flush_takes_what_is_left_where_its_last_caller_is_cancelled() -> None:
    """Neither the one who flushes nor the one before is kept waiting."""
    bursts = MessageDebouncer()
    first = asyncio.create_task(bursts.coalesce(KEY, "a", quiet_seconds=LATE, private=False))
    await asyncio.sleep(0)
    second = asyncio.create_task(bursts.coalesce(KEY, "b", quiet_seconds=LATE, private=False))
    await asyncio.sleep(0)
    flushing = asyncio.create_task(bursts.flush(KEY))
    await asyncio.sleep(0)
    second.cancel()

    await asyncio.wait_for(flushing, 60)
    results = await asyncio.wait_for(asyncio.gather(first, second, return_exceptions=True), 60)

    assert [text for text in results if isinstance(text, str)] in (["a"], ["a\nb"])


async def test_a_flush_waits_for_nobody_where_every_caller_was_cancelled() -> None:
    """There is nothing left to answer."""
    bursts = MessageDebouncer()
    only = asyncio.create_task(bursts.coalesce(KEY, "a", quiet_seconds=LATE, private=False))
    await asyncio.sleep(0)
    only.cancel()
    await asyncio.wait_for(bursts.flush(KEY), 60)

    assert await bursts.coalesce(KEY, "b", quiet_seconds=SOON, private=False) == "b"


async def test_a_cancelled_caller_takes_only_its_own_message_back() -> None:
    """What others said before is answered with the next message."""
    bursts = MessageDebouncer()
    first = asyncio.create_task(bursts.coalesce(KEY, "a", quiet_seconds=LATE, private=False))
    await asyncio.sleep(0)
    second = asyncio.create_task(bursts.coalesce(KEY, "b", quiet_seconds=LATE, private=False))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second

    last = await bursts.coalesce(KEY, "c", quiet_seconds=SOON, private=False)

    assert (await first, last) == (None, "a\nc")
