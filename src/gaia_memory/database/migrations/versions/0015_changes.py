"""What happened to facts, for programs that follow a person's memory."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table and its index."""
    op.create_table(
        "gaia_changes",
        sa.Column("number", NUMBER, autoincrement=True, nullable=False),
        sa.Column("partition", sa.String(512), nullable=False),
        sa.Column("fact_id", sa.String(36), comment="none if everything was forgotten"),
        sa.Column("kind", sa.String(16), nullable=False, comment="`added`, `replaced` or `forgotten`"),
        sa.PrimaryKeyConstraint("number", name="pk_gaia_changes"),
        sa.ForeignKeyConstraint(["partition"], ["gaia_scopes.partition"], name="fk_gaia_changes_partition"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_gaia_changes_partition_number", "gaia_changes", ["partition", "number"])
