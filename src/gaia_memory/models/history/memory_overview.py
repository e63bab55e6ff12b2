"""What is known about a memory as a whole: counts, days and changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from gaia_memory.models.fact import Fact

ChangeKind = Literal["added", "replaced", "forgotten"]


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
