"""The settings of recall."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings:
    """Weights of the stages and bounds. A weight of 0 switches a stage off.

    The weights are round numbers on a plateau, so fine tuning gains nothing. `keywords` leads, and each retriever of
    vectors adds a share of `vectors`. `fallback_retrievers` only add facts below those of the others. `seconds` bounds
    each retriever, query expansion and the reranker. `rerank_share` is the share of the reranker in the order of the
    first `rerank_first` facts.
    """

    candidates: int = 100
    seconds: float = 5.0
    fallback_retrievers: frozenset[str] = frozenset({"hashed"})
    keywords: float = 1.0
    vectors: float = 0.15
    surroundings: float = 0.1
    conversation: float = 0.1
    phrases: float = 0.2
    speaker: float = 0.6
    subject: float = 0.4
    names: float = 0.5
    dates: float = 1.0
    kinds: float = 0.5
    asking: float = 0.3
    recency: float = 0.05
    recency_half_life_days: float = 90.0
    diversity: float = 0.5
    rerank_first: int = 30
    rerank_share: float = 1.0
    rewrite: bool = False
    tokens: int | None = None
