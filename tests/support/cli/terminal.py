"""Commands as child processes that a test watches, also at a terminal."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.cli.cli_runner import GAIA_COMMAND

SLOW_COMMAND = (sys.executable, str(Path(__file__).with_name("slow_model.py")))
"""`gaia` with the models of `slow_model.py`."""


@contextmanager
def running_command(
    *arguments: str, command: Sequence[str] = GAIA_COMMAND, **streams: int
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command until the block ends."""
    with subprocess.Popen([*command, *arguments], **streams) as process:
        try:
            yield process
        finally:
            process.kill()


class TerminalScreen:
    """The output of a terminal, read from its other end."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._unread = b""

    def read_until(self, expected: bytes, *, seconds: float = 60.0) -> bytes:
        """Return the output up to and including a text, starting where the last call stopped."""
        deadline = time.monotonic() + seconds
        while expected not in self._unread:
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{expected!r} is not in {self._unread!r}"
            self._unread += os.read(self._terminal, 4096)
        before, _, self._unread = self._unread.partition(expected)
        return before + expected

    def type_keys(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._terminal, keys)


@contextmanager
def command_in_terminal(
    *arguments: str, command: Sequence[str] = GAIA_COMMAND
) -> Iterator[tuple[TerminalScreen, subprocess.Popen[bytes]]]:
    """Run a command at its own terminal until the block ends."""
    import pty

    ours, theirs = pty.openpty()
    with running_command(*arguments, command=command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        try:
            yield TerminalScreen(ours), process
        finally:
            os.close(ours)
