"""The answers of memory tools to a model."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

MEMORY_DISABLED = "memory is disabled"
NOT_SAVED = "memory cannot save this now: tell the user that it was not saved"
NO_ANSWER = "memory cannot answer now: tell the user, and do not guess"
UNAVAILABLE_RESPONSE = {"status": "unavailable", "message": NO_ANSWER, "memories": []}
WRITES_REFUSED = "this memory does not let you save or change anything: tell the user that it was not saved"
CONFIRMATION_REQUIRED = (
    "not saved yet: ask the user whether you may remember exactly this; it is saved if their next message says yes and "
    "nothing else"
)
CHANGE_NOT_REQUESTED = (
    "nothing was changed: the user did not ask for it. Ask whether you may change exactly this fact; if their next "
    "message says yes and nothing else, call this tool again"
)
PRIVATE_TURN = "this turn is private: nothing in it is saved"
NOT_OFFERED = "this tool is switched off (`memory.tools: basic`)"
FORGOTTEN = "the fact is forgotten for good: do not mention it any more"
WITHDRAWN = (
    "the fact is forgotten: do not mention it any more. Until it is erased, in {} seconds, the user's own /undo takes "
    "that back, and their own /forget erases it at once"
)


def error_response(message: str, **more: Collection[Any]) -> dict[str, Any]:
    """Return the answer to a call that did nothing."""
    return {"status": "error", "message": message, **more}
