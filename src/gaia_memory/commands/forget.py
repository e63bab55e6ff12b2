"""/forget: remove everything that is remembered, after asking."""

from __future__ import annotations

from gaia_memory.commands.command import Call, Command

CONFIRMATION = "yes"


async def _forget(call: Call) -> str:
    if call.argument.casefold() == CONFIRMATION:
        return await _forget_everything(call)
    if call.argument:
        return "Usage: /forget, and then /forget yes to confirm"
    count = await call.memory.count(call.scope)
    if not count:
        return "I don't remember anything about you. /forget yes also keeps me from learning from what was said so far."
    return (
        f"This forgets {_facts(count)} about you, in every conversation, and cannot be undone. "
        "/forget yes does it; anything else leaves it as it is."
    )


async def _forget_everything(call: Call) -> str:
    receipt = await call.memory.forget(call.scope)
    if not receipt.count:
        return "There is nothing to forget. What was said so far will not be learned either."
    lines = [f"I forgot {_facts(receipt.count)} about you. What was said so far will not be learned either."]
    if receipt.pending:
        lines.append("The files that held them are being rewritten in the background.")
    return "\n".join([*lines, *(f"Note: {note}." for note in receipt.notes)])


def _facts(count: int) -> str:
    return "1 fact" if count == 1 else f"{count} facts"


COMMAND = Command(name="forget", arguments="[yes]", summary="forget everything about you, after asking", run=_forget)
