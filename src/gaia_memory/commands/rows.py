"""The numbered list of facts that commands show, their history, the selection of rows, and what is not learned yet."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from gaia_memory.commands.command import Call
from gaia_memory.language.printable_text import escape_markup, is_invisible
from gaia_memory.language.stems import stem
from gaia_memory.language.stop_words import STOP_WORDS
from gaia_memory.models import DEFAULT_CONTEXT, Fact, PastFact, PendingConversation, to_local_time
from gaia_memory.models.recurrence import describe_recurrence, load_time_zone
from gaia_memory.redaction.credentials import mask_credentials

PAGE_SIZE = 20
"""Facts on one page, short enough for a chat message."""

NO_MATCH = "Nothing I remember about you contains that. /memory shows everything."

_REASONS = {
    "replaced": "replaced",
    "retracted": "taken back",
    "expired": "its time was over",
    "merged": "joined with another fact",
    "untrue": "never true",
}
"""What the history says of each ending."""

_WORDS_OF_REQUESTS = STOP_WORDS | {"everything", "fact", "facts"}
"""What a request to forget has beside the words of a fact."""

_HERE = "This conversation waits to be learned"

_MAX_DIGITS = 9
_RANGE = re.compile(r"(?<=\d)(?:\s+-\s+|-\s*)(?=\d)")
"""A dash between two numbers; before a single number it is a minus sign."""

_WORD_CATEGORIES = frozenset("LNM")
"""The Unicode categories that form words: letters, digits and combining marks."""


@dataclass(frozen=True, slots=True)
class Row:
    """A fact and its number: the position among all facts about a user, oldest first, from 1.

    A credential that an older release stored is masked; `allow_numbers` is `memory.allow_numbers`. Due dates are those
    of their own zone, else of `zone`.
    """

    number: int
    fact: Fact
    allow_numbers: bool = False
    zone: tzinfo | None = None

    @property
    def text(self) -> str:
        """The text of the fact, as a message may show it."""
        return escape_markup(mask_credentials(self.fact.text, allow_numbers=self.allow_numbers))

    @property
    def line(self) -> str:
        """The row as one line of the full list, which tells what a model wrote."""
        marks = ["saved by the agent"] if self.fact.source == "agent" else []
        marks += self.fact.marks
        if self.fact.context != DEFAULT_CONTEXT:
            marks.append(f"context {escape_markup(self.fact.context)}")
        if self.fact.due_at is not None:
            zone = self.zone if self.fact.due_zone is None else load_time_zone(self.fact.due_zone)
            due_at = to_local_time(self.fact.due_at, zone)
            marks.append(f"due {format_due(due_at, is_all_day=self.fact.due_all_day, every=self.fact.every)}")
        line = f"{self.number}. {self.text}"
        return f"{line} ({', '.join(marks)})" if marks else line

    @property
    def list_item(self) -> str:
        """The row in a list with gaps: Markdown, which `adk web` renders, would renumber plain rows."""
        return f"- {self.line}"


def format_due(due_at: datetime, *, is_all_day: bool, every: str | None) -> str:
    """Return a due date in its own zone as a reply shows it: "Fri, 27 Mar 2026, 09:00, then weekly"."""
    day = due_at.strftime("%a, %d %b %Y" if is_all_day else "%a, %d %b %Y, %H:%M")
    return day if every is None else f"{day}, then {describe_recurrence(every)}"


def number_facts(facts: Sequence[Fact], *, allow_numbers: bool = False, zone: tzinfo | None = None) -> list[Row]:
    """Number the facts in their order, from 1; `allow_numbers` and `zone` are those of a `Row`."""
    return [Row(number, fact, allow_numbers, zone) for number, fact in enumerate(facts, start=1)]


async def load_rows(call: Call, *, with_withdrawn: bool = False) -> list[Row]:
    """Return all facts about the user of a command as numbered rows; behind them what a tool has forgotten."""
    facts, settings = await call.memory.facts(call.scope), call.memory.config.memory
    if with_withdrawn:
        facts = [*facts, *await call.memory.withdrawn(call.scope)]
    zone = await call.context.time_zone() or settings.zone
    return number_facts(facts, allow_numbers=settings.allow_numbers, zone=zone)


def split_words(text: str) -> list[str]:
    """Return the distinct words of a text: casefolded, in NFKC form and without invisible characters."""
    folded = unicodedata.normalize("NFKC", _visible(unicodedata.normalize("NFKC", text)).casefold())
    separated = "".join(char if unicodedata.category(char)[0] in _WORD_CATEGORIES else " " for char in folded)
    return list(dict.fromkeys(separated.split()))


@dataclass(frozen=True, slots=True)
class RowSelection:
    """Rows selected by number: the normalised text, and the first and last number of each range."""

    text: str
    ranges: tuple[tuple[int, int], ...]

    @property
    def single_number(self) -> int | None:
        """The number, if only one is selected; else None."""
        [(first, last), *further] = self.ranges
        return first if first == last and not further else None

    def __contains__(self, number: int) -> bool:
        """Whether a row with this number is selected."""
        return any(first <= number <= last for first, last in self.ranges)


def parse_selection(text: str) -> RowSelection | None:
    """Parse numbers and ranges such as `3-5`; return None if the text contains words.

    An invalid number such as `-1` becomes the range (0, 0), which no row has.
    """
    plain = unicodedata.normalize("NFKC", _visible(text))
    if any(unicodedata.category(char)[0] in _WORD_CATEGORIES and not char.isdecimal() for char in plain):
        return None
    bare = "".join(char if char.isdecimal() else "-" if _is_dash(char) else " " for char in plain)
    numbers = _RANGE.sub("-", bare).split()
    if not any(char.isdecimal() for char in bare):
        return None
    return RowSelection(" ".join(numbers), tuple(map(_parse_range, numbers)))


def _parse_range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal() or text.endswith("-"):
        return (0, 0)
    # Python refuses to parse thousands of digits, and no list needs more than these.
    ends = [int(end[: _MAX_DIGITS + 1]) for end in (first, last or first)]
    return min(ends), max(ends)


def _is_dash(char: str) -> bool:
    return char == "\u2212" or unicodedata.category(char) == "Pd"


def _visible(text: str) -> str:
    return "".join(char for char in text if not is_invisible(char))


def filter_by_words(rows: Sequence[Row], words: Sequence[str]) -> list[Row]:
    """Return the rows whose facts contain all the words; if none does, those with forms of the words that matter.

    In scripts without capital letters a word also matches inside another one: many of them write words without spaces
    or attach particles. "Everything about my mum" comes down to "mum", and "love curry" finds "loves curry".
    """
    if found := [row for row in rows if _has_words(split_words(row.fact.text), words)]:
        return found
    stems = {stem(word) for word in words if word not in _WORDS_OF_REQUESTS}
    return [row for row in rows if stems and stems <= set(map(stem, split_words(row.fact.text)))]


def format_count(count: int) -> str:
    """Return "1 fact" or "N facts"."""
    return "1 fact" if count == 1 else f"{count} facts"


def _has_words(fact_words: Sequence[str], words: Sequence[str]) -> bool:
    return all(
        word in fact_words or (_is_caseless_script(word) and any(word in other for other in fact_words))
        for word in words
    )


def _is_caseless_script(word: str) -> bool:
    return any(unicodedata.category(char) == "Lo" for char in word)


async def show_history(call: Call, number: str) -> str:
    """Return when a fact was true and what it replaced; `number` is that of its row."""
    row = next((row for row in await load_rows(call) if str(row.number) == number), None)
    if row is None:
        return "There is no such row: /memory shows all, numbered from 1."
    history = await call.memory.history(call.scope, row.fact.id)
    if len(history) == 1:
        return f"{row.line}\n\nIt has replaced nothing."
    return "\n".join(["What I know of this, oldest first:", *(f"- {_line(call, past)}" for past in history)])


async def find_replaced(call: Call, row: Row) -> str | None:
    """Return the text of what a fact replaced last, None if it replaced nothing."""
    history = await call.memory.history(call.scope, row.fact.id)
    replaced = [past for past in history if past.ended_by == row.fact.id and past.why != "merged"]
    return _text(call, replaced[-1]) if replaced else None


def _line(call: Call, past: PastFact) -> str:
    start, end = (_day(call, moment) for moment in (past.first_said_at, past.ended_at))
    if past.ended_at is None or past.why is None:
        return f"{_text(call, past)} ({f'since {start}' if start else 'still'})"
    period = f"{start} to {end}" if start else f"until {end}"
    return f"{_text(call, past)} ({period}, {_REASONS[past.why]})"


def _text(call: Call, past: PastFact) -> str:
    return escape_markup(mask_credentials(past.text, allow_numbers=call.memory.config.memory.allow_numbers))


def _day(call: Call, moment: datetime | None) -> str:
    return "" if moment is None else to_local_time(moment, call.memory.config.memory.zone).date().isoformat()


def describe_waiting(call: Call, pending: Sequence[PendingConversation]) -> list[str]:
    """Return whether something waits to be learned, here and in the person's other conversations."""
    is_here, elsewhere = _waiting(call, pending)
    lines = [f"{_HERE}: /reset does it now."] if is_here else []
    if elsewhere:
        minutes = call.memory.config.sessions.idle_consolidate_minutes
        lines.append(f"{_count_others(elsewhere)} to be learned, once quiet for {minutes:g} minutes.")
    return lines


async def note_unsearched(call: Call) -> str:
    """Return a line for a search without a result, if messages wait that it could not see; else an empty text."""
    is_here, elsewhere = _waiting(call, (await call.memory.status(call.scope)).pending)
    if is_here:
        return f"\n{_HERE}, and may contain it: send /reset, then search again."
    if elsewhere:
        minutes = call.memory.config.sessions.idle_consolidate_minutes
        return f"\n{_count_others(elsewhere)} to be learned, once quiet for {minutes:g} minutes, and may contain it."
    return ""


def _waiting(call: Call, pending: Sequence[PendingConversation]) -> tuple[bool, int]:
    """Return whether something waits in this conversation, and in how many others.

    A private conversation says that it learns nothing: what waits there was said before, and is not offered.
    """
    if not call.memory.config.memory.auto_ingest:
        return False, 0
    waiting = [each for each in pending if each.messages]
    is_here = any(each.key == call.key and not each.is_private for each in waiting)
    return is_here, len({each.key for each in waiting} - {call.key})


def _count_others(count: int) -> str:
    return "Another conversation of yours waits" if count == 1 else f"{count} other conversations of yours wait"
