"""Helpers for async iterators of turns and chunks."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import TypeVar

Item = TypeVar("Item")


async def to_async_iter(items: Iterable[Item]) -> AsyncIterator[Item]:
    """Yield the items of an iterable."""
    for item in items:
        yield item


async def is_empty(items: AsyncIterable[Item]) -> bool:
    """Return True if there are no items; at most one is read."""
    async for _ in items:
        return False
    return True


async def batches(items: AsyncIterable[Item], size: int) -> AsyncIterator[list[Item]]:
    """Yield lists of `size` items, and a shorter last one."""
    batch: list[Item] = []
    async for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


async def without_last(items: AsyncIterable[Item], count: int) -> AsyncIterator[Item]:
    """Yield the items but the last `count` ones."""
    held_back: deque[Item] = deque()
    async for item in items:
        held_back.append(item)
        if len(held_back) > count:
            yield held_back.popleft()


async def mark_last(items: AsyncIterable[Item]) -> AsyncIterator[tuple[Item, bool]]:
    """Yield each item with True if it is the last one."""
    pending: list[Item] = []
    async for item in items:
        if pending:
            yield pending.pop(), False
        pending.append(item)
    for item in pending:
        yield item, True
