"""/reset: learn from this conversation and begin a new one."""

from __future__ import annotations

from collections.abc import Mapping

from gaia_memory.commands.command import Call, Command, ResetOutcome

_REPLIES: Mapping[ResetOutcome, str] = {
    "cleared": "A fresh start: this conversation is over. What I remember about you stays.",
    "kept": "This conversation is learned. It stays as it is, because `sessions.clear` is `keep`.",
    "failed": "This conversation was not saved to memory, so I kept it as it is. Try /reset again in a while.",
    "busy": "Something else is at work on this conversation, so I left it as it is. Try /reset again in a while.",
}

_NOT_PRIVATE = "The new conversation is not private."


async def _reset(call: Call) -> str:
    outcome = await call.reset()
    if outcome != "cleared" or not await call.privacy.is_private(call.key):
        return _REPLIES[outcome]
    await call.privacy.set_private(call.key, False)
    return f"{_REPLIES[outcome]} {_NOT_PRIVATE}"


COMMAND = Command(name="reset", summary="learn from this conversation and begin a new one", run=_reset)
