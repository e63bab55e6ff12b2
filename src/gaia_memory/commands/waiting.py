"""What a person said that is not learned yet, here and in other conversations."""

from __future__ import annotations

from collections.abc import Sequence

from gaia_memory.commands.command import Call
from gaia_memory.models import PendingConversation

_HERE = "This conversation waits to be learned"


def describe_waiting(call: Call, pending: Sequence[PendingConversation]) -> list[str]:
    """Return whether something waits to be learned, here and in the person's other conversations."""
    is_here, elsewhere = _waiting(call, pending)
    lines = [f"{_HERE}: /reset does it now."] if is_here else []
    if elsewhere:
        minutes = call.memory.config.sessions.idle_consolidate_minutes
        lines.append(f"{_count_others(elsewhere)} to be learned, once quiet for {minutes:g} minutes.")
    return lines


async def note_unsearched(call: Call) -> str:
    """Return a line for a search without a result, if messages wait that it could not see; else an empty text."""
    is_here, elsewhere = _waiting(call, (await call.memory.status(call.scope)).pending)
    if is_here:
        return f"\n{_HERE}, and may contain it: send /reset, then search again."
    if elsewhere:
        minutes = call.memory.config.sessions.idle_consolidate_minutes
        return f"\n{_count_others(elsewhere)} to be learned, once quiet for {minutes:g} minutes, and may contain it."
    return ""


def _waiting(call: Call, pending: Sequence[PendingConversation]) -> tuple[bool, int]:
    """Return whether something waits in this conversation, and in how many others.

    A private conversation says that it learns nothing: what waits there was said before, and is not offered.
    """
    if not call.memory.config.memory.auto_ingest:
        return False, 0
    waiting = [each for each in pending if each.messages]
    is_here = any(each.key == call.key and not each.is_private for each in waiting)
    return is_here, len({each.key for each in waiting} - {call.key})


def _count_others(count: int) -> str:
    return "Another conversation of yours waits" if count == 1 else f"{count} other conversations of yours wait"
