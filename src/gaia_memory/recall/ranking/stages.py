"""The stages of ranking: each scores all candidates by one criterion.

`ranking/rank.py` weighs and adds the scores. The weights are round numbers on a plateau, measured on LoCoMo in two
shapes (docs/explanation/recall.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.recall.index.candidates import CandidateMatrix
from gaia_memory.recall.index.columns import NO_CATEGORY
from gaia_memory.recall.index.fact_columns import USER_SPEAKERS, score_by_day
from gaia_memory.recall.query.dates import DateMentions
from gaia_memory.recall.query.parsed_query import ParsedQuery

if TYPE_CHECKING:
    from numpy.typing import NDArray

BEST_IN_CONVERSATION_WEIGHT = 0.4
"""Share of the score of the best fact of a conversation that counts for all facts there."""

MAX_RARE_NAME_FACTS = 3
"""Facts up to which a name in them counts as rare."""

_BM25_K1 = 1.0
BM25_B = 0.75
"""k1 and b of BM25 (Robertson and Zaragoza, 2009), low because facts are short and of mixed length."""


def keywords(_: ParsedQuery, pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return BM25 over the words of each fact and, in part, of its neighbours, from 0 to 1.

    Neighbours count more for short facts, which need context.
    """
    neighbours, lengths = pool.neighbours, pool.columns.context_lengths[pool.fact_indices]
    damping = _BM25_K1 * (1 - BM25_B + BM25_B * lengths / lengths.mean())
    total = np.zeros(len(pool))
    for term, idf in enumerate(pool.idf.tolist()):
        term_counts = pool.term_counts[:, term]
        counts = term_counts + _sum_by_row(
            pool, neighbours.rows, neighbours.word_weights * term_counts[neighbours.neighbour_rows]
        )
        total += idf * counts * (_BM25_K1 + 1) / (counts + damping)
    return _scale_to_max(total)


def add_neighbour_scores(pool: CandidateMatrix, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores plus shares of the neighbours' scores, for facts with a speaker.

    Facts without one were worded to be understood alone and need no context.
    """
    is_spoken, neighbours = pool.speakers != NO_CATEGORY, pool.neighbours
    return np.asarray(
        scores
        + _sum_by_row(pool, neighbours.rows, neighbours.vector_weights * scores[neighbours.neighbour_rows]) * is_spoken
    )


def conversation_bonus(pool: CandidateMatrix, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a share of the best score of each fact's conversation, because an answer may be turns away from it.

    A fact outside a conversation gets a share of its own score.
    """
    conversations, numbers = np.unique(pool.columns.conversation_keys[pool.fact_indices], return_inverse=True)
    best = np.zeros(len(conversations))
    np.maximum.at(best, numbers, scores)
    return np.asarray(BEST_IN_CONVERSATION_WEIGHT * best[numbers])


def neighbour_match(_: ParsedQuery, pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return how much of the question occurs within three turns of each fact, weighted by IDF, from 0 to 1."""
    has_term_nearby = pool.has_term.copy()
    pair, term = np.nonzero(pool.has_term[pool.neighbours.neighbour_rows])
    has_term_nearby[pool.neighbours.rows[pair], term] = True
    return _scale_to_max((pool.idf * has_term_nearby).sum(axis=1))


def conversation_match(_: ParsedQuery, pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return how much of the question occurs in the candidates of each fact's conversation, from 0 to 1."""
    conversations, numbers = np.unique(pool.columns.conversation_keys[pool.fact_indices], return_inverse=True)
    total = np.zeros(len(conversations))
    for term, idf in enumerate(pool.idf.tolist()):
        counts = np.bincount(numbers, pool.term_counts[:, term], minlength=len(conversations))
        total += idf * counts / (counts + 1.5)
    return _scale_to_max(total[numbers])


def speaker(question: ParsedQuery, pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return 1 for facts said by the person named in the question; several names are ambiguous and count for none.

    Where a question names nobody, it is 1 for what the user said, not for an answer of the agent.
    """
    speakers = pool.columns.speakers.categories
    if len(pool.named_speakers) == 1:
        is_match = [each in pool.named_speakers for each in speakers]
    else:
        if pool.named_speakers:
            return np.zeros(len(pool))
        is_match = [each in USER_SPEAKERS for each in speakers]
    return np.array([*is_match, False], dtype=np.float64)[pool.speakers]


def subject(question: ParsedQuery, pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return 1 for facts that begin with the name in the question; several names are ambiguous and count for none.

    A fact without a speaker begins with the person it is about: "Maria volunteers", but not "John admires Maria". An
    utterance begins with the person spoken to, so it does not count.
    """
    named = [rows for rows in map(pool.find_leading_name, sorted(question.proper_names)) if len(rows)]
    found = np.zeros(len(pool))
    if len(named) == 1:
        found[named[0]] = 1.0
    return found


def names(question: ParsedQuery, pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return the share of the question's rare names and numbers in each fact, weighted by IDF, from 0 to 1.

    So two frequent words in a row do not outweigh the number that the question is about.
    """
    document_frequency = pool.has_term.sum(axis=0)
    is_rare_name = question.name_mask() & (document_frequency > 0) & (document_frequency <= MAX_RARE_NAME_FACTS)
    weights = np.where(is_rare_name, pool.idf, 0.0)
    return np.asarray(pool.has_term @ weights / max(weights.sum(), 1e-9))


def dates(question: ParsedQuery, pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return how close the time of each fact is to the dates in the question, from 0 to 2."""
    return score_by_day(pool.columns.said_at[pool.fact_indices], question.dates, DateMentions.closeness)


def date_relevance(question: ParsedQuery, pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return how well the time of each fact alone answers the question, from 0 to 0.5."""
    return score_by_day(pool.columns.said_at[pool.fact_indices], question.dates, DateMentions.relevance)


def question_share(pool: CandidateMatrix) -> NDArray[np.float64]:
    """Return the share of questions in each fact's characters, because questions state nothing.

    It counts less for long facts, which usually contain statements as well.
    """
    return pool.columns.question_shares[pool.fact_indices] * pool.columns.context_weights[pool.fact_indices]


def _sum_by_row(pool: CandidateMatrix, rows: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each fact the sum of the values in its rows."""
    return np.bincount(rows, values, minlength=len(pool)).astype(np.float64, copy=False)


def _scale_to_max(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    best = scores.max(initial=0.0)
    return scores / best if best > 0 else np.zeros_like(scores)
