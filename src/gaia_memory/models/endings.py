"""How facts ended and changed, and when they held."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from math import inf
from typing import Any, Literal, NamedTuple, TypedDict

from gaia_memory.models.fact import EndingReason, Fact, ToolTurn

_ACTORS = {
    "person": "the person",
    "host": "an admin or a program",
    "clock": "the passing of time",
    "rule": "a later statement",
    "model": "a later statement",
}

ChangeKind = Literal["added", "replaced", "forgotten"]


class NearbySayings(NamedTuple):
    """A fact around a time: `since` when it was said last, None if it was not true then, and `again` when next."""

    since: datetime | None
    again: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PastFact:
    """A period in which a fact was true: until before `ended_at`, None while it still is.

    In this period it was said first at `first_said_at` and last at `said_at`. `ended_by` is the id of the fact that
    took its place; `why`, `actor` and `note` are those of the ending.
    """

    id: str
    text: str
    first_said_at: datetime | None = None
    said_at: datetime | None = None
    ended_at: datetime | None = None
    ended_by: str | None = None
    why: EndingReason | None = None
    actor: str | None = None
    note: str | None = None


def describe_actor(actor: str | None) -> str:
    """Return who ended a fact: "the person", "the agent NAME", "a later statement"."""
    kind, _, name = (actor or "").partition(":")
    return f"the agent {name}" if kind == "agent" else _ACTORS.get(kind, actor or "somebody")


@dataclass(frozen=True, slots=True, kw_only=True)
class FactCounts:
    """The number of current facts, and how many there are by each label, source and day (UTC) on which they were said.

    Facts without a label are counted under an empty text.
    """

    total: int = 0
    category: Mapping[str, int] = field(default_factory=dict)
    context: Mapping[str, int] = field(default_factory=dict)
    source: Mapping[str, int] = field(default_factory=dict)
    agent: Mapping[str, int] = field(default_factory=dict)
    day: Mapping[date, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DayCounts:
    """How many statements were stored on a day (UTC), and how many ended. A correction is one of each."""

    day: date
    added: int = 0
    ended: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FactChange:
    """A change of a person's facts.

    `number` grows from change to change of a scope. A fact is `added` when it becomes current, also again; `replaced`
    when it ended, or its wording or details were corrected; `forgotten` when it was deleted. Without `fact_id`,
    everything was forgotten. `fact` is what the fact is at the time of the call, None if it is not current.
    """

    number: int
    kind: ChangeKind
    fact_id: str | None
    fact: Fact | None = None


class ToolChange(TypedDict):
    """What the tools of a turn did to a fact, all in all. A new fact's `before` is what it took the place of."""

    action: Literal["remembered", "changed", "forgot"]
    id: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedChange:
    """One change by a tool, as it is noted in the database.

    `state` is what the fact was before, and all that was stored of one that is forgotten, until that is erased.
    `is_latest`: nothing has happened to the fact since.
    """

    row: int
    turn: ToolTurn
    change: ToolChange
    state: Mapping[str, Any] | None
    is_latest: bool


class Undone(NamedTuple):
    """The changes of a turn that were taken back, and those that were not: changed again since, or erased by now."""

    taken_back: list[ToolChange]
    changed_since: list[ToolChange]
    erased: list[ToolChange]


def join_changes(changes: Iterable[ToolChange]) -> list[ToolChange]:
    """Return what changes amount to, one for each fact; nothing of one that was remembered and forgotten."""
    found: dict[str, ToolChange] = {}
    for change in changes:
        earlier = found.setdefault(change["id"], change)
        if earlier is change:
            continue
        if change["action"] == "forgot" and earlier["action"] == "remembered":
            del found[change["id"]]
            continue
        action = earlier["action"] if change["action"] == "changed" else change["action"]
        found[change["id"]] = {**change, "action": action, "before": earlier["before"]}
    return list(found.values())


class PointInTime(NamedTuple):
    """The time a question is about, and the time whose knowledge answers it; in seconds since the epoch."""

    at: float
    known_at: float = inf


class StatementTime(NamedTuple):
    """When a fact was said, None if nobody knows, and when that was learned; in seconds since the epoch."""

    said_at: float | None
    noted_at: float


class EndTime(NamedTuple):
    """When a fact ended, when that was learned, and when it was undone; in seconds since the epoch.

    `is_untrue`: nothing that was said of it up to then was ever true.
    """

    ended_at: float
    noted_at: float
    undone_at: float | None = None
    is_untrue: bool = False


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
    standing = [ending for ending in endings if _stands(ending, known_at)]
    untrue_until = max((ending.ended_at for ending in standing if ending.is_untrue), default=-inf)
    known = [
        -inf if saying.said_at is None else saying.said_at
        for saying in sayings
        if saying.noted_at <= known_at and is_said_after(saying, untrue_until)
    ]
    if not known:
        return False
    if valid_from is not None:
        known.append(min(*known, valid_from))
    latest = max((said for said in known if said <= at), default=None)
    return latest is not None and all(ending.ended_at < latest for ending in standing if ending.ended_at <= at)


def is_said_after(saying: StatementTime, moment: float) -> bool:
    """Return whether a fact was said after a time, as far as that is known; otherwise whether that was learned then."""
    return (saying.noted_at if saying.said_at is None else saying.said_at) > moment


def _stands(ending: EndTime, known_at: float) -> bool:
    return ending.noted_at <= known_at and (ending.undone_at is None or ending.undone_at > known_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecidedFact:
    """A stored fact that waits to be compared with similar ones, or only with the fact `other_id`.

    `app` is the app whose model is asked. `attempts` counts the questions without a usable answer, and before
    `retry_at` (seconds since the epoch) it is not asked about again. `row` is its place in the queue.
    """

    fact_id: str
    other_id: str | None = None
    app: str | None = None
    attempts: int = 0
    retry_at: float | None = None
    row: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingState:
    """How far the current facts of a scope were compared in pairs: when last, and up to which version of a fact."""

    paired_at: float | None = None
    paired_revision: int = 0
