"""What recall can be told to do differently."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings:
    """Few round weights; around them lies a plateau, so that fine tuning gains nothing.

    `lead` names the retriever whose order leads. `fillers` name retrievers that never outvote another: they
    only come in below what the others found. Every other retriever adds a share of `vote`.
    """

    candidates: int = 100
    seconds: float = 5.0
    lead: str = "keywords"
    fillers: frozenset[str] = frozenset({"hashed"})
    vote: float = 0.2
    context: bool = True
    context_weight: float = 0.5
    recency: bool = True
    recency_weight: float = 0.05
    recency_half_life_days: float = 90.0
    tokens: int | None = None
