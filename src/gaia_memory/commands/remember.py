"""/remember: stores a fact word for word."""

from __future__ import annotations

from gaia_memory.commands.command import Call, Command


async def _remember(call: Call) -> str:
    if not call.argument:
        return "Usage: /remember FACT, for example: /remember I am allergic to nuts"
    await call.memory.remember(call.scope, call.argument)
    return f"I will remember: {call.argument}"


COMMAND = Command(name="remember", arguments="FACT", summary="store a fact word for word", run=_remember)
