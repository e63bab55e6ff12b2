"""Where a person was asked whether to forget some rows: a bare yes must not forget everything after a restart."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

WHAT = "some rows were shown that a yes forgets, and nothing was answered"


def upgrade() -> None:
    """Add the column."""
    column: sa.Column[bool] = sa.Column(
        "asks_of_rows", sa.Boolean(), nullable=False, server_default=sa.false(), comment=WHAT
    )
    op.add_column("gaia_conversations", column)
