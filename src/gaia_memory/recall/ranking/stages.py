"""Small stages that each add one reason to the order of what was found.

Each returns one part a fact; a weight of 0 in the settings switches it off. The weights are few and round: around
them lies a plateau, measured on LoCoMo in two shapes (docs/explanation/recall.md).
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.recall.index.candidates import CandidateMatrix
from gaia_memory.recall.index.columns import NO_CATEGORY
from gaia_memory.recall.index.fact_columns import score_by_day
from gaia_memory.recall.query.parsed_query import ParsedQuery, expected_answer_types, refers_to_assistant

if TYPE_CHECKING:
    from numpy.typing import NDArray

BEST_IN_CONVERSATION_WEIGHT = 0.4
"""What of its likeness the best fact of a conversation also lends to each other one there."""

MAX_RARE_NAME_FACTS = 3
"""Facts that may hold a name which still tells them from all others."""

USER_SPEAKERS = frozenset({"user", "human"})
"""How those who talk with an agent are called: by ADK, which gives an answer the name of its agent, and by others."""

_DAY = 86_400
_BM25_K1 = 1.0
_BM25_B = 0.75
"""k1 and b of BM25 (Robertson and Zaragoza, 2009), low because memories are short and of mixed length."""


def keywords(pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return BM25 over the words of each fact and, in part, of its neighbours, from 0 to 1.

    What a neighbour lends is weighted by how short both are: a short line needs and lends context, a long one stands
    for itself.
    """
    neighbours, lengths = pool.neighbours, pool.columns.context_lengths[pool.fact_indices]
    damping = _BM25_K1 * (1 - _BM25_B + _BM25_B * lengths / lengths.mean())
    total = np.zeros(len(pool))
    for term, idf in enumerate(pool.idf.tolist()):
        term_counts = pool.term_counts[:, term]
        counts = term_counts + _sum_by_row(
            pool, neighbours.rows, neighbours.word_weights * term_counts[neighbours.neighbour_rows]
        )
        total += idf * counts * (_BM25_K1 + 1) / (counts + damping)
    return _scale_to_max(total)


def add_neighbour_scores(pool: CandidateMatrix, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores with what neighbours lend of theirs, as they lend words.

    A sentence that was worded to stand alone needs nothing of it: only what somebody said in a conversation does.
    """
    is_spoken, neighbours = pool.speakers != NO_CATEGORY, pool.neighbours
    return np.asarray(
        scores
        + _sum_by_row(pool, neighbours.rows, neighbours.vector_weights * scores[neighbours.neighbour_rows]) * is_spoken
    )


def conversation_bonus(pool: CandidateMatrix, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the best of each fact's conversation lends: what answers may stand far from what is like a question.

    One that stands in no conversation is the best of its own.
    """
    conversations, numbers = np.unique(pool.columns.conversation_keys[pool.fact_indices], return_inverse=True)
    best = np.zeros(len(conversations))
    np.maximum.at(best, numbers, scores)
    return np.asarray(BEST_IN_CONVERSATION_WEIGHT * best[numbers])


def neighbour_match(pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return how much of the question stands within three turns of each fact, rare words counting more; 0 to 1."""
    has_term_nearby = pool.has_term.copy()
    pair, term = np.nonzero(pool.has_term[pool.neighbours.neighbour_rows])
    has_term_nearby[pool.neighbours.rows[pair], term] = True
    return _scale_to_max((pool.idf * has_term_nearby).sum(axis=1))


def conversation_match(pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return how much of the question stands in each fact's conversation, as far as it was found; 0 to 1."""
    conversations, numbers = np.unique(pool.columns.conversation_keys[pool.fact_indices], return_inverse=True)
    total = np.zeros(len(conversations))
    for term, idf in enumerate(pool.idf.tolist()):
        counts = np.bincount(numbers, pool.term_counts[:, term], minlength=len(conversations))
        total += idf * counts / (counts + 1.5)
    return _scale_to_max(total[numbers])


def phrases(pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return how many words of the question stand in a row in a fact, by their rarity, up to two, halved."""
    return np.minimum(pool.phrase_scores, 2) / 2


def speaker(question: ParsedQuery, pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return 1 for what the one person said whom the question names; of several nobody knows who is meant.

    Where it names nobody and people talk with an agent, "my" points to what the user said and "did you recommend" to
    what the agent answered.
    """
    speakers = pool.columns.speakers.categories
    if len(pool.named_speakers) == 1:
        is_match = [each in pool.named_speakers for each in speakers]
    else:
        is_about_assistant = refers_to_assistant(question.text)
        if pool.named_speakers or is_about_assistant is None or USER_SPEAKERS.isdisjoint(speakers):
            return np.zeros(len(pool))
        is_match = [(each not in USER_SPEAKERS) == is_about_assistant for each in speakers]
    return np.array([*is_match, False], dtype=np.float64)[pool.speakers]


def subject(question: ParsedQuery, pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return 1 for what begins with the one name that the question names; of several nobody knows who is meant.

    A sentence that was worded to stand alone says first whom it is about: "Maria volunteers" against "John admires
    Maria". A line that somebody says begins with whom it is said to.
    """
    named = [rows for rows in map(pool.find_leading_name, sorted(question.proper_names)) if len(rows)]
    found = np.zeros(len(pool))
    if len(named) == 1:
        found[named[0]] = 1.0
    return found


def names(question: ParsedQuery, pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return the share of the rare names and numbers asked for that each fact holds, by their rarity, from 0 to 1.

    Rare is what few facts hold. Two common words that stand together must not outweigh the one number that is meant.
    """
    document_frequency = pool.has_term.sum(axis=0)
    is_rare_name = question.name_mask() & (document_frequency > 0) & (document_frequency <= MAX_RARE_NAME_FACTS)
    weights = np.where(is_rare_name, pool.idf, 0.0)
    return np.asarray(pool.has_term @ weights / max(weights.sum(), 1e-9))


def dates(question: ParsedQuery, pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return how close what was said is to the dates in the question, from 0 to 2."""
    if not question.dates.months and not question.dates.years:
        return np.zeros(len(pool))
    return score_by_day(pool.columns.said_at[pool.fact_indices], question.dates.closeness)


def answer_type_match(question: ParsedQuery, pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return 1 for a fact that holds the kind of expression asked for: a time, a number, a place, a title."""
    return ((pool.columns.answer_types[pool.fact_indices] & expected_answer_types(question.text)) > 0).astype(
        np.float64
    )


def question_share(pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return the share of each fact's characters that stands in sentences which ask: those tell nothing.

    It counts as far as a fact is short: in a long message somebody asks for one thing and tells of others.
    """
    return pool.columns.question_shares[pool.fact_indices] * pool.columns.context_weights[pool.fact_indices]


def recency(pool: CandidateMatrix, now: datetime, half_life_days: float) -> NDArray[np.float64]:
    """Return 1 for what was said now, half of it after each half life."""
    said_at, stored_at = pool.columns.said_at[pool.fact_indices], pool.columns.stored_at[pool.fact_indices]
    days = (now.timestamp() - np.where(np.isnan(said_at), stored_at, said_at)) / _DAY
    return np.asarray(0.5 ** (np.maximum(days, 0.0) / half_life_days))


def _sum_by_row(pool: CandidateMatrix, rows: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each fact the sum of the values of its rows."""
    return np.bincount(rows, values, minlength=len(pool)).astype(np.float64, copy=False)


def _scale_to_max(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    best = scores.max(initial=0.0)
    return scores / best if best > 0 else np.zeros_like(scores)
