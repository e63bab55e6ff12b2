"""The open store of a process that owns it: opened, begun anew, brought up to date, closed."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from gaia_memory.backend.follow.places import Place
from gaia_memory.backend.follow.store import Label, Mem0Store, same_embedder
from gaia_memory.backend.pools import Pool
from gaia_memory.errors import GaiaMemoryError
from gaia_memory.models import DirtyFact, StoredFact, StoreState
from gaia_memory.ports import Database, Embedder, Outbox

T = TypeVar("T")

ABANDON_SECONDS = 3.0


class StoreKeeper:
    """Holds the one open store; everything it does to it happens in one thread, one thing at a time."""

    def __init__(self, place: Place, pool: Pool, database: Database, outbox: Outbox, embedder: Embedder) -> None:
        """Keep the store at `place`; nothing is opened yet. `pool` has one thread."""
        self.place = place
        self.store: Mem0Store | None = None
        self.rebuilding = False
        self.refused = 0
        self._broken = False
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
        self._broken = False
        return self.store is not None

    async def renew(self) -> list[int]:
        """Begin an empty store, which the database is then told to fill; no model is asked.

        Returns the erasures that were pending in that very state of the database: nothing that was forgotten
        before it can get into the new store.
        """
        await self.close()
        label = Label(uuid.uuid4().hex, self._embedder.identity)
        self.store = await self._work(self.place.begin, label)
        self._broken = True
        async with self._database.transaction() as tx:
            await self._outbox.renew(tx, label.store_id)
            erasures = await self._outbox.erasures(tx)
        self._broken = False
        self.rebuilding = True
        self.refused = 0
        return erasures

    async def follow(self, rows: Sequence[DirtyFact]) -> list[DirtyFact]:
        """Bring these facts in the store to where they are in the database; return rows that want a vector first.

        A fact with a vector of another embedder is taken out and its row leaves the outbox: vectors of two
        embedders never meet in one store. Giving it a new vector makes it dirty again.
        """
        assert self.store is not None
        facts, gone, wanting, followed = await self._sort(rows)
        try:
            refused = await self._work(self.store.write, facts, gone)
            if not self.place.embedded and facts:
                await self._remove_forgotten(facts)
        except GaiaMemoryError:
            raise
        except Exception:
            self._broken = self.place.embedded
            raise
        self.refused += len(refused)
        async with self._database.transaction() as tx:
            await self._outbox.done(tx, followed)
        return wanting

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
            if stored is None or not same_embedder(self._embedder.identity, stored.embedder or ""):
                gone.append(row.fact_id)
            else:
                facts.append(stored)
        return facts, gone, wanting, followed

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
