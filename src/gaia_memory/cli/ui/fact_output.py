"""Tables and JSON."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer

from gaia_memory.cli.ui.terminal import print_line
from gaia_memory.language.printable_text import hidden_characters, remove_hidden
from gaia_memory.models.new_fact import DEFAULT_CONTEXT

if TYPE_CHECKING:
    from gaia_memory.models import Fact

_PIPE_COLUMNS = 10_000
_MAX_LABEL_COLUMNS = 16
_WHOLE_COLUMNS = ("score", "date", "category", "id")
"""Columns that are never wrapped: they are short, and an id can be copied."""

_LINE_BREAKS = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")


MIN_SHOWN_ID_CHARACTERS = 6
"""The characters of an id in a table; more where two of the shown ids begin alike. Commands accept such a beginning."""


def shorten_ids(ids: Sequence[str]) -> list[str]:
    """Return the beginnings of some ids, as long as it takes to tell them apart, all of one length."""
    longest = max(map(len, ids), default=0)
    for size in range(MIN_SHOWN_ID_CHARACTERS, longest):
        if len({each[:size] for each in ids}) == len(set(ids)):
            return [each[:size] for each in ids]
    return list(ids)


def not_current_note(facts: Iterable[Fact], now: datetime) -> str:
    """Return a note on how many of some facts have expired or not begun to hold; empty for none."""
    count = sum(not fact.holds_at(now) for fact in facts)
    return f" ({count} not current)" if count else ""


def fact_to_dict(fact: Fact) -> dict[str, Any]:
    """Return a fact as data for JSON."""
    return {
        "id": fact.id,
        "text": fact.text,
        "source": fact.source,
        "said_at": _iso(fact.said_at),
        "created_at": _iso(fact.created_at),
        "session_id": fact.session_id,
        "metadata": dict(fact.metadata),
        "category": fact.category,
        "entity": fact.entity,
        "context": fact.context,
        "agent": fact.agent,
        "key": fact.key,
        "sensitive": fact.sensitive,
        "due_at": _iso(fact.due_at),
        "due_zone": fact.due_zone,
        "due_all_day": fact.due_all_day,
        "every": fact.every,
        "reminded_at": _iso(fact.reminded_at),
        "valid_from": _iso(fact.valid_from),
        "valid_until": _iso(fact.valid_until),
        "in_doubt_since": _iso(fact.in_doubt_since),
    }


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def to_json_text(data: Any) -> str:
    """Return data as indented JSON."""
    text = json.dumps(data, ensure_ascii=False, indent=2)
    # JSON allows these as they are, but terminals obey some of them and UTF-8 cannot encode the others.
    return text.translate({ord(char): _escape_in_json(char) for char in hidden_characters(text)})


def _escape_in_json(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def print_json(data: Any) -> None:
    """Print data as JSON."""
    typer.echo(to_json_text(data))


def print_facts(
    facts: Sequence[Fact], *, scores: Sequence[float] = (), long_ids: bool = False, empty_message: str
) -> None:
    """Print facts as a table, or a message if there are none; it shows scores, categories and sources if it has to."""
    if not facts:
        print_line(empty_message)
        return
    ids = [each.id for each in facts]
    columns = {
        "date": [(each.said_at or each.created_at).astimezone().date().isoformat() for each in facts],
        "fact": [each.text for each in facts],
        "category": [_shorten(each.category or "") for each in facts],
        "context": [_shorten("" if each.context == DEFAULT_CONTEXT else each.context) for each in facts],
        "source": [", ".join((each.source, *each.marks)) for each in facts],
        "id": ids if long_ids else shorten_ids(ids),
    }
    for name in ("category", "context"):
        if not any(columns[name]):
            del columns[name]
    if not any(each.source == "agent" or each.marks for each in facts):
        del columns["source"]
    if scores:
        columns = {"score": [f"{score:.2f}" for score in scores], **columns}
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
        style = "dim" if name == "category" else None
        table.add_column(name, no_wrap=is_whole, overflow="ignore" if is_whole else "fold", style=style)
    for row in rows:
        # The text of a fact is not markup.
        table.add_row(*(Text(_single_line(cell)) for cell in row))
    # Piped output is for programs, so it is not wrapped.
    Console(width=None if sys.stdout.isatty() else _PIPE_COLUMNS).print(table, highlight=False)


def _single_line(text: str) -> str:
    return remove_hidden(_LINE_BREAKS.sub(" ", text))
