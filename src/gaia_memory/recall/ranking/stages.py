"""Small stages that each add one reason to the order of what was found.

Each returns one part a fact; a weight of 0 in the settings switches it off. The weights are few and round: around
them lies a plateau, measured on LoCoMo in two shapes (docs/explanation/recall.md).
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.recall.index.candidates import Pool
from gaia_memory.recall.index.columns import NONE
from gaia_memory.recall.index.fact_columns import by_day
from gaia_memory.recall.query.parsed_query import Question, asks_for_an_answer, kinds_asked

if TYPE_CHECKING:
    from numpy.typing import NDArray

LENT_BY_BEST = 0.4
"""What of its likeness the best fact of a conversation also lends to each other one there."""

FEW = 3
"""Facts that may hold a name which still tells them from all others."""

USERS = frozenset({"user", "human"})
"""How those who talk with an agent are called: by ADK, which gives an answer the name of its agent, and by others."""

_DAY = 86_400
_SATURATION = 1.0
_BY_LENGTH = 0.75
"""k1 and b of BM25 (Robertson and Zaragoza, 2009), low because memories are short and of mixed length."""


def keywords(pool: Pool) -> NDArray[np.float64]:
    """Return BM25 over the words of each fact and, in part, of its neighbours, from 0 to 1.

    What a neighbour lends is weighted by how short both are: a short line needs and lends context, a long one stands
    for itself.
    """
    beside, lengths = pool.beside, pool.shelf.lengths_with_lent[pool.chosen]
    damping = _SATURATION * (1 - _BY_LENGTH + _BY_LENGTH * lengths / lengths.mean())
    total = np.zeros(len(pool))
    for term, rarity in enumerate(pool.rarity.tolist()):
        held = pool.counts[:, term]
        counts = held + _added(pool, beside.ours, beside.lent * held[beside.theirs])
        total += rarity * counts * (_SATURATION + 1) / (counts + damping)
    return _of_best(total)


def lent_by_neighbours(pool: Pool, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores with what neighbours lend of theirs, as they lend words.

    A sentence that was worded to stand alone needs nothing of it: only what somebody said in a conversation does.
    """
    spoken, beside = pool.speakers != NONE, pool.beside
    return np.asarray(scores + _added(pool, beside.ours, beside.likeness * scores[beside.theirs]) * spoken)


def lent_by_conversation(pool: Pool, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the best of each fact's conversation lends: what answers may stand far from what is like a question.

    One that stands in no conversation is the best of its own.
    """
    known, numbers = np.unique(pool.shelf.keys[pool.chosen], return_inverse=True)
    best = np.zeros(len(known))
    np.maximum.at(best, numbers, scores)
    return np.asarray(LENT_BY_BEST * best[numbers])


def surroundings(pool: Pool) -> NDArray[np.float64]:
    """Return how much of the question stands within three turns of each fact, rare words counting more; 0 to 1."""
    near = pool.there.copy()
    pair, term = np.nonzero(pool.there[pool.beside.theirs])
    near[pool.beside.ours[pair], term] = True
    return _of_best((pool.rarity * near).sum(axis=1))


def conversation(pool: Pool) -> NDArray[np.float64]:
    """Return how much of the question stands in each fact's conversation, as far as it was found; 0 to 1."""
    known, numbers = np.unique(pool.shelf.keys[pool.chosen], return_inverse=True)
    total = np.zeros(len(known))
    for term, rarity in enumerate(pool.rarity.tolist()):
        counts = np.bincount(numbers, pool.counts[:, term], minlength=len(known))
        total += rarity * counts / (counts + 1.5)
    return _of_best(total[numbers])


def phrases(pool: Pool) -> NDArray[np.float64]:
    """Return how many words of the question stand in a row in a fact, by their rarity, up to two, halved."""
    return np.minimum(pool.pairs, 2) / 2


def speaker(question: Question, pool: Pool) -> NDArray[np.float64]:
    """Return 1 for what the one person said whom the question names; of several nobody knows who is meant.

    Where it names nobody and people talk with an agent, "my" points to what the user said and "did you recommend" to
    what the agent answered.
    """
    texts = pool.shelf.speakers.texts
    if len(pool.named) == 1:
        meant = [each in pool.named for each in texts]
    else:
        answered = asks_for_an_answer(question.text)
        if pool.named or answered is None or USERS.isdisjoint(texts):
            return np.zeros(len(pool))
        meant = [(each not in USERS) == answered for each in texts]
    return np.array([*meant, False], dtype=np.float64)[pool.speakers]


def subject(question: Question, pool: Pool) -> NDArray[np.float64]:
    """Return 1 for what begins with the one name that the question names; of several nobody knows who is meant.

    A sentence that was worded to stand alone says first whom it is about: "Maria volunteers" against "John admires
    Maria". A line that somebody says begins with whom it is said to.
    """
    named = [rows for rows in map(pool.beginning_with, sorted(question.proper_names)) if len(rows)]
    found = np.zeros(len(pool))
    if len(named) == 1:
        found[named[0]] = 1.0
    return found


def names(question: Question, pool: Pool) -> NDArray[np.float64]:
    """Return the share of the rare names and numbers asked for that each fact holds, by their rarity, from 0 to 1.

    Rare is what few facts hold. Two common words that stand together must not outweigh the one number that is meant.
    """
    known = pool.there.sum(axis=0)
    telling = question.naming() & (known > 0) & (known <= FEW)
    weights = np.where(telling, pool.rarity, 0.0)
    return np.asarray(pool.there @ weights / max(weights.sum(), 1e-9))


def dates(question: Question, pool: Pool) -> NDArray[np.float64]:
    """Return how close what was said is to the dates in the question, from 0 to 2."""
    if not question.dates.months and not question.dates.years:
        return np.zeros(len(pool))
    return by_day(pool.shelf.said_at[pool.chosen], question.dates.closeness)


def kinds(question: Question, pool: Pool) -> NDArray[np.float64]:
    """Return 1 for a fact that holds the kind of expression asked for: a time, a number, a place, a title."""
    return ((pool.shelf.kinds[pool.chosen] & kinds_asked(question.text)) > 0).astype(np.float64)


def asking(pool: Pool) -> NDArray[np.float64]:
    """Return the share of each fact's characters that stands in sentences which ask: those tell nothing.

    It counts as far as a fact is short: in a long message somebody asks for one thing and tells of others.
    """
    return pool.shelf.asking[pool.chosen] * pool.shelf.need[pool.chosen]


def recency(pool: Pool, now: datetime, half_life_days: float) -> NDArray[np.float64]:
    """Return 1 for what was said now, half of it after each half life."""
    said, kept = pool.shelf.said_at[pool.chosen], pool.shelf.kept_at[pool.chosen]
    days = (now.timestamp() - np.where(np.isnan(said), kept, said)) / _DAY
    return np.asarray(0.5 ** (np.maximum(days, 0.0) / half_life_days))


def _added(pool: Pool, rows: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each fact the sum of the values of its rows."""
    return np.bincount(rows, values, minlength=len(pool)).astype(np.float64, copy=False)


def _of_best(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    best = scores.max(initial=0.0)
    return scores / best if best > 0 else np.zeros_like(scores)
