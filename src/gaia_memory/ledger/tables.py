"""The tables of the ledger."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, Column, ForeignKey, Index, String, Table, Text, TextClause, false, text

from gaia_memory.database.metadata import BigInt, EpochSeconds, metadata
from gaia_memory.models.quiet_conversations import SWEEPABLE_SQL, UNCLAIMED_SQL, UNDONE_SQL

OwnerName = Text().with_variant(Text(collation="C"), "postgresql")
"""Compared by bytes, as in SQLite, so that the names of one engine's turns are adjacent."""

conversations = Table(
    "gaia_conversations",
    metadata,
    Column("conversation", String(256), primary_key=True, comment="app, user and session as one key"),
    Column("person", String(256), nullable=False, index=True, comment="the user as a key"),
    Column("app_key", String(256), nullable=False, server_default="", comment="the app as a key"),
    Column("app", Text, nullable=False, comment="percent-encoded"),
    Column("user_id", Text, nullable=False, comment="percent-encoded"),
    Column("session_id", Text, nullable=False, comment="percent-encoded"),
    Column("turn_no", BigInt, nullable=False),
    Column("active_until", EpochSeconds),
    Column("active_owner", OwnerName, comment="who talks in it"),
    Column("is_foreign", Boolean, nullable=False, server_default=false(), comment="somebody else's Runner talks in it"),
    Column("is_private", Boolean, nullable=False, server_default=false(), comment="what is said is not to be learned"),
    Column(
        "asks_of_rows",
        Boolean,
        nullable=False,
        server_default=false(),
        comment="some rows were shown that a yes forgets, and nothing was answered",
    ),
    Column("touched", EpochSeconds, nullable=False),
    Column("watermark_at", EpochSeconds),
    Column("watermark_event", Text, comment="percent-encoded"),
    Column("learned_turns", BigInt, nullable=False),
    Column("learned_turn_no", BigInt, nullable=False, comment="turn_no less the turns that wait to be learned"),
    Column("done_turn_no", BigInt, nullable=False, comment="turn_no up to which everything is learned and cleared"),
    Column("claimed_turn_no", BigInt, nullable=False, comment="turn_no when the lease was taken"),
    Column("lease_owner", OwnerName),
    Column("lease_until", EpochSeconds),
    Column("clearing", Text),
    Column("clearing_until", EpochSeconds),
    Column("cleared_at", EpochSeconds),
    Column("rewound_at", EpochSeconds, comment="since when cleared talk is still in the host's session"),
    Column("is_purgeable", Boolean, nullable=False, server_default=false(), comment="a setting asked for the rewind"),
    Column("reset_at", EpochSeconds, comment="no request holds events up to then"),
    Column("requests", Text, comment="what is to be learned at once"),
    Column("attempts", BigInt, nullable=False),
    Column("bad_answers", BigInt, nullable=False, server_default="0", comment="in a row, of the model"),
    Column("failing_since", EpochSeconds, comment="when the first of these attempts failed"),
    Column("retry_at", EpochSeconds),
    Column("last_error", Text),
    Column("parked", Boolean, nullable=False),
    Column("forgotten_at", EpochSeconds, comment="nothing said in it up to then is learned"),
    Column("profile", Text),
    Column("profile_key", Text),
    Column("profile_made_at", EpochSeconds),
    Column("profile_made_by", String(16), comment="`model` or `fallback`"),
    Column("profile_until", EpochSeconds, comment="then a fact in it begins or expires"),
    Column("anchor_turn_no", BigInt),
    Column("anchor_at", EpochSeconds),
)
IS_UNDONE = text(UNDONE_SQL)
"""A query must repeat the condition word for word to use the partial index."""

IS_SWEEPABLE = text(SWEEPABLE_SQL)
"""The condition of the only index that a sweep reads."""

IS_UNCLAIMED = text(f"{UNCLAIMED_SQL} AND attempts >= 0")
"""The condition of the index that a forced sweep reads.

The last term is always true: without it SQLite, which has no statistics, mistakes this index for the one above.
"""

HAS_ACTIVE_TURN = text("active_until IS NOT NULL")
HAS_LEASE = text("lease_until IS NOT NULL")
HAS_BACKOFF = text("retry_at IS NOT NULL")
IS_REWOUND = text("rewound_at IS NOT NULL")
HAS_REQUESTS = text("requests IS NOT NULL")


def _index(name: str, condition: TextClause, *columns: Column[Any]) -> None:
    # On PostgreSQL, too, the migration makes it partial; naming that here would import the dialect of PostgreSQL.
    Index(f"ix_gaia_conversations_{name}", *columns, sqlite_where=condition)


_c = conversations.c
_index("free", IS_SWEEPABLE, _c.app_key, _c.touched, _c.conversation, _c.person)
_index("at_rest", IS_UNCLAIMED, _c.app_key, _c.touched, _c.conversation)
_index("undone", IS_UNDONE, _c.person, _c.touched)
_index("talking", HAS_ACTIVE_TURN, _c.active_until)
_index("talkers", HAS_ACTIVE_TURN, _c.active_owner)
_index("leased", HAS_LEASE, _c.lease_until)
_index("workers", HAS_LEASE, _c.lease_owner)
_index("put_off", HAS_BACKOFF, _c.retry_at)
_index("rewound", IS_REWOUND, _c.cleared_at)
_index("requested", HAS_REQUESTS, _c.app_key)

skips = Table(
    "gaia_skips",
    metadata,
    Column("conversation", String(256), ForeignKey(conversations.c.conversation), primary_key=True),
    Column("event_id", Text, primary_key=True, comment="percent-encoded"),
)

token_sums = Table(
    "gaia_token_sums",
    metadata,
    Column("day", String(10), primary_key=True, comment="in UTC"),
    Column("purpose", String(16), primary_key=True),
    *(Column(name, BigInt, nullable=False) for name in ("input", "cached", "output", "estimated", "questions")),
)

bootstraps = Table(
    "gaia_bootstraps",
    metadata,
    Column("app", String(256), primary_key=True, comment="the app as a key"),
)
