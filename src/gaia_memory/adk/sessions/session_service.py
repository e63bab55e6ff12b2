"""ADK's session service, made safe for several processes that create its tables at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.schemas.v1 import StorageMetadata
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import SQLAlchemyError
from tenacity import (
    AsyncRetrying,
    retry_if_exception_type,
    retry_if_not_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

VERSION_TABLE = StorageMetadata.__tablename__
"""ADK creates it first, and inserts the version of its tables later."""

MAX_ATTEMPTS = 6


class RaceSafeSessionService(DatabaseSessionService):
    """A `DatabaseSessionService` whose tables are ready at its first use, even if other processes create them too.

    ADK creates the tables and inserts their version in two steps: a second process may find tables without a version,
    or insert it at the same time. A retry succeeds, unless the first process was killed in between: ADK then refuses
    the database forever.
    """

    def __init__(self, **arguments: Any) -> None:
        """Take ADK's own arguments."""
        super().__init__(**arguments)
        self._is_prepared = False

    async def prepare_tables(self) -> None:
        """Create missing tables; ADK calls this before every operation."""
        if self._is_prepared:
            return
        prepare = super().prepare_tables
        try:
            await _with_retries(prepare)
        except ValueError:
            async with self.db_engine.begin() as connection:
                await connection.run_sync(_drop_if_empty)
            # Another process may have dropped it too, or created it again.
            await _with_retries(prepare)
        self._is_prepared = True


async def _with_retries(prepare: Callable[[], Awaitable[None]]) -> None:
    retrying = AsyncRetrying(
        # A database that timed out is not tried again.
        retry=retry_if_exception_type((ValueError, SQLAlchemyError, OSError))
        & retry_if_not_exception_type(TimeoutError),
        stop=stop_after_attempt(MAX_ATTEMPTS),
        wait=wait_random_exponential(multiplier=0.05, max=1.0),
        reraise=True,
    )
    await retrying(prepare)


def _drop_if_empty(connection: Connection) -> None:
    """Drop the version table if it is empty, so that ADK creates it again."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return
    if not connection.execute(text(f"SELECT count(*) FROM {VERSION_TABLE}")).scalar_one():
        connection.execute(text(f"DROP TABLE {VERSION_TABLE}"))
