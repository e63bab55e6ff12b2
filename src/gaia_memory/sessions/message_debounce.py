"""Debounces messages: a burst gets one answer, and all messages of a conversation are processed in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from gaia_memory.models import SessionKey


class _QueuedMessage:
    """One message, and the event that wakes its caller."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.wake_event = asyncio.Event()


class _Burst:
    """The messages of a burst so far, in order; `claimed` is set when the last caller has taken them."""

    def __init__(self) -> None:
        self.messages: list[_QueuedMessage] = []
        self.is_flushed = False
        self.claimed = asyncio.Event()

    def is_last(self, message: _QueuedMessage) -> bool:
        return self.messages[-1] is message

    def wake(self) -> None:
        for message in self.messages:
            message.wake_event.set()


class MessageDebouncer:
    """Collects the messages of each conversation that arrive in quick succession."""

    def __init__(self, session_locks: SessionLocks | None = None) -> None:
        self._open_bursts: dict[tuple[SessionKey, bool], _Burst] = {}
        self._turn_locks = SessionLocks()
        self._session_locks = session_locks or SessionLocks()

    def turn_lock(self, key: SessionKey) -> asyncio.Lock:
        """Return the lock that runs a conversation's turns and commands one after the other.

        Acquire it before the conversation's lock of `SessionLocks`, which a clear takes too: a command that clears
        acquires only this one, so that its clear can take the other.
        """
        return self._turn_locks.for_session(key)

    @asynccontextmanager
    async def turn(self, key: SessionKey) -> AsyncIterator[None]:
        """Run one turn of a conversation at a time, and no clear during it."""
        turn_lock, session_lock = self.turn_lock(key), self._session_locks.for_session(key)
        async with turn_lock, session_lock:
            yield

    async def coalesce(self, key: SessionKey, text: str, *, quiet_seconds: float, private: bool) -> str | None:
        """Wait until no message follows for `quiet_seconds` and return the burst's messages, joined by newline.

        Returns None when a later caller takes them. Private and other messages never share a burst. A cancelled caller
        withdraws its own message; the message before it then becomes the last one.
        """
        if quiet_seconds <= 0:
            return text
        await self._flush(key, private=not private)
        burst = self._open_bursts.setdefault((key, private), _Burst())
        message = _QueuedMessage(text)
        burst.messages.append(message)
        burst.wake()
        try:
            await self._wait_until_claimed(burst, message, quiet_seconds)
        except asyncio.CancelledError:
            burst.messages.remove(message)
            burst.wake()
            if not burst.messages:
                self._close(key, burst, private=private)
            raise
        if burst.claimed.is_set():
            return None
        self._close(key, burst, private=private)
        return "\n".join(each.text for each in burst.messages)

    async def flush(self, key: SessionKey) -> None:
        """Start the turn of the waiting messages; return when it is queued."""
        await self._flush(key, private=False)
        await self._flush(key, private=True)

    async def _wait_until_claimed(self, burst: _Burst, message: _QueuedMessage, quiet_seconds: float) -> None:
        """Return when the burst is taken, or when this caller has to take it."""
        while not burst.claimed.is_set() and not (burst.is_flushed and burst.is_last(message)):
            message.wake_event.clear()
            try:
                await asyncio.wait_for(message.wake_event.wait(), quiet_seconds if burst.is_last(message) else None)
            except TimeoutError:
                if burst.is_last(message):
                    return

    async def _flush(self, key: SessionKey, *, private: bool) -> None:
        burst = self._open_bursts.pop((key, private), None)
        if burst is None:
            return
        burst.is_flushed = True
        burst.wake()
        await burst.claimed.wait()

    def _close(self, key: SessionKey, burst: _Burst, *, private: bool) -> None:
        """Mark the burst as taken, or as abandoned by all its callers."""
        if self._open_bursts.get((key, private)) is burst:
            del self._open_bursts[key, private]
        burst.claimed.set()
        burst.wake()


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
