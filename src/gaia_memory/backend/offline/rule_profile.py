"""A profile without a model: the facts, with lasting ones first."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gaia_memory.models import IN_DOUBT_MARK, UNCONFIRMED_MARK

_FACTS_BLOCK = re.compile(r"<FACTS>(?P<inside>.*?)</FACTS>", re.DOTALL)
_LIMIT_PHRASE = re.compile(r"(?:at most|up to|no more than|maximum of)\s+(?P<limit>\d+)", re.IGNORECASE)
_DEFAULT_LIMIT = 20

_TOPIC_WEIGHTS = tuple(
    (re.compile(rf"\b(?:{words})\b", re.IGNORECASE), weight)
    for words, weight in (
        (r"name|called|named|pronouns?|heißt|heiße|[mts]'appelles?|nombre|[mts]e llam[oa]s?", 6),
        (r"(?-i:(?:User is|I'm|I am|You are) [A-Z][a-zß-ÿ]+)(?=\W*\Z)", 6),
        (
            r"c(?:o?e|ö)liac|zöliakie|cœliaque|celíac[oa]|allerg\w*|alérgic\w*|intol[eé]ran\w*|diab[eé]t\w*|asth?m\w*|medic\w*|disab\w*|pregnan\w*",
            6,
        ),
        (r"schwanger|enceinte|embarazada", 6),
        (r"v[eé]g[eé]tar\w*|vegan\w*|kos(?:her|cher)|casher|halal|gluten\w*|diet|cannot eat|can't eat", 5),
        (r"wife|husband|partner\w*|girlfriend|boyfriend|married|son|daughter|child\w*|frau|verheiratet|freundin", 4),
        (r"sohn|tochter|kinder|femme|mari|fils|fille|enfants?|esposa|marido|mujer|novi[ao]|hij[ao]s?", 4),
        (r"sister|brother|mother|father|mom|dad|parents?|dog|cat|schwester|bruder|mutter|vater|eltern|hund|katze", 3),
        (r"sœur|frère|mère|père|chien|chat|hermanos?|hermanas?|madre|padre|perr[ao]|gat[ao]", 3),
        (r"lives?|moved|born|from|works?|job|profession|stud(?:y|ies)|speaks?|(?:user is|you are|i'm|i am) an?", 3),
        (r"wohn\w*|arbeite\w*|beruf|habite[sz]?|travaill\w*|métier|viv(?:e[sn]?|o)|trabaj\w*|profesión", 3),
        (r"loves?|likes?|prefers?|hates?|dislikes?|favou?rite|never|always|mag|magst|lieb\w*|hass\w*", 2),
        (r"aime[sz]?|déteste\w*|préfère\w*|gustan?|encantan?|prefier\w*|odi\w*|favorit\w*", 2),
    )
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


def most_important(facts: Sequence[str], limit: int) -> list[str]:
    """Return at most `limit` facts (the newest last), by the importance of their topics, the newest first."""
    weights = [_topic_weight(fact) for fact in facts]
    chosen = sorted(range(len(facts)), key=lambda at: (-weights[at], -at))[:limit]
    return [facts[at] for at in chosen]


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
