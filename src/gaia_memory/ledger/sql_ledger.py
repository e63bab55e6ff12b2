"""The ledger over SQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, and_, case, delete, func, literal, or_, select, update

from gaia_memory.database.dialects import dialect_insert
from gaia_memory.database.id_encoding import decode_id, encode_id, index_key, replace_unstorable
from gaia_memory.ledger import rows
from gaia_memory.ledger.lease_rows import LeaseMixin
from gaia_memory.ledger.queries import ConversationQueryMixin
from gaia_memory.ledger.tables import HAS_REQUESTS, bootstraps, conversations, skips
from gaia_memory.ledger.turn_rows import TurnMixin
from gaia_memory.models import FrozenProfile, LedgerRow, SessionKey, WindowAnchor

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

_MAX_ROWS_PER_INSERT = 500
_MAX_IDS_PER_QUERY = 500


class SqlLedger(TurnMixin, LeaseMixin, ConversationQueryMixin):
    """The ledger in the tables of the memory database. It has no state of its own: everything comes with `tx`."""

    async def row(self, tx: Transaction, key: SessionKey) -> LedgerRow | None:
        """Return the row of a conversation."""
        return await rows.load_row(tx, key)

    async def freeze_profile(self, tx: Transaction, key: SessionKey, profile: FrozenProfile) -> None:
        """Keep a rendered profile for the rest of a session that has had a turn; one statement."""
        values: dict[str, Any] = {
            "profile": replace_unstorable(profile.block),
            "profile_key": replace_unstorable(profile.key or ""),
            "profile_made_at": profile.made_at,
            "profile_made_by": profile.made_by,
        }
        await tx.execute(update(conversations).where(rows.where_session(key)).values(values))

    async def rows_with_profile(self, tx: Transaction, *, user: str, app: str | None) -> list[LedgerRow]:
        """Return a user's sessions that have a frozen profile, in one app or (None) in all; the latest first."""
        table = conversations.c
        statement = select(conversations).where(_where_user(user, app), table.profile.is_not(None))
        return [rows.to_ledger_row(row) for row in await tx.execute(statement.order_by(table.touched.desc()))]

    async def drop_profiles(self, tx: Transaction, *, user: str, app: str | None) -> int:
        """Drop the frozen profiles of a user's sessions, in one app or (None) in all."""
        nulls = dict.fromkeys(("profile", "profile_key", "profile_made_at", "profile_made_by"))
        statement = update(conversations).where(_where_user(user, app), conversations.c.profile.is_not(None))
        return (await tx.execute(statement.values(nulls))).rowcount

    async def forget_session(
        self, tx: Transaction, *, user: str, app: str | None, session: str, said_until: float
    ) -> int:
        """Never learn messages of a session up to `said_until`, in one app or (None) in all; count the sessions."""
        if app is not None:
            # The session may not be in the ledger yet.
            await self._ensure_row(tx, SessionKey(app, user, session))
        statement = update(conversations).where(
            _where_user(user, app), conversations.c.session_id == encode_id(session)
        )
        # A host whose clock is behind must not undo an earlier forget.
        cutoff = case(
            (conversations.c.forgotten_at > said_until, conversations.c.forgotten_at), else_=literal(said_until)
        )
        await self.forget_messages(tx, user=user, app=app, said_until=said_until, session=session)
        return (await tx.execute(statement.values(forgotten_at=cutoff))).rowcount

    async def forget_messages(
        self, tx: Transaction, *, user: str, app: str | None, said_until: float, session: str | None = None
    ) -> None:
        """Note that nothing waits in the conversations of a user, or in one, that ended by `said_until`."""
        table = conversations.c
        has_ended = and_(table.touched <= said_until, table.turn_no > table.learned_turn_no)
        is_session = [] if session is None else [table.session_id == encode_id(session)]
        statement = update(conversations).where(_where_user(user, app), has_ended, *is_session)
        await tx.execute(statement.values(learned_turn_no=table.turn_no))
        given = update(conversations).where(_where_user(user, app), HAS_REQUESTS, *is_session)
        await tx.execute(given.values(requests=None))

    async def forgotten_sessions(self, tx: Transaction, *, user: str, app: str | None) -> dict[SessionKey, float]:
        """Return the user's sessions that were forgotten as a whole, with the time up to which."""
        statement = select(conversations).where(_where_user(user, app), conversations.c.forgotten_at.is_not(None))
        return {rows.session_key(row): row.forgotten_at for row in await tx.execute(statement)}

    async def open_sessions(self, tx: Transaction, *, user: str, app: str | None) -> list[SessionKey]:
        """Return the sessions of a user that had turns and were not cleared since."""
        table = conversations.c
        is_open = or_(table.turn_no > table.done_turn_no, and_(table.turn_no > 0, table.cleared_at.is_(None)))
        statement = select(table.app, table.user_id, table.session_id).where(_where_user(user, app), is_open)
        return [rows.session_key(row) for row in await tx.execute(statement)]

    async def rewound_sessions(self, tx: Transaction, *, user: str, app: str | None) -> list[SessionKey]:
        """Return the sessions of a user whose messages a rewind hides in the session database."""
        statement = select(conversations).where(_where_user(user, app), conversations.c.rewound_at.is_not(None))
        return [rows.session_key(row) for row in await tx.execute(statement)]

    async def foreign_sessions(self, tx: Transaction, *, user: str, app: str | None) -> list[SessionKey]:
        """Return the sessions of a user in which a Runner that is not ours ran turns or commands, unless deleted."""
        statement = select(conversations).where(_where_user(user, app), conversations.c.is_foreign)
        return [rows.session_key(row) for row in await tx.execute(statement)]

    async def set_anchor(self, tx: Transaction, key: SessionKey, anchor: WindowAnchor) -> None:
        """Remember where the replay window begins."""
        await self._set(tx, key, {"anchor_turn_no": anchor.turn_no, "anchor_at": anchor.timestamp})

    async def set_private(self, tx: Transaction, key: SessionKey, *, is_private: bool) -> None:
        """Set whether messages from here on are learned."""
        await self._set(tx, key, {"is_private": is_private})

    async def set_pending_confirmation(self, tx: Transaction, key: SessionKey, *, is_pending: bool) -> None:
        """Set whether a question waits for its answer."""
        await self._set(tx, key, {"asks_of_rows": is_pending})

    async def skip_events(self, tx: Transaction, key: SessionKey, event_ids: Collection[str]) -> None:
        """Never learn from these events again."""
        if event_ids:
            await self._ensure_row(tx, key)
            entries = [
                {"conversation": rows.conversation_key(key), "event_id": encode_id(event_id)}
                for event_id in sorted(event_ids)
            ]
            await tx.execute(dialect_insert(tx, skips).on_conflict_do_nothing(), entries)

    async def learn_again(self, tx: Transaction, key: SessionKey, event_ids: Collection[str]) -> None:
        """Take back that these events are skipped."""
        is_meant = skips.c.event_id.in_([encode_id(event_id) for event_id in event_ids])
        await tx.execute(delete(skips).where(skips.c.conversation == rows.conversation_key(key), is_meant))

    async def skipped_events(self, tx: Transaction, key: SessionKey, *, event_ids: Collection[str]) -> set[str]:
        """Return which of these events are never to be learned from."""
        found: set[str] = set()
        encoded_ids = sorted(encode_id(event_id) for event_id in event_ids)
        for start in range(0, len(encoded_ids), _MAX_IDS_PER_QUERY):
            condition = skips.c.event_id.in_(encoded_ids[start : start + _MAX_IDS_PER_QUERY])
            statement = select(skips.c.event_id).where(skips.c.conversation == rows.conversation_key(key), condition)
            found |= {decode_id(event_id) for event_id in (await tx.execute(statement)).scalars()}
        return found

    async def request_learning(self, tx: Transaction, key: SessionKey, request: str) -> None:
        """Add a line to what is to be learned at once."""
        await self._set(tx, key, {"requests": func.coalesce(conversations.c.requests, "") + request})

    async def drop_requests(self, tx: Transaction, key: SessionKey, done: str) -> None:
        """Remove what was learned; what was added since stands behind it."""
        stored = conversations.c.requests
        begins_so = func.substr(stored, 1, len(done)) == done
        statement = update(conversations).where(rows.where_session(key), begins_so)
        await tx.execute(statement.values(requests=func.nullif(func.substr(stored, len(done) + 1), "")))

    async def is_bootstrapped(self, tx: Transaction, app: str) -> bool:
        """Return True if the sessions older than the ledger have been entered for this app."""
        statement = select(bootstraps.c.app).where(bootstraps.c.app == index_key(app))
        return (await tx.execute(statement)).one_or_none() is not None

    async def bootstrap(self, tx: Transaction, app: str, sessions: Mapping[SessionKey, float]) -> int:
        """Enter sessions with the time of their last activity, once per app; return how many were new."""
        statement_once = dialect_insert(tx, bootstraps).values(app=index_key(app)).on_conflict_do_nothing()
        if (await tx.execute(statement_once)).rowcount == 0:
            return 0
        unlearned = {"learned_turn_no": rows.UNLEARNED_TURN_NO, "done_turn_no": rows.UNLEARNED_TURN_NO}
        # Their Runner is unknown.
        new_values = unlearned | {"is_foreign": True}
        entries = [rows.new_row_values(key, touched=touched) | new_values for key, touched in sessions.items()]
        # Reserved for a turn that is not counted yet: its earlier messages are still to be learned.
        is_only_reserved = and_(conversations.c.turn_no == 0, conversations.c.done_turn_no == 0)
        entered = 0
        for start in range(0, len(entries), _MAX_ROWS_PER_INSERT):
            statement = dialect_insert(tx, conversations).values(entries[start : start + _MAX_ROWS_PER_INSERT])
            statement = statement.on_conflict_do_update(
                index_elements=[conversations.c.conversation], set_=unlearned, where=is_only_reserved
            )
            entered += len((await tx.execute(statement.returning(conversations.c.conversation))).all())
        return entered

    async def enqueue(self, tx: Transaction, key: SessionKey, *, touched: float) -> bool:
        """Make a conversation due after activity without a counted turn; False while it is in use."""
        unlearned = {"learned_turn_no": rows.UNLEARNED_TURN_NO, "done_turn_no": rows.UNLEARNED_TURN_NO}
        entry = rows.new_row_values(key, touched=touched) | unlearned | {"is_foreign": True}
        c = conversations.c
        one_waits = {"learned_turn_no": c.turn_no - 1, "done_turn_no": c.turn_no - 1}
        is_unclaimed = and_(c.turn_no <= c.done_turn_no, c.active_until.is_(None), c.lease_until.is_(None))
        statement = dialect_insert(tx, conversations).values(entry)
        statement = statement.on_conflict_do_update(
            index_elements=[c.conversation],
            set_=one_waits | {"touched": case((c.touched < touched, touched), else_=c.touched)},
            where=is_unclaimed,
        )
        return bool((await tx.execute(statement)).rowcount)

    async def rows_for(self, tx: Transaction, keys: Collection[SessionKey]) -> dict[SessionKey, LedgerRow]:
        """Return the rows of the conversations that have one."""
        conversation_keys = [rows.conversation_key(key) for key in keys]
        found: dict[SessionKey, LedgerRow] = {}
        for start in range(0, len(conversation_keys), _MAX_IDS_PER_QUERY):
            condition = conversations.c.conversation.in_(conversation_keys[start : start + _MAX_IDS_PER_QUERY])
            for row in await tx.execute(select(conversations).where(condition)):
                found[rows.session_key(row)] = rows.to_ledger_row(row)
        return found

    async def _set(self, tx: Transaction, key: SessionKey, values: dict[str, Any]) -> None:
        await self._ensure_row(tx, key)
        await tx.execute(update(conversations).where(rows.where_session(key)).values(values))

    async def _ensure_row(self, tx: Transaction, key: SessionKey) -> None:
        await tx.execute(
            dialect_insert(tx, conversations).values(rows.new_row_values(key, touched=0.0)).on_conflict_do_nothing()
        )


def _where_user(user: str, app: str | None) -> ColumnElement[bool]:
    """Match the sessions of a user, in one app or (None) in all."""
    is_of_user = conversations.c.person == index_key(user)
    return is_of_user if app is None else and_(is_of_user, conversations.c.app == encode_id(app))
