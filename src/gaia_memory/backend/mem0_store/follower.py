"""The follower: brings the mem0 store to the state of the database, in whichever process owns the store."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable
from contextvars import Context
from pathlib import Path
from typing import Any, Protocol

from gaia_memory.backend.mem0_store.erasures import Erasing
from gaia_memory.backend.mem0_store.locations import place
from gaia_memory.backend.mem0_store.open_store import StoreKeeper
from gaia_memory.backend.mem0_store.ownership import LEASE_SECONDS, FolderLock, Ownership, StoreLease
from gaia_memory.backend.mem0_store.store import Builder
from gaia_memory.backend.mem0_store.throttle import Pace
from gaia_memory.backend.mem0_store.vector_backfill import MissingVectors
from gaia_memory.backend.mem0_store.wait_synced import Settling, owner_process
from gaia_memory.backend.providers.provider_specs import Provider
from gaia_memory.backend.thread_pools import Pool
from gaia_memory.errors import GaiaMemoryError, MemoryUnavailable, StoreNotOwnedError, StoreStalledError
from gaia_memory.log import logger_for
from gaia_memory.models import DirtyFact, StoreState
from gaia_memory.ports import Clock, Database, Embedder, Outbox
from gaia_memory.telemetry import about, frames_of

IDLE = 0.5
UNWANTED_IDLE = 30.0
"""Seconds between looks for what another process forgot while memory is off; a forget of this one is not waited for."""

AWAITED_IDLE = 0.05
CLAIM_EVERY = 1.0
FIRST_BACK_OFF = 0.25
LONGEST_BACK_OFF = 30.0
AWAITED_BACK_OFF = 1.0
STOP_SECONDS = 2.0
_SETTLE = "await memory.settled() first"
_SWITCH_ON = "set `memory.enabled: true` in gaia.yaml"

log = logger_for(__name__)


class FollowedBackend(Builder, Protocol):
    """What the follower needs of the backend."""

    embedder: Any
    store_provider: Provider


class StoreFollower:
    """Owns the mem0 store, or keeps trying to, and follows the outbox while it does.

    Nothing waits for it but `settled` and `stop`. `trouble` says what keeps it from writing, or is None.
    """

    def __init__(
        self,
        database: Database,
        outbox: Outbox,
        backend: FollowedBackend,
        clock: Clock,
        *,
        home: Path,
        owner: str,
        is_gone: Callable[[str], bool],
        scrub: Callable[[], Awaitable[bool]],
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """Take what is needed; nothing is opened and no file is touched.

        `owner` names this follower and no other one; `is_gone`, which blocks, says whether an owner has ended. While
        the store is not wanted (`is_wanted`) it is opened only for what has to leave it or somebody waits for.
        """
        embedder: Embedder = backend.embedder
        where, lock = place(backend, backend.store_provider, home)
        self.progress = 0
        self.owned = False
        self.is_gone = is_gone
        self._database = database
        self._outbox = outbox
        self._clock = clock
        self._erasing = Erasing(database, outbox, scrub)
        self._pool = Pool("gaia-follower", 1)
        self._keeper = StoreKeeper(where, self._pool, database, outbox, embedder)
        seconds = None if where.embedded and database.is_local else LEASE_SECONDS
        lease = StoreLease(database, outbox, clock, owner, is_gone=is_gone, seconds=seconds)
        self._ownership: Ownership = FolderLock(lock, self._pool, lease) if where.embedded else lease
        self._vectors = MissingVectors(database, outbox, embedder, self.wake)
        self._wake = asyncio.Event()
        self._begin = asyncio.Event()
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_wanted = is_wanted
        self._rests = False
        self._waiters = 0
        self._pace = Pace()
        self._tried = False
        self._holds_forgotten = False
        self._seen_owner: str | None = None
        self._failures = 0
        self._trouble: str | None = None
        self._told: set[str] = set()

    @property
    def mem0(self) -> Any:
        """The `mem0.Memory` over the store, for reading; valid until the next erasure. Its calls block.

        Raises:
            StoreNotOwnedError: another process owns the store, it is not open yet, or still holds what was forgotten.
        """
        store = self._keeper.store
        if self.owned and store is not None and self._keeper.usable:
            if self._holds_forgotten:
                raise StoreNotOwnedError("what was forgotten is just leaving the mem0 store", remedy=_SETTLE)
            return store.memory
        if self._rests:
            raise StoreNotOwnedError("memory is off, and the mem0 store is not open", remedy=_SWITCH_ON)
        if self.owned or (not self._tried and self._running):
            raise StoreNotOwnedError("the mem0 store is still being opened", remedy=_SETTLE)
        if not self._running:
            raise StoreNotOwnedError("the mem0 store is not open", remedy="use it inside `async with open_memory(…)`")
        pid, host = owner_process(self._seen_owner)
        raise StoreNotOwnedError(
            f"the mem0 store is owned by process {pid} on {host}",
            remedy="read it there, or end that process: this one takes over within seconds",
        )

    @property
    def trouble(self) -> str | None:
        """What keeps facts out of the mem0 store, in words for `status`; None when nothing does."""
        refused = self._keeper.refused
        return (
            self._trouble
            or self._vectors.trouble
            or self._erasing.trouble
            or (f"the mem0 store refused {refused} facts; they are found all the same" if refused else None)
        )

    @property
    def ready(self) -> bool:
        """Whether the store is open here, or this process tried in vain to become its owner."""
        return self._keeper.usable if self.owned else self._tried

    def folder(self, store_id: str) -> Path | None:
        """Return where the files of an embedded store are; None for one that stands elsewhere."""
        return self._keeper.place.folder(store_id)

    @property
    def embedded(self) -> bool:
        """Whether the store is a folder of this machine, whose files are rewritten after a forget."""
        return self._keeper.place.embedded

    async def aside(self) -> list[str]:
        """Return where stores stand that something else had filled and that were set aside, as far as is known here."""
        return await asyncio.to_thread(self._keeper.place.aside)

    @property
    def _running(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self, *, after: float = 0.0) -> None:
        """Begin to follow in the background of the running loop, `after` so many seconds or when somebody waits for it.

        Of two beginnings the earlier one counts.
        """
        if self._task is None:
            # What follows for everybody must not carry on the trace of whoever opened memory.
            running = asyncio.get_running_loop()
            self._task = running.create_task(self._run(after), name="gaia-follower", context=Context())
        elif not after:
            self._begin.set()
            self.wake()

    def wake(self) -> None:
        """Say that there may be something to follow."""
        self._pace.changed()
        self._wake.set()

    async def settled(self, *, stall_seconds: float = 60.0) -> None:
        """Return when the ids dirty at the call are applied and no erasure is pending, whoever owns the store.

        Where this process can own the store it is open then.

        Raises:
            StoreStalledError: no progress for `stall_seconds`, or nothing was started that could make any.
        """
        if not self._running:
            raise StoreStalledError(
                "the mem0 store is not followed in this process: its follower was not started or has stopped",
                remedy="call it inside `async with open_memory(…)`",
            )
        self._waiters += 1
        self._tried = False
        self._begin.set()
        self._hurry.set()
        self.wake()
        try:
            await Settling(self._database, self._outbox, self._clock, self).wait(stall_seconds=stall_seconds)
        finally:
            self._waiters -= 1

    async def stop(self) -> None:
        """Close the store in order and give it back, within seconds; what is not followed yet stays noted."""
        self._stopping.set()
        self._begin.set()
        self._hurry.set()
        self.wake()
        self._keeper.place.end()
        if self._task is not None:
            _, late = await asyncio.wait({self._task}, timeout=STOP_SECONDS)
            for task in late:
                task.cancel()
        await self._vectors.stop()
        with contextlib.suppress(TimeoutError):
            # A store that hangs keeps its lock until the process ends: nobody else may write it meanwhile.
            async with asyncio.timeout(STOP_SECONDS):
                await self._let_go()
        await self._pool.close(grace=STOP_SECONDS / 2)

    def abandon(self) -> None:
        """Close the store and release its lock where the event loop is gone."""
        self._keeper.place.end()
        closing = threading.Thread(target=self._abandon, daemon=True)
        try:
            closing.start()
        except RuntimeError:
            # The interpreter is ending and starts no threads any more; no loop runs here then.
            self._abandon()
        else:
            closing.join()

    def _abandon(self) -> None:
        self._keeper.abandon()
        if self._keeper.store is None:
            self._ownership.abandon()
            self.owned = False
        self._pool.abandon()

    async def _run(self, after: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(after):
                await self._begin.wait()
        while not self._stopping.is_set():
            try:
                if await self._round():
                    self._is_well()
            except Exception as error:
                # Database, Chroma, mem0 and the disk meet here: whatever it is, it is tried again, ever later.
                await self._back_off(error)

    async def _round(self) -> bool:
        """Do one thing that is due, or wait for something to do; False when it proves nothing about the store."""
        if self.owned and not await self._ownership.keep():
            await self._lose()
        self._rests = not self.owned and not await self._is_needed()
        if self._rests:
            self._tried = True
            await self._pause(CLAIM_EVERY if self._waiters else UNWANTED_IDLE)
            return True
        if not self.owned and not await self._claim():
            await self._pause(CLAIM_EVERY)
            return True
        async with self._database.reading() as tx:
            state = await self._outbox.store(tx)
            erasures = set(await self._outbox.erasures(tx))
            size = self._batch_size(state, erasures)
            limit = size + len(self._vectors.waiting)
            rows = [row for row in await self._outbox.dirty(tx, limit=limit) if row not in self._vectors.waiting]
        self._holds_forgotten = bool(rows) and self._erasing.in_store(erasures)
        if await self._open(state, erasures):
            self.progress += 1
            return False
        await self._follow(state, rows[:size], erasures)
        return True

    def _is_well(self) -> None:
        self._failures = 0
        self._trouble = None
        self._told.clear()

    async def _is_needed(self) -> bool:
        """Say whether there is a use for the store: while memory is off what was forgotten leaves it all the same."""
        if self._is_wanted():
            return True
        async with self._database.reading() as tx:
            state = await self._outbox.store(tx)
        return state.erasures > 0 or (self._waiters > 0 and state.lag > 0)

    async def _follow(self, state: StoreState, rows: list[DirtyFact], erasures: set[int]) -> None:
        """Take the open store a batch further and finish erasures; with neither to do, wait a little."""
        awaited = self._awaited(state)
        self._vectors.start_due(awaited=awaited)
        if not rows and not self._keeper.place.keeps_deleted:
            # A store that is not begun anew has followed every delete now.
            self._erasing.left_store(erasures)
        if await self._erasing.finish(erasures, followed=not rows):
            self.progress += 1
        if rows:
            self._vectors.offer(await self._keeper.follow(rows))
            self._pace.wrote(len(rows), self._keeper.write_seconds, awaited=awaited)
            self.progress += 1
            # Who waited for these facts looks at once, and finds no trouble of before.
            self._is_well()
            await self._rest(awaited=awaited)
            return
        self._keeper.rebuilding = False
        await self._keeper.rest()
        await self._keeper.look()
        await self._pause(AWAITED_IDLE if awaited else IDLE)

    async def _claim(self) -> bool:
        self.owned = await self._ownership.gain()
        if not self.owned:
            async with self._database.reading() as tx:
                self._seen_owner = (await self._outbox.store(tx)).owner
            self._tried = True
        return self.owned

    async def _open(self, state: StoreState, erasures: set[int]) -> bool:
        """Open or begin the store when there is none, it is another one or text has to leave it."""
        erasing = self._keeper.place.keeps_deleted and self._erasing.in_store(erasures)
        if self._keeper.usable and self._keeper.carries(state) and not (erasing and self._is_time(state, erasures)):
            return False
        if self._keeper.store is None and erasing:
            self._erasing.left_store(await self._keeper.begun_after(state))
            erasing = self._erasing.in_store(erasures)
        if self._keeper.store is None and not erasing and await self._keeper.reopen(state):
            # An erasure that is pending all the same is one whose store was not filled to its end.
            self._keeper.rebuilding = bool(erasures)
        else:
            self._erasing.left_store(await self._keeper.renew(state, erasures))
        return True

    def _is_time(self, state: StoreState, erasures: set[int]) -> bool:
        """Say whether to begin the open store anew: never while it is filled, or many forgets might never end."""
        if self._keeper.rebuilding:
            return False
        return self._erasing.is_gathered(erasures, lag=state.lag, awaited=self._awaited(state))

    def _batch_size(self, state: StoreState, erasures: set[int]) -> int:
        # What is forgotten leaves an open store first, and its files when that is written anew.
        rebuilding = self._keeper.rebuilding or bool(erasures)
        return self._pace.size(awaited=self._awaited(state), rebuilding=rebuilding)

    def _awaited(self, state: StoreState) -> bool:
        return self._waiters > 0 or (state.awaited_until or 0.0) > self._clock.now().timestamp()

    async def _lose(self) -> None:
        """Stop writing: the lease went to somebody else."""
        await self._keeper.close()
        self.owned = False

    async def _let_go(self) -> None:
        await self._keeper.close()
        if self.owned:
            # A lease runs out by itself where the database is away; the lock on a folder is released all the same.
            with contextlib.suppress(MemoryUnavailable):
                await self._ownership.give_back()
            self.owned = False

    async def _rest(self, *, awaited: bool) -> None:
        """Leave others their time after a batch; somebody who begins to wait for the store ends it."""
        seconds = self._pace.rest(awaited=awaited, rebuilding=self._keeper.rebuilding)
        self._hurry.clear()
        while seconds > 0 and (awaited or not (self._waiters or self._stopping.is_set())):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._hurry.wait()
            seconds = 0.0 if awaited or self._hurry.is_set() else self._pace.more()

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        self._wake.clear()

    async def _back_off(self, error: Exception) -> None:
        self._failures += 1
        said = str(error) if isinstance(error, GaiaMemoryError | OSError) else type(error).__name__
        self._trouble = f"the mem0 store cannot be brought up to date: {said}"
        kind = type(error).__name__
        level = logging.DEBUG if kind in self._told else logging.WARNING
        self._told.add(kind)
        fields = about("store.not_followed", failures=self._failures, error=kind)
        told = "the mem0 store cannot be followed (%s); this is tried again until it can be"
        log.log(level, told, kind, extra=fields)
        log.debug("following failed %d times in a row:\n%s", self._failures, frames_of(error), extra=fields)
        seconds = min(FIRST_BACK_OFF * 2 ** min(self._failures - 1, 10), LONGEST_BACK_OFF)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(seconds, AWAITED_BACK_OFF) if self._waiters else seconds):
                await self._stopping.wait()
