"""The rule by which a fact holds at a time, as known at another."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple


class PointInTime(NamedTuple):
    """The time a question is about, and the time whose knowledge answers it; in seconds since the epoch."""

    at: float
    known_at: float = inf


class StatementTime(NamedTuple):
    """When a fact was said, None if nobody knows, and when that was learned; in seconds since the epoch."""

    said_at: float | None
    noted_at: float


class EndTime(NamedTuple):
    """When a fact ended, when that was learned, and when it was undone; in seconds since the epoch."""

    ended_at: float
    noted_at: float
    undone_at: float | None = None


def holds(
    sayings: Sequence[StatementTime],
    endings: Sequence[EndTime],
    *,
    valid_from: float | None = None,
    valid_until: float | None = None,
    at: float,
    known_at: float = inf,
) -> bool:
    """Return whether a fact holds at `at` by what was known at `known_at`, in seconds since the epoch.

    It does if its latest saying up to `at` is later than every ending up to `at`, by what was noted and not undone by
    `known_at`, and `at` is in its validity. A statement without a date was true from ever, and one with `valid_from`
    from then on, even if it was said later.
    """
    if (valid_from is not None and at < valid_from) or (valid_until is not None and at >= valid_until):
        return False
    known = [-inf if saying.said_at is None else saying.said_at for saying in sayings if saying.noted_at <= known_at]
    if not known:
        return False
    if valid_from is not None:
        known.append(min(*known, valid_from))
    latest = max((said for said in known if said <= at), default=None)
    return latest is not None and all(
        ending.ended_at < latest for ending in endings if ending.ended_at <= at and _stands(ending, known_at)
    )


def _stands(ending: EndTime, known_at: float) -> bool:
    return ending.noted_at <= known_at and (ending.undone_at is None or ending.undone_at > known_at)
