"""How many messages of a person are not learned yet."""

from __future__ import annotations

from collections.abc import Sequence

from gaia_memory.commands.command import Call
from gaia_memory.models import PendingConversation


def describe_waiting(call: Call, pending: Sequence[PendingConversation]) -> list[str]:
    """Return how many messages wait to be learned, here and in the person's other conversations."""
    if not call.memory.config.memory.auto_ingest:
        return []
    public = [each for each in pending if not each.is_private]
    here = sum(each.messages for each in public if each.key == call.key)
    elsewhere = sum(each.messages for each in public) - here
    minutes = call.memory.config.sessions.idle_consolidate_minutes
    lines = (
        [f"{_count_messages(here)} to be learned: /reset learns {'it' if here == 1 else 'them'} now."] if here else []
    )
    if elsewhere:
        lines.append(
            f"{_count_messages(elsewhere)} in your other conversations: they are learned {minutes:g} minutes after the "
            "last one."
        )
    return lines


def _count_messages(count: int) -> str:
    return "1 message waits" if count == 1 else f"{count} messages wait"


async def note_unsearched(call: Call) -> str:
    """Return a line for a search without a result, if messages wait that it could not see; else an empty text."""
    if not call.memory.config.memory.auto_ingest:
        return ""
    status = await call.memory.status(call.scope)
    count = sum(each.messages for each in status.pending if not each.is_private)
    return (
        f"\n{_count_messages(count)} to be learned and may contain it: send /reset, then search again." if count else ""
    )
