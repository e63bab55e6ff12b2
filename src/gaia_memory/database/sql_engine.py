"""One engine per database, and its transactions."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import event
from sqlalchemy.engine import URL, ExceptionContext, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from gaia_memory.database import migrate, sqlite
from gaia_memory.database.bounded_waits import Refusals, counted_wait
from gaia_memory.database.connections import (
    REGISTRY_OPTION,
    ConnectionRegistry,
    abandon,
    dispose,
    registry_of,
)
from gaia_memory.database.file_permissions import warn_if_accessible
from gaia_memory.database.files.file_swap import finish_swap, remove_leftovers
from gaia_memory.database.files.open_file import OpenFile
from gaia_memory.database.metadata import metadata
from gaia_memory.database.migrations import REVISIONS
from gaia_memory.database.pooling.failures import is_about_damage, unavailable_error, use_connection
from gaia_memory.database.pooling.server_engine import DEFAULT_POOL, server_engine
from gaia_memory.database.pooling.server_engine import PoolSettings as PoolSettings
from gaia_memory.errors import ConfigError, MemoryClosedError, MemoryUnavailable
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    import sqlite3

    from gaia_memory.ports import Transaction

_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg"}

CONNECT_TIMEOUT_SECONDS = 10.0
STATEMENT_TIMEOUT_SECONDS = 30.0
"""Time-out of a statement on a server; those of a turn take milliseconds."""

MAINTENANCE_TIMEOUT_SECONDS = 3600.0
"""Time-out of a migration or a vacuum on a server."""

DAMAGE_CHECK_INTERVAL_SECONDS = 10.0
"""How long after a check `find_problem` repeats it: a gigabyte takes a few seconds."""

_CHECKPOINT_TIMEOUT_MILLISECONDS = 250
_SCRUBBED_TABLES = (
    "gaia_facts",
    "gaia_past_facts",
    "gaia_endings",
    "gaia_fact_sources",
    "gaia_profiles",
    "gaia_outbox",
    "gaia_conversations",
    "gaia_tool_changes",
)


def open_engine(url: str | URL, *, pool: PoolSettings = DEFAULT_POOL, **options: Any) -> AsyncEngine:
    """Return an engine that connects at its first use, also for ADK's `DatabaseSessionService(db_engine=…)`.

    On SQLite a missing file is created for its owner only, and every transaction waits for its turn and takes the write
    lock at once, unless its execution options contain `read_only`. `pool` is for a server.

    Raises:
        ConfigError: the URL is not a database URL, or its driver is not installed.
    """
    address = _parse(url)
    # Error messages must not contain the values of a statement, which are users' texts.
    options = {"hide_parameters": True, **options}
    if address.get_backend_name() != "sqlite":
        limits = {"timeout": CONNECT_TIMEOUT_SECONDS, "command_timeout": STATEMENT_TIMEOUT_SECONDS}
        defaults = {name: value for name, value in limits.items() if name not in address.query}
        options["connect_args"] = defaults | options.get("connect_args", {})
        return server_engine(address, pool, **options)
    return sqlite_engine(address, sqlite.PrivateConnection, **options)


def sqlite_engine(address: URL, connection_type: type[sqlite3.Connection], **options: Any) -> AsyncEngine:
    """Return an engine whose connections are of the given type, each with a thread of its own."""
    path = sqlite.database_path(address)
    registry = ConnectionRegistry(connection_type, None if path is None else OpenFile(path))
    # Each transaction ends where it began. Resetting a connection on its return to the pool would cost another trip
    # to its thread, and log an error if the event loop ended at that moment.
    options = {"pool_reset_on_return": None, **options}
    engine = create_async_engine(
        address,
        connect_args={"factory": registry.connect, "isolation_level": None},
        execution_options={REGISTRY_OPTION: registry},
        **options,
    )
    registry.track(engine)
    sqlite.begin_explicitly(engine.sync_engine, registry.writers)
    event.listen(engine.sync_engine, "handle_error", _drop_damaged_pages)
    return engine


def _drop_damaged_pages(context: ExceptionContext) -> None:
    """Let no connection outlive an error about damage: its cache keeps the page after the file has been mended."""
    if is_about_damage(context.original_exception):
        context.is_disconnect = True


def _parse(url: str | URL) -> URL:
    try:
        address = make_url(url)
    except ArgumentError as error:
        raise ConfigError(["a database_url is not of the form driver://…"], source="the database URL") from error
    return address.set(drivername=_DRIVERS.get(address.drivername, address.drivername))


async def open_database(url: str | URL, *, home: Path, pool: PoolSettings = DEFAULT_POOL) -> Database:
    """Open the memory database; create it or migrate its tables first. `pool` is for a server.

    Raises:
        ConfigError: the URL names a database in memory, which would be lost with the process.
        MemoryUnavailable: the database cannot be reached, or a newer version of this package wrote it.
    """
    address = _parse(url)
    file = sqlite.database_path(address)
    if address.get_backend_name() == "sqlite" and file is None:
        raise ConfigError(["memory.database_url: names no file, so nothing would be kept"], source="the database URL")
    if file is not None and await run_in_thread(_is_read_only, file, home):
        return await _open_read_only(address, file)
    database = Database(open_engine(address, pool=pool), pool=pool)
    try:
        await run_in_thread(home.mkdir, mode=0o700, parents=True, exist_ok=True)
        has_existing_data = file is None or await run_in_thread(file.exists)
        await migrate.upgrade_schema(database.engine, lambda: _maintenance_engine(address))
        if has_existing_data:
            await run_in_thread(warn_if_accessible, home, file)
    except (DBAPIError, OSError) as error:
        await database.close()
        raise unavailable_error(error, database.engine) from error
    except BaseException:
        await database.close()
        raise
    return database


def _is_read_only(file: Path, home: Path) -> bool:
    """Return whether a file can only be read; finish a restore first that was killed while it replaced the files."""
    finish_swap(home)
    return sqlite.is_read_only(file)


async def _open_read_only(address: URL, file: Path) -> Database:
    """Open a file that cannot be written, such as that of a home on a read-only disk."""
    error = MemoryUnavailable(
        f"{file} is read-only", remedy="make the file and its folder writable; until then facts can only be read"
    )
    database = Database(sqlite_engine(address, sqlite.ReadOnlyConnection, hide_parameters=True), read_only=error)
    try:
        if await migrate.schema_version(database.engine) != REVISIONS[-1]:
            remedy = "make the file and its folder writable, so that its tables can be migrated"
            raise MemoryUnavailable(f"{file} is read-only and has the tables of an older version", remedy=remedy)
    except (DBAPIError, OSError) as failure:
        await database.close()
        raise unavailable_error(failure, database.engine) from failure
    except BaseException:
        await database.close()
        raise
    return database


def _maintenance_engine(address: URL) -> AsyncEngine:
    """Return an engine for migrations and vacuums, with a longer time-out."""
    if address.get_backend_name() == "sqlite":
        return open_engine(address, poolclass=NullPool)
    return open_engine(address, poolclass=NullPool, connect_args={"command_timeout": MAINTENANCE_TIMEOUT_SECONDS})


class Database:
    """A memory database on SQLite or PostgreSQL, bound to the event loop of its first use.

    `read_only` is the error of a write into a file that cannot be written. `pool` is that of a server.
    """

    def __init__(
        self, engine: AsyncEngine, *, pool: PoolSettings = DEFAULT_POOL, read_only: MemoryUnavailable | None = None
    ) -> None:
        self.engine = engine
        self.pool = pool
        self._read_only = read_only
        self._checked_at = float("-inf")
        self._is_sqlite = engine.dialect.name == "sqlite"
        registry = registry_of(engine)
        self._writers = None if registry is None else registry.writers
        self._is_closed = False
        self._write_refusals = Refusals(self._probe_writes)
        # SQLite's readers do not wait for a writer; a server may lock tables against both.
        self._read_refusals = Refusals(self._probe_reads) if self._is_sqlite else self._write_refusals

    @property
    def is_local(self) -> bool:
        """Whether it is a file of this machine, which processes of other machines cannot reach."""
        return self._is_sqlite

    @property
    def is_read_only(self) -> bool:
        """Whether the disk or the permissions allow only to read it."""
        return self._read_only is not None

    def require_open(self) -> None:
        # SQLAlchemy's engine would silently reconnect.
        """Check that the database is open.

        Raises:
            MemoryClosedError: it was closed, and does not open again.
        """
        if self._is_closed:
            raise MemoryClosedError

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Open a write transaction: exclusive on SQLite from its first statement, rolled back on an error."""
        async with (
            self._writing(),
            use_connection(self.engine, **{sqlite.HAS_TURN_OPTION: True}) as connection,
            connection.begin(),
        ):
            yield connection

    def single_statement(self, *, only_reads: bool = False) -> AbstractAsyncContextManager[Transaction]:
        # SQLite's thread finishes what it has begun. Without a transaction, a mark would be set although its turn was
        # cancelled long before and has removed it already.
        """Open the shortest transaction for one statement. Several need not see one state, nor be undone together.

        With `only_reads` writers are not waited for.
        """
        return self.transaction() if self._is_sqlite and not only_reads else self._autocommit(only_reads)

    @asynccontextmanager
    async def _autocommit(self, only_reads: bool) -> AsyncIterator[Transaction]:
        options: dict[str, Any] = {sqlite.READ_ONLY_OPTION: True} if only_reads else {}
        options |= {sqlite.NO_TRANSACTION_OPTION: True} if self._is_sqlite else {"isolation_level": "AUTOCOMMIT"}
        waiting = self._reading() if only_reads else self._writing()
        async with waiting, use_connection(self.engine, **options) as connection:
            yield connection

    @asynccontextmanager
    async def read_transaction(self) -> AsyncIterator[Transaction]:
        """Open a short read transaction that sees one state of the database."""
        options: dict[str, Any] = {sqlite.READ_ONLY_OPTION: True}
        if not self._is_sqlite:
            options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        async with self._reading(), use_connection(self.engine, **options) as connection, connection.begin():
            yield connection

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        """Wait for a turn to write before a connection is taken, so that readers find one."""
        with counted_wait(self._write_refusals):
            async with self._turn_to_write():
                self.require_open()
                if self._read_only is not None:
                    raise MemoryUnavailable(self._read_only.reason, remedy=self._read_only.remedy)
                yield

    @asynccontextmanager
    async def _turn_to_write(self) -> AsyncIterator[None]:
        if self._writers is None:
            yield
            return
        try:
            await self._writers.enter()
        except OperationalError as error:
            # The writer in front met somebody else's lock.
            raise unavailable_error(error, self.engine) from error
        try:
            yield
        finally:
            self._writers.leave()

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[None]:
        self.require_open()
        with counted_wait(self._read_refusals):
            yield

    async def _probe_writes(self) -> None:
        async with self.transaction() as connection:
            if not self._is_sqlite:
                # Not waiting: a probe that held some of these locks and waited for others could block a migration.
                tables = ", ".join(metadata.tables)
                await connection.exec_driver_sql(f"LOCK TABLE {tables} IN ROW EXCLUSIVE MODE NOWAIT")

    async def _probe_reads(self) -> None:
        async with self.read_transaction() as connection:
            await connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")

    async def find_problem(self) -> MemoryUnavailable | None:
        """Return why the database must not be written: its file is gone, replaced, damaged or read-only; else None."""
        registry = registry_of(self.engine)
        file = None if registry is None else registry.file
        if self._read_only is not None or file is None:
            return self._read_only
        try:
            await run_in_thread(file.require_same)
        except MemoryUnavailable as error:
            return error
        if file.damage is not None and time.monotonic() - self._checked_at >= DAMAGE_CHECK_INTERVAL_SECONDS:
            await self._check_pages(file)
        return file.damage

    async def _check_pages(self, file: OpenFile) -> None:
        # By a connection of this engine: closing any other would release the locks of this process on the file.
        with suppress(MemoryUnavailable):
            self.require_open()
            async with use_connection(self.engine, **{sqlite.NO_TRANSACTION_OPTION: True}) as connection:
                result = (await connection.exec_driver_sql("PRAGMA quick_check(1)")).scalar_one()
                if result != "ok":
                    await connection.invalidate()
            file.note_damage("" if result == "ok" else str(result).splitlines()[-1])
        self._checked_at = time.monotonic()

    async def scrub(self) -> bool:
        """Remove deleted text from the write-ahead log, what a killed restore left, or the dead rows of a server.

        Returns False while another reader or process keeps the old pages in use: call again later.
        """
        self.require_open()
        file = sqlite.database_path(self.engine.url)
        if file is None:
            await self._vacuum()
            return True
        await run_in_thread(remove_leftovers, file.parent)
        async with self._turn_to_write():
            return await truncate_wal(self.engine)

    async def _vacuum(self) -> None:
        maintenance = _maintenance_engine(self.engine.url)
        try:
            async with use_connection(maintenance, isolation_level="AUTOCOMMIT") as connection:
                await connection.exec_driver_sql(f"VACUUM {', '.join(_SCRUBBED_TABLES)}")
        finally:
            await maintenance.dispose()

    async def close(self) -> None:
        """Close all connections; later transactions raise `MemoryClosedError`."""
        self._is_closed = True
        self._write_refusals.stop()
        self._read_refusals.stop()
        await dispose(self.engine)

    def abandon(self) -> None:
        """Close all connections after the event loop has closed."""
        self._is_closed = True
        abandon(self.engine)


async def truncate_wal(engine: AsyncEngine) -> bool:
    """Empty the write-ahead log of a SQLite database; False while a reader or writer keeps it in use."""
    if engine.dialect.name != "sqlite":
        return True
    async with use_connection(engine, **{sqlite.NO_TRANSACTION_OPTION: True}) as connection:
        # The checkpoint blocks writers while it waits for readers, so give up early.
        await connection.exec_driver_sql(f"PRAGMA busy_timeout={_CHECKPOINT_TIMEOUT_MILLISECONDS}")
        try:
            is_truncated = await _truncate(connection)
        except BaseException:
            # The connection still has the short time-out; the pool must not reuse it.
            await connection.invalidate()
            raise
        await connection.exec_driver_sql(f"PRAGMA busy_timeout={sqlite.BUSY_TIMEOUT_SECONDS * 1000}")
    return is_truncated


async def _truncate(connection: AsyncConnection) -> bool:
    try:
        row = (await connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")).one()
    except OperationalError as error:
        if "locked" in str(error.orig):
            return False
        raise
    return bool(row[0] == 0)
