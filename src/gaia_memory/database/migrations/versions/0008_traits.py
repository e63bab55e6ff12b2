"""What recall compares of a fact's text, so that a search need not read the text."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the column; of facts that are there the text is read until they are indexed anew."""
    column: sa.Column[bytes] = sa.Column("traits", sa.LargeBinary(), comment="what recall compares of its text")
    op.add_column("gaia_facts", column)
