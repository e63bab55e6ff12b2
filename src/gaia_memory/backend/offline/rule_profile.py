"""A profile without a model: the facts, with lasting ones first."""

from __future__ import annotations

import re

from gaia_memory.models import IN_DOUBT_MARK, UNCONFIRMED_MARK

_FACTS_BLOCK = re.compile(r"<FACTS>(?P<inside>.*?)</FACTS>", re.DOTALL)
_LIMIT_PHRASE = re.compile(r"(?:at most|up to|no more than|maximum of)\s+(?P<limit>\d+)", re.IGNORECASE)
_DEFAULT_LIMIT = 20

_TOPIC_WEIGHTS = (
    (re.compile(r"\b(name is|called|named|pronouns?)\b", re.IGNORECASE), 6),
    (re.compile(r"\b(allerg\w*|intoleran\w*|diabet\w*|asthma\w*|medic\w*|disab\w*|pregnan\w*)", re.IGNORECASE), 6),
    (re.compile(r"\b(vegetarian|vegan|kosher|halal|gluten|diet|cannot eat|can't eat)\b", re.IGNORECASE), 5),
    (re.compile(r"\b(wife|husband|partner|girlfriend|boyfriend|married|son|daughter|child\w*)\b", re.IGNORECASE), 4),
    (re.compile(r"\b(sister|brother|mother|father|mom|dad|parents?|dog|cat)\b", re.IGNORECASE), 3),
    (re.compile(r"\b(lives?|moved|born|from|works?|job|profession|stud(?:y|ies)|speaks?)\b", re.IGNORECASE), 3),
    (re.compile(r"\b(loves?|likes?|prefers?|hates?|dislikes?|favou?rite|never|always)\b", re.IGNORECASE), 2),
)


def is_profile_prompt(prompt: str) -> bool:
    """Return whether `prompt` contains facts to distil."""
    return _FACTS_BLOCK.search(prompt) is not None


def rank_as_bullets(prompt: str) -> str:
    """Return the ranked facts of `prompt` as bullet lines, at most as many as it asks for."""
    facts = _parse_facts(prompt)
    limit = _parse_limit(prompt)
    ranked = sorted(enumerate(facts), key=lambda item: (*_is_marked(item[1]), -_topic_weight(item[1]), -item[0]))
    return "\n".join(f"- {fact}" for _, fact in ranked[:limit])


def _parse_facts(prompt: str) -> list[str]:
    found = _FACTS_BLOCK.search(prompt)
    lines = found["inside"].splitlines() if found else []
    facts = (line.strip()[2:].strip() for line in lines if line.strip().startswith("- "))
    return list({" ".join(fact.split()).casefold(): fact for fact in facts if fact}.values())


def _parse_limit(prompt: str) -> int:
    asked = _LIMIT_PHRASE.search(_FACTS_BLOCK.sub("", prompt))
    return int(asked["limit"]) if asked else _DEFAULT_LIMIT


def _is_marked(fact: str) -> tuple[bool, bool]:
    """Return whether nobody has said a fact, and whether it is in doubt."""
    return fact.startswith(UNCONFIRMED_MARK), fact.startswith(IN_DOUBT_MARK)


def _topic_weight(fact: str) -> int:
    return max((weight for pattern, weight in _TOPIC_WEIGHTS if pattern.search(fact)), default=1)
