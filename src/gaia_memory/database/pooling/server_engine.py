"""The engine of a database server: its pool, its time-outs, the isolation of its transactions."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import create_async_engine

from gaia_memory.database.sqlite import READ_ONLY_OPTION
from gaia_memory.errors import ConfigError

if TYPE_CHECKING:
    from sqlalchemy.engine import URL
    from sqlalchemy.ext.asyncio import AsyncEngine

    from gaia_memory.config.sections.sessions_section import SessionsConfig

ISOLATION_LEVEL = "READ COMMITTED"
"""That of every transaction which names no other: the server's default may be stricter, and then refuse most writers
that meet at one person."""

IDLE_SECONDS = 1.0
"""How long a connection may have been idle without being tested. A test takes three round trips."""

_RETURNED_AT = "gaia_returned_at"


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """How many connections one engine may have to its server, and how long a call waits for a free one."""

    connections: int = 15
    wait_seconds: float = 30.0

    @classmethod
    def of(cls, sessions: SessionsConfig) -> PoolSettings:
        """Return what the configuration says."""
        return cls(sessions.server_connections, sessions.server_wait_seconds)


DEFAULT_POOL = PoolSettings()


def server_engine(address: URL, pool: PoolSettings, **options: Any) -> AsyncEngine:
    """Return an engine that connects at its first use; `options` are SQLAlchemy's.

    Raises:
        ConfigError: the driver is not installed.
    """
    if "poolclass" not in options:
        options = {
            "pool_size": pool.connections,
            "max_overflow": 0,
            "pool_timeout": pool.wait_seconds,
            "pool_use_lifo": True,
            **options,
        }
    try:
        engine = create_async_engine(address, isolation_level=ISOLATION_LEVEL, **options)
    except ModuleNotFoundError as error:
        problem = f"{address.drivername} needs its driver, {error.name}: PostgreSQL's comes with gaia-memory[postgres]"
        raise ConfigError([problem], source="the database URL") from error
    _test_idle_connections(engine)
    _read_without_transaction(engine)
    return engine


def _read_without_transaction(engine: AsyncEngine) -> None:
    """Spare ADK's read-only sessions the round trips of a transaction.

    At READ COMMITTED each of its statements sees a state of its own, with a transaction or without.
    """

    @event.listens_for(engine.sync_engine, "set_engine_execution_options")
    def read_in_autocommit(_: object, options: dict[str, Any]) -> None:
        if options.get(READ_ONLY_OPTION):
            options.setdefault("isolation_level", "AUTOCOMMIT")


def _test_idle_connections(engine: AsyncEngine) -> None:
    """Test a connection before it is used again, unless it was used a moment ago."""
    dialect = engine.dialect

    @event.listens_for(engine.sync_engine, "checkin")
    def note(_: object, record: Any) -> None:
        record.info[_RETURNED_AT] = time.monotonic()

    @event.listens_for(engine.sync_engine, "checkout")
    def test(dbapi_connection: Any, record: Any, _: object) -> None:
        returned_at = record.info.get(_RETURNED_AT)
        if returned_at is None or time.monotonic() - returned_at < IDLE_SECONDS:
            return
        try:
            dialect.do_ping(dbapi_connection)
        except dialect.loaded_dbapi.Error as error:
            # SQLAlchemy then makes a new connection.
            raise DisconnectionError from error
