"""Small stages that each add one reason to the order of what was found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gaia_memory.models import Fact
from gaia_memory.recall.settings import RecallSettings

NEIGHBOURS = {-3: 0.1, -2: 0.25, -1: 0.5, 0: 0.3, 1: 0.3, 2: 0.15}
"""What a fact takes of another one so many turns away in the same conversation."""

SHORT_WORDS = 30
"""Words up to which a fact fully needs, and lends, its context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A found fact with the part each stage contributed to its place."""

    fact: Fact
    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """The sum of its parts."""
        return sum(self.parts.values())

    def plus(self, stage: str, part: float) -> Ranked:
        """Return it with one more part, or as it is when the part is nothing."""
        return replace(self, parts={**self.parts, stage: part}) if part else self


Stage = Callable[[Sequence[Ranked], datetime, RecallSettings], list[Ranked]]


def context(ranked: Sequence[Ranked], now: datetime, settings: RecallSettings) -> list[Ranked]:
    """Let facts of the same conversation lend each other weight, the nearer the more.

    Weighted by how short both are: a short line needs and lends context, a long one stands for itself.
    """
    if not settings.context:
        return list(ranked)
    places: dict[tuple[str, int], list[Ranked]] = defaultdict(list)
    for item in ranked:
        if item.fact.session_id is not None and item.fact.seq is not None:
            places[item.fact.session_id, item.fact.seq].append(item)
    needs = {item.fact.id: min(1.0, SHORT_WORDS / max(1, len(item.fact.text.split()))) for item in ranked}
    return [item.plus("context", settings.context_weight * _lent(item, places, needs)) for item in ranked]


def _lent(item: Ranked, places: Mapping[tuple[str, int], Sequence[Ranked]], needs: Mapping[str, float]) -> float:
    session, seq = item.fact.session_id, item.fact.seq
    if session is None or seq is None:
        return 0.0
    lent = 0.0
    for distance, weight in NEIGHBOURS.items():
        others = [other for other in places.get((session, seq + distance), ()) if other.fact.id != item.fact.id]
        lent += weight * max((other.total * needs[other.fact.id] for other in others), default=0.0)
    return lent * needs[item.fact.id]


def recency(ranked: Sequence[Ranked], now: datetime, settings: RecallSettings) -> list[Ranked]:
    """Prefer what was said lately, by so little that it only decides between near equals."""
    if not settings.recency:
        return list(ranked)
    return [item.plus("recency", settings.recency_weight * _freshness(item.fact, now, settings)) for item in ranked]


def _freshness(fact: Fact, now: datetime, settings: RecallSettings) -> float:
    age = (now - (fact.said_at or fact.created_at)).total_seconds() / 86_400
    return float(0.5 ** (max(age, 0.0) / settings.recency_half_life_days))


STAGES: tuple[Stage, ...] = (context, recency)


def rank(ranked: Sequence[Ranked], now: datetime, settings: RecallSettings) -> list[Ranked]:
    """Return the found facts, best first; equal ones by their ids, so that the order never wavers."""
    for stage in STAGES:
        ranked = stage(ranked, now, settings)
    return sorted(ranked, key=lambda item: (-item.total, item.fact.id))
