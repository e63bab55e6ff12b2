"""A conversation that could not be learned is put off: counted, with the reason, and tried again later."""

from __future__ import annotations

from gaia_memory.errors import BadAnswerError, ModelError, ModelUnavailableError
from gaia_memory.log import logger_for
from gaia_memory.models import LedgerRow
from gaia_memory.ports import Clock, Database, Ledger
from gaia_memory.sessions.learning.backoff import PARK_AFTER, after_failures, after_outages
from gaia_memory.sessions.learning.conversation_lease import Lease
from gaia_memory.telemetry import about, frames_of

logger = logger_for(__name__)


class Postponing:
    """Puts off conversations whose lease `owner` holds."""

    def __init__(self, database: Database, ledger: Ledger, clock: Clock, *, owner: str) -> None:
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._owner = owner

    async def postpone(self, lease: Lease, reason: str, error: Exception | None = None) -> None:
        """Note a failed try and give the lease back.

        Only answers of a model that stay bad park: whatever else keeps a conversation from being learned, such as a
        model or a session service that is away, ends by itself or by somebody's hand. `reason` holds nothing that
        a person said.
        """
        key, now = lease.row.key, self._clock.now().timestamp()
        is_bad_answer = isinstance(error, BadAnswerError)
        async with self._database.transaction() as tx:
            # What was learned before the failure has set the counts back since the lease was taken.
            row = await self._ledger.row(tx, key) or lease.row
            parked = is_bad_answer and row.bad_answers + 1 >= PARK_AFTER
            await self._ledger.failed(
                tx,
                key,
                self._owner,
                error=reason,
                now=now,
                retry_at=now + _pause(row, error),
                parked=parked,
                is_bad_answer=is_bad_answer,
            )
        lease.given_back = True
        kind = type(error).__name__ if error is not None else reason
        named_error = "session_not_found" if error is None else kind
        attempts = row.attempts + 1
        fields = about("conversation.put_off", key, attempts=attempts, error=named_error, parked=parked)
        told = "%s of app %s is not learned yet (try %d): %s"
        logger.warning(told, key.session, key.app, attempts, kind, extra=fields)
        if error is not None and not isinstance(error, ModelError):
            logger.debug("conversation %s broke:\n%s", key.session, frames_of(error), extra=fields)


def _pause(row: LedgerRow, error: Exception | None) -> float:
    """Return the seconds to the next try: bad answers and all else go on counting apart from each other."""
    if isinstance(error, BadAnswerError):
        return after_failures(row.bad_answers + 1)
    count = row.attempts - row.bad_answers + 1
    if isinstance(error, ModelUnavailableError):
        return after_outages(count, named=error.retry_after)
    return after_failures(count)
