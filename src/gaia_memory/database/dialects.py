"""What differs between SQLite and PostgreSQL; its dialect takes a tenth of a second to import, so this does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.dialects import sqlite

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.dialects import postgresql

    from gaia_memory.ports import Transaction


def dialect_insert(tx: Transaction, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that supports ON CONFLICT, in the dialect of the database."""
    return insert_for(tx.dialect.name, table)


def insert_for(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that supports ON CONFLICT, in the named dialect."""
    if dialect != "postgresql":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)
