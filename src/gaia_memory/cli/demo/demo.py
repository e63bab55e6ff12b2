"""`gaia demo`: the main job on real parts, without a key and without a network."""

from __future__ import annotations

import asyncio
import signal
import tempfile
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import typer

from gaia_memory.cli.engines import run
from gaia_memory.cli.ui.terminal import coloured, complain, say

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
        say(what, head=f"{verdict} ")


class _Ending:
    """Notes a signal that asks the process to end, and cancels what runs, so that folder and children go with it.

    Nothing is raised where the signal arrives: in the middle of starting a child that would leave the child.
    """

    def __init__(self) -> None:
        self._number: int | None = None
        self._story: asyncio.Task[None] | None = None

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note the signals during the block, and leave the process with their code after it."""
        numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
        before = {number: signal.signal(number, self._note) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if self._number is not None:
                raise SystemExit(128 + self._number)

    def _note(self, number: int, _: FrameType | None) -> None:
        if self._number is None:
            # Once is enough: what cleans up is not to be interrupted.
            self._number = number
            if self._story is not None and not self._story.done():
                self._story.cancel()
                # Wakes a loop that waits for its next event.
                self._story.get_loop().call_soon_threadsafe(_nothing)

    async def cancels(self, story: Coroutine[Any, Any, None]) -> None:
        """Run the story as far as no signal comes."""
        self._story = asyncio.current_task()
        if self._number is None:
            await story
        else:
            story.close()


def _nothing() -> None:
    """Return at once."""


def demo() -> None:
    """Show in seconds what memory does, on real parts in a temporary home. Leaves with 1 when something fails."""
    started = time.monotonic()
    ending = _Ending()
    with ending.noted(), tempfile.TemporaryDirectory(prefix="gaia-demo-", ignore_cleanup_errors=True) as home:
        say(f"A person, two channels, no key, no network; everything is kept in {home} and removed at the end.")
        from gaia_memory.cli.demo.story import Story

        observe = Observations()
        run(ending.cancels(Story(Path(home), observe).tell()))
    seconds = time.monotonic() - started
    if observe.failed:
        complain(f"{observe.failed} of {observe.seen} observations do not hold ({seconds:.1f} s)")
        raise typer.Exit(1)
    say(f"All {observe.seen} observations hold ({seconds:.1f} s).")
