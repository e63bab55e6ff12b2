"""Streams of turns and chunks, told with what is needed of their other elements."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import TypeVar

Item = TypeVar("Item")


async def to_async_iter(items: Iterable[Item]) -> AsyncIterator[Item]:
    """Yield what is there already."""
    for item in items:
        yield item


async def is_empty(items: AsyncIterable[Item]) -> bool:
    """Say whether there is nothing; of what there is only the first is asked for."""
    async for _ in items:
        return False
    return True


async def batches(items: AsyncIterable[Item], size: int) -> AsyncIterator[list[Item]]:
    """Yield `size` at a time, and then the rest."""
    batch: list[Item] = []
    async for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


async def mark_last(items: AsyncIterable[Item]) -> AsyncIterator[tuple[Item, bool]]:
    """Yield each with whether it is the last one."""
    pending: list[Item] = []
    async for item in items:
        if pending:
            yield pending.pop(), False
        pending.append(item)
    for item in pending:
        yield item, True
