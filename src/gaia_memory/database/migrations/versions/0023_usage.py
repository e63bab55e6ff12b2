"""What was used in turns: names of tools, commands and channels, for the digests that `gaia grow` shows a model."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "gaia_usage",
        sa.Column("row", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("partition", sa.String(512), nullable=False),
        sa.Column("app", sa.Text(), nullable=False, comment="percent-encoded"),
        sa.Column("session_id", sa.Text(), nullable=False, comment="percent-encoded"),
        sa.Column("began_at", sa.Double(), nullable=False, comment="by the host's clock"),
        sa.Column("ended_at", sa.Double(), nullable=False),
        sa.Column("used", sa.Text(), nullable=False, comment="names and outcomes as JSON, no words"),
    )
    op.create_index("ix_gaia_usage_partition_ended_at", "gaia_usage", ["partition", "ended_at"])
    op.create_index("ix_gaia_usage_ended_at", "gaia_usage", ["ended_at"])
