"""Per conversation: how far it was learned, who is at it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from gaia_memory.models import Anchor, LedgerRow, Mark, Pending, SessionKey
from gaia_memory.ports.transaction import Transaction


class Ledger(Protocol):
    """Per conversation: how far it was learned, who is at work on it, whether somebody is talking.

    `now` and all times are seconds since the epoch, from the caller's clock. An owner is `host:pid:start`.
    """

    async def row(self, tx: Transaction, key: SessionKey) -> LedgerRow | None:
        """Return the row of a conversation."""

    async def begin_turn(
        self, tx: Transaction, key: SessionKey, *, now: float, active_seconds: float, waits: bool = True
    ) -> LedgerRow:
        """Count a turn and mark the conversation active; return the row as it is after that.

        While somebody clears the conversation (`clearing` set and not expired) nothing is written: the
        returned row has `clearing` set, and the caller waits and asks again, at last without `waits`.
        """

    async def hold(
        self, tx: Transaction, key: SessionKey, *, now: float, active_seconds: float, waits: bool = True
    ) -> LedgerRow:
        """Do as `begin_turn` without counting: the conversation is about to be loaded for a turn."""

    async def let_go(self, tx: Transaction, key: SessionKey, *, until: float) -> None:
        """Take back a hold, which ends at `until`, unless somebody has begun to talk since."""

    async def renew_turn(self, tx: Transaction, key: SessionKey, *, now: float, active_seconds: float) -> None:
        """Keep a long turn active."""

    async def end_turn(self, tx: Transaction, key: SessionKey, *, now: float) -> None:
        """Mark the conversation quiet since `now`."""

    async def due(
        self, tx: Transaction, *, now: float, quiet_since: float | None, limit: int, apps: Collection[str]
    ) -> list[SessionKey]:
        """Return conversations of `apps` with something to learn or to clear, oldest first.

        Quiet since `quiet_since`, not active, not leased, not backing off, not parked. With `quiet_since` None
        idleness, back-off and parking do not count; an active turn always does.
        """

    async def waiting_elsewhere(self, tx: Transaction, *, apps: Collection[str]) -> list[SessionKey]:
        """Return one conversation with something to learn or to clear of each app that is not among `apps`."""

    async def claim(
        self,
        tx: Transaction,
        key: SessionKey,
        owner: str,
        *,
        now: float,
        lease_seconds: float,
    ) -> LedgerRow | None:
        """Take the lease in one statement; None while it is running, also as this owner's, or a turn is active.

        A lease of a process of this host that is gone is taken over at once.
        """

    async def renew(self, tx: Transaction, key: SessionKey, owner: str, *, now: float, lease_seconds: float) -> bool:
        """Prolong an own lease; False when it was lost."""

    async def release(self, tx: Transaction, key: SessionKey, owner: str, *, done: bool = False) -> None:
        """Give an own lease back.

        With `done` nothing is left to do for the turns it was taken for: what was learned is not to be cleared.
        """

    async def release_all(self, tx: Transaction, owner: str) -> None:
        """Give back all leases of an owner."""

    async def advance(
        self, tx: Transaction, key: SessionKey, owner: str, *, read: Mark | None, to: Mark, turns: int, now: float
    ) -> bool:
        """Move the watermark from `read` to `to` under an own lease, counting `turns` learned, clearing failures.

        False, and nothing written, when the lease or the watermark is not what the caller read. The conversation
        stays due until it is cleared or released as done.
        """

    async def failed(
        self, tx: Transaction, key: SessionKey, owner: str, *, error: str, retry_at: float, parked: bool
    ) -> None:
        """Count a failed attempt under an own lease and give the lease back."""

    async def begin_clearing(
        self, tx: Transaction, key: SessionKey, owner: str, *, turn_no: int, now: float, seconds: float
    ) -> bool:
        """Set `clearing` in one statement, where the lease is ours, the turn number as given, no turn active."""

    async def end_clearing(self, tx: Transaction, key: SessionKey, owner: str, *, cleared_at: float | None) -> None:
        """Unset `clearing`; with `cleared_at` the conversation begins anew (profile and anchor dropped)."""

    async def freeze_profile(self, tx: Transaction, key: SessionKey, *, profile: str, profile_key: str) -> None:
        """Keep the rendered profile for the rest of the session."""

    async def drop_profiles(self, tx: Transaction, *, user: str, app: str | None) -> int:
        """Drop the frozen profiles of a person's sessions, in one app or (None) in all."""

    async def anchor(self, tx: Transaction, key: SessionKey, anchor: Anchor) -> None:
        """Remember where the replay window begins."""

    async def skip(self, tx: Transaction, key: SessionKey, event_ids: Collection[str]) -> None:
        """Never learn from these events again."""

    async def skipped(self, tx: Transaction, key: SessionKey) -> set[str]:
        """Return the events never to be learned from."""

    async def forget_talk(self, tx: Transaction, *, user: str, app: str | None, session: str, said_until: float) -> int:
        """Never learn what was said in this session up to then, in one app or (None) in all; count the sessions."""

    async def open_talk(self, tx: Transaction, *, user: str, app: str | None) -> int:
        """Count the sessions of a person that hold talk: spoken in and not cleared since."""

    async def bootstrapped(self, tx: Transaction, app: str) -> bool:
        """Say whether the sessions that were there before us have been entered for this app."""

    async def bootstrap(self, tx: Transaction, app: str, sessions: Mapping[SessionKey, float]) -> int:
        """Enter sessions with the time they were last touched, once an app; return how many were new."""

    async def pending(self, tx: Transaction, *, user: str | None, app: str | None) -> list[Pending]:
        """Return conversations with something unlearned, oldest first."""
