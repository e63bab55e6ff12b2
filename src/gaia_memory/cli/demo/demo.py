"""`gaia demo`: the whole of memory on real parts, without a key or a network."""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gaia_memory.cli.demo.story_screen import Screen
from gaia_memory.cli.engines import login_name

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = """
Examples:

`gaia demo` tells the story: it needs no key and no network, and leaves nothing behind.
"""

INTRODUCTION = "Real databases and files. No key, no network: the model is built in."
NEXT_COMMAND = "gaia chat --user"


def demo() -> None:
    """Show what memory does: a short conversation with real parts in a temporary home.

    Exits with 1 if something is not as it should be.
    """
    from rich.console import Console

    if tell_on(Console(highlight=False), user=login_name()).failed_count:
        raise typer.Exit(1)


def tell_on(console: Console, *, user: str) -> Screen:
    """Tell the story on a console, with a next command for `user`; the screen returned has counted the failures."""
    screen = Screen(console)
    screen.show_line(INTRODUCTION, "dim")
    with screen.show_wait("loading ADK, mem0 and Chroma …"):
        from gaia_memory.cli.demo.story import tell_story

    with tempfile.TemporaryDirectory(prefix="gaia-demo-", ignore_cleanup_errors=True) as folder:
        asyncio.run(tell_story(Path(folder), screen))
    if not screen.failed_count:
        screen.show_line(f"\nNow you: {NEXT_COMMAND} {shlex.quote(user)}", "bold")
    return screen
