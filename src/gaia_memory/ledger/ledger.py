"""The ledger: per conversation, how far it is learned and who works on it.

Each step is one conditional statement: the database decides which process wins. Each search reads a partial index with
little else in it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    Column,
    ColumnElement,
    TextClause,
    and_,
    case,
    delete,
    func,
    literal,
    or_,
    select,
    tuple_,
    update,
)

from gaia_memory.database.id_encoding import decode_id, encode_id, index_key, replace_unstorable
from gaia_memory.database.metadata import dialect_insert
from gaia_memory.ledger.process_identity import dead_owners, engine_name, upper_bound
from gaia_memory.ledger.rows import (
    UNLEARNED_TURN_NO,
    SqlCondition,
    conversation_key,
    distinct_values,
    has_expired,
    is_unset_or_expired,
    load_row,
    new_row_values,
    session_key,
    to_ledger_row,
    to_pending,
    where_session,
)
from gaia_memory.ledger.tables import (
    HAS_ACTIVE_TURN,
    HAS_BACKOFF,
    HAS_LEASE,
    HAS_REQUESTS,
    IS_REWOUND,
    IS_SWEEPABLE,
    IS_UNCLAIMED,
    IS_UNDONE,
    bootstraps,
    conversations,
    skips,
)
from gaia_memory.ledger.turn_statements import end_turn, mark_turn, where_owner
from gaia_memory.models import (
    DueConversation,
    EventPosition,
    FrozenProfile,
    LedgerRow,
    PendingConversation,
    PersonSummary,
    Scope,
    SessionKey,
    TurnRequest,
    TurnUsage,
    WindowAnchor,
)
from gaia_memory.models.quiet_conversations import MAX_CLOCK_SKEW_SECONDS

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

_MAX_ROWS_PER_INSERT = 500
_MAX_IDS_PER_QUERY = 500

c = conversations.c
_KEY_COLUMNS = (c.app, c.user_id, c.session_id)
_PROFILE = ("profile", "profile_key", "profile_made_at", "profile_made_by")
_NO_LEASE: dict[str, Any] = {"lease_owner": None, "lease_until": None}
_NO_FAILURE: dict[str, Any] = {
    "attempts": 0,
    "bad_answers": 0,
    "failing_since": None,
    "retry_at": None,
    "last_error": None,
    "parked": False,
}


class Ledger:
    """Per conversation: how far it is learned, which process works on it, and whether a turn is running.

    `now` and all times are seconds since the epoch, from the caller's clock. An owner is `host:pid:system/engine`.
    A mark of a dead process of this host counts as expired, and so does one further ahead than its maximum duration.
    """

    async def row(self, tx: Transaction, key: SessionKey) -> LedgerRow | None:
        """Return the row of a conversation."""
        return await load_row(tx, key)

    async def begin_turn(
        self, tx: Transaction, key: SessionKey, request: TurnRequest, *, now: float, lease_seconds: float
    ) -> LedgerRow:
        """Count a turn and mark the conversation active for its owner; return the resulting row.

        While another process clears the conversation, nothing is written and the row's `clearing.owner` is set. The
        caller retries, and after its time-out sets `waits_for_clear=False` to override the clear. An `is_exclusive`
        request writes nothing either while another live owner's turn runs, the row's `turn.active_owner`; other
        requests take the mark over. No turn resets `is_foreign`.
        """
        return await mark_turn(tx, key, request, now=now, lease_seconds=lease_seconds, counts=True)

    async def reserve_turn(
        self, tx: Transaction, key: SessionKey, request: TurnRequest, *, now: float, lease_seconds: float
    ) -> LedgerRow:
        """Do the same as `begin_turn` without counting a turn: a session is about to be loaded."""
        return await mark_turn(tx, key, request, now=now, lease_seconds=lease_seconds, counts=False)

    async def release_turn(
        self, tx: Transaction, key: SessionKey, *, expires_at: float, owner: str = "", is_counted: bool = False
    ) -> None:
        """Remove the owner's mark that expires at `expires_at`, unless another owner has replaced it.

        With `is_counted` the turn that was counted with the mark is taken off the count again: it never took place.
        """
        changes: dict[str, Any] = {"active_until": None, "active_owner": None}
        if is_counted:
            changes["turn_no"] = case((c.turn_no > 0, c.turn_no - 1), else_=0)
        reserved = update(conversations).where(where_session(key), c.active_until == expires_at, where_owner(owner))
        await tx.execute(reserved.values(changes))

    async def renew_turn(
        self, tx: Transaction, key: SessionKey, *, now: float, lease_seconds: float, owner: str = ""
    ) -> None:
        """Keep a long turn active, even after its mark expired, unless another owner has a turn now."""
        own = or_(where_owner(owner), has_expired(c.active_until, now))
        mark = {"active_until": now + lease_seconds, "active_owner": owner}
        await tx.execute(update(conversations).where(where_session(key), own).values(mark))

    async def end_turn(
        self,
        tx: Transaction,
        key: SessionKey,
        *,
        now: float,
        owner: str = "",
        is_private: bool = False,
        used: TurnUsage | None = None,
    ) -> None:
        """Mark the turn as ended at `now`, and note what it used; another owner's turn stays active.

        With `is_private` the turn does not wait to be learned.
        """
        await end_turn(tx, key, now=now, owner=owner, is_private=is_private, used=used)

    async def expire(self, tx: Transaction, *, now: float) -> None:
        """Remove expired marks and those of dead processes, so that `due` finds their conversations.

        Call it in a transaction of its own before `due`, whose index contains only unmarked conversations. A last
        activity in the future, written before the clock was set back, is set to now.
        """
        await _expire_leases(tx, HAS_ACTIVE_TURN, c.active_owner, c.active_until, now)
        await _expire_leases(tx, HAS_LEASE, c.lease_owner, c.lease_until, now)
        await _update_unlocked(tx, [HAS_BACKOFF, has_expired(c.retry_at, now)], {"retry_at": None})
        for app_key in await distinct_values(tx, c.app_key, IS_UNCLAIMED):
            is_in_future = c.touched > now + MAX_CLOCK_SKEW_SECONDS
            await _update_unlocked(tx, [IS_UNCLAIMED, c.app_key == app_key, is_in_future], {"touched": now})

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

        The rule is that of `models.quiet_conversations`. With `quiet_since=None`, idleness, back-off and parking are
        ignored, but never an active turn. `after` is the last conversation of the previous page; `excluded_users` are
        left out.
        """
        conditions: list[SqlCondition] = (
            [IS_UNCLAIMED] if quiet_since is None else [IS_SWEEPABLE, c.touched <= quiet_since]
        )
        if excluded_users:
            conditions.append(c.person.not_in([index_key(person) for person in excluded_users]))
        statement = select(*_KEY_COLUMNS, c.touched).where(*conditions).order_by(c.touched, c.conversation).limit(limit)
        # One query per app: the index returns the rows of one app in order, but not those of several.
        rows_by_app = []
        for app_key in sorted({index_key(app) for app in apps}):
            of_app = statement.where(c.app_key == app_key, *_after_cursor(after, app_key))
            rows_by_app.append((await tx.execute(of_app)).all())
        oldest = islice(merge(*rows_by_app, key=lambda row: row.touched), limit)
        return [DueConversation(key=session_key(row), touched=row.touched) for row in oldest]

    async def sessions_waiting_in_other_apps(self, tx: Transaction, *, apps: Collection[str]) -> list[SessionKey]:
        """Return, for each app that is not in `apps`, one conversation with something to learn or to clear."""
        known = {index_key(app) for app in apps}
        found = []
        for app_key in await distinct_values(tx, c.app_key, IS_UNCLAIMED):
            if app_key not in known:
                statement = (
                    select(*_KEY_COLUMNS).where(IS_UNCLAIMED, c.app_key == app_key).order_by(c.touched.desc()).limit(1)
                )
                found.append(session_key((await tx.execute(statement)).one()))
        return found

    async def claim(
        self, tx: Transaction, key: SessionKey, owner: str, *, now: float, lease_seconds: float, turn_owner: str = ""
    ) -> LedgerRow | None:
        """Take the lease in one statement; None while a lease is in force, even this owner's, or a turn is active.

        The lease of a dead process of this host is taken over at once. The turn of `turn_owner` is ignored.
        """
        owners = (await tx.execute(select(c.lease_owner, c.active_owner).where(where_session(key)))).one_or_none()
        dead = await dead_owners(owners or ())
        is_lease_free = or_(is_unset_or_expired(c.lease_until, now), c.lease_owner.in_(dead))
        is_quiet = or_(is_unset_or_expired(c.active_until, now), c.active_owner.in_([*dead, *_owner_list(turn_owner)]))
        changes: dict[str, Any] = {
            "lease_owner": owner,
            "lease_until": now + lease_seconds,
            "claimed_turn_no": c.turn_no,
        }
        for name in ("active_until", "active_owner"):
            changes[name] = case((c.active_owner.in_(_owner_list(turn_owner)), c[name]), else_=None)
        if dead:
            # A clear ends with the process that ran it.
            for name in ("clearing", "clearing_until"):
                changes[name] = case((c.clearing.in_(dead), None), else_=c[name])
        statement = (
            update(conversations)
            .where(where_session(key), is_lease_free, is_quiet)
            .values(changes)
            .returning(conversations)
        )
        row = (await tx.execute(statement)).one_or_none()
        return None if row is None else to_ledger_row(row)

    async def renew(self, tx: Transaction, key: SessionKey, owner: str, *, now: float, lease_seconds: float) -> bool:
        """Renew the owner's lease; False when it was lost."""
        return await _update_row(tx, key, c.lease_owner == owner, {"lease_until": now + lease_seconds})

    async def release(
        self, tx: Transaction, key: SessionKey, owner: str, *, is_done: bool = False, reset_at: float | None = None
    ) -> None:
        """Release the owner's lease.

        With `is_done` the turns it was taken for need no further work: they are learned, and will not be cleared. The
        frozen profile is dropped, unless a turn began meanwhile. No request holds events up to `reset_at` any more.
        """
        changes = dict(_NO_LEASE)
        if is_done:
            has_new_turn = c.turn_no > c.claimed_turn_no
            changes |= _done_values() | {name: case((has_new_turn, c[name]), else_=None) for name in _PROFILE}
        if reset_at is not None:
            changes["reset_at"] = reset_at
        await _update_row(tx, key, c.lease_owner == owner, changes)

    async def release_all(self, tx: Transaction, owner: str) -> None:
        """Release all leases of an owner."""
        await tx.execute(update(conversations).where(c.lease_owner == owner).values(_NO_LEASE))

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
        is_unchanged = and_(
            c.lease_owner == owner,
            c.watermark_at.is_not_distinct_from(None if expected is None else expected.timestamp),
            c.watermark_event.is_not_distinct_from(None if expected is None else encode_id(expected.event_id)),
        )
        changes: dict[str, Any] = {
            "watermark_at": new_watermark.timestamp,
            "watermark_event": encode_id(new_watermark.event_id),
            "learned_turns": c.learned_turns + turn_count,
        }
        # The ledger does not count every turn of a transcript: what is left must not seem learned.
        learned_turn_no = c.learned_turn_no + turn_count
        is_left = learned_turn_no < c.claimed_turn_no
        changes["learned_turn_no"] = (
            c.claimed_turn_no if is_complete else case((is_left, learned_turn_no), else_=c.learned_turn_no)
        )
        return await _update_row(tx, key, is_unchanged, changes | _NO_FAILURE)

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
        changes: dict[str, Any] = {
            "attempts": c.attempts + 1,
            "bad_answers": c.bad_answers + int(is_bad_answer),
            "failing_since": func.coalesce(c.failing_since, now),
            "last_error": replace_unstorable(error),
            "retry_at": retry_at,
            "parked": is_parked,
        }
        await _update_row(tx, key, c.lease_owner == owner, _NO_LEASE | changes)

    async def request_learning(self, tx: Transaction, key: SessionKey, request: str) -> None:
        """Add a line to what is to be learned at once; the conversation may be new."""
        await self._set(tx, key, {"requests": func.coalesce(c.requests, "") + request})

    async def drop_requests(self, tx: Transaction, key: SessionKey, done: str) -> None:
        """Remove what was learned; requests that came meanwhile stay."""
        stored = c.requests
        begins_so = func.substr(stored, 1, len(done)) == done
        statement = update(conversations).where(where_session(key), begins_so)
        await tx.execute(statement.values(requests=func.nullif(func.substr(stored, len(done) + 1), "")))

    async def requested(self, tx: Transaction, *, apps: Collection[str], force: bool) -> list[SessionKey]:
        """Return conversations with requests and without a running turn, lease or, unless `force`, back-off."""
        conditions: list[SqlCondition] = [HAS_REQUESTS, c.active_until.is_(None), c.lease_until.is_(None)]
        conditions += [] if force else [c.retry_at.is_(None), ~c.parked]
        statement = select(*_KEY_COLUMNS).where(*conditions, c.app_key.in_([index_key(app) for app in apps]))
        return [session_key(row) for row in await tx.execute(statement)]

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
        is_unchanged = and_(
            c.lease_owner == owner,
            c.turn_no == turn_no,
            or_(is_unset_or_expired(c.active_until, now), c.active_owner.in_(_owner_list(turn_owner))),
            or_(is_unset_or_expired(c.clearing_until, now), c.clearing == owner),
        )
        return await _update_row(tx, key, is_unchanged, {"clearing": owner, "clearing_until": now + seconds})

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
        if cleared_at is not None:
            changes: dict[str, Any] = {"cleared_at": cleared_at, "is_purgeable": is_rewound} | dict.fromkeys(_PROFILE)
            changes |= {"anchor_turn_no": None, "anchor_at": None} | _NO_FAILURE | _done_values()
            changes["rewound_at"] = func.coalesce(c.rewound_at, cleared_at) if is_rewound else None
            if is_deleted:
                has_new_turn = or_(c.turn_no > c.claimed_turn_no, c.active_until.is_not(None))
                changes["is_foreign"] = and_(c.is_foreign, has_new_turn)
            await _update_row(tx, key, or_(c.lease_owner == owner, c.clearing == owner), changes)
        await _update_row(tx, key, c.clearing == owner, {"clearing": None, "clearing_until": None})

    async def find_purgeable(
        self, tx: Transaction, *, before: float, limit: int, apps: Collection[str]
    ) -> list[LedgerRow]:
        """Return conversations of `apps` rewound by `before` and still in the host's session, oldest first.

        They have had no turn since, and nothing is left to learn or to clear. To purge one, claim it and start
        clearing; `end_clearing` without `is_rewound` records that it was purged.
        """
        statement = (
            select(conversations)
            .where(
                IS_REWOUND,
                c.is_purgeable,
                c.cleared_at <= before,
                c.touched <= before,
                c.app.in_([encode_id(app) for app in apps]),
                c.turn_no <= c.done_turn_no,
                c.active_until.is_(None),
                c.lease_until.is_(None),
            )
            .order_by(c.cleared_at)
            .limit(limit)
        )
        return [to_ledger_row(row) for row in await tx.execute(statement)]

    async def freeze_profile(self, tx: Transaction, key: SessionKey, profile: FrozenProfile) -> None:
        """Keep a rendered profile for the rest of a session that has had a turn; one statement."""
        values: dict[str, Any] = {
            "profile": replace_unstorable(profile.block),
            "profile_key": replace_unstorable(profile.key or ""),
            "profile_made_at": profile.made_at,
            "profile_made_by": profile.made_by,
        }
        await tx.execute(update(conversations).where(where_session(key)).values(values))

    async def rows_with_profile(self, tx: Transaction, *, user: str, app: str | None) -> list[LedgerRow]:
        """Return a user's sessions that have a frozen profile, in one app or (None) in all; the latest first."""
        statement = select(conversations).where(_where_user(user, app), c.profile.is_not(None))
        return [to_ledger_row(row) for row in await tx.execute(statement.order_by(c.touched.desc()))]

    async def drop_profiles(self, tx: Transaction, *, user: str, app: str | None) -> int:
        """Drop the frozen profiles of a user's sessions, in one app or (None) in all."""
        nulls = dict.fromkeys(("profile", "profile_key", "profile_made_at", "profile_made_by"))
        statement = update(conversations).where(_where_user(user, app), c.profile.is_not(None))
        return (await tx.execute(statement.values(nulls))).rowcount

    async def set_anchor(self, tx: Transaction, key: SessionKey, anchor: WindowAnchor) -> None:
        """Remember where the replay window begins."""
        await self._set(tx, key, {"anchor_turn_no": anchor.turn_no, "anchor_at": anchor.timestamp})

    async def set_private(self, tx: Transaction, key: SessionKey, *, is_private: bool) -> None:
        """Set whether messages from here on are learned; a clear does not change it."""
        await self._set(tx, key, {"is_private": is_private})

    async def set_pending_confirmation(self, tx: Transaction, key: SessionKey, *, is_pending: bool) -> None:
        """Set whether a question waits for its answer: some facts were listed that a yes forgets."""
        await self._set(tx, key, {"asks_of_rows": is_pending})

    async def skip_events(self, tx: Transaction, key: SessionKey, event_ids: Collection[str]) -> None:
        """Never learn from these events again."""
        if event_ids:
            await self._ensure_row(tx, key)
            entries = [
                {"conversation": conversation_key(key), "event_id": encode_id(event_id)}
                for event_id in sorted(event_ids)
            ]
            await tx.execute(dialect_insert(tx, skips).on_conflict_do_nothing(), entries)

    async def learn_again(self, tx: Transaction, key: SessionKey, event_ids: Collection[str]) -> None:
        """Take back that these events are skipped."""
        is_meant = skips.c.event_id.in_([encode_id(event_id) for event_id in event_ids])
        await tx.execute(delete(skips).where(skips.c.conversation == conversation_key(key), is_meant))

    async def skipped_events(self, tx: Transaction, key: SessionKey, *, event_ids: Collection[str]) -> set[str]:
        """Return which of these events are never to be learned from."""
        found: set[str] = set()
        encoded_ids = sorted(encode_id(event_id) for event_id in event_ids)
        for start in range(0, len(encoded_ids), _MAX_IDS_PER_QUERY):
            condition = skips.c.event_id.in_(encoded_ids[start : start + _MAX_IDS_PER_QUERY])
            statement = select(skips.c.event_id).where(skips.c.conversation == conversation_key(key), condition)
            found |= {decode_id(event_id) for event_id in (await tx.execute(statement)).scalars()}
        return found

    async def forget_session(
        self, tx: Transaction, *, user: str, app: str | None, session: str, said_until: float
    ) -> int:
        """Never learn messages of a session up to `said_until`, in one app or (None) in all; count the sessions."""
        if app is not None:
            # The session may not be in the ledger yet.
            await self._ensure_row(tx, SessionKey(app, user, session))
        statement = update(conversations).where(_where_user(user, app), c.session_id == encode_id(session))
        # A host whose clock is behind must not undo an earlier forget.
        cutoff = case((c.forgotten_at > said_until, c.forgotten_at), else_=literal(said_until))
        await self.forget_messages(tx, user=user, app=app, said_until=said_until, session=session)
        return (await tx.execute(statement.values(forgotten_at=cutoff))).rowcount

    async def forget_messages(
        self, tx: Transaction, *, user: str, app: str | None, said_until: float, session: str | None = None
    ) -> None:
        """Record that nothing said by `said_until` waits, in one app or (None) in all, in one session or in all."""
        has_ended = and_(c.touched <= said_until, c.turn_no > c.learned_turn_no)
        is_session = [] if session is None else [c.session_id == encode_id(session)]
        statement = update(conversations).where(_where_user(user, app), has_ended, *is_session)
        await tx.execute(statement.values(learned_turn_no=c.turn_no))
        given = update(conversations).where(_where_user(user, app), HAS_REQUESTS, *is_session)
        await tx.execute(given.values(requests=None))

    async def forgotten_sessions(self, tx: Transaction, *, user: str, app: str | None) -> dict[SessionKey, float]:
        """Return the user's sessions that were forgotten as a whole, with the time up to which."""
        statement = select(conversations).where(_where_user(user, app), c.forgotten_at.is_not(None))
        return {session_key(row): row.forgotten_at for row in await tx.execute(statement)}

    async def open_sessions(self, tx: Transaction, *, user: str, app: str | None) -> list[SessionKey]:
        """Return the sessions of a user that had turns and were not cleared since."""
        is_open = or_(c.turn_no > c.done_turn_no, and_(c.turn_no > 0, c.cleared_at.is_(None)))
        statement = select(c.app, c.user_id, c.session_id).where(_where_user(user, app), is_open)
        return [session_key(row) for row in await tx.execute(statement)]

    async def rewound_sessions(self, tx: Transaction, *, user: str, app: str | None) -> list[SessionKey]:
        """Return the sessions of a user whose messages a rewind hides in the session database."""
        statement = select(conversations).where(_where_user(user, app), c.rewound_at.is_not(None))
        return [session_key(row) for row in await tx.execute(statement)]

    async def foreign_sessions(self, tx: Transaction, *, user: str, app: str | None) -> list[SessionKey]:
        """Return the sessions of a user in which a Runner that is not ours ran turns or commands, unless deleted."""
        statement = select(conversations).where(_where_user(user, app), c.is_foreign)
        return [session_key(row) for row in await tx.execute(statement)]

    async def is_bootstrapped(self, tx: Transaction, app: str) -> bool:
        """Return True if the sessions older than the ledger have been entered for this app."""
        statement = select(bootstraps.c.app).where(bootstraps.c.app == index_key(app))
        return (await tx.execute(statement)).one_or_none() is not None

    async def bootstrap(self, tx: Transaction, app: str, sessions: Mapping[SessionKey, float]) -> int:
        """Enter sessions with the time of their last activity, once per app; return how many were new."""
        statement_once = dialect_insert(tx, bootstraps).values(app=index_key(app)).on_conflict_do_nothing()
        if (await tx.execute(statement_once)).rowcount == 0:
            return 0
        unlearned = {"learned_turn_no": UNLEARNED_TURN_NO, "done_turn_no": UNLEARNED_TURN_NO}
        # Their Runner is unknown.
        new_values = unlearned | {"is_foreign": True}
        entries = [new_row_values(key, touched=touched) | new_values for key, touched in sessions.items()]
        # Reserved for a turn that is not counted yet: its earlier messages are still to be learned.
        is_only_reserved = and_(c.turn_no == 0, c.done_turn_no == 0)
        entered = 0
        for start in range(0, len(entries), _MAX_ROWS_PER_INSERT):
            statement = dialect_insert(tx, conversations).values(entries[start : start + _MAX_ROWS_PER_INSERT])
            statement = statement.on_conflict_do_update(
                index_elements=[c.conversation], set_=unlearned, where=is_only_reserved
            )
            entered += len((await tx.execute(statement.returning(c.conversation))).all())
        return entered

    async def rows_for(self, tx: Transaction, keys: Collection[SessionKey]) -> dict[SessionKey, LedgerRow]:
        """Return the rows of the conversations that have one."""
        conversation_keys = [conversation_key(key) for key in keys]
        found: dict[SessionKey, LedgerRow] = {}
        for start in range(0, len(conversation_keys), _MAX_IDS_PER_QUERY):
            condition = c.conversation.in_(conversation_keys[start : start + _MAX_IDS_PER_QUERY])
            for row in await tx.execute(select(conversations).where(condition)):
                found[session_key(row)] = to_ledger_row(row)
        return found

    async def sessions_of_other_apps(self, tx: Transaction, *, apps: Collection[str]) -> list[SessionKey]:
        """Return one conversation in any state for each app that is not in `apps`."""
        elsewhere = c.app_key.not_in([index_key(app) for app in apps])
        firsts = select(func.min(c.conversation)).where(elsewhere).group_by(c.app_key)
        return [session_key(row) for row in await tx.execute(select(*_KEY_COLUMNS).where(c.conversation.in_(firsts)))]

    async def enqueue(self, tx: Transaction, key: SessionKey, *, touched: float) -> bool:
        """Make a conversation due that had activity at `touched` without a counted turn.

        A conversation that is due already, or has an active turn, is left unchanged: then this returns False.
        """
        unlearned = {"learned_turn_no": UNLEARNED_TURN_NO, "done_turn_no": UNLEARNED_TURN_NO}
        entry = new_row_values(key, touched=touched) | unlearned | {"is_foreign": True}
        one_waits = {"learned_turn_no": c.turn_no - 1, "done_turn_no": c.turn_no - 1}
        is_unclaimed = and_(c.turn_no <= c.done_turn_no, c.active_until.is_(None), c.lease_until.is_(None))
        statement = dialect_insert(tx, conversations).values(entry)
        statement = statement.on_conflict_do_update(
            index_elements=[c.conversation],
            set_=one_waits | {"touched": case((c.touched < touched, touched), else_=c.touched)},
            where=is_unclaimed,
        )
        return bool((await tx.execute(statement)).rowcount)

    async def summaries(self, tx: Transaction) -> list[PersonSummary]:
        """Return everybody with a conversation, in each app: how many are pending, and the time of the last turn."""
        pending = func.sum(case((and_(IS_UNDONE, _is_pending()), 1), else_=0))
        statement = select(c.app, c.user_id, pending.label("pending"), func.max(c.touched).label("touched")).group_by(
            c.app, c.user_id
        )
        return [
            PersonSummary(
                scope=Scope(decode_id(row.app), decode_id(row.user_id)),
                pending=row.pending,
                # A row that only a forget made has no message.
                last_message_at=datetime.fromtimestamp(row.touched, UTC) if row.touched else None,
            )
            for row in await tx.execute(statement)
        ]

    async def pending(self, tx: Transaction, *, user: str | None, app: str | None) -> list[PendingConversation]:
        """Return conversations in which something waits to be learned, or an attempt failed, oldest first."""
        statement = select(conversations).where(IS_UNDONE, _is_pending()).order_by(c.touched, c.conversation)
        if user is not None:
            statement = statement.where(c.person == index_key(user))
        if app is not None:
            statement = statement.where(c.app_key == index_key(app))
        return [to_pending(row) for row in await tx.execute(statement)]

    async def _set(self, tx: Transaction, key: SessionKey, values: dict[str, Any]) -> None:
        await self._ensure_row(tx, key)
        await tx.execute(update(conversations).where(where_session(key)).values(values))

    async def _ensure_row(self, tx: Transaction, key: SessionKey) -> None:
        await tx.execute(
            dialect_insert(tx, conversations).values(new_row_values(key, touched=0.0)).on_conflict_do_nothing()
        )


def _where_user(user: str, app: str | None) -> ColumnElement[bool]:
    """Match the sessions of a user, in one app or (None) in all."""
    is_of_user = c.person == index_key(user)
    return is_of_user if app is None else and_(is_of_user, c.app == encode_id(app))


def _owner_list(turn_owner: str) -> list[str]:
    return [turn_owner] if turn_owner else []


def _done_values() -> dict[str, Any]:
    return {"learned_turn_no": c.claimed_turn_no, "done_turn_no": c.claimed_turn_no}


async def _update_row(
    tx: Transaction, key: SessionKey, condition: ColumnElement[bool], changes: dict[str, Any]
) -> bool:
    return (await tx.execute(update(conversations).where(where_session(key), condition).values(changes))).rowcount == 1


async def _expire_leases(
    tx: Transaction, condition: TextClause, owner: Column[Any], expires_at: Column[Any], now: float
) -> None:
    no_owner: dict[str, Any] = {owner.name: None, expires_at.name: None}
    await _update_unlocked(tx, [condition, has_expired(expires_at, now)], no_owner)
    for engine in await dead_owners(await _engine_names(tx, condition, owner)):
        # A clear ends with the process that ran it.
        not_clearing = {
            name: case((c.clearing == engine, None), else_=c[name]) for name in ("clearing", "clearing_until")
        }
        is_of_engine = or_(owner == engine, and_(owner > f"{engine}/", owner < upper_bound(engine)))
        await _update_unlocked(tx, [condition, is_of_engine], no_owner | not_clearing)


async def _engine_names(tx: Transaction, condition: TextClause, owner: Column[Any]) -> list[str]:
    """Return the engines that have marks: one index look-up each, however many turns they have."""
    found: list[str] = []
    statement = select(func.min(owner)).where(condition)
    while (name := (await tx.execute(statement)).scalar_one()) is not None:
        found.append(engine_name(name))
        statement = select(func.min(owner)).where(condition, owner >= upper_bound(found[-1]))
    return found


async def _update_unlocked(tx: Transaction, conditions: list[SqlCondition], changes: dict[str, Any]) -> None:
    # A statement that waits for no lock cannot be part of a deadlock: locked rows are left to their transaction.
    unlocked_rows = select(c.conversation).where(*conditions).with_for_update(skip_locked=True)
    await tx.execute(update(conversations).where(c.conversation.in_(unlocked_rows)).values(changes))


def _is_pending() -> ColumnElement[bool]:
    """Match, among conversations with work to do, those with something unlearned or a failure to report."""
    return or_(c.turn_no > c.learned_turn_no, c.attempts > 0)


def _after_cursor(after: DueConversation | None, app_key: str) -> list[ColumnElement[bool]]:
    """Match rows after a cursor; rows touched at the same moment are ordered by app."""
    if after is None:
        return []
    cursor_app_key = index_key(after.key.app)
    if app_key == cursor_app_key:
        return [
            tuple_(c.touched, c.conversation) > tuple_(literal(after.touched), literal(conversation_key(after.key)))
        ]
    return [c.touched > after.touched if app_key < cursor_app_key else c.touched >= after.touched]
