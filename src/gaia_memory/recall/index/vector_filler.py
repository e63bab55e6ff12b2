"""Makes the vectors of facts in the background, where the embedder costs nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Protocol

from gaia_memory.errors import GaiaMemoryError
from gaia_memory.log import log_fields, logger_for
from gaia_memory.ports import Embedder
from gaia_memory.recall.index.rebuild_index import Progress, Reindexer

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts.outbox import Outbox
    from gaia_memory.facts.sql_indexes import Indexes

RETRY_SECONDS = 30.0

logger = logger_for(__name__)


class FillingEmbedder(Embedder, Protocol):
    """An embedder that may be one of this process."""

    on_deferred: Callable[[], None] | None

    @property
    def is_free(self) -> bool:
        """Whether its vectors cost neither money nor a call."""

    async def load(self) -> None:
        """Load it, so that it answers at once."""


class EmbeddingModels(Protocol):
    """What makes vectors, and for which facts."""

    @property
    def embedder(self) -> FillingEmbedder:
        """The embedder."""

    @property
    def embeds_sensitive(self) -> bool:
        """Whether sensitive facts get vectors."""


class VectorFiller:
    """Embeds every fact without a vector of the encoder of this process, at the start and after each write.

    So a home whose vectors another encoder made gets new ones, and no write waits. Several processes do no harm. For an
    embedder that costs something it does nothing by itself.
    """

    def __init__(self, database: Database, indexes: Indexes, outbox: Outbox, models: EmbeddingModels) -> None:
        """Take the stores and the embedder."""
        self._database, self._indexes, self._outbox, self._models = database, indexes, outbox, models
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def reindexer(self) -> Reindexer:
        """Return a rebuilder of the features and the vectors of facts."""
        models = self._models
        return Reindexer(self._database, self._indexes, self._outbox, models.embedder, models.embeds_sensitive)

    async def fill(self, progress: Progress) -> None:
        """Embed what has no vector of the encoder of this process yet; with another embedder, do nothing."""
        if self._models.embedder.is_free and not self._database.is_read_only:
            await self.reindexer().rebuild_vectors(progress)

    def start(self) -> None:
        """Load the encoder of this process and keep filling, in a background task; a second call does nothing."""
        if self._task is None and self._models.embedder.is_free:
            self._models.embedder.on_deferred = self._wake.set
            running = asyncio.get_running_loop()
            self._task = running.create_task(self._run(), name="gaia-vectors", context=Context())

    async def stop(self) -> None:
        """Stop; facts without a vector wait for the next start."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            retry_seconds = None
            try:
                await self._models.embedder.load()
                await self.fill(lambda done, total: None)
            except (GaiaMemoryError, OSError) as error:
                kind, retry_seconds = type(error).__name__, RETRY_SECONDS
                fields = log_fields("vectors.late", error=kind)
                logger.warning("facts stay without a vector for now (%s)", kind, extra=fields)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(retry_seconds):
                    await self._wake.wait()
