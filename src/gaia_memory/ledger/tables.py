"""The tables of the ledger."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, ForeignKey, Index, String, Table, Text, text

from gaia_memory.database.metadata import Moment, Number, metadata

conversations = Table(
    "gaia_conversations",
    metadata,
    Column("conversation", String(256), primary_key=True, comment="app, user and session as one key"),
    Column("person", String(256), nullable=False, index=True, comment="the user as a key"),
    Column("app", Text, nullable=False, comment="percent-encoded"),
    Column("user_id", Text, nullable=False, comment="percent-encoded"),
    Column("session_id", Text, nullable=False, comment="percent-encoded"),
    Column("turn_no", Number, nullable=False),
    Column("active_until", Moment),
    Column("touched", Moment, nullable=False),
    Column("watermark_at", Moment),
    Column("watermark_event", Text, comment="percent-encoded"),
    Column("learned_turns", Number, nullable=False),
    Column("learned_turn_no", Number, nullable=False, comment="turn_no up to which everything is learned"),
    Column("done_turn_no", Number, nullable=False, comment="turn_no up to which everything is learned and cleared"),
    Column("claimed_turn_no", Number, nullable=False, comment="turn_no when the lease was taken"),
    Column("lease_owner", Text),
    Column("lease_until", Moment),
    Column("clearing", Text),
    Column("clearing_until", Moment),
    Column("cleared_at", Moment),
    Column("attempts", Number, nullable=False),
    Column("retry_at", Moment),
    Column("last_error", Text),
    Column("parked", Boolean, nullable=False),
    Column("forgotten_at", Moment, comment="nothing said in it up to then is learned"),
    Column("profile", Text),
    Column("profile_key", Text),
    Column("anchor_turn_no", Number),
    Column("anchor_at", Moment),
)
UNDONE = text("turn_no > done_turn_no")
"""Holds while there is something to learn or to clear; the search for due conversations reads its index alone."""
Index("ix_gaia_conversations_undone", conversations.c.touched, sqlite_where=UNDONE, postgresql_where=UNDONE)

skips = Table(
    "gaia_skips",
    metadata,
    Column("conversation", String(256), ForeignKey(conversations.c.conversation), primary_key=True),
    Column("event_id", Text, primary_key=True, comment="percent-encoded"),
)

bootstraps = Table(
    "gaia_bootstraps",
    metadata,
    Column("app", String(256), primary_key=True, comment="the app as a key"),
)
