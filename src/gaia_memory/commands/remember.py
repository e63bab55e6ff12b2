"""/remember: stores a fact word for word."""

from __future__ import annotations

from gaia_memory.commands.command import Call, Command
from gaia_memory.learn.excerpts import excerpt_of
from gaia_memory.models import Origin


async def _remember(call: Call) -> str:
    if not call.argument:
        return "Usage: /remember FACT, for example: /remember I am allergic to nuts"
    # What is said in a private conversation is evidence of nothing; the fact itself is kept, as asked.
    excerpt = None if await call.flags.is_private(call.key) else excerpt_of(call.argument)
    origin = Origin(source="remember", app=call.scope.app, channel=call.key.channel, excerpt=excerpt)
    await call.memory.remember(call.scope, call.argument, origin=origin)
    return f"I will remember: {call.argument}"


COMMAND = Command(name="remember", arguments="FACT", summary="store a fact word for word", run=_remember)
