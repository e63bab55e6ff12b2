"""A lease on a conversation for one turn: no process clears it meanwhile, and other turns wait."""

from __future__ import annotations

import asyncio
from weakref import WeakSet, ref

from gaia_memory.database.bounded_waits import DatabaseWaits
from gaia_memory.models import LedgerRow, SessionKey

TURN_WAIT_SECONDS = 120.0
"""How long a turn in a foreign Runner waits for another turn of its session, which may be waiting for this one."""

HEARTBEAT_TIMEOUT_SECONDS = 120.0
"""A run without a heartbeat for this long is considered cancelled: ADK calls no hook for a cancelled turn."""

SHARED_OWNER_SUFFIX = "~"
"""The end of the owner name of a shared lease."""

TASK_GAP_SECONDS = 3.0
"""How long a run may be without a task: between two agents, and at its end."""


class TurnLease:
    """One turn or command of this process in a conversation, under an owner name of its own in the ledger.

    `row` is the ledger's row when the lease was last acquired, and `expires_at` the time its mark expires.
    `is_turn_recorded`: a turn was counted under it; `is_turn_unclaimed`: no invocation has begun in that turn yet;
    `is_turn_private`: nothing of it is learned. `has_user_message`: the user's message is in the session (None: not
    tracked). `window_turns` is the replay window of the turn, if it is not the configured one. A lease that `is_shared`
    does not exclude other turns. With `may_be_cancelled` the holder may disappear without releasing it; heartbeats then
    decide whether it is alive. `waits` are those of the turn for the memory database. `requests` are stored when it
    ends, and then learned.
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
