"""Database URLs: the two databases that are supported, always with their asynchronous driver."""

from __future__ import annotations

import re
from pathlib import Path

_SQLITE = re.compile(r"sqlite(?:\+aiosqlite)?:///(?P<path>[^?]+)(?P<query>\?.*)?", re.IGNORECASE | re.DOTALL)
_POSTGRES = re.compile(r"(?:postgres|postgresql|postgresql\+asyncpg)://(?P<rest>.*[^/].*)", re.IGNORECASE | re.DOTALL)


def normalize_url(url: str) -> str:
    """The same database with its asynchronous driver: `sqlite+aiosqlite` or `postgresql+asyncpg`.

    `~` in a SQLite path is expanded. The message of the error holds nothing of `url`, which may carry a password.

    Raises:
        ValueError: another database, or a SQLite database that is not a file.
    """
    if found := _SQLITE.fullmatch(url):
        path, query = found["path"], found["query"] or ""
        if ":memory:" in path or path.startswith("file:"):
            raise ValueError("is no plain file, and a database in memory would remember nothing")
        return f"sqlite+aiosqlite:///{Path(path).expanduser()}{query}"
    if found := _POSTGRES.fullmatch(url):
        # asyncpg calls libpq's `sslmode` `ssl`, with the same values.
        return "postgresql+asyncpg://" + re.sub(r"(?<=[?&])sslmode=", "ssl=", found["rest"])
    raise ValueError("names no database that is supported")


def sqlite_url(path: Path) -> str:
    """The URL of a SQLite file."""
    return f"sqlite+aiosqlite:///{path}"


def resolve_url(url: str, home: Path) -> str:
    """A normal URL whose relative SQLite path is taken from `home`."""
    if found := _SQLITE.fullmatch(url):
        return sqlite_url(home / found["path"]) + (found["query"] or "")
    return url


def is_server_url(url: str) -> bool:
    """Say whether a normal URL names a database server."""
    return url.startswith("postgresql")
