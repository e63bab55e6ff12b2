"""What recall can be told to do differently."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings:
    """Few round weights; around them lies a plateau, so that fine tuning gains nothing. A weight of 0 is "off".

    `fallback_retrievers` name retrievers that never outvote another: they only come in below what the others found.
    Every other retriever adds a share of `vectors`. The words, weighted by `keywords`, lead. `seconds` bound each
    retriever, the rewriting and the reranker; `rerank_share` is what that has in the order of the first `rerank_first`.
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
