"""The metadata object of all tables, shared column types, and what SQLite and PostgreSQL call differently."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Double, Integer, MetaData, Text
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.dialects import postgresql

    from gaia_memory.ports import Transaction


TABLE_PREFIX = "gaia_"
"""The prefix of every table name; a server database may contain the host's tables too."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
    }
)

BigInt = BigInteger().with_variant(Integer(), "sqlite")
"""A large integer; SQLite assigns row numbers only if the type is exactly INTEGER."""

EpochSeconds = Double
"""Seconds since the epoch."""


class Json(TypeDecorator[Any]):
    """A value stored as ASCII JSON text, which every database accepts."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Render the value."""
        return None if value is None else json.dumps(value, separators=(",", ":"))

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Parse the stored text."""
        return None if value is None else json.loads(value)


def dialect_insert(tx: Transaction, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that supports ON CONFLICT, in the dialect of the database."""
    return insert_for(tx.dialect.name, table)


def insert_for(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that supports ON CONFLICT, in the named dialect."""
    if dialect != "postgresql":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)
