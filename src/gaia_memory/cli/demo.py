"""`gaia demo`: the main job on real parts, without a key and without a network."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import typer

from gaia_memory.cli.opening import run
from gaia_memory.cli.terminal import coloured, complain

EXAMPLES = """
Example:

`gaia demo` takes a few seconds, needs no key and no network, and leaves nothing behind.
"""


class Observations:
    """What was looked at, printed as it happens."""

    def __init__(self) -> None:
        """Start with none."""
        self.seen = 0
        self.failed = 0

    def __call__(self, what: str, holds: bool) -> None:
        """Print one observation and whether it holds."""
        self.seen += 1
        self.failed += not holds
        verdict = coloured("OK  ", typer.colors.GREEN) if holds else coloured("FAIL", typer.colors.RED)
        typer.echo(f"{verdict} {what}")


def demo() -> None:
    """Show in seconds what memory does, on real parts in a temporary home. Leaves with 1 when something fails."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gaia-demo-", ignore_cleanup_errors=True) as home:
        typer.echo(f"A person, two channels, no key, no network; everything is kept in {home} and removed at the end.")
        from gaia_memory.cli.story import Story

        observe = Observations()
        run(Story(Path(home), observe).tell())
    seconds = time.monotonic() - started
    if observe.failed:
        complain(f"{observe.failed} of {observe.seen} observations do not hold ({seconds:.1f} s)")
        raise typer.Exit(1)
    typer.echo(f"All {observe.seen} observations hold ({seconds:.1f} s).")
