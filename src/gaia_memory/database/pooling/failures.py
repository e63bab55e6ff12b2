"""What a database that fails means for memory: the error, and what to check."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import DatabaseError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from gaia_memory.database import sqlite
from gaia_memory.database.connections import open_connection, registry_of
from gaia_memory.database.files.open_file import DAMAGE_MESSAGES, damaged_error
from gaia_memory.errors import MemoryUnavailable

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

_INACCESSIBLE_MESSAGES = ("unable to open", "readonly")


@asynccontextmanager
async def use_connection(engine: AsyncEngine, **options: Any) -> AsyncIterator[AsyncConnection]:
    """Borrow a connection with these execution options for a block.

    Raises:
        MemoryUnavailable: the database failed.
    """
    is_connecting = True
    try:
        async with open_connection(engine) as connection:
            is_connecting = False
            yield await connection.execution_options(**options)
    except (DBAPIError, PoolTimeoutError) as error:
        if isinstance(error, DBAPIError) and not _is_database_failure(error):
            raise
        raise unavailable_error(error, engine) from error
    except OSError as error:
        # If a server stops answering, the driver raises a time-out that SQLAlchemy does not wrap.
        if not is_connecting and not isinstance(error, TimeoutError):
            raise
        raise unavailable_error(error, engine) from error


def _is_database_failure(error: DBAPIError) -> bool:
    # The base classes mean a damaged file or a refusing server; other subclasses are errors in a statement.
    return (
        isinstance(error, OperationalError | InterfaceError)
        or error.connection_invalidated
        or type(error) in (DBAPIError, DatabaseError)
    )


def is_about_damage(error: BaseException | None) -> bool:
    """Return whether SQLite's error tells of a damaged file."""
    return any(words in str(error) for words in DAMAGE_MESSAGES)


def unavailable_error(error: Exception, engine: AsyncEngine) -> MemoryUnavailable:
    """Return the error for one of the driver, the pool or the machine; damage to the file is noted."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    file = sqlite.database_path(engine.url)
    if file is not None and is_about_damage(cause):
        registry = registry_of(engine)
        if registry is not None and registry.file is not None:
            registry.file.note_damage(str(cause))
        return damaged_error(file, cause)
    if file is not None and (
        isinstance(cause, OSError) or any(words in str(cause) for words in _INACCESSIBLE_MESSAGES)
    ):
        reason = cause.strerror if isinstance(cause, OSError) else cause
        return MemoryUnavailable(
            f"{file.parent} cannot be used ({reason})",
            remedy="make it a writable folder, or set another: `home`, GAIA_HOME or memory.database_url",
        )
    remedy = "check memory.database_url, the disk and whether another process has locked the database"
    if file is None:
        remedy = "check memory.database_url and the server"
    return MemoryUnavailable(f"the memory database does not answer ({str(cause) or 'in time'})", remedy=remedy)
