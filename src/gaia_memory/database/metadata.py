"""The one metadata object that the tables of all rooms belong to, and the column types they share."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import BigInteger, Double, Integer, MetaData, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

TABLE_PREFIX = "gaia_"
"""What the name of every table of ours begins with: a server database may hold the host's tables too."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
    }
)

BigInt = BigInteger().with_variant(Integer(), "sqlite")
"""A whole number; SQLite numbers rows by itself only where the type is exactly INTEGER."""

EpochSeconds = Double
"""Seconds since the epoch."""


def to_json(value: Any) -> str | None:
    """Return a value as `Json` keeps it."""
    if not value and isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    return None if value is None else json.dumps(value, separators=(",", ":"))


class Json(TypeDecorator[Any]):
    """A value kept as ASCII JSON text, so that no character in it can trouble a database."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Render the value."""
        return to_json(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Parse what was rendered."""
        return None if value is None else json.loads(value)
