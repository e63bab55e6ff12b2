"""The transcripts that this process can read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from gaia_memory.models import Mark, SessionKey, Talk, Turn
from gaia_memory.ports import Transcript

Find = Callable[[SessionKey], Awaitable[Transcript | None]]
"""Returns a transcript that holds a session of an app without a host in this process; None where there is none."""


class Transcripts:
    """The transcripts of each app: one for every session service that its hosts in this process use."""

    def __init__(self) -> None:
        self.unread: dict[str, str] = {}
        """Apps whose sessions the latest sweep could not list, with the kind of the error."""
        self._by_app: dict[str, list[Transcript]] = {}
        self._find: Find | None = None

    @property
    def looks_further(self) -> bool:
        """Whether apps without a host in this process are looked for."""
        return self._find is not None

    def look_further(self, find: Find) -> None:
        """Read apps without a host in this process where `find` finds their sessions."""
        self._find = find

    async def reach(self, waiting: Iterable[SessionKey]) -> None:
        """Attach what is found of the apps of these conversations."""
        for key in waiting:
            transcript = await self._find(key) if self._find is not None else None
            if transcript is not None:
                self.attach(key.app, transcript)

    def attach(self, app: str, transcript: Transcript) -> bool:
        """Read an app's sessions here too; of two over the same sessions the first one stays. Say if it is new."""
        known = self._by_app.setdefault(app, [])
        if transcript in known:
            return False
        known.append(transcript)
        return True

    @property
    def apps(self) -> list[str]:
        """The apps with a transcript."""
        return list(self._by_app)

    @property
    def hosted(self) -> list[str]:
        """The apps whose host is in this process."""
        return [app for app, known in self._by_app.items() if any(transcript.is_whole for transcript in known)]

    def of(self, app: str) -> list[Transcript]:
        """Return the transcripts of an app, the latest first."""
        return list(reversed(self._by_app.get(app, [])))

    async def read(self, key: SessionKey, *, after: Mark | None, turns_before: int) -> tuple[Talk | None, Transcript]:
        """Return what was said after a mark with the transcript that holds it; None where no one has the session.

        Raises:
            LookupError: the app has no transcript.
        """
        transcripts = self.of(key.app)
        for transcript in transcripts:
            talk = await transcript.read(key, after=after, turns_before=turns_before)
            if talk is not None:
                return talk, transcript
        return None, transcripts[0]

    async def late(
        self, key: SessionKey, began: Mapping[str, float], *, after: Mark | None, turns_before: int
    ) -> Sequence[Turn] | None:
        """Return what was said in some invocations and reading on from a mark misses; None where no one has it."""
        for transcript in self.of(key.app):
            turns = await transcript.late(key, began, after=after, turns_before=turns_before)
            if turns is not None:
                return turns
        return None
