"""Facts as tables for people and as JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from gaia_memory.models import Fact, Hit


_PIPE_WIDTH = 10_000


def as_data(fact: Fact) -> dict[str, Any]:
    """Return a fact as JSON shows it."""
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


def print_json(data: Any) -> None:
    """Print data as JSON, readable."""
    typer.echo(json.dumps(data, ensure_ascii=False, indent=2))


def print_facts(facts: Sequence[Fact], *, nothing: str) -> None:
    """Print facts as a table, or a sentence when there are none."""
    _print(_table(facts) if facts else nothing)


def print_hits(hits: Sequence[Hit], *, nothing: str) -> None:
    """Print recalled facts with their scores, or a sentence when there are none."""
    _print(_table([hit.fact for hit in hits], [hit.score for hit in hits]) if hits else nothing)


def _table(facts: Sequence[Fact], scores: Sequence[float] | None = None) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    if scores is not None:
        table.add_column("score", justify="right", no_wrap=True)
    table.add_column("date", no_wrap=True)
    table.add_column("fact", overflow="fold")
    table.add_column("id", overflow="fold", style="dim")
    for at, fact in enumerate(facts):
        day = (fact.said_at or fact.created_at).astimezone().date().isoformat()
        first = [] if scores is None else [f"{scores[at]:.2f}"]
        # A fact is a person's words: they are shown as they are, not read as markup.
        table.add_row(*first, day, Text(fact.text), fact.id)
    return table


def _print(what: Table | str) -> None:
    from rich.console import Console

    # What is piped is read by a program: nothing is wrapped there.
    Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH).print(what, markup=False, highlight=False)
