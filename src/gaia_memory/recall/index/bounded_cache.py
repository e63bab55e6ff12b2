"""What recall keeps in memory of the scopes that were asked last, within a number of bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


class BoundedCache:
    """Values by key; the least recently used ones make room for others. One that is too large is kept alone."""

    def __init__(self, max_bytes: Callable[[], int]) -> None:
        """Keep at most `max_bytes()` together; the limit may change."""
        self._max_bytes = max_bytes
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self.total_bytes = 0

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self._entries)

    def get(self, key: Hashable) -> Any:
        """Return a value, and note that it is in use; None if it is not here."""
        if key not in self._entries:
            return None
        value = self._entries[key][0]
        # It may have derived more since.
        self.put(key, value)
        return value

    def put(self, key: Hashable, value: Any) -> None:
        """Keep a value, whose NumPy arrays are counted, in place of an earlier one with this key."""
        self._remove(key)
        size = _count_bytes(value, set())
        self._entries[key] = value, size
        self.total_bytes += size
        while self.total_bytes > self._max_bytes() and len(self._entries) > 1:
            self._remove(next(iter(self._entries)))

    def _remove(self, key: Hashable) -> None:
        self.total_bytes -= self._entries.pop(key, (None, 0))[1]


def _count_bytes(value: Any, seen: set[int]) -> int:
    """Return the size of the arrays in a dataclass, with its cached properties; each counts once."""
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, dict):
        return sum(_count_bytes(each, seen) for each in value.values())
    if is_dataclass(value):
        parts = [getattr(value, each.name) for each in fields(value)]
        return sum(_count_bytes(each, seen) for each in (*parts, getattr(value, "__dict__", None)))
    return 0
