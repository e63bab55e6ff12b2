"""Which facts are copies of a scope's facts, found without reading every source."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add the index."""
    is_copy = sa.text("origin_scope IS NOT NULL")
    op.create_index(
        "ix_gaia_fact_sources_origin_scope_origin_id",
        "gaia_fact_sources",
        ["origin_scope", "origin_id"],
        sqlite_where=is_copy,
        postgresql_where=is_copy,
    )
