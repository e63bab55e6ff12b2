"""Messages that come in a burst are answered together, and everything a person sends is taken in order."""

from __future__ import annotations

import asyncio

from gaia_memory.models import SessionKey
from gaia_memory.sessions.locks import SessionLocks


class _Burst:
    """The messages of one burst so far; `latest` is the event on which the newest caller waits."""

    def __init__(self, *, private: bool) -> None:
        self.private = private
        self.texts: list[str] = []
        self.latest = asyncio.Event()

    def add(self, text: str) -> asyncio.Event:
        self.texts.append(text)
        before, self.latest = self.latest, asyncio.Event()
        before.set()
        return self.latest


class Bursts:
    """Collects the messages of each conversation that follow each other closely."""

    def __init__(self) -> None:
        self._open: dict[SessionKey, _Burst] = {}
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
        burst = self._open.get(key)
        if burst is None or burst.private != private:
            self.flush(key)
            burst = self._open[key] = _Burst(private=private)
        newer = burst.add(text)
        try:
            await asyncio.wait_for(newer.wait(), seconds)
        except TimeoutError:
            pass
        except asyncio.CancelledError:
            burst.texts.remove(text)
            raise
        if burst.latest is not newer:
            return None
        self._close(key, burst)
        return "\n".join(burst.texts)

    def flush(self, key: SessionKey) -> None:
        """Let the burst of a conversation begin its turn now."""
        burst = self._open.get(key)
        if burst is not None:
            self._close(key, burst)
            burst.latest.set()

    def _close(self, key: SessionKey, burst: _Burst) -> None:
        if self._open.get(key) is burst:
            del self._open[key]
