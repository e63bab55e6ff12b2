"""What keeps a fact that was forgotten alone from being told again by talk of before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "gaia_forgotten_words",
        sa.Column("partition", sa.String(512), nullable=False),
        sa.Column("fact_row", NUMBER, autoincrement=False, nullable=False, comment="of the fact that is gone"),
        sa.Column("word", NUMBER, autoincrement=False, nullable=False, comment="16 bits of a salted SHA-256"),
        sa.Column("forgotten_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("partition", "fact_row", "word", name="pk_gaia_forgotten_words"),
        sa.ForeignKeyConstraint(["partition"], ["gaia_scopes.partition"], name="fk_gaia_forgotten_words_partition"),
    )
