"""How many facts a question needs, where `memory.recall_limit` is `auto`."""

from __future__ import annotations

import re
from collections.abc import Sequence

NARROW_LIMIT, DEFAULT_LIMIT, BROAD_LIMIT = 3, 5, 10

CLEAR_LEAD_RATIO = 0.5
"""Share of the best score below which the next fact is far behind."""

FLAT_TAIL_RATIO = 0.75
"""Share of the best score that the last of many still has where the question names no best one."""

_SHORT_QUESTION_CHARACTERS = 80
"""Characters of a question that asks for one thing; some 12 words of English."""

_QUESTION_MARKS = re.compile(r"[?\uff1f\u061f\u037e]+")
_PLURAL_QUESTION = re.compile(
    r"\b(?:all|any|both|each|every|everything|everyone|list|several|various|different|how (?:many|often))\b"
    # Nouns in the plural; "does", "is" and "was" are none, nor what ends in -ss or -us.
    r"|\b(?:what|which)(?: \w+)?? (?!(?:is|was|does|has|this|his|its|yes)\b)\w+(?<![su])s\b",
    re.IGNORECASE,
)


def adaptive_limit(question: str, scores: Sequence[float]) -> int:
    """Return how many of the facts that have these scores, best first, a question needs: 3, 5 or 10.

    10 where it asks for several things, by English words for that or by more than one question mark, or where the
    tenth fact is nearly as good as the first; 3 where it is short and the second is far behind the first; else 5. The
    scores speak in every language. After "adaptive retrieval" by the fall of the scores, as in autocut.
    """
    if _PLURAL_QUESTION.search(question) or len(_QUESTION_MARKS.findall(question)) > 1:
        return BROAD_LIMIT
    best = scores[0] if scores else 0.0
    if len(scores) >= BROAD_LIMIT and scores[BROAD_LIMIT - 1] >= FLAT_TAIL_RATIO * best:
        return BROAD_LIMIT
    has_clear_lead = len(scores) < 2 or scores[1] < CLEAR_LEAD_RATIO * best
    return NARROW_LIMIT if has_clear_lead and len(question) <= _SHORT_QUESTION_CHARACTERS else DEFAULT_LIMIT
