"""The ledger: per conversation, how far it is learned and who works on it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias

from gaia_memory.models import (
    DueConversation,
    EventPosition,
    FrozenProfile,
    LedgerRow,
    PendingConversation,
    PersonSummary,
    SessionKey,
    TurnRequest,
    WindowAnchor,
)

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

Transaction: TypeAlias = "AsyncConnection"
"""An open connection: what is done with it is committed or rolled back together."""

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


def is_in_force(expires_at: float | None, *, now: float, max_seconds: float) -> bool:
    """Return True if a mark that expires at `expires_at` is in force now.

    An expiry further ahead than its maximum duration is ignored: the clock was set back after it was written.
    """
    return expires_at is not None and now < expires_at <= now + max_seconds + MAX_CLOCK_SKEW_SECONDS


class Ledger(Protocol):
    """Per conversation: how far it is learned, which process works on it, and whether a turn is running.

    `now` and all times are seconds since the epoch, from the caller's clock. An owner is `host:pid:system/engine`.
    A mark of a dead process of this host counts as expired, and so does one further ahead than its maximum duration.
    """

    async def row(self, tx: Transaction, key: SessionKey) -> LedgerRow | None:
        """Return the row of a conversation."""

    async def begin_turn(
        self, tx: Transaction, key: SessionKey, request: TurnRequest, *, now: float, lease_seconds: float
    ) -> LedgerRow:
        """Count a turn and mark the conversation active for its owner; return the resulting row.

        While another process clears the conversation, nothing is written and the row's `clearing.owner` is set. The
        caller retries, and after its time-out sets `waits_for_clear=False` to override the clear. An `is_exclusive`
        request writes nothing either while another live owner's turn runs, the row's `turn.active_owner`; other
        requests take the mark over. No turn resets `is_foreign`.
        """

    async def reserve_turn(
        self, tx: Transaction, key: SessionKey, request: TurnRequest, *, now: float, lease_seconds: float
    ) -> LedgerRow:
        """Do the same as `begin_turn` without counting a turn: a session is about to be loaded."""

    async def release_turn(
        self, tx: Transaction, key: SessionKey, *, expires_at: float, owner: str = "", is_counted: bool = False
    ) -> None:
        """Remove the owner's mark that expires at `expires_at`, unless another owner has replaced it.

        With `is_counted` the turn that was counted with the mark is taken off the count again: it never took place.
        """

    async def renew_turn(
        self, tx: Transaction, key: SessionKey, *, now: float, lease_seconds: float, owner: str = ""
    ) -> None:
        """Keep a long turn active, even after its mark expired, unless another owner has a turn now."""

    async def end_turn(
        self, tx: Transaction, key: SessionKey, *, now: float, owner: str = "", is_private: bool = False
    ) -> None:
        """Mark the turn as ended at `now`; another owner's turn stays active.

        With `is_private` the turn does not wait to be learned.
        """

    async def expire(self, tx: Transaction, *, now: float) -> None:
        """Remove expired marks and those of dead processes, so that `due` finds their conversations.

        Call it in a transaction of its own before `due`, whose index contains only unmarked conversations. A last
        activity in the future, written before the clock was set back, is set to now.
        """

    async def due(
        self,
        tx: Transaction,
        *,
        quiet_since: float | None,
        limit: int,
        apps: Collection[str],
        after: DueConversation | None = None,
        excluded_users: Collection[str] = (),
    ) -> list[DueConversation]:
        """Return at most `limit` conversations of `apps` with something to learn or to clear, oldest first.

        The rule is that of `ports.quiet_conversations`. With `quiet_since=None`, idleness, back-off and parking are
        ignored, but never an active turn. `after` is the last conversation of the previous page; `excluded_users` are
        left out.
        """

    async def sessions_waiting_in_other_apps(self, tx: Transaction, *, apps: Collection[str]) -> list[SessionKey]:
        """Return, for each app that is not in `apps`, one conversation with something to learn or to clear."""

    async def claim(
        self, tx: Transaction, key: SessionKey, owner: str, *, now: float, lease_seconds: float, turn_owner: str = ""
    ) -> LedgerRow | None:
        """Take the lease in one statement; None while a lease is in force, even this owner's, or a turn is active.

        The lease of a dead process of this host is taken over at once. The turn of `turn_owner` is ignored.
        """

    async def renew(self, tx: Transaction, key: SessionKey, owner: str, *, now: float, lease_seconds: float) -> bool:
        """Renew the owner's lease; False when it was lost."""

    async def release(
        self, tx: Transaction, key: SessionKey, owner: str, *, is_done: bool = False, reset_at: float | None = None
    ) -> None:
        """Release the owner's lease.

        With `is_done` the turns it was taken for need no further work: they are learned, and will not be cleared. The
        frozen profile is dropped, unless a turn began meanwhile. No request holds events up to `reset_at` any more.
        """

    async def release_all(self, tx: Transaction, owner: str) -> None:
        """Release all leases of an owner."""

    async def advance_watermark(
        self,
        tx: Transaction,
        key: SessionKey,
        owner: str,
        *,
        expected: EventPosition | None,
        new_watermark: EventPosition,
        turn_count: int,
        is_complete: bool = True,
    ) -> bool:
        """Move the watermark from `expected` to `new_watermark` under the owner's lease; count `turn_count` turns.

        Failure counts are reset. Returns False, and writes nothing, when the lease or the watermark is not what the
        caller read. The conversation stays due until it is cleared or released as done, and pending until the last
        step, which has `is_complete`.
        """

    async def record_failure(
        self,
        tx: Transaction,
        key: SessionKey,
        owner: str,
        *,
        error: str,
        now: float,
        retry_at: float,
        is_parked: bool = False,
        is_bad_answer: bool = False,
    ) -> None:
        """Count a failed attempt under the owner's lease and release the lease.

        Bad answers of a model are also counted separately. Both counts are reset when something is learned.
        """

    async def request_learning(self, tx: Transaction, key: SessionKey, request: str) -> None:
        """Add a line to what is to be learned at once; the conversation may be new."""

    async def drop_requests(self, tx: Transaction, key: SessionKey, done: str) -> None:
        """Remove what was learned; requests that came meanwhile stay."""

    async def requested(self, tx: Transaction, *, apps: Collection[str], force: bool) -> list[SessionKey]:
        """Return conversations with requests and without a running turn, lease or, unless `force`, back-off."""

    async def begin_clearing(
        self,
        tx: Transaction,
        key: SessionKey,
        owner: str,
        *,
        turn_no: int,
        now: float,
        seconds: float,
        turn_owner: str = "",
    ) -> bool:
        """Start clearing in one statement, if the lease is the owner's, `turn_no` is unchanged and no other turn runs.

        The turn of `turn_owner` is ignored.
        """

    async def end_clearing(
        self,
        tx: Transaction,
        key: SessionKey,
        owner: str,
        *,
        cleared_at: float | None,
        is_rewound: bool = False,
        is_deleted: bool = False,
    ) -> None:
        """End clearing; with `cleared_at` the conversation starts from scratch, without profile and anchor.

        `is_rewound`: the cleared messages are still in the host's session, hidden until it is purged; otherwise the
        session is gone.
        `is_deleted`: the session was found and deleted, so `is_foreign` is reset unless a turn has begun since.
        """

    async def find_purgeable(
        self, tx: Transaction, *, before: float, limit: int, apps: Collection[str]
    ) -> list[LedgerRow]:
        """Return conversations of `apps` rewound by `before` and still in the host's session, oldest first.

        They have had no turn since, and nothing is left to learn or to clear. To purge one, claim it and start
        clearing; `end_clearing` without `is_rewound` records that it was purged.
        """

    async def freeze_profile(self, tx: Transaction, key: SessionKey, profile: FrozenProfile) -> None:
        """Keep a rendered profile for the rest of a session that has had a turn; one statement."""

    async def rows_with_profile(self, tx: Transaction, *, user: str, app: str | None) -> list[LedgerRow]:
        """Return a user's sessions that have a frozen profile, in one app or (None) in all; the latest first."""

    async def drop_profiles(self, tx: Transaction, *, user: str, app: str | None) -> int:
        """Drop the frozen profiles of a user's sessions, in one app or (None) in all."""

    async def set_anchor(self, tx: Transaction, key: SessionKey, anchor: WindowAnchor) -> None:
        """Remember where the replay window begins."""

    async def set_private(self, tx: Transaction, key: SessionKey, *, is_private: bool) -> None:
        """Set whether messages from here on are learned; a clear does not change it."""

    async def set_pending_confirmation(self, tx: Transaction, key: SessionKey, *, is_pending: bool) -> None:
        """Set whether a question waits for its answer: some facts were listed that a yes forgets."""

    async def skip_events(self, tx: Transaction, key: SessionKey, event_ids: Collection[str]) -> None:
        """Never learn from these events again."""

    async def learn_again(self, tx: Transaction, key: SessionKey, event_ids: Collection[str]) -> None:
        """Take back that these events are skipped."""

    async def skipped_events(self, tx: Transaction, key: SessionKey, *, event_ids: Collection[str]) -> set[str]:
        """Return which of these events are never to be learned from."""

    async def forget_session(
        self, tx: Transaction, *, user: str, app: str | None, session: str, said_until: float
    ) -> int:
        """Never learn messages of a session up to `said_until`, in one app or (None) in all; count the sessions."""

    async def forget_messages(
        self, tx: Transaction, *, user: str, app: str | None, said_until: float, session: str | None = None
    ) -> None:
        """Record that nothing said by `said_until` waits, in one app or (None) in all, in one session or in all."""

    async def forgotten_sessions(self, tx: Transaction, *, user: str, app: str | None) -> dict[SessionKey, float]:
        """Return the user's sessions that were forgotten as a whole, with the time up to which."""

    async def open_sessions(self, tx: Transaction, *, user: str, app: str | None) -> list[SessionKey]:
        """Return the sessions of a user that had turns and were not cleared since."""

    async def rewound_sessions(self, tx: Transaction, *, user: str, app: str | None) -> list[SessionKey]:
        """Return the sessions of a user whose messages a rewind hides in the session database."""

    async def foreign_sessions(self, tx: Transaction, *, user: str, app: str | None) -> list[SessionKey]:
        """Return the sessions of a user in which a Runner that is not ours ran turns or commands, unless deleted."""

    async def is_bootstrapped(self, tx: Transaction, app: str) -> bool:
        """Return True if the sessions older than the ledger have been entered for this app."""

    async def bootstrap(self, tx: Transaction, app: str, sessions: Mapping[SessionKey, float]) -> int:
        """Enter sessions with the time of their last activity, once per app; return how many were new."""

    async def rows_for(self, tx: Transaction, keys: Collection[SessionKey]) -> dict[SessionKey, LedgerRow]:
        """Return the rows of the conversations that have one."""

    async def sessions_of_other_apps(self, tx: Transaction, *, apps: Collection[str]) -> list[SessionKey]:
        """Return one conversation in any state for each app that is not in `apps`."""

    async def enqueue(self, tx: Transaction, key: SessionKey, *, touched: float) -> bool:
        """Make a conversation due that had activity at `touched` without a counted turn.

        A conversation that is due already, or has an active turn, is left unchanged: then this returns False.
        """

    async def summaries(self, tx: Transaction) -> list[PersonSummary]:
        """Return everybody with a conversation, in each app: how many are pending, and the time of the last turn."""

    async def pending(self, tx: Transaction, *, user: str | None, app: str | None) -> list[PendingConversation]:
        """Return conversations in which something waits to be learned, or an attempt failed, oldest first."""
