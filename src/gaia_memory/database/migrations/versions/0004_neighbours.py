"""What stands beside a fact in its conversation, found without reading the person's other facts."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the index."""
    op.create_index("ix_gaia_facts_partition_session_id_seq", "gaia_facts", ["partition", "session_id", "seq"])
