"""Ranks facts without a model, for when none answers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gaia_memory.profile.bullets import shorten

# English only: facts in other languages count as "the rest", newest first.
_IDENTITY = r"""
name(?:d|\ is|'s)? | called | pronouns? | born | birthday | years\ old | age[ds]? | lives?\ (?:in|at|on)
| resid\w+ | moved\ to | (?:is|am|comes?)\ from | native | nationality | time\ ?zone | speaks? | languages?
| works?\ (?:as|at|for) | jobs? | profession | employ\w* | students? | studies | email | phone
"""
_PEOPLE = r"""
wife | husband | spouse | partner | girlfriend | boyfriend | fianc\w+ | married | engaged | divorced | mother
| father | mom | mum | dad | parents? | brothers? | sisters? | siblings? | sons? | daughters? | child(?:ren)?
| kids? | baby | grand\w+ | uncle | aunt | cousins? | nephews? | nieces? | friends? | colleagues? | boss
| manager | roommate | neighbou?rs? | dogs? | cats? | pets?
"""
_NEEDS = r"""
allerg\w+ | intoleran\w+ | vegetarian | vegan | kosher | halal | gluten | diet\w* | medications? | diagnos\w+
| conditions? | disab\w+ | pregnan\w+ | never | always | must | cannot | can't | avoids? | hates? | refus\w+
| do(?:es)?n't | do(?:es)?\ not | prefer\w* | wants?\ (?:you|the\ assistant|to\ be) | insists? | requires?
| needs?
"""
_DOINGS = r"""
projects? | working\ on | building | writing | learning | training | preparing | plan\w* | goals? | deadlines?
| launch\w* | currently | started | trips? | travel\w* | moving | looking\ for
"""
_TASTES = r"""
likes? | loves? | enjoys? | favou?rites? | fan\ of | interested | hobb\w+ | dislikes? | plays? | reads?
| listens? | watch\w*
"""

_REST = 5
_DOING = 3

# People are looked for first: "her sister works at a bank" is about the sister.
_CHECKS = tuple(
    (kind, re.compile(rf"\b(?:{words})\b", re.IGNORECASE | re.VERBOSE))
    for kind, words in ((1, _PEOPLE), (0, _IDENTITY), (2, _NEEDS), (_DOING, _DOINGS), (4, _TASTES))
)


def kind_of(text: str) -> int:
    """Return how much a fact counts in a profile, 0 for the most: who they are, people, needs, doings, tastes, rest."""
    return next((kind for kind, pattern in _CHECKS if pattern.search(text)), _REST)


def ranked(facts: Sequence[str]) -> list[str]:
    """Return facts (given oldest first) by what they are about, and within that the newest first."""
    newest_first = list(reversed(facts))
    return sorted(newest_first, key=kind_of)


def plain_bullets(facts: Sequence[str], projects: Sequence[str], *, limit: int) -> tuple[str, ...]:
    """Return at most `limit` bullets: facts and projects as they stand, the most important first."""
    ordered = ranked(facts)
    before = [text for text in ordered if kind_of(text) <= _DOING]
    lines = (shorten(text) for text in [*before, *projects, *ordered[len(before) :]])
    return tuple(dict.fromkeys(line for line in lines if line))[:limit]
