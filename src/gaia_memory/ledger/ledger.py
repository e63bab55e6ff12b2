"""The ledger over SQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, and_, func, or_, select, update

from gaia_memory.database.text import bounded, decode_id, encode_id, storable
from gaia_memory.ledger import leases, rows, turns
from gaia_memory.ledger.tables import bootstraps, conversations, skips
from gaia_memory.models import Anchor, LedgerRow, Mark, Pending, SessionKey

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

_SESSIONS_A_STATEMENT = 500


class SqlLedger:
    """The ledger in the tables of the memory database. It holds nothing itself: all state comes with `tx`."""

    async def row(self, tx: Transaction, key: SessionKey) -> LedgerRow | None:
        """Return the row of a conversation."""
        row = (await tx.execute(select(conversations).where(rows.is_at(key)))).one_or_none()
        return None if row is None else rows.ledger_row(row)

    async def begin_turn(
        self, tx: Transaction, key: SessionKey, *, now: float, active_seconds: float, waits: bool = True
    ) -> LedgerRow:
        """Count a turn and mark the conversation active; with `waits` not while somebody clears it; return its row."""
        return await turns.begin(tx, key, now=now, active_seconds=active_seconds, counted=True, waits=waits)

    async def hold(
        self, tx: Transaction, key: SessionKey, *, now: float, active_seconds: float, waits: bool = True
    ) -> LedgerRow:
        """Do as `begin_turn` without counting: the conversation is about to be loaded for a turn."""
        return await turns.begin(tx, key, now=now, active_seconds=active_seconds, counted=False, waits=waits)

    async def let_go(self, tx: Transaction, key: SessionKey, *, until: float) -> None:
        """Take back a hold, which ends at `until`, unless somebody has begun to talk since."""
        await turns.let_go(tx, key, until=until)

    async def renew_turn(self, tx: Transaction, key: SessionKey, *, now: float, active_seconds: float) -> None:
        """Keep a long turn active."""
        await turns.renew(tx, key, now=now, active_seconds=active_seconds)

    async def end_turn(self, tx: Transaction, key: SessionKey, *, now: float) -> None:
        """Mark the conversation quiet since `now`."""
        await turns.end(tx, key, now=now)

    async def due(
        self, tx: Transaction, *, now: float, quiet_since: float | None, limit: int, apps: Collection[str]
    ) -> list[SessionKey]:
        """Return conversations of `apps` with something to learn or to clear, oldest first."""
        return await leases.due(tx, now=now, quiet_since=quiet_since, limit=limit, apps=apps)

    async def waiting_elsewhere(self, tx: Transaction, *, apps: Collection[str]) -> list[SessionKey]:
        """Return one waiting conversation of each app that is not among `apps`."""
        return await leases.waiting_elsewhere(tx, apps=apps)

    async def claim(
        self, tx: Transaction, key: SessionKey, owner: str, *, now: float, lease_seconds: float
    ) -> LedgerRow | None:
        """Take the lease in one statement; None while it is running or a turn is active."""
        return await leases.claim(tx, key, owner, now=now, lease_seconds=lease_seconds)

    async def renew(self, tx: Transaction, key: SessionKey, owner: str, *, now: float, lease_seconds: float) -> bool:
        """Prolong an own lease; False when it was lost."""
        return await leases.renew(tx, key, owner, now=now, lease_seconds=lease_seconds)

    async def release(self, tx: Transaction, key: SessionKey, owner: str, *, done: bool = False) -> None:
        """Give an own lease back; with `done` nothing is left to do for the turns it was taken for."""
        await leases.release(tx, key, owner, done=done)

    async def release_all(self, tx: Transaction, owner: str) -> None:
        """Give back all leases of an owner."""
        await leases.release_all(tx, owner)

    async def advance(
        self, tx: Transaction, key: SessionKey, owner: str, *, read: Mark | None, to: Mark, turns: int, now: float
    ) -> bool:
        """Move the watermark from `read` to `to` under an own lease; False when either is not as it was read."""
        return await leases.advance(tx, key, owner, read=read, to=to, turns=turns)

    async def failed(
        self, tx: Transaction, key: SessionKey, owner: str, *, error: str, retry_at: float, parked: bool
    ) -> None:
        """Count a failed attempt under an own lease and give the lease back."""
        await leases.failed(tx, key, owner, error=error, retry_at=retry_at, parked=parked)

    async def begin_clearing(
        self, tx: Transaction, key: SessionKey, owner: str, *, turn_no: int, now: float, seconds: float
    ) -> bool:
        """Set `clearing` in one statement, where the lease is ours, the turn number as given, no turn active."""
        return await leases.begin_clearing(tx, key, owner, turn_no=turn_no, now=now, seconds=seconds)

    async def end_clearing(self, tx: Transaction, key: SessionKey, owner: str, *, cleared_at: float | None) -> None:
        """Unset `clearing`; with `cleared_at` the conversation begins anew (profile and anchor dropped)."""
        await leases.end_clearing(tx, key, owner, cleared_at=cleared_at)

    async def freeze_profile(self, tx: Transaction, key: SessionKey, *, profile: str, profile_key: str) -> None:
        """Keep the rendered profile for the rest of the session."""
        await self._enter(tx, key)
        frozen = {"profile": storable(profile), "profile_key": storable(profile_key)}
        await tx.execute(update(conversations).where(rows.is_at(key)).values(frozen))

    async def drop_profiles(self, tx: Transaction, *, user: str, app: str | None) -> int:
        """Drop the frozen profiles of a person's sessions, in one app or (None) in all."""
        statement = update(conversations).where(_of_person(user, app), conversations.c.profile.is_not(None))
        return (await tx.execute(statement.values(profile=None, profile_key=None))).rowcount

    async def forget_talk(self, tx: Transaction, *, user: str, app: str | None, session: str, said_until: float) -> int:
        """Never learn what was said in this session up to then, in one app or (None) in all; count the sessions."""
        statement = update(conversations).where(_of_person(user, app), conversations.c.session_id == encode_id(session))
        return (await tx.execute(statement.values(forgotten_at=said_until))).rowcount

    async def open_talk(self, tx: Transaction, *, user: str, app: str | None) -> int:
        """Count the sessions of a person that hold talk: spoken in and not cleared since."""
        table = conversations.c
        spoken = or_(table.turn_no > table.done_turn_no, and_(table.turn_no > 0, table.cleared_at.is_(None)))
        statement = select(func.count()).select_from(conversations).where(_of_person(user, app), spoken)
        return int((await tx.execute(statement)).scalar_one())

    async def anchor(self, tx: Transaction, key: SessionKey, anchor: Anchor) -> None:
        """Remember where the replay window begins."""
        await self._enter(tx, key)
        place = {"anchor_turn_no": anchor.turn_no, "anchor_at": anchor.at}
        await tx.execute(update(conversations).where(rows.is_at(key)).values(place))

    async def skip(self, tx: Transaction, key: SessionKey, event_ids: Collection[str]) -> None:
        """Never learn from these events again."""
        if event_ids:
            await self._enter(tx, key)
            entries = [
                {"conversation": rows.handle(key), "event_id": encode_id(event_id)} for event_id in sorted(event_ids)
            ]
            await tx.execute(rows.insert(tx, skips).on_conflict_do_nothing(), entries)

    async def skipped(self, tx: Transaction, key: SessionKey) -> set[str]:
        """Return the events never to be learned from."""
        statement = select(skips.c.event_id).where(skips.c.conversation == rows.handle(key))
        return {decode_id(event_id) for event_id in (await tx.execute(statement)).scalars()}

    async def bootstrapped(self, tx: Transaction, app: str) -> bool:
        """Say whether the sessions that were there before us have been entered for this app."""
        statement = select(bootstraps.c.app).where(bootstraps.c.app == bounded(app))
        return (await tx.execute(statement)).one_or_none() is not None

    async def bootstrap(self, tx: Transaction, app: str, sessions: Mapping[SessionKey, float]) -> int:
        """Enter sessions with the time they were last touched, once an app; return how many were new."""
        mark = rows.insert(tx, bootstraps).values(app=bounded(app)).on_conflict_do_nothing()
        if (await tx.execute(mark)).rowcount == 0:
            return 0
        unlearned = {"learned_turn_no": rows.UNLEARNED, "done_turn_no": rows.UNLEARNED}
        entries = [rows.fresh(key, touched=touched) | unlearned for key, touched in sessions.items()]
        # Held for a turn that was not counted yet: what was said in it before is still to be learned.
        only_held = and_(conversations.c.turn_no == 0, conversations.c.done_turn_no == 0)
        entered = 0
        for start in range(0, len(entries), _SESSIONS_A_STATEMENT):
            statement = rows.insert(tx, conversations).values(entries[start : start + _SESSIONS_A_STATEMENT])
            statement = statement.on_conflict_do_update(
                index_elements=[conversations.c.conversation], set_=unlearned, where=only_held
            )
            entered += len((await tx.execute(statement.returning(conversations.c.conversation))).all())
        return entered

    async def pending(self, tx: Transaction, *, user: str | None, app: str | None) -> list[Pending]:
        """Return conversations with something unlearned, oldest first."""
        table = conversations.c
        statement = select(conversations).where(table.turn_no > table.learned_turn_no)
        # Implied by the line before; said again, because only so its index is used.
        statement = statement.where(table.turn_no > table.done_turn_no).order_by(table.touched, table.conversation)
        if user is not None:
            statement = statement.where(table.person == bounded(user))
        if app is not None:
            statement = statement.where(table.app == encode_id(app))
        return [rows.pending(row) for row in await tx.execute(statement)]

    async def _enter(self, tx: Transaction, key: SessionKey) -> None:
        await tx.execute(rows.insert(tx, conversations).values(rows.fresh(key, touched=0.0)).on_conflict_do_nothing())


def _of_person(user: str, app: str | None) -> ColumnElement[bool]:
    """Match the sessions of a person, in one app or (None) in all."""
    theirs = conversations.c.person == bounded(user)
    return theirs if app is None else and_(theirs, conversations.c.app == encode_id(app))
