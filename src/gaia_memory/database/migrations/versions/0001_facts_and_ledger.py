"""The facts, the outbox and the ledger."""

from __future__ import annotations

import uuid

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
PARTITION = sa.String(512)


def upgrade() -> None:
    """Make all tables."""
    _scopes_and_facts()
    _what_belongs_to_a_scope()
    _store()
    if op.get_bind().dialect.name == "sqlite":
        op.execute("CREATE VIRTUAL TABLE gaia_words USING fts5(words, tokenize='porter unicode61 remove_diacritics 2')")
    else:
        _words_on_postgresql()
    _ledger()


def _scopes_and_facts() -> None:
    op.create_table(
        "gaia_scopes",
        sa.Column("number", NUMBER, autoincrement=True, nullable=False),
        sa.Column("partition", PARTITION, nullable=False),
        sa.Column("app", sa.Text(), comment="percent-encoded"),
        sa.Column("user_id", sa.Text(), nullable=False, comment="percent-encoded"),
        sa.Column("revision", NUMBER, nullable=False),
        sa.Column("forgotten_at", sa.Double()),
        sa.Column("salt", sa.String(32), nullable=False, comment="of the tombstones"),
        sa.PrimaryKeyConstraint("number", name="pk_gaia_scopes"),
        sa.UniqueConstraint("partition", name="uq_gaia_scopes_partition"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "gaia_facts",
        sa.Column("row", NUMBER, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("partition", PARTITION, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("normal", sa.String(64), nullable=False, comment="SHA-256 of the normal form"),
        sa.Column("words", NUMBER, nullable=False, comment="how many the keyword index holds"),
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
        sa.PrimaryKeyConstraint("row", name="pk_gaia_facts"),
        sa.UniqueConstraint("id", name="uq_gaia_facts_id"),
        sa.UniqueConstraint("partition", "normal", name="uq_gaia_facts_partition_normal"),
        sa.ForeignKeyConstraint(["partition"], ["gaia_scopes.partition"], name="fk_gaia_facts_partition"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_gaia_facts_partition_row_words", "gaia_facts", ["partition", "row", "words"])
    op.create_table(
        "gaia_fact_sources",
        sa.Column("row", NUMBER, autoincrement=True, nullable=False),
        sa.Column("fact_row", NUMBER, nullable=False),
        sa.Column("origin", sa.String(64), nullable=False, comment="SHA-256 of all that follows"),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("app", sa.Text(), comment="percent-encoded"),
        sa.Column("session_id", sa.Text(), comment="percent-encoded"),
        sa.Column("seq", NUMBER),
        sa.Column("said_at", sa.Double()),
        sa.Column("event_ids", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("row", name="pk_gaia_fact_sources"),
        sa.UniqueConstraint("fact_row", "origin", name="uq_gaia_fact_sources_fact_row_origin"),
        sa.ForeignKeyConstraint(
            ["fact_row"], ["gaia_facts.row"], name="fk_gaia_fact_sources_fact_row", ondelete="CASCADE"
        ),
    )


def _what_belongs_to_a_scope() -> None:
    op.create_table(
        "gaia_tombstones",
        sa.Column("partition", PARTITION, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("partition", "hash", name="pk_gaia_tombstones"),
        sa.ForeignKeyConstraint(["partition"], ["gaia_scopes.partition"], name="fk_gaia_tombstones_partition"),
    )
    op.create_table(
        "gaia_profiles",
        sa.Column("partition", PARTITION, nullable=False),
        sa.Column("bullets", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("revision", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("partition", name="pk_gaia_profiles"),
        sa.ForeignKeyConstraint(["partition"], ["gaia_scopes.partition"], name="fk_gaia_profiles_partition"),
    )


def _store() -> None:
    op.create_table(
        "gaia_outbox",
        sa.Column("place", NUMBER, autoincrement=True, nullable=False),
        sa.Column("fact_id", sa.String(36), nullable=False),
        sa.Column("version", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("place", name="pk_gaia_outbox"),
        sa.UniqueConstraint("fact_id", name="uq_gaia_outbox_fact_id"),
    )
    store = op.create_table(
        "gaia_store",
        sa.Column("id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("store_id", sa.String(64), nullable=False),
        sa.Column("owner", sa.Text()),
        sa.Column("owned_until", sa.Double()),
        sa.Column("awaited_until", sa.Double()),
        sa.PrimaryKeyConstraint("id", name="pk_gaia_store"),
    )
    op.bulk_insert(store, [{"id": 1, "store_id": uuid.uuid4().hex}])
    op.create_table(
        "gaia_erasures",
        sa.Column("id", NUMBER, autoincrement=True, nullable=False),
        sa.Column("noted_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_gaia_erasures"),
        sqlite_autoincrement=True,
    )


def _words_on_postgresql() -> None:
    # The built-in English configuration drops common words ("will", a name) and does not stem a word that
    # holds a digit, as each of ours does.
    op.execute("CREATE TEXT SEARCH DICTIONARY gaia_stem (TEMPLATE = snowball, Language = english)")
    op.execute("CREATE TEXT SEARCH CONFIGURATION gaia_text (COPY = simple)")
    op.execute("ALTER TEXT SEARCH CONFIGURATION gaia_text ALTER MAPPING FOR asciiword, word, numword WITH gaia_stem")
    op.create_table(
        "gaia_words",
        sa.Column("fact_row", NUMBER, autoincrement=False, nullable=False),
        sa.Column("words", postgresql.TSVECTOR(), nullable=False),
        sa.PrimaryKeyConstraint("fact_row", name="pk_gaia_words"),
        sa.ForeignKeyConstraint(["fact_row"], ["gaia_facts.row"], name="fk_gaia_words_fact_row", ondelete="CASCADE"),
    )
    op.create_index("ix_gaia_words_words", "gaia_words", ["words"], postgresql_using="gin")


def _ledger() -> None:
    op.create_table(
        "gaia_conversations",
        sa.Column("conversation", sa.String(256), nullable=False, comment="app, user and session as one key"),
        sa.Column("person", sa.String(256), nullable=False, comment="the user as a key"),
        sa.Column("app", sa.Text(), nullable=False, comment="percent-encoded"),
        sa.Column("user_id", sa.Text(), nullable=False, comment="percent-encoded"),
        sa.Column("session_id", sa.Text(), nullable=False, comment="percent-encoded"),
        sa.Column("turn_no", NUMBER, nullable=False),
        sa.Column("active_until", sa.Double()),
        sa.Column("touched", sa.Double(), nullable=False),
        sa.Column("watermark_at", sa.Double()),
        sa.Column("watermark_event", sa.Text(), comment="percent-encoded"),
        sa.Column("learned_turns", NUMBER, nullable=False),
        sa.Column("learned_turn_no", NUMBER, nullable=False, comment="turn_no up to which everything is learned"),
        sa.Column(
            "done_turn_no", NUMBER, nullable=False, comment="turn_no up to which everything is learned and cleared"
        ),
        sa.Column("claimed_turn_no", NUMBER, nullable=False, comment="turn_no when the lease was taken"),
        sa.Column("lease_owner", sa.Text()),
        sa.Column("lease_until", sa.Double()),
        sa.Column("clearing", sa.Text()),
        sa.Column("clearing_until", sa.Double()),
        sa.Column("cleared_at", sa.Double()),
        sa.Column("attempts", NUMBER, nullable=False),
        sa.Column("retry_at", sa.Double()),
        sa.Column("last_error", sa.Text()),
        sa.Column("parked", sa.Boolean(), nullable=False),
        sa.Column("forgotten_at", sa.Double(), comment="nothing said in it up to then is learned"),
        sa.Column("profile", sa.Text()),
        sa.Column("profile_key", sa.Text()),
        sa.Column("anchor_turn_no", NUMBER),
        sa.Column("anchor_at", sa.Double()),
        sa.PrimaryKeyConstraint("conversation", name="pk_gaia_conversations"),
    )
    undone = sa.text("turn_no > done_turn_no")
    op.create_index(
        "ix_gaia_conversations_undone",
        "gaia_conversations",
        ["touched"],
        sqlite_where=undone,
        postgresql_where=undone,
    )
    op.create_index("ix_gaia_conversations_person", "gaia_conversations", ["person"])
    op.create_table(
        "gaia_skips",
        sa.Column("conversation", sa.String(256), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False, comment="percent-encoded"),
        sa.PrimaryKeyConstraint("conversation", "event_id", name="pk_gaia_skips"),
        sa.ForeignKeyConstraint(
            ["conversation"], ["gaia_conversations.conversation"], name="fk_gaia_skips_conversation"
        ),
    )
    op.create_table(
        "gaia_bootstraps",
        sa.Column("app", sa.String(256), nullable=False, comment="the app as a key"),
        sa.PrimaryKeyConstraint("app", name="pk_gaia_bootstraps"),
    )
