"""Messages that come in a burst are answered together, and everything a person sends is taken in order."""

from __future__ import annotations

import asyncio

from gaia_memory.models import SessionKey
from gaia_memory.sessions.turns.session_locks import SessionLocks


class _Caller:
    """One message, and the event that tells its caller to look again."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.woken = asyncio.Event()


class _Burst:
    """The messages of one burst so far, in order; `taken` is set once the last caller has them all."""

    def __init__(self) -> None:
        self.callers: list[_Caller] = []
        self.is_flushed = False
        self.taken = asyncio.Event()

    def is_last(self, caller: _Caller) -> bool:
        return self.callers[-1] is caller

    def wake(self) -> None:
        for caller in self.callers:
            caller.woken.set()


class Bursts:
    """Collects the messages of each conversation that follow each other closely."""

    def __init__(self) -> None:
        self._open: dict[tuple[SessionKey, bool], _Burst] = {}
        self._lines = SessionLocks()

    def line(self, key: SessionKey) -> asyncio.Lock:
        """Return the lock that takes a conversation's turns and commands one after the other.

        It is held around the conversation's lock of `SessionLocks`, which a clear takes too: so a command
        that clears stands in the line without holding what the clear waits for.
        """
        return self._lines.of(key)

    async def join(self, key: SessionKey, text: str, *, seconds: float, private: bool) -> str | None:
        """Wait until nothing follows for `seconds` and return the burst's messages, joined by newline.

        Returns None when a later caller has them all. A private message and one that is not never share a
        burst. A caller that is cancelled takes its own message back; the one before it is the last one then.
        """
        if seconds <= 0:
            return text
        await self._flush(key, private=not private)
        burst = self._open.setdefault((key, private), _Burst())
        caller = _Caller(text)
        burst.callers.append(caller)
        burst.wake()
        try:
            await self._wait(burst, caller, seconds)
        except asyncio.CancelledError:
            burst.callers.remove(caller)
            burst.wake()
            if not burst.callers:
                self._close(key, burst, private=private)
            raise
        if burst.taken.is_set():
            return None
        self._close(key, burst, private=private)
        return "\n".join(each.text for each in burst.callers)

    async def flush(self, key: SessionKey) -> None:
        """Let what is waiting in a conversation begin its turn; returns when it stands in the line."""
        await self._flush(key, private=False)
        await self._flush(key, private=True)

    async def _wait(self, burst: _Burst, caller: _Caller, seconds: float) -> None:
        """Return when the burst is taken, or this caller is to take it."""
        while not burst.taken.is_set() and not (burst.is_flushed and burst.is_last(caller)):
            caller.woken.clear()
            try:
                await asyncio.wait_for(caller.woken.wait(), seconds if burst.is_last(caller) else None)
            except TimeoutError:
                if burst.is_last(caller):
                    return

    async def _flush(self, key: SessionKey, *, private: bool) -> None:
        burst = self._open.pop((key, private), None)
        if burst is None:
            return
        burst.is_flushed = True
        burst.wake()
        await burst.taken.wait()

    def _close(self, key: SessionKey, burst: _Burst, *, private: bool) -> None:
        """Say that somebody has the burst, or nobody is left who wants it."""
        if self._open.get((key, private)) is burst:
            del self._open[key, private]
        burst.taken.set()
        burst.wake()
