"""`gaia demo`: the whole of memory on real parts, without a key or a network."""

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

from gaia_memory.cli.engines import run_async
from gaia_memory.cli.ui.terminal import coloured, print_error, print_line

EXAMPLES = """
Example:

`gaia demo` takes a few seconds, needs no key and no network, and leaves nothing behind.
"""


class ObservationLog:
    """Prints the checks as they happen, and counts them."""

    def __init__(self) -> None:
        """Start at zero."""
        self.total = 0
        self.failed = 0

    def __call__(self, description: str, is_true: bool) -> None:
        """Print one check and whether it passed."""
        self.total += 1
        self.failed += not is_true
        verdict = coloured("OK  ", typer.colors.GREEN) if is_true else coloured("FAIL", typer.colors.RED)
        print_line(description, prefix=f"{verdict} ")


class _SignalCancellation:
    """Cancels the demo on a signal, so that its folder and child processes are removed.

    The handler raises nothing: in the middle of starting a child that would leave the child running.
    """

    def __init__(self) -> None:
        self._signal_number: int | None = None
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def handle_signals(self) -> Iterator[None]:
        """Handle signals during the block, and exit with the code of a signal after it."""
        numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
        previous = {number: signal.signal(number, self._on_signal) for number in numbers}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
            if self._signal_number is not None:
                raise SystemExit(128 + self._signal_number)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self._signal_number is None:
            # A second signal must not interrupt the clean-up.
            self._signal_number = number
            if self._task is not None and not self._task.done():
                self._task.cancel()
                # Wake a loop that waits for its next event.
                self._task.get_loop().call_soon_threadsafe(_noop)

    async def run_cancellable(self, story: Coroutine[Any, Any, None]) -> None:
        """Run the story until a signal arrives."""
        self._task = asyncio.current_task()
        if self._signal_number is None:
            await story
        else:
            story.close()


def _noop() -> None:
    """Return at once."""


def demo() -> None:
    """Show in seconds what memory does, with real parts in a temporary home. Exits with 1 if a check fails."""
    started = time.monotonic()
    cancellation = _SignalCancellation()
    with (
        cancellation.handle_signals(),
        tempfile.TemporaryDirectory(prefix="gaia-demo-", ignore_cleanup_errors=True) as home,
    ):
        print_line(f"One user, two channels, no key, no network; everything is kept in {home} and deleted at the end.")
        from gaia_memory.cli.demo.story import DemoScript

        observations = ObservationLog()
        run_async(cancellation.run_cancellable(DemoScript(Path(home), observations).run()))
    seconds = time.monotonic() - started
    if observations.failed:
        print_error(f"{observations.failed} of {observations.total} checks failed ({seconds:.1f} s)")
        raise typer.Exit(1)
    print_line(f"All {observations.total} checks passed ({seconds:.1f} s).")
