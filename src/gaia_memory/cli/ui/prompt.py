"""A conversation at a terminal: a prompt, then the answer, never both at once."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

from gaia_memory.cli.ui.terminal import print_line, print_note

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

PromptCallback = Callable[[], Awaitable[str]]
"""Returns the words in front of the next line."""

AnswerCallback = Callable[[str], Awaitable[bool]]
"""Shows the answer to a line; returns False if there is none."""


_GOODBYES = frozenset(("quit", "exit", ":q", "/quit", "/exit"))


def is_goodbye(line: str) -> bool:
    """Return whether a line, as a whole, ends the conversation."""
    return line.strip().casefold() in _GOODBYES


async def converse(prompt_text: PromptCallback, answer: AnswerCallback) -> int:
    """Read lines and show each answer, until `quit`, Ctrl-D, or Ctrl-C at an empty prompt; return how many failed.

    The prompt is hidden while an answer is shown; typed keys are kept for the next prompt. Ctrl-C then interrupts only
    the answer.
    """
    prompt, failed = _session(), 0
    with _without_echo():
        while True:
            line = await _ask_line(prompt, await prompt_text())
            if line is None or is_goodbye(line):
                return failed
            failed += not await _interruptible(answer(line))


async def _ask_line(prompt: PromptSession[str], text: str) -> str | None:
    from prompt_toolkit.formatted_text import ANSI
    from prompt_toolkit.patch_stdout import patch_stdout

    # Log lines of the background appear above the prompt.
    with patch_stdout(raw=True):
        while True:
            try:
                return await prompt.prompt_async(ANSI(text))
            except EOFError:
                return None
            except KeyboardInterrupt:
                # The first one clears the line.
                if not prompt.default_buffer.text:
                    return None


async def _interruptible(answering: Awaitable[bool]) -> bool:
    """Wait for an answer; Ctrl-C cancels it."""
    answer = asyncio.ensure_future(answering)
    loop, previous_handler = asyncio.get_running_loop(), signal.getsignal(signal.SIGINT)
    is_interrupted = False

    def interrupt(_: int, __: FrameType | None) -> None:
        nonlocal is_interrupted
        is_interrupted = True
        # A signal alone does not wake the loop.
        loop.call_soon_threadsafe(answer.cancel)

    signal.signal(signal.SIGINT, interrupt)
    try:
        return await answer
    except asyncio.CancelledError:
        if not is_interrupted:
            raise
        print_line()
        print_note("The answer was interrupted.")
        return True
    finally:
        signal.signal(signal.SIGINT, previous_handler)


def _session() -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.history import InMemoryHistory

    from gaia_memory.commands.dispatch import COMMANDS

    names = {f"/{command.name}": command.summary for command in COMMANDS.values()}
    completer = WordCompleter(list(names), meta_dict=names, sentence=True)
    return PromptSession(completer=completer, complete_while_typing=True, history=InMemoryHistory())


@contextlib.contextmanager
def _without_echo() -> Iterator[None]:
    """Hide keys that are typed between two prompts and keep them for the next one.

    Otherwise the terminal would echo them into the answer.
    """
    try:
        import termios
    except ImportError:
        # Windows does not echo keys between prompts.
        yield
        return
    terminal = sys.stdin.fileno()
    previous: list[Any] = termios.tcgetattr(terminal)
    silent = list(previous)
    silent[0] &= ~termios.ICRNL
    silent[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(terminal, termios.TCSANOW, silent)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, previous)
