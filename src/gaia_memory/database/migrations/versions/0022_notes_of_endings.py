"""Notes of endings: what somebody said of a fact that was never true."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Add the column, and name the new kind of ending on a database with comments."""
    op.add_column("gaia_endings", sa.Column("note", sa.Text(), comment="what somebody said of a fact that is `untrue`"))
    if op.get_bind().dialect.supports_comments:
        op.alter_column("gaia_endings", "why", comment="`replaced`, `retracted`, `expired`, `merged` or `untrue`")
