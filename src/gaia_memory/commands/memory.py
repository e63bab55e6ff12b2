"""/memory: show what is remembered, a page at a time, and what is wrong with memory if anything is."""

from __future__ import annotations

from collections.abc import Sequence

from gaia_memory.commands.command import Call, Command
from gaia_memory.models import Fact

PAGE = 20
"""Facts a page: what a chat message still shows at a glance."""

NOTHING = "I don't remember anything about you yet."


async def _memory(call: Call) -> str:
    facts = await call.memory.facts(call.scope)
    pages = -(-len(facts) // PAGE)
    page = _page(call.argument, pages) if facts else 1
    if page is None:
        return f"Usage: /memory, or /memory PAGE with a page from 1 to {pages}"
    listed = _render(facts, page, pages) if facts else NOTHING
    status = await call.memory.status(call.scope)
    if status.state == "degraded":
        listed += f"\nSomething is wrong: {status.reason}; {status.remedy}"
    return listed


def _page(argument: str, pages: int) -> int | None:
    if not argument:
        return 1
    if not (argument.isascii() and argument.isdigit()):
        return None
    return int(argument) if 1 <= int(argument) <= pages else None


def _render(facts: Sequence[Fact], page: int, pages: int) -> str:
    start = (page - 1) * PAGE
    counted = "1 fact" if len(facts) == 1 else f"{len(facts)} facts"
    where = f" (page {page} of {pages})" if pages > 1 else ""
    lines = [f"I remember {counted} about you{where}:"]
    lines += [
        f"{number}. {' '.join(fact.text.split())}"
        for number, fact in enumerate(facts[start : start + PAGE], start=start + 1)
    ]
    if page < pages:
        lines.append(f"More with /memory {page + 1}")
    return "\n".join(lines)


COMMAND = Command(name="memory", arguments="[PAGE]", summary="show what I remember about you", run=_memory)
