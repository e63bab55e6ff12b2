"""Makes ADK's session tables before the first turn, also where several processes do so at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.sessions.database_session_service import DatabaseSessionService
from sqlalchemy import inspect, text
from sqlalchemy.exc import SQLAlchemyError
from tenacity import (
    AsyncRetrying,
    retry_if_exception_type,
    retry_if_not_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from gaia_memory.errors import MemoryUnavailable
from gaia_memory.log import logger_for

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncEngine

logger = logger_for(__name__)

VERSION_TABLE = "adk_internal_metadata"
"""ADK's `DatabaseSessionService` makes it first; a database without it is of another kind, or not made yet."""

ATTEMPTS = 6


async def prepare(service: DatabaseSessionService) -> None:
    """Make the tables that are missing.

    ADK creates them and enters their version in two steps: another process that looks in between finds tables
    without a version, or enters it at the same time. Both are over a moment later, unless it was killed in between:
    ADK then refuses the database for ever.

    Raises:
        MemoryUnavailable: the session database cannot be opened, or is none.
    """
    tries = AsyncRetrying(
        # Who was silent for long is not asked six times.
        retry=retry_if_exception_type((ValueError, SQLAlchemyError, OSError))
        & retry_if_not_exception_type(TimeoutError),
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_random_exponential(multiplier=0.05, max=1.0),
        reraise=True,
    )
    try:
        try:
            await tries(service.prepare_tables)
        except ValueError:
            if not await _is_made_afresh(service.db_engine):
                raise
            await tries(service.prepare_tables)
    except (ValueError, SQLAlchemyError, OSError) as error:
        reason = f"the session database does not answer ({type(error).__name__})"
        remedy = "check `sessions.database_url` and `home`; a damaged sessions.db must be moved away or restored"
        raise MemoryUnavailable(reason, remedy=remedy) from error


async def _is_made_afresh(engine: AsyncEngine) -> bool:
    """Remove the table of the version where it is empty, so that ADK makes it once more; say if that was so."""
    async with engine.begin() as connection:
        return await connection.run_sync(_drop_if_empty)


def _drop_if_empty(connection: Connection) -> bool:
    if not inspect(connection).has_table(VERSION_TABLE):
        return False
    if connection.execute(text(f"SELECT count(*) FROM {VERSION_TABLE}")).scalar_one():
        return False
    connection.execute(text(f"DROP TABLE {VERSION_TABLE}"))
    return True
