"""Ranks candidates by the sum of what each stage contributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.config.sections.recall_section import RecallConfig, RecallWeights
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
    "phrases": stages.phrases,
    "speaker": stages.speaker,
    "subject": stages.subject,
    "names": stages.names,
    "dates": stages.dates,
}
"""The stages by name, which is the key in `Hit.why` and the key of the weight in `memory.recall.weights`.

`rank` adds four that need more than these arguments: vectors, `asking`, `recency` and `doubt`.
"""

IN_DOUBT_SHARE = 0.8
"""Share of the score that a fact loses if it may hold no longer."""


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
    now: datetime,
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
    if not matches.is_fallback:
        parts[matches.name] = weights.vectors * _with_context_scores(
            _min_shifted_z(rows, scores, len(pool)), pool, weights
        )
        is_found[rows] = True
    total = np.sum(list(parts.values()), axis=0)
    parts["asking"] = -weights.asking * stages.question_share(pool) * total
    total = total + parts["asking"]
    date_relevance = stages.date_relevance(question, pool) * (weights.dates > 0)
    date_rows = np.flatnonzero(date_relevance)
    fallback_scores = {"dates": (date_rows, date_relevance[date_rows])}
    if matches.is_fallback:
        fallback_scores[matches.name] = rows, scores
    for name, (fallback_rows, found_scores) in fallback_scores.items():
        part = _score_fallbacks(total, is_found, fallback_rows, found_scores)
        parts[name] = parts.get(name, 0.0) + part
        total = total + part
        is_found[fallback_rows] = True
    recency_part = weights.recency * stages.recency(pool, now, settings.recency_half_life_days)
    parts["recency"] = recency_part * np.minimum(1.0, total)
    total = total + parts["recency"]
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
        shifted[rows] = 1.0 if spread < 1e-9 else (scores - scores.min()) / spread
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
