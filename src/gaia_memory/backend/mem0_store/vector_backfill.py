"""Vectors for facts that were committed while the embedder was unavailable."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from gaia_memory.errors import ModelError
from gaia_memory.log import error_frames, log_fields, logger_for
from gaia_memory.models import DirtyFact
from gaia_memory.ports import Embedder

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts.outbox import Outbox

BATCH_FACTS = 64
FIRST_PAUSE_SECONDS = 0.5
MAX_PAUSE_SECONDS = 30.0
MAX_AWAITED_PAUSE_SECONDS = 2.0

log = logger_for(__name__)


class VectorBackfill:
    """Embeds facts in a task of its own, so that an embedder that hangs or is down delays nothing else.

    `pending` are the unfinished rows. They leave it when their vectors are in the database or their facts have
    changed; then `wake` is called. After a failure the rows of that batch come last, and the next batch is one row; it
    doubles with each success. So a text that the embedder refuses delays no other for long.
    """

    def __init__(self, database: Database, outbox: Outbox, embedder: Embedder, wake: Callable[[], None]) -> None:
        """Store the vectors of `embedder`, and call `wake` after each batch."""
        self.pending: OrderedDict[DirtyFact, None] = OrderedDict()
        self.trouble: str | None = None
        self._database = database
        self._outbox = outbox
        self._embedder = embedder
        self._wake = wake
        self._task: asyncio.Task[None] | None = None
        self._batch_size = BATCH_FACTS
        self._failures = 0
        self._failed_at = 0.0

    def add(self, rows: Iterable[DirtyFact]) -> None:
        """Add rows whose facts have no vector."""
        self.pending.update(dict.fromkeys(rows))

    def start_if_due(self, *, is_awaited: bool) -> None:
        """Start a batch when rows are pending, no batch is running and the embedder may be asked.

        Pauses grow after each failure, to two seconds at most while a caller waits.
        """
        if not self.pending or (self._task is not None and not self._task.done()):
            return
        if self._failures:
            longest = MAX_AWAITED_PAUSE_SECONDS if is_awaited else MAX_PAUSE_SECONDS
            pause = min(FIRST_PAUSE_SECONDS * 2 ** min(self._failures - 1, 10), longest)
            if asyncio.get_running_loop().time() < self._failed_at + pause:
                return
        self._task = asyncio.create_task(self._fill_batch())

    async def stop(self) -> None:
        """Cancel a running batch; its facts stay without a vector until the next start."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _fill_batch(self) -> None:
        rows = list(self.pending)[: self._batch_size]
        try:
            await self._fill(rows)
        except Exception as error:
            # A provider may raise anything, and its message may quote the text. Keyword search still finds the facts,
            # and a later attempt follows.
            for row in rows:
                self.pending.move_to_end(row)
            self._batch_size = 1
            self._failures += 1
            self._failed_at = asyncio.get_running_loop().time()
            reason = str(error) if isinstance(error, ModelError) else type(error).__name__
            self.trouble = f"{len(self.pending)} facts have no vector yet, the embedder failed: {reason}"
            kind = type(error).__name__
            fields = log_fields("embedder.failed", failures=self._failures, facts=len(self.pending), error=kind)
            log.warning("the embedder failed %d times in a row (%s)", self._failures, kind, extra=fields)
            log.debug("the embedder failed:\n%s", error_frames(error), extra=fields)
        else:
            for row in rows:
                del self.pending[row]
            self._batch_size = min(2 * self._batch_size, BATCH_FACTS)
            self._failures = 0
            self.trouble = None
            self._wake()

    async def _fill(self, rows: list[DirtyFact]) -> None:
        """Embed the rows that have not changed: a forgotten text is not sent to a provider."""
        async with self._database.read_transaction() as tx:
            found = await self._outbox.load_facts(tx, [row.fact_id for row in rows])
        texts = {}
        for row in rows:
            stored = found.get(row.fact_id)
            if stored is not None and stored.version == row.version and stored.vector is None:
                texts[row] = stored.fact.text
        if texts:
            vectors = await self._embedder.embed(list(texts.values()), purpose="add")
            async with self._database.transaction() as tx:
                filled = dict(zip(texts, vectors, strict=True))
                await self._outbox.backfill_vectors(tx, filled, self._embedder.identity)
