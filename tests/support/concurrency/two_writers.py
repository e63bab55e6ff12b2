"""Two writers on one database; the second acts after any chosen statement of the first.

Each is an engine on the same database, as in two processes: they share nothing in memory.
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
from gaia_memory.database.sql_engine import Database
from gaia_memory.engine import Engine
from gaia_memory.errors import LeaseLostError
from gaia_memory.learning.async_iter import to_async_iter
from gaia_memory.models import EventPosition, Message, Scope, SessionKey, TranscriptSlice, Turn
from gaia_memory.testing import ScriptedExtractor
from support.plugin_host import set_extractor

APP, USER = "gaia", "itay"
KEY = SessionKey(APP, USER, "itay:cli")
SCOPE = Scope(APP, USER)
SAID_AT = 1_000.0
TIMEOUT_SECONDS = 60.0

Operation = Callable[[Engine], Awaitable[Any]]


class OffsetClock:
    """The machine's time plus an offset that a test sets."""

    offset_seconds = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(datetime.now(UTC).timestamp() + self.offset_seconds, UTC)


@dataclass
class InMemoryTranscript:
    """A transcript in memory, shared by both engines: the turns that were not cleared."""

    turns: dict[SessionKey, list[Turn]] = field(default_factory=dict)
    clear_method: Literal["delete", "keep"] = "delete"
    is_complete: bool = True

    def add_turn(self, user_text: str, *, key: SessionKey = KEY, at: float = SAID_AT) -> None:
        """Add a turn."""
        turns = self.turns.setdefault(key, [])
        event = f"{key.session}-{at}-{len(turns)}"
        said_at = datetime.fromtimestamp(at, UTC)
        message = Message(role="user", text=user_text, said_at=said_at, event_id=event, speaker=key.user)
        turns.append(Turn(seq=len(turns) + 1, messages=(message,), end=EventPosition(at, event)))

    async def sessions(self, *, since: float | None = None) -> dict[SessionKey, float]:
        return dict.fromkeys(self.turns, SAID_AT)

    async def read(self, key: SessionKey, *, after: EventPosition | None, turns_before: int) -> TranscriptSlice | None:
        if key not in self.turns:
            return None
        turns = tuple(turn for turn in self.turns[key] if after is None or turn.end > after)
        end = turns[-1].end if turns else after
        return TranscriptSlice(key=key, turns=to_async_iter(turns), end=end, host_session=len(self.turns[key]))

    async def clear(self, conversation: TranscriptSlice, *, how: str) -> bool:
        turns = self.turns.get(conversation.key, [])
        if turns and turns[-1].end != conversation.end:
            return False
        self.turns.pop(conversation.key, None)
        return True


class SteppedConnection:
    """A connection that reports each executed statement."""

    def __init__(self, connection: Any, on_statement: Callable[[], Awaitable[None]]) -> None:
        self._connection = connection
        self._on_statement = on_statement

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def execute(self, *arguments: Any, **options: Any) -> Any:
        result = await self._connection.execute(*arguments, **options)
        await self._on_statement()
        return result

    async def scalar(self, *arguments: Any, **options: Any) -> Any:
        result = await self._connection.scalar(*arguments, **options)
        await self._on_statement()
        return result


class EnginePair:
    """Two engines over one database.

    `statement_stride` is for tests that interleave only at every n-th statement.
    """

    def __init__(self, first: Engine, second: Engine, transcript: InMemoryTranscript, clock: OffsetClock) -> None:
        self.first = first
        self.second = second
        self.transcript = transcript
        self.clock = clock
        self.statement_stride = 1
        for engine in (first, second):
            engine.attach_transcript(APP, transcript)
            self.script_extractor(engine)
        self._is_sqlite = first.database.is_local
        self._statements = 0

    def script_extractor(self, engine: Engine, *facts: str) -> None:
        """Answer every extraction of this engine with these facts."""
        set_extractor(engine, ScriptedExtractor(default=list(facts)))

    async def run_interleaved(self, operation: Operation, other_operation: Operation, *, statement_number: int) -> bool:
        """Run `operation` in the first engine and, after that statement of it, `other_operation` in the second.

        The first continues when the second is done or waits for it. Return False if there was no such statement.
        """
        other_tasks: list[asyncio.Task[Any]] = []
        self._statements = 0

        async def on_statement(*, writes: bool) -> None:
            self._statements += 1
            if self._statements == statement_number:
                other_tasks.append(asyncio.create_task(_result_or_lease_lost(other_operation(self.second))))
                await self._wait_for_other(other_tasks[0], writes=writes)

        with _StatementHooks(self.first.database, on_statement):
            await _result_or_lease_lost(operation(self.first))
        if other_tasks:
            await asyncio.wait_for(other_tasks[0], TIMEOUT_SECONDS)
        return bool(other_tasks)

    async def _wait_for_other(self, task: asyncio.Task[Any], *, writes: bool) -> None:
        """Wait until the other is done or waits for a lock of the first."""
        if self._is_sqlite and writes:
            # The first has the file locked until its transaction ends.
            return
        async with asyncio.timeout(TIMEOUT_SECONDS), self._lock_probe() as is_waiting:
            while not task.done() and not await is_waiting():
                await asyncio.sleep(0.001)

    @asynccontextmanager
    async def _lock_probe(self) -> AsyncIterator[Callable[[], Awaitable[bool]]]:
        if self._is_sqlite:
            yield _never
            return
        async with self.second.database.engine.connect() as plain:
            connection = await plain.execution_options(isolation_level="AUTOCOMMIT")

            async def is_waiting() -> bool:
                return bool((await connection.execute(_BLOCKED_SESSIONS_QUERY)).scalar_one())

            yield is_waiting


_BLOCKED_SESSIONS_QUERY = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


async def _never() -> bool:
    return False


async def _result_or_lease_lost(operation: Awaitable[Any]) -> Any:
    """Return the result or the error that another process took over the work; raise any other error."""
    try:
        return await operation
    except LeaseLostError as lost:
        return lost


class _StatementHooks:
    """While open, reports every statement of this database."""

    def __init__(self, database: Database, on_statement: Callable[..., Awaitable[None]]) -> None:
        self._database: Any = database
        self._on_statement = on_statement

    def __enter__(self) -> None:
        # `single_statement` opens a `transaction` or the last of these.
        for name in ("transaction", "read_transaction", "_autocommit"):
            setattr(self._database, name, self._hooked(getattr(self._database, name), writes=name == "transaction"))

    def __exit__(self, *_: object) -> None:
        del self._database.transaction, self._database.read_transaction, self._database._autocommit

    def _hooked(self, opened: Callable[..., Any], *, writes: bool) -> Callable[..., Any]:
        @asynccontextmanager
        async def told(*arguments: Any) -> AsyncIterator[Any]:
            async with opened(*arguments) as connection:
                yield SteppedConnection(connection, lambda: self._on_statement(writes=writes))
            # Between two transactions there are no locks.
            await self._on_statement(writes=False)

        return told


@asynccontextmanager
async def open_pair(url: URL, folder: Path) -> AsyncIterator[EnginePair]:
    """Open two engines on a database; neither runs background jobs."""
    address = url.render_as_string(hide_password=False)
    clock, engines = OffsetClock(), []
    try:
        for name in ("first", "second"):
            source = {"home": str(folder / name), "memory": {"database_url": address}}
            engines.append(await Engine.open(load(source, environ={}), clock=clock))
        yield EnginePair(engines[0], engines[1], InMemoryTranscript(), clock)
    finally:
        for engine in engines:
            await engine.close()
