"""The circuit breaker for the model that learns, as seen by this process.

While the model is unavailable, one conversation is tried from time to time; any answer, even a bad one, closes the
circuit.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tenacity import RetryCallState, Retrying, wait_exponential

from gaia_memory.errors import BadAnswerError, ModelError, ModelUnavailableError
from gaia_memory.log import error_frames, log_fields, logger_for
from gaia_memory.models import LedgerRow, ModelOutage
from gaia_memory.ports import Clock
from gaia_memory.sessions.conversation_lease import ConversationLease
from gaia_memory.sessions.ledger_client import LedgerClient

logger = logger_for(__name__)

FAILURE_THRESHOLD = 3
"""Failed calls in a row before the circuit opens."""

PARK_AFTER_BAD_ANSWERS = 8
"""Bad answers in a row before a conversation waits for an admin or a new message; an unreachable model never parks."""

MAX_RETRY_AFTER_SECONDS = 3600.0
"""A longer `Retry-After` of a provider is cut to this: the provider may be back much earlier."""

JITTER_RATIO = 0.25
"""The largest random addition to a pause, as a ratio: conversations that failed together are retried apart."""

_OUTAGE_BACKOFF = wait_exponential(multiplier=15.0, max=600.0 / (1 + JITTER_RATIO))
_FAILURE_BACKOFF = wait_exponential(multiplier=60.0, max=3600.0 / (1 + JITTER_RATIO))


@dataclass(slots=True)
class _FailureStreak:
    """Calls in a row that did not reach the model, and the users they were about."""

    failing_since: float
    users: set[str] = field(default_factory=set)
    reason: str = ""
    failures: int = 0
    backoff_count: int = 0
    retry_at: float = 0.0

    def record(self, error: ModelUnavailableError, user: str, *, now: float) -> None:
        self.users.add(user)
        self.failures += 1
        self.reason = str(error)
        # Calls that were already running when the back-off began do not prolong it.
        if self.failures == FAILURE_THRESHOLD or (self.failures > FAILURE_THRESHOLD and now >= self.retry_at):
            self.backoff_count += 1
            self.retry_at = now + outage_backoff_seconds(self.backoff_count, retry_after=error.retry_after)


class ModelCircuitBreaker:
    """Watches calls of the model that learns; `failure_count` counts those that did not reach it."""

    def __init__(self, clock: Clock) -> None:
        """Start with a closed circuit."""
        self._clock = clock
        self._streak: _FailureStreak | None = None
        self.failure_count = 0

    def reset(self) -> None:
        """Close the circuit: another model will be called."""
        self._streak = None

    @contextmanager
    def observe_request(self, user: str) -> Iterator[None]:
        """Watch one call about a user's messages."""
        try:
            yield
        except ModelUnavailableError as error:
            self.record_failure(user, error)
            raise
        except ModelError:
            self.record_answer()
            raise
        self.record_answer()

    def current_outage(self) -> ModelOutage | None:
        """Return the outage; None while the circuit is closed."""
        streak = self._streak
        if streak is None or streak.failures < FAILURE_THRESHOLD:
            return None
        return ModelOutage(since=streak.failing_since, retry_at=streak.retry_at, reason=streak.reason)

    @property
    def recent_failures(self) -> frozenset[str]:
        """The users with a failed call since the last answer: other users are tried first."""
        return frozenset(self._streak.users if self._streak is not None else ())

    def record_failure(self, user: str, error: ModelUnavailableError) -> None:
        """Note a call about a user that did not reach the model."""
        now = self._clock.now().timestamp()
        self.failure_count += 1
        self._streak = self._streak or _FailureStreak(now)
        self._streak.record(error, user, now=now)
        if self._streak.failures == FAILURE_THRESHOLD:
            message = "the model is away: it is asked about one conversation now and then until it answers"
            logger.warning(message, extra=log_fields("model.away", error=type(error).__name__))

    def record_answer(self) -> None:
        """Note an answer, which closes the circuit."""
        if self.current_outage() is not None:
            logger.info("the model answers again", extra=log_fields("model.back"))
        self._streak = None


def outage_backoff_seconds(count: int, *, retry_after: float | None = None) -> float:
    """Return the seconds to wait after `count` failures in a row to reach the model.

    15 seconds, doubled up to ten minutes, so that learning resumes soon after the model is back; never less than the
    provider's `retry_after`.
    """
    return max(_with_jitter(_OUTAGE_BACKOFF, count), min(retry_after or 0.0, MAX_RETRY_AFTER_SECONDS))


def failure_backoff_seconds(count: int) -> float:
    """Return the seconds to wait after `count` bad answers or other failures: a minute, doubled up to an hour."""
    return _with_jitter(_FAILURE_BACKOFF, count)


def _with_jitter(backoff: wait_exponential, count: int) -> float:
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = max(count, 1)
    return backoff(state) * random.uniform(1.0, 1.0 + JITTER_RATIO)


async def record_failure(
    client: LedgerClient, lease: ConversationLease, reason: str, error: Exception | None = None
) -> None:
    """Record a failed attempt and release the lease.

    Only repeated bad answers park a conversation: other causes, such as an unavailable model or session service,
    pass without a change to the conversation. `reason` contains no text of the user.
    """
    key, now = lease.row.key, client.now()
    is_bad_answer = isinstance(error, BadAnswerError)
    async with client.database.transaction() as tx:
        # A chunk that was learned before the failure has reset the counts since the lease was taken.
        row = await client.ledger.row(tx, key) or lease.row
        is_parked = is_bad_answer and row.failures.bad_answers + 1 >= PARK_AFTER_BAD_ANSWERS
        await client.ledger.record_failure(
            tx,
            key,
            client.owner,
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
    """Return the seconds to the next attempt: bad answers and other failures are counted separately."""
    if isinstance(error, BadAnswerError):
        return failure_backoff_seconds(row.failures.bad_answers + 1)
    count = row.failures.attempts - row.failures.bad_answers + 1
    if isinstance(error, ModelUnavailableError):
        return outage_backoff_seconds(count, retry_after=error.retry_after)
    return failure_backoff_seconds(count)
