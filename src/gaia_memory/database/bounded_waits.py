"""How long one turn may wait for the memory database, all its waits together, and when later turns ask again.

A driver cannot always be interrupted: SQLite's thread sleeps until its own time-out. So what a turn asks of the
database runs in a task of its own, which the turn leaves behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from typing import Any, TypeVar

from gaia_memory.errors import MemoryClosedError, MemoryUnavailable
from gaia_memory.log import log_fields, logger_for

logger = logger_for(__name__)

MEMORY_WAIT_SECONDS = 5.0
"""How long one turn waits for the memory database, all its waits together."""

CANCELLED_TURN_SECONDS = 0.5
"""How long a cancelled turn waits for its end to be recorded."""

_PROMPT_ANSWER_SECONDS = 0.1
"""An answer within this time is no wait: a turn that waits for another one asks four times a second."""

_PROBE_PAUSE_SECONDS = 1.0
_REMEDY = "check whether another process has locked it; turns go on without memory until it answers"

_Result = TypeVar("_Result")

_background_tasks: set[asyncio.Task[Any]] = set()


async def run_detached(work: Coroutine[Any, Any, _Result], *, keeps_running: bool = False) -> _Result:
    """Return the result of `work`, which runs in a task of its own.

    A caller that is cancelled returns at once. The work is cancelled, too, and ends in the background; with
    `keeps_running` it is not.
    """
    task = _start(work)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        if not keeps_running:
            task.cancel()
        raise
    return task.result()


@contextmanager
def unlimited_waits() -> Iterator[None]:
    """Let what is done in this block wait for the database as long as its own time-outs, as learning does."""
    token = _current_call.set(_Call(None))
    try:
        yield
    finally:
        _current_call.reset(token)


class DatabaseWaits:
    """The waits of one turn for the memory database. A call that has used up their time is left behind.

    `is_over` once the turn has ended.
    """

    def __init__(self) -> None:
        self.is_over = False
        self._remaining_seconds = MEMORY_WAIT_SECONDS

    async def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Return the result of `work`; only its waits for the database count, not those for a model.

        Raises:
            MemoryUnavailable: the waits of the turn have lasted too long, or the database has not answered an earlier
                turn and not since.
        """
        call = _Call(self)
        token = _current_call.set(call)
        try:
            async with call.limit:
                return await run_detached(work)
        except TimeoutError as error:
            if not call.limit.expired():
                raise
            raise refusal() from error
        finally:
            call.end()
            _current_call.reset(token)

    async def finish(self, work: Coroutine[Any, Any, None], *, is_cancelled: bool = False) -> None:
        """Wait for `work` as long as the turn may wait, and then leave it to go on in the background."""
        with unlimited_waits():
            task = _start(work)
        seconds = CANCELLED_TURN_SECONDS if is_cancelled else self._remaining_seconds
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if done:
            task.result()

    def count(self, seconds: float) -> None:
        """Subtract a wait."""
        if seconds > _PROMPT_ANSWER_SECONDS:
            self._remaining_seconds -= seconds
        if self._remaining_seconds < _PROMPT_ANSWER_SECONDS:
            self._remaining_seconds = 0.0

    @property
    def remaining_seconds(self) -> float:
        """How long the turn may still wait."""
        return self._remaining_seconds


class Refusals:
    """Whether a database has let a turn wait too long: later turns do not wait, and `probe` asks in the background."""

    def __init__(self, probe: Callable[[], Awaitable[None]]) -> None:
        self._probe = probe
        self._task: asyncio.Task[None] | None = None

    @property
    def is_refusing(self) -> bool:
        """Whether the database has not answered since it let a turn wait too long."""
        return self._task is not None and not self._task.done()

    def note(self) -> None:
        """Record that a turn has waited too long."""
        if not self.is_refusing:
            logger.warning("%s", refusal(), extra=log_fields("database.away"))
            # An empty context: the probe is no part of the turn.
            self._task = asyncio.get_running_loop().create_task(
                self._ask_until_answered(), name="gaia-database-probe", context=Context()
            )

    def stop(self) -> None:
        """Stop asking."""
        if self._task is not None:
            self._task.cancel()

    async def _ask_until_answered(self) -> None:
        while True:
            try:
                await self._probe()
            except MemoryClosedError:
                return
            except MemoryUnavailable:
                await asyncio.sleep(_PROBE_PAUSE_SECONDS)
            else:
                logger.info("the memory database answers again: turns use memory", extra=log_fields("database.back"))
                return


@contextmanager
def counted_wait(refusals: Refusals | None = None) -> Iterator[None]:
    """Count the time in this block as a wait of the current turn, if there is one.

    Raises:
        MemoryUnavailable: the turn has waited too long, or `refusals` says that the database does not answer.
    """
    call = _current_call.get()
    if call is None:
        yield
        return
    with call.counting(refusals):
        yield


def refusal() -> MemoryUnavailable:
    """Return the error of a call that does not wait for the database any longer."""
    error = MemoryUnavailable(f"the memory database did not answer within {MEMORY_WAIT_SECONDS:g} s", remedy=_REMEDY)
    error.is_logged = True
    return error


class _Call:
    """One call of a turn that may wait for the database; `waits` is None once nobody waits for it any more."""

    def __init__(self, waits: DatabaseWaits | None) -> None:
        self.waits = waits
        self.limit = asyncio.timeout(None)
        self._refusals: Refusals | None = None
        self._started_at: float | None = None

    @contextmanager
    def counting(self, refusals: Refusals | None) -> Iterator[None]:
        if refusals is not None and refusals.is_refusing:
            raise refusal()
        waits = self.waits
        if waits is None or self._started_at is not None:
            yield
            return
        if not waits.remaining_seconds:
            raise refusal()
        time = asyncio.get_running_loop().time
        started_at = self._started_at = time()
        self._refusals = refusals
        self.limit.reschedule(started_at + waits.remaining_seconds)
        try:
            yield
        finally:
            if self.waits is not None and not self.limit.expired():
                waits.count(time() - started_at)
                self._started_at = None
                self.limit.reschedule(None)

    def end(self) -> None:
        """Count the wait that the call is left in; the database has refused if the turn may not wait any longer."""
        waits, self.waits = self.waits, None
        if waits is None or self._started_at is None:
            return
        waits.count(asyncio.get_running_loop().time() - self._started_at)
        if not waits.remaining_seconds and self._refusals is not None:
            self._refusals.note()


_current_call: ContextVar[_Call | None] = ContextVar("database_call", default=None)


def _start(work: Coroutine[Any, Any, _Result]) -> asyncio.Task[_Result]:
    task = asyncio.get_running_loop().create_task(work, name="gaia-turn-call")
    _background_tasks.add(task)
    task.add_done_callback(_forget)
    return task


def _forget(task: asyncio.Task[Any]) -> None:
    _background_tasks.discard(task)
    if not task.cancelled():
        # Whoever waited for it has the error; if nobody did, a later turn or sweep does the work.
        task.exception()
