"""The open store of a process that owns it: opened, begun anew, brought up to date, closed."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from gaia_memory.backend.mem0_store.chroma.malloc_trim import trim_heap
from gaia_memory.backend.mem0_store.locations import StoreLocation
from gaia_memory.backend.mem0_store.store import Mem0Store, StoreContents, StoreLabel, is_same_embedder
from gaia_memory.backend.mem0_store.store_ids import next_store_id
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
"""Facts compared at once with what an unproven store holds: Chroma holds the interpreter's lock while it reads."""

EXISTENCE_CHECK_SECONDS = 5.0
"""How often a store on a server is looked for while there is nothing to write."""

TRIM_AFTER_FACTS = 1_000
"""Facts after which what writing them took is given back, once there is nothing more to write."""


class StoreWriter:
    """Holds the one open store; everything it does to it happens in one thread, one thing at a time."""

    def __init__(
        self, location: StoreLocation, pool: WorkerPool, database: Database, outbox: Outbox, embedder: Embedder
    ) -> None:
        """Keep the store at `location`; nothing is opened yet. `pool` has one thread."""
        self.location = location
        self.store: Mem0Store | None = None
        self.is_rebuilding = False
        self.refused_count = 0
        self.write_seconds = 0.0
        """How long the last write took: as long stood whatever else this process had to do."""

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
        """Whether a store is open and nothing is known against it."""
        return self.store is not None and not self._is_broken

    def is_current(self, state: StoreState) -> bool:
        """Say whether the open store is the one the database names."""
        return self.store is not None and self.store.label.store_id == state.store_id

    async def reopen(self, state: StoreState) -> bool:
        """Open the store the database names; False when it has to be begun anew."""
        await self.close()
        self.store = await self._run(self.location.reopen, StoreLabel(state.store_id, self._embedder.identity))
        self._is_broken = self.store is not None and self.store.unverified is not None
        if self.store is not None and self.store.unverified is not None:
            self._is_broken = not await self._is_verified(self.store.unverified)
        return self.is_usable

    async def erasures_before(self, state: StoreState) -> set[int]:
        """Return the erasures that were noted before the store of the database was begun, as far as is known."""
        label = StoreLabel(state.store_id, self._embedder.identity)
        return await self._run(self.location.erasures_before, label)

    async def recreate(self, state: StoreState, erasures: Collection[int]) -> list[int]:
        """Begin an empty store after that of `state`, which the database is then told to fill; no model is asked.

        `erasures` are known to be noted. Returns those that were pending in the very state of the database in which
        the store was named: nothing that was forgotten before it can get into the new store.
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
        log.info("the mem0 store is written anew from the database", extra=fields)
        return erasures

    async def apply(self, rows: Sequence[DirtyFact]) -> list[DirtyFact]:
        """Bring these facts in the store to where they are in the database; return rows that want a vector first.

        A fact with a vector of another embedder is taken out and its row leaves the outbox: vectors of two
        embedders never meet in one store. Giving it a new vector makes it dirty again.
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
        """Give back what a pass over many facts took, now that it is done."""
        if self._written_since_trim >= TRIM_AFTER_FACTS:
            self._written_since_trim = 0
            await self._run(trim_heap)

    async def close_if_missing(self) -> None:
        """Close a store that does not stand on its server any more: what stands there now is opened instead.

        Raises:
            Exception: the server does not answer; when it does again, what it holds then is opened.
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
        """Close the store and note its files, so that the next open needs no probe."""
        if self.store is not None:
            await self._run(self._close)

    def close_without_loop(self) -> None:
        """Close from a thread without an event loop; a store at work is left to the kernel."""
        if self._store_lock.acquire(timeout=CLOSE_WAIT_SECONDS):
            try:
                self._close()
            finally:
                self._store_lock.release()

    async def _is_verified(self, contents: StoreContents) -> bool:
        """Compare what a store holds with what the database says was followed: a damaged row may read well."""
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
        # What it holds besides was changed since, which is noted.
        return count is not None and compared <= count <= compared + lag

    async def _read_or_none(self, read: Callable[..., T], *arguments: Any) -> T | None:
        """Return the answer of an open store; None where it cannot be read."""
        try:
            return await self._run(read, *arguments)
        except GaiaMemoryError:
            raise
        except Exception:
            # Whatever Chroma raises about a damaged row, a new store does not have it.
            return None

    def _has_current_vector(self, stored: StoredFact) -> bool:
        """Say whether a fact has a vector of our embedder."""
        return stored.vector is not None and is_same_embedder(self._embedder.identity, stored.embedder or "")

    async def _classify_rows(
        self, rows: Sequence[DirtyFact]
    ) -> tuple[list[StoredFact], list[str], list[DirtyFact], list[DirtyFact]]:
        """Read the facts of `rows`: those to be put, ids to be removed, rows without vector, rows then done."""
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
        """Write to the store; return the ids of facts that it refuses to hold."""
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
                # Whoever answers next may hold another store.
                await self.close()
            raise
        return refused

    async def _remove_forgotten(self, written: Sequence[StoredFact]) -> None:
        """Look again after writing where another process may have followed a delete meanwhile."""
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
        # A broken store may fail to close: its folder is removed or probed before anybody opens it again.
        with contextlib.suppress(Exception):
            store.close()
            if not self._is_broken:
                self.location.mark_closed(store.label)
