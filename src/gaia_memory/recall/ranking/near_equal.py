"""Orders statements that say nearly the same, or answer equally well, by the day on which they were said."""

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

NEAR_EQUAL_WINDOW = 50
"""Facts, from the best on, that may change their order."""

MIN_NEAR_EQUAL_SIMILARITY = 0.8
"""Cosine from which on two facts say nearly the same; different facts about one topic stay below it."""

TIE_SHARE = 0.01
"""Share of the best total by which two totals differ at most where the facts answer equally well."""

NEWER_STAGE = "newer"
"""The name in `Hit.why` of what a fact gains or loses because a near-equal or tied one is older or newer."""


_DAY_SECONDS = 86_400


def newest_first(ranked: Sequence[RankedFact], facts: FactColumns) -> list[RankedFact]:
    """Return the facts with the newest of each group of near-equal or tied ones in the group's best place, and so on.

    Places and totals stay those of the group, so no other fact moves.
    """
    window = ranked[:NEAR_EQUAL_WINDOW]
    if len(window) < 2:
        return list(ranked)
    indices = facts.indices_of([item.fact_id for item in window])
    totals = np.array([item.total for item in window])
    is_near = _pairwise_similarity(facts, indices) >= MIN_NEAR_EQUAL_SIMILARITY
    is_near |= np.abs(totals[:, None] - totals) <= TIE_SHARE * totals[0]
    # The question may ask for the older one, by its date.
    date_parts = np.array([item.parts.get("dates", 0.0) for item in window])
    is_near &= date_parts[:, None] == date_parts
    said_at, stored_at = facts.said_at[indices], facts.stored_at[indices]
    days = np.where(np.isnan(said_at), stored_at, said_at) // _DAY_SECONDS
    ordered, remaining = list(ranked), list(range(len(window)))
    while remaining:
        first = remaining[0]
        group = [place for place in remaining if place == first or is_near[first, place]]
        remaining = [place for place in remaining if place not in group]
        for place, source in zip(group, sorted(group, key=lambda each: -days[each]), strict=True):
            ordered[place] = _with_total(window[source], window[place].total)
    return ordered


def _with_total(item: RankedFact, total: float) -> RankedFact:
    gain = total - item.total
    return replace(item, parts={**item.parts, NEWER_STAGE: gain}) if gain else item


def _pairwise_similarity(facts: FactColumns, indices: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the cosine of the words and speakers of each two of these facts.

    Words are weighted by their IDF among these facts, so "lives in Rome" and "lives in Oslo" are not similar if many
    facts say who lives where.
    """
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
    return np.asarray(unit_rows @ unit_rows.T)
