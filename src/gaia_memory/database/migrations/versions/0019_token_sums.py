"""What questions to models cost, by day and purpose."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Create the table."""
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    names = ("input", "cached", "output", "estimated", "questions")
    counts: list[sa.Column[int]] = [sa.Column(name, number, nullable=False) for name in names]
    op.create_table(
        "gaia_token_sums",
        sa.Column("day", sa.String(10), primary_key=True, comment="in UTC"),
        sa.Column("purpose", sa.String(16), primary_key=True),
        *counts,
    )
