"""Ranks candidates by the sum of what each stage contributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.config.sections.recall_section import RecallConfig, RecallWeights
from gaia_memory.models import Fact, FactEnd, Hit, OutdatedHit
from gaia_memory.recall.index.candidates import CandidateMatrix
from gaia_memory.recall.index.vector_search import VectorMatches
from gaia_memory.recall.query.expansion import ExpandedQuery
from gaia_memory.recall.query.parsed_query import ParsedQuery
from gaia_memory.recall.ranking import stages

if TYPE_CHECKING:
    from numpy.typing import NDArray


STAGES: Mapping[str, Callable[[ParsedQuery, CandidateMatrix], NDArray[np.float64]]] = {
    "keywords": stages.keywords,
    "surroundings": stages.neighbour_match,
    "conversation": stages.conversation_match,
    "speaker": stages.speaker,
    "subject": stages.subject,
    "names": stages.names,
    "dates": stages.dates,
}
"""The stages by name, which is the key in `Hit.why` and the key of the weight in `memory.recall.weights`.

`rank` adds three that need more than these arguments: vectors, `asking` and `doubt`.
"""

IN_DOUBT_SHARE = 0.8
"""Share of the score that a fact loses if it may hold no longer."""

MIN_SPREAD = 0.02
"""Standard deviation of cosines below which they differ by chance."""

_ROUNDING_TOLERANCE = 1e-9
"""Share of the greatest part below which a sum of parts counts as 0."""

MAX_AUTO_LIMIT = 10
"""The most facts of an answer whose number depends on the scores."""

NOISE_RATIO = 0.6
"""Share of the best total below which a fact is noise: the rest of an answer holds 5 to 10 % of the evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedFact:
    """A fact with the part that each stage contributed to its total.

    `confidence` is how well it answers the question, from 0 to 1: the share of the question's words in it, or the
    cosine of its vector.
    """

    fact_id: str
    parts: Mapping[str, float]
    confidence: float

    @property
    def total(self) -> float:
        """The sum of its parts."""
        return sum(self.parts.values())


def rank(
    expanded: ExpandedQuery,
    pool: CandidateMatrix,
    matches: VectorMatches,
    settings: RecallConfig,
    *,
    limit: int | None = None,
) -> list[RankedFact]:
    """Return the facts of the pool, best first, at most `limit`; facts with equal totals are sorted by id.

    Fusion adds scores, not ranks, because ranks let a weak retriever outvote a better one. Facts that only their date
    or a fallback finds rank below all others.
    """
    if not len(pool):
        return []
    question, weights = expanded.question, settings.weights
    parts = _word_parts(question, pool, weights)
    is_found = np.sum(list(parts.values()), axis=0) > 0
    rows, scores = pool.rows_and_scores(matches.scores)
    parts["vectors"] = weights.vectors * _with_context_scores(_min_shifted_z(rows, scores, len(pool)), pool, weights)
    is_found[rows] = True
    total = np.sum(list(parts.values()), axis=0)
    parts["asking"] = -weights.asking * stages.question_share(pool) * total
    total = total + parts["asking"]
    date_relevance = stages.date_relevance(question, pool) * (weights.dates > 0)
    date_rows = np.flatnonzero(date_relevance)
    fallback_part = _score_fallbacks(total, is_found, date_rows, date_relevance[date_rows])
    parts["dates"] = parts["dates"] + fallback_part
    total = total + fallback_part
    is_found[date_rows] = True
    parts["doubt"] = np.where(pool.columns.is_in_doubt[pool.fact_indices], -IN_DOUBT_SHARE * total, 0.0)
    rows = _top_rows(total + parts["doubt"], np.flatnonzero(is_found), pool.ids, limit)
    confidences = np.maximum(pool.query_coverage(expanded, rows), date_relevance[rows])
    return [
        RankedFact(
            fact_id=fact_id,
            parts={name: float(part[row]) for name, part in parts.items() if part[row]},
            confidence=min(1.0, max(confidence, matches.cosines.get(fact_id, 0.0))),
        )
        for row, confidence, fact_id in zip(
            rows.tolist(), confidences.tolist(), (each.decode() for each in pool.ids[rows].tolist()), strict=True
        )
    ]


def _top_rows(
    total: NDArray[np.float64], rows: NDArray[np.int64], ids: NDArray[np.bytes_], limit: int | None
) -> NDArray[np.int64]:
    """Return the rows with the highest totals; equal ones are sorted by id."""
    if limit is not None and len(rows) > limit:
        last = np.partition(-total[rows], limit - 1)[limit - 1]
        rows = rows[-total[rows] <= last]
    return rows[np.lexsort((ids[rows], -total[rows]))][:limit]


def _word_parts(question: ParsedQuery, pool: CandidateMatrix, weights: RecallWeights) -> dict[str, NDArray[np.float64]]:
    """Return the weighted scores of `STAGES`, for facts with a word of the question nearby or said at its date."""
    scores = {name: stage(question, pool) for name, stage in STAGES.items()}
    is_dated = (scores["dates"] >= 1) & (weights.dates > 0)
    is_relevant = (scores["surroundings"] > 0) | is_dated
    return {name: np.where(is_relevant, getattr(weights, name) * scores[name], 0.0) for name in STAGES}


def _with_context_scores(
    scores: NDArray[np.float64], pool: CandidateMatrix, weights: RecallWeights
) -> NDArray[np.float64]:
    """Return scores with a share of the neighbours' and the conversation's, if these stages are switched on."""
    neighbour_scores = stages.add_neighbour_scores(pool, scores) if weights.surroundings else scores
    return neighbour_scores + stages.conversation_bonus(pool, scores) if weights.conversation else neighbour_scores


def _min_shifted_z(rows: NDArray[np.int64], scores: NDArray[np.float64], fact_count: int) -> NDArray[np.float64]:
    """Return the z-scores of the candidates, shifted so that the weakest has 0, like a fact that was not found."""
    shifted = np.zeros(fact_count)
    if len(rows):
        spread = scores.std()
        shifted[rows] = 1.0 if spread < 1e-9 else (scores - scores.min()) / max(spread, MIN_SPREAD)
    return shifted


def _score_fallbacks(
    total: NDArray[np.float64], is_found: NDArray[np.bool_], rows: NDArray[np.int64], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return parts for facts that nothing else found: at most half the lowest total of the others."""
    part = np.zeros(len(total))
    if len(rows):
        ceiling = total[is_found].min() if is_found.any() else 1.0
        part[rows] = 0.5 * ceiling * np.maximum(scores, 0.0) / max(1.0, scores.max())
    return np.where(is_found, 0.0, part)


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


def merge_hits(answers: Sequence[Sequence[Hit]], *, trusts_all: bool = False) -> list[Hit]:
    """Return the hits of several scopes, best first; of equal texts only the first is kept.

    Unless it `trusts_all`, those that are unconfirmed come behind all others, whatever their scores.
    """

    def is_behind(hit: Hit) -> bool:
        return hit.fact.is_unconfirmed and not trusts_all

    hits: dict[str, Hit] = {}
    for hit in sorted((hit for answer in answers for hit in answer), key=is_behind):
        hits.setdefault(" ".join(hit.fact.text.casefold().split()), hit)
    return sorted(hits.values(), key=lambda hit: (is_behind(hit), -hit.score))


def cap_scores(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits in this order, none with a higher score than one before; the part `trust` takes the excess."""
    lowest = list(accumulate((hit.score for hit in hits), min))
    return [
        hit if hit.score == cap else replace(hit, score=cap, why={**hit.why, "trust": cap - hit.score})
        for hit, cap in zip(hits, lowest, strict=True)
    ]


def count_relevant(ranked: Sequence[RankedFact]) -> int:
    """Return how many facts, best first, are more than noise beside the best: at most 10; doubt makes no noise."""
    scores = [item.total - item.parts.get("doubt", 0.0) for item in ranked[:MAX_AUTO_LIMIT]]
    return sum(score >= NOISE_RATIO * scores[0] for score in scores)
