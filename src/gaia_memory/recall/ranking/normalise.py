"""From the order of facts to their scores: how well the question is answered at all, and by which parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from gaia_memory.models import Candidate, Fact, Hit
from gaia_memory.recall.query.parsed_query import ParsedQuery
from gaia_memory.recall.ranking.rank import KEYWORD_RETRIEVER, RankedFact

_ROUNDING_TOLERANCE = 1e-9
"""Share of its greatest part up to which a sum of parts is none."""

CONFIDENCE_SAMPLE_SIZE = 10
"""How many of the best facts say how well a question is answered."""


def answer_confidence(
    question: ParsedQuery, ranked: Sequence[RankedFact], found: Mapping[str, Sequence[Candidate]]
) -> float:
    """Return how well the question is answered at all, from 0 to 1.

    That is the share of its words that a fact holds, or the cosine of a fact's vector, whichever is greater over the
    best few.
    """
    sample = ranked[:CONFIDENCE_SAMPLE_SIZE]
    ids = {item.fact_id for item in sample}
    confidences = [item.query_coverage for item in sample]
    keyword_ids = {candidate.fact_id for candidate in found.get(KEYWORD_RETRIEVER, ())}
    if question.word_alternatives and ids & keyword_ids:
        # The index knows more forms of a word than its terms do: what it found holds one word at least.
        confidences.append(1 / len(question.word_alternatives))
    for name, candidates in found.items():
        if name != KEYWORD_RETRIEVER:
            confidences += [_similarity(candidate) for candidate in candidates if candidate.fact_id in ids]
    return min(1.0, max(confidences, default=0.0))


def _similarity(candidate: Candidate) -> float:
    return candidate.score if candidate.similarity is None else candidate.similarity


def to_hits(
    ranked: Sequence[RankedFact], facts: Mapping[str, Fact], confidence: float, missing: Sequence[str] = ()
) -> list[Hit]:
    """Return those that are facts as hits.

    The best scores `confidence`, each other one by its parts over the best one's.

    The parts of a hit add up to its score.
    """
    best = ranked[0].total if ranked else 0.0
    # Parts that take each other away leave some rounding, over which each of them would be a million million.
    has_scale = ranked and best > _ROUNDING_TOLERANCE * max(map(abs, ranked[0].parts.values()), default=0.0)

    def scale_part(part: float) -> float:
        # Divided first: a weight may be so small that one over it is no number.
        return confidence * (part / best) if has_scale else 0.0

    existing = [item for item in ranked if item.fact_id in facts]
    # What is equal may differ by the rounding of its parts: no score is above the one before.
    scores = accumulate((scale_part(item.total) for item in existing), min)
    return [
        Hit(
            fact=facts[item.fact_id],
            score=score,
            why={stage: scale_part(part) for stage, part in item.parts.items()},
            missing=tuple(missing),
        )
        for item, score in zip(existing, scores, strict=True)
    ]


def merge_hits(answers: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Return the hits of several scopes, best first; what two of them know stands once, as the first one has it."""
    hits: dict[str, Hit] = {}
    for answer in answers:
        for hit in answer:
            hits.setdefault(" ".join(hit.fact.text.casefold().split()), hit)
    return sorted(hits.values(), key=lambda hit: -hit.score)
