"""The open store of the process that owns it: opened, recreated, brought up to date, closed."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from gaia_memory.backend.mem0_store.chroma.malloc_trim import trim_heap
from gaia_memory.backend.mem0_store.store import Mem0Store, StoreContents, StoreLabel, is_same_embedder
from gaia_memory.backend.mem0_store.store_ids import next_store_id
from gaia_memory.backend.mem0_store.vector_stores import StoreLocation
from gaia_memory.backend.thread_pools import WorkerPool
from gaia_memory.errors import GaiaMemoryError
from gaia_memory.log import logger_for
from gaia_memory.models import DirtyFact, StoredFact, StoreState
from gaia_memory.ports import Database, Embedder, Outbox
from gaia_memory.telemetry import log_fields, memory_span

T = TypeVar("T")

log = logger_for(__name__)

CLOSE_WAIT_SECONDS = 3.0
COMPARE_PAGE_FACTS = 100
"""Facts of an unverified store compared at once: Chroma holds the GIL while it reads."""

EXISTENCE_CHECK_SECONDS = 5.0
"""How often to check that a store on a server still exists while there is nothing to write."""

TRIM_AFTER_FACTS = 1_000
"""After this many facts, freed memory is returned to the system once nothing is left to write."""


class StoreWriter:
    """Owns the one open store and makes all calls to it in one thread, one at a time."""

    def __init__(
        self, location: StoreLocation, pool: WorkerPool, database: Database, outbox: Outbox, embedder: Embedder
    ) -> None:
        """Open nothing yet. `pool` has one thread."""
        self.location = location
        self.store: Mem0Store | None = None
        self.is_rebuilding = False
        self.refused_count = 0
        self.write_seconds = 0.0
        """Duration of the last write, which kept the GIL and stopped everything else in this process."""

        self._is_broken = False
        self._checked_at = 0.0
        self._written_since_trim = 0
        self._pool = pool
        self._database = database
        self._outbox = outbox
        self._embedder = embedder
        self._store_lock = threading.Lock()

    @property
    def is_usable(self) -> bool:
        """Whether a store is open and not known to be damaged."""
        return self.store is not None and not self._is_broken

    def is_current(self, state: StoreState) -> bool:
        """Return whether the open store is the one that the database names."""
        return self.store is not None and self.store.label.store_id == state.store_id

    async def reopen(self, state: StoreState) -> bool:
        """Open the store that the database names; False when it must be recreated."""
        await self.close()
        self.store = await self._run(self.location.reopen, StoreLabel(state.store_id, self._embedder.identity))
        self._is_broken = self.store is not None and self.store.unverified is not None
        if self.store is not None and self.store.unverified is not None:
            self._is_broken = not await self._is_verified(self.store.unverified)
        return self.is_usable

    async def erasures_before(self, state: StoreState) -> set[int]:
        """Return the erasures that were noted before the database's store was created, as far as is known."""
        label = StoreLabel(state.store_id, self._embedder.identity)
        return await self._run(self.location.erasures_before, label)

    async def recreate(self, state: StoreState, erasures: Collection[int]) -> list[int]:
        """Replace the store of `state` by an empty one and mark every fact as dirty; no model is called.

        `erasures` are those already noted. Returns the erasures that were pending in the transaction that named the
        new store: their facts cannot get into it.
        """
        await self.close()
        label = StoreLabel(next_store_id(state.store_id), self._embedder.identity)
        with memory_span("create_memory_store", store=label.store_id):
            self.store = await self._run(self.location.create, label, erasures)
        self._is_broken = True
        async with self._database.transaction() as tx:
            await self._outbox.reset_store(tx, label.store_id)
            erasures = await self._outbox.pending_erasures(tx)
        self._is_broken = False
        self.is_rebuilding = True
        self.refused_count = 0
        fields = log_fields("store.begun", mem0=label.store_id, erasures=len(erasures))
        log.info("the mem0 store is being rebuilt from the database", extra=fields)
        return erasures

    async def apply(self, rows: Sequence[DirtyFact]) -> list[DirtyFact]:
        """Apply the current state of these facts to the store; return rows that need a vector first.

        A fact with a vector of another embedder is removed and its row leaves the outbox, because a store never mixes
        vectors of two embedders. A new vector makes the fact dirty again.
        """
        assert self.store is not None
        facts, removed_ids, unembedded, applied = await self._classify_rows(rows)
        with memory_span("follow_store", store=self.store.label.store_id) as span:
            span.set_record_count(len(facts) + len(removed_ids))
            refused = await self._write(facts, removed_ids)
        self.refused_count += len(refused)
        self._written_since_trim += len(rows)
        async with self._database.transaction() as tx:
            await self._outbox.acknowledge(tx, applied)
        return unembedded

    async def trim_memory(self) -> None:
        """Return the memory of a finished pass over many facts to the system."""
        if self._written_since_trim >= TRIM_AFTER_FACTS:
            self._written_since_trim = 0
            await self._run(trim_heap)

    async def close_if_missing(self) -> None:
        """Close a store that has disappeared from its server; the store that is there instead is opened next.

        Raises:
            Exception: the server does not answer; its store is opened again when it does.
        """
        if (
            self.store is None
            or self.location.is_embedded
            or time.monotonic() - self._checked_at < EXISTENCE_CHECK_SECONDS
        ):
            return
        self._checked_at = time.monotonic()
        try:
            exists = await self._run(self.store.still_exists)
        except Exception:
            await self.close()
            raise
        if not exists:
            await self.close()

    async def close(self) -> None:
        """Close the store and record its files, so that the next open needs no probe."""
        if self.store is not None:
            await self._run(self._close)

    def close_without_loop(self) -> None:
        """Close from a thread without an event loop; a store in the middle of a call is left to the kernel."""
        if self._store_lock.acquire(timeout=CLOSE_WAIT_SECONDS):
            try:
                self._close()
            finally:
                self._store_lock.release()

    async def _is_verified(self, contents: StoreContents) -> bool:
        """Compare a store with the facts that the database has applied: a damaged row may be readable."""
        compared, last = 0, ""
        while True:
            async with self._database.read_transaction() as tx:
                page = await self._outbox.synced_facts(tx, after=last, limit=COMPARE_PAGE_FACTS)
            if not page:
                break
            last = page[-1].fact.id
            facts = [stored for stored in page if self._has_current_vector(stored)]
            compared += len(facts)
            if facts and not await self._read_or_none(contents.contains, facts):
                return False
        count = await self._read_or_none(contents.count)
        async with self._database.read_transaction() as tx:
            lag = (await self._outbox.store(tx)).lag
        # Further rows have changed since and are in the outbox.
        return count is not None and compared <= count <= compared + lag

    async def _read_or_none(self, read: Callable[..., T], *arguments: Any) -> T | None:
        """Return the result of reading an open store; None when it is unreadable."""
        try:
            return await self._run(read, *arguments)
        except GaiaMemoryError:
            raise
        except Exception:
            # Whatever Chroma raises about a damaged row, a new store is free of it.
            return None

    def _has_current_vector(self, stored: StoredFact) -> bool:
        """Return whether a fact has a vector of the current embedder."""
        return stored.vector is not None and is_same_embedder(self._embedder.identity, stored.embedder or "")

    async def _classify_rows(
        self, rows: Sequence[DirtyFact]
    ) -> tuple[list[StoredFact], list[str], list[DirtyFact], list[DirtyFact]]:
        """Return facts to write, ids to remove, rows without a vector and rows to acknowledge."""
        async with self._database.read_transaction() as tx:
            found = await self._outbox.load_facts(tx, [row.fact_id for row in rows])
        facts: list[StoredFact] = []
        removed_ids: list[str] = []
        unembedded: list[DirtyFact] = []
        applied: list[DirtyFact] = []
        for row in rows:
            stored = found.get(row.fact_id)
            if stored is not None and stored.vector is None:
                unembedded.append(row)
                continue
            applied.append(row)
            if stored is None or not self._has_current_vector(stored):
                removed_ids.append(row.fact_id)
            else:
                facts.append(stored)
        return facts, removed_ids, unembedded, applied

    async def _write(self, facts: Sequence[StoredFact], removed_ids: Sequence[str]) -> list[str]:
        """Write to the store; return the ids of facts that it refuses."""
        assert self.store is not None
        started = time.monotonic()
        try:
            refused = await self._run(self.store.write, facts, removed_ids)
            self.write_seconds = time.monotonic() - started
            if not self.location.is_embedded and facts:
                await self._remove_forgotten(facts)
        except GaiaMemoryError:
            raise
        except Exception:
            if self.location.is_embedded:
                self._is_broken = True
            else:
                # The server that answers next may have another store.
                await self.close()
            raise
        return refused

    async def _remove_forgotten(self, written: Sequence[StoredFact]) -> None:
        """Remove facts that another process has deleted while they were written."""
        assert self.store is not None
        ids = [stored.fact.id for stored in written]
        async with self._database.read_transaction() as tx:
            found = await self._outbox.load_facts(tx, ids)
        if forgotten_ids := [fact_id for fact_id in ids if fact_id not in found]:
            await self._run(self.store.write, [], forgotten_ids)

    async def _run(self, call: Callable[..., T], *arguments: Any) -> T:
        return await self._pool.run(self._run_exclusively, call, *arguments)

    def _run_exclusively(self, call: Callable[..., T], *arguments: Any) -> T:
        with self._store_lock:
            return call(*arguments)

    def _close(self) -> None:
        store, self.store = self.store, None
        if store is None:
            return
        # A broken store may fail to close. Its folder is removed or probed before the next open.
        with contextlib.suppress(Exception):
            store.close()
            if not self._is_broken:
                self.location.mark_closed(store.label)
