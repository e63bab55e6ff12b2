"""What a person was shown before they said yes to it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from gaia_memory.models import SessionKey

_PLACES = 1024
"""Questions that wait for a yes at once; the oldest are dropped, and then have to be asked again."""


class Shown:
    """What was shown in a conversation, by the command and the words it was asked for with; gone with the process."""

    def __init__(self) -> None:
        self._shown: OrderedDict[tuple[SessionKey, str, str], tuple[str, ...]] = OrderedDict()

    def keep(self, key: SessionKey, command: str, words: str, ids: Sequence[str]) -> None:
        """Note the ids of what was shown for these words, in place of what was shown for them before."""
        self._shown[key, command, words] = tuple(ids)
        self._shown.move_to_end((key, command, words))
        if len(self._shown) > _PLACES:
            self._shown.popitem(last=False)

    def take(self, key: SessionKey, command: str, words: str) -> tuple[str, ...]:
        """Return the ids of what was shown for these words, and know nothing of it any more."""
        return self._shown.pop((key, command, words), ())

    def last(self, key: SessionKey, command: str) -> tuple[str, tuple[str, ...]] | None:
        """Return the words and ids of what a command showed last and nobody said yes to; None where nothing waits."""
        for (of, by, words), ids in reversed(self._shown.items()):
            if (of, by) == (key, command):
                return words, ids
        return None

    def drop(self, key: SessionKey, command: str) -> None:
        """Know nothing any more of what a command showed: it asks something else now."""
        for shown in [each for each in self._shown if each[:2] == (key, command)]:
            del self._shown[shown]
