"""The transcripts that this process can read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from gaia_memory.models import EventPosition, SessionKey, TranscriptSlice, Turn
from gaia_memory.ports import Transcript

TranscriptFinder = Callable[[SessionKey], Awaitable[Transcript | None]]
"""Returns a transcript with a session of an app that has no host in this process; None if there is none."""


class TranscriptRegistry:
    """The transcripts of each app: one for every session service that its hosts in this process use."""

    def __init__(self) -> None:
        self.listing_errors: dict[str, str] = {}
        """Apps whose sessions the latest sweep could not list, with the kind of the error."""
        self._by_app: dict[str, list[Transcript]] = {}
        self._fallback: TranscriptFinder | None = None

    @property
    def has_fallback(self) -> bool:
        """Whether apps without a host in this process are looked for."""
        return self._fallback is not None

    def set_fallback(self, finder: TranscriptFinder, *, keeps_existing: bool = False) -> None:
        """Find the sessions of apps without a host in this process with `finder`."""
        if self._fallback is None or not keeps_existing:
            self._fallback = finder

    async def resolve(self, keys: Iterable[SessionKey]) -> None:
        """Find and attach transcripts for the apps of these conversations."""
        for key in keys:
            transcript = await self._fallback(key) if self._fallback is not None else None
            if transcript is not None:
                self.attach(key.app, transcript)

    def attach(self, app: str, transcript: Transcript) -> bool:
        """Add a transcript of an app; return False if one over the same sessions is attached already."""
        known = self._by_app.setdefault(app, [])
        if transcript in known:
            return False
        known.append(transcript)
        return True

    @property
    def apps(self) -> list[str]:
        """The apps with a transcript."""
        return self.list_apps()

    def list_apps(self) -> list[str]:
        """Return the apps whose sessions this process can read."""
        return list(self._by_app)

    def for_app(self, app: str) -> list[Transcript]:
        """Return the transcripts of an app, the latest first."""
        return list(reversed(self._by_app.get(app, [])))

    async def last_turn(self, key: SessionKey, *, after: EventPosition | None) -> Turn | None:
        """Return the last turn after a position; None if there is none, or no session. Private ones are not read."""
        await self.resolve([key])
        session = (await self.read(key, after=after, turns_before=0))[0] if self.for_app(key.app) else None
        last = None
        if session is not None:
            async for turn in session.turns:
                last = turn
        return last

    async def read(
        self, key: SessionKey, *, after: EventPosition | None, turns_before: int
    ) -> tuple[TranscriptSlice | None, Transcript]:
        """Return the messages after a position, or None if the session is not found, and the transcript read.

        Raises:
            LookupError: the app has no transcript.
        """
        transcripts = self.for_app(key.app)
        for transcript in transcripts:
            transcript_slice = await transcript.read(key, after=after, turns_before=turns_before)
            if transcript_slice is not None:
                return transcript_slice, transcript
        return None, transcripts[0]
