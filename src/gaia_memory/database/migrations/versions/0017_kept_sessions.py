"""Sessions that stay as they are: where a reset began a new stretch, what was rewound, and what is to be learned."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add columns to the ledger; what an earlier release rewound is never purged."""
    asked: sa.Column[bool] = sa.Column(
        "is_purgeable",
        sa.Boolean(),
        nullable=False,
        server_default=sa.false(),
        comment="a setting asked for the rewind",
    )
    op.add_column("gaia_conversations", asked)
    op.add_column(
        "gaia_conversations", sa.Column("reset_at", sa.Double(), comment="no request holds events up to then")
    )
    op.add_column("gaia_conversations", sa.Column("requests", sa.Text(), comment="what is to be learned at once"))
    condition = sa.text("requests IS NOT NULL")
    op.create_index(
        "ix_gaia_conversations_requested",
        "gaia_conversations",
        ["app_key"],
        sqlite_where=condition,
        postgresql_where=condition,
    )
