"""Makes ADK's session tables before the first turn, also where several processes do so at once."""

from __future__ import annotations

import logging

from google.adk.sessions.database_session_service import DatabaseSessionService
from sqlalchemy.exc import SQLAlchemyError
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from gaia_memory.errors import MemoryUnavailable

logger = logging.getLogger(__name__)

ATTEMPTS = 6


async def prepare(service: DatabaseSessionService) -> None:
    """Make the tables that are missing.

    ADK creates them and enters their version in two steps: another process that looks in between finds tables
    without a version, or enters it at the same time. Both are over a moment later.

    Raises:
        MemoryUnavailable: the session database cannot be opened, or is none.
    """
    tries = AsyncRetrying(
        retry=retry_if_exception_type((ValueError, SQLAlchemyError, OSError)),
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_random_exponential(multiplier=0.05, max=1.0),
        reraise=True,
    )
    try:
        await tries(service.prepare_tables)
    except (ValueError, SQLAlchemyError, OSError) as error:
        reason = f"the session database does not answer ({type(error).__name__})"
        remedy = "check `sessions.database_url` and `home`; a damaged sessions.db must be moved away or restored"
        raise MemoryUnavailable(reason, remedy=remedy) from error
