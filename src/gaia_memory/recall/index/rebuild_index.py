"""Rebuilds the features and the vectors of facts in short transactions, so that turns continue in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gaia_memory.errors import BadAnswerError
from gaia_memory.models import DirtyFact
from gaia_memory.ports import Embedder

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts.outbox import Outbox
    from gaia_memory.facts.sql_indexes import Indexes

FEATURES_BATCH_SIZE = 100
VECTOR_BATCH_SIZE = 64
MAX_PAUSE_SECONDS = 0.25
"""Seconds; a writer of another process tries to lock the database about ten times a second."""

_DIMENSION_PROBE_TEXT = "dimensions"

Progress = Callable[[int, int], None]
"""Called with the number of facts done and their total."""


@dataclass(slots=True)
class ReindexReport:
    """The number of facts that were `indexed` by their words and `embedded`.

    `refused` counts those for which the embedder gives no vector, and `left` those without its vector at the end:
    refused ones, and those that another process wrote meanwhile.
    """

    indexed: int = 0
    embedded: int = 0
    refused: int = 0
    left: int = 0


class Reindexer:
    """Makes outdated features of facts again, and embeds facts without a vector of the current embedder.

    Each batch is one transaction, so the next run resumes an interrupted one. Every fact can be found all the time. Two
    runs at once do no harm.
    """

    def __init__(
        self,
        database: Database,
        indexes: Indexes,
        outbox: Outbox,
        embedder: Embedder,
        embeds_sensitive: bool = True,
    ) -> None:
        """Take the stores and the embedder; without `embeds_sensitive`, sensitive facts stay without a vector."""
        self.report = ReindexReport()
        self._database = database
        self._indexes = indexes
        self._outbox = outbox
        self._embedder = embedder
        self._embeds_sensitive = embeds_sensitive

    async def rebuild_features(self, progress: Progress, *, from_scratch: bool = False) -> None:
        """Make outdated features again, those of every fact if `from_scratch` is true; resumes an interrupted run."""
        async with self._database.transaction() as tx:
            if from_scratch:
                await self._indexes.mark_outdated(tx)
            total = await self._indexes.count_outdated(tx)
        progress(0, total)
        while True:
            started_at = time.monotonic()
            async with self._database.transaction() as tx:
                count = await self._indexes.rebuild_features(tx, limit=FEATURES_BATCH_SIZE)
            if not count:
                return
            self.report.indexed += count
            progress(self.report.indexed, max(total, self.report.indexed))
            # Leave half of the time to others.
            await asyncio.sleep(min(time.monotonic() - started_at, MAX_PAUSE_SECONDS))

    async def rebuild_vectors(self, progress: Progress) -> None:
        """Embed the facts without a vector of the current embedder.

        Raises:
            ModelError: the embedder gives no answer, or refuses every text of a batch.
        """
        fact_ids = await self._facts_to_embed()
        progress(0, len(fact_ids))
        for start in range(0, len(fact_ids), VECTOR_BATCH_SIZE):
            batch = fact_ids[start : start + VECTOR_BATCH_SIZE]
            await self._embed(batch)
            progress(start + len(batch), len(fact_ids))
        self.report.left = len(await self._facts_to_embed()) if fact_ids else 0

    async def _facts_to_embed(self) -> list[str]:
        fact_ids = await self._facts_without_vector()
        if fact_ids and self._embedder.identity.endswith("/?"):
            # Some embedders know the length of their vectors, which is part of their name, only after the first one.
            await self._embedder.embed([_DIMENSION_PROBE_TEXT], purpose="add")
            fact_ids = await self._facts_without_vector()
        return fact_ids

    async def _facts_without_vector(self) -> list[str]:
        async with self._database.read_transaction() as tx:
            return await self._indexes.ids_without_vector_of(
                tx, self._embedder.identity, include_sensitive=self._embeds_sensitive
            )

    async def _embed(self, fact_ids: list[str]) -> None:
        """Embed those of these facts that still need it; forgotten facts are not sent to the embedder."""
        async with self._database.read_transaction() as tx:
            found = await self._outbox.load_facts(tx, fact_ids)
        identity = self._embedder.identity
        texts = {
            DirtyFact(fact_id=fact_id, version=found[fact_id].version): found[fact_id].fact.text
            for fact_id in fact_ids
            if fact_id in found
            and found[fact_id].embedder != identity
            and (self._embeds_sensitive or not found[fact_id].fact.sensitive)
        }
        refused = await self._replace_vectors(texts)
        if len(refused) == len(texts) > 1:
            raise refused[0]
        self.report.refused += len(refused)

    async def _replace_vectors(self, texts: dict[DirtyFact, str]) -> list[BadAnswerError]:
        """Store the vectors; return the error of each text that the embedder refuses even alone."""
        if not texts:
            return []
        try:
            vectors = await self._embedder.embed(list(texts.values()), purpose="add")
        except BadAnswerError as error:
            if len(texts) == 1:
                return [error]
            rows = list(texts)
            halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]
            return [
                refusal for half in halves for refusal in await self._replace_vectors({row: texts[row] for row in half})
            ]
        async with self._database.transaction() as tx:
            vectors_by_fact = dict(zip(texts, vectors, strict=True))
            self.report.embedded += await self._indexes.replace_vectors(tx, vectors_by_fact, self._embedder.identity)
        return []
