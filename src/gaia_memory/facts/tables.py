"""The tables of the facts and of the outbox."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

from gaia_memory.database.metadata import BigInt, EpochSeconds, Json, metadata
from gaia_memory.models import DEFAULT_CONTEXT

PARTITION_TYPE = String(512)


def _detail_columns() -> list[Column[Any]]:
    """Return the columns of what is known about a fact besides its text, which past facts have too."""
    return [
        Column("category", Text),
        Column("entity", Text, comment="whom or what the fact is about"),
        Column("context", Text, nullable=False, server_default=DEFAULT_CONTEXT),
        Column("agent", Text),
        Column("key", String(80), comment="what there is one of at a time: `user/home`"),
        Column("sensitive", Boolean, nullable=False, server_default=false()),
        Column("due_at", EpochSeconds),
        Column("due_zone", Text, comment="IANA name"),
        Column("due_all_day", Boolean, nullable=False, server_default=false()),
        Column("every", Text, comment="a word or an RRULE"),
        Column("reminded_at", EpochSeconds),
        Column("valid_from", EpochSeconds),
        Column("valid_until", EpochSeconds),
        Column("first_said_at", EpochSeconds),
        Column("in_doubt_since", EpochSeconds),
    ]


scopes = Table(
    "gaia_scopes",
    metadata,
    Column("number", BigInt, primary_key=True, autoincrement=True),
    Column("partition", PARTITION_TYPE, nullable=False, unique=True),
    Column("app", Text, comment="percent-encoded"),
    Column("user_id", Text, nullable=False, comment="percent-encoded"),
    Column("revision", BigInt, nullable=False),
    Column("forgotten_at", EpochSeconds),
    Column("salt", String(32), nullable=False, comment="of the tombstones"),
    sqlite_autoincrement=True,
)

facts = Table(
    "gaia_facts",
    metadata,
    Column("row", BigInt, primary_key=True, autoincrement=True),
    Column("id", String(36), nullable=False, unique=True),
    Column("partition", PARTITION_TYPE, ForeignKey(scopes.c.partition), nullable=False),
    Column("text", Text, nullable=False),
    Column("normal", String(64), nullable=False, comment="SHA-256 of the normal form"),
    Column("said_at", EpochSeconds),
    Column("session_id", Text, comment="percent-encoded"),
    Column("seq", BigInt),
    Column("source", String(16), nullable=False),
    Column("metadata", Json, nullable=False),
    Column("version", BigInt, nullable=False, comment="revision of the scope at the last change"),
    Column("created_at", EpochSeconds, nullable=False),
    Column("updated_at", EpochSeconds, nullable=False),
    Column("vector", LargeBinary, comment="float32, little-endian"),
    Column("embedder", Text),
    Column("form", BigInt, nullable=False, server_default="1", comment="of the tokenizer that made its traits"),
    Column("traits", LargeBinary, comment="what recall compares of its text"),
    *_detail_columns(),
    UniqueConstraint("partition", "normal"),
    sqlite_autoincrement=True,
)
Index(None, facts.c.partition, facts.c.row)
Index(None, facts.c.partition, facts.c.session_id, facts.c.seq)
Index("ix_gaia_facts_embedder_form", facts.c.embedder, facts.c.form)
for _name in ("due_at", "valid_from", "valid_until"):
    # Most facts have none of these times, so the indexes are small. On PostgreSQL, too, the migration makes them
    # partial; naming that here would import the dialect of PostgreSQL.
    _is_set = text(f"{_name} IS NOT NULL")
    _columns = facts.c[_name], facts.c.partition
    Index(f"ix_gaia_facts_{_name}", *_columns, sqlite_where=_is_set)

Index("ix_gaia_facts_partition_due_at", facts.c.partition, facts.c.due_at, sqlite_where=text("due_at IS NOT NULL"))

past_facts = Table(
    "gaia_past_facts",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("partition", PARTITION_TYPE, ForeignKey(scopes.c.partition), nullable=False),
    Column("text", Text, nullable=False),
    Column("normal", String(64), nullable=False, comment="SHA-256 of the normal form"),
    Column("said_at", EpochSeconds),
    Column("session_id", Text, comment="percent-encoded"),
    Column("seq", BigInt),
    Column("source", String(16), nullable=False),
    Column("metadata", Json, nullable=False),
    Column("version", BigInt, nullable=False, comment="revision of the scope when it ended"),
    Column("created_at", EpochSeconds, nullable=False),
    Column("updated_at", EpochSeconds, nullable=False),
    Column("vector", LargeBinary, comment="float32, little-endian"),
    Column("embedder", Text),
    *_detail_columns(),
    Column("traits", LargeBinary, comment="what recall compares of its text"),
    Column("wording_of", String(36), comment="the fact whose earlier wording it is"),
    Column("row", BigInt, comment="its row among the current facts, which no other gets"),
)
"""Facts that ended: replaced, retracted or expired. A fact keeps its id, and its sources stay."""
for _table in (facts, past_facts):
    _is_set = text('"key" IS NOT NULL')
    Index(f"ix_{_table.name}_partition_key", _table.c.partition, _table.c.key, sqlite_where=_is_set)
Index(None, past_facts.c.partition, past_facts.c.normal)

endings = Table(
    "gaia_endings",
    metadata,
    Column("row", BigInt, primary_key=True, autoincrement=True),
    Column("partition", PARTITION_TYPE, ForeignKey(scopes.c.partition), nullable=False),
    Column("fact_id", String(36), nullable=False, comment="the fact that ended"),
    Column("ended_at", EpochSeconds, nullable=False, comment="from then on it was not true"),
    Column("noted_at", EpochSeconds, nullable=False, comment="when that was learned"),
    Column("ended_by", String(36), comment="the fact that took its place"),
    Column("why", String(16), nullable=False, comment="`replaced`, `retracted`, `expired`, `merged` or `untrue`"),
    Column("actor", Text, nullable=False, comment="`person`, `host`, `agent:NAME`, `model`, `rule:NAME` or `clock`"),
    Column("app", Text, comment="percent-encoded, of the conversation that ended it"),
    Column("session_id", Text, comment="percent-encoded"),
    Column("undone_at", EpochSeconds),
    Column("note", Text, comment="what somebody said of a fact that is `untrue`"),
    sqlite_autoincrement=True,
)
"""Endings of facts, never overwritten: an undone one stays with the time of that."""
Index(None, endings.c.partition, endings.c.fact_id)
Index(None, endings.c.partition, endings.c.ended_by)

undecided_facts = Table(
    "gaia_undecided_facts",
    metadata,
    Column("row", BigInt, primary_key=True, autoincrement=True),
    Column("partition", PARTITION_TYPE, ForeignKey(scopes.c.partition), nullable=False),
    Column("fact_id", String(36), nullable=False),
    Column("other_id", String(36), nullable=False, server_default="", comment="the only fact to compare it with"),
    Column("app", Text, comment="percent-encoded, whose model is asked"),
    Column("attempts", BigInt, nullable=False, server_default="0", comment="questions without a usable answer"),
    Column("retry_at", EpochSeconds),
    UniqueConstraint("partition", "fact_id", "other_id"),
    sqlite_autoincrement=True,
)
"""Facts that wait to be compared with the other facts of their scope, or with one of them."""

compared_pairs = Table(
    "gaia_compared_pairs",
    metadata,
    Column("partition", PARTITION_TYPE, ForeignKey(scopes.c.partition), primary_key=True),
    Column("fact_id", String(36), primary_key=True, comment="the smaller of the two ids"),
    Column("other_id", String(36), primary_key=True),
    Column("texts", String(64), nullable=False, comment="SHA-256 of both texts as they were compared"),
)
"""Pairs of facts that a model has compared: it is not asked again while both texts are the same."""
Index(None, compared_pairs.c.partition, compared_pairs.c.other_id)

reconciling = Table(
    "gaia_reconciling",
    metadata,
    Column("partition", PARTITION_TYPE, ForeignKey(scopes.c.partition), primary_key=True),
    Column("owner", Text, comment="the engine that compares facts of this scope"),
    Column("owned_until", EpochSeconds),
    Column("paired_at", EpochSeconds, comment="when current facts were last compared in pairs"),
    Column("paired_revision", BigInt, nullable=False, server_default="0", comment="of the last fact compared then"),
)

changes = Table(
    "gaia_changes",
    metadata,
    Column("number", BigInt, primary_key=True, autoincrement=True),
    Column("partition", PARTITION_TYPE, ForeignKey(scopes.c.partition), nullable=False),
    Column("fact_id", String(36), comment="none if everything was forgotten"),
    Column("kind", String(16), nullable=False, comment="`added`, `replaced` or `forgotten`"),
    sqlite_autoincrement=True,
)
"""What happened to facts, without a text. Writers of a scope wait for each other, so its numbers grow with commits."""
Index(None, changes.c.partition, changes.c.number)

sources = Table(
    "gaia_fact_sources",
    metadata,
    Column("row", BigInt, primary_key=True, autoincrement=True),
    Column("fact_id", String(36), nullable=False, comment="of a current or past fact"),
    Column("origin", String(64), nullable=False, comment="SHA-256 of the columns up to `event_ids`"),
    Column("kind", String(16), nullable=False),
    Column("app", Text, comment="percent-encoded"),
    Column("session_id", Text, comment="percent-encoded"),
    Column("seq", BigInt),
    Column("said_at", EpochSeconds),
    Column("event_ids", Json, nullable=False),
    Column("turn_event_ids", Json, nullable=False, server_default="[]", comment="of the turn it is attributed to"),
    Column("noted_at", EpochSeconds, nullable=False),
    Column("agent", Text),
    Column("channel", Text),
    Column("excerpt", Text),
    Column("extractor", Text, comment="provider, model and version of the prompt"),
    Column("imported", Boolean, nullable=False, server_default=false(), comment="an import says the rest"),
    Column("origin_scope", Text, comment="partition of the fact it was copied from"),
    Column("origin_id", Text, comment="id of that fact"),
    UniqueConstraint("fact_id", "origin"),
)
# Few sources are copies. On PostgreSQL, too, the migration makes the index partial.
Index(None, sources.c.origin_scope, sources.c.origin_id, sqlite_where=sources.c.origin_scope.is_not(None))

announcements = Table(
    "gaia_announcements",
    metadata,
    Column("fact_id", String(36), primary_key=True),
    Column("partition", PARTITION_TYPE, ForeignKey(scopes.c.partition), nullable=False, index=True),
    Column("due_at", EpochSeconds, nullable=False, comment="the time that was announced or is being announced"),
    Column("version", BigInt, nullable=False, comment="of the fact when that was found"),
    Column("next_at", EpochSeconds, comment="when a fact that comes back is due next"),
    Column("claim", String(32), comment="of the process that announces it"),
    Column("claimed_until", EpochSeconds),
    Column("announced_at", EpochSeconds),
)
"""The last time at which each due fact was announced."""

tool_changes = Table(
    "gaia_tool_changes",
    metadata,
    Column("row", BigInt, primary_key=True, autoincrement=True),
    Column("partition", PARTITION_TYPE, ForeignKey(scopes.c.partition), nullable=False),
    Column("app", Text, nullable=False, comment="percent-encoded"),
    Column("session_id", Text, nullable=False, comment="percent-encoded"),
    Column("invocation_id", Text, nullable=False),
    Column("fact_id", String(36), nullable=False),
    Column("action", String(16), nullable=False, comment="`remembered`, `changed` or `forgot`"),
    Column("made_at", EpochSeconds, nullable=False),
    Column("number_before", BigInt, nullable=False, comment="of the last thing that had happened to the fact"),
    Column("number", BigInt, nullable=False, comment="of the last thing that has happened to it with this"),
    Column("state", Json, comment="the fact as it was; if it is forgotten, all its rows"),
    Column("erase_at", EpochSeconds, comment="when the rows of a forgotten one are deleted"),
    sqlite_autoincrement=True,
)
"""What tools changed, so that the person can take it back. No reader of facts knows what is forgotten here."""
Index(None, tool_changes.c.partition, tool_changes.c.fact_id)
Index("ix_gaia_tool_changes_erase_at", tool_changes.c.erase_at, sqlite_where=text("erase_at IS NOT NULL"))

tombstones = Table(
    "gaia_tombstones",
    metadata,
    Column("partition", PARTITION_TYPE, ForeignKey(scopes.c.partition), primary_key=True),
    Column("hash", String(64), primary_key=True),
)

forgotten_words = Table(
    "gaia_forgotten_words",
    metadata,
    Column("partition", PARTITION_TYPE, ForeignKey(scopes.c.partition), primary_key=True),
    Column("fact_row", BigInt, primary_key=True, autoincrement=False, comment="of the fact that is gone"),
    Column("word", BigInt, primary_key=True, autoincrement=False, comment="16 bits of a salted SHA-256"),
    Column("forgotten_at", EpochSeconds, nullable=False),
)

shown_facts = Table(
    "gaia_shown_facts",
    metadata,
    Column("conversation", String(256), primary_key=True, comment="app, user and session as one key"),
    Column("fact_id", String(36), ForeignKey(facts.c.id, ondelete="CASCADE", onupdate="CASCADE"), primary_key=True),
)
"""Which facts the model of a conversation has seen, so that its tools may name them."""
Index(None, shown_facts.c.fact_id)

profiles = Table(
    "gaia_profiles",
    metadata,
    Column("partition", PARTITION_TYPE, ForeignKey(scopes.c.partition), primary_key=True),
    Column("bullets", Json, nullable=False),
    Column("fingerprint", Text, primary_key=True),
    Column("revision", BigInt, nullable=False),
    Column("made_at", EpochSeconds),
    Column("made_by", String(16), comment="`model` or `fallback`"),
)

usage = Table(
    "gaia_usage",
    metadata,
    Column("row", BigInt, primary_key=True, autoincrement=True),
    Column("partition", PARTITION_TYPE, nullable=False),
    Column("app", Text, nullable=False, comment="percent-encoded"),
    Column("session_id", Text, nullable=False, comment="percent-encoded"),
    Column("began_at", EpochSeconds, nullable=False, comment="by the host's clock"),
    Column("ended_at", EpochSeconds, nullable=False, index=True),
    Column("used", Json, nullable=False, comment="names and outcomes as JSON, no words"),
    Index("ix_gaia_usage_partition_ended_at", "partition", "ended_at"),
)

outbox = Table(
    "gaia_outbox",
    metadata,
    Column("place", BigInt, primary_key=True, autoincrement=True),
    Column("fact_id", String(36), nullable=False, unique=True),
    Column("version", BigInt, nullable=False),
)

store = Table(
    "gaia_store",
    metadata,
    Column("id", BigInt, primary_key=True, autoincrement=False),
    Column("store_id", String(64), nullable=False),
    Column("owner", Text),
    Column("owned_until", EpochSeconds),
    Column("awaited_until", EpochSeconds),
)

erasures = Table(
    "gaia_erasures",
    metadata,
    Column("id", BigInt, primary_key=True, autoincrement=True),
    Column("noted_at", EpochSeconds, nullable=False),
    sqlite_autoincrement=True,
)
