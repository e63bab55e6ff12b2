"""`gaia demo`: the main job on real parts, without a key and without a network."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

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


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let a signal that asks the process to end unwind it, so that folder and children go with it."""
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {getattr(signal, name): signal.getsignal(getattr(signal, name)) for name in names}

    def leave(number: int, _: FrameType | None) -> None:
        for each in before:
            # Once is enough: what cleans up is not to be interrupted.
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for each in before:
        signal.signal(each, leave)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def demo() -> None:
    """Show in seconds what memory does, on real parts in a temporary home. Leaves with 1 when something fails."""
    started = time.monotonic()
    with _ended_by_signals(), tempfile.TemporaryDirectory(prefix="gaia-demo-", ignore_cleanup_errors=True) as home:
        typer.echo(f"A person, two channels, no key, no network; everything is kept in {home} and removed at the end.")
        from gaia_memory.cli.story import Story

        observe = Observations()
        run(Story(Path(home), observe).tell())
    seconds = time.monotonic() - started
    if observe.failed:
        complain(f"{observe.failed} of {observe.seen} observations do not hold ({seconds:.1f} s)")
        raise typer.Exit(1)
    typer.echo(f"All {observe.seen} observations hold ({seconds:.1f} s).")
