"""Finishing erasures behind a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_memory.cli.ui.terminal import progress_bar

if TYPE_CHECKING:
    from gaia_memory.memory import Memory


async def finish_erasures(memory: Memory) -> str | None:
    """Wait until no file contains forgotten text; returns None, or the other process that will do it.

    Raises:
        StoreStalledError: it makes no progress.
    """
    with progress_bar("Rewriting files") as advance:
        return await memory.finish_erasures(advance)
