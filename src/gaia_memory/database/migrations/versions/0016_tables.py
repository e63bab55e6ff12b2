"""The tables of 0.4, from which this history begins; without those that a later revision drops."""

from __future__ import annotations

import uuid
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
OWNER = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
PARTITION = sa.String(512)
TABLES = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
    }
)


def upgrade() -> None:
    """Create the tables."""
    TABLES.create_all(op.get_bind())
    op.bulk_insert(TABLES.tables["gaia_store"], [{"id": 1, "store_id": uuid.uuid4().hex}])


def _details() -> list[sa.Column[Any]]:
    """Return the columns that facts and past facts share."""
    return [
        sa.Column("category", sa.Text()),
        sa.Column("entity", sa.Text(), comment="whom or what the fact is about"),
        sa.Column("context", sa.Text(), nullable=False, server_default="global"),
        sa.Column("agent", sa.Text()),
        sa.Column("sensitive", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("due_at", sa.Double()),
        sa.Column("due_zone", sa.Text(), comment="IANA name"),
        sa.Column("due_all_day", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("every", sa.Text(), comment="a word or an RRULE"),
        sa.Column("reminded_at", sa.Double()),
        sa.Column("valid_from", sa.Double()),
        sa.Column("valid_until", sa.Double()),
        sa.Column("first_said_at", sa.Double()),
        sa.Column("in_doubt_since", sa.Double()),
    ]


def _index(name: str, table: str, columns: str, where: str = "") -> None:
    condition = sa.text(where) if where else None
    of_table = [TABLES.tables[f"gaia_{table}"].c[each] for each in columns.split()]
    sa.Index(f"ix_gaia_{table}_{name}", *of_table, sqlite_where=condition, postgresql_where=condition)


sa.Table(
    "gaia_bootstraps",
    TABLES,
    sa.Column("app", sa.String(256), primary_key=True, comment="the app as a key"),
)
sa.Table(
    "gaia_conversations",
    TABLES,
    sa.Column("conversation", sa.String(256), primary_key=True, comment="app, user and session as one key"),
    sa.Column("person", sa.String(256), nullable=False, index=True, comment="the user as a key"),
    sa.Column("app_key", sa.String(256), nullable=False, server_default="", comment="the app as a key"),
    sa.Column("app", sa.Text(), nullable=False, comment="percent-encoded"),
    sa.Column("user_id", sa.Text(), nullable=False, comment="percent-encoded"),
    sa.Column("session_id", sa.Text(), nullable=False, comment="percent-encoded"),
    sa.Column("turn_no", NUMBER, nullable=False),
    sa.Column("active_until", sa.Double()),
    sa.Column("active_owner", OWNER, comment="who talks in it"),
    sa.Column(
        "is_foreign",
        sa.Boolean(),
        nullable=False,
        server_default=sa.false(),
        comment="somebody else's Runner talks in it",
    ),
    sa.Column(
        "is_private",
        sa.Boolean(),
        nullable=False,
        server_default=sa.false(),
        comment="what is said is not to be learned",
    ),
    sa.Column(
        "asks_of_rows",
        sa.Boolean(),
        nullable=False,
        server_default=sa.false(),
        comment="some rows were shown that a yes forgets, and nothing was answered",
    ),
    sa.Column("touched", sa.Double(), nullable=False),
    sa.Column("watermark_at", sa.Double()),
    sa.Column("watermark_event", sa.Text(), comment="percent-encoded"),
    sa.Column("learned_turns", NUMBER, nullable=False),
    sa.Column("learned_turn_no", NUMBER, nullable=False, comment="turn_no less the turns that wait to be learned"),
    sa.Column("done_turn_no", NUMBER, nullable=False, comment="turn_no up to which everything is learned and cleared"),
    sa.Column("claimed_turn_no", NUMBER, nullable=False, comment="turn_no when the lease was taken"),
    sa.Column("lease_owner", OWNER),
    sa.Column("lease_until", sa.Double()),
    sa.Column("clearing", sa.Text()),
    sa.Column("clearing_until", sa.Double()),
    sa.Column("cleared_at", sa.Double()),
    sa.Column("rewound_at", sa.Double(), comment="since when cleared talk is still in the host's session"),
    sa.Column("attempts", NUMBER, nullable=False),
    sa.Column("bad_answers", NUMBER, nullable=False, server_default="0", comment="in a row, of the model"),
    sa.Column("failing_since", sa.Double(), comment="when the first of these attempts failed"),
    sa.Column("retry_at", sa.Double()),
    sa.Column("last_error", sa.Text()),
    sa.Column("parked", sa.Boolean(), nullable=False),
    sa.Column("forgotten_at", sa.Double(), comment="nothing said in it up to then is learned"),
    sa.Column("profile", sa.Text()),
    sa.Column("profile_key", sa.Text()),
    sa.Column("profile_made_at", sa.Double()),
    sa.Column("profile_made_by", sa.String(16), comment="`model` or `fallback`"),
    sa.Column("profile_until", sa.Double(), comment="then a fact in it begins or expires"),
    sa.Column("anchor_turn_no", NUMBER),
    sa.Column("anchor_at", sa.Double()),
)
sa.Table(
    "gaia_erasures",
    TABLES,
    sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
    sa.Column("noted_at", sa.Double(), nullable=False),
    sqlite_autoincrement=True,
)
sa.Table(
    "gaia_fact_sources",
    TABLES,
    sa.Column("row", NUMBER, primary_key=True, autoincrement=True),
    sa.Column("fact_id", sa.String(36), nullable=False, comment="of a current or past fact"),
    sa.Column("origin", sa.String(64), nullable=False, comment="SHA-256 of the columns up to `event_ids`"),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("app", sa.Text(), comment="percent-encoded"),
    sa.Column("session_id", sa.Text(), comment="percent-encoded"),
    sa.Column("seq", NUMBER),
    sa.Column("said_at", sa.Double()),
    sa.Column("event_ids", sa.Text(), nullable=False),
    sa.Column(
        "turn_event_ids", sa.Text(), nullable=False, server_default="[]", comment="of the turn it is attributed to"
    ),
    sa.Column("noted_at", sa.Double(), nullable=False),
    sa.Column("agent", sa.Text()),
    sa.Column("channel", sa.Text()),
    sa.Column("excerpt", sa.Text()),
    sa.Column("extractor", sa.Text(), comment="provider, model and version of the prompt"),
    sa.Column("imported", sa.Boolean(), nullable=False, server_default=sa.false(), comment="an import says the rest"),
    sa.Column("origin_scope", sa.Text(), comment="partition of the fact it was copied from"),
    sa.Column("origin_id", sa.Text(), comment="id of that fact"),
    sa.UniqueConstraint("fact_id", "origin"),
)
sa.Table(
    "gaia_outbox",
    TABLES,
    sa.Column("place", NUMBER, primary_key=True, autoincrement=True),
    sa.Column("fact_id", sa.String(36), nullable=False, unique=True),
    sa.Column("version", NUMBER, nullable=False),
)
sa.Table(
    "gaia_scopes",
    TABLES,
    sa.Column("number", NUMBER, primary_key=True, autoincrement=True),
    sa.Column("partition", PARTITION, nullable=False, unique=True),
    sa.Column("app", sa.Text(), comment="percent-encoded"),
    sa.Column("user_id", sa.Text(), nullable=False, comment="percent-encoded"),
    sa.Column("revision", NUMBER, nullable=False),
    sa.Column("forgotten_at", sa.Double()),
    sa.Column("salt", sa.String(32), nullable=False, comment="of the tombstones"),
    sqlite_autoincrement=True,
)
sa.Table(
    "gaia_store",
    TABLES,
    sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
    sa.Column("store_id", sa.String(64), nullable=False),
    sa.Column("owner", sa.Text()),
    sa.Column("owned_until", sa.Double()),
    sa.Column("awaited_until", sa.Double()),
)
sa.Table(
    "gaia_announcements",
    TABLES,
    sa.Column("fact_id", sa.String(36), primary_key=True),
    sa.Column("partition", PARTITION, sa.ForeignKey("gaia_scopes.partition"), nullable=False, index=True),
    sa.Column("due_at", sa.Double(), nullable=False, comment="the time that was announced or is being announced"),
    sa.Column("version", NUMBER, nullable=False, comment="of the fact when that was found"),
    sa.Column("next_at", sa.Double(), comment="when a fact that comes back is due next"),
    sa.Column("claim", sa.String(32), comment="of the process that announces it"),
    sa.Column("claimed_until", sa.Double()),
    sa.Column("announced_at", sa.Double()),
)
sa.Table(
    "gaia_changes",
    TABLES,
    sa.Column("number", NUMBER, primary_key=True, autoincrement=True),
    sa.Column("partition", PARTITION, sa.ForeignKey("gaia_scopes.partition"), nullable=False),
    sa.Column("fact_id", sa.String(36), comment="none if everything was forgotten"),
    sa.Column("kind", sa.String(16), nullable=False, comment="`added`, `replaced` or `forgotten`"),
    sqlite_autoincrement=True,
)
sa.Table(
    "gaia_compared_pairs",
    TABLES,
    sa.Column("partition", PARTITION, sa.ForeignKey("gaia_scopes.partition"), primary_key=True),
    sa.Column("fact_id", sa.String(36), primary_key=True, comment="the smaller of the two ids"),
    sa.Column("other_id", sa.String(36), primary_key=True),
    sa.Column("texts", sa.String(64), nullable=False, comment="SHA-256 of both texts as they were compared"),
)
sa.Table(
    "gaia_endings",
    TABLES,
    sa.Column("row", NUMBER, primary_key=True, autoincrement=True),
    sa.Column("partition", PARTITION, sa.ForeignKey("gaia_scopes.partition"), nullable=False),
    sa.Column("fact_id", sa.String(36), nullable=False, comment="the fact that ended"),
    sa.Column("ended_at", sa.Double(), nullable=False, comment="from then on it was not true"),
    sa.Column("noted_at", sa.Double(), nullable=False, comment="when that was learned"),
    sa.Column("ended_by", sa.String(36), comment="the fact that took its place"),
    sa.Column("why", sa.String(16), nullable=False, comment="`replaced`, `retracted`, `expired` or `merged`"),
    sa.Column(
        "actor", sa.Text(), nullable=False, comment="`person`, `host`, `agent:NAME`, `model`, `rule:NAME` or `clock`"
    ),
    sa.Column("app", sa.Text(), comment="percent-encoded, of the conversation that ended it"),
    sa.Column("session_id", sa.Text(), comment="percent-encoded"),
    sa.Column("undone_at", sa.Double()),
    sqlite_autoincrement=True,
)
sa.Table(
    "gaia_facts",
    TABLES,
    sa.Column("row", NUMBER, primary_key=True, autoincrement=True),
    sa.Column("id", sa.String(36), nullable=False, unique=True),
    sa.Column("partition", PARTITION, sa.ForeignKey("gaia_scopes.partition"), nullable=False),
    sa.Column("text", sa.Text(), nullable=False),
    sa.Column("normal", sa.String(64), nullable=False, comment="SHA-256 of the normal form"),
    sa.Column("said_at", sa.Double()),
    sa.Column("session_id", sa.Text(), comment="percent-encoded"),
    sa.Column("seq", NUMBER),
    sa.Column("source", sa.String(16), nullable=False),
    sa.Column("metadata", sa.Text(), nullable=False),
    sa.Column("version", NUMBER, nullable=False, comment="revision of the scope at the last change"),
    sa.Column("created_at", sa.Double(), nullable=False),
    sa.Column("updated_at", sa.Double(), nullable=False),
    sa.Column("vector", sa.LargeBinary(), comment="float32, little-endian"),
    sa.Column("embedder", sa.Text()),
    sa.Column("form", NUMBER, nullable=False, server_default="1", comment="of the tokenizer that made its traits"),
    sa.Column("traits", sa.LargeBinary(), comment="what recall compares of its text"),
    *_details(),
    sa.UniqueConstraint("partition", "normal"),
    sqlite_autoincrement=True,
)
sa.Table(
    "gaia_forgotten_words",
    TABLES,
    sa.Column("partition", PARTITION, sa.ForeignKey("gaia_scopes.partition"), primary_key=True),
    sa.Column("fact_row", NUMBER, primary_key=True, autoincrement=False, comment="of the fact that is gone"),
    sa.Column("word", NUMBER, primary_key=True, autoincrement=False, comment="16 bits of a salted SHA-256"),
    sa.Column("forgotten_at", sa.Double(), nullable=False),
)
sa.Table(
    "gaia_past_facts",
    TABLES,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("partition", PARTITION, sa.ForeignKey("gaia_scopes.partition"), nullable=False),
    sa.Column("text", sa.Text(), nullable=False),
    sa.Column("normal", sa.String(64), nullable=False, comment="SHA-256 of the normal form"),
    sa.Column("said_at", sa.Double()),
    sa.Column("session_id", sa.Text(), comment="percent-encoded"),
    sa.Column("seq", NUMBER),
    sa.Column("source", sa.String(16), nullable=False),
    sa.Column("metadata", sa.Text(), nullable=False),
    sa.Column("version", NUMBER, nullable=False, comment="revision of the scope when it ended"),
    sa.Column("created_at", sa.Double(), nullable=False),
    sa.Column("updated_at", sa.Double(), nullable=False),
    sa.Column("vector", sa.LargeBinary(), comment="float32, little-endian"),
    sa.Column("embedder", sa.Text()),
    *_details(),
    sa.Column("traits", sa.LargeBinary(), comment="what recall compares of its text"),
    sa.Column("wording_of", sa.String(36), comment="the fact whose earlier wording it is"),
    sa.Column("row", NUMBER, comment="its row among the current facts, which no other gets"),
)
sa.Table(
    "gaia_profiles",
    TABLES,
    sa.Column("partition", PARTITION, sa.ForeignKey("gaia_scopes.partition"), primary_key=True),
    sa.Column("bullets", sa.Text(), nullable=False),
    sa.Column("fingerprint", sa.Text(), primary_key=True),
    sa.Column("revision", NUMBER, nullable=False),
    sa.Column("made_at", sa.Double()),
    sa.Column("made_by", sa.String(16), comment="`model` or `fallback`"),
)
sa.Table(
    "gaia_reconciling",
    TABLES,
    sa.Column("partition", PARTITION, sa.ForeignKey("gaia_scopes.partition"), primary_key=True),
    sa.Column("owner", sa.Text(), comment="the engine that compares facts of this scope"),
    sa.Column("owned_until", sa.Double()),
    sa.Column("paired_at", sa.Double(), comment="when current facts were last compared in pairs"),
    sa.Column("paired_revision", NUMBER, nullable=False, server_default="0", comment="of the last fact compared then"),
)
sa.Table(
    "gaia_skips",
    TABLES,
    sa.Column("conversation", sa.String(256), sa.ForeignKey("gaia_conversations.conversation"), primary_key=True),
    sa.Column("event_id", sa.Text(), primary_key=True, comment="percent-encoded"),
)
sa.Table(
    "gaia_tombstones",
    TABLES,
    sa.Column("partition", PARTITION, sa.ForeignKey("gaia_scopes.partition"), primary_key=True),
    sa.Column("hash", sa.String(64), primary_key=True),
)
sa.Table(
    "gaia_undecided_facts",
    TABLES,
    sa.Column("row", NUMBER, primary_key=True, autoincrement=True),
    sa.Column("partition", PARTITION, sa.ForeignKey("gaia_scopes.partition"), nullable=False),
    sa.Column("fact_id", sa.String(36), nullable=False),
    sa.Column("other_id", sa.String(36), nullable=False, server_default="", comment="the only fact to compare it with"),
    sa.Column("app", sa.Text(), comment="percent-encoded, whose model is asked"),
    sa.Column("attempts", NUMBER, nullable=False, server_default="0", comment="questions without a usable answer"),
    sa.Column("retry_at", sa.Double()),
    sa.UniqueConstraint("partition", "fact_id", "other_id"),
    sqlite_autoincrement=True,
)
sa.Table(
    "gaia_shown_facts",
    TABLES,
    sa.Column("conversation", sa.String(256), primary_key=True, comment="app, user and session as one key"),
    sa.Column(
        "fact_id",
        sa.String(36),
        sa.ForeignKey("gaia_facts.id", ondelete="CASCADE", onupdate="CASCADE"),
        primary_key=True,
    ),
)

_index(
    "at_rest",
    "conversations",
    "app_key touched conversation",
    "turn_no > done_turn_no AND active_until IS NULL AND lease_until IS NULL AND attempts >= 0",
)
_index(
    "free",
    "conversations",
    "app_key touched conversation person",
    "turn_no > done_turn_no AND active_until IS NULL AND lease_until IS NULL AND NOT parked AND retry_at IS NULL",
)
_index("leased", "conversations", "lease_until", "lease_until IS NOT NULL")
_index("put_off", "conversations", "retry_at", "retry_at IS NOT NULL")
_index("rewound", "conversations", "cleared_at", "rewound_at IS NOT NULL")
_index("talkers", "conversations", "active_owner", "active_until IS NOT NULL")
_index("talking", "conversations", "active_until", "active_until IS NOT NULL")
_index("undone", "conversations", "person touched", "turn_no > done_turn_no")
_index("workers", "conversations", "lease_owner", "lease_until IS NOT NULL")
_index("origin_scope_origin_id", "fact_sources", "origin_scope origin_id", "origin_scope IS NOT NULL")
_index("partition_number", "changes", "partition number")
_index("partition_other_id", "compared_pairs", "partition other_id")
_index("partition_ended_by", "endings", "partition ended_by")
_index("partition_fact_id", "endings", "partition fact_id")
_index("due_at", "facts", "due_at partition", "due_at IS NOT NULL")
_index("embedder_form", "facts", "embedder form")
_index("partition_due_at", "facts", "partition due_at", "due_at IS NOT NULL")
_index("partition_row", "facts", "partition row")
_index("partition_session_id_seq", "facts", "partition session_id seq")
_index("valid_from", "facts", "valid_from partition", "valid_from IS NOT NULL")
_index("valid_until", "facts", "valid_until partition", "valid_until IS NOT NULL")
_index("partition_normal", "past_facts", "partition normal")
_index("fact_id", "shown_facts", "fact_id")
