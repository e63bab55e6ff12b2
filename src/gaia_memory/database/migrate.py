"""Brings the tables of a database to the version this package knows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from gaia_memory.database import sqlite
from gaia_memory.database.connections import open_connection
from gaia_memory.database.migrations import REVISIONS
from gaia_memory.errors import MemoryUnavailable

VERSION_TABLE = "gaia_alembic_version"
_ADVISORY_LOCK_ID = 0x67616961
"""Which of PostgreSQL's advisory locks keeps two processes from migrating at once."""


async def upgrade_schema(engine: AsyncEngine, make_engine: Callable[[], AsyncEngine]) -> None:
    """Make the tables, or change them to this version's; one short statement when there is nothing to do.

    `make_engine` makes a second engine for the same database.

    Raises:
        MemoryUnavailable: a newer version of this package wrote the database.
    """
    if await schema_version(engine) == REVISIONS[-1]:
        return
    # Alembic works synchronously and reads its scripts from disk: it gets a thread, a loop and an engine of its own.
    await asyncio.to_thread(lambda: asyncio.run(_upgrade(make_engine())))


async def schema_version(engine: AsyncEngine) -> str | None:
    """Return the version of a database's tables, None where there are none of ours.

    Raises:
        MemoryUnavailable: a newer version of this package wrote the database.
    """
    async with open_connection(engine) as raw_connection:
        connection = await raw_connection.execution_options(**{sqlite.READ_ONLY_OPTION: True})
        return await _known_version(connection)


async def _known_version(connection: AsyncConnection) -> str | None:
    try:
        row = (await connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}")).one_or_none()
    except DBAPIError as error:
        if VERSION_TABLE in str(error.orig):
            return None
        raise
    version = None if row is None else str(row[0])
    if version is not None and version not in REVISIONS:
        raise MemoryUnavailable(
            f"the memory database has schema {version!r}, and this version knows none after {REVISIONS[-1]!r}",
            remedy="install the gaia-memory that wrote it, or a newer one",
        )
    return version


async def _upgrade(engine: AsyncEngine) -> None:
    try:
        async with engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                await connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK_ID})")
            await connection.run_sync(_run_alembic)
    finally:
        await engine.dispose()


def _run_alembic(connection: Connection) -> None:
    # Late: only a database that needs a change pays for loading it.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
