"""What tools changed, so that the person can take it back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table and its indexes."""
    op.create_table(
        "gaia_tool_changes",
        sa.Column("row", NUMBER, autoincrement=True, nullable=False),
        sa.Column("partition", sa.String(512), nullable=False),
        sa.Column("app", sa.Text(), nullable=False, comment="percent-encoded"),
        sa.Column("session_id", sa.Text(), nullable=False, comment="percent-encoded"),
        sa.Column("invocation_id", sa.Text(), nullable=False),
        sa.Column("fact_id", sa.String(36), nullable=False),
        sa.Column("action", sa.String(16), nullable=False, comment="`remembered`, `changed` or `forgot`"),
        sa.Column("made_at", sa.Double(), nullable=False),
        sa.Column("number_before", NUMBER, nullable=False, comment="of the last thing that had happened to the fact"),
        sa.Column("number", NUMBER, nullable=False, comment="of the last thing that has happened to it with this"),
        sa.Column("state", sa.Text(), comment="the fact as it was; if it is forgotten, all its rows"),
        sa.Column("erase_at", sa.Double(), comment="when the rows of a forgotten one are deleted"),
        sa.PrimaryKeyConstraint("row", name="pk_gaia_tool_changes"),
        sa.ForeignKeyConstraint(["partition"], ["gaia_scopes.partition"], name="fk_gaia_tool_changes_partition"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_gaia_tool_changes_partition_fact_id", "gaia_tool_changes", ["partition", "fact_id"])
    waits = sa.text("erase_at IS NOT NULL")
    op.create_index(
        "ix_gaia_tool_changes_erase_at",
        "gaia_tool_changes",
        ["erase_at"],
        sqlite_where=waits,
        postgresql_where=waits,
    )
