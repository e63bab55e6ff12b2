"""Empties tables of a SQLite file that other programs may have open."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path


def empty_tables(path: Path, names: Sequence[str]) -> bool:
    """Delete every row of these tables, if they exist, and rewrite the file without their text. Blocking.

    Returns False while another connection writes the file: call again later.

    Raises:
        sqlite3.DatabaseError: the file is damaged.
    """
    if not path.is_file():
        return True
    with closing(sqlite3.connect(path, timeout=1.0)) as connection:
        try:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            for name in tables.intersection(names):
                connection.execute(f'DELETE FROM "{name}"')
            connection.commit()
            connection.execute("VACUUM")
        except sqlite3.OperationalError:
            return False
    return True


def has_rows(path: Path, tables: Sequence[str]) -> bool:
    """Return whether a database has a row in one of these tables, or cannot be read, so that nobody knows."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            return any(connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in tables)
    except (OSError, sqlite3.Error):
        return True
