"""A conversation is due by the ledger's SQL exactly when the Python rule says so."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete

from gaia_memory.database.metadata import dialect_insert
from gaia_memory.database.sql_engine import Database
from gaia_memory.ledger import Ledger
from gaia_memory.ledger.rows import new_row_values
from gaia_memory.ledger.tables import conversations
from gaia_memory.models import SessionKey
from gaia_memory.models.quiet_conversations import (
    LEASE_SECONDS,
    MAX_BACKOFF_SECONDS,
    MAX_CLOCK_SKEW_SECONDS,
    TURN_LEASE_SECONDS,
    is_due,
    quiet_cutoff,
)
from support.databases import database

__all__ = ["database"]

APP = "gaia"
NOW = 1_000_000.0
IDLE_SECONDS = 1800.0


def around(seconds: float) -> st.SearchStrategy[float | None]:
    """Times just before and after now and now plus a duration, and no time at all."""
    edges = [NOW + shift + offset for shift in (0.0, seconds + MAX_CLOCK_SKEW_SECONDS) for offset in (-1.0, 0.0, 1.0)]
    return st.sampled_from([None, *edges])


rows = st.fixed_dictionaries(
    {
        "turn_no": st.integers(0, 2),
        "done_turn_no": st.integers(-1, 2),
        "touched": st.sampled_from(
            [NOW - IDLE_SECONDS - 1, NOW - IDLE_SECONDS, NOW - IDLE_SECONDS + 1, NOW, NOW + MAX_CLOCK_SKEW_SECONDS + 1]
        ),
        "active_until": around(TURN_LEASE_SECONDS),
        "lease_until": around(LEASE_SECONDS),
        "retry_at": around(MAX_BACKOFF_SECONDS),
        "parked": st.booleans(),
    }
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=st.lists(rows, max_size=6))
async def test_the_sql_condition_and_the_python_rule_agree(database: Database, drawn: list[dict[str, Any]]) -> None:
    """This holds for any combination of marks, whether or not they are in force."""
    ledger = Ledger()
    quiet_since = quiet_cutoff(NOW, idle_seconds=IDLE_SECONDS)
    async with database.transaction() as tx:
        await tx.execute(delete(conversations))
        for number, row in enumerate(drawn):
            values = new_row_values(SessionKey(APP, f"u{number}", "s"), touched=0.0) | row
            values |= {"learned_turn_no": row["done_turn_no"], "active_owner": "elsewhere:1:1-1/a"}
            await tx.execute(dialect_insert(tx, conversations).values(values))
        by_rule = {
            waiting.key
            for waiting in await ledger.pending(tx, user=None, app=None)
            if is_due(waiting, now=NOW, quiet_since=quiet_since)
        }
    async with database.transaction() as tx:
        await ledger.expire(tx, now=NOW)
        found = await ledger.due(tx, quiet_since=quiet_since, limit=100, apps=[APP])

    assert {due.key for due in found} == by_rule
