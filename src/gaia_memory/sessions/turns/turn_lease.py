"""A hold on a conversation: somebody talks in it, so nobody clears it, and others wait until it is over."""

from __future__ import annotations

import asyncio
from weakref import WeakSet, ref

from gaia_memory.models import Invocation, LedgerRow, SessionKey

SILENT_SECONDS = 120.0
"""A run without a sign of life for so long may be broken off: ADK calls no hook where a turn is cancelled."""

SHARED = "~"
"""How the name of a hold ends that keeps nobody from talking."""

BETWEEN_SECONDS = 3.0
"""How long a run may have no task of its own: between two agents, and at its end."""


class Hold:
    """One turn or command of this process in a conversation, under a name of its own in the ledger.

    `row` is the ledger's row when it was taken last, `until` when its mark ends by itself; `is_counted` says that a
    turn was counted under it, `set_back` names turns in which the clock was set back, `has_message` says that what
    the person said is in the session (None: nobody looks). One that `is_shared` keeps nobody from talking. Who takes
    one with `may_vanish` may be cancelled without giving it back: then signs of life tell whether it goes on.
    """

    def __init__(self, key: SessionKey, owner: str, *, is_foreign: bool, may_vanish: bool, is_shared: bool) -> None:
        self.key = key
        self.owner = owner
        self.is_foreign = is_foreign
        self.is_shared = is_shared
        self.row: LedgerRow | None = None
        self.until: float | None = None
        self.is_counted = False
        self.set_back: list[Invocation] = []
        self.has_message: bool | None = None
        self.is_over = False
        self.timer: asyncio.TimerHandle | None = None
        self.renewal: asyncio.Task[None] | None = None
        self._may_vanish = may_vanish
        self._begun_in = _this_task()
        self._tasks: WeakSet[asyncio.Task[object]] = WeakSet()
        self._has_own_task = False
        self._signed_at = now()

    def sign(self, *, of_agent: bool = False) -> None:
        """Note that the run goes on; the task that says so is one of its own, unless it began the run."""
        self._signed_at = now()
        task = asyncio.current_task()
        if task is not None and not self.is_begun_here:
            self._tasks.add(task)
            self._has_own_task |= of_agent

    @property
    def is_begun_here(self) -> bool:
        """Whether the running task is the one that began the run: it may outlive it."""
        return self._begun_in() is asyncio.current_task()

    @property
    def is_alive(self) -> bool:
        """Whether it goes on, as far as is known."""
        if self.is_over or not self._may_vanish or any(not task.done() for task in self._tasks):
            return not self.is_over
        return self.silence < (BETWEEN_SECONDS if self._has_own_task else SILENT_SECONDS)

    @property
    def silence(self) -> float:
        """Seconds since the last sign of life."""
        return now() - self._signed_at


def _this_task() -> ref[asyncio.Task[object]]:
    task = asyncio.current_task()
    assert task is not None
    return ref(task)


def now() -> float:
    """Return the time by which waits are measured: it goes on evenly, whatever the clock says."""
    return asyncio.get_running_loop().time()
