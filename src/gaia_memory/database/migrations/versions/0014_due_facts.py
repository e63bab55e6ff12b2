"""What is due for one person, found without reading their facts, and which due facts were announced."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
PARTITION = sa.String(512)


def upgrade() -> None:
    """Add the index and the table."""
    is_due = sa.text("due_at IS NOT NULL")
    op.create_index(
        "ix_gaia_facts_partition_due_at",
        "gaia_facts",
        ["partition", "due_at"],
        sqlite_where=is_due,
        postgresql_where=is_due,
    )
    op.create_table(
        "gaia_announcements",
        sa.Column("fact_id", sa.String(36), nullable=False),
        sa.Column("partition", PARTITION, nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False, comment="the time that was announced or is being announced"),
        sa.Column("version", NUMBER, nullable=False, comment="of the fact when that was found"),
        sa.Column("next_at", sa.Double(), comment="when a fact that comes back is due next"),
        sa.Column("claim", sa.String(32), comment="of the process that announces it"),
        sa.Column("claimed_until", sa.Double()),
        sa.Column("announced_at", sa.Double()),
        sa.PrimaryKeyConstraint("fact_id", name="pk_gaia_announcements"),
        sa.ForeignKeyConstraint(["partition"], ["gaia_scopes.partition"], name="fk_gaia_announcements_partition"),
    )
    op.create_index("ix_gaia_announcements_partition", "gaia_announcements", ["partition"])
