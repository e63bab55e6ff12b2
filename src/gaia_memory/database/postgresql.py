"""Time-outs of a PostgreSQL server that accepts connections and does not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

CONNECT_TIMEOUT_SECONDS = 10.0
STATEMENT_TIMEOUT_SECONDS = 30.0
"""Time-out of a statement; those of a turn take milliseconds."""

MAINTENANCE_TIMEOUT_SECONDS = 3600.0
"""Time-out of a migration or a vacuum."""


def connect_args(address: URL, overrides: dict[str, Any]) -> dict[str, Any]:
    """Return the driver's arguments with time-outs, unless the URL or `overrides` set them."""
    limits = {"timeout": CONNECT_TIMEOUT_SECONDS, "command_timeout": STATEMENT_TIMEOUT_SECONDS}
    return {name: value for name, value in limits.items() if name not in address.query} | overrides
