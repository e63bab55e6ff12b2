"""Notes of endings: what somebody said of a fact that was never true."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Add the column."""
    op.add_column("gaia_endings", sa.Column("note", sa.Text(), comment="what somebody said of a fact that is `untrue`"))
