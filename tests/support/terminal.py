"""Commands as processes that run while a test looks on, also at a terminal."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.commandline import COMMAND

SLOW = (sys.executable, str(Path(__file__).with_name("slow_model.py")))
"""`gaia` with the models of `slow_model.py`."""


@contextmanager
def running(*arguments: str, command: Sequence[str] = COMMAND, **streams: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command until the block ends."""
    with subprocess.Popen([*command, *arguments], **streams) as process:
        try:
            yield process
        finally:
            process.kill()


class Screen:
    """What a terminal shows, read from its other end."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._unseen = b""

    def until(self, wanted: bytes, *, seconds: float = 60.0) -> bytes:
        """Return what is shown up to and with something, beginning where the last look ended."""
        ends = time.monotonic() + seconds
        while wanted not in self._unseen:
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, ends - time.monotonic()))
            assert ready, f"{wanted!r} is not in {self._unseen!r}"
            self._unseen += os.read(self._terminal, 4096)
        before, _, self._unseen = self._unseen.partition(wanted)
        return before + wanted

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._terminal, keys)

    def interrupt(self, process: subprocess.Popen[bytes]) -> None:
        """Press Ctrl-C while no prompt reads it: a terminal makes it a signal."""
        process.send_signal(signal.SIGINT)


@contextmanager
def at_terminal(*arguments: str, command: Sequence[str] = COMMAND) -> Iterator[tuple[Screen, subprocess.Popen[bytes]]]:
    """Run a command at a terminal of its own until the block ends."""
    import pty

    ours, theirs = pty.openpty()
    with running(*arguments, command=command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        try:
            yield Screen(ours), process
        finally:
            os.close(ours)
