"""Keeps several wordings of one thing from filling an answer."""

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
"""How many of the best facts change places; what comes behind them stays there."""

MIN_DUPLICATE_SIMILARITY = 0.8
"""Likeness from which on two facts say the same in other words; talk of one thing stays below it."""


def diversify(ranked: Sequence[RankedFact], shelf: FactColumns, weight: float) -> list[RankedFact]:
    """Return the facts with the first of them chosen one by one, each by its total less its likeness to those chosen.

    That is maximal marginal relevance (Carbonell and Goldstein, 1998), of near duplicates alone: the likeness of two
    facts is the cosine of their words and who said them, from 0 at `MIN_DUPLICATE_SIMILARITY` to 1, and costs `weight`
    times the total. A word counts by how rare it is among these facts: "lives in Rome" and "lives in Oslo" are not
    alike where many say who lives where.
    """
    window = list(ranked[:DIVERSITY_WINDOW])
    if not weight or len(window) < 2:
        return list(ranked)
    similarities = _pairwise_similarity(shelf, shelf.indices_of([item.fact_id for item in window]))
    if not similarities.any():
        return list(ranked)
    max_similarity = np.zeros(len(window))
    totals = np.array([item.total for item in window])
    chosen: list[RankedFact] = []
    remaining = list(range(len(window)))
    while remaining:
        best = max(remaining, key=lambda place: (totals[place] * (1 - weight * max_similarity[place]), -place))
        remaining.remove(best)
        chosen.append(_penalize(window[best], weight * float(max_similarity[best])))
        max_similarity = np.maximum(max_similarity, similarities[best])
    return sorted([*chosen, *ranked[DIVERSITY_WINDOW:]], key=lambda item: -item.total)


def _penalize(item: RankedFact, penalty: float) -> RankedFact:
    return replace(item, parts={**item.parts, "diversity": -penalty * item.total}) if penalty else item


def _pairwise_similarity(shelf: FactColumns, indices: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how alike each two of these facts are, from 0 to 1; none is like itself."""
    word_column = shelf.words.select(indices)
    words, columns = np.unique(word_column.values, return_inverse=True)
    speakers = shelf.speakers.codes[indices]
    speaker_columns = len(words) + speakers
    term_matrix = np.zeros((len(indices), len(words) + len(shelf.speakers.categories)))
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
