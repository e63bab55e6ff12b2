"""/forget: remove what is remembered, all of it or some, after showing what that is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gaia_memory.commands.command import Call, Command
from gaia_memory.commands.redact_locations import without_places
from gaia_memory.commands.rows import PAGE, Picked, Row, counted, holding, numbered, picked_in, words_in
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.forget.delete import LIVE_TALK
from gaia_memory.models import Receipt

_YES = re.compile(r"(?:(?P<what>.*\S)\s+)?yes[.!]*", re.IGNORECASE | re.DOTALL)

_USAGE = (
    "Usage: /forget for everything, /forget 3, /forget 3 5 or /forget 3-5 for rows of /memory, /forget nuts for what "
    "holds that word; each asks first"
)
TO_RESET = "/reset ends the one that you are in now and starts a new one."
"""What a person may do about talk that is still open, where there are commands."""

_NOTHING = "I don't remember anything about you."
_NAME = "forget"


async def _forget(call: Call) -> str:
    confirmed = _YES.fullmatch(call.argument)
    what = (confirmed["what"] or "") if confirmed else call.argument
    if what:
        return await _forget_some(call, what, is_confirmed=confirmed is not None)
    return await (_confirmed(call) if confirmed else _ask(call))


async def _confirmed(call: Call) -> str:
    """Forget everything, unless the question that waits for a yes here was about some rows."""
    asked, fact_ids = call.shown.last(call.key, _NAME) or ("", ())
    if not fact_ids and not await call.questions.asks_of_rows(call.key):
        return await _forget_everything(call)
    rows = [row for row in numbered(await call.memory.facts(call.scope)) if row.fact.id in set(fact_ids)]
    if not rows:
        # Forgotten elsewhere, or shown by a process that has ended: what this yes was meant for is not to be guessed.
        return f"Nothing is forgotten yet: the question here was about some rows only.\n{await _ask(call)}"
    lines = ["Nothing is forgotten yet: the question here was about", *(row.picked for row in rows), ""]
    lines.append(f"/forget {asked} yes forgets that. For everything say /forget first, and then /forget yes.")
    return "\n".join(lines)


async def _ask(call: Call) -> str:
    call.shown.drop(call.key, _NAME)
    await call.questions.ask_of_rows(call.key, False)
    count = await call.memory.count(call.scope)
    if not count:
        return "I don't remember anything about you. /forget yes also keeps me from learning from what was said so far."
    return (
        f"This forgets {counted(count)} about you, in every conversation, and cannot be undone. "
        "/forget yes does it; anything else leaves it as it is."
    )


async def _forget_everything(call: Call) -> str:
    receipt = await call.memory.forget(call.scope)
    if not receipt.count:
        return "There is nothing to forget. What was said so far will not be learned either."
    first = f"I forgot {counted(receipt.count)} about you. What was said so far will not be learned either."
    return _told(call, first, [receipt])


async def _forget_some(call: Call, what: str, *, is_confirmed: bool) -> str:
    """Show the rows that are meant, and forget them when exactly they were shown for the same words before."""
    picked, words = picked_in(what), words_in(what)
    if picked is None and not words:
        return _USAGE
    rows = numbered(await call.memory.facts(call.scope))
    found = _meant(rows, words) if picked is None else _named(rows, picked)
    if isinstance(found, str):
        return found
    asked = " ".join(words) if picked is None else picked.asked
    fact_ids = [row.fact.id for row in found[:PAGE]]
    if is_confirmed and call.shown.take(call.key, _NAME, asked) == tuple(fact_ids):
        await call.questions.ask_of_rows(call.key, call.shown.last(call.key, _NAME) is not None)
        return await _forget_rows(call, fact_ids)
    call.shown.keep(call.key, _NAME, asked, fact_ids)
    await call.questions.ask_of_rows(call.key, True)
    shown = _shown(found, asked)
    return f"Nothing is forgotten yet: please look first.\n{shown}" if is_confirmed else shown


def _meant(rows: Sequence[Row], words: Sequence[str]) -> list[Row] | str:
    """Return the rows that hold these words; in words why there are none."""
    if not rows:
        return _NOTHING
    return holding(rows, words) or "Nothing I remember about you holds that. /memory shows everything."


def _named(rows: Sequence[Row], picked: Picked) -> list[Row] | str:
    """Return the rows with these numbers; in words why there are none."""
    if not rows:
        return _NOTHING
    if any(first < 1 for first, _ in picked.spans):
        return f"There is no such row: the first one of /memory is 1. {_USAGE}"
    if any(last > len(rows) for _, last in picked.spans):
        return f"There is no such row: /memory shows {counted(len(rows))}, numbered from 1."
    return [row for row in rows if any(first <= row.number <= last for first, last in picked.spans)]


def _shown(found: Sequence[Row], asked: str) -> str:
    lines = [f"This forgets {counted(min(len(found), PAGE))} about you, and cannot be undone:"]
    lines += [*(row.picked for row in found[:PAGE]), ""]
    if len(found) > PAGE:
        lines.append(f"{counted(len(found) - PAGE)} more would stay: ask again for them afterwards.")
    return "\n".join([*lines, f"/forget {asked} yes does it; anything else leaves it as it is."])


async def _forget_rows(call: Call, fact_ids: Sequence[str]) -> str:
    receipts: list[Receipt] = []
    for fact_id in fact_ids:
        try:
            receipts.append(await call.memory.forget(call.scope, fact_id=fact_id))
        except MemoryUnavailable:
            if not receipts:
                raise
            return _told(call, f"I forgot only {_sum(receipts)}: memory went away. Ask again for the rest.", receipts)
    return _told(call, f"I forgot {_sum(receipts)} about you. /memory shows what is left, numbered anew.", receipts)


def _sum(receipts: Sequence[Receipt]) -> str:
    return counted(sum(receipt.count for receipt in receipts))


def _told(call: Call, first: str, receipts: Sequence[Receipt]) -> str:
    lines = [first]
    if any(receipt.pending for receipt in receipts):
        lines.append("The files that held them are being rewritten in the background.")
    notes = dict.fromkeys(note for receipt in receipts for note in receipt.notes)
    lines += [f"Note: {without_places(note)}." for note in notes]
    if LIVE_TALK in notes and call.memory.config.sessions.clear != "keep":
        lines.append(TO_RESET)
    return "\n".join(lines)


COMMAND = Command(
    name=_NAME,
    arguments="[NUMBERS/WORDS] [yes]",
    summary="forget everything about you, some rows of /memory, or what holds some words, after asking",
    run=_forget,
)
