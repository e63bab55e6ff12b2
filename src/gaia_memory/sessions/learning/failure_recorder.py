"""A conversation that could not be learned is put off: counted, with the reason, and tried again later."""

from __future__ import annotations

from gaia_memory.errors import BadAnswerError, ModelError, ModelUnavailableError
from gaia_memory.log import logger_for
from gaia_memory.models import LedgerRow
from gaia_memory.sessions.learning.backoff import (
    PARK_AFTER_BAD_ANSWERS,
    failure_backoff_seconds,
    outage_backoff_seconds,
)
from gaia_memory.sessions.learning.conversation_lease import ConversationLease
from gaia_memory.sessions.ledger_client import LedgerClient
from gaia_memory.telemetry import error_frames, log_fields

logger = logger_for(__name__)


class FailureRecorder:
    """Puts off conversations whose lease `owner` holds."""

    def __init__(self, client: LedgerClient) -> None:
        self._client = client

    async def record_failure(self, lease: ConversationLease, reason: str, error: Exception | None = None) -> None:
        """Note a failed try and give the lease back.

        Only answers of a model that stay bad park: whatever else keeps a conversation from being learned, such as a
        model or a session service that is away, ends by itself or by somebody's hand. `reason` holds nothing that
        a person said.
        """
        key, now = lease.row.key, self._client.now()
        is_bad_answer = isinstance(error, BadAnswerError)
        async with self._client.database.transaction() as tx:
            # What was learned before the failure has set the counts back since the lease was taken.
            row = await self._client.ledger.row(tx, key) or lease.row
            is_parked = is_bad_answer and row.failures.bad_answers + 1 >= PARK_AFTER_BAD_ANSWERS
            await self._client.ledger.record_failure(
                tx,
                key,
                self._client.owner,
                error=reason,
                now=now,
                retry_at=now + _backoff_seconds(row, error),
                is_parked=is_parked,
                is_bad_answer=is_bad_answer,
            )
        lease.is_released = True
        error_type = type(error).__name__ if error is not None else reason
        error_label = "session_not_found" if error is None else error_type
        attempts = row.failures.attempts + 1
        fields = log_fields("conversation.put_off", key, attempts=attempts, error=error_label, parked=is_parked)
        message = "%s of app %s is not learned yet (try %d): %s"
        logger.warning(message, key.session, key.app, attempts, error_type, extra=fields)
        if error is not None and not isinstance(error, ModelError):
            logger.debug("conversation %s broke:\n%s", key.session, error_frames(error), extra=fields)


def _backoff_seconds(row: LedgerRow, error: Exception | None) -> float:
    """Return the seconds to the next try: bad answers and all else go on counting apart from each other."""
    if isinstance(error, BadAnswerError):
        return failure_backoff_seconds(row.failures.bad_answers + 1)
    count = row.failures.attempts - row.failures.bad_answers + 1
    if isinstance(error, ModelUnavailableError):
        return outage_backoff_seconds(count, retry_after=error.retry_after)
    return failure_backoff_seconds(count)
