"""One lock per conversation for turns, commands and clears, within a process and an event loop."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

from gaia_memory.models import SessionKey


class SessionLocks:
    """Hands out one `asyncio.Lock` for each conversation; unused locks are dropped."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[SessionKey, asyncio.Lock] = WeakValueDictionary()

    def for_session(self, key: SessionKey) -> asyncio.Lock:
        """Return the lock of a conversation: keep it in a variable while using it."""
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock
