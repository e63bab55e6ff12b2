"""Which facts a conversation was shown."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "gaia_shown_facts",
        sa.Column("conversation", sa.String(256), primary_key=True, comment="app, user and session as one key"),
        sa.Column(
            "fact_id",
            sa.String(36),
            sa.ForeignKey("gaia_facts.id", ondelete="CASCADE", onupdate="CASCADE"),
            primary_key=True,
        ),
    )
    op.create_index("ix_gaia_shown_facts_fact_id", "gaia_shown_facts", ["fact_id"])
