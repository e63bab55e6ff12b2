"""/memory: show what is remembered, a page at a time or what holds some words, and what is wrong with memory.

For admins it also switches memory off and on and names the embedder, for everybody.
"""

from __future__ import annotations

from collections.abc import Sequence

from gaia_memory.commands.command import Call, Command
from gaia_memory.commands.embedder import asks_for_embedder, switch_embedder
from gaia_memory.commands.private import IS_PRIVATE
from gaia_memory.commands.redact_locations import without_places
from gaia_memory.commands.rows import PAGE, Row, counted, holding, numbered, picked_in, words_in
from gaia_memory.errors import ConfigError

NOTHING = "I don't remember anything about you yet."

_RANKED = 100
"""Rows that are put in order; whoever finds more has to say more words."""


_SWITCH = {"off": False, "on": True}
_NOT_ADMIN = "Only an admin can switch memory off or on. Nothing was changed."
_DONE = {
    True: "Memory is on again, for everybody, with all that was remembered before.",
    False: "Memory is off now, for everybody. Nothing that is remembered was removed: /memory on brings it back.",
}
_NO_FILE = (
    "There is no configuration file to keep that in: it holds for everybody who talks to this program here, until "
    "memory is opened anew. Another program, or another event loop of this one, goes on as before."
)


async def _memory(call: Call) -> str:
    if asked := asks_for_embedder(call.argument):
        return await switch_embedder(call, asked)
    wanted = _SWITCH.get(call.argument.casefold())
    return await (_show(call) if wanted is None else _switch(call, wanted))


async def _switch(call: Call, wanted: bool) -> str:
    if not call.is_admin:
        return _NOT_ADMIN
    word = "on" if wanted else "off"
    if call.enabled == wanted:
        return f"Memory is {word} already."
    try:
        in_file = await call.settings.change(("memory", "enabled"), wanted)
    except ConfigError as error:
        return f"Memory stays {'off' if wanted else 'on'}: gaia.yaml {without_places('; '.join(error.problems))}."
    if in_file:
        return f"{_DONE[wanted]} gaia.yaml says so, too."
    return f"{_DONE[wanted].replace(', for everybody', '')} {_NO_FILE}"


async def _show(call: Call) -> str:
    rows = numbered(await call.memory.facts(call.scope))
    listed = await _listed(call, rows) if rows else NOTHING
    if await call.privacy.is_private(call.key):
        listed += f"\n{IS_PRIVATE}"
    status = await call.memory.status(call.scope)
    if status.state == "degraded":
        listed += f"\nSomething is wrong: {without_places(f'{status.reason}; {status.remedy}')}"
    return listed


async def _listed(call: Call, rows: Sequence[Row]) -> str:
    if not call.argument:
        return _page(rows, 1)
    picked, words = picked_in(call.argument), words_in(call.argument)
    if picked is None and words:
        return _found(await _matching(call, rows, words))
    page = None if picked is None else picked.one
    if page is not None and 1 <= page <= _pages(rows):
        return _page(rows, page)
    return f"Usage: /memory, /memory PAGE with a page from 1 to {_pages(rows)}, or /memory WORDS to search"


async def _matching(call: Call, rows: Sequence[Row], words: Sequence[str]) -> list[Row]:
    """Return the rows that hold a word or another form of it, best first.

    Not what recall finds besides, by its meaning or because it was said beside them: how near that is differs from
    embedder to embedder, and who looks for a word wonders at rows without it.
    """
    found = await call.memory.holding(call.scope, call.argument, limit=_RANKED)
    known = {row.fact.id: row for row in rows}
    ids = [*(fact.id for fact in found), *(row.fact.id for row in holding(rows, words))]
    return [known[fact_id] for fact_id in dict.fromkeys(ids) if fact_id in known]


def _found(rows: Sequence[Row]) -> str:
    if not rows:
        return "Nothing I remember about you holds that. /memory shows everything."
    lines = [f"I found {counted(len(rows))} about you:", *(row.picked for row in rows[:PAGE])]
    if len(rows) > PAGE:
        lines.append(f"\nThese are the best {PAGE}; say more words to see others.")
    return "\n".join(lines)


def _page(rows: Sequence[Row], page: int) -> str:
    pages = _pages(rows)
    where = f" (page {page} of {pages})" if pages > 1 else ""
    lines = [f"I remember {counted(len(rows))} about you{where}:"]
    if page > 1:
        # In Markdown a list that does not begin with 1 begins after an empty line.
        lines.append("")
    lines += [row.line for row in rows[(page - 1) * PAGE : page * PAGE]]
    if page < pages:
        lines.append(f"More with /memory {page + 1}")
    return "\n".join(lines)


def _pages(rows: Sequence[Row]) -> int:
    return -(-len(rows) // PAGE)


COMMAND = Command(
    name="memory",
    arguments="[PAGE/WORDS/off/on/embedder NAME]",
    summary="show what I remember about you, or what holds some words; an admin switches it off or on, or its embedder",
    run=_memory,
    works_off=tuple(_SWITCH),
)
