"""URLs of the two supported databases, always with their asynchronous driver."""

from __future__ import annotations

import re
from pathlib import Path

ALLOWED_DATABASE_URLS = "sqlite:///path or postgresql://user@host/database; null for the default"

_SQLITE = re.compile(r"sqlite(?:\+aiosqlite)?:///(?P<path>[^?]+)(?P<query>\?.*)?", re.IGNORECASE | re.DOTALL)
_SUPPORTED_KINDS = frozenset({"sqlite", "postgres", "postgresql"})
_POSTGRES = re.compile(r"(?:postgres|postgresql|postgresql\+asyncpg)://(?P<rest>.*[^/].*)", re.IGNORECASE | re.DOTALL)


def normalize_url(url: str) -> str:
    """Return the URL with its asynchronous driver: `sqlite+aiosqlite` or `postgresql+asyncpg`.

    `~` in a SQLite path is expanded. The error message does not quote `url`, which may contain a password.

    Raises:
        ValueError: the database is not supported, or is a SQLite database that is not a file.
    """
    if found := _SQLITE.fullmatch(url):
        path, query = found["path"], found["query"] or ""
        if ":memory:" in path or path.startswith("file:"):
            raise ValueError("is not a plain file, and a database in memory would lose everything")
        return f"sqlite+aiosqlite:///{Path(path).expanduser()}{query}"
    if found := _POSTGRES.fullmatch(url):
        # libpq's `sslmode` is called `ssl` in asyncpg, with the same values.
        return "postgresql+asyncpg://" + re.sub(r"(?<=[?&])sslmode=", "ssl=", found["rest"])
    raise ValueError(unsupported_database(url) or "names a database that is not supported")


def unsupported_database(url: str) -> str | None:
    """Return what is wrong with the kind of database in a URL; None if it is supported, or the URL names none."""
    kind = url.partition("://")[0].partition("+")[0].lower()
    if not kind.isalnum() or kind in _SUPPORTED_KINDS:
        return None
    return f"names {kind}, which is not supported; use sqlite:///… or postgresql+asyncpg://…"


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite file."""
    return f"sqlite+aiosqlite:///{path}"


def resolve_url(url: str, home: Path) -> str:
    """Return a normalized URL with a relative SQLite path resolved against `home`."""
    if found := _SQLITE.fullmatch(url):
        return sqlite_url(home / found["path"]) + (found["query"] or "")
    return url


def is_server_url(url: str) -> bool:
    """Return whether a normalized URL names a database server."""
    return url.startswith("postgresql")
