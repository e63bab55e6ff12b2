"""Which facts a statement reads: every `select` over the table of facts names one of these conditions.

A convention test (`tests/conventions/test_current_facts.py`) refuses a statement that names neither.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, true


def current(now: float | None = None) -> ColumnElement[bool]:
    """Return the condition that a fact is current at `now`, in seconds since the epoch; None for the present.

    Every stored fact is current, so the condition is constant and leaves no trace in a statement that has others.
    """
    return true()


def current_sql(alias: str) -> str:
    """Return `current` for handwritten SQL in which the table of facts is called `alias`."""
    return "TRUE"


def current_or_past() -> ColumnElement[bool]:
    """Return the condition that is true for every stored fact: for forgetting and moving, which must miss none."""
    return true()
