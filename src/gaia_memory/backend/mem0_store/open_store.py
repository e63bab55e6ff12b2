"""The open store of the process that owns it: opened, recreated, brought up to date, closed."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from gaia_memory.backend.mem0_store.store import (
    Mem0Builder,
    Mem0Store,
    StoreLabel,
    StoreLocation,
    StoreRow,
    next_store_id,
)
from gaia_memory.backend.thread_pools import WorkerPool
from gaia_memory.errors import GaiaMemoryError, InvalidInputError
from gaia_memory.log import log_fields, logger_for
from gaia_memory.models import DirtyFact, Fact, StoredFact, StoreState, is_same_embedder
from gaia_memory.models.new_fact import require_bounded
from gaia_memory.ports import Clock, Embedder
from gaia_memory.telemetry import memory_span

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts.outbox import Outbox

T = TypeVar("T")

log = logger_for(__name__)

CLOSE_WAIT_SECONDS = 3.0

EXISTENCE_CHECK_SECONDS = 5.0
"""How often to check that a store on a server still exists while there is nothing to write."""


class StoreWriter:
    """Owns the one open store and makes all calls to it in one thread, one at a time."""

    def __init__(
        self,
        location: StoreLocation,
        pool: WorkerPool,
        database: Database,
        outbox: Outbox,
        backend: Mem0Builder,
        clock: Clock,
    ) -> None:
        """Open nothing yet. `pool` has one thread. A sensitive fact waits for a vector only if it gets one."""
        self.location = location
        self.store: Mem0Store | None = None
        self.is_rebuilding = False
        self.refused: set[str] = set()
        """The facts that the store does not take."""

        self.write_seconds = 0.0
        """Duration of the last write, which kept the GIL and stopped everything else in this process."""

        self._is_broken = False
        self._checked_at = 0.0
        self._pool = pool
        self._database = database
        self._outbox = outbox
        self._embedder: Embedder = backend.embedder
        self._backend = backend
        self._clock = clock
        self._store_lock = threading.Lock()

    @property
    def is_usable(self) -> bool:
        """Whether a store is open and not known to be damaged."""
        return self.store is not None and not self._is_broken

    def is_current(self, state: StoreState) -> bool:
        """Return whether the open store is usable and the one that the database names."""
        return self.store is not None and not self._is_broken and self.store.label.store_id == state.store_id

    async def reopen(self, state: StoreState) -> Mem0Store | None:
        """Open the store that the database names; None when it must be recreated."""
        self.store = await self._run(self.location.reopen, StoreLabel(state.store_id, self._embedder.identity))
        self._is_broken = False
        return self.store

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
        self.refused.clear()
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
            self.refused.update(await self._write(facts, removed_ids))
        async with self._database.transaction() as tx:
            await self._outbox.acknowledge(tx, applied)
        return unembedded

    async def rows(self) -> list[StoreRow]:
        """Return every row of the open store."""
        assert self.store is not None
        return await self._run(self.store.rows)

    async def close_if_missing(self) -> None:
        """Close a store that has disappeared from its server; the store that is there instead is opened next.

        Raises:
            Exception: the server does not answer; its store is opened again when it does.
        """
        now = time.monotonic()
        if self.store is None or self.location.is_embedded or now - self._checked_at < EXISTENCE_CHECK_SECONDS:
            return
        self._checked_at = now
        exists = False
        try:
            exists = await self._run(self.store.still_exists)
        finally:
            if not exists:
                await self.close()

    async def close(self) -> None:
        """Close the store and record that it was closed cleanly."""
        if self.store is not None:
            await self._run(self._close)

    def close_without_loop(self) -> None:
        """Close from a thread without an event loop; a store in the middle of a call is left to the kernel."""
        if self._store_lock.acquire(timeout=CLOSE_WAIT_SECONDS):
            try:
                self._close()
            finally:
                self._store_lock.release()

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
            if stored is not None and stored.vector is None and self._gets_vector(stored):
                unembedded.append(row)
                continue
            applied.append(row)
            is_current = stored is not None and stored.fact.holds_at(self._clock.now())
            if stored is None or not is_current or not is_same_embedder(self._embedder.identity, stored.embedder or ""):
                removed_ids.append(row.fact_id)
            elif _is_too_large(stored.fact):
                removed_ids.append(row.fact_id)
                self.refused.add(row.fact_id)
            else:
                facts.append(stored)
        return facts, removed_ids, unembedded, applied

    def _gets_vector(self, stored: StoredFact) -> bool:
        return not stored.fact.sensitive or self._backend.embeds_sensitive

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
        # A broken store may fail to close. Without the record of a clean close it is not opened again.
        with contextlib.suppress(Exception):
            store.close()
            if not self._is_broken:
                self.location.mark_closed(store.label)


def _is_too_large(fact: Fact) -> bool:
    """Return whether an earlier release stored a fact that Chroma would stumble over, with every write after it."""
    try:
        require_bounded(fact.metadata)
    except InvalidInputError:
        return True
    return False
