"""/forget: removes all facts about a user, or some of them, after showing which."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gaia_memory.commands.command import Call, Command
from gaia_memory.commands.rows import (
    NO_MATCH,
    PAGE_SIZE,
    Row,
    RowSelection,
    filter_by_words,
    find_replaced,
    format_count,
    load_rows,
    note_unsearched,
    parse_selection,
    split_words,
)
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.forget.delete import HOST_SESSION_NOTE, OPEN_SESSION_NOTE, REWOUND_SESSION_NOTE
from gaia_memory.language.agreements import is_agreement, is_plain_yes, is_refusal
from gaia_memory.models import Receipt
from gaia_memory.redaction.redact_locations import redact_locations

_YES = re.compile(r"(?:(?P<what>.*\S)\s+)?yes[.!]*", re.IGNORECASE | re.DOTALL)

_BACK = re.compile(r"(?P<what>.*\S)\s+back[.!]*", re.IGNORECASE | re.DOTALL)

_EVERYTHING = re.compile(r"(?:all|everything)[.!]*", re.IGNORECASE)

_ID_PREFIX = re.compile(r"#[0-9a-f-]+|(?=.*\d)[0-9a-f]{3}[0-9a-f-]*", re.IGNORECASE)
"""The beginning of a fact's id, which `gaia memory list` shows; with a digit or a #, so that it is no word."""

_USAGE = (
    "Usage: /forget for everything; /forget 3, /forget 3 5 or /forget 3-5 for rows of /memory; /forget nuts for facts "
    "that contain the word. Each asks first."
)
RESET_HINT = "Use /reset to end this conversation and start a new one."
"""How a user clears the messages of an open session."""

STILL_HERE = "What was said in a conversation that is still open stays in it, and I may answer from it there."
STILL_HIDDEN = (
    "What you said in earlier conversations stays in their database for some time, hidden: nothing is learned or "
    "answered from it."
)
_OWNER_NOTES = (OPEN_SESSION_NOTE, REWOUND_SESSION_NOTE, HOST_SESSION_NOTE)
"""Notes that only an operator can act on."""

_NOTHING_REMEMBERED = "Nothing is stored about you."
_WILL_LEARN = "I may still learn what you have said so far. Send /forget yes to prevent that; nothing else does."
_NOT_LEARNED = "I will not learn from what you have said so far."
_NOTHING_FORGOTTEN = "Nothing was forgotten."
_NAME = "forget"

PLAIN_YES = "(yes)"
"""The argument that stands for a yes without the command, which confirms the rows that were just shown."""

UNCONFIRMED_ANSWER = "(agreed)"
"""The argument that stands for any other agreement, which may mean something else and confirms nothing."""


def answer_to_question(text: str) -> str | None:
    """Return the argument of /forget for a message that answers its open question; None for any other message."""
    if is_refusal(text):
        return text.strip()
    if is_plain_yes(text):
        return PLAIN_YES
    return UNCONFIRMED_ANSWER if is_agreement(text) else None


async def _forget(call: Call) -> str:
    selection_text, _ = call.pending_confirmations.latest(call.key, _NAME) or ("", ())
    if call.argument == UNCONFIRMED_ANSWER or (call.argument == PLAIN_YES and not selection_text):
        return _repeat_confirmation(selection_text)
    if call.argument == PLAIN_YES:
        call.pending_confirmations.close_question(call.key)
        return await _forget_some(call, selection_text, is_confirmed=True)
    if call.pending_confirmations.close_question(call.key) and is_refusal(call.argument):
        call.pending_confirmations.discard(call.key, _NAME)
        await call.flags.set_pending_confirmation(call.key, False)
        return _NOTHING_FORGOTTEN
    confirmed = _YES.fullmatch(call.argument)
    if (back := _BACK.fullmatch(call.argument)) and (answer := await _go_back(call, back["what"])):
        return answer
    selection = (confirmed["what"] or "") if confirmed else call.argument
    if selection and not _EVERYTHING.fullmatch(selection):
        return await _forget_some(call, selection, is_confirmed=confirmed is not None)
    return await (_handle_yes(call) if confirmed else _ask(call))


def _repeat_confirmation(selection_text: str) -> str:
    """Ask for the whole command: to forget everything needs more than a yes, and some rows more than an "ok"."""
    return f"Nothing was forgotten yet. Send /forget {f'{selection_text} yes'.lstrip()} to confirm."


async def _handle_yes(call: Call) -> str:
    """Forget everything, unless the open question in this conversation is about some rows only."""
    selection_text, fact_ids = call.pending_confirmations.latest(call.key, _NAME) or ("", ())
    if not fact_ids and not await call.flags.has_pending_confirmation(call.key):
        return await _forget_everything(call)
    rows = [row for row in await load_rows(call) if row.fact.id in set(fact_ids)]
    if not rows:
        # The rows were forgotten elsewhere, or the process that showed them has ended: never guess what "yes" means.
        return f"Nothing is forgotten yet: the last question was about some rows only.\n{await _ask(call)}"
    call.pending_confirmations.open_question(call.key)
    lines = ["Nothing is forgotten yet: the last question was about", *(row.list_item for row in rows), ""]
    lines.append(f"Send /forget {selection_text} yes to forget these. To forget everything, send /forget first.")
    return "\n".join(lines)


async def _ask(call: Call) -> str:
    call.pending_confirmations.discard(call.key, _NAME)
    await call.flags.set_pending_confirmation(call.key, False)
    call.pending_confirmations.open_question(call.key)
    count = await call.memory.count(call.scope)
    if not count:
        return f"{_NOTHING_REMEMBERED} {_WILL_LEARN}"
    return (
        f"This forgets {format_count(count)} about you, in every conversation, and cannot be undone. "
        "Send /forget yes to confirm; anything else changes nothing."
    )


async def _forget_everything(call: Call) -> str:
    receipt = await call.memory.forget(call.scope)
    done = f"I forgot {format_count(receipt.count)} about you." if receipt.count else "There is nothing to forget."
    return _report(call, f"{done} {_NOT_LEARNED}", [receipt])


async def _forget_some(call: Call, text: str, *, is_confirmed: bool) -> str:
    """Show the selected rows; forget them if the same selection showed exactly these rows before."""
    selection, words = parse_selection(text), split_words(text)
    if selection is None and not words:
        return _USAGE
    rows = await load_rows(call, with_withdrawn=selection is None)
    if not rows:
        return _NOTHING_REMEMBERED + await note_unsearched(call)
    if selection is not None and (problem := _selection_problem(selection, len(rows))):
        return problem
    found = filter_by_words(rows, words) if selection is None else [row for row in rows if row.number in selection]
    selection_text = " ".join(words) if selection is None else selection.text
    if is_id := not found and _ID_PREFIX.fullmatch(text) is not None:
        selection_text = text.removeprefix("#").lower()
        found = [row for row in rows if row.fact.id.lower().startswith(selection_text)]
    if not found or (is_id and len(found) > 1):
        return _ambiguous(selection_text, found) if found else NO_MATCH + await note_unsearched(call)
    fact_ids = [row.fact.id for row in found[:PAGE_SIZE]]
    if is_confirmed and call.pending_confirmations.pop(call.key, _NAME, selection_text) == tuple(fact_ids):
        is_pending = call.pending_confirmations.latest(call.key, _NAME) is not None
        await call.flags.set_pending_confirmation(call.key, is_pending)
        return await _forget_rows(call, fact_ids)
    call.pending_confirmations.add(call.key, _NAME, selection_text, fact_ids)
    call.pending_confirmations.open_question(call.key)
    await call.flags.set_pending_confirmation(call.key, True)
    preview = _preview(found, selection_text)
    if len(found) == 1 and (replaced := await find_replaced(call, found[0])):
        preview += f"\nIt replaced: {replaced}. To go back to that instead, send /forget {selection_text} back."
    return f"Nothing is forgotten yet: please look first.\n{preview}" if is_confirmed else preview


async def _go_back(call: Call, selection: str) -> str | None:
    """Return to what a fact replaced, if the last question offered that; None if it did not."""
    selection_text, fact_ids = call.pending_confirmations.latest(call.key, _NAME) or ("", ())
    rows = [row for row in await load_rows(call) if row.fact.id in fact_ids] if selection == selection_text else []
    if len(rows) != 1 or await find_replaced(call, rows[0]) is None:
        return None
    call.pending_confirmations.discard(call.key, _NAME)
    await call.flags.set_pending_confirmation(call.key, False)
    fact = await call.memory.restore(call.scope, rows[0].fact.id, actor="person")
    return f"Nothing was forgotten. I remember again: {Row(rows[0].number, fact, rows[0].allow_numbers).text}"


def _selection_problem(selection: RowSelection, row_count: int) -> str | None:
    if any(first < 1 for first, _ in selection.ranges):
        return f"There is no such row: the rows of /memory start at 1. {_USAGE}"
    if any(last > row_count for _, last in selection.ranges):
        return f"There is no such row: /memory lists {format_count(row_count)}, numbered from 1."
    return None


def _ambiguous(fact_id: str, found: Sequence[Row]) -> str:
    lines = [f"The id {fact_id} is ambiguous: send /forget with the number of the fact."]
    return "\n".join([*lines, *(row.list_item for row in found[:PAGE_SIZE])])


def _preview(found: Sequence[Row], selection_text: str) -> str:
    lines = [f"This forgets {format_count(min(len(found), PAGE_SIZE))} about you, and cannot be undone:"]
    lines += [*(row.list_item for row in found[:PAGE_SIZE]), ""]
    if len(found) > PAGE_SIZE:
        lines.append(f"{format_count(len(found) - PAGE_SIZE)} more will stay: ask for them again afterwards.")
    one = f" For one of them, send /forget {found[-1].number}." if len(found) > 1 else ""
    return "\n".join(
        [*lines, f"Send /forget {selection_text} yes to confirm, or just yes; anything else changes nothing.{one}"]
    )


async def _forget_rows(call: Call, fact_ids: Sequence[str]) -> str:
    receipts: list[Receipt] = []
    for fact_id in fact_ids:
        try:
            receipts.append(await call.memory.forget(call.scope, fact_id=fact_id))
        except MemoryUnavailable:
            if not receipts:
                raise
            return _report(
                call, f"I forgot only {_total(receipts)}: memory became unavailable. Try again for the rest.", receipts
            )
    return _report(call, f"I forgot {_total(receipts)} about you. /memory shows the rest, with new numbers.", receipts)


def _total(receipts: Sequence[Receipt]) -> str:
    return format_count(sum(receipt.count for receipt in receipts))


def _report(call: Call, summary: str, receipts: Sequence[Receipt]) -> str:
    lines = [summary]
    if any(receipt.pending and receipt.count for receipt in receipts):
        lines.append("The files that contained them are being rewritten in the background.")
    notes = dict.fromkeys(note for receipt in receipts for note in receipt.notes)
    lines += [f"Note: {redact_locations(note)}." for note in notes if note not in _OWNER_NOTES]
    if REWOUND_SESSION_NOTE in notes:
        lines.append(STILL_HIDDEN)
    if OPEN_SESSION_NOTE in notes:
        lines += [STILL_HERE, RESET_HINT]
    return "\n".join(lines)


COMMAND = Command(
    name=_NAME,
    arguments="[ROWS or WORDS]",
    summary="forget all, rows of /memory, or facts with these words; asks first",
    run=_forget,
)
