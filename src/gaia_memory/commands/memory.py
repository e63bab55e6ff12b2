"""/memory: show what is remembered, a page at a time or what holds some words, and what is wrong with memory.

For admins it also switches memory off and on and names the embedder, for everybody.
"""

from __future__ import annotations

from collections.abc import Sequence

from gaia_memory.commands.command import Call, Command
from gaia_memory.commands.embedder import parse_embedder_request, switch_embedder
from gaia_memory.commands.private import IS_PRIVATE
from gaia_memory.commands.redact_locations import redact_locations
from gaia_memory.commands.rows import (
    PAGE_SIZE,
    Row,
    filter_by_words,
    format_count,
    number_facts,
    parse_selection,
    split_words,
)
from gaia_memory.errors import ConfigError

NOTHING_REMEMBERED = "I don't remember anything about you yet."

_MAX_RANKED_ROWS = 100
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
    if asked := parse_embedder_request(call.argument):
        return await switch_embedder(call, asked)
    enable = _SWITCH.get(call.argument.casefold())
    return await (_show(call) if enable is None else _switch(call, enable))


async def _switch(call: Call, enable: bool) -> str:
    if not call.is_admin:
        return _NOT_ADMIN
    word = "on" if enable else "off"
    if call.is_memory_enabled == enable:
        return f"Memory is {word} already."
    try:
        in_file = await call.settings.change(("memory", "enabled"), enable)
    except ConfigError as error:
        return f"Memory stays {'off' if enable else 'on'}: gaia.yaml {redact_locations('; '.join(error.problems))}."
    if in_file:
        return f"{_DONE[enable]} gaia.yaml says so, too."
    return f"{_DONE[enable].replace(', for everybody', '')} {_NO_FILE}"


async def _show(call: Call) -> str:
    rows = number_facts(await call.memory.facts(call.scope))
    text = await _list_rows(call, rows) if rows else NOTHING_REMEMBERED
    if await call.privacy.is_private(call.key):
        text += f"\n{IS_PRIVATE}"
    status = await call.memory.status(call.scope)
    if status.state == "degraded":
        text += f"\nSomething is wrong: {redact_locations(f'{status.reason}; {status.remedy}')}"
    return text


async def _list_rows(call: Call, rows: Sequence[Row]) -> str:
    if not call.argument:
        return _format_page(rows, 1)
    selection, words = parse_selection(call.argument), split_words(call.argument)
    if selection is None and words:
        return _format_found(await _search(call, rows, words))
    page = None if selection is None else selection.single_number
    if page is not None and 1 <= page <= _page_count(rows):
        return _format_page(rows, page)
    return f"Usage: /memory, /memory PAGE with a page from 1 to {_page_count(rows)}, or /memory WORDS to search"


async def _search(call: Call, rows: Sequence[Row], words: Sequence[str]) -> list[Row]:
    """Return the rows that hold a word or another form of it, best first.

    Not what recall finds besides, by its meaning or because it was said beside them: how near that is differs from
    embedder to embedder, and who looks for a word wonders at rows without it.
    """
    found = await call.memory.holding(call.scope, call.argument, limit=_MAX_RANKED_ROWS)
    rows_by_id = {row.fact.id: row for row in rows}
    ids = [*(fact.id for fact in found), *(row.fact.id for row in filter_by_words(rows, words))]
    return [rows_by_id[fact_id] for fact_id in dict.fromkeys(ids) if fact_id in rows_by_id]


def _format_found(rows: Sequence[Row]) -> str:
    if not rows:
        return "Nothing I remember about you holds that. /memory shows everything."
    lines = [f"I found {format_count(len(rows))} about you:", *(row.list_item for row in rows[:PAGE_SIZE])]
    if len(rows) > PAGE_SIZE:
        lines.append(f"\nThese are the best {PAGE_SIZE}; say more words to see others.")
    return "\n".join(lines)


def _format_page(rows: Sequence[Row], page: int) -> str:
    page_count = _page_count(rows)
    where = f" (page {page} of {page_count})" if page_count > 1 else ""
    lines = [f"I remember {format_count(len(rows))} about you{where}:"]
    if page > 1:
        # In Markdown a list that does not begin with 1 begins after an empty line.
        lines.append("")
    lines += [row.line for row in rows[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]]
    if page < page_count:
        lines.append(f"More with /memory {page + 1}")
    return "\n".join(lines)


def _page_count(rows: Sequence[Row]) -> int:
    return -(-len(rows) // PAGE_SIZE)


COMMAND = Command(
    name="memory",
    arguments="[PAGE/WORDS/off/on/embedder NAME]",
    summary="show what I remember about you, or what holds some words; an admin switches it off or on, or its embedder",
    run=_memory,
    arguments_while_disabled=tuple(_SWITCH),
)
