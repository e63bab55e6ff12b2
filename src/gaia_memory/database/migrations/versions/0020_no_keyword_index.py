"""Takes away the keyword index, which recall does not read, and a table that nothing wrote."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Drop the tables and the column, which only a home of 0.4 has."""
    for table in ("gaia_words", "gaia_reindexing", "gaia_late_turns"):
        op.execute(f"DROP TABLE IF EXISTS {table}")
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        op.execute("DROP TEXT SEARCH CONFIGURATION IF EXISTS gaia_text")
        op.execute("DROP TEXT SEARCH DICTIONARY IF EXISTS gaia_stem")
        op.alter_column("gaia_facts", "form", comment="of the tokenizer that made its traits")
    if any(column["name"] == "words" for column in sa.inspect(connection).get_columns("gaia_facts")):
        op.create_index("ix_gaia_facts_partition_row", "gaia_facts", ["partition", "row"])
        op.drop_index("ix_gaia_facts_partition_row_words", "gaia_facts")
        op.drop_column("gaia_facts", "words")
