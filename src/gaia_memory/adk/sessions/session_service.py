"""ADK's session service, making its tables also where several processes do so at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from google.adk.sessions.database_session_service import DatabaseSessionService
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import SQLAlchemyError
from tenacity import (
    AsyncRetrying,
    retry_if_exception_type,
    retry_if_not_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from gaia_memory.adk.sessions.changed_sessions import VERSION_TABLE

MAX_ATTEMPTS = 6


class RaceSafeSessionService(DatabaseSessionService):
    """A `DatabaseSessionService` whose tables are ready at its first use, whoever else makes them just then.

    ADK creates them and enters their version in two steps: another process that looks in between finds tables
    without a version, or enters it at the same time. Both are over a moment later, unless it was killed in between:
    ADK then refuses the database for ever.
    """

    def __init__(self, **arguments: Any) -> None:
        """Take ADK's own arguments."""
        super().__init__(**arguments)
        self._is_prepared = False

    async def prepare_tables(self) -> None:
        """Make the tables that are missing; ADK calls it before whatever it does."""
        if self._is_prepared:
            return
        prepare = super().prepare_tables
        try:
            await _with_retries(prepare)
        except ValueError:
            async with self.db_engine.begin() as connection:
                await connection.run_sync(_drop_if_empty)
            # Somebody else may have removed it, too, or made it anew by now.
            await _with_retries(prepare)
        self._is_prepared = True


async def _with_retries(prepare: Callable[[], Awaitable[None]]) -> None:
    retrying = AsyncRetrying(
        # Who was silent for long is not asked six times.
        retry=retry_if_exception_type((ValueError, SQLAlchemyError, OSError))
        & retry_if_not_exception_type(TimeoutError),
        stop=stop_after_attempt(MAX_ATTEMPTS),
        wait=wait_random_exponential(multiplier=0.05, max=1.0),
        reraise=True,
    )
    await retrying(prepare)


def _drop_if_empty(connection: Connection) -> None:
    """Remove the table of the version where it is empty, so that ADK makes it once more."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return
    if not connection.execute(text(f"SELECT count(*) FROM {VERSION_TABLE}")).scalar_one():
        connection.execute(text(f"DROP TABLE {VERSION_TABLE}"))
