"""The ledger over SQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, and_, case, func, literal, or_, select, update

from gaia_memory.database.id_encoding import bounded, decode_id, encode_id, storable
from gaia_memory.ledger import rows
from gaia_memory.ledger.expiry import Expiry
from gaia_memory.ledger.lease_rows import Leases
from gaia_memory.ledger.out_of_order import LateTurns
from gaia_memory.ledger.queries import Search
from gaia_memory.ledger.tables import bootstraps, conversations, skips
from gaia_memory.ledger.turn_rows import Turns
from gaia_memory.models import Anchor, LedgerRow, ProfileMaker, SessionKey

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

_SESSIONS_A_STATEMENT = 500
_IDS_A_STATEMENT = 500


class SqlLedger(Turns, LateTurns, Leases, Search, Expiry):
    """The ledger in the tables of the memory database. It holds nothing itself: all state comes with `tx`."""

    async def row(self, tx: Transaction, key: SessionKey) -> LedgerRow | None:
        """Return the row of a conversation."""
        row = (await tx.execute(select(conversations).where(rows.is_at(key)))).one_or_none()
        return None if row is None else rows.ledger_row(row)

    async def freeze_profile(
        self,
        tx: Transaction,
        key: SessionKey,
        *,
        profile: str,
        profile_key: str,
        made_at: float | None = None,
        made_by: ProfileMaker | None = None,
    ) -> None:
        """Keep the rendered profile for the rest of the session, with when it was made and by whom."""
        await self._enter(tx, key)
        frozen: dict[str, Any] = {"profile": storable(profile), "profile_key": storable(profile_key)}
        frozen |= {"profile_made_at": made_at, "profile_made_by": made_by}
        await tx.execute(update(conversations).where(rows.is_at(key)).values(frozen))

    async def with_profile(self, tx: Transaction, *, user: str, app: str | None) -> list[LedgerRow]:
        """Return a person's sessions that have a frozen profile, in one app or (None) in all; the latest first."""
        table = conversations.c
        statement = select(conversations).where(_of_person(user, app), table.profile.is_not(None))
        return [rows.ledger_row(row) for row in await tx.execute(statement.order_by(table.touched.desc()))]

    async def drop_profiles(self, tx: Transaction, *, user: str, app: str | None) -> int:
        """Drop the frozen profiles of a person's sessions, in one app or (None) in all."""
        nothing = dict.fromkeys(("profile", "profile_key", "profile_made_at", "profile_made_by"))
        statement = update(conversations).where(_of_person(user, app), conversations.c.profile.is_not(None))
        return (await tx.execute(statement.values(nothing))).rowcount

    async def forget_talk(self, tx: Transaction, *, user: str, app: str | None, session: str, said_until: float) -> int:
        """Never learn what was said in this session up to then, in one app or (None) in all; count the sessions."""
        if app is not None:
            # The session may be one that nobody has entered yet.
            await self._enter(tx, SessionKey(app, user, session))
        statement = update(conversations).where(_of_person(user, app), conversations.c.session_id == encode_id(session))
        # A host whose clock is behind takes no earlier forgetting back.
        border = case(
            (conversations.c.forgotten_at > said_until, conversations.c.forgotten_at), else_=literal(said_until)
        )
        return (await tx.execute(statement.values(forgotten_at=border))).rowcount

    async def forgotten_talk(self, tx: Transaction, *, user: str, app: str | None) -> dict[SessionKey, float]:
        """Return the sessions of a person of which something was forgotten as a whole, with up to when."""
        statement = select(conversations).where(_of_person(user, app), conversations.c.forgotten_at.is_not(None))
        return {rows.key_of(row): row.forgotten_at for row in await tx.execute(statement)}

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

    async def keep_private(self, tx: Transaction, key: SessionKey, *, is_private: bool) -> None:
        """Note whether what is said from now on is to be learned."""
        await self._enter(tx, key)
        await tx.execute(update(conversations).where(rows.is_at(key)).values(is_private=is_private))

    async def ask_of_rows(self, tx: Transaction, key: SessionKey, *, asks: bool) -> None:
        """Note whether a question about some rows waits for its answer."""
        await self._enter(tx, key)
        await tx.execute(update(conversations).where(rows.is_at(key)).values(asks_of_rows=asks))

    async def skip(self, tx: Transaction, key: SessionKey, event_ids: Collection[str]) -> None:
        """Never learn from these events again."""
        if event_ids:
            await self._enter(tx, key)
            entries = [
                {"conversation": rows.handle(key), "event_id": encode_id(event_id)} for event_id in sorted(event_ids)
            ]
            await tx.execute(rows.insert(tx, skips).on_conflict_do_nothing(), entries)

    async def skipped(self, tx: Transaction, key: SessionKey, *, among: Collection[str]) -> set[str]:
        """Return which of these events are never to be learned from."""
        found: set[str] = set()
        wanted = sorted(encode_id(event_id) for event_id in among)
        for start in range(0, len(wanted), _IDS_A_STATEMENT):
            some = skips.c.event_id.in_(wanted[start : start + _IDS_A_STATEMENT])
            statement = select(skips.c.event_id).where(skips.c.conversation == rows.handle(key), some)
            found |= {decode_id(event_id) for event_id in (await tx.execute(statement)).scalars()}
        return found

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
        # Nobody knows who talks in them.
        found = unlearned | {"is_foreign": True}
        entries = [rows.fresh(key, touched=touched) | found for key, touched in sessions.items()]
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

    async def enter(self, tx: Transaction, key: SessionKey, *, touched: float) -> None:
        """Have a conversation learned in which somebody spoke and no turn was counted."""
        unlearned = {"learned_turn_no": rows.UNLEARNED, "done_turn_no": rows.UNLEARNED}
        entry = rows.fresh(key, touched=touched) | unlearned | {"is_foreign": True}
        c = conversations.c
        at_rest = and_(c.turn_no <= c.done_turn_no, c.active_until.is_(None), c.lease_until.is_(None))
        statement = rows.insert(tx, conversations).values(entry)
        statement = statement.on_conflict_do_update(
            index_elements=[c.conversation],
            set_=unlearned | {"touched": case((c.touched < touched, touched), else_=c.touched)},
            where=at_rest,
        )
        await tx.execute(statement)

    async def rows_of(self, tx: Transaction, keys: Collection[SessionKey]) -> dict[SessionKey, LedgerRow]:
        """Return the rows of those of some conversations that have one."""
        handles = [rows.handle(key) for key in keys]
        found: dict[SessionKey, LedgerRow] = {}
        for start in range(0, len(handles), _IDS_A_STATEMENT):
            some = conversations.c.conversation.in_(handles[start : start + _IDS_A_STATEMENT])
            for row in await tx.execute(select(conversations).where(some)):
                found[rows.key_of(row)] = rows.ledger_row(row)
        return found

    async def _enter(self, tx: Transaction, key: SessionKey) -> None:
        await tx.execute(rows.insert(tx, conversations).values(rows.fresh(key, touched=0.0)).on_conflict_do_nothing())


def _of_person(user: str, app: str | None) -> ColumnElement[bool]:
    """Match the sessions of a person, in one app or (None) in all."""
    theirs = conversations.c.person == bounded(user)
    return theirs if app is None else and_(theirs, conversations.c.app == encode_id(app))
