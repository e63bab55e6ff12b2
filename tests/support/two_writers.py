"""Two writers at one database, the second let in after each single statement of the first.

Each is an engine of its own over the same database, as two processes are: they share nothing in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import text
from sqlalchemy.engine import URL

from gaia_memory.config.sources.load import load
from gaia_memory.database.sql_engine import SqlDatabase
from gaia_memory.engine import Engine
from gaia_memory.errors import LeaseLostError
from gaia_memory.models import Mark, Message, Scope, SessionKey, Talk, Turn
from gaia_memory.sessions.learning.async_iter import each
from gaia_memory.testing import ScriptedExtractor
from support.turns import learn_with

APP, USER = "gaia", "itay"
KEY = SessionKey(APP, USER, "itay:cli")
SCOPE = Scope(APP, USER)
SAID_AT = 1_000.0
PATIENCE = 60.0

Act = Callable[[Engine], Awaitable[Any]]


class Clock:
    """The machine's time, and as much later as a test says."""

    later = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(datetime.now(UTC).timestamp() + self.later, UTC)


@dataclass
class Said:
    """A transcript in memory, shared by both: what was said and not cleared."""

    turns: dict[SessionKey, list[Turn]] = field(default_factory=dict)
    clears_by: Literal["delete", "rewind"] = "delete"
    is_whole: bool = True

    def say(self, words: str, *, key: SessionKey = KEY, at: float = SAID_AT) -> None:
        """Note a turn."""
        turns = self.turns.setdefault(key, [])
        event = f"{key.session}-{at}-{len(turns)}"
        said_at = datetime.fromtimestamp(at, UTC)
        message = Message(role="user", text=words, said_at=said_at, event_id=event, speaker=key.user)
        turns.append(Turn(seq=len(turns) + 1, messages=(message,), ended=Mark(at, event)))

    async def sessions(self, *, since: float | None = None) -> dict[SessionKey, float]:
        return dict.fromkeys(self.turns, SAID_AT)

    async def read(self, key: SessionKey, *, after: Mark | None, turns_before: int) -> Talk | None:
        if key not in self.turns:
            return None
        turns = tuple(turn for turn in self.turns[key] if after is None or turn.ended > after)
        end = turns[-1].ended if turns else after
        return Talk(key=key, turns=each(turns), end=end, loaded=len(self.turns[key]))

    async def clear(self, talk: Talk, *, how: str) -> bool:
        there = self.turns.get(talk.key, [])
        if there and there[-1].ended != talk.end:
            return False
        self.turns.pop(talk.key, None)
        return True


class Stepped:
    """A connection that tells of each statement it has made."""

    def __init__(self, connection: Any, made: Callable[[], Awaitable[None]]) -> None:
        self._connection = connection
        self._made = made

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def execute(self, *arguments: Any, **options: Any) -> Any:
        result = await self._connection.execute(*arguments, **options)
        await self._made()
        return result

    async def scalar(self, *arguments: Any, **options: Any) -> Any:
        result = await self._connection.scalar(*arguments, **options)
        await self._made()
        return result


class Pair:
    """Two engines over one database; `stride` is for tests that let them meet after every so many statements."""

    def __init__(self, first: Engine, second: Engine, said: Said, clock: Clock) -> None:
        self.first = first
        self.second = second
        self.said = said
        self.clock = clock
        self.stride = 1
        for engine in (first, second):
            engine.attach_transcript(APP, said)
            self.learns(engine)
        self._is_sqlite = first.database.is_local
        self._statements = 0

    def learns(self, engine: Engine, *facts: str) -> None:
        """Let what this engine asks its model be answered with these facts, whatever is said."""
        learn_with(engine, ScriptedExtractor(default=list(facts)))

    async def meet(self, act: Act, other: Act, *, at: int) -> bool:
        """Do `act` in the first engine and, after its statement number `at`, `other` in the second.

        The first goes on when the other is done, or waits for it. False when there was no such statement.
        """
        begun: list[asyncio.Task[Any]] = []
        self._statements = 0

        async def made(*, writes: bool) -> None:
            self._statements += 1
            if self._statements == at:
                begun.append(asyncio.create_task(_settled(other(self.second))))
                await self._let_in(begun[0], writes=writes)

        with _stepped(self.first.database, made):
            await _settled(act(self.first))
        if begun:
            await asyncio.wait_for(begun[0], PATIENCE)
        return bool(begun)

    async def _let_in(self, task: asyncio.Task[Any], *, writes: bool) -> None:
        """Wait until the other is done, or stands before a lock that the first holds."""
        if self._is_sqlite and writes:
            # The first has the file for itself until its end.
            return
        async with asyncio.timeout(PATIENCE), self._watching() as is_waiting:
            while not task.done() and not await is_waiting():
                await asyncio.sleep(0.001)

    @asynccontextmanager
    async def _watching(self) -> AsyncIterator[Callable[[], Awaitable[bool]]]:
        if self._is_sqlite:
            yield _never
            return
        async with self.second.database.engine.connect() as plain:
            connection = await plain.execution_options(isolation_level="AUTOCOMMIT")

            async def is_waiting() -> bool:
                return bool((await connection.execute(_WAITING)).scalar_one())

            yield is_waiting


_WAITING = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")


async def _never() -> bool:
    return False


async def _settled(act: Awaitable[Any]) -> Any:
    """Return what it returns, or that it found its work taken over: any other error is one too many."""
    try:
        return await act
    except LeaseLostError as lost:
        return lost


class _stepped:  # noqa: N801
    """While it is open, every statement of this database is told of."""

    def __init__(self, database: SqlDatabase, made: Callable[..., Awaitable[None]]) -> None:
        self._database: Any = database
        self._made = made

    def __enter__(self) -> None:
        for name in ("transaction", "reading"):
            setattr(self._database, name, self._told(getattr(self._database, name), writes=name == "transaction"))

    def __exit__(self, *_: object) -> None:
        del self._database.transaction, self._database.reading

    def _told(self, opened: Callable[[], Any], *, writes: bool) -> Callable[[], Any]:
        @asynccontextmanager
        async def told() -> AsyncIterator[Any]:
            async with opened() as connection:
                yield Stepped(connection, lambda: self._made(writes=writes))
            # Between two transactions nothing is locked.
            await self._made(writes=False)

        return told


@asynccontextmanager
async def pair(url: URL, folder: Path) -> AsyncIterator[Pair]:
    """Open two engines on a database; nothing of theirs runs by itself."""
    address = url.render_as_string(hide_password=False)
    clock, engines = Clock(), []
    try:
        for name in ("first", "second"):
            source = {"home": str(folder / name), "memory": {"database_url": address}}
            engines.append(await Engine.open(load(source, environ={}), clock=clock))
        yield Pair(engines[0], engines[1], Said(), clock)
    finally:
        for engine in engines:
            await engine.close()
