"""Facts as tables and as JSON."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.ui.terminal import print_line, print_note
from gaia_memory.language.printable_text import hidden_characters, remove_hidden
from gaia_memory.models.new_fact import DEFAULT_CONTEXT

if TYPE_CHECKING:
    from gaia_memory.models import Fact, NewFact

SkipRefusedOption = Annotated[
    bool,
    typer.Option(
        "--skip-refused", help="Leave out facts that are too long or nothing but a credential, and keep the rest."
    ),
]

_PIPE_COLUMNS = 10_000
_MAX_LABEL_COLUMNS = 16
_WHOLE_COLUMNS = ("score", "date", "category", "id")
"""Columns that are never wrapped: they are short, and an id can be copied."""

_LINE_BREAKS = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")
_MIN_SHOWN_ID_CHARACTERS = 6
"""The characters of an id in a table; more where two of the shown ids begin alike. Commands accept such a beginning."""

_FACT_KEYS = (
    *("id", "text", "source", "said_at", "created_at", "session_id", "metadata", "category", "entity", "context"),
    *("agent", "key", "sensitive", "due_at", "due_zone", "due_all_day", "every", "reminded_at"),
    *("valid_from", "valid_until", "in_doubt_since"),
)


def shorten_ids(ids: Sequence[str]) -> list[str]:
    """Return the beginnings of some ids, as long as it takes to tell them apart, all of one length."""
    longest = max(map(len, ids), default=0)
    for size in range(_MIN_SHOWN_ID_CHARACTERS, longest):
        if len({each[:size] for each in ids}) == len(set(ids)):
            return [each[:size] for each in ids]
    return list(ids)


def not_current_note(facts: Iterable[Fact], now: datetime, past: Collection[str] = ()) -> str:
    """Return a note on how many of some facts are `past`, have expired or not begun to hold; empty for none."""
    count = sum(fact.id in past or not fact.holds_at(now) for fact in facts)
    return f" ({count} not current)" if count else ""


def known_note(count: int) -> str:
    """Return a note on how many of some facts were known before; empty for none."""
    return f", {count} already known" if count else ""


def iso(moment: datetime | None) -> str | None:
    """Return a time as JSON has it."""
    return None if moment is None else moment.isoformat()


def local_day(moment: datetime | None) -> str:
    """Return the day of a time in the local zone, as tables show it; empty for None."""
    return "" if moment is None else moment.astimezone().date().isoformat()


def fact_to_dict(fact: Fact) -> dict[str, Any]:
    """Return a fact as data for JSON."""
    values = {name: getattr(fact, name) for name in _FACT_KEYS}
    plain = {name: iso(value) if isinstance(value, datetime) else value for name, value in values.items()}
    return {**plain, "metadata": dict(fact.metadata)}


def to_json_text(data: Any) -> str:
    """Return data as indented JSON."""
    text = json.dumps(data, ensure_ascii=False, indent=2)
    # JSON allows these as they are, but terminals obey some of them and UTF-8 cannot encode the others.
    return text.translate({ord(char): json.dumps(char)[1:-1] for char in hidden_characters(text)})


def print_json(data: Any) -> None:
    """Print data as JSON."""
    typer.echo(to_json_text(data))


def print_left_out(refused: Sequence[tuple[str, str]], facts: Iterable[Fact | NewFact]) -> None:
    """Print which facts were refused and why, and which credentials were left out of the others, as notes."""
    from gaia_memory.drafts.screen import describe_masked

    for place, reason in refused:
        print_note(f"left out {place}: {reason}")
    if masked := describe_masked(facts):
        print_note(masked)


def refused_to_dict(refused: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the place and the reason of each refused fact as data for JSON, nothing if every fact was kept."""
    return {"refused": [{"place": place, "reason": reason} for place, reason in refused]} if refused else {}


def print_facts(facts: Sequence[Fact], *, scores: Sequence[float] = (), empty_message: str) -> None:
    """Print facts as a table, or a message if there are none; it shows scores, categories and sources if it has to."""
    if not facts:
        print_line(empty_message)
        return
    ids = [each.id for each in facts]
    columns = {
        "score": [f"{score:.2f}" for score in scores],
        "date": [local_day(each.said_at or each.created_at) for each in facts],
        "fact": [each.text for each in facts],
        "category": [_shorten(each.category or "") for each in facts],
        "context": [_shorten("" if each.context == DEFAULT_CONTEXT else each.context) for each in facts],
        "source": [", ".join((each.source, *each.marks)) for each in facts],
        "id": shorten_ids(ids),
    }
    if not any(each.source == "agent" or each.marks for each in facts):
        del columns["source"]
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    print_rows(tuple(columns), list(zip(*columns.values(), strict=True)))


def _shorten(label: str) -> str:
    return label if len(label) <= _MAX_LABEL_COLUMNS else label[: _MAX_LABEL_COLUMNS - 1] + "…"


def print_rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows as a table; long cells are wrapped, never cut."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in header:
        is_whole = name in _WHOLE_COLUMNS
        table.add_column(name, no_wrap=is_whole, overflow="ignore" if is_whole else "fold")
    for row in rows:
        # The text of a fact is not markup.
        table.add_row(*(Text(remove_hidden(_LINE_BREAKS.sub(" ", cell))) for cell in row))
    # Piped output is for programs, so it is not wrapped.
    Console(width=None if sys.stdout.isatty() else _PIPE_COLUMNS).print(table, highlight=False)
