"""The follower: keeps the mem0 store in the state of the database, in the process that owns the store."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Awaitable, Callable
from contextvars import Context
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_memory.backend.mem0_store.erasures import RECREATION_INTERVAL_SECONDS, ErasureTracker
from gaia_memory.backend.mem0_store.foreign_rows import ForeignRows
from gaia_memory.backend.mem0_store.open_store import StoreWriter
from gaia_memory.backend.mem0_store.ownership import LEASE_SECONDS, StoreOwner, StoreOwnership
from gaia_memory.backend.mem0_store.store import Mem0Builder, named_refusals
from gaia_memory.backend.mem0_store.vector_backfill import VectorBackfill
from gaia_memory.backend.mem0_store.vector_stores import resolve_location
from gaia_memory.backend.thread_pools import WorkerPool
from gaia_memory.errors import GaiaMemoryError, MemoryUnavailable, StoreStalledError, UnusableStoreError
from gaia_memory.log import error_frames, log_fields, logger_for
from gaia_memory.models import DirtyFact, StoreState
from gaia_memory.ports import Clock, Embedder
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts.outbox import Outbox

Progress = Callable[[int, int], None]

BATCH_FACTS = 100
"""Chroma holds the GIL while it writes, which stops every turn: a rest as long as the writing follows, unless a caller
waits."""

POLL_SECONDS = 0.05

START_DELAY_SECONDS, MAX_BUSY_SECONDS = 3.0, 60.0
"""How long the import of mem0 and Chroma waits, since short programs end before, and how long turns may put it off."""

IDLE_SECONDS = 0.5
DISABLED_IDLE_SECONDS = 30.0
"""While memory is off, how often to look for erasures by other processes; one by this process wakes the follower."""

CLAIM_INTERVAL_SECONDS = 1.0
FIRST_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 0.25, 30.0
MAX_AWAITED_BACKOFF_SECONDS = 1.0
STOP_SECONDS = 2.0

log = logger_for(__name__)


class StoreFollower:
    """Owns the mem0 store, or keeps trying to, and applies the outbox while it does.

    Only `settled` and `stop` wait for it.
    """

    def __init__(
        self,
        database: Database,
        outbox: Outbox,
        backend: Mem0Builder,
        clock: Clock,
        *,
        home: Path,
        owner: StoreOwner,
        scrub: Callable[[], Awaitable[bool]],
        is_enabled: Callable[[], bool] = lambda: True,
    ) -> None:
        """Open nothing and touch no file.

        `scrub` rewrites the database's files and returns False while they are in use. While `is_enabled` is False,
        the store is opened only to erase from it, or for a caller of `settled`.
        """
        embedder: Embedder = backend.embedder
        location, lock_path = resolve_location(backend, home)
        self.is_owner = False
        self._database, self._store_provider = database, backend.store_provider
        self._outbox = outbox
        self._erasures = ErasureTracker(database, outbox, clock, scrub)
        self._pool = WorkerPool("gaia-follower", 1)
        self._writer = StoreWriter(location, self._pool, database, outbox, backend, clock)
        lease_seconds = None if location.is_embedded and database.is_local else LEASE_SECONDS
        self._ownership = StoreOwnership(
            database,
            outbox,
            clock,
            owner,
            lock_path=lock_path if location.is_embedded else None,
            lease_seconds=lease_seconds,
        )
        self.foreign_rows = ForeignRows(database, outbox, embedder, clock)
        self._backfill = VectorBackfill(database, outbox, embedder, self.wake)
        self._wake = asyncio.Event()
        self._hurry = asyncio.Event()
        """Set when a caller waits or the follower has to stop: it ends the delay of the start and every rest."""

        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_enabled = is_enabled
        self._waiters = 0
        self._is_owned_elsewhere = False

        self._recreated_at = float("-inf")
        self._failures = 0
        self._trouble: str | None = None
        self._refusal: UnusableStoreError | None = None

    @property
    def address(self) -> Path:
        """The path at which plain mem0 opens an embedded store."""
        return self._writer.location.address

    @property
    def trouble(self) -> str | None:
        """Why facts are missing from the mem0 store, in words for `status`; None when none are."""
        refused = len(self._writer.refused)
        return (
            self._trouble
            or self._backfill.trouble
            or self._erasures.trouble
            or (f"the mem0 store refused {refused} facts; recall still finds them" if refused else None)
        )

    @property
    def is_ready(self) -> bool:
        """Whether the store is open here, or this process has failed to become its owner."""
        if not self.is_owner:
            return self._is_owned_elsewhere
        return self._writer.is_usable and (self.is_embedded or not self.foreign_rows.is_due)

    @property
    def is_embedded(self) -> bool:
        """Whether the store is a folder of this machine, whose files are rewritten after a forget."""
        return self._writer.location.is_embedded

    async def foreign_stores(self) -> list[str]:
        """Return the folders that another database has filled; no forget reaches them."""
        store_id = (await self._erasures.load_state()).store_id
        return await run_in_thread(self._writer.location.foreign_stores, store_id)

    @property
    def _is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self, *, after: float | None = None, is_busy: Callable[[], bool] = lambda: False) -> None:
        """Start in a background task, in `after` seconds (default: `START_DELAY_SECONDS`) or when `settled` is called.

        While `is_busy` is True the start waits, for up to a minute more. A second call wakes the task.
        """
        if self._task is None:
            # The task works for every user, so it must not continue the trace of the caller that opened memory.
            running = asyncio.get_running_loop()
            self._task = running.create_task(self._run(after, is_busy), name="gaia-follower", context=Context())
        else:
            self.wake()

    def wake(self) -> None:
        """Signal that the outbox may have changed."""
        self._wake.set()

    def _request_hurry(self) -> None:
        self._hurry.set()
        self._wake.set()

    async def settled(self, *, stall_seconds: float = 60.0, progress: Progress = lambda done, total: None) -> None:
        """Return when the ids dirty at the call are applied and no erasure is pending, in whichever process.

        If this process can own the store, the store is then open. `progress` gets the steps done and their total.

        Raises:
            StoreStalledError: no progress for `stall_seconds`, the store cannot be used, or the follower does not run.
        """
        if not self._is_running:
            raise StoreStalledError(
                "the follower of the mem0 store is not running in this process: it was not started or has stopped",
                remedy="call it inside `async with open_memory(…)`",
            )
        await self._erasures.load_state()
        self._waiters += 1
        self.foreign_rows.is_due = True
        self._is_owned_elsewhere = False
        self._refusal = None
        self._request_hurry()
        try:
            await self._wait_until_synced(stall_seconds, progress)
        finally:
            self._waiters -= 1

    async def _wait_until_synced(self, stall_seconds: float, progress: Progress) -> None:
        """Wait as `settled`. When the store is created meanwhile, every row that is dirty then has to be applied."""
        store_id, last_place = "", None
        last_snapshot, changed_at, total = None, 0.0, 0
        while True:
            is_ready = self.is_ready  # Before the outbox: who becomes ready later may have created another store.
            async with self._database.read_transaction() as tx:
                state = await self._outbox.store(tx)
                if not is_ready or state.store_id != store_id:
                    store_id, last_place = state.store_id, None
                dirty_count, last_place = await self._outbox.count_dirty(tx, up_to=last_place)
            if is_ready and not dirty_count and not state.erasures:
                return
            if self._refusal is not None:
                raise StoreStalledError(self._refusal.reason, remedy=self._refusal.remedy)
            total = max(total, dirty_count + state.erasures)
            progress(total - dirty_count - state.erasures, total)
            now, snapshot = asyncio.get_running_loop().time(), (is_ready, dirty_count, state)
            if snapshot != last_snapshot:
                last_snapshot, changed_at = snapshot, now
            elif now - changed_at >= stall_seconds:
                raise await self._describe_stall(state, dirty_count, stall_seconds)
            await asyncio.sleep(POLL_SECONDS)

    async def _describe_stall(self, state: StoreState, dirty_count: int, seconds: float) -> StoreStalledError:
        owner = f"this process (pid {os.getpid()})" if self.is_owner else state.owner_description or "another process"
        reason = self.trouble or await self._database.find_problem()
        waiting = f"{dirty_count} facts and {state.erasures} erasures wait{f' ({reason})' if reason else ''}"
        message = f"the mem0 store, owned by {owner}, made no progress for {seconds:g} s: {waiting}"
        return StoreStalledError(message, remedy="mend what the reason names, or end that process; nothing is lost")

    async def stop(self) -> None:
        """Close the store cleanly and release it, within seconds; the outbox keeps the unfinished work."""
        self._stopping.set()
        self._request_hurry()
        if self._task is not None:
            _, unfinished = await asyncio.wait({self._task}, timeout=STOP_SECONDS)
            for task in unfinished:
                task.cancel()
        await self._backfill.stop()
        with contextlib.suppress(TimeoutError):
            # A store that hangs keeps its lock until the process ends: no other process may write it in between.
            async with asyncio.timeout(STOP_SECONDS):
                await self._close_and_release()
        await self._pool.close(grace=STOP_SECONDS / 2)

    def close_without_loop(self) -> None:
        """Close the store and release its lock after the event loop has ended."""
        closing = threading.Thread(target=self._close_without_loop, daemon=True)
        try:
            closing.start()
        except RuntimeError:
            # An ending interpreter starts no threads; no loop runs here then.
            self._close_without_loop()
        else:
            closing.join()

    def _close_without_loop(self) -> None:
        self._writer.close_without_loop()
        if self._writer.store is None:
            self._ownership.release_lock()
            self.is_owner = False
        self._pool.shut_down()

    async def _run(self, after: float | None, is_busy: Callable[[], bool]) -> None:
        await self._wait_for_quiet(START_DELAY_SECONDS if after is None else after, is_busy)
        while not self._stopping.is_set():
            try:
                with named_refusals(self._store_provider, self.address):
                    if await self._run_once():
                        self._clear_failures()
            except Exception as error:
                # Database, Chroma, mem0 and the disk meet here: whatever fails is retried with growing pauses.
                await self._back_off(error)

    async def _wait_for_quiet(self, seconds: float, is_busy: Callable[[], bool]) -> None:
        """Wait until the first turns are over, as importing mem0 and Chroma holds the GIL; erasures do not wait."""
        started = time.monotonic()
        while not self._hurry.is_set() and not await self._has_to_erase():
            waited = time.monotonic() - started
            if waited >= seconds and (waited >= seconds + MAX_BUSY_SECONDS or not is_busy()):
                return
            await _wait(self._hurry, IDLE_SECONDS)  # Each written fact wakes; only an erasure cannot wait.

    async def _has_to_erase(self) -> bool:
        # Short processes might put an erasure off for ever.
        with contextlib.suppress(GaiaMemoryError, OSError):
            return (await self._erasures.load_state()).erasures > 0
        return False

    async def _run_once(self) -> bool:
        """Take one step or wait for work; False when the step does not prove that the store works."""
        if self.is_owner and not await self._ownership.renew():
            # Another process has the lease.
            await self._writer.close()
            self.is_owner = False
        if not self.is_owner and not await self._is_needed():
            self._is_owned_elsewhere = True
            await self._wait_for_work(CLAIM_INTERVAL_SECONDS if self._waiters else DISABLED_IDLE_SECONDS)
            return True
        if not self.is_owner and not await self._try_to_own():
            await self._wait_for_work(CLAIM_INTERVAL_SECONDS)
            return True
        state = await self._erasures.load_state()
        async with self._database.read_transaction() as tx:
            erasures = set(await self._outbox.pending_erasures(tx))
            limit = BATCH_FACTS + len(self._backfill.pending)
            rows = [row for row in await self._outbox.dirty(tx, limit=limit) if row not in self._backfill.pending]
        if await self._open_or_recreate(state, erasures):
            return False
        await self._apply_batch(rows[:BATCH_FACTS], erasures)
        return True

    def _clear_failures(self) -> None:
        self._failures, self._trouble, self._refusal = 0, None, None

    async def _is_needed(self) -> bool:
        """Return whether the store is needed: while memory is off, only for erasures and waiting callers."""
        if self._is_enabled():
            return True
        state = await self._erasures.load_state()
        return state.erasures > 0 or (self._waiters > 0 and state.lag > 0)

    async def _apply_batch(self, rows: list[DirtyFact], erasures: set[int]) -> None:
        """Apply a batch to the open store and finish erasures; with nothing to do, wait."""
        self._backfill.start_if_due(is_awaited=self._waiters > 0)
        if not rows and not self._writer.location.retains_deleted:
            # A store that is not recreated has applied every delete by then.
            self._erasures.mark_removed(erasures)
        await self._erasures.finish(erasures, is_caught_up=not rows)
        if rows:
            self._backfill.add(await self._writer.apply(rows))
            # A caller that waited for these facts must not see an earlier failure.
            self._clear_failures()
            self._hurry.clear()
            if not self._waiters and not self._stopping.is_set():
                await _wait(self._hurry, self._writer.write_seconds)
            return
        self._writer.is_rebuilding = False
        await self._writer.close_if_missing()
        if not self.is_embedded and self._writer.store is not None and self.foreign_rows.is_time():
            await self.foreign_rows.compare(await self._writer.rows(), refused=self._writer.refused)
            return
        await self._wait_for_work(POLL_SECONDS if self._waiters else IDLE_SECONDS)

    async def _try_to_own(self) -> bool:
        self.is_owner = await self._ownership.acquire()
        self._is_owned_elsewhere = not self.is_owner
        return self.is_owner

    async def _open_or_recreate(self, state: StoreState, erasures: set[int]) -> bool:
        """Open or create the store when there is none, it is another one or it needs an erasure."""
        has_to_erase = self._writer.location.retains_deleted and self._erasures.may_be_in_store(erasures)
        if self._writer.is_current(state) and not (has_to_erase and self._is_recreation_due()):
            return False
        if self._writer.store is None and (store := await self._writer.reopen(state)):
            self._erasures.mark_removed(store.erased)
            # An erasure that this store is free of, but that is pending, belongs to a rebuild that was interrupted.
            self._writer.is_rebuilding = not erasures.isdisjoint(store.erased)
        else:
            self._erasures.mark_removed(await self._writer.recreate(state, erasures))
            self._recreated_at = asyncio.get_running_loop().time()
        return True

    def _is_recreation_due(self) -> bool:
        """Return whether to recreate the open store: never during a rebuild, or many erasures might never end."""
        is_gathered = asyncio.get_running_loop().time() - self._recreated_at >= RECREATION_INTERVAL_SECONDS
        return not self._writer.is_rebuilding and (is_gathered or self._waiters > 0)

    async def _close_and_release(self) -> None:
        await self._writer.close()
        if self.is_owner:
            # Without the database the lease expires; the lock on a folder is released in any case.
            with contextlib.suppress(MemoryUnavailable):
                await self._ownership.release()
            self.is_owner = False

    async def _wait_for_work(self, seconds: float) -> None:
        await _wait(self._wake, seconds)
        self._wake.clear()

    async def _back_off(self, error: Exception) -> None:
        self._failures += 1
        kind = type(error).__name__
        reason = str(error) if isinstance(error, GaiaMemoryError | OSError) else kind
        self._trouble = f"the mem0 store cannot be brought up to date: {reason}"
        self._refusal = error if isinstance(error, UnusableStoreError) else None
        with contextlib.suppress(GaiaMemoryError, OSError):
            # The database reports its own problem, and no longer than it lasts.
            if await self._database.find_problem() is not None:
                self._trouble = None
        fields = log_fields("store.not_followed", failures=self._failures, error=kind)
        if self._failures == 1:
            log.warning("the mem0 store cannot be updated (%s); retrying", kind, extra=fields)
        log.debug("failure %d of the mem0 store in a row:\n%s", self._failures, error_frames(error), extra=fields)
        longest = MAX_AWAITED_BACKOFF_SECONDS if self._waiters else MAX_BACKOFF_SECONDS
        self._hurry.clear()  # What a caller waits for may have been mended.
        if not self._stopping.is_set():
            await _wait(self._hurry, min(FIRST_BACKOFF_SECONDS * 2 ** min(self._failures - 1, 10), longest))


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for `event`, at most `seconds`."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
