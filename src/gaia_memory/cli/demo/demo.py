"""`gaia demo`: the whole of memory on real parts, without a key or a network."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

import typer

from gaia_memory.cli.ui.terminal import coloured, print_error, print_line

EXAMPLES = """
Example:

`gaia demo` takes a few seconds, needs no key and no network, and leaves nothing behind.
"""


def demo() -> None:
    """Show in seconds what memory does, with real parts in a temporary home.

    Exits with 1 if a check fails.
    """
    started = time.monotonic()
    results: list[bool] = []

    def observe(description: str, is_true: bool) -> None:
        results.append(is_true)
        verdict = coloured("OK  ", typer.colors.GREEN) if is_true else coloured("FAIL", typer.colors.RED)
        print_line(description, prefix=f"{verdict} ")

    with tempfile.TemporaryDirectory(prefix="gaia-demo-", ignore_cleanup_errors=True) as home:
        print_line(f"One user, two channels, no key, no network; everything is kept in {home} and deleted at the end.")
        from gaia_memory.cli.demo.story import DemoScript

        asyncio.run(DemoScript(Path(home), observe).run())
    seconds = time.monotonic() - started
    if not all(results):
        print_error(f"{results.count(False)} of {len(results)} checks failed ({seconds:.1f} s)")
        raise typer.Exit(1)
    print_line(f"All {len(results)} checks passed ({seconds:.1f} s).")
