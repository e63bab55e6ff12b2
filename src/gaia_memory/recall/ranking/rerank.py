"""Blends the scores of a cross-encoder, which reads each fact together with the question, into the order."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import TypeVar

from gaia_memory.config.sections.recall_section import RecallConfig
from gaia_memory.errors import ModelError
from gaia_memory.log import log_fields, logger_for
from gaia_memory.model_calls import remaining_seconds, time_limit
from gaia_memory.models import Scope
from gaia_memory.recall.ranking.rank import RankedFact

RERANK_STAGE = "reranker"
"""The name of this stage in `Hit.why` and `Hit.missing`."""

logger = logger_for(__name__)

MAX_KEPT_SECONDS = 1.0
"""What remains of `memory.recall.seconds` for the answer without a model that is late, at most half of them."""

_Answer = TypeVar("_Answer")


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


async def attempt(
    answer: Awaitable[_Answer], name: str, scope: Scope, settings: RecallConfig, *, share: float = 1.0
) -> tuple[_Answer | None, tuple[str, ...]]:
    """Return a model's answer, or None and the name of what failed; the log has only the type of the error.

    The answer may take `share` of the time that is left for models.
    """
    kept_seconds = min(MAX_KEPT_SECONDS, settings.seconds / 2)
    try:
        async with time_limit((remaining_seconds() - kept_seconds) * share):
            return await answer, ()
    except (ModelError, TimeoutError) as error:
        kind = type(error).__name__
        fields = log_fields("recall.partial", scope, retriever=name, error=kind)
        reason = "no answer in time" if isinstance(error, TimeoutError) else kind
        logger.warning("recall goes on without %s: %s", name, reason, extra=fields)
        return None, (name,)
