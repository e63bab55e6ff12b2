"""How a PostgreSQL server is asked: one that accepts and does not answer is given up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

CONNECT_TIMEOUT_SECONDS = 10.0
STATEMENT_TIMEOUT_SECONDS = 30.0
"""How long a statement may take; those of a turn take milliseconds, those that rewrite tables have longer."""

MAINTENANCE_TIMEOUT_SECONDS = 3600.0
"""How long a migration or a vacuum may take."""


def connect_args(address: URL, overrides: dict[str, Any]) -> dict[str, Any]:
    """Return the driver's arguments with limits; the URL and whoever opens the engine know better."""
    limits = {"timeout": CONNECT_TIMEOUT_SECONDS, "command_timeout": STATEMENT_TIMEOUT_SECONDS}
    return {name: value for name, value in limits.items() if name not in address.query} | overrides
