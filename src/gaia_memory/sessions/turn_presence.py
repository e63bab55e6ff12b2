"""A lease on a conversation for one turn, marked in the ledger: other turns wait, and no clear happens meanwhile."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from weakref import WeakSet, ref

from gaia_memory.database.bounded_waits import DatabaseWaits, counted_wait
from gaia_memory.database.pooling.conflicts import retries_conflicts
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.log import log_fields, logger_for
from gaia_memory.models import LedgerRow, SessionKey, TurnRequest, TurnUsage
from gaia_memory.models.quiet_conversations import CLEAR_LEASE_SECONDS, TURN_LEASE_SECONDS, is_in_force
from gaia_memory.ports import Transaction
from gaia_memory.sessions.ledger_client import LedgerClient

logger = logger_for(__name__)

RENEWAL_INTERVAL_SECONDS = 20.0
"""How often a running turn renews its mark in the ledger."""

RENEWAL_TIMEOUT_SECONDS = 45.0
"""How long another process may leave its mark without a renewal before its turn counts as abandoned."""

CLEAR_WAIT_SECONDS = 3.0
"""How long a turn waits for a clear; a clear takes milliseconds unless its process died."""

_MIN_POLL_SECONDS, _MAX_POLL_SECONDS = 0.02, 0.25

_TurnStatement = Callable[..., Awaitable[LedgerRow]]
"""The ledger's method that marks a turn: with or without counting it."""

TURN_WAIT_SECONDS = 120.0
"""How long a turn in a foreign Runner waits for another turn of its session, which may be waiting for this one."""

HEARTBEAT_TIMEOUT_SECONDS = 120.0
"""A run without a heartbeat for this long is considered cancelled: ADK calls no hook for a cancelled turn."""

SHARED_OWNER_SUFFIX = "~"
"""The end of the owner name of a shared lease."""

TASK_GAP_SECONDS = 3.0
"""How long a run may be without a task: between two agents, and at its end."""


class TurnPresence:
    """Records in the ledger which owner has a turn. Each mark is one statement."""

    def __init__(self, client: LedgerClient) -> None:
        self.on_turn_end: Callable[[TurnLease], Awaitable[None]] | None = None
        """Called when the ledger has recorded the end of a counted turn, before its session can have another one."""
        self._client = client
        self._local_leases: dict[str, TurnLease] = {}

    @property
    def has_running(self) -> bool:
        """Whether a turn or command of this process is running."""
        return any(lease.is_alive for lease in self._local_leases.values())

    def holds(self, lease: TurnLease) -> bool:
        """Return True if a turn runs under this lease, and its end will be written here."""
        return not lease.is_released and lease.owner in self._local_leases

    def new_lease(
        self, key: SessionKey, *, is_foreign: bool = False, may_be_cancelled: bool = False, is_shared: bool = False
    ) -> TurnLease:
        """Return a lease that is not acquired yet: `acquire` it, and `release` it in the end."""
        owner = f"{self._client.owner}/{secrets.token_hex(4)}{SHARED_OWNER_SUFFIX if is_shared else ''}"
        return TurnLease(key, owner, is_foreign=is_foreign, may_be_cancelled=may_be_cancelled, is_shared=is_shared)

    async def acquire(
        self, lease: TurnLease, *, counts_turn: bool = False, timeout_seconds: float | None = None
    ) -> LedgerRow:
        """Mark the conversation as active; return its row.

        This waits for a running clear and, unless the lease is shared, for another owner's turn: at most
        `timeout_seconds`, and never for an owner that is dead. Acquiring a lease again renews it. With `counts_turn`
        the same statement counts a turn for `claim_turn`, unless the conversation is new; an unclaimed one is removed
        from the count on release.
        """
        statement = self._client.ledger.begin_turn if counts_turn else self._client.ledger.reserve_turn
        # Set first: a caller that is cancelled may have written the turn all the same.
        lease.is_turn_unclaimed = counts_turn
        row = await self._acquire(lease, statement, timeout_seconds, precedes_session=counts_turn)
        lease.is_turn_unclaimed = counts_turn and row.turn.turn_no > 0
        lease.is_turn_recorded |= lease.is_turn_unclaimed
        return row

    def claim_turn(self, lease: TurnLease) -> LedgerRow | None:
        """Return the conversation's row if `acquire` has counted a turn that nobody has claimed yet."""
        is_unclaimed, lease.is_turn_unclaimed = lease.is_turn_unclaimed, False
        lease.is_turn_recorded |= is_unclaimed and lease.row is not None
        return lease.row if is_unclaimed else None

    async def begin_turn(self, lease: TurnLease, *, timeout_seconds: float | None = None) -> LedgerRow:
        """Count a turn, and acquire the lease if needed. The sweep finds the messages of one that cannot be counted."""
        row = await self._acquire(lease, self._client.ledger.begin_turn, timeout_seconds)
        lease.is_turn_recorded = True
        return row

    async def wait_for_clear(self, key: SessionKey) -> LedgerRow | None:
        """Return a conversation's row once no clear is running; nothing is written."""
        wait = _AcquireWait(key, None)
        while True:
            row = await self._client.row(key)
            if row is None or wait.is_clear_wait_over:
                return row
            if not is_in_force(row.clearing.expires_at, now=self._client.now(), max_seconds=CLEAR_LEASE_SECONDS):
                return row
            wait.observe_blocker(row)
            with counted_wait():
                await asyncio.sleep(wait.next_poll_seconds())

    async def release(self, lease: TurnLease) -> None:
        """Release the lease: other turns and clears may start; a counted turn ends now."""
        lease.is_released = True
        if lease.renewal_timer is not None:
            lease.renewal_timer.cancel()
        if lease.renewal_task is not None:
            await asyncio.wait({lease.renewal_task})
        if lease.row is not None:
            await self._release_in_ledger(lease, lease.expires_at)
        elif lease.expires_at is not None:
            # The mark may or may not have been written; it expires in any case.
            with suppress(MemoryUnavailable, OSError):
                await self._release_in_ledger(lease, lease.expires_at)
        self._local_leases.pop(lease.owner, None)
        if self.on_turn_end is not None and lease.is_turn_recorded and not lease.is_turn_unclaimed:
            await self.on_turn_end(lease)

    async def _acquire(
        self,
        lease: TurnLease,
        statement: _TurnStatement,
        timeout_seconds: float | None,
        *,
        precedes_session: bool = False,
    ) -> LedgerRow:
        is_new = lease.row is None
        wait = _AcquireWait(lease.key, timeout_seconds)
        try:
            lease.row = await self._acquire_when_free(lease, statement, wait, precedes_session=precedes_session)
        except asyncio.CancelledError:
            if is_new:
                # The mark may have been written, and nothing else would remove it.
                await self.release(lease)
            raise
        self._local_leases[lease.owner] = lease
        self._schedule_renewal(lease)
        return lease.row

    async def _acquire_when_free(
        self, lease: TurnLease, statement: _TurnStatement, wait: _AcquireWait, *, precedes_session: bool
    ) -> LedgerRow:
        while True:
            moment = self._client.now()
            lease.expires_at = moment + TURN_LEASE_SECONDS
            request = TurnRequest(
                owner=lease.owner,
                waits_for_clear=not wait.is_clear_wait_over,
                is_exclusive=not lease.is_shared and not wait.is_turn_wait_over,
                is_foreign=lease.is_foreign,
                precedes_session=precedes_session,
            )
            row = await self._mark(lease.key, statement, request, now=moment)
            if row.clearing.owner is None and row.turn.active_owner == lease.owner:
                return row
            if wait.observe_blocker(row):
                await self._release_abandoned(row, is_renewal_overdue=wait.is_renewal_overdue)
                await asyncio.sleep(wait.next_poll_seconds())
            else:
                with counted_wait():
                    await asyncio.sleep(wait.next_poll_seconds())

    @retries_conflicts
    async def _mark(self, key: SessionKey, statement: _TurnStatement, request: TurnRequest, *, now: float) -> LedgerRow:
        async with self._client.database.single_statement() as tx:
            return await statement(tx, key, request, now=now, lease_seconds=TURN_LEASE_SECONDS)

    @retries_conflicts
    async def _release_in_ledger(self, lease: TurnLease, expires_at: float | None) -> None:
        heir = self._other_local_lease(lease)
        database = self._client.database
        # With a heir both marks change at once, so that no process clears the conversation in between.
        used = None if lease.is_turn_private else lease.used
        is_single = heir is None and not lease.requests and used is None
        async with database.single_statement() if is_single else database.transaction() as tx:
            for key, request in lease.requests:
                await self._client.ledger.request_learning(tx, key, request)
            if lease.is_turn_recorded and not lease.is_turn_unclaimed:
                await self._client.ledger.end_turn(
                    tx,
                    lease.key,
                    now=self._client.now(),
                    owner=lease.owner,
                    is_private=lease.is_turn_private,
                    used=used,
                )
            elif expires_at is not None:
                await self._client.ledger.release_turn(
                    tx, lease.key, expires_at=expires_at, owner=lease.owner, is_counted=lease.is_turn_unclaimed
                )
            if heir is not None:
                await self._renew_in_ledger(tx, heir)

    def _other_local_lease(self, lease: TurnLease) -> TurnLease | None:
        """Return another running turn of this process that shares the conversation."""
        return next(
            (
                each
                for each in self._local_leases.values()
                if each is not lease and each.key == lease.key and each.is_alive
            ),
            None,
        )

    async def _renew_in_ledger(self, tx: Transaction, lease: TurnLease) -> None:
        moment = self._client.now()
        lease.expires_at = moment + TURN_LEASE_SECONDS
        await self._client.ledger.renew_turn(
            tx, lease.key, now=moment, lease_seconds=TURN_LEASE_SECONDS, owner=lease.owner
        )

    async def _release_abandoned(self, row: LedgerRow, *, is_renewal_overdue: bool) -> None:
        """Remove an abandoned mark: of a cancelled turn of this process, or of a process that stopped renewing it."""
        owner, expires_at = row.turn.active_owner, row.turn.active_until
        local_lease = self._local_leases.get(owner) if owner is not None else None
        if local_lease is not None and not local_lease.is_alive:
            await self.release(local_lease)
        elif local_lease is None and is_renewal_overdue and owner is not None and expires_at is not None:
            async with self._client.database.single_statement() as tx:
                await self._client.ledger.release_turn(tx, row.key, expires_at=expires_at, owner=owner)

    def _schedule_renewal(self, lease: TurnLease) -> None:
        if lease.renewal_timer is not None:
            lease.renewal_timer.cancel()
        lease.renewal_timer = asyncio.get_running_loop().call_later(
            RENEWAL_INTERVAL_SECONDS, self._start_renewal, lease
        )

    def _start_renewal(self, lease: TurnLease) -> None:
        """Renew a lease that is alive; drop one without a heartbeat for too long."""
        if lease.is_released:
            return
        if lease.is_alive:
            lease.renewal_task = asyncio.get_running_loop().create_task(self._renew(lease), name="gaia-turn")
        elif lease.seconds_since_heartbeat > TURN_LEASE_SECONDS:
            self._local_leases.pop(lease.owner, None)
            return
        self._schedule_renewal(lease)

    async def _renew(self, lease: TurnLease) -> None:
        # A short outage of the database costs one renewal: the mark outlasts several.
        with suppress(MemoryUnavailable):
            async with self._client.database.single_statement() as tx:
                if not lease.is_released:
                    await self._renew_in_ledger(tx, lease)


class _AcquireWait:
    """The state of a turn's wait: what blocks it, and since when."""

    def __init__(self, key: SessionKey, timeout_seconds: float | None) -> None:
        self._key = key
        self._deadline = None if timeout_seconds is None else monotonic_time() + timeout_seconds
        self._observed_clear: tuple[str | None, float] = (None, 0.0)
        self._observed_turn: tuple[str | None, float | None, float] = (None, None, 0.0)
        self._poll_seconds = _MIN_POLL_SECONDS
        self.is_clear_wait_over = False
        self.is_turn_wait_over = timeout_seconds == 0

    @property
    def is_renewal_overdue(self) -> bool:
        """Whether the blocking turn has not renewed its mark for too long."""
        return monotonic_time() - self._observed_turn[2] >= RENEWAL_TIMEOUT_SECONDS

    def observe_blocker(self, row: LedgerRow) -> bool:
        """Record what blocks the turn; return True for another turn, False for a clear.

        The wait for a clear is bounded: a turn that is not counted would never be learned.
        """
        moment = monotonic_time()
        is_shared = (row.turn.active_owner or "").endswith(SHARED_OWNER_SUFFIX)
        self.is_turn_wait_over = is_shared or (self._deadline is not None and moment >= self._deadline)
        if row.clearing.owner is None:
            if self._observed_turn[:2] != (row.turn.active_owner, row.turn.active_until):
                self._observed_turn = (row.turn.active_owner, row.turn.active_until, moment)
            return True
        if self._observed_clear[0] != row.clearing.owner:
            self._observed_clear = (row.clearing.owner, moment)
        if moment - self._observed_clear[1] >= CLEAR_WAIT_SECONDS:
            self.is_clear_wait_over = True
            fields = log_fields("clear.waits", self._key, owner=row.clearing.owner)
            logger.warning(
                "conversation %s is still being cleared by %s", self._key.session, row.clearing, extra=fields
            )
        return False

    def next_poll_seconds(self) -> float:
        """Return the seconds until the next attempt: a little longer each time, with jitter."""
        poll_seconds, self._poll_seconds = self._poll_seconds, min(self._poll_seconds * 1.5, _MAX_POLL_SECONDS)
        return poll_seconds * random.uniform(0.75, 1.25)


class TurnLease:
    """One turn or command of this process in a conversation, under an owner name of its own in the ledger.

    `row` is the ledger's row when the lease was last acquired, and `expires_at` the time its mark expires.
    `is_turn_recorded`: a turn was counted under it; `is_turn_unclaimed`: no invocation has begun in that turn yet;
    `is_turn_private`: nothing of it is learned. `has_user_message`: the user's message is in the session (None: not
    tracked). `window_turns` is the replay window of the turn, if it is not the configured one. A lease that `is_shared`
    does not exclude other turns. With `may_be_cancelled` the holder may disappear without releasing it; heartbeats then
    decide whether it is alive. `waits` are those of the turn for the memory database. `requests` are stored when it
    ends, and then learned; what it `used` is stored, too, unless it is private.
    """

    def __init__(
        self, key: SessionKey, owner: str, *, is_foreign: bool, may_be_cancelled: bool, is_shared: bool
    ) -> None:
        self.key = key
        self.owner = owner
        self.waits = DatabaseWaits()
        self.is_foreign = is_foreign
        self.is_shared = is_shared
        self.row: LedgerRow | None = None
        self.expires_at: float | None = None
        self.is_turn_recorded = False
        self.is_turn_unclaimed = False
        self.is_turn_private = False
        self.has_user_message: bool | None = None
        self.window_turns: int | None = None
        self.requests: list[tuple[SessionKey, str]] = []
        self.used: TurnUsage | None = None
        self.is_released = False
        self.renewal_timer: asyncio.TimerHandle | None = None
        self.renewal_task: asyncio.Task[None] | None = None
        self._may_be_cancelled = may_be_cancelled
        self._owner_task = _current_task_ref()
        self._tasks: WeakSet[asyncio.Task[object]] = WeakSet()
        self._has_agent_task = False
        self._last_heartbeat_at = monotonic_time()

    def heartbeat(self, *, is_agent_task: bool = False) -> None:
        """Record that the run is alive; the calling task belongs to the run, unless it is the one that started it."""
        self._last_heartbeat_at = monotonic_time()
        task = asyncio.current_task()
        if task is not None and not self.is_owner_task:
            self._tasks.add(task)
            self._has_agent_task |= is_agent_task

    @property
    def is_owner_task(self) -> bool:
        """Whether the current task started the run: it may outlive the run."""
        return self._owner_task() is asyncio.current_task()

    @property
    def is_alive(self) -> bool:
        """Whether the run is still going, as far as is known."""
        if self.is_released or not self._may_be_cancelled or any(not task.done() for task in self._tasks):
            return not self.is_released
        return self.seconds_since_heartbeat < (TASK_GAP_SECONDS if self._has_agent_task else HEARTBEAT_TIMEOUT_SECONDS)

    @property
    def seconds_since_heartbeat(self) -> float:
        """Seconds since the last heartbeat."""
        return monotonic_time() - self._last_heartbeat_at


def _current_task_ref() -> ref[asyncio.Task[object]]:
    task = asyncio.current_task()
    assert task is not None
    return ref(task)


def monotonic_time() -> float:
    """Return the event loop's time, which clock changes do not affect."""
    return asyncio.get_running_loop().time()
