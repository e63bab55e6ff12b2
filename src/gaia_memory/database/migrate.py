"""Migration of the tables to this package's version."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from gaia_memory.database import sqlite
from gaia_memory.database.connections import open_connection
from gaia_memory.database.migrations import FIRST_RELEASE, REVISIONS
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.log import limit_to_warnings, logger_for
from gaia_memory.threads import run_in_thread

logger = logger_for(__name__)

VERSION_TABLE = "gaia_alembic_version"
_ADVISORY_LOCK_ID = 0x67616961
"""The PostgreSQL advisory lock that keeps two processes from migrating at once."""


async def upgrade_schema(engine: AsyncEngine, make_engine: Callable[[], AsyncEngine]) -> None:
    """Create or migrate the tables; one short statement if they are up to date.

    `make_engine` returns a second engine for the same database.

    Raises:
        MemoryUnavailable: a newer version of this package wrote the database, or one before 0.4.
    """
    previous = await schema_version(engine)
    if previous == REVISIONS[-1]:
        return
    # Alembic is synchronous and reads its scripts from disk, so it runs in a thread with its own loop and engine.
    await run_in_thread(lambda: asyncio.run(_upgrade(make_engine())))
    if previous is not None:
        logger.info("the memory database was migrated from schema %s to %s", previous, REVISIONS[-1])


async def schema_version(engine: AsyncEngine) -> str | None:
    """Return the version of the tables, None if there are none.

    Raises:
        MemoryUnavailable: a newer version of this package wrote the database, or one before 0.4.
    """
    try:
        async with open_connection(engine) as raw_connection:
            connection = await raw_connection.execution_options(**{sqlite.READ_ONLY_OPTION: True})
            row = (await connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}")).one_or_none()
    except DBAPIError as error:
        if VERSION_TABLE in str(error.orig):
            return None
        raise
    version = None if row is None else str(row[0])
    if version is not None:
        require_known_schema("the memory database", version)
    return version


def require_known_schema(name: str, version: str) -> None:
    """Check that this package can migrate tables of a version; `name` says whose they are.

    Raises:
        MemoryUnavailable: a newer version of this package wrote them, or one before 0.4.
    """
    if version in REVISIONS:
        return
    if version < REVISIONS[0]:
        raise MemoryUnavailable(
            f"{name} has schema {version!r}, which is older than gaia-memory {FIRST_RELEASE}",
            remedy=f"open it once with gaia-memory {FIRST_RELEASE}, for example by `gaia memory list`",
        )
    raise MemoryUnavailable(
        f"{name} has schema {version!r}, and this version knows only up to {REVISIONS[-1]!r}",
        remedy="install the version of gaia-memory that wrote it, or a newer one",
    )


async def _upgrade(engine: AsyncEngine) -> None:
    try:
        async with engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                await connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK_ID})")
            await connection.run_sync(_run_alembic)
    finally:
        await engine.dispose()


def _run_alembic(connection: Connection) -> None:
    # At INFO it writes a line for each step, also into the log of a host such as `adk web`.
    limit_to_warnings("alembic")
    # Late: only a migration needs Alembic.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
