"""What a person was shown before they said yes to it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from gaia_memory.models import SessionKey

_MAX_PENDING = 1024
"""Questions that wait for a yes at once; the oldest are dropped, and then have to be asked again."""


class PendingConfirmations:
    """What was shown in a conversation, by the command and the words it was asked for with; gone with the process."""

    def __init__(self) -> None:
        self._pending: OrderedDict[tuple[SessionKey, str, str], tuple[str, ...]] = OrderedDict()

    def add(self, key: SessionKey, command: str, arguments: str, ids: Sequence[str]) -> None:
        """Note the ids of what was shown for these words, in place of what was shown for them before."""
        self._pending[key, command, arguments] = tuple(ids)
        self._pending.move_to_end((key, command, arguments))
        if len(self._pending) > _MAX_PENDING:
            self._pending.popitem(last=False)

    def pop(self, key: SessionKey, command: str, arguments: str) -> tuple[str, ...]:
        """Return the ids of what was shown for these words, and know nothing of it any more."""
        return self._pending.pop((key, command, arguments), ())

    def latest(self, key: SessionKey, command: str) -> tuple[str, tuple[str, ...]] | None:
        """Return the words and ids of what a command showed last and nobody said yes to; None where nothing waits."""
        for (pending_key, pending_command, arguments), ids in reversed(self._pending.items()):
            if (pending_key, pending_command) == (key, command):
                return arguments, ids
        return None

    def discard(self, key: SessionKey, command: str) -> None:
        """Know nothing any more of what a command showed: it asks something else now."""
        for entry in [each for each in self._pending if each[:2] == (key, command)]:
            del self._pending[entry]
