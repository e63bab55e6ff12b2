"""Removes forgotten text from the database files, after its rows are deleted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from gaia_memory.ports import Database


@dataclass(frozen=True, slots=True)
class FileScrubber:
    """Rewrites every database file that may contain text of deleted rows; repeated calls are harmless."""

    database: Database
    extra_scrubs: Sequence[Callable[[], Awaitable[bool]]]

    async def __call__(self) -> bool:
        """Return True if no file contains deleted text; False if a reader blocks one: call again later."""
        is_clean = await self.database.scrub()
        for extra_scrub in self.extra_scrubs:
            is_clean = await extra_scrub() and is_clean
        return is_clean
