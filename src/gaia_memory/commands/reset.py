"""/reset: learn from this conversation and begin a new one."""

from __future__ import annotations

from collections.abc import Mapping

from gaia_memory.commands.command import Call, Command, Reset

_REPLIES: Mapping[Reset, str] = {
    "cleared": "A fresh start: this conversation is over. What I remember about you stays.",
    "kept": "This conversation is learned. It stays as it is, because `sessions.clear` is `keep`.",
    "failed": "This conversation was not saved to memory, so I kept it as it is. Try /reset again in a while.",
    "busy": "Something else is at work on this conversation, so I left it as it is. Try /reset again in a while.",
}


async def _reset(call: Call) -> str:
    return _REPLIES[await call.reset()]


COMMAND = Command(name="reset", summary="learn from this conversation and begin a new one", run=_reset)
