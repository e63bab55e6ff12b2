"""Blends the scores of a cross-encoder, which reads each fact together with the question, into the order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gaia_memory.recall.ranking.rank import RankedFact

RERANK_STAGE = "reranker"
"""The name of this stage in `Hit.why` and `Hit.missing`."""


def blend_reranker_scores(ranked: Sequence[RankedFact], scores: Sequence[float], share: float) -> list[RankedFact]:
    """Return the facts with the scored ones, which come first, in a new order; `share` is from 0 to 1.

    Scores of cross-encoders have a scale of their own. They are mapped to the range of the totals, and a new total is
    `share` of the mapped score plus the rest of the old total (interpolation as in Lin, Nogueira and Yates, "Pretrained
    Transformers for Text Ranking", 2021, 3.2). Facts without a score stay below in their order.
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
    # If all totals are equal, the scores decide.
    rescored.sort(key=lambda pair: (-pair[0].total, -pair[1]))
    return [*(item for item, _ in rescored), *rest]
