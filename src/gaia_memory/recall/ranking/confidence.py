"""How sure it is that memory answers a question at all."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gaia_memory.recall.index.candidates import CandidateMatrix
from gaia_memory.recall.index.vector_search import VectorMatches
from gaia_memory.recall.query.parsed_query import ParsedQuery
from gaia_memory.recall.ranking.rank import RankedFact

SAMPLE_SIZE = 10
"""Number of the best facts that show whether the question is answered."""

SILENT_BELOW = 0.17
"""Confidence below which memory rather says nothing: 2 % of the answerable questions have less."""

_MIN_KNOWN_SHARE = 1 / 3
"""Share of the question's words below which memory speaks another language, or of something else."""

_NEAREST, _USUAL_LEAD = 100, 0.25
"""Facts whose cosines are compared, and how far the nearest one stands out from them where it is the answer."""

_STRANGER_POINTS = 6.0, 2.0
"""Points of the logit that are lost where memory bears none of the names: among known words, and among strange ones."""


def answer_confidence(
    question: ParsedQuery,
    pool: CandidateMatrix,
    matches: VectorMatches,
    ranked: Sequence[RankedFact],
    *,
    calibrated: bool,
) -> float:
    """Return how sure it is that one of the ranked facts answers the question, from 0 to 1.

    For a `calibrated` embedder it is the logistic function of the share of the question's words and the cosine in the
    best fact, and of how far the nearest fact stands out from the hundred nearest. Where memory does not know the
    words, as in another language, only the nearest fact counts. Among fewer facts its lead says less: the usual one
    stands in, and its cosine has to be higher. The weights are those of a logistic regression on LoCoMo's questions, on
    the same about persons whom nobody bears, and on those of other conversations. For other embedders, whose cosines
    lie elsewhere, it is the share of the words or the cosine.
    """
    answered = max((item.confidence for item in ranked[:SAMPLE_SIZE]), default=0.0)
    if not calibrated or not matches.cosines or not answered:
        return answered
    cosines = np.fromiter(matches.cosines.values(), dtype=np.float64)
    missing = max(0.0, 1 - len(cosines) / _NEAREST)
    lead = float(cosines.max() - cosines.mean()) + _USUAL_LEAD * missing
    is_known = [any(pool.is_known[list(way)].any() for way in ways) for ways in question.word_alternatives]
    is_joined_known = pool.is_known[question.compound_terms].any()
    is_strange = np.mean(is_known or [False]) < _MIN_KNOWN_SHARE and not is_joined_known
    points = 20 * min(lead - 0.17, cosines.max() - 0.2 - 0.06 * missing) if is_strange else 5 * lead + 8 * answered - 6
    if any(is_known) and pool.columns.names_people and _names_only_strangers(question, pool):
        points -= _STRANGER_POINTS[int(is_strange)]
    return 1 / (1 + math.exp(-points))


def _names_only_strangers(question: ParsedQuery, pool: CandidateMatrix) -> bool:
    is_name = np.array([not family.isdisjoint(question.proper_names) for family in question.words], dtype=bool)
    return bool(is_name.any()) and not pool.is_known[is_name].any()
