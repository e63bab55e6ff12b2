"""Brings together what several retrievers found."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, pstdev

from gaia_memory.models import Candidate
from gaia_memory.recall.settings import RecallSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """A found fact's id and the part each retriever contributed to it."""

    fact_id: str
    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """The sum of its parts."""
        return sum(self.parts.values())


def fuse(found: Mapping[str, Iterable[Candidate]], settings: RecallSettings) -> list[Fused]:
    """Return every found id once, best first, with what each retriever contributed.

    By scores, not by ranks: ranks let the weaker retriever outvote the better one. The leading retriever
    counts its score over its best one (0 to 1). The others add `vote` times the distance from their weakest
    candidate in standard deviations: their z-score, shifted so that not being found adds nothing. A filler
    adds nothing to what another found; what it alone found comes below all of that.
    """
    scores = {name: best_scores(candidates) for name, candidates in found.items()}
    parts: dict[str, dict[str, float]] = {}
    for name in sorted(scores):
        if name in settings.fillers:
            continue
        shares = _of_best(scores[name]) if name == settings.lead else _votes(scores[name], settings.vote)
        for fact_id, share in shares.items():
            parts.setdefault(fact_id, {})[name] = share
    _fill(parts, {name: scores[name] for name in sorted(scores) if name in settings.fillers})
    fused = [Fused(fact_id=fact_id, parts=shares) for fact_id, shares in parts.items()]
    return sorted(fused, key=lambda item: (-item.total, item.fact_id))


def best_scores(candidates: Iterable[Candidate]) -> dict[str, float]:
    """Return each id's best score; one that is no number counts as 0."""
    scores: dict[str, float] = {}
    for candidate in candidates:
        score = candidate.score if math.isfinite(candidate.score) else 0.0
        scores[candidate.fact_id] = max(score, scores.get(candidate.fact_id, score))
    return scores


def _of_best(scores: Mapping[str, float]) -> dict[str, float]:
    best = max(scores.values(), default=0.0)
    if best <= 0:
        return dict.fromkeys(scores, 1.0)
    return {fact_id: max(score, 0.0) / best for fact_id, score in scores.items()}


def _votes(scores: Mapping[str, float], vote: float) -> dict[str, float]:
    if not scores:
        return {}
    weakest = min(scores.values())
    spread = pstdev(scores.values(), fmean(scores.values()))
    if spread < 1e-9:
        return dict.fromkeys(scores, vote)
    return {fact_id: vote * (score - weakest) / spread for fact_id, score in scores.items()}


def _fill(parts: dict[str, dict[str, float]], fillers: Mapping[str, Mapping[str, float]]) -> None:
    """Add what only fillers found, below everything in `parts`."""
    ceiling = min((sum(shares.values()) for shares in parts.values()), default=1.0)
    taken = set(parts)
    for name, scores in fillers.items():
        for fact_id, score in scores.items():
            if fact_id not in taken:
                parts.setdefault(fact_id, {})[name] = 0.5 * ceiling * min(max(score, 0.0), 1.0)
