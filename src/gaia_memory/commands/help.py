"""/help: lists the commands."""

from __future__ import annotations

from gaia_memory.commands.command import MEMORY_OFF, Call, Command


async def _help(call: Call) -> str:
    # `dispatch` imports this module.
    from gaia_memory.commands.dispatch import COMMANDS

    # `adk web` renders Markdown, which would join plain lines into one paragraph.
    width = max(len(command.usage) for command in COMMANDS.values())
    lines = [f"- {command.usage:{width}}  {command.summary}" for command in COMMANDS.values()]
    return "\n".join(lines if call.is_memory_enabled else [*lines, "", MEMORY_OFF])


COMMAND = Command(name="help", summary="list the commands", run=_help, needs_memory=False)
