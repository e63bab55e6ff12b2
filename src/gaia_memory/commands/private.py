"""/private: keep what is said out of memory, from now on or for one message."""

from __future__ import annotations

import re

from gaia_memory.commands.command import Call, Command

_SWITCH = re.compile(r"\W*(?P<to>on|off)\W*(?:(?:please|now)\W*)*", re.IGNORECASE)

IS_PRIVATE = "This conversation is private: nothing said in it is learned. /private off ends that."

_STARTED = (
    "From now on nothing that is said in this conversation is learned. What I know about you still helps. "
    "/private off ends that."
)
_ENDED = "This conversation is no longer private. What was said in private is never learned."
_NOT_PRIVATE = "This conversation is not private: what is said in it may be learned. /private on changes that."


def private_message(name: str, argument: str) -> str | None:
    """Return what a message wants said in private for once; None for every other message."""
    is_message = name == COMMAND.name and argument and not _SWITCH.fullmatch(argument)
    return argument if is_message else None


async def _private(call: Call) -> str:
    was_private = await call.privacy.is_private(call.key)
    switch = _SWITCH.fullmatch(call.argument)
    if switch is not None and switch["to"].lower() == "off":
        if not was_private:
            return _NOT_PRIVATE
        await call.privacy.set_private(call.key, False)
        return _ENDED
    if was_private:
        # Whoever asks twice wants to be sure: it never ends by accident.
        return IS_PRIVATE
    await call.privacy.set_private(call.key, True)
    return _STARTED


COMMAND = Command(
    name="private",
    arguments="[on/off/MESSAGE]",
    summary="keep this conversation, or one message, out of memory",
    run=_private,
    needs_memory=False,
)
