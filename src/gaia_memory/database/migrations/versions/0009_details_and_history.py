"""Details of facts and of their sources, and the facts that are no longer current."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
PARTITION = sa.String(512)
LABELS = ("category", "entity", "context", "agent")
SOURCE_COLUMNS = "row, fact_id, origin, kind, app, session_id, seq, said_at, event_ids, noted_at, imported"
FACTS_PER_BATCH = 500
MAX_LABEL_CHARACTERS = 200


def upgrade() -> None:
    """Add the columns and the tables."""
    for column in _details():
        op.add_column("gaia_facts", column)
    for name in ("due_at", "valid_from", "valid_until"):
        is_set = sa.text(f"{name} IS NOT NULL")
        op.create_index(
            f"ix_gaia_facts_{name}", "gaia_facts", [name, "partition"], sqlite_where=is_set, postgresql_where=is_set
        )
    # Version 0.1 wrote `remember` for a model's tool call, too; only that one has events.
    called = "SELECT fact_row FROM gaia_fact_sources WHERE kind = 'remember' AND event_ids <> '[]'"
    op.execute(
        f"UPDATE gaia_facts SET source = 'agent' WHERE source = 'remember' AND session_id IS NOT NULL "
        f"AND row IN ({called})"
    )
    op.execute("UPDATE gaia_facts SET first_said_at = said_at WHERE said_at IS NOT NULL")
    _set_labels(op.get_bind())
    _sources()
    _history()


def _details() -> list[sa.Column[Any]]:
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


def _set_labels(connection: sa.Connection) -> None:
    """Fill the columns from metadata of the same name, which most facts do not have."""
    table = sa.table("gaia_facts", *(sa.column(name) for name in ("row", "metadata", "sensitive", *LABELS)))
    has_label = sa.or_(*(table.c.metadata.contains(f'"{name}":') for name in (*LABELS, "sensitive")))
    statement = sa.select(table.c.row, table.c.metadata).where(has_label).order_by(table.c.row).limit(FACTS_PER_BATCH)
    rows = connection.execute(statement).all()
    while rows:
        for row in rows:
            noted = json.loads(row.metadata)
            labels = {name: noted[name] for name in LABELS if _is_label(noted.get(name))}
            if noted.get("sensitive") is True:
                labels["sensitive"] = True
            if labels:
                connection.execute(sa.update(table).where(table.c.row == row.row).values(**labels))
        rows = connection.execute(statement.where(table.c.row > rows[-1].row)).all()


def _is_label(value: object) -> bool:
    return (
        isinstance(value, str)
        and 0 < len(value) <= MAX_LABEL_CHARACTERS
        and value.isprintable()
        and bool(value.strip())
    )


def _sources() -> None:
    """Make the table again: SQLite cannot drop a constraint, and a source outlives the row of its fact."""
    op.create_table(
        "gaia_fact_sources_0009",
        sa.Column("row", NUMBER, autoincrement=True, nullable=False),
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
        sa.Column(
            "imported", sa.Boolean(), nullable=False, server_default=sa.false(), comment="an import says the rest"
        ),
        sa.Column("origin_scope", sa.Text(), comment="partition of the fact it was copied from"),
        sa.Column("origin_id", sa.Text(), comment="id of that fact"),
        # PostgreSQL keeps the name of the index with the old table until that is gone.
        sa.PrimaryKeyConstraint("row", name="pk_gaia_fact_sources_0009"),
        sa.UniqueConstraint("fact_id", "origin", name="uq_gaia_fact_sources_fact_id_origin"),
    )
    # The hash in `origin` was made with `remember`, and a tool call's still is.
    kind = "CASE WHEN s.kind = 'remember' AND s.event_ids <> '[]' THEN 'agent' ELSE s.kind END"
    op.execute(
        f"INSERT INTO gaia_fact_sources_0009 ({SOURCE_COLUMNS}) "
        f"SELECT s.row, f.id, s.origin, {kind}, s.app, s.session_id, s.seq, s.said_at, s.event_ids, f.created_at, "
        "s.kind = 'import' FROM gaia_fact_sources AS s JOIN gaia_facts AS f ON f.row = s.fact_row ORDER BY s.row"
    )
    op.drop_table("gaia_fact_sources")
    op.rename_table("gaia_fact_sources_0009", "gaia_fact_sources")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER INDEX pk_gaia_fact_sources_0009 RENAME TO pk_gaia_fact_sources")
        op.execute("ALTER SEQUENCE gaia_fact_sources_0009_row_seq RENAME TO gaia_fact_sources_row_seq")
        op.execute(
            "SELECT setval('gaia_fact_sources_row_seq', "
            "(SELECT coalesce(max(row), 0) + 1 FROM gaia_fact_sources), false)"
        )


def _history() -> None:
    op.create_table(
        "gaia_past_facts",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("partition", PARTITION, nullable=False),
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
        sa.PrimaryKeyConstraint("id", name="pk_gaia_past_facts"),
        sa.ForeignKeyConstraint(["partition"], ["gaia_scopes.partition"], name="fk_gaia_past_facts_partition"),
    )
    op.create_index("ix_gaia_past_facts_partition_normal", "gaia_past_facts", ["partition", "normal"])
    op.create_table(
        "gaia_endings",
        sa.Column("row", NUMBER, autoincrement=True, nullable=False),
        sa.Column("partition", PARTITION, nullable=False),
        sa.Column("fact_id", sa.String(36), nullable=False, comment="the fact that ended"),
        sa.Column("ended_at", sa.Double(), nullable=False, comment="from then on it was not true"),
        sa.Column("noted_at", sa.Double(), nullable=False, comment="when that was learned"),
        sa.Column("ended_by", sa.String(36), comment="the fact that took its place"),
        sa.Column("why", sa.String(16), nullable=False, comment="`replaced`, `retracted`, `expired` or `merged`"),
        sa.Column(
            "actor",
            sa.Text(),
            nullable=False,
            comment="`person`, `host`, `agent:NAME`, `model`, `rule:NAME` or `clock`",
        ),
        sa.Column("app", sa.Text(), comment="percent-encoded, of the conversation that ended it"),
        sa.Column("session_id", sa.Text(), comment="percent-encoded"),
        sa.Column("undone_at", sa.Double()),
        sa.PrimaryKeyConstraint("row", name="pk_gaia_endings"),
        sa.ForeignKeyConstraint(["partition"], ["gaia_scopes.partition"], name="fk_gaia_endings_partition"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_gaia_endings_partition_fact_id", "gaia_endings", ["partition", "fact_id"])
    op.create_index("ix_gaia_endings_partition_ended_by", "gaia_endings", ["partition", "ended_by"])
