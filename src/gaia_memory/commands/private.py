"""/private: keeps a conversation, or one message, out of memory."""

from __future__ import annotations

import re

from gaia_memory.commands.command import Call, Command

_SWITCH = re.compile(r"\W*(?P<to>on|off)\W*(?:(?:please|now)\W*)*", re.IGNORECASE)

IS_PRIVATE = "This conversation is private: I learn nothing from it. /private off ends that."

_START_ANSWER = (
    "This conversation is private from here on: I learn nothing from it, but still use what I know about you. "
    "/private off ends that."
)
_END_ANSWER = (
    "This conversation is no longer private. I will never learn what you said while it was; "
    "it stays in this conversation until /reset."
)
_NOT_PRIVATE = "This conversation is not private: I may learn from it. /private on changes that."


def private_message(name: str, argument: str) -> str | None:
    """Return the text of `/private MESSAGE`; None for every other message."""
    is_message = name == COMMAND.name and argument and not _SWITCH.fullmatch(argument)
    return argument if is_message else None


async def _private(call: Call) -> str:
    was_private = await call.flags.is_private(call.key)
    switch = _SWITCH.fullmatch(call.argument)
    if switch is not None and switch["to"].lower() == "off":
        if not was_private:
            return _NOT_PRIVATE
        await call.flags.set_private(call.key, False)
        return _END_ANSWER
    if was_private:
        # A second /private is a question, not a switch: privacy never ends by accident.
        return IS_PRIVATE
    await call.flags.set_private(call.key, True)
    return _START_ANSWER


COMMAND = Command(
    name="private",
    arguments="[off or MESSAGE]",
    summary="keep this conversation, or one message, out of memory",
    run=_private,
    needs_memory=False,
)
