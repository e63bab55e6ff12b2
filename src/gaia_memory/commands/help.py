"""/help: list the commands."""

from __future__ import annotations

from gaia_memory.commands.command import Call, Command


async def _help(_: Call) -> str:
    # The registry imports this module.
    from gaia_memory.commands.registry import COMMANDS

    return "\n".join(f"{command.usage}: {command.summary}" for command in COMMANDS.values())


COMMAND = Command(name="help", summary="list the commands", run=_help, needs_memory=False)
