"""Messages that come in a burst are answered together, and everything a person sends is taken in order."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from gaia_memory.models import SessionKey
from gaia_memory.sessions.locks import SessionLocks


class _Burst:
    """The messages of one burst so far; `latest` wakes the newest caller, `taken` says that it has them."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.latest: asyncio.Event | None = None
        self.taken = asyncio.Event()

    def add(self, text: str) -> asyncio.Event:
        self.texts.append(text)
        before, self.latest = self.latest, asyncio.Event()
        if before is not None:
            before.set()
        return self.latest


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

        Returns None when a later message came: its caller gets them all. A private message and one that is
        not never share a burst. A caller that is cancelled takes its own message back, and leaves those
        before it to the next one.
        """
        if seconds <= 0:
            return text
        await self._flush(key, private=not private)
        burst = self._open.setdefault((key, private), _Burst())
        newer = burst.add(text)
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(newer.wait(), seconds)
        except asyncio.CancelledError:
            burst.texts.remove(text)
            if burst.latest is newer:
                burst.latest = None
                self._close(key, burst, private=private, keep=bool(burst.texts))
            raise
        if burst.latest is not newer:
            return None
        self._close(key, burst, private=private)
        return "\n".join(burst.texts)

    async def flush(self, key: SessionKey) -> None:
        """Let what is waiting in a conversation begin its turn; returns when it stands in the line."""
        await self._flush(key, private=False)
        await self._flush(key, private=True)

    async def _flush(self, key: SessionKey, *, private: bool) -> None:
        burst = self._open.get((key, private))
        if burst is None or burst.latest is None:
            return
        del self._open[key, private]
        burst.latest.set()
        await burst.taken.wait()

    def _close(self, key: SessionKey, burst: _Burst, *, private: bool, keep: bool = False) -> None:
        """Say that the newest caller has the burst; with `keep` its messages wait for another one."""
        if self._open.get((key, private)) is burst and not keep:
            del self._open[key, private]
        burst.taken.set()
        if keep:
            burst.taken = asyncio.Event()
