"""Tells whom a statement is about, so that a question about the person is not answered with another's facts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gaia_memory.adk.models.topic_words import is_same_name, is_same_word
from gaia_memory.adk.models.user_pronouns import Referent, find_referent
from gaia_memory.language.tokenizer import index_tokens

_ADDRESS = re.compile(
    r"\b(?:(?:tell|remind|show|give) me|sag mir|erinnere mich|dis-moi|rappelle-moi|dime|recuérdame)\b", re.IGNORECASE
)
_SPANISH_VERBS = "vivo|trabajo|tengo|soy|estoy|nací|hablo|estudio|bebo|voy|vengo|conduzco"
"""Forms whose subject is "I", which Spanish leaves out."""

_I = re.compile(
    rf"\b(?:I|me|we|us|myself|im|ich|mich|mir|wir|uns|je|moi|nous|yo|mí|nos|{_SPANISH_VERBS})\b|\b[jm]'(?=\w)",
    re.IGNORECASE,
)
_MY = re.compile(
    r"\b(?:my|mine|our|mein(?:e[nmrs]?)?|unser(?:e[nmrs]?)?|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?)\b", re.IGNORECASE
)
_SUBJECT_I = re.compile(
    rf"\b(?:I|I'm|I've|im|we|ich|wir|je|nous|yo|{_SPANISH_VERBS})\b|\bj'|(?:^|\band |\bbut |, )User\b(?!')",
    re.IGNORECASE,
)
_USER = re.compile(r"\bUser\b|\butilisat(?:eur|rice)\b|\b(?:Be)?nutzer(?:in)?\b|\busuari[oa]\b")
_USER_SUBJECT = re.compile(
    r"(?:(?:der|die|le|la|l['\u2019]|el)\s*)?(?:User\b(?!')|utilisat(?:eur|rice)\b|(?:Be)?nutzer(?:in)?\b|usuari[oa]\b)",
    re.IGNORECASE,
)
_RELATION_SUBJECT = re.compile(
    r"(?:(?P<name>[^\W\d_]+),\s)?(?:der|die|das|le|la|l['\u2019]|les|el|los|las)\s*(?P<noun>[^\W\d_]+(?:\s+[^\W\d_]+)??)\s+"
    r"(?:des nutzers|der nutzerin|de l['\u2019]utilisat(?:eur|rice)|del usuario|de la usuaria)\b",
    re.IGNORECASE,
)
"""How facts in German, French and Spanish name a relation: "Die Schwester des Nutzers"."""

_WHO_QUESTION = re.compile(r"\W*(?:who|wer|qui|qui[eé]n(?:es)?)\b", re.IGNORECASE)
_OTHER_SUBJECT = re.compile(
    r"(?:and |und |et |y )?(?:"
    r"(?:[Mm]y|[Oo]ur|[Mm]eine?|[Uu]nsere?|[Mm]on|[Mm]a|[Mm]es|[Nn]otre|[Nn]os|[Mm]is?|User's)\s+"
    r"(?P<noun>(?:(?:best|old|older|little|younger|big|new|favou?rite|beste|älter|klein)\w*\s+)?[^\W\d_]+)"
    r"(?P<name>\s+[A-ZÀ-Þ]\w+)?|"
    r"(?P<pronoun>[Hh]e|[Ss]he|[Tt]hey|[Ee]r|[Ss]ie|[Ii]l|[Ee]lle|[Éé]l|[Ee]lla|[Vv]ive|[Tt]rabaja|[Tt]iene|[Ee]studia)\b)"
)
_NAMED_SUBJECT = re.compile(
    r"(?!(?:also|still|now|currently|usually|never|really|always|just|only|often|mostly|not|\w+ly)\b)"
    r"(?:(?:the|an?|der|die|das|ein|eine|le|la|les|un|une|el|los|las)\s+)?"
    r"(?P<subject>[^\W\d_]+(?:'s\s+[^\W\d_]+)?(?:(?:\s+(?:and|und|et|y)|\s*[&,])\s+[^\W\d_]+)*(?-i:\s+[A-ZÀ-Þ]\w+)*)"
    r"(?:'(?:s|re|ve)\b|\s+(?:also |now |still )?(?:is|are|was|were|has|have|had|does|do|got|lives?|lived|works?|"
    r"worked|likes?|loves?|hates?|eats?|drinks?|plays?|stud(?:y|ies)|speaks?|drives?|moved|married|wants?|needs?|prefers?|"
    r"comes?|goes|ist|sind|war|hat|haben|wohnt|wohnen|arbeitet|lebt|mag|est|sont|était|habite|travaille|aime|"
    r"es|son|era|tiene|vive|trabaja|le gusta)\b)",
    re.IGNORECASE,
)
_CLAUSE_ABOUT_ANOTHER = re.compile(r",?\s+(?:who|whose|whom|which)\b.*|(?:,|;|\s+(?:and|but))\s+(?:he|she|it)\b.*")
_CLAUSE_ABOUT_OTHERS = re.compile(r"(?:,|;|\s+(?:and|but))\s+they\b.*")
_POSSESSOR = re.compile(
    r"\b(?!User's)[^\W\d_]+'s\s+(?!my\b|our\b|the\b|an?\b|User's)(?P<noun>[^\W\d_]+(?:\s+[^\W\d_]+)?)|"
    r"\b(?:his|her)\s+(?P<other>[^\W\d_]+)"
)


def is_about_person(question: str) -> bool:
    """Return whether a question asks about the person or what is theirs: "I", "me", "my"."""
    text = _ADDRESS.sub("", question)
    return bool(_I.search(text) or _MY.search(text))


def has_other_subject(question: str, words: Sequence[str], statement: str) -> bool:
    """Return whether a statement is about another person or thing than the question with these words."""
    if _USER_SUBJECT.match(statement):
        return False
    if found := _OTHER_SUBJECT.match(statement) or _RELATION_SUBJECT.match(statement):
        return _is_somebody_else(question, words, found)
    named = _NAMED_SUBJECT.match(statement)
    return named is not None and _is_another(question, words, named["subject"], statement)


def _is_another(question: str, words: Sequence[str], subject: str, statement: str) -> bool:
    """Return whether the subject of a statement is not the one that a question is about."""
    if not is_about_person(question):
        asks_for_anybody = _WHO_QUESTION.match(question) or _SUBJECT_I.match(statement)
        return not asks_for_anybody and not any(
            is_same_name(word, noun) for word in words for noun in index_tokens(subject)
        )
    if _names(words, subject):
        return False
    if _I.search(_ADDRESS.sub("", question)):
        return not _SUBJECT_I.search(statement)
    return not (_I.search(statement) or _MY.search(statement) or _USER.search(statement))


def _is_somebody_else(question: str, words: Sequence[str], found: re.Match[str]) -> bool:
    """Return whether the relation or the pronoun that begins a statement is not the one that a question is about."""
    groups = found.groupdict()
    if groups.get("pronoun"):
        return True
    # "Who hates dogs?" asks for anybody, "Who do I live with?" for the person's own life.
    if _WHO_QUESTION.match(question) and not is_about_person(question):
        return False
    return not _names(words, f"{groups['noun']} {groups.get('name') or ''}")


def has_other_owner(nouns: Sequence[str], statement: str) -> bool:
    """Return whether one of the nouns is somebody else's in a statement: "Tom's wife", "her job"."""
    owned = [found["noun"] or found["other"] for found in _POSSESSOR.finditer(statement)]
    return any(_names(nouns, noun) for noun in owned)


def without_clauses_about_others(statement: str) -> str:
    """Return a statement without the clauses about somebody that it mentions: ", who lives in Rome"."""
    text = _CLAUSE_ABOUT_ANOTHER.sub("", statement)
    return text if find_referent(text) is Referent.USER else _CLAUSE_ABOUT_OTHERS.sub("", text)


def _names(words: Sequence[str], subject: str) -> bool:
    return any(is_same_word(word, noun) for word in words for noun in index_tokens(subject))
