"""What makes a forgotten text leave the database files, after the rows are gone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from gaia_memory.ports import Database


@dataclass(frozen=True, slots=True)
class FileScrubber:
    """Rewrites every database file that may hold text of deleted rows; calling it again is harmless."""

    database: Database
    extra_scrubs: Sequence[Callable[[], Awaitable[bool]]]

    async def __call__(self) -> bool:
        """Return True when no file holds deleted text; False when a reader keeps one in use: try again later."""
        is_clean = await self.database.scrub()
        for extra_scrub in self.extra_scrubs:
            is_clean = await extra_scrub() and is_clean
        return is_clean
