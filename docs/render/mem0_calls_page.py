"""The page that compares mem0's calls with those of `gaia.mem0`, rendered from both signatures."""

from __future__ import annotations

import inspect
from typing import Any

from gaia_memory.mem0_api.async_calls import AsyncMem0

_HEAD = """\
# mem0's calls

`gaia.mem0` (blocking, from any thread) and `gaia.amem0` have these calls with the parameters and answers of mem0
{version}. What cannot be honoured raises `InvalidInputError`, a `ValueError`, that names the call or the argument, its
value and the fix. Ids are trimmed, as in mem0; in one of a person, white space within is allowed. `user_id` is one
person: `"*"`, a list, or another in `filters` is refused. [How to use them](../how-to/plain-mem0.md).

| call | the same | different |
|---|---|---|
"""
_SAME_AND_DIFFERENT = {
    "add": (
        "with `infer=False` each message but the system's is stored word for word",
        "needs `user_id`; `infer` learns as from a conversation, through the same screens; a text that is known gives "
        "the event `NONE`; `timestamp`, `memory_type`, `prompt`, and `expiration_date` with `infer` are refused",
    ),
    "search": (
        "`filters` with operators, `top_k`, `threshold`; also 1.0's `user_id=`, `agent_id=`, `run_id=`, `limit=`",
        "needs `user_id`; recall ranks, at most 1,000; scores are recall's; `explain`, `reference_date` and "
        "`show_expired` are refused",
    ),
    "get": ("a fact by its id, None for an unknown one", "only current facts"),
    "get_all": ("as `search`, oldest first", "needs `user_id`; `show_expired` is refused"),
    "update": (
        "`text`, `metadata`, `expiration_date`; the id stays",
        "the earlier wording goes to history; metadata are merged; the fact no longer belongs to its run",
    ),
    "delete": ("an unknown id is an error", "an erasure, also of the files and the history"),
    "delete_all": ("needs an id", "needs `user_id`; an erasure"),
    "history": ("`ADD`, `UPDATE` and `DELETE` with old and new text", "what was forgotten has none"),
    "reset": ("", "refused: call `delete_all` for each person"),
}
CALLS = tuple(_SAME_AND_DIFFERENT)


def render_mem0_calls(version: str = "2.2") -> str:
    """Return the page."""
    rows = [f"| `{_signature(call)}` | {same} | {other} |" for call, (same, other) in _SAME_AND_DIFFERENT.items()]
    return _HEAD.format(version=version) + "\n".join(rows) + "\n"


def _signature(call: str) -> str:
    parameters = list(inspect.signature(getattr(AsyncMem0, call)).parameters.values())[1:]
    return f"{call}({', '.join(_shown(each) for each in parameters)})"


def _shown(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"**{parameter.name}"
    default: Any = parameter.default
    if default is parameter.empty:
        return parameter.name
    return f"{parameter.name}=…" if type(default) is object else f"{parameter.name}={default!r}"
