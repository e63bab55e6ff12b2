"""/memory: lists facts by page or by words, tells what one was before, and reports problems with memory.

Admins also switch memory off and on with it, and change the embedder, for all users.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gaia_memory.commands.command import Call, Command
from gaia_memory.commands.embedder import parse_embedder_request, switch_embedder
from gaia_memory.commands.private import IS_PRIVATE
from gaia_memory.commands.rows import (
    NO_MATCH,
    PAGE_SIZE,
    Row,
    describe_waiting,
    filter_by_words,
    format_count,
    load_rows,
    parse_selection,
    show_history,
    split_words,
)
from gaia_memory.errors import ConfigError
from gaia_memory.models import Status
from gaia_memory.redaction.redact_locations import redact_locations

NOTHING_REMEMBERED = "Nothing is stored about you yet."

_MAX_RANKED_ROWS = 100
"""The most matches that are ranked; further ones follow in the order of the list."""

_HISTORY = re.compile(r"history\s+#?(?P<row>\d+)", re.IGNORECASE)
"""A search for the word alone stays one."""

_SWITCH = {"off": False, "on": True}
_NOT_ADMIN = "Only an admin can switch memory off or on. Nothing was changed."
_SWITCH_ANSWERS = {
    True: "Memory is on again, for all users, with everything it knew before.",
    False: "Memory is off now, for all users. No fact was removed: /memory on brings everything back.",
}
_NO_FILE = (
    "There is no configuration file, so this lasts only until memory is opened again, and only here: other programs "
    "and other event loops of this one are not affected."
)


async def _memory(call: Call) -> str:
    if asked := parse_embedder_request(call.argument):
        return await switch_embedder(call, asked)
    if found := _HISTORY.fullmatch(call.argument):
        return await show_history(call, found["row"])
    enable = _SWITCH.get(call.argument.casefold())
    return await (_show(call) if enable is None else _switch(call, enable))


async def _switch(call: Call, enable: bool) -> str:
    if not call.is_admin:
        return _NOT_ADMIN
    word = "on" if enable else "off"
    if call.is_memory_enabled == enable:
        return f"Memory is already {word}."
    try:
        in_file = await call.settings.change(("memory", "enabled"), enable)
    except ConfigError as error:
        return f"Memory stays {'off' if enable else 'on'}: gaia.yaml {redact_locations('; '.join(error.problems))}."
    if in_file:
        return f"{_SWITCH_ANSWERS[enable]} This is saved in gaia.yaml."
    return f"{_SWITCH_ANSWERS[enable].replace(', for all users', '')} {_NO_FILE}"


async def _show(call: Call) -> str:
    rows = await load_rows(call)
    text = await _list_rows(call, rows) if rows else NOTHING_REMEMBERED
    status, notes = await call.memory.status(call.scope), []
    if await call.flags.is_private(call.key):
        notes.append(IS_PRIVATE)
    if status.state == "degraded":
        notes.append(_describe_problem(status))
    notes += _describe_marked(status)
    notes += describe_waiting(call, status.pending)
    # In Markdown, a line right behind a list belongs to its last item.
    return "\n".join([text, *([""] if rows and notes else []), *notes])


def _describe_problem(status: Status) -> str:
    """Return what is wrong; why a conversation could not be learned concerns only the operator."""
    if any(each.attempts and each.reason and each.reason in status.reason for each in status.pending):
        return "Some of what you said could not be learned yet. It is kept until it can be."
    return f"There is a problem: {redact_locations(f'{status.reason}; {status.remedy}')}"


def _describe_marked(status: Status) -> list[str]:
    """Return how many facts nobody has confirmed, with what the person can do about it."""
    remedy = "say so if it is true, or /forget it"
    counts = {"unconfirmed": status.unconfirmed, "unverified": status.unverified}
    return [
        f"{count} of these facts {'is' if count == 1 else 'are'} {name}: {remedy}."
        for name, count in counts.items()
        if count
    ]


async def _list_rows(call: Call, rows: Sequence[Row]) -> str:
    if not call.argument:
        return _format_page(rows, 1)
    selection, words = parse_selection(call.argument), split_words(call.argument)
    if selection is None and words:
        return _format_found(await _search(call, rows, words))
    page = None if selection is None else selection.single_number
    if page is not None and 1 <= page <= _page_count(rows):
        return _format_page(rows, page)
    if _page_count(rows) == 1:
        return "There is only one page. Usage: /memory, or /memory WORDS to search."
    return f"Usage: /memory, /memory PAGE (1 to {_page_count(rows)}), or /memory WORDS to search."


async def _search(call: Call, rows: Sequence[Row], words: Sequence[str]) -> list[Row]:
    """Return the rows that contain one of the words or another form of it, best first.

    Matches by meaning or context, which recall adds, are left out: a user who searches for a word expects to see it.
    """
    found = await call.memory.holding(call.scope, call.argument, limit=_MAX_RANKED_ROWS)
    rows_by_id = {row.fact.id: row for row in rows}
    ids = [*(fact.id for fact in found), *(row.fact.id for row in filter_by_words(rows, words))]
    return [rows_by_id[fact_id] for fact_id in dict.fromkeys(ids) if fact_id in rows_by_id]


def _format_found(rows: Sequence[Row]) -> str:
    if not rows:
        return NO_MATCH
    lines = [f"I found {format_count(len(rows))} about you:", *(row.list_item for row in rows[:PAGE_SIZE])]
    if len(rows) > PAGE_SIZE:
        lines.append(f"\nThese are the best {PAGE_SIZE}. Add words to narrow the search.")
    return "\n".join(lines)


def _format_page(rows: Sequence[Row], page: int) -> str:
    page_count = _page_count(rows)
    where = f" (page {page} of {page_count})" if page_count > 1 else ""
    lines = [f"I remember {format_count(len(rows))} about you{where}:"]
    if page > 1:
        # In Markdown, a list that does not start at 1 needs an empty line before it.
        lines.append("")
    lines += [row.line for row in rows[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]]
    if page < page_count:
        lines.append(f"Next page: /memory {page + 1}")
    return "\n".join(lines)


def _page_count(rows: Sequence[Row]) -> int:
    return -(-len(rows) // PAGE_SIZE)


COMMAND = Command(
    name="memory",
    arguments="[PAGE or WORDS]",
    summary="show or search what I remember; history ROW; admins: off, on, embedder",
    run=_memory,
    arguments_while_disabled=tuple(_SWITCH),
)
