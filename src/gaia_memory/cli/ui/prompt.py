"""A conversation at a terminal: a prompt, then the answer, never both at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

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
    """Read lines and show each answer, until `quit`, Ctrl-D or Ctrl-C; return how many failed."""
    from prompt_toolkit.formatted_text import ANSI
    from prompt_toolkit.patch_stdout import patch_stdout

    session, failed = _session(), 0
    while True:
        try:
            # Log lines of the background appear above the prompt.
            with patch_stdout(raw=True):
                line = await session.prompt_async(ANSI(await prompt_text()))
        except (EOFError, KeyboardInterrupt):
            return failed
        if is_goodbye(line):
            return failed
        failed += not await answer(line)


def _session() -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter

    from gaia_memory.commands.dispatch import COMMANDS

    names = {f"/{command.name}": command.summary for command in COMMANDS.values()}
    return PromptSession(completer=WordCompleter(list(names), meta_dict=names, sentence=True))
