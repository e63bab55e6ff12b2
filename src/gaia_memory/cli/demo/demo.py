"""`gaia demo`: the whole of memory on real parts, without a key or a network."""

from __future__ import annotations

import asyncio
import json
import shlex
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.demo.story_screen import Screen
from gaia_memory.cli.engines import JsonOption, login_name
from gaia_memory.cli.ui.terminal import coloured, print_error, print_line

if TYPE_CHECKING:
    from rich.console import Console

    from gaia_memory.cli.demo.doomed_sweep import DoomedSweep

EXAMPLES = """
Examples:

`gaia demo` tells the story: it needs no key and no network, and leaves nothing behind.

`gaia demo --verify` lists each check, and says which one failed.
"""

INTRODUCTION = "Real databases, processes and files. No key, no network: the model is built in."
NEXT_COMMAND = "gaia chat --user"


def demo(
    verify: Annotated[bool, typer.Option("--verify", help="List checks instead of telling the story.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what memory does: a short conversation with real parts in a temporary home.

    `--json` prints the list of `--verify`. Exits with 1 if a check fails.
    """
    if as_json and not verify:
        raise typer.BadParameter("the story has no JSON form: pass --verify, too", param_hint="--json")
    if verify:
        _verify(as_json=as_json)
    else:
        _tell()


def _tell() -> None:
    from rich.console import Console

    screen = tell_on(Console(highlight=False), user=login_name())
    if screen.failed_count:
        _exit_with_failures(screen.failed_count, screen.observed_count, "; `gaia demo --verify` lists them")


def tell_on(console: Console, *, user: str) -> Screen:
    """Tell the story on a console, with a next command for `user`; the screen returned has counted the observations."""
    screen = Screen(console)
    screen.show_introduction(INTRODUCTION)

    async def tell(folder: Path, doomed_sweep: DoomedSweep) -> None:
        with screen.show_wait("loading ADK, mem0 and Chroma …"):
            from gaia_memory.cli.demo.story import tell_story
        await tell_story(folder, doomed_sweep, screen)

    _run_in_temporary_folder(tell)
    if not screen.failed_count:
        screen.show_command("Now you:", f"{NEXT_COMMAND} {shlex.quote(user)}")
    return screen


def _verify(*, as_json: bool) -> None:
    started = time.monotonic()
    results: list[tuple[str, bool]] = []

    def observe(description: str, is_true: bool) -> None:
        results.append((description, is_true))
        if not as_json:
            verdict = coloured("OK  ", typer.colors.GREEN) if is_true else coloured("FAIL", typer.colors.RED)
            print_line(description, prefix=f"{verdict} ")

    async def check(folder: Path, doomed_sweep: DoomedSweep) -> None:
        if not as_json:
            print_line(f"One user, two channels, no key, no network; kept in {folder} and deleted at the end.")
        from gaia_memory.cli.demo.demo_checks import run_checks

        await run_checks(folder, doomed_sweep, observe)

    _run_in_temporary_folder(check)
    failed, seconds = sum(not passed for _, passed in results), f"({time.monotonic() - started:.1f} s)"
    if as_json:
        checks = [{"check": description, "passed": passed} for description, passed in results]
        print_line(json.dumps({"checks": checks, "passed": len(results) - failed, "failed": failed}))
    if failed:
        _exit_with_failures(failed, len(results), f" {seconds}")
    if not as_json:
        print_line(f"{len(results)} of {len(results)} checks passed {seconds}")


def _run_in_temporary_folder(run: Callable[[Path, DoomedSweep], Coroutine[Any, Any, None]]) -> None:
    async def main(folder: Path) -> None:
        from gaia_memory.cli.demo.doomed_sweep import start_doomed_sweep

        # It loads on another core while this process loads, too.
        async with start_doomed_sweep(folder) as doomed_sweep:
            await run(folder, doomed_sweep)

    with tempfile.TemporaryDirectory(prefix="gaia-demo-", ignore_cleanup_errors=True) as folder:
        asyncio.run(main(Path(folder)))


def _exit_with_failures(failed: int, total: int, suffix: str) -> None:
    print_error(f"{failed} of {total} checks failed{suffix}")
    raise typer.Exit(1)
