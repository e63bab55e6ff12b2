"""/undo: takes back what tools did to memory in the last turn in which they did anything."""

from __future__ import annotations

from collections.abc import Sequence

from gaia_memory.commands.command import Call, Command
from gaia_memory.language.printable_text import escape_markup
from gaia_memory.models import ToolChange


async def _undo(call: Call) -> str:
    undone = await call.memory.undo(call.scope, call.key)
    if undone is None:
        return "There is nothing to take back: in this conversation I have changed nothing by myself lately."
    parts = [
        ("I have taken back that I", undone.taken_back),
        ("Left as it is, since it has changed again: that I", undone.changed_since),
        ("It is too late, it is erased already: that I", undone.erased),
    ]
    lines = [f"{what} {escape_markup(describe_changes(changes))}." for what, changes in parts if changes]
    return "\n".join(lines) or "I have taken back all that I did to memory in that turn."


def describe_changes(changes: Sequence[ToolChange]) -> str:
    """Return in one line what tools did to facts."""
    return "; ".join(map(_describe, changes))


def _describe(change: ToolChange) -> str:
    before, after = (None if text is None else f'"{text}"' for text in (change["before"], change["after"]))
    if change["action"] == "forgot":
        return f"forgot {before or 'a fact'}"
    if change["action"] == "remembered":
        return f"remembered {after or 'a fact'}" + (f" in place of {before}" if before else "")
    return f"changed {before}" if before == after else f"changed {before} to {after}"


COMMAND = Command(name="undo", summary="take back what the agent last changed or forgot in memory by itself", run=_undo)
