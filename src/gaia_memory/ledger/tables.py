"""The tables of the ledger."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, Column, ForeignKey, Index, String, Table, Text, TextClause, false, text

from gaia_memory.database.metadata import Moment, Number, metadata

OwnerName = Text().with_variant(Text(collation="C"), "postgresql")
"""Compared by its bytes, as SQLite does: the names of one engine's turns lie side by side."""

NO_KEY = ""
"""What stands for the key of an app in a row that the version before this one entered; an app has a longer one."""

conversations = Table(
    "gaia_conversations",
    metadata,
    Column("conversation", String(256), primary_key=True, comment="app, user and session as one key"),
    Column("person", String(256), nullable=False, index=True, comment="the user as a key"),
    Column("app_key", String(256), nullable=False, server_default=NO_KEY, comment="the app as a key"),
    Column("app", Text, nullable=False, comment="percent-encoded"),
    Column("user_id", Text, nullable=False, comment="percent-encoded"),
    Column("session_id", Text, nullable=False, comment="percent-encoded"),
    Column("turn_no", Number, nullable=False),
    Column("active_until", Moment),
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
    Column("touched", Moment, nullable=False),
    Column("watermark_at", Moment),
    Column("watermark_event", Text, comment="percent-encoded"),
    Column("learned_turns", Number, nullable=False),
    Column("learned_turn_no", Number, nullable=False, comment="turn_no up to which everything is learned"),
    Column("done_turn_no", Number, nullable=False, comment="turn_no up to which everything is learned and cleared"),
    Column("claimed_turn_no", Number, nullable=False, comment="turn_no when the lease was taken"),
    Column("lease_owner", OwnerName),
    Column("lease_until", Moment),
    Column("clearing", Text),
    Column("clearing_until", Moment),
    Column("cleared_at", Moment),
    Column("rewound_at", Moment, comment="since when cleared talk is still in the host's session"),
    Column("attempts", Number, nullable=False),
    Column("bad_answers", Number, nullable=False, server_default="0", comment="in a row, of the model"),
    Column("failing_since", Moment, comment="when the first of these attempts failed"),
    Column("retry_at", Moment),
    Column("last_error", Text),
    Column("parked", Boolean, nullable=False),
    Column("forgotten_at", Moment, comment="nothing said in it up to then is learned"),
    Column("profile", Text),
    Column("profile_key", Text),
    Column("profile_made_at", Moment),
    Column("profile_made_by", String(16), comment="`model` or `fallback`"),
    Column("anchor_turn_no", Number),
    Column("anchor_at", Moment),
)
UNDONE = text("turn_no > done_turn_no")
"""Holds while there is something to learn or to clear. A query has to say it in these words to be given its index."""

_NOBODY_AT_IT = f"{UNDONE.text} AND active_until IS NULL AND lease_until IS NULL"

FREE = text(f"{_NOBODY_AT_IT} AND NOT parked AND retry_at IS NULL")
"""Holds where that may be done as soon as the conversation is quiet: a sweep reads nothing but this index."""

AT_REST = text(f"{_NOBODY_AT_IT} AND attempts >= 0")
"""Holds where a forced sweep may do it now.

The last condition always holds: without it SQLite, which has no statistics, takes this index for the one above.
"""

TALKING = text("active_until IS NOT NULL")
LEASED = text("lease_until IS NOT NULL")
PUT_OFF = text("retry_at IS NOT NULL")
REWOUND = text("rewound_at IS NOT NULL")


def _index(name: str, holds: TextClause, *columns: Column[Any]) -> None:
    Index(f"ix_gaia_conversations_{name}", *columns, sqlite_where=holds, postgresql_where=holds)


_c = conversations.c
_index("free", FREE, _c.app_key, _c.touched, _c.conversation, _c.person)
_index("at_rest", AT_REST, _c.app_key, _c.touched, _c.conversation)
_index("undone", UNDONE, _c.person, _c.touched)
_index("talking", TALKING, _c.active_until)
_index("talkers", TALKING, _c.active_owner)
_index("leased", LEASED, _c.lease_until)
_index("workers", LEASED, _c.lease_owner)
_index("put_off", PUT_OFF, _c.retry_at)
_index("rewound", REWOUND, _c.cleared_at)

skips = Table(
    "gaia_skips",
    metadata,
    Column("conversation", String(256), ForeignKey(conversations.c.conversation), primary_key=True),
    Column("event_id", Text, primary_key=True, comment="percent-encoded"),
)

late_turns = Table(
    "gaia_late_turns",
    metadata,
    Column("conversation", String(256), ForeignKey(conversations.c.conversation), primary_key=True),
    Column("invocation_id", Text, primary_key=True, comment="percent-encoded"),
    Column("began", Moment, nullable=False, comment="by the clock that was behind the watermark"),
)

bootstraps = Table(
    "gaia_bootstraps",
    metadata,
    Column("app", String(256), primary_key=True, comment="the app as a key"),
)
