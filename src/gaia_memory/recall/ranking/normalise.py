"""From the order of facts to their scores: how well the question is answered at all, and by which parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from gaia_memory.models import Candidate, Fact, Hit
from gaia_memory.recall.query.parsed_query import Question
from gaia_memory.recall.ranking.rank import WORDS, Placed

_ROUNDING = 1e-9
"""Share of its greatest part up to which a sum of parts is none."""

JUDGED = 10
"""How many of the best facts say how well a question is answered."""


def level_of(question: Question, ranked: Sequence[Placed], found: Mapping[str, Sequence[Candidate]]) -> float:
    """Return how well the question is answered at all, from 0 to 1.

    That is the share of its words that a fact holds, or the cosine of a fact's vector, whichever is greater over the
    best few.
    """
    judged = ranked[:JUDGED]
    ids = {item.fact_id for item in judged}
    levels = [item.share for item in judged]
    held = {candidate.fact_id for candidate in found.get(WORDS, ())}
    if question.asked and ids & held:
        # The index knows more forms of a word than its terms do: what it found holds one word at least.
        levels.append(1 / len(question.asked))
    for name, candidates in found.items():
        if name != WORDS:
            levels += [_likeness(candidate) for candidate in candidates if candidate.fact_id in ids]
    return min(1.0, max(levels, default=0.0))


def _likeness(candidate: Candidate) -> float:
    return candidate.score if candidate.likeness is None else candidate.likeness


def scored(ranked: Sequence[Placed], facts: Mapping[str, Fact], level: float, missing: Sequence[str] = ()) -> list[Hit]:
    """Return those that are facts as hits: the best scores `level`, each other one by its parts over the best one's.

    The parts of a hit add up to its score.
    """
    best = ranked[0].total if ranked else 0.0
    # Parts that take each other away leave some rounding, over which each of them would be a million million.
    is_something = ranked and best > _ROUNDING * max(map(abs, ranked[0].parts.values()), default=0.0)

    def scaled(part: float) -> float:
        # Divided first: a weight may be so small that one over it is no number.
        return level * (part / best) if is_something else 0.0

    there = [item for item in ranked if item.fact_id in facts]
    # What is equal may differ by the rounding of its parts: no score is above the one before.
    scores = accumulate((scaled(item.total) for item in there), min)
    return [
        Hit(
            fact=facts[item.fact_id],
            score=score,
            why={stage: scaled(part) for stage, part in item.parts.items()},
            missing=tuple(missing),
        )
        for item, score in zip(there, scores, strict=True)
    ]


def together(answers: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Return the hits of several scopes, best first; what two of them know stands once, as the first one has it."""
    hits: dict[str, Hit] = {}
    for answer in answers:
        for hit in answer:
            hits.setdefault(" ".join(hit.fact.text.casefold().split()), hit)
    return sorted(hits.values(), key=lambda hit: -hit.score)
