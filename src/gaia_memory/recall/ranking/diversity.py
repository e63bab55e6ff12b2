"""Keeps near duplicates from filling an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.recall.index.columns import NO_CATEGORY
from gaia_memory.recall.index.fact_columns import FactColumns
from gaia_memory.recall.ranking.rank import RankedFact

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIVERSITY_WINDOW = 50
"""Facts, from the best on, that may change their order."""

MIN_DUPLICATE_SIMILARITY = 0.8
"""Similarity from which on two facts count as duplicates; different facts about one topic stay below it."""


def diversify(ranked: Sequence[RankedFact], facts: FactColumns, weight: float) -> list[RankedFact]:
    """Return the facts in an order that demotes near duplicates of better ones.

    This is maximal marginal relevance (Carbonell and Goldstein, 1998), limited to near duplicates. The similarity of
    two facts is the cosine of their words and speakers, scaled from 0 at `MIN_DUPLICATE_SIMILARITY` to 1; it costs
    `weight` times the total. Words are weighted by their IDF among these facts, so "lives in Rome" and "lives in Oslo"
    are not similar if many facts say who lives where.
    """
    window = list(ranked[:DIVERSITY_WINDOW])
    if not weight or len(window) < 2:
        return list(ranked)
    similarities = _pairwise_similarity(facts, facts.indices_of([item.fact_id for item in window]))
    if not similarities.any():
        return list(ranked)
    max_similarity = np.zeros(len(window))
    totals = np.array([item.total for item in window])
    chosen: list[RankedFact] = []
    remaining = list(range(len(window)))
    while remaining:
        best = max(remaining, key=lambda index: (totals[index] * (1 - weight * max_similarity[index]), -index))
        remaining.remove(best)
        chosen.append(_penalize(window[best], weight * float(max_similarity[best])))
        max_similarity = np.maximum(max_similarity, similarities[best])
    return sorted([*chosen, *ranked[DIVERSITY_WINDOW:]], key=lambda item: -item.total)


def _penalize(item: RankedFact, penalty: float) -> RankedFact:
    return replace(item, parts={**item.parts, "diversity": -penalty * item.total}) if penalty else item


def _pairwise_similarity(facts: FactColumns, indices: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the similarity of each two of these facts, from 0 to 1, with zeros on the diagonal."""
    word_column = facts.words.select(indices)
    words, columns = np.unique(word_column.values, return_inverse=True)
    speakers = facts.speakers.codes[indices]
    speaker_columns = len(words) + speakers
    term_matrix = np.zeros((len(indices), len(words) + len(facts.speakers.categories)))
    term_matrix[word_column.rows, columns] = 1.0
    has_speaker = speakers != NO_CATEGORY
    term_matrix[np.flatnonzero(has_speaker), speaker_columns[has_speaker]] = 1.0
    document_frequency = term_matrix.sum(axis=0)
    term_matrix *= np.log(1 + (len(indices) - document_frequency + 0.5) / (document_frequency + 0.5))
    lengths = np.linalg.norm(term_matrix, axis=1, keepdims=True)
    unit_rows = term_matrix / np.where(lengths > 0, lengths, 1.0)
    similarities = np.clip(
        (unit_rows @ unit_rows.T - MIN_DUPLICATE_SIMILARITY) / (1 - MIN_DUPLICATE_SIMILARITY), 0.0, 1.0
    )
    np.fill_diagonal(similarities, 0.0)
    return np.asarray(similarities)
