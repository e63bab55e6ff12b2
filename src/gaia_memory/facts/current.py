"""Which facts a statement reads: every `select` over the table of facts names one of these conditions.

A convention test (`tests/conventions/test_current_facts.py`) refuses a statement that names neither.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BindParameter, ColumnElement, or_, select, true, union_all

from gaia_memory.facts.tables import facts


def current(now: float | BindParameter[Any], *, by_index: bool = False) -> ColumnElement[bool]:
    """Return the condition that a fact holds at `now`, in seconds since the epoch: it has begun and not expired.

    `by_index` is for a statement that reads no other column behind the vector of a fact, such as a count: the
    condition then reads the few facts with a validity from the indexes of these, instead of all rows.
    """
    begins_later, is_over = facts.c.valid_from > now, facts.c.valid_until <= now
    if by_index:
        return facts.c.row.not_in(
            union_all(select(facts.c.row).where(begins_later), select(facts.c.row).where(is_over))
        )
    return or_(facts.c.valid_from.is_(None), ~begins_later) & or_(facts.c.valid_until.is_(None), ~is_over)


def current_or_past() -> ColumnElement[bool]:
    """Return the condition that is true for every stored fact, whatever its validity.

    For forgetting and moving, which must miss none, and for what is kept of each, such as its index.
    """
    return true()


def current_or_past_sql(alias: str) -> str:
    """Return `current_or_past` for handwritten SQL in which the table of facts is called `alias`."""
    return "TRUE"
