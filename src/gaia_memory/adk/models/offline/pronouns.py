"""Tells whether "they" in a fact is the user or somebody else."""

from __future__ import annotations

import re
from enum import Enum, auto

_MAX_PRONOUNS = 8
_PRONOUN = re.compile(r"\b(?:they|them|their|theirs|themselves)\b", re.IGNORECASE)
_PLURAL_SUBJECT = re.compile(
    r"User's\s+(?:[^\W\d_]+\s+)?(?:kids|children|twins|parents|grandparents|friends|sisters|brothers|siblings|sons|"
    r"daughters|cats|dogs|pets|colleagues|neighbou?rs|cousins|flatmates|roommates)\b",
)
_OWN_LIST = re.compile(
    r"\btheir(?:\s+(?!(?:is|are|was|has|likes|loves|works|lives)\b)[^\s,]+){1,4}?(?:,| and|, and)\s$"
)
"""Before a further "their", as in "with their boyfriend Tom and their cats": both are the user's."""

_NAME_AFTER_WORD = re.compile(r"(?P<before>[^\W\d_]+)[\s]+(?P<name>[A-ZÀ-Þ][\w'-]+)|(?P<listed>[,;&])\s*[A-ZÀ-Þ]\w+")
_PLACE_PREPOSITIONS = frozenset(("in", "to", "from", "on", "since", "until", "near"))
_WORDS_AFTER_A_PLACE = re.compile(
    r"\b(?:with|and|because|for|as|near|by|on|at|where|since|,|to (?:see|visit|meet))\s*$", re.IGNORECASE
)
_OTHER_PERSON = re.compile(
    r"\b(?:partner|boyfriend|girlfriend|husband|wife|spouse|fianc[ée]e?|friend|sister|brother|sibling|mother|mum|mom|"
    r"father|dad|parent|son|daughter|child|baby|children|people|men|women|man|woman|boy|girl|family|team|couple|"
    r"colleague|boss|neighbou?r|flatmate|roommate|cousin|aunt|uncle|niece|nephew|grand\w+|doctor|teacher|company|"
    r"everyone|everybody|someone|somebody|nobody|others|another|he|she|him|her|we|us|band|club|police|cat|dog)\b",
    re.IGNORECASE,
)
_PLURAL = re.compile(r"(?<!')\b[a-z]{3,}s\b")
_VERB_BEFORE = re.compile(r"(?:\bUser|\band|\bbut|\bor|\balso|\bnever|\balways|\boften|\w+ly)\s+$")
_NOT_PLURAL = frozenset(("always", "sometimes", "nowadays", "perhaps", "this", "besides", "afterwards", "does", "has"))


class Referent(Enum):
    """Whom the pronouns of a fact stand for."""

    USER = auto()
    OTHERS = auto()
    UNKNOWN = auto()


def find_referent(fact: str) -> Referent:
    """Return whom "they", "them" and "their" stand for in a fact; `USER` where there is no such pronoun.

    They are the user only if nobody else, and nothing else that is many, is named before them.
    """
    pronouns = list(_PRONOUN.finditer(fact))
    if not pronouns:
        return Referent.USER
    if len(pronouns) > _MAX_PRONOUNS:
        return Referent.UNKNOWN
    if not fact.startswith("User "):
        is_plural = bool(_PLURAL_SUBJECT.match(fact))
        stands_for_subject = is_plural and not any(found[0].lower() == "them" for found in pronouns)
        return Referent.OTHERS if stands_for_subject else Referent.UNKNOWN
    are_user = all(_stands_for_user(fact[: found.start()], found[0].lower()) for found in pronouns)
    return Referent.USER if are_user else Referent.UNKNOWN


def _stands_for_user(before: str, pronoun: str) -> bool:
    if pronoun == "their" and (own_list := _OWN_LIST.search(before)):
        return _stands_for_user(before[: own_list.start()], pronoun)
    return not _OTHER_PERSON.search(before) and not _names_another(before) and not _names_many(before)


def _names_another(text: str) -> bool:
    """Return whether a text has a name that is neither a place nor a day."""
    after_a_place = bool(_WORDS_AFTER_A_PLACE.search(text))
    return any(
        found["listed"] or not (found["before"].lower() in _PLACE_PREPOSITIONS and after_a_place)
        for found in _NAME_AFTER_WORD.finditer(text)
    )


def _names_many(text: str) -> bool:
    return any(
        not found[0].endswith("ss") and found[0] not in _NOT_PLURAL and not _VERB_BEFORE.search(text[: found.start()])
        for found in _PLURAL.finditer(text)
    )
