"""Facts and pairs of facts that wait to be compared, and which pairs a model has compared."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
PARTITION = sa.String(512)


def upgrade() -> None:
    """Add the tables. Nothing waits: the facts that are known count as compared."""
    op.create_table(
        "gaia_undecided_facts",
        sa.Column("row", NUMBER, autoincrement=True, nullable=False),
        sa.Column("partition", PARTITION, nullable=False),
        sa.Column("fact_id", sa.String(36), nullable=False),
        sa.Column(
            "other_id", sa.String(36), nullable=False, server_default="", comment="the only fact to compare it with"
        ),
        sa.Column("app", sa.Text(), comment="percent-encoded, whose model is asked"),
        sa.Column("attempts", NUMBER, nullable=False, server_default="0", comment="questions without a usable answer"),
        sa.Column("retry_at", sa.Double()),
        sa.PrimaryKeyConstraint("row", name="pk_gaia_undecided_facts"),
        sa.ForeignKeyConstraint(["partition"], ["gaia_scopes.partition"], name="fk_gaia_undecided_facts_partition"),
        sa.UniqueConstraint(
            "partition", "fact_id", "other_id", name="uq_gaia_undecided_facts_partition_fact_id_other_id"
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "gaia_compared_pairs",
        sa.Column("partition", PARTITION, nullable=False),
        sa.Column("fact_id", sa.String(36), nullable=False, comment="the smaller of the two ids"),
        sa.Column("other_id", sa.String(36), nullable=False),
        sa.Column("texts", sa.String(64), nullable=False, comment="SHA-256 of both texts as they were compared"),
        sa.PrimaryKeyConstraint("partition", "fact_id", "other_id", name="pk_gaia_compared_pairs"),
        sa.ForeignKeyConstraint(["partition"], ["gaia_scopes.partition"], name="fk_gaia_compared_pairs_partition"),
    )
    op.create_index("ix_gaia_compared_pairs_partition_other_id", "gaia_compared_pairs", ["partition", "other_id"])
    op.create_table(
        "gaia_reconciling",
        sa.Column("partition", PARTITION, nullable=False),
        sa.Column("owner", sa.Text(), comment="the engine that compares facts of this scope"),
        sa.Column("owned_until", sa.Double()),
        sa.Column("paired_at", sa.Double(), comment="when current facts were last compared in pairs"),
        sa.Column(
            "paired_revision", NUMBER, nullable=False, server_default="0", comment="of the last fact compared then"
        ),
        sa.PrimaryKeyConstraint("partition", name="pk_gaia_reconciling"),
        sa.ForeignKeyConstraint(["partition"], ["gaia_scopes.partition"], name="fk_gaia_reconciling_partition"),
    )
    op.execute("INSERT INTO gaia_reconciling (partition, paired_revision) SELECT partition, revision FROM gaia_scopes")
