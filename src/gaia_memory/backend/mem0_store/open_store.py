"""The open store of a process that owns it: opened, begun anew, brought up to date, closed."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from gaia_memory.backend.mem0_store.chroma.malloc_trim import give_back
from gaia_memory.backend.mem0_store.locations import Place
from gaia_memory.backend.mem0_store.store import Held, Label, Mem0Store, same_embedder
from gaia_memory.backend.mem0_store.store_ids import next_id
from gaia_memory.backend.thread_pools import Pool
from gaia_memory.errors import GaiaMemoryError
from gaia_memory.log import logger_for
from gaia_memory.models import DirtyFact, StoredFact, StoreState
from gaia_memory.ports import Database, Embedder, Outbox
from gaia_memory.telemetry import about, memory_span

T = TypeVar("T")

log = logger_for(__name__)

ABANDON_SECONDS = 3.0
COMPARED = 100
"""Facts compared at once with what an unproven store holds: Chroma holds the interpreter's lock while it reads."""

LOOK_SECONDS = 5.0
"""How often a store on a server is looked for while there is nothing to write."""

MANY = 1_000
"""Facts after which what writing them took is given back, once there is nothing more to write."""


class StoreKeeper:
    """Holds the one open store; everything it does to it happens in one thread, one thing at a time."""

    def __init__(self, place: Place, pool: Pool, database: Database, outbox: Outbox, embedder: Embedder) -> None:
        """Keep the store at `place`; nothing is opened yet. `pool` has one thread."""
        self.place = place
        self.store: Mem0Store | None = None
        self.rebuilding = False
        self.refused = 0
        self.write_seconds = 0.0
        """How long the last write took: as long stood whatever else this process had to do."""

        self._broken = False
        self._looked = 0.0
        self._written = 0
        self._pool = pool
        self._database = database
        self._outbox = outbox
        self._embedder = embedder
        self._at_work = threading.Lock()

    @property
    def usable(self) -> bool:
        """Whether a store is open and nothing is known against it."""
        return self.store is not None and not self._broken

    def carries(self, state: StoreState) -> bool:
        """Say whether the open store is the one the database names."""
        return self.store is not None and self.store.label.store_id == state.store_id

    async def reopen(self, state: StoreState) -> bool:
        """Open the store the database names; False when it has to be begun anew."""
        await self.close()
        self.store = await self._work(self.place.reopen, Label(state.store_id, self._embedder.identity))
        self._broken = self.store is not None and self.store.unproven is not None
        if self.store is not None and self.store.unproven is not None:
            self._broken = not await self._is_proven(self.store.unproven)
        return self.usable

    async def begun_after(self, state: StoreState) -> set[int]:
        """Return the erasures that were noted before the store of the database was begun, as far as is known."""
        label = Label(state.store_id, self._embedder.identity)
        return await self._work(self.place.begun_after, label)

    async def renew(self, state: StoreState, erasures: Collection[int]) -> list[int]:
        """Begin an empty store after that of `state`, which the database is then told to fill; no model is asked.

        `erasures` are known to be noted. Returns those that were pending in the very state of the database in which
        the store was named: nothing that was forgotten before it can get into the new store.
        """
        await self.close()
        label = Label(next_id(state.store_id), self._embedder.identity)
        with memory_span("create_memory_store", store=label.store_id):
            self.store = await self._work(self.place.begin, label, erasures)
        self._broken = True
        async with self._database.transaction() as tx:
            await self._outbox.renew(tx, label.store_id)
            erasures = await self._outbox.erasures(tx)
        self._broken = False
        self.rebuilding = True
        self.refused = 0
        fields = about("store.begun", mem0=label.store_id, erasures=len(erasures))
        log.info("the mem0 store is written anew from the database", extra=fields)
        return erasures

    async def follow(self, rows: Sequence[DirtyFact]) -> list[DirtyFact]:
        """Bring these facts in the store to where they are in the database; return rows that want a vector first.

        A fact with a vector of another embedder is taken out and its row leaves the outbox: vectors of two
        embedders never meet in one store. Giving it a new vector makes it dirty again.
        """
        assert self.store is not None
        facts, gone, wanting, followed = await self._sort(rows)
        with memory_span("follow_store", store=self.store.label.store_id) as span:
            span.count(len(facts) + len(gone))
            refused = await self._write(facts, gone)
        self.refused += len(refused)
        self._written += len(rows)
        async with self._database.transaction() as tx:
            await self._outbox.done(tx, followed)
        return wanting

    async def rest(self) -> None:
        """Give back what a pass over many facts took, now that it is done."""
        if self._written >= MANY:
            self._written = 0
            await self._work(give_back)

    async def look(self) -> None:
        """Close a store that does not stand on its server any more: what stands there now is opened instead.

        Raises:
            Exception: the server does not answer; when it does again, what it holds then is opened.
        """
        if self.store is None or self.place.embedded or time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        try:
            there = await self._work(self.store.is_in_place)
        except Exception:
            await self.close()
            raise
        if not there:
            await self.close()

    async def close(self) -> None:
        """Close the store and note its files, so that the next open needs no probe."""
        if self.store is not None:
            await self._work(self._close)

    def abandon(self) -> None:
        """Close from a thread without an event loop; a store at work is left to the kernel."""
        if self._at_work.acquire(timeout=ABANDON_SECONDS):
            try:
                self._close()
            finally:
                self._at_work.release()

    async def _is_proven(self, held: Held) -> bool:
        """Compare what a store holds with what the database says was followed: a damaged row may read well."""
        followed, last = 0, ""
        while True:
            async with self._database.reading() as tx:
                page = await self._outbox.followed(tx, after=last, limit=COMPARED)
            if not page:
                break
            last = page[-1].fact.id
            facts = [stored for stored in page if self._belongs(stored)]
            followed += len(facts)
            if facts and not await self._answers(held.holds, facts):
                return False
        count = await self._answers(held.count)
        async with self._database.reading() as tx:
            lag = (await self._outbox.store(tx)).lag
        # What it holds besides was changed since, which is noted.
        return count is not None and followed <= count <= followed + lag

    async def _answers(self, ask: Callable[..., T], *arguments: Any) -> T | None:
        """Return the answer of an open store; None where it cannot be read."""
        try:
            return await self._work(ask, *arguments)
        except GaiaMemoryError:
            raise
        except Exception:
            # Whatever Chroma raises about a damaged row, a new store does not have it.
            return None

    def _belongs(self, stored: StoredFact) -> bool:
        """Say whether a fact has a vector of our embedder."""
        return stored.vector is not None and same_embedder(self._embedder.identity, stored.embedder or "")

    async def _sort(
        self, rows: Sequence[DirtyFact]
    ) -> tuple[list[StoredFact], list[str], list[DirtyFact], list[DirtyFact]]:
        """Read the facts of `rows`: those to be put, ids to be removed, rows without vector, rows then done."""
        async with self._database.reading() as tx:
            found = await self._outbox.read(tx, [row.fact_id for row in rows])
        facts: list[StoredFact] = []
        gone: list[str] = []
        wanting: list[DirtyFact] = []
        followed: list[DirtyFact] = []
        for row in rows:
            stored = found.get(row.fact_id)
            if stored is not None and stored.vector is None:
                wanting.append(row)
                continue
            followed.append(row)
            if stored is None or not self._belongs(stored):
                gone.append(row.fact_id)
            else:
                facts.append(stored)
        return facts, gone, wanting, followed

    async def _write(self, facts: Sequence[StoredFact], gone: Sequence[str]) -> list[str]:
        """Write to the store; return the ids of facts that it refuses to hold."""
        assert self.store is not None
        started = time.monotonic()
        try:
            refused = await self._work(self.store.write, facts, gone)
            self.write_seconds = time.monotonic() - started
            if not self.place.embedded and facts:
                await self._remove_forgotten(facts)
        except GaiaMemoryError:
            raise
        except Exception:
            if self.place.embedded:
                self._broken = True
            else:
                # Whoever answers next may hold another store.
                await self.close()
            raise
        return refused

    async def _remove_forgotten(self, written: Sequence[StoredFact]) -> None:
        """Look again after writing where another process may have followed a delete meanwhile."""
        assert self.store is not None
        ids = [stored.fact.id for stored in written]
        async with self._database.reading() as tx:
            found = await self._outbox.read(tx, ids)
        if late := [fact_id for fact_id in ids if fact_id not in found]:
            await self._work(self.store.write, [], late)

    async def _work(self, call: Callable[..., T], *arguments: Any) -> T:
        return await self._pool.run(self._alone, call, *arguments)

    def _alone(self, call: Callable[..., T], *arguments: Any) -> T:
        with self._at_work:
            return call(*arguments)

    def _close(self) -> None:
        store, self.store = self.store, None
        if store is None:
            return
        # A broken store may fail to close: its folder is removed or probed before anybody opens it again.
        with contextlib.suppress(Exception):
            store.close()
            if not self._broken:
                self.place.closed(store.label)
