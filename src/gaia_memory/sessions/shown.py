"""What a person was shown before they said yes to its being forgotten."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from gaia_memory.models import SessionKey

_PLACES = 1024
"""Questions that wait for a yes at once; the oldest are dropped, and then have to be asked again."""


class Shown:
    """Which facts were shown in a conversation, by the words they were asked for with; gone with the process."""

    def __init__(self) -> None:
        self._shown: OrderedDict[tuple[SessionKey, str], tuple[str, ...]] = OrderedDict()

    def keep(self, key: SessionKey, words: str, fact_ids: Sequence[str]) -> None:
        """Note what was shown for these words, in place of what was shown for them before."""
        self._shown[key, words] = tuple(fact_ids)
        self._shown.move_to_end((key, words))
        if len(self._shown) > _PLACES:
            self._shown.popitem(last=False)

    def take(self, key: SessionKey, words: str) -> tuple[str, ...]:
        """Return the ids of what was shown for these words, and know nothing of it any more."""
        return self._shown.pop((key, words), ())
