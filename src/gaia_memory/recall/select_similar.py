"""Selects among facts those similar enough to a new one to contradict or repeat it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.language.distinctive_words import distinctive_stems
from gaia_memory.models import Draft, Fact, SimilarFact
from gaia_memory.models.fact import MIN_SHARED_WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_SIMILAR_FACTS = 5
MAX_SAMPLE_PAIRS = 200
SIMILARITY_PERCENTILE = 99.0
DEFAULT_COSINE = 0.5
"""Cosine from which facts are similar in a scope with fewer than `MAX_SAMPLE_PAIRS` pairs; above chance for most
models, of which some give unrelated sentences more."""

_MIN_FACTS = 21
"""The fewest facts that have `MAX_SAMPLE_PAIRS` different pairs."""


def similarity_threshold(rows: NDArray[np.float32]) -> float:
    """Return the cosine that one in a hundred pairs of a scope's unit vectors exceeds; for few vectors, the default.

    Models differ widely in what they give to unrelated texts, so it is measured on `MAX_SAMPLE_PAIRS` random pairs, the
    same ones for the same number of vectors.
    """
    if len(rows) < _MIN_FACTS:
        return DEFAULT_COSINE
    random = np.random.default_rng(len(rows))
    first = random.integers(0, len(rows), MAX_SAMPLE_PAIRS)
    other = (first + random.integers(1, len(rows), MAX_SAMPLE_PAIRS)) % len(rows)
    return float(np.percentile(np.sum(rows[first] * rows[other], axis=1), SIMILARITY_PERCENTILE))


def select_similar(
    text: str, candidates: Sequence[Fact], cosines: Mapping[str, float], *, limit: int = MAX_SIMILAR_FACTS
) -> list[SimilarFact]:
    """Return the candidates that share enough words with a text or have one of `cosines`, the most similar first.

    The best by vector and the best by words take turns, so that neither kind crowds out the other.
    """
    words = distinctive_stems(text)
    compared = (
        SimilarFact(fact=fact, cosine=cosines.get(fact.id, 0.0), shared_words=len(words & distinctive_stems(fact.text)))
        for fact in candidates
    )
    similar = [each for each in compared if each.fact.id in cosines or each.is_similar_by_words]
    similar.sort(key=lambda each: (-each.cosine, -each.shared_words, each.fact.id))
    by_words = sorted((each for each in similar if each.is_similar_by_words), key=lambda each: -each.shared_words)
    by_vector = [each for each in similar if each.fact.id in cosines]
    in_turn = (each for pair in zip_longest(by_vector, by_words) for each in pair if each is not None)
    return list({each.fact.id: each for each in in_turn}.values())[:limit]


def find_similar_drafts(drafts: Sequence[Draft], min_cosine: float) -> dict[int, int]:
    """Return the places of drafts that are similar to an earlier one, each with the place of the most similar.

    They share enough words, or their vectors have more than `min_cosine`.
    """
    words = [distinctive_stems(draft.fact.text) for draft in drafts]
    units = [_unit_vector(draft) for draft in drafts]
    found: dict[int, int] = {}
    for place, draft in enumerate(drafts):
        best = (0.0, 0)
        for other in range(place):
            one, two = units[place], units[other]
            cosine = 0.0 if one is None or two is None or len(one) != len(two) else float(one @ two)
            likeness = (cosine if cosine > min_cosine else 0.0, len(words[place] & words[other]))
            is_alike = likeness[0] > 0 or likeness[1] >= MIN_SHARED_WORDS
            if is_alike and likeness > best and drafts[other].fact.text != draft.fact.text:
                best, found[place] = likeness, other
    return found


def _unit_vector(draft: Draft) -> NDArray[np.float32] | None:
    if draft.vector is None:
        return None
    vector = np.asarray(draft.vector, dtype=np.float32)
    return vector / np.float32(np.linalg.norm(vector) or 1.0)
