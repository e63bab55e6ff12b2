"""A second opinion: facts in the order of a model that reads each of them beside the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gaia_memory.recall.ranking.rank import RankedFact

RERANK_STAGE = "reranker"
"""Its name in `Hit.why` and `Hit.missing`."""


def blend_reranker_scores(ranked: Sequence[RankedFact], scores: Sequence[float], share: float) -> list[RankedFact]:
    """Return the facts with the first of them in a new order, by these scores of theirs; `share` is from 0 to 1.

    Cross-encoders score on scales of their own, so their scores are put on that of the totals: the best gets the
    highest of them, the worst the lowest. A fact's total is then `share` of that and the rest of what it was
    (interpolation of both, as in Lin, Nogueira and Yates, "Pretrained Transformers for Text Ranking", 2021, 3.2).
    What was not scored stays where it is, below.
    """
    first, rest = ranked[: len(scores)], ranked[len(scores) :]
    if not first or not share:
        return list(ranked)
    highest, lowest = first[0].total, first[-1].total
    spread = (max(scores) - min(scores)) or 1.0
    rescored = []
    for item, score in zip(first, scores, strict=True):
        scaled_score = lowest + (highest - lowest) * (score - min(scores)) / spread
        parts = {name: part * (1 - share) for name, part in item.parts.items() if share < 1}
        rescored.append((replace(item, parts={**parts, RERANK_STAGE: share * scaled_score}), score))
    # Equal totals leave no scale: the scores still decide.
    rescored.sort(key=lambda pair: (-pair[0].total, -pair[1]))
    return [*(item for item, _ in rescored), *rest]
