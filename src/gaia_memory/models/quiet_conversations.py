"""When a conversation is quiet and due: one rule, as SQL for the ledger and in Python for a single conversation.

A conversation is quiet once its user has been idle long enough. It is due when it is quiet, something in it is not
learned or cleared yet, no mark on it is in force (a running turn, a lease, a back-off), and it is not parked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaia_memory.models.ledger_state import PendingConversation

TURN_LEASE_SECONDS = 15 * 60.0
"""How long a turn counts as active without a renewal: a cancelled turn fires no hook at its end."""

LEASE_SECONDS = 30.0
"""How long a lease lasts without a renewal."""

CLEAR_LEASE_SECONDS = 5.0
"""How long a clear makes turns wait; it takes milliseconds unless its process died."""

MAX_BACKOFF_SECONDS = 3600.0
"""The longest back-off of a conversation that could not be learned."""

MAX_CLOCK_SKEW_SECONDS = 300.0
"""How far the clocks of two hosts may differ before one host ignores the marks of the other."""

CLAIM_MARKS = {"active_until": TURN_LEASE_SECONDS, "lease_until": LEASE_SECONDS}
"""The marks of a running turn and of a lease, with the longest time each can be in force, in seconds."""

BACKOFF_MARKS = {"retry_at": MAX_BACKOFF_SECONDS}
"""The mark of a failed attempt, with the longest time it can be in force, in seconds."""

UNDONE_SQL = "turn_no > done_turn_no"
"""Matches conversations with something to learn or to clear."""

UNCLAIMED_SQL = " AND ".join([UNDONE_SQL, *(f"{mark} IS NULL" for mark in CLAIM_MARKS)])
"""Matches those without a running turn or a lease. Expired marks must be removed first (`Ledger.expire`)."""

SWEEPABLE_SQL = " AND ".join([UNCLAIMED_SQL, "NOT parked", *(f"{mark} IS NULL" for mark in BACKOFF_MARKS)])
"""Matches those that are due as soon as they are quiet."""


def is_in_force(expires_at: float | None, *, now: float, max_seconds: float) -> bool:
    """Return True if a mark that expires at `expires_at` is in force now.

    An expiry further ahead than its maximum duration is ignored: the clock was set back after it was written.
    """
    return expires_at is not None and now < expires_at <= now + max_seconds + MAX_CLOCK_SKEW_SECONDS


def quiet_cutoff(now: float, *, idle_seconds: float) -> float:
    """Return the latest activity, in seconds since the epoch, that a quiet conversation can have had."""
    return now - idle_seconds


def is_due(conversation: PendingConversation, *, now: float, quiet_since: float) -> bool:
    """Return True if a conversation with something to learn may be learned now.

    The rule of `SWEEPABLE_SQL` and `Ledger.due`, except that the marks of dead processes are not recognised.
    """
    marks = CLAIM_MARKS | BACKOFF_MARKS
    is_marked = any(
        is_in_force(getattr(conversation, mark), now=now, max_seconds=seconds) for mark, seconds in marks.items()
    )
    return conversation.touched <= quiet_since and not is_marked and not conversation.parked
