"""The transcripts that this process can read."""

from __future__ import annotations

from gaia_memory.models import Mark, SessionKey, Talk
from gaia_memory.ports import Transcript


class Transcripts:
    """The transcripts of each app: one for every session service that its hosts in this process use."""

    def __init__(self) -> None:
        self._by_app: dict[str, list[Transcript]] = {}

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
