"""Keys of facts: the label of something of which a person has one at a time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Add the columns and their indexes."""
    is_set = sa.text('"key" IS NOT NULL')
    for table in ("gaia_facts", "gaia_past_facts"):
        op.add_column(table, sa.Column("key", sa.String(80), comment="what there is one of at a time: `user/home`"))
        op.create_index(
            f"ix_{table}_partition_key", table, ["partition", "key"], sqlite_where=is_set, postgresql_where=is_set
        )
