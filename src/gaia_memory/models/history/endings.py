"""The endings of facts, and the periods in which they were true."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

EndingReason = Literal["replaced", "retracted", "expired", "merged"]
"""Why a fact ended: another took its place, it was taken back, its time was over, or another says the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactEnd:
    """An ending that is to be stored.

    `ended_at` is since when the fact `fact_id` is no longer true, `ended_by` the fact that took its place, `actor` who
    says so: `person`, `host`, `agent:NAME`, `model`, `rule:NAME` or `clock`. `app` and `session_id` name the
    conversation that ended it. With a `version`, the fact ends only while it is that of `StoredFact.version`. What was
    stored has the time of that in `noted_at` and, if it was undone, the time of that in `undone_at`.
    """

    fact_id: str
    ended_at: datetime
    why: EndingReason
    actor: str
    ended_by: str | None = None
    version: int | None = None
    app: str | None = None
    session_id: str | None = None
    noted_at: datetime | None = None
    undone_at: datetime | None = None


class NearbySayings(NamedTuple):
    """A fact around a time: `since` when it was said last, None if it was not true then, and `again` when next."""

    since: datetime | None
    again: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PastFact:
    """A period in which a fact was true: until before `ended_at`, None while it still is.

    In this period it was said first at `first_said_at` and last at `said_at`. `ended_by` is the id of the fact that
    took its place; `why` and `actor` are those of the ending.
    """

    id: str
    text: str
    first_said_at: datetime | None = None
    said_at: datetime | None = None
    ended_at: datetime | None = None
    ended_by: str | None = None
    why: EndingReason | None = None
    actor: str | None = None
