"""/reset: learns from this conversation and starts a new one."""

from __future__ import annotations

from collections.abc import Mapping

from gaia_memory.commands.command import Call, Command, ResetOutcome

_REPLIES: Mapping[ResetOutcome, str] = {
    "cleared": "A fresh start: this conversation is over. I keep what I remember about you.",
    "kept": "I learned from this conversation. It stays, because `sessions.clear` is `keep`.",
    "failed": "This conversation was not saved to memory, so it stays as it is. Try /reset again later.",
    "busy": "This conversation is in use elsewhere, so it stays as it is. Try /reset again later.",
}

_NOT_PRIVATE = "The new conversation is not private."


async def _reset(call: Call) -> str:
    outcome = await call.reset()
    if outcome != "cleared" or not await call.flags.is_private(call.key):
        return _REPLIES[outcome]
    await call.flags.set_private(call.key, False)
    return f"{_REPLIES[outcome]} {_NOT_PRIVATE}"


COMMAND = Command(name="reset", summary="learn from this conversation and start a new one", run=_reset)
