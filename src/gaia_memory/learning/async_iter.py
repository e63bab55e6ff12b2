"""Helpers for async iterators of turns and chunks."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import Generic, TypeVar

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


class WithoutLast(Generic[Item]):
    """An iterator over the items but the last `count` ones, which are `held_back` in the end."""

    def __init__(self, items: AsyncIterable[Item], count: int) -> None:
        """Read nothing yet."""
        self.held_back: deque[Item] = deque()
        self._items = items
        self._count = count

    async def __aiter__(self) -> AsyncIterator[Item]:
        """Yield the items."""
        async for item in self._items:
            self.held_back.append(item)
            if len(self.held_back) > self._count:
                yield self.held_back.popleft()


async def mark_last(items: AsyncIterable[Item]) -> AsyncIterator[tuple[Item, bool]]:
    """Yield each item with True if it is the last one."""
    pending: list[Item] = []
    async for item in items:
        if pending:
            yield pending.pop(), False
        pending.append(item)
    for item in pending:
        yield item, True
