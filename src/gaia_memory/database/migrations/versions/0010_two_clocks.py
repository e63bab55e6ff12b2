"""What past facts need to be recalled and restored, and when the profile of a session is outdated."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns."""
    columns: list[sa.Column[Any]] = [
        sa.Column("traits", sa.LargeBinary(), comment="what recall compares of its text"),
        sa.Column("wording_of", sa.String(36), comment="the fact whose earlier wording it is"),
        sa.Column("row", NUMBER, comment="its row among the current facts, which no other gets"),
    ]
    for column in columns:
        op.add_column("gaia_past_facts", column)
    until: sa.Column[float] = sa.Column("profile_until", sa.Double(), comment="then a fact in it begins or expires")
    op.add_column("gaia_conversations", until)
