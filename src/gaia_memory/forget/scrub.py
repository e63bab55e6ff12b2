"""What makes a forgotten text leave the database files, after the rows are gone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from gaia_memory.ports import Database


@dataclass(frozen=True, slots=True)
class Scrub:
    """Rewrites every database file that may hold text of deleted rows; calling it again is harmless."""

    database: Database
    others: Sequence[Callable[[], Awaitable[bool]]]

    async def __call__(self) -> bool:
        """Return True when no file holds deleted text; False when a reader keeps one in use: try again later."""
        clean = await self.database.scrub()
        for other in self.others:
            clean = await other() and clean
        return clean
