"""The option that leaves out facts that may not be kept, and the report of what it left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from gaia_memory.cli.ui.terminal import print_note

SkipRefusedOption = Annotated[
    bool,
    typer.Option(
        "--skip-refused", help="Leave out facts that are too long or contain a credential, and keep the rest."
    ),
]


def print_refused(refused: Sequence[tuple[str, str]]) -> None:
    """Print the place and the reason of each fact that was left out, on the error stream."""
    for place, reason in refused:
        print_note(f"left out {place}: {reason}")


def refused_to_dict(refused: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return what was left out as data for JSON, nothing if every fact was kept."""
    return {"refused": [{"place": place, "reason": reason} for place, reason in refused]} if refused else {}
