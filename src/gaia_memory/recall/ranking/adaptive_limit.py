"""Chooses how many facts a question needs if `memory.recall_limit` is `auto`."""

from __future__ import annotations

import re
from collections.abc import Sequence

NARROW_LIMIT, DEFAULT_LIMIT, BROAD_LIMIT = 3, 5, 10

CLEAR_LEAD_RATIO = 0.5
"""Share of the best score below which the second fact is far behind."""

FLAT_TAIL_RATIO = 0.75
"""Share of the best score from which on the tenth fact is as relevant as the first."""

_SHORT_QUESTION_CHARACTERS = 80
"""Characters of a question about one thing; some 12 English words."""

_QUESTION_MARKS = re.compile(r"[?\uff1f\u061f\u037e]+")
_PLURAL_QUESTION = re.compile(
    r"\b(?:all|any|both|each|every|everything|everyone|list|several|various|different|how (?:many|often))\b"
    # Plural nouns, without verbs such as "does" and words that end in -ss or -us.
    r"|\b(?:what|which)(?: \w+)?? (?!(?:is|was|does|has|this|his|its|yes)\b)\w+(?<![su])s\b",
    re.IGNORECASE,
)


def adaptive_limit(question: str, scores: Sequence[float]) -> int:
    """Return how many facts a question needs, given their scores, best first: 3, 5 or 10.

    It is 10 if the question asks for several things (by English words or several question marks) or if the tenth fact
    is nearly as good as the first. It is 3 for a short question if the second fact is far behind the first, else 5. The
    scores work in every language, as in the "autocut" of vector databases.
    """
    if _PLURAL_QUESTION.search(question) or len(_QUESTION_MARKS.findall(question)) > 1:
        return BROAD_LIMIT
    best = scores[0] if scores else 0.0
    if len(scores) >= BROAD_LIMIT and scores[BROAD_LIMIT - 1] >= FLAT_TAIL_RATIO * best:
        return BROAD_LIMIT
    has_clear_lead = len(scores) < 2 or scores[1] < CLEAR_LEAD_RATIO * best
    return NARROW_LIMIT if has_clear_lead and len(question) <= _SHORT_QUESTION_CHARACTERS else DEFAULT_LIMIT
