"""The metadata object of all tables, and shared column types."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import BigInteger, Double, Integer, MetaData, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

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
