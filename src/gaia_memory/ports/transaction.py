"""What the stores share."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

Transaction: TypeAlias = "AsyncConnection"
"""An open connection: what is done with it is committed or rolled back together."""
