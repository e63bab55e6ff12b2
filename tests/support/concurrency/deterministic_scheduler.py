"""An event loop in which coroutines proceed one at a time, in an order that a test chooses.

Each coroutine pauses after every step: a transaction, a call of a session service, a request to a model. When none is
running any more, one of the paused ones resumes.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

import aiosqlite
import pytest
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService

from gaia_memory.adk.sessions import transcript
from gaia_memory.adk.sessions.transcript import DatabaseEvents, SessionTranscript
from gaia_memory.database import session_engine
from gaia_memory.database.sql_engine import Database
from gaia_memory.ledger import Ledger
from gaia_memory.models import SessionKey

LEARNING_STEPS = (
    *("claimed", "read", "extractor asked", "extractor answered", "embedded", "committed"),
    *("clearing", "session cleared", "cleared"),
)
"""The steps of learning and clearing a conversation, in order."""

_LEDGER_STEPS = {
    **{"claim": "claimed", "advance_watermark": "committed", "begin_clearing": "clearing", "end_clearing": "cleared"},
    **{"begin_turn": "turn begun", "reserve_turn": "held", "end_turn": "turn ended", "release": "released"},
}
_STEP_SEPARATOR = " and "
_MAY_HAVE_NO_EFFECT = ("claim", "advance_watermark", "begin_clearing")
"""These return nothing, or False, if they had no effect."""

_actor: ContextVar[str] = ContextVar("actor", default="")
_key: ContextVar[SessionKey | None] = ContextVar("key", default=None)
_claimed: ContextVar[int] = ContextVar("claimed", default=0)
_in_atomic_step: ContextVar[bool] = ContextVar("inside", default=False)
_transaction_steps: ContextVar[list[str] | None] = ContextVar("noted", default=None)


@dataclass(eq=False)
class PausedActor:
    """A paused actor, the step it has done, and the conversation it works on."""

    actor: str
    step: str
    key: SessionKey | None
    resumed: asyncio.Future[None]

    def has_done(self, *steps: str) -> bool:
        """Say whether the last step is one of these, alone or with others in one transaction."""
        return not set(steps).isdisjoint(self.step.split(_STEP_SEPARATOR))


Chooser = Callable[[list[PausedActor]], PausedActor]
"""Picks the next of the paused actors, which are sorted by name."""


class StepScheduler:
    """Resumes one paused actor whenever none is running; without `choose` no actor pauses."""

    def __init__(self) -> None:
        self.choose: Chooser | None = None
        self.paused: list[PausedActor] = []
        self.running_count = 0
        self.step_count = 0
        """The number of steps so far, in all stories."""

        self.trace: list[str] = []
        """The resumed actors of this story, each with its step."""

    def resume_next(self) -> None:
        """Resume the next actor; the loop calls this when it has nothing else to do."""
        if self.running_count or not self.paused or self.choose is None:
            return
        stop = self.choose(sorted(self.paused, key=lambda each: (each.actor, str(each.key), each.step)))
        self.paused.remove(stop)
        self.step_count += 1
        self.trace.append(f"{stop.actor}: {stop.step}")
        if not stop.resumed.done():
            stop.resumed.set_result(None)

    async def pause(self, step: str) -> None:
        """Pause until this actor is chosen."""
        if self.choose is None or not _actor.get() or _in_atomic_step.get():
            return
        stop = PausedActor(_actor.get(), step, _key.get(), asyncio.get_running_loop().create_future())
        self.paused.append(stop)
        try:
            await stop.resumed
        finally:
            if stop in self.paused:
                self.paused.remove(stop)

    async def run(self, choose: Chooser, actors: dict[str, Coroutine[Any, Any, None]], *, seconds: float) -> None:
        """Run all actors until they are done, in the chosen order."""
        self.choose, self.trace = choose, []
        try:
            async with asyncio.timeout(seconds), asyncio.TaskGroup() as tasks:
                for name, act in actors.items():
                    tasks.create_task(self._run_actor(name, act))
        finally:
            self.choose = None
            for stop in self.paused:
                if not stop.resumed.done():
                    stop.resumed.set_result(None)

    @contextmanager
    def atomic_step(self) -> Iterator[None]:
        """Count as running: no other actor resumes, and nothing inside is a step of its own."""
        inside = _in_atomic_step.set(True)
        self.running_count += 1
        try:
            yield
        finally:
            self.running_count -= 1
            _in_atomic_step.reset(inside)

    async def _run_actor(self, name: str, act: Coroutine[Any, Any, None]) -> None:
        _actor.set(name)
        await act

    @staticmethod
    def run_sqlite_inline(patch: pytest.MonkeyPatch) -> None:
        """Run SQLite in this thread: a thread switch for each statement takes most of the time."""

        async def connect(connection: aiosqlite.Connection) -> aiosqlite.Connection:
            connection._connection = connection._connection or connection._connector()
            return connection

        async def execute(
            connection: aiosqlite.Connection, function: Callable[..., Any], *args: Any, **named: Any
        ) -> Any:
            assert connection._connection is not None
            return function(*args, **named)

        patch.setattr(sqlite3, "connect", partial(sqlite3.connect, check_same_thread=False))
        patch.setattr(aiosqlite.Connection, "_connect", connect)
        patch.setattr(aiosqlite.Connection, "_execute", execute)

    def instrument(self, patch: pytest.MonkeyPatch) -> None:
        """Pause after each step of the product from this point."""
        for kind in (DatabaseSessionService, SqliteSessionService, InMemorySessionService):
            for name in ("create_session", "get_session", "append_event", "delete_session", "list_sessions"):
                self._pause_after(patch, kind, name, name)
        self._pause_after(patch, DatabaseEvents, "select", "events")
        self._pause_after(patch, transcript, "delete_if_unchanged", "deleted")
        self._pause_after(patch, session_engine, "truncate_wal", "scrubbed")
        self._pause_after_effect(patch, SessionTranscript, "read", "read")
        self._pause_after_effect(patch, SessionTranscript, "clear", "session cleared")
        for name, step in _LEDGER_STEPS.items():
            self._record_ledger_step(patch, Ledger, name, step)
        self._pause_after_transactions(patch, "transaction", "written")
        self._pause_after_transactions(patch, "read_transaction", "looked")

    def _pause_after(self, patch: pytest.MonkeyPatch, owner: Any, name: str, step: str) -> None:
        real = getattr(owner, name)

        @wraps(real)
        async def stopping(*args: Any, **kwargs: Any) -> Any:
            if _in_atomic_step.get():
                return await real(*args, **kwargs)
            with self.atomic_step():
                result = await real(*args, **kwargs)
            await self.pause(step)
            return result

        patch.setattr(owner, name, stopping)

    def _pause_after_effect(self, patch: pytest.MonkeyPatch, owner: Any, name: str, step: str) -> None:
        """Pause after an operation that consists of steps itself, if it had an effect."""
        real = getattr(owner, name)

        @wraps(real)
        async def stopping(*args: Any, **kwargs: Any) -> Any:
            result = await real(*args, **kwargs)
            if result:
                await self.pause(step)
            return result

        patch.setattr(owner, name, stopping)

    def _record_ledger_step(self, patch: pytest.MonkeyPatch, owner: Any, name: str, step: str) -> None:
        """Name the transaction after the operations in it."""
        real = getattr(owner, name)

        @wraps(real)
        async def noting(ledger: Any, tx: Any, key: SessionKey, *args: Any, **kwargs: Any) -> Any:
            result = await real(ledger, tx, key, *args, **kwargs)
            noted = _transaction_steps.get()
            if noted is not None and (result or name not in _MAY_HAVE_NO_EFFECT):
                noted.append(step)
                _key.set(key)
                if name == "claim":
                    _claimed.set(self.step_count)
            return result

        patch.setattr(owner, name, noting)

    def _pause_after_transactions(self, patch: pytest.MonkeyPatch, name: str, step: str) -> None:
        real = getattr(Database, name)

        @asynccontextmanager
        async def stopping(database: Database) -> AsyncIterator[Any]:
            noted: list[str] = []
            before = _transaction_steps.set(noted)
            try:
                with self.atomic_step():
                    async with real(database) as tx:
                        yield tx
            finally:
                _transaction_steps.reset(before)
            await self.pause(_STEP_SEPARATOR.join(noted) or step)

        patch.setattr(Database, name, stopping)


def set_current_session(key: SessionKey) -> None:
    """Set the conversation that the running task works on."""
    _key.set(key)


def claim_step() -> int:
    """Return the moment at which the conversation that the running task learns was claimed."""
    return _claimed.get()


class DeterministicEventLoop(asyncio.SelectorEventLoop):
    """An event loop that resumes an actor of its stepper before it would wait."""

    def __init__(self) -> None:
        super().__init__()
        self.stepper = StepScheduler()

    def _run_once(self) -> None:
        if not self._ready:  # type: ignore[attr-defined]
            self.stepper.resume_next()
        super()._run_once()  # type: ignore[misc]

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        """Count a call in a thread as running."""
        self.stepper.running_count += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._on_thread_done)
        return future

    def _on_thread_done(self, _: Any) -> None:
        self.stepper.running_count -= 1
