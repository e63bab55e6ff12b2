"""The option that leaves out facts that may not be kept, and the report of what it left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.ui.terminal import print_note

if TYPE_CHECKING:
    from gaia_memory.models import Fact, NewFact

SkipRefusedOption = Annotated[
    bool,
    typer.Option(
        "--skip-refused", help="Leave out facts that are too long or nothing but a credential, and keep the rest."
    ),
]


def print_refused(refused: Sequence[tuple[str, str]]) -> None:
    """Print the place and the reason of each fact that was left out, on the error stream."""
    for place, reason in refused:
        print_note(f"left out {place}: {reason}")


def print_masked(facts: Iterable[Fact | NewFact]) -> None:
    """Print which kinds of credentials were left out of facts, on the error stream."""
    from gaia_memory.learn.screen import describe_masked

    if masked := describe_masked(facts):
        print_note(masked)


def refused_to_dict(refused: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return what was left out as data for JSON, nothing if every fact was kept."""
    return {"refused": [{"place": place, "reason": reason} for place, reason in refused]} if refused else {}
