"""What other programs have done to a store on a server: rows of theirs, changed texts, deleted copies."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING

from gaia_memory.backend.mem0_store.payload import is_own
from gaia_memory.backend.mem0_store.store import StoreRow
from gaia_memory.log import log_fields, logger_for

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts.outbox import Outbox
    from gaia_memory.ports import Clock, Embedder

LOOK_SECONDS = 30.0

TakeIn = Callable[[Sequence[StoreRow]], Awaitable[int]]
"""Makes facts of rows, and returns how many it leaves as they are: those of nobody known here, or all."""

log = logger_for(__name__)


class ForeignRows:
    """Compares a store on a server with the database, twice a minute.

    A copy that is missing or another person's, and a row of ours without a fact, are put right. Rows of other programs
    and changed texts are given to `take_in`; what it leaves is counted.
    """

    def __init__(self, database: Database, outbox: Outbox, embedder: Embedder, clock: Clock) -> None:
        """Look at nothing yet."""
        self.take_in: TakeIn | None = None
        self.count = 0
        self.is_due = True
        self._database = database
        self._outbox = outbox
        self._embedder = embedder
        self._clock = clock
        self._looked_at = float("-inf")

    def is_time(self) -> bool:
        """Whether the store is to be looked at now."""
        return self.is_due or time.monotonic() - self._looked_at >= LOOK_SECONDS

    async def compare(self, rows: Sequence[StoreRow], *, refused: Collection[str]) -> None:
        """Compare all `rows`, read while nothing of ours was written; the store does not take the facts `refused`."""
        self._looked_at, self.is_due = time.monotonic(), False
        found = {row.id for row in rows}
        async with self._database.transaction() as tx:
            known, copied, waiting = await self._outbox.copies(tx, self._embedder.identity, self._clock.now())
            foreign = [row for row in rows if row.id not in known | waiting and not is_own(row.id, row.payload)]
            stale = [row.id for row in rows if row.id not in known and is_own(row.id, row.payload)]
            moved = [row.id for row in rows if row.id in copied and row.payload.get("user_id") != copied[row.id][1]]
            missing = copied.keys() - found - set(refused)
            await self._outbox.mark(tx, {*stale, *moved, *missing} - waiting)
        changed = [row for row in rows if row.id in copied and row.id not in waiting and row.text != copied[row.id][0]]
        self.count = len(foreign) + len(changed)
        if self.count and self.take_in is not None:
            taken = self.count - (left := await self.take_in([*foreign, *changed]))
            self.count = left
            if taken:
                fields = log_fields("store.rows_taken", rows=taken)
                log.info("rows of other programs were taken from the mem0 store", extra=fields)
