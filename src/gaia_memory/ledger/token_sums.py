"""What questions to models cost, by day and purpose, for all users: a handful of rows a day, which are kept."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import select

from gaia_memory.database.metadata import dialect_insert
from gaia_memory.ledger.tables import token_sums
from gaia_memory.models import TokenSums, TokenUsage

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.ports import Transaction

SHOWN_DAYS = 30
_COUNTS = tuple(TokenUsage.__slots__)


async def add_token_sums(database: Database, sums: TokenSums) -> None:
    """Add to the stored sums; those of several processes add up."""
    async with database.transaction() as tx:
        for (day, purpose), usage in sums.items():
            counts = {name: getattr(usage, name) for name in _COUNTS}
            insert = dialect_insert(tx, token_sums).values(day=day.isoformat(), purpose=purpose, **counts)
            added = {name: token_sums.c[name] + insert.excluded[name] for name in _COUNTS}
            await tx.execute(insert.on_conflict_do_update(index_elements=["day", "purpose"], set_=added))


async def load_token_sums(tx: Transaction) -> TokenSums:
    """Return the sums of each of the last 30 days."""
    first_day = datetime.now(UTC).date() - timedelta(days=SHOWN_DAYS - 1)
    rows = await tx.execute(select(token_sums).where(token_sums.c.day >= first_day.isoformat()))
    return {
        (date.fromisoformat(row.day), row.purpose): TokenUsage(**{name: getattr(row, name) for name in _COUNTS})
        for row in rows
    }
