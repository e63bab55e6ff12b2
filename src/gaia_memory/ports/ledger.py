"""Per conversation: how far it was learned, who is at it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from gaia_memory.models import (
    DueConversation,
    EventPosition,
    FrozenProfile,
    Invocation,
    LedgerRow,
    PendingConversation,
    SessionKey,
    TurnRequest,
    WindowAnchor,
)
from gaia_memory.ports.transaction import Transaction

TURN_LEASE_SECONDS = 15 * 60.0
"""How long a turn counts as active without a sign of life: a cancelled turn fires no hook at its end."""

LEASE_SECONDS = 30.0
"""How long a lease lasts that is not renewed."""

CLEAR_LEASE_SECONDS = 5.0
"""How long a clear keeps turns waiting; it takes milliseconds unless its process died in it."""

MAX_BACKOFF_SECONDS = 3600.0
"""The longest time until a conversation that could not be learned is tried again."""

MAX_CLOCK_SKEW_SECONDS = 300.0
"""How far the clocks of two hosts may differ before the marks of one count as mistaken for the other."""

_CLOCK_TOLERANCE_SECONDS = 1.0
"""A turn this close after a cutoff is still noted as out of order: two clocks never agree exactly."""


def is_in_force(expires_at: float | None, *, now: float, max_seconds: float) -> bool:
    """Return True if a mark that expires at `expires_at` is in force now.

    An expiry further ahead than its maximum duration is ignored: the clock was set back after it was written.
    """
    return expires_at is not None and now < expires_at <= now + max_seconds + MAX_CLOCK_SKEW_SECONDS


def may_be_out_of_order(row: LedgerRow, invocation: Invocation, *, now: float) -> bool:
    """Say whether reading from the watermark may miss a turn that begins now.

    The turn lies before the watermark, or before the event that rewound the session; or the conversation is being
    learned, so that the watermark may still move past the turn.
    """
    cutoffs = [row.progress.watermark.timestamp] if row.progress.watermark is not None else []
    if row.clearing.rewound_at is not None and row.clearing.cleared_at is not None:
        cutoffs.append(row.clearing.cleared_at)
    is_before_cutoff = any(invocation.started_at <= cutoff + _CLOCK_TOLERANCE_SECONDS for cutoff in cutoffs)
    return is_before_cutoff or is_in_force(row.lease.expires_at, now=now, max_seconds=LEASE_SECONDS)


class Ledger(Protocol):
    """Per conversation: how far it was learned, who is at work on it, whether somebody is talking.

    `now` and all times are seconds since the epoch, from the caller's clock. An owner is `host:pid:start/engine`.
    A mark of a process of this host that is gone counts as over, and so does one that ends later than it can.
    """

    async def row(self, tx: Transaction, key: SessionKey) -> LedgerRow | None:
        """Return the row of a conversation."""

    async def begin_turn(
        self, tx: Transaction, key: SessionKey, request: TurnRequest, *, now: float, lease_seconds: float
    ) -> LedgerRow:
        """Count a turn and mark the conversation active for its owner; return the row as it is after that.

        While somebody clears the conversation (`clearing` set and not expired) nothing is written: the
        returned row has `clearing` set, and the caller waits and asks again, at last not as one who `waits`. For
        one who talks `alone` nothing is written either while another living owner talks in it: the row's
        `active_owner` is that other one. Without it the mark is taken over. `is_foreign` is kept for good. An
        `invocation` that a reading from the watermark on may miss is remembered until `complete_out_of_order`.
        """

    async def reserve_turn(
        self, tx: Transaction, key: SessionKey, request: TurnRequest, *, now: float, lease_seconds: float
    ) -> LedgerRow:
        """Do as `begin_turn` without counting: the conversation is about to be loaded for a turn."""

    async def release_turn(
        self, tx: Transaction, key: SessionKey, *, expires_at: float, owner: str = "", is_counted: bool = False
    ) -> None:
        """Remove the owner's mark that expires at `expires_at`, unless another owner has replaced it.

        With `is_counted` the turn that was counted with the mark is taken off the count again: it never took place.
        """

    async def renew_turn(
        self, tx: Transaction, key: SessionKey, *, now: float, lease_seconds: float, owner: str = ""
    ) -> None:
        """Keep a long turn active, also one that was given up meanwhile, unless another owner talks now."""

    async def end_turn(self, tx: Transaction, key: SessionKey, *, now: float, owner: str = "") -> None:
        """Mark the conversation quiet since `now`; another owner who talks in it goes on."""

    async def expire(self, tx: Transaction, *, now: float) -> None:
        """Take back the marks that have run out or whose process is gone, so that `due` finds what they were on.

        Call it in a transaction of its own before `due`, which reads an index in which no mark is left. What was
        touched in the future, by a clock that was set back since, counts as touched now.
        """

    async def due(
        self,
        tx: Transaction,
        *,
        now: float,
        quiet_since: float | None,
        limit: int,
        apps: Collection[str],
        after: DueConversation | None = None,
        excluded_users: Collection[str] = (),
    ) -> list[DueConversation]:
        """Return at most `limit` conversations of `apps` with something to learn or to clear, oldest first.

        Quiet since `quiet_since`, not active, not leased, not backing off, not parked. With `quiet_since` None
        idleness, back-off and parking do not count; an active turn always does. Only those that come later in
        this order than `after`, and none of the users `excluded_users`.
        """

    async def sessions_waiting_in_other_apps(self, tx: Transaction, *, apps: Collection[str]) -> list[SessionKey]:
        """Return one conversation with something to learn or to clear of each app that is not among `apps`."""

    async def claim(
        self,
        tx: Transaction,
        key: SessionKey,
        owner: str,
        *,
        now: float,
        lease_seconds: float,
        turn_owner: str = "",
    ) -> LedgerRow | None:
        """Take the lease in one statement; None while it is running, also as this owner's, or a turn is active.

        A lease of a process of this host that is gone is taken over at once. The turn of `turn_owner` does not count.
        """

    async def renew(self, tx: Transaction, key: SessionKey, owner: str, *, now: float, lease_seconds: float) -> bool:
        """Prolong an own lease; False when it was lost."""

    async def release(self, tx: Transaction, key: SessionKey, owner: str, *, is_done: bool = False) -> None:
        """Give an own lease back.

        With `is_done` nothing is left to do for the turns it was taken for: what was learned is not to be cleared.
        """

    async def release_all(self, tx: Transaction, owner: str) -> None:
        """Give back all leases of an owner."""

    async def advance_watermark(
        self,
        tx: Transaction,
        key: SessionKey,
        owner: str,
        *,
        expected: EventPosition | None,
        new_watermark: EventPosition,
        turn_count: int,
        now: float,
        is_complete: bool = True,
    ) -> bool:
        """Move the watermark from `expected` to `new_watermark` under an own lease, counting `turn_count` learned.

        Clearing failures.

        False, and nothing written, when the lease or the watermark is not what the caller read. The conversation
        stays due until it is cleared or released as done, and pending until a step with `is_complete`, the last one.
        """

    async def record_out_of_order(self, tx: Transaction, key: SessionKey, invocation: Invocation) -> None:
        """Remember a turn that may lie before the watermark: the clock was set back while it went on."""

    async def out_of_order_turns(self, tx: Transaction, key: SessionKey) -> dict[str, float]:
        """Return the ids of the turns that may lie before the watermark, with when each began."""

    async def complete_out_of_order(
        self, tx: Transaction, key: SessionKey, owner: str, *, invocations: Collection[str], turn_count: int
    ) -> bool:
        """Count `turn_count` learned under an own lease and remember these invocations no more.

        False when it was lost.
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
        """Count a failed attempt under an own lease and give the lease back.

        Bad answers of a model are counted apart, and each of the counts goes on until something is learned.
        """

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
        """Set `clearing` in one statement: the lease is ours, the turn number as given, no turn but `turn_owner`'s."""

    async def end_clearing(
        self, tx: Transaction, key: SessionKey, owner: str, *, cleared_at: float | None, is_rewound: bool = False
    ) -> None:
        """Unset `clearing`; with `cleared_at` the conversation begins anew (profile and anchor dropped).

        `is_rewound`: what was cleared is still in the host's session, hidden; otherwise the session is gone.
        """

    async def find_purgeable(
        self, tx: Transaction, *, before: float, limit: int, apps: Collection[str]
    ) -> list[LedgerRow]:
        """Return conversations of `apps` whose rewound talk is still in the host's session, cleared until `before`.

        The longest cleared first. Nobody has spoken in them since, nothing is left to learn or to clear. Claim one
        and begin to clear it before it is purged; `end_clearing` without `is_rewound` says that it was.
        """

    async def freeze_profile(self, tx: Transaction, key: SessionKey, profile: FrozenProfile) -> None:
        """Keep a rendered profile for the rest of the session."""

    async def rows_with_profile(self, tx: Transaction, *, user: str, app: str | None) -> list[LedgerRow]:
        """Return a person's sessions that have a frozen profile, in one app or (None) in all; the latest first."""

    async def drop_profiles(self, tx: Transaction, *, user: str, app: str | None) -> int:
        """Drop the frozen profiles of a person's sessions, in one app or (None) in all."""

    async def set_anchor(self, tx: Transaction, key: SessionKey, anchor: WindowAnchor) -> None:
        """Remember where the replay window begins."""

    async def set_private(self, tx: Transaction, key: SessionKey, *, is_private: bool) -> None:
        """Note whether what is said from now on is to be learned; cleared or not, the conversation stays so."""

    async def set_pending_confirmation(self, tx: Transaction, key: SessionKey, *, is_pending: bool) -> None:
        """Note whether a question about some rows, which a yes forgets, waits for its answer in a conversation."""

    async def skip_events(self, tx: Transaction, key: SessionKey, event_ids: Collection[str]) -> None:
        """Never learn from these events again."""

    async def skipped_events(self, tx: Transaction, key: SessionKey, *, event_ids: Collection[str]) -> set[str]:
        """Return which of these events are never to be learned from."""

    async def forget_session(
        self, tx: Transaction, *, user: str, app: str | None, session: str, said_until: float
    ) -> int:
        """Never learn what was said in this session up to then, in one app or (None) in all; count the sessions."""

    async def forgotten_sessions(self, tx: Transaction, *, user: str, app: str | None) -> dict[SessionKey, float]:
        """Return the sessions of a person of which something was forgotten as a whole, with up to when."""

    async def count_open_sessions(self, tx: Transaction, *, user: str, app: str | None) -> int:
        """Count the sessions of a person that hold talk: spoken in and not cleared since."""

    async def is_bootstrapped(self, tx: Transaction, app: str) -> bool:
        """Say whether the sessions that were there before us have been entered for this app."""

    async def bootstrap(self, tx: Transaction, app: str, sessions: Mapping[SessionKey, float]) -> int:
        """Enter sessions with the time they were last touched, once an app; return how many were new."""

    async def rows_for(self, tx: Transaction, keys: Collection[SessionKey]) -> dict[SessionKey, LedgerRow]:
        """Return the rows of those of some conversations that have one."""

    async def sessions_of_other_apps(self, tx: Transaction, *, apps: Collection[str]) -> list[SessionKey]:
        """Return one conversation, whatever its state, of each app that is not among `apps`."""

    async def enqueue(self, tx: Transaction, key: SessionKey, *, touched: float) -> None:
        """Have a conversation learned in which somebody spoke at `touched` and no turn was counted.

        One that waits anyway, or in which somebody is talking, is left as it is.
        """

    async def pending(self, tx: Transaction, *, user: str | None, app: str | None) -> list[PendingConversation]:
        """Return conversations with something unlearned, oldest first."""
