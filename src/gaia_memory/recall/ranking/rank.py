"""Ranks candidates by the sum of what each stage contributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.recall.index.candidates import CandidateMatrix
from gaia_memory.recall.query.parsed_query import ParsedQuery
from gaia_memory.recall.ranking import stages
from gaia_memory.recall.settings import RecallSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray


KEYWORD_RETRIEVER = "keywords"
DATE_RETRIEVER = "dates"
"""Retrievers whose candidates are scored again here."""

STAGES: Mapping[str, Callable[[ParsedQuery, CandidateMatrix], NDArray[np.float64]]] = {
    KEYWORD_RETRIEVER: lambda _, pool: stages.keywords(pool),
    "surroundings": lambda _, pool: stages.neighbour_match(pool),
    "conversation": lambda _, pool: stages.conversation_match(pool),
    "phrases": lambda _, pool: stages.phrases(pool),
    "speaker": stages.speaker,
    "subject": stages.subject,
    "names": stages.names,
    DATE_RETRIEVER: stages.dates,
    "kinds": stages.answer_type_match,
}
"""The stages by name, which is the key in `Hit.why` and the field of `RecallSettings` that contains the weight.

`rank` adds four that need more than these arguments: vectors, `asking`, fallback retrievers and `recency`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedFact:
    """A fact with the part that each stage contributed to its total, and the share of the question's words in it."""

    fact_id: str
    parts: Mapping[str, float]
    query_coverage: float

    @property
    def total(self) -> float:
        """The sum of its parts."""
        return sum(self.parts.values())


def rank(
    question: ParsedQuery,
    pool: CandidateMatrix,
    retriever_scores: Mapping[str, Mapping[str, float]],
    now: datetime,
    settings: RecallSettings,
    *,
    limit: int | None = None,
) -> list[RankedFact]:
    """Return the facts of the pool, best first, at most `limit`; facts with equal totals are sorted by id.

    `retriever_scores` are the scores of each retriever by fact. Fusion adds scores, not ranks, because ranks let a
    weak retriever outvote a better one. Words are scored again, together with the neighbours of a fact. A fallback
    retriever adds nothing to facts that another found, and facts that only it found rank below all others.
    """
    if not len(pool):
        return []
    parts = _word_parts(question, pool, settings)
    is_found = np.sum(list(parts.values()), axis=0) > 0
    for name in sorted(retriever_scores.keys() - settings.fallback_retrievers - {KEYWORD_RETRIEVER, DATE_RETRIEVER}):
        rows, scores = pool.rows_and_scores(retriever_scores[name])
        parts[name] = settings.vectors * _with_context_scores(_min_shifted_z(rows, scores, len(pool)), pool, settings)
        is_found[rows] = True
    total = np.sum(list(parts.values()), axis=0)
    parts["asking"] = -settings.asking * stages.question_share(pool) * total
    total = total + parts["asking"]
    # Facts found only by other forms of a word, or only by a year, are kept below the others.
    for name in (KEYWORD_RETRIEVER, DATE_RETRIEVER, *sorted(settings.fallback_retrievers & retriever_scores.keys())):
        rows, scores = pool.rows_and_scores(retriever_scores.get(name, {}))
        fallback_part = _score_fallbacks(total, is_found, rows, scores)
        parts[name] = parts.get(name, 0.0) + fallback_part
        total = total + fallback_part
        is_found[rows] = True
    recency_part = settings.recency * stages.recency(pool, now, settings.recency_half_life_days)
    parts["recency"] = recency_part * np.minimum(1.0, total)
    rows = _top_rows(total + parts["recency"], np.flatnonzero(is_found), pool.ids, limit)
    coverages = pool.query_coverage(question, rows)
    return [
        RankedFact(
            fact_id=pool.ids[row].decode(),
            parts={name: float(part[row]) for name, part in parts.items() if part[row]},
            query_coverage=share,
        )
        for row, share in zip(rows.tolist(), coverages.tolist(), strict=True)
    ]


def _top_rows(
    total: NDArray[np.float64], rows: NDArray[np.int64], ids: NDArray[np.bytes_], limit: int | None
) -> NDArray[np.int64]:
    """Return the rows with the highest totals; equal ones are sorted by id."""
    if limit is not None and len(rows) > limit:
        last = np.partition(-total[rows], limit - 1)[limit - 1]
        rows = rows[-total[rows] <= last]
    return rows[np.lexsort((ids[rows], -total[rows]))][:limit]


def _word_parts(
    question: ParsedQuery, pool: CandidateMatrix, settings: RecallSettings
) -> dict[str, NDArray[np.float64]]:
    """Return the weighted scores of `STAGES`, for facts with a word of the question nearby or said at its date."""
    scores = {name: stage(question, pool) for name, stage in STAGES.items()}
    # The expected type of answer counts only in facts with words of the question.
    scores["kinds"] = scores["kinds"] * scores[KEYWORD_RETRIEVER]
    is_dated = (scores[DATE_RETRIEVER] >= 1) & (settings.dates > 0)
    is_relevant = (scores["surroundings"] > 0) | is_dated
    return {name: np.where(is_relevant, getattr(settings, name) * scores[name], 0.0) for name in STAGES}


def _with_context_scores(
    scores: NDArray[np.float64], pool: CandidateMatrix, settings: RecallSettings
) -> NDArray[np.float64]:
    """Return scores with a share of the neighbours' and the conversation's, if these stages are switched on."""
    neighbour_scores = stages.add_neighbour_scores(pool, scores) if settings.surroundings else scores
    return neighbour_scores + stages.conversation_bonus(pool, scores) if settings.conversation else neighbour_scores


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
    """Return parts for facts that no other retriever found: at most half the lowest total of the others."""
    part = np.zeros(len(total))
    if len(rows):
        ceiling = total[is_found].min() if is_found.any() else 1.0
        part[rows] = 0.5 * ceiling * np.maximum(scores, 0.0) / max(1.0, scores.max())
    return np.where(is_found, 0.0, part)
