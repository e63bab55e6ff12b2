"""An event loop in which coroutines go on one at a time, in an order that a test chooses.

Each stops behind every step: a transaction, a call of a session service, a question to a model. When nothing is under
way any more, one of those that stand there is let go.
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

from gaia_memory import engine
from gaia_memory.adk.sessions import transcript
from gaia_memory.adk.sessions.event_pages import DatabaseEvents, SqliteEvents
from gaia_memory.adk.sessions.transcript import SessionTranscript
from gaia_memory.database.sql_engine import SqlDatabase
from gaia_memory.ledger import SqlLedger
from gaia_memory.models import SessionKey

LEARNING = (
    *("claimed", "read", "extractor asked", "extractor answered", "embedded", "committed"),
    *("clearing", "session cleared", "cleared"),
)
"""What becomes of a conversation, in this order."""

_LEDGER = {
    **{"claim": "claimed", "advance": "committed", "begin_clearing": "clearing", "end_clearing": "cleared"},
    **{"begin_turn": "turn begun", "hold": "held", "end_turn": "turn ended", "release": "released"},
}
_AND = " and "
_IN_VAIN = ("claim", "advance", "begin_clearing")
"""What returns nothing, or False, where it has done nothing."""

_actor: ContextVar[str] = ContextVar("actor", default="")
_key: ContextVar[SessionKey | None] = ContextVar("key", default=None)
_claimed: ContextVar[int] = ContextVar("claimed", default=0)
_inside: ContextVar[bool] = ContextVar("inside", default=False)
_noted: ContextVar[list[str] | None] = ContextVar("noted", default=None)


@dataclass(eq=False)
class Stop:
    """Who stands behind which step, and the conversation it is about."""

    actor: str
    step: str
    key: SessionKey | None
    door: asyncio.Future[None]

    def is_behind(self, *steps: str) -> bool:
        """Say whether what was done last is one of these, alone or with others in one transaction."""
        return not set(steps).isdisjoint(self.step.split(_AND))


Choose = Callable[[list[Stop]], Stop]
"""Picks the next one of those who stand, sorted by name."""


class Stepper:
    """Lets one of those that stand at a step go on whenever nobody is under way; without `choose` nobody stops."""

    def __init__(self) -> None:
        self.choose: Choose | None = None
        self.standing: list[Stop] = []
        self.under_way = 0
        self.moment = 0
        """How many steps there were so far, in all stories."""

        self.went: list[str] = []
        """Who has gone on behind which step, in this story."""

    def go_on(self) -> None:
        """Let the next one go; the loop calls this when it has nothing else to do."""
        if self.under_way or not self.standing or self.choose is None:
            return
        stop = self.choose(sorted(self.standing, key=lambda each: (each.actor, str(each.key), each.step)))
        self.standing.remove(stop)
        self.moment += 1
        self.went.append(f"{stop.actor}: {stop.step}")
        if not stop.door.done():
            stop.door.set_result(None)

    async def stand(self, step: str) -> None:
        """Stop here until it is this one's turn."""
        if self.choose is None or not _actor.get() or _inside.get():
            return
        stop = Stop(_actor.get(), step, _key.get(), asyncio.get_running_loop().create_future())
        self.standing.append(stop)
        try:
            await stop.door
        finally:
            if stop in self.standing:
                self.standing.remove(stop)

    async def play(self, choose: Choose, actors: dict[str, Coroutine[Any, Any, None]], *, seconds: float) -> None:
        """Let all of them act until they are done, in the order that is chosen."""
        self.choose, self.went = choose, []
        try:
            async with asyncio.timeout(seconds), asyncio.TaskGroup() as tasks:
                for name, act in actors.items():
                    tasks.create_task(self._as(name, act))
        finally:
            self.choose = None
            for stop in self.standing:
                if not stop.door.done():
                    stop.door.set_result(None)

    @contextmanager
    def step(self) -> Iterator[None]:
        """Be under way: nobody else is let go, and nothing in it is a step of its own."""
        inside = _inside.set(True)
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1
            _inside.reset(inside)

    async def _as(self, name: str, act: Coroutine[Any, Any, None]) -> None:
        _actor.set(name)
        await act

    @staticmethod
    def hurry(patch: pytest.MonkeyPatch) -> None:
        """Let SQLite answer in this thread: to ask another one for each statement takes most of the time."""

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

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        """Stop behind each step of the product from now on."""
        for kind in (DatabaseSessionService, SqliteSessionService, InMemorySessionService):
            for name in ("create_session", "get_session", "append_event", "delete_session", "list_sessions"):
                self._stop_behind(patch, kind, name, name)
        self._stop_behind(patch, DatabaseEvents, "select", "events")
        self._stop_behind(patch, SqliteEvents, "select", "events")
        self._stop_behind(patch, transcript, "delete_unchanged", "deleted")
        self._stop_behind(patch, engine, "truncate_wal", "scrubbed")
        self._pass_on(patch, SessionTranscript, "read", "read")
        self._pass_on(patch, SessionTranscript, "clear", "session cleared")
        for name, step in _LEDGER.items():
            self._note(patch, SqlLedger, name, step)
        self._stop_behind_transactions(patch, "transaction", "written")
        self._stop_behind_transactions(patch, "reading", "looked")

    def _stop_behind(self, patch: pytest.MonkeyPatch, owner: Any, name: str, step: str) -> None:
        real = getattr(owner, name)

        @wraps(real)
        async def stopping(*args: Any, **kwargs: Any) -> Any:
            if _inside.get():
                return await real(*args, **kwargs)
            with self.step():
                result = await real(*args, **kwargs)
            await self.stand(step)
            return result

        patch.setattr(owner, name, stopping)

    def _pass_on(self, patch: pytest.MonkeyPatch, owner: Any, name: str, step: str) -> None:
        """Stop behind what consists of steps itself, where it did something."""
        real = getattr(owner, name)

        @wraps(real)
        async def stopping(*args: Any, **kwargs: Any) -> Any:
            result = await real(*args, **kwargs)
            if result:
                await self.stand(step)
            return result

        patch.setattr(owner, name, stopping)

    def _note(self, patch: pytest.MonkeyPatch, owner: Any, name: str, step: str) -> None:
        """Name the transaction after what was done in it."""
        real = getattr(owner, name)

        @wraps(real)
        async def noting(ledger: Any, tx: Any, key: SessionKey, *args: Any, **kwargs: Any) -> Any:
            result = await real(ledger, tx, key, *args, **kwargs)
            noted = _noted.get()
            if noted is not None and (result or name not in _IN_VAIN):
                noted.append(step)
                _key.set(key)
                if name == "claim":
                    _claimed.set(self.moment)
            return result

        patch.setattr(owner, name, noting)

    def _stop_behind_transactions(self, patch: pytest.MonkeyPatch, name: str, step: str) -> None:
        real = getattr(SqlDatabase, name)

        @asynccontextmanager
        async def stopping(database: SqlDatabase) -> AsyncIterator[Any]:
            noted: list[str] = []
            before = _noted.set(noted)
            try:
                with self.step():
                    async with real(database) as tx:
                        yield tx
            finally:
                _noted.reset(before)
            await self.stand(_AND.join(noted) or step)

        patch.setattr(SqlDatabase, name, stopping)


def talks_in(key: SessionKey) -> None:
    """Say which conversation the running task is about."""
    _key.set(key)


def claimed_at() -> int:
    """Return the moment at which the conversation was claimed that the running task learns."""
    return _claimed.get()


class SteppedLoop(asyncio.SelectorEventLoop):
    """An event loop that has its stepper let somebody go on before it would wait."""

    def __init__(self) -> None:
        super().__init__()
        self.stepper = Stepper()

    def _run_once(self) -> None:
        if not self._ready:  # type: ignore[attr-defined]
            self.stepper.go_on()
        super()._run_once()  # type: ignore[misc]

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        """Count what runs in a thread as under way."""
        self.stepper.under_way += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._is_back)
        return future

    def _is_back(self, _: Any) -> None:
        self.stepper.under_way -= 1
