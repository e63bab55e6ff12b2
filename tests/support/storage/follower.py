"""A follower on real parts: SQLite, Chroma and mem0 in a temporary home, with vectors of the offline embedder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from gaia_memory.backend.builder import Backend
from gaia_memory.backend.mem0_store.follower import StoreFollower
from gaia_memory.backend.mem0_store.mem0_adapter import AdapterStore
from gaia_memory.backend.mem0_store.ownership import StoreOwner
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.database.sql_engine import Database, open_database
from gaia_memory.errors import ModelUnavailableError
from gaia_memory.facts import FactStore, Outbox
from gaia_memory.ledger import is_owner_dead
from gaia_memory.models import Draft, Fact, NewFact, Scope, Vector
from support.storage.plain_mem0 import find_facts, list_facts, plain_mem0


class RealClock:
    """The machine's time."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class UnreliableEmbedder:
    """The offline embedder of `backend`, which counts its calls and can be unavailable."""

    def __init__(self, backend: Backend) -> None:
        self.is_down = False
        self.calls = 0
        self._real = backend.embedder

    @property
    def identity(self) -> str:
        return self._real.identity

    def measure_dimensions(self) -> int:
        return self._real.measure_dimensions()

    async def embed(self, texts: Sequence[str], *, purpose: Literal["add", "search"]) -> list[Vector]:
        self.calls += 1
        if self.is_down:
            raise ModelUnavailableError("the embedder is down")
        return await self._real.embed(texts, purpose=purpose)


@dataclass
class FollowerHarness:
    """A home with its database, backend and follower, and the writes of a user."""

    home: Path
    database: Database
    backend: Backend
    embedder: UnreliableEmbedder
    follower: StoreFollower
    facts: FactStore
    outbox: Outbox
    scrub_results: list[bool]

    async def add(self, scope: Scope, *texts: str, vectors: bool = True, **fields: Any) -> list[Fact]:
        """Write facts, by default embedded by the real embedder, and wake the follower."""
        embedded = await self.embedder._real.embed(texts, purpose="add") if vectors else [None] * len(texts)
        drafts = [
            Draft(
                fact=NewFact(text, **fields),
                source="add",
                vector=vector,
                embedder=None if vector is None else self.embedder.identity,
            )
            for text, vector in zip(texts, embedded, strict=True)
        ]
        async with self.database.transaction() as tx:
            written = await self.facts.writer.write(tx, scope, drafts, now=datetime.now(UTC))
        self.follower.wake()
        return written

    async def delete(self, scope: Scope, *fact_ids: str) -> None:
        """Delete single facts, without an erasure."""
        async with self.database.transaction() as tx:
            await self.facts.delete(tx, scope, fact_ids)
        self.follower.wake()

    async def forget(self, scope: Scope) -> int:
        """Forget everything of a user, like `Memory.forget`."""
        now = datetime.now(UTC).timestamp()
        async with self.database.transaction() as tx:
            removed = await self.facts.delete_all(tx, scope, forgotten_at=now)
            await self.outbox.record_erasure(tx, scope, now=now)
        self.follower.wake()
        return removed["facts"]

    async def store_id(self) -> str:
        """Return the id of the current store."""
        async with self.database.read_transaction() as tx:
            return (await self.outbox.store(tx)).store_id

    async def mem0_facts(self, scope: Scope) -> dict[str, str]:
        """Return id and text of a user's facts in plain mem0."""
        store = self.follower._writer.store
        if isinstance(store, AdapterStore):
            # A local Qdrant folder lets nobody else in.
            [rows, *_] = store._vectors.list(filters={"user_id": scope.mem0_user_id}, top_k=1000)
            return {str(row.id): row.payload["data"] for row in rows}
        return await asyncio.to_thread(lambda: list_facts(self.mem0_config(), scope))

    async def search_mem0(self, scope: Scope, query: str, *, limit: int = 5) -> list[str]:
        """Return the texts that plain mem0 finds for a query of a user."""
        store = self.follower._writer.store
        if isinstance(store, AdapterStore):
            [vector] = await self.embedder.embed([query], purpose="search")
            found = store._vectors.search(query, list(vector), top_k=limit, filters={"user_id": scope.mem0_user_id})
            return [row.payload["data"] for row in found]
        return await asyncio.to_thread(lambda: find_facts(self.mem0_config(), scope, query, limit=limit))

    async def mem0_row(self, fact_id: str) -> dict[str, Any]:
        """Return a fact as plain mem0 shows it."""

        def get() -> Any:
            with plain_mem0(self.mem0_config()) as mem0:
                return mem0.get(fact_id)

        row: dict[str, Any] = await asyncio.to_thread(get)
        return row

    def mem0_config(self) -> dict[str, Any]:
        """Return the configuration with which plain mem0 opens the store. Blocking."""
        return self.backend.mem0_config(self.follower.address)

    async def database_facts(self, scope: Scope) -> dict[str, str]:
        """Return id and text of a user's facts in the database."""
        async with self.database.read_transaction() as tx:
            return {fact.id: fact.text for fact in await self.facts.facts(tx, scope)}

    def folder(self, store_id: str) -> Path:
        """Return the folder of an embedded store."""
        return self.home / "store" / store_id


@asynccontextmanager
async def open_follower(
    home: Path, *, started: bool = True, embedder_down: bool = False, store: dict[str, Any] | None = None
) -> AsyncIterator[FollowerHarness]:
    """Open everything over `home`, and close it cleanly at the end."""
    memory = {"vector_store": store} if store else {}
    config = GaiaConfig(home=home, memory=memory)
    database = await open_database(config.memory_url, home=home)
    backend = Backend(config, environ={})
    embedder = UnreliableEmbedder(backend)
    embedder.is_down = embedder_down
    backend.embedder = embedder
    outbox = Outbox()
    scrubs: list[bool] = []

    async def scrub() -> bool:
        scrubs.append(await database.scrub())
        return scrubs[-1]

    follower = StoreFollower(
        database,
        outbox,
        backend,
        RealClock(),
        home=home,
        owner=StoreOwner(f"test-host:{os.getpid()}:0", is_owner_dead),
        scrub=scrub,
    )
    harness = FollowerHarness(home, database, backend, embedder, follower, FactStore(), outbox, scrubs)
    try:
        if started:
            follower.start(after=0)
        yield harness
    finally:
        await follower.stop()
        await backend.close()
        await database.close()
