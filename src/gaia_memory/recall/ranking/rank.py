"""Adds up what each stage finds in the pool of candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.recall.index.candidates import Pool
from gaia_memory.recall.query.parsed_query import Question
from gaia_memory.recall.ranking import stages
from gaia_memory.recall.settings import RecallSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray


WORDS = "keywords"
DATES = "dates"
"""The retrievers whose finds are scored anew here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A found fact with the part that each stage contributed to its place, and its share of the words asked for."""

    fact_id: str
    parts: Mapping[str, float]
    share: float

    @property
    def total(self) -> float:
        """The sum of its parts."""
        return sum(self.parts.values())


def rank(
    question: Question,
    pool: Pool,
    found: Mapping[str, Mapping[str, float]],
    now: datetime,
    settings: RecallSettings,
    *,
    first: int | None = None,
) -> list[Placed]:
    """Return the facts of the pool, best first, at most `first`; equal ones by their ids: the order never wavers.

    `found` are the scores that each retriever gave, by fact. By scores, not by ranks: ranks let the weaker retriever
    outvote the better one. The words are scored anew, with what stands beside them. A filler adds nothing to what
    another found, and what it alone found comes below all of that.
    """
    if not len(pool):
        return []
    parts = _of_words(question, pool, settings)
    there = np.sum(list(parts.values()), axis=0) > 0
    for name in sorted(found.keys() - settings.fillers - {WORDS, DATES}):
        rows, scores = pool.found(found[name])
        parts[name] = settings.vectors * _with_lent(_shifted(rows, scores, len(pool)), pool, settings)
        there[rows] = True
    total = np.sum(list(parts.values()), axis=0)
    parts["asking"] = -settings.asking * stages.asking(pool) * total
    total = total + parts["asking"]
    # The index knows forms of a word that the stages do not, and a year alone says little: neither is dropped.
    for name in (WORDS, DATES, *sorted(settings.fillers & found.keys())):
        rows, scores = pool.found(found.get(name, {}))
        below = _below(total, there, rows, scores)
        parts[name] = parts.get(name, 0.0) + below
        total = total + below
        there[rows] = True
    fresh = settings.recency * stages.recency(pool, now, settings.recency_half_life_days)
    parts["recency"] = fresh * np.minimum(1.0, total)
    rows = _best(total + parts["recency"], np.flatnonzero(there), pool.ids, first)
    shares = pool.shares(question, rows)
    return [
        Placed(
            fact_id=pool.ids[row].decode(),
            parts={name: float(part[row]) for name, part in parts.items() if part[row]},
            share=share,
        )
        for row, share in zip(rows.tolist(), shares.tolist(), strict=True)
    ]


def _best(
    total: NDArray[np.float64], rows: NDArray[np.int64], ids: NDArray[np.bytes_], first: int | None
) -> NDArray[np.int64]:
    """Return the first of these rows by their totals, equal ones by their ids."""
    if first is not None and len(rows) > first:
        last = np.partition(-total[rows], first - 1)[first - 1]
        rows = rows[-total[rows] <= last]
    return rows[np.lexsort((ids[rows], -total[rows]))][:first]


def _of_words(question: Question, pool: Pool, settings: RecallSettings) -> dict[str, NDArray[np.float64]]:
    """Return the parts of what holds a word of the question, stands beside what does, or was said when it asks for."""
    held, dated, around = stages.keywords(pool), stages.dates(question, pool), stages.surroundings(pool)
    parts = {
        WORDS: settings.keywords * held,
        "surroundings": settings.surroundings * around,
        "conversation": settings.conversation * stages.conversation(pool),
        "phrases": settings.phrases * stages.phrases(pool),
        "speaker": settings.speaker * stages.speaker(question, pool),
        "subject": settings.subject * stages.subject(question, pool),
        "names": settings.names * stages.names(question, pool),
        DATES: settings.dates * dated,
        "kinds": settings.kinds * stages.kinds(question, pool) * held,
    }
    near = (around > 0) | ((dated >= 1) & (settings.dates > 0))
    return {name: np.where(near, part, 0.0) for name, part in parts.items()}


def _with_lent(scores: NDArray[np.float64], pool: Pool, settings: RecallSettings) -> NDArray[np.float64]:
    """Return scores with what neighbours and the conversation lend of theirs, where those count for the words, too."""
    near = stages.lent_by_neighbours(pool, scores) if settings.surroundings else scores
    return near + stages.lent_by_conversation(pool, scores) if settings.conversation else near


def _shifted(rows: NDArray[np.int64], scores: NDArray[np.float64], facts: int) -> NDArray[np.float64]:
    """Return the distance from the weakest candidate in standard deviations: their z-scores, shifted.

    So shifted, not being found adds nothing.
    """
    shifted = np.zeros(facts)
    if len(rows):
        spread = scores.std()
        shifted[rows] = 1.0 if spread < 1e-9 else (scores - scores.min()) / spread
    return shifted


def _below(
    total: NDArray[np.float64], there: NDArray[np.bool_], rows: NDArray[np.int64], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return parts for what nobody else found, below everything that others found; the best counts half of that."""
    part = np.zeros(len(total))
    if len(rows):
        ceiling = total[there].min() if there.any() else 1.0
        part[rows] = 0.5 * ceiling * np.maximum(scores, 0.0) / max(1.0, scores.max())
    return np.where(there, 0.0, part)
