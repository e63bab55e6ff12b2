"""Vectors for facts that were committed while the embedder could not be reached."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from gaia_memory.errors import BadAnswerError, ModelError
from gaia_memory.log import logger_for
from gaia_memory.models import DirtyFact
from gaia_memory.ports import Database, Embedder, Outbox
from gaia_memory.telemetry import about, frames_of

BATCH = 64
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
LONGEST_PAUSE_AWAITED = 2.0

log = logger_for(__name__)


class MissingVectors:
    """Embeds facts beside the follower's loop, so that an embedder that hangs or is down holds nothing else up.

    `waiting` are the rows it was given and is not done with. When their vectors are in the database, or their
    facts changed meanwhile, they leave it and `wake` is called. After an answer that was no use half as many are
    asked for, down to one: that one text may be all that the embedder refuses, and is asked for last from then on.
    """

    def __init__(self, database: Database, outbox: Outbox, embedder: Embedder, wake: Callable[[], None]) -> None:
        """Fill in vectors that `embedder` makes."""
        self.waiting: set[DirtyFact] = set()
        self.trouble: str | None = None
        self._database = database
        self._outbox = outbox
        self._embedder = embedder
        self._wake = wake
        self._task: asyncio.Task[None] | None = None
        self._failures = 0
        self._failed_at = 0.0
        self._halvings = 0
        self._refused: set[DirtyFact] = set()

    def offer(self, rows: Iterable[DirtyFact]) -> None:
        """Take over rows whose facts have no vector."""
        self.waiting.update(rows)

    def start_due(self, *, awaited: bool) -> None:
        """Start a batch when there is one, none is under way and the embedder may be asked again.

        After a failure it is asked after ever longer pauses, of two seconds at most while somebody waits.
        """
        if not self.waiting or (self._task is not None and not self._task.done()):
            return
        if self._failures:
            pause = min(FIRST_PAUSE * 2 ** (self._failures - 1), LONGEST_PAUSE_AWAITED if awaited else LONGEST_PAUSE)
            if asyncio.get_running_loop().time() < self._failed_at + pause:
                return
        self._task = asyncio.create_task(self._fill_batch())

    async def stop(self) -> None:
        """End a batch that is under way; its facts stay without a vector until somebody starts again."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _fill_batch(self) -> None:
        rows = self._next()
        try:
            await self._fill(rows)
        except Exception as error:
            # A provider may raise anything, and its words may quote the text: the facts stay found by their
            # words, and the next try comes later.
            self._failures += 1
            self._failed_at = asyncio.get_running_loop().time()
            if isinstance(error, BadAnswerError):
                self._narrow(rows)
            said = str(error) if isinstance(error, ModelError) else type(error).__name__
            self.trouble = f"{len(self.waiting)} facts have no vector yet, the embedder failed: {said}"
            kind = type(error).__name__
            fields = about("embedder.failed", failures=self._failures, facts=len(self.waiting), error=kind)
            log.warning("the embedder failed %d times in a row (%s)", self._failures, kind, extra=fields)
            log.debug("the embedder failed:\n%s", frames_of(error), extra=fields)
        else:
            self._failures = self._halvings = 0
            self.trouble = None
            self._wake()

    def _next(self) -> list[DirtyFact]:
        """Return the oldest rows, those that were refused alone after all others."""
        self._refused &= self.waiting
        ordered = sorted(self.waiting, key=lambda row: (row in self._refused, row.version, row.fact_id))
        return ordered[: BATCH >> self._halvings]

    def _narrow(self, rows: list[DirtyFact]) -> None:
        if len(rows) == 1:
            self._refused.update(rows)
        elif BATCH >> self._halvings > 1:
            self._halvings += 1

    async def _fill(self, rows: list[DirtyFact]) -> None:
        """Embed those of `rows` that are still as they were: what was forgotten is not sent to anybody."""
        async with self._database.reading() as tx:
            found = await self._outbox.read(tx, [row.fact_id for row in rows])
        wanting = {}
        for row in rows:
            stored = found.get(row.fact_id)
            if stored is not None and stored.version == row.version and stored.vector is None:
                wanting[row] = stored.fact.text
        if wanting:
            vectors = await self._embedder.embed(list(wanting.values()), purpose="add")
            async with self._database.transaction() as tx:
                filled = dict(zip(wanting, vectors, strict=True))
                await self._outbox.fill_vectors(tx, filled, self._embedder.identity)
        self.waiting.difference_update(rows)
