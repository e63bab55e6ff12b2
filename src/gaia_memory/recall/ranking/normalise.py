"""Normalises totals to scores from 0 to 1, by the confidence that the question is answered at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from gaia_memory.models import Fact, FactEnd, Hit, OutdatedHit
from gaia_memory.recall.ranking.rank import RankedFact

_ROUNDING_TOLERANCE = 1e-9
"""Share of the greatest part below which a sum of parts counts as 0."""


def to_hits(
    ranked: Sequence[RankedFact], facts: Mapping[str, Fact], confidence: float, missing: Sequence[str] = ()
) -> list[Hit]:
    """Return the facts in `facts` as hits; the parts of each hit add up to its score.

    The best fact scores `confidence`, and each other one in proportion to its total.
    """
    best = ranked[0].total if ranked else 0.0
    # Parts that cancel each other out leave a rounding error, by which no part can be divided.
    has_scale = ranked and best > _ROUNDING_TOLERANCE * max(map(abs, ranked[0].parts.values()), default=0.0)

    def scale_part(part: float) -> float:
        # Divided first: the reciprocal of a tiny total is infinite.
        return confidence * (part / best) if has_scale else 0.0

    existing = [item for item in ranked if item.fact_id in facts]
    # Equal totals may differ by rounding, so each score is capped by the one before.
    scores = accumulate((scale_part(item.total) for item in existing), min)
    return [
        Hit(
            fact=facts[item.fact_id],
            score=score,
            why={stage: scale_part(part) for stage, part in item.parts.items()},
            missing=tuple(missing),
        )
        for item, score in zip(existing, scores, strict=True)
    ]


def to_outdated(hit: Hit, ending: FactEnd) -> OutdatedHit:
    """Return the hit of a fact that has ended: the reason takes its score back to 0."""
    why = {**hit.why, ending.why: -hit.score}
    return OutdatedHit(fact=hit.fact, score=0.0, why=why, missing=hit.missing, ending=ending)


def merge_hits(answers: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Return the hits of several scopes, best first; of equal texts only the first is kept."""
    hits: dict[str, Hit] = {}
    for answer in answers:
        for hit in answer:
            hits.setdefault(" ".join(hit.fact.text.casefold().split()), hit)
    return sorted(hits.values(), key=lambda hit: -hit.score)
