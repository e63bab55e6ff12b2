"""The follower: keeps the mem0 store in the state of the database, in the process that owns the store."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable
from contextvars import Context
from pathlib import Path
from typing import Any, Protocol

from gaia_memory.backend.mem0_store.erasures import ErasureTracker
from gaia_memory.backend.mem0_store.open_store import StoreWriter
from gaia_memory.backend.mem0_store.ownership import LEASE_SECONDS, FolderLock, StoreLease, StoreOwner, StoreOwnership
from gaia_memory.backend.mem0_store.store import Mem0Builder
from gaia_memory.backend.mem0_store.throttle import WriteThrottle
from gaia_memory.backend.mem0_store.vector_backfill import VectorBackfill
from gaia_memory.backend.mem0_store.vector_stores import resolve_location
from gaia_memory.backend.mem0_store.wait_synced import SyncWaiter
from gaia_memory.backend.providers.provider_specs import Provider
from gaia_memory.backend.thread_pools import WorkerPool
from gaia_memory.errors import GaiaMemoryError, MemoryUnavailable, StoreNotOwnedError, StoreStalledError
from gaia_memory.log import logger_for
from gaia_memory.models import DirtyFact, StoreState
from gaia_memory.ports import Clock, Database, Embedder, Outbox
from gaia_memory.telemetry import error_frames, log_fields

IDLE_SECONDS = 0.5
DISABLED_IDLE_SECONDS = 30.0
"""While memory is off, how often to look for erasures by other processes; one by this process wakes the follower."""

AWAITED_IDLE_SECONDS = 0.05
CLAIM_INTERVAL_SECONDS = 1.0
FIRST_BACKOFF_SECONDS = 0.25
MAX_BACKOFF_SECONDS = 30.0
MAX_AWAITED_BACKOFF_SECONDS = 1.0
STOP_SECONDS = 2.0
_SETTLE_REMEDY = "await memory.settled() first"
_ENABLE_REMEDY = "set `memory.enabled: true` in gaia.yaml"

log = logger_for(__name__)


class FollowerBackend(Mem0Builder, Protocol):
    """The part of the backend that the follower needs."""

    embedder: Any
    store_provider: Provider


class StoreFollower:
    """Owns the mem0 store, or keeps trying to, and applies the outbox while it does.

    Only `settled` and `stop` wait for it.
    """

    def __init__(
        self,
        database: Database,
        outbox: Outbox,
        backend: FollowerBackend,
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
        location, lock_path = resolve_location(backend, backend.store_provider, home)
        self.progress = 0
        self.is_owner = False
        self.is_owner_dead = owner.is_dead
        self._database = database
        self._outbox = outbox
        self._clock = clock
        self._erasures = ErasureTracker(database, outbox, scrub)
        self._pool = WorkerPool("gaia-follower", 1)
        self._writer = StoreWriter(location, self._pool, database, outbox, embedder)
        lease_seconds = None if location.is_embedded and database.is_local else LEASE_SECONDS
        lease = StoreLease(database, outbox, clock, owner, lease_seconds=lease_seconds)
        self._ownership: StoreOwnership = FolderLock(lock_path, self._pool, lease) if location.is_embedded else lease
        self._backfill = VectorBackfill(database, outbox, embedder, self.wake)
        self._wake = asyncio.Event()
        self._start_requested = asyncio.Event()
        self._stopping = asyncio.Event()
        self._waiter_arrived = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_enabled = is_enabled
        self._is_suspended = False
        self._waiters = 0
        self._throttle = WriteThrottle()
        self._has_tried_to_own = False
        self._contains_forgotten = False
        self._seen_owner = ""
        self._failures = 0
        self._trouble: str | None = None
        self._logged_errors: set[str] = set()

    @property
    def mem0(self) -> Any:
        """The `mem0.Memory` over the store, for reading; valid until the next erasure. Its calls block.

        Raises:
            StoreNotOwnedError: another process owns the store, or it is not open or still contains forgotten facts.
        """
        store = self._writer.store
        if self.is_owner and store is not None and self._writer.is_usable:
            if self._contains_forgotten:
                raise StoreNotOwnedError("forgotten facts are being removed from the mem0 store", remedy=_SETTLE_REMEDY)
            return store.memory
        if self._is_suspended:
            raise StoreNotOwnedError("memory is off, and the mem0 store is not open", remedy=_ENABLE_REMEDY)
        if self.is_owner or (not self._has_tried_to_own and self._is_running):
            raise StoreNotOwnedError("the mem0 store is still being opened", remedy=_SETTLE_REMEDY)
        if not self._is_running:
            raise StoreNotOwnedError("the mem0 store is not open", remedy="use it inside `async with open_memory(…)`")
        raise StoreNotOwnedError(
            f"the mem0 store is owned by {self._seen_owner or 'another process'}",
            remedy="read it there, or end that process: this one takes over within seconds",
        )

    @property
    def trouble(self) -> str | None:
        """Why facts are missing from the mem0 store, in words for `status`; None when none are."""
        refused = self._writer.refused_count
        return (
            self._trouble
            or self._backfill.trouble
            or self._erasures.trouble
            or (f"the mem0 store refused {refused} facts; recall still finds them" if refused else None)
        )

    @property
    def is_ready(self) -> bool:
        """Whether the store is open here, or this process has failed to become its owner."""
        return self._writer.is_usable if self.is_owner else self._has_tried_to_own

    def folder(self, store_id: str) -> Path | None:
        """Return where the files of an embedded store are; None for any other store."""
        return self._writer.location.folder(store_id)

    @property
    def is_embedded(self) -> bool:
        """Whether the store is a folder of this machine, whose files are rewritten after a forget."""
        return self._writer.location.is_embedded

    async def quarantined_stores(self) -> list[str]:
        """Return where quarantined stores are, as far as this process knows."""
        return await asyncio.to_thread(self._writer.location.quarantined)

    @property
    def _is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self, *, after: float = 0.0) -> None:
        """Start in a background task of the running loop, in `after` seconds or when `settled` is called.

        After two calls, the earlier start applies.
        """
        if self._task is None:
            # The task works for every user, so it must not continue the trace of the caller that opened memory.
            running = asyncio.get_running_loop()
            self._task = running.create_task(self._run(after), name="gaia-follower", context=Context())
        elif not after:
            self._start_requested.set()
            self.wake()

    def wake(self) -> None:
        """Signal that the outbox may have changed."""
        self._throttle.note_change()
        self._wake.set()

    async def settled(self, *, stall_seconds: float = 60.0) -> None:
        """Return when the ids dirty at the call are applied and no erasure is pending, in whichever process.

        If this process can own the store, the store is then open.

        Raises:
            StoreStalledError: no progress for `stall_seconds`, or the follower is not running.
        """
        if not self._is_running:
            raise StoreStalledError(
                "the follower of the mem0 store is not running in this process: it was not started or has stopped",
                remedy="call it inside `async with open_memory(…)`",
            )
        self._waiters += 1
        self._has_tried_to_own = False
        self._start_requested.set()
        self._waiter_arrived.set()
        self.wake()
        try:
            await SyncWaiter(self._database, self._outbox, self._clock, self).wait(stall_seconds=stall_seconds)
        finally:
            self._waiters -= 1

    async def stop(self) -> None:
        """Close the store cleanly and release it, within seconds; the outbox keeps the unfinished work."""
        self._stopping.set()
        self._start_requested.set()
        self._waiter_arrived.set()
        self.wake()
        self._writer.location.cancel_probe()
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
        self._writer.location.cancel_probe()
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
            self._ownership.release_without_loop()
            self.is_owner = False
        self._pool.shut_down()

    async def _run(self, after: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(after):
                await self._start_requested.wait()
        while not self._stopping.is_set():
            try:
                if await self._run_once():
                    self._clear_failures()
            except Exception as error:
                # Database, Chroma, mem0 and the disk meet here: whatever fails is retried with growing pauses.
                await self._back_off(error)

    async def _run_once(self) -> bool:
        """Take one step or wait for work; False when the step does not prove that the store works."""
        if self.is_owner and not await self._ownership.renew():
            await self._lose_ownership()
        self._is_suspended = not self.is_owner and not await self._is_needed()
        if self._is_suspended:
            self._has_tried_to_own = True
            await self._wait_for_work(CLAIM_INTERVAL_SECONDS if self._waiters else DISABLED_IDLE_SECONDS)
            return True
        if not self.is_owner and not await self._try_to_own():
            await self._wait_for_work(CLAIM_INTERVAL_SECONDS)
            return True
        async with self._database.read_transaction() as tx:
            state = await self._outbox.store(tx)
            erasures = set(await self._outbox.pending_erasures(tx))
            size = self._batch_size(state, erasures)
            limit = size + len(self._backfill.pending)
            rows = [row for row in await self._outbox.dirty(tx, limit=limit) if row not in self._backfill.pending]
        self._contains_forgotten = bool(rows) and self._erasures.may_be_in_store(erasures)
        if await self._open_or_recreate(state, erasures):
            self.progress += 1
            return False
        await self._apply_batch(state, rows[:size], erasures)
        return True

    def _clear_failures(self) -> None:
        self._failures = 0
        self._trouble = None
        self._logged_errors.clear()

    async def _is_needed(self) -> bool:
        """Return whether the store is needed: while memory is off, only for erasures and waiting callers."""
        if self._is_enabled():
            return True
        async with self._database.read_transaction() as tx:
            state = await self._outbox.store(tx)
        return state.erasures > 0 or (self._waiters > 0 and state.lag > 0)

    async def _apply_batch(self, state: StoreState, rows: list[DirtyFact], erasures: set[int]) -> None:
        """Apply a batch to the open store and finish erasures; with nothing to do, wait."""
        is_awaited = self._is_awaited(state)
        self._backfill.start_if_due(is_awaited=is_awaited)
        if not rows and not self._writer.location.retains_deleted:
            # A store that is not recreated has applied every delete by then.
            self._erasures.mark_removed(erasures)
        if await self._erasures.finish(erasures, is_caught_up=not rows):
            self.progress += 1
        if rows:
            self._backfill.add(await self._writer.apply(rows))
            self._throttle.record_write(len(rows), self._writer.write_seconds, awaited=is_awaited)
            self.progress += 1
            # A caller that waited for these facts must not see an earlier failure.
            self._clear_failures()
            await self._rest_after_batch(awaited=is_awaited)
            return
        self._writer.is_rebuilding = False
        await self._writer.trim_memory()
        await self._writer.close_if_missing()
        await self._wait_for_work(AWAITED_IDLE_SECONDS if is_awaited else IDLE_SECONDS)

    async def _try_to_own(self) -> bool:
        self.is_owner = await self._ownership.acquire()
        if not self.is_owner:
            async with self._database.read_transaction() as tx:
                self._seen_owner = (await self._outbox.store(tx)).owner_description
            self._has_tried_to_own = True
        return self.is_owner

    async def _open_or_recreate(self, state: StoreState, erasures: set[int]) -> bool:
        """Open or create the store when there is none, it is another one or it needs an erasure."""
        has_to_erase = self._writer.location.retains_deleted and self._erasures.may_be_in_store(erasures)
        if (
            self._writer.is_usable
            and self._writer.is_current(state)
            and not (has_to_erase and self._is_recreation_due(state, erasures))
        ):
            return False
        if self._writer.store is None and has_to_erase:
            self._erasures.mark_removed(await self._writer.erasures_before(state))
            has_to_erase = self._erasures.may_be_in_store(erasures)
        if self._writer.store is None and not has_to_erase and await self._writer.reopen(state):
            # An erasure that is still pending belongs to a rebuild that was interrupted.
            self._writer.is_rebuilding = bool(erasures)
        else:
            self._erasures.mark_removed(await self._writer.recreate(state, erasures))
        return True

    def _is_recreation_due(self, state: StoreState, erasures: set[int]) -> bool:
        """Return whether to recreate the open store: never during a rebuild, or many erasures might never end."""
        if self._writer.is_rebuilding:
            return False
        return self._erasures.is_batch_ready(erasures, lag=state.lag, is_awaited=self._is_awaited(state))

    def _batch_size(self, state: StoreState, erasures: set[int]) -> int:
        # Forgotten facts leave the open store first, and its files when the store is recreated.
        rebuilding = self._writer.is_rebuilding or bool(erasures)
        return self._throttle.batch_size(awaited=self._is_awaited(state), rebuilding=rebuilding)

    def _is_awaited(self, state: StoreState) -> bool:
        return self._waiters > 0 or (state.awaited_until or 0.0) > self._clock.now().timestamp()

    async def _lose_ownership(self) -> None:
        """Stop writing: another process has the lease."""
        await self._writer.close()
        self.is_owner = False

    async def _close_and_release(self) -> None:
        await self._writer.close()
        if self.is_owner:
            # Without the database the lease expires; the lock on a folder is released in any case.
            with contextlib.suppress(MemoryUnavailable):
                await self._ownership.release()
            self.is_owner = False

    async def _rest_after_batch(self, *, awaited: bool) -> None:
        """Rest after a batch, so that turns can run; a new waiter ends the rest."""
        seconds = self._throttle.rest_seconds(awaited=awaited, rebuilding=self._writer.is_rebuilding)
        self._waiter_arrived.clear()
        while seconds > 0 and (awaited or not (self._waiters or self._stopping.is_set())):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._waiter_arrived.wait()
            seconds = 0.0 if awaited or self._waiter_arrived.is_set() else self._throttle.extra_rest_seconds()

    async def _wait_for_work(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        self._wake.clear()

    async def _back_off(self, error: Exception) -> None:
        self._failures += 1
        reason = str(error) if isinstance(error, GaiaMemoryError | OSError) else type(error).__name__
        self._trouble = f"the mem0 store cannot be brought up to date: {reason}"
        kind = type(error).__name__
        level = logging.DEBUG if kind in self._logged_errors else logging.WARNING
        self._logged_errors.add(kind)
        fields = log_fields("store.not_followed", failures=self._failures, error=kind)
        message = "the mem0 store cannot be updated (%s); retrying"
        log.log(level, message, kind, extra=fields)
        log.debug(
            "updating the mem0 store failed %d times in a row:\n%s", self._failures, error_frames(error), extra=fields
        )
        seconds = min(FIRST_BACKOFF_SECONDS * 2 ** min(self._failures - 1, 10), MAX_BACKOFF_SECONDS)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(seconds, MAX_AWAITED_BACKOFF_SECONDS) if self._waiters else seconds):
                await self._stopping.wait()
