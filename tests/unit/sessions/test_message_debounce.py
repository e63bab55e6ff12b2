"""The debounce joins bursts of messages into one turn."""

from __future__ import annotations

import asyncio

import pytest

from gaia_memory.sessions.message_debounce import MessageDebouncer
from support.factories import KEY

SOON = 0.05
LATE = 120.0


async def test_messages_apart_are_not_joined() -> None:
    """A burst ends with its window."""
    bursts = MessageDebouncer()

    joined = [await bursts.coalesce(KEY, text, quiet_seconds=SOON, private=False) for text in "ab"]

    assert joined == ["a", "b"]


async def test_a_private_message_never_shares_a_burst() -> None:
    """A private and a normal message become two turns, in order."""
    bursts = MessageDebouncer()

    joined = await asyncio.gather(
        bursts.coalesce(KEY, "open", quiet_seconds=LATE, private=False),
        bursts.coalesce(KEY, "secret", quiet_seconds=SOON, private=True),
    )

    assert joined == ["open", "secret"]


async def test_a_flush_starts_the_turn_at_once() -> None:
    """A command does not overtake earlier messages."""
    bursts = MessageDebouncer()
    waiting = asyncio.create_task(bursts.coalesce(KEY, "a", quiet_seconds=LATE, private=False))
    await asyncio.sleep(0)

    await bursts.flush(KEY)

    assert waiting.done()
    assert await waiting == "a"


async def test_a_flushed_message_gets_the_turn_lock_before_the_flushing_caller() -> None:
    """Otherwise a reset could clear a conversation whose last message is unanswered."""
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


async def test_a_message_is_answered_alone_if_the_later_one_was_cancelled() -> None:
    """There may never be another message."""
    bursts = MessageDebouncer()
    first = asyncio.create_task(bursts.coalesce(KEY, "a", quiet_seconds=SOON, private=False))
    await asyncio.sleep(0)
    second = asyncio.create_task(bursts.coalesce(KEY, "b", quiet_seconds=LATE, private=False))
    await asyncio.sleep(0)
    second.cancel()

    assert await asyncio.wait_for(first, 60) == "a"
    assert await bursts.coalesce(KEY, "c", quiet_seconds=SOON, private=False) == "c"


async def test_a_flush_works_if_the_last_caller_was_cancelled() -> None:
    """Neither the flushing caller nor the earlier one waits."""
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


async def test_a_cancelled_caller_removes_only_its_own_message() -> None:
    """Earlier messages are answered together with the next one."""
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
