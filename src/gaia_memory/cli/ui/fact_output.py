"""Tables and JSON."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer

from gaia_memory.cli.ui.terminal import strip_controls
from gaia_memory.language.printable_text import escape_line

if TYPE_CHECKING:
    from rich.table import Table

    from gaia_memory.models import Fact, Hit


_PIPE_COLUMNS = 10_000
_LINE_BREAKS = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")
_ESCAPED_IN_JSON = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


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
    }


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def to_json_text(data: Any) -> str:
    """Return data as indented JSON."""
    text = json.dumps(data, ensure_ascii=False, indent=2)
    # JSON allows these as they are, but terminals obey some of them and UTF-8 cannot encode the others.
    return _ESCAPED_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_json(data: Any) -> None:
    """Print data as JSON."""
    typer.echo(to_json_text(data))


def print_facts(facts: Sequence[Fact], *, empty_message: str) -> None:
    """Print facts as a table, or a message if there are none."""
    _print(_table(facts) if facts else escape_line(empty_message))


def print_hits(hits: Sequence[Hit], *, empty_message: str) -> None:
    """Print recalled facts with their scores, or a message if there are none."""
    _print(_table([hit.fact for hit in hits], [hit.score for hit in hits]) if hits else escape_line(empty_message))


def print_rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows as a table; long cells are wrapped, never cut."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_single_line(cell)) for cell in row))
    _print(table)


def _table(facts: Sequence[Fact], scores: Sequence[float] | None = None) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    if scores is not None:
        table.add_column("score", justify="right", no_wrap=True)
    table.add_column("date", no_wrap=True)
    table.add_column("fact", overflow="fold")
    table.add_column("id", overflow="ignore", no_wrap=True, style="dim")
    for index, fact in enumerate(facts):
        day = (fact.said_at or fact.created_at).astimezone().date().isoformat()
        first = [] if scores is None else [f"{scores[index]:.2f}"]
        # The text of a fact is not markup.
        table.add_row(*first, day, Text(_single_line(fact.text)), Text(fact.id))
    return table


def _single_line(text: str) -> str:
    return strip_controls(_LINE_BREAKS.sub(" ", text))


def _print(renderable: Table | str) -> None:
    from rich.console import Console

    # Piped output is for programs, so it is not wrapped.
    Console(width=None if sys.stdout.isatty() else _PIPE_COLUMNS).print(
        renderable, markup=False, emoji=False, highlight=False
    )
