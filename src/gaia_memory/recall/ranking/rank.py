"""Adds up what each stage finds in the pool of candidates."""

from __future__ import annotations

from collections.abc import Mapping
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
"""The retrievers whose finds are scored anew here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedFact:
    """A found fact with the part that each stage contributed to its place, and its share of the words asked for."""

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
    """Return the facts of the pool, best first, at most `limit`; equal ones by their ids: the order never wavers.

    `retriever_scores` are the scores that each retriever gave, by fact. By scores, not by ranks: ranks let the weaker
    retriever outvote the better one. The words are scored anew, with what stands beside them. A filler adds nothing to
    what another found, and what it alone found comes below all of that.
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
    # The index knows forms of a word that the stages do not, and a year alone says little: neither is dropped.
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
    """Return the first of these rows by their totals, equal ones by their ids."""
    if limit is not None and len(rows) > limit:
        last = np.partition(-total[rows], limit - 1)[limit - 1]
        rows = rows[-total[rows] <= last]
    return rows[np.lexsort((ids[rows], -total[rows]))][:limit]


def _word_parts(
    question: ParsedQuery, pool: CandidateMatrix, settings: RecallSettings
) -> dict[str, NDArray[np.float64]]:
    """Return the parts of what holds a word of the question, stands beside what does, or was said when it asks for."""
    keyword_scores, date_scores, neighbour_scores = (
        stages.keywords(pool),
        stages.dates(question, pool),
        stages.neighbour_match(pool),
    )
    parts = {
        KEYWORD_RETRIEVER: settings.keywords * keyword_scores,
        "surroundings": settings.surroundings * neighbour_scores,
        "conversation": settings.conversation * stages.conversation_match(pool),
        "phrases": settings.phrases * stages.phrases(pool),
        "speaker": settings.speaker * stages.speaker(question, pool),
        "subject": settings.subject * stages.subject(question, pool),
        "names": settings.names * stages.names(question, pool),
        DATE_RETRIEVER: settings.dates * date_scores,
        "kinds": settings.kinds * stages.answer_type_match(question, pool) * keyword_scores,
    }
    is_relevant = (neighbour_scores > 0) | ((date_scores >= 1) & (settings.dates > 0))
    return {name: np.where(is_relevant, part, 0.0) for name, part in parts.items()}


def _with_context_scores(
    scores: NDArray[np.float64], pool: CandidateMatrix, settings: RecallSettings
) -> NDArray[np.float64]:
    """Return scores with what neighbours and the conversation lend of theirs, where those count for the words, too."""
    neighbour_scores = stages.add_neighbour_scores(pool, scores) if settings.surroundings else scores
    return neighbour_scores + stages.conversation_bonus(pool, scores) if settings.conversation else neighbour_scores


def _min_shifted_z(rows: NDArray[np.int64], scores: NDArray[np.float64], fact_count: int) -> NDArray[np.float64]:
    """Return the distance from the weakest candidate in standard deviations: their z-scores, shifted.

    So shifted, not being found adds nothing.
    """
    shifted = np.zeros(fact_count)
    if len(rows):
        spread = scores.std()
        shifted[rows] = 1.0 if spread < 1e-9 else (scores - scores.min()) / spread
    return shifted


def _score_fallbacks(
    total: NDArray[np.float64], is_found: NDArray[np.bool_], rows: NDArray[np.int64], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return parts for what nobody else found, below everything that others found; the best counts half of that."""
    part = np.zeros(len(total))
    if len(rows):
        ceiling = total[is_found].min() if is_found.any() else 1.0
        part[rows] = 0.5 * ceiling * np.maximum(scores, 0.0) / max(1.0, scores.max())
    return np.where(is_found, 0.0, part)
