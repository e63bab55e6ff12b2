"""Judges what a model's tool call states about a person by what the person said."""

from __future__ import annotations

import re

from gaia_memory.errors import InvalidInputError
from gaia_memory.language.distinctive_words import distinctive_stems
from gaia_memory.language.homoglyphs import fold_homoglyphs
from gaia_memory.language.stems import truncated_stem
from gaia_memory.language.text_features import QUESTION_MARKS
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.learn.screen import reject_unkeepable
from gaia_memory.models import Draft, NewFact, UserStatement

MIN_STATED_SHARE = 0.5
"""Share of the distinctive words of a statement that the person has said, from which on it is the person's word."""

_SENTENCE = re.compile(rf"[^.!{QUESTION_MARKS}\u2026\u3002\uff01\n]+[.!{QUESTION_MARKS}\u2026\u3002\uff01]*")
_EN_SUBJECT = r"(?:i|you|we|they|he|she|it|my|your|our|the|there|this|that|one)\b"
_EN_VERB = r"(?:is|are|am|was|were|do|does|did|can|could|should|shall|will|would|may|might|have|has)"
_DE_VERB = r"(?:ist|sind|bin|war|kann|darf|soll|muss|habe|hat|haben|wird|gibt|esse|mag)"
_DE_SUBJECT = r"(?:ich|du|wir|sie|er|es|man|mein\w*)\b"
_QUESTION = re.compile(
    r"[\s\"'(*_-]*(?:¿|(?:which|what|who|whom|when|where|why|how)\b(?! (?:i|we|my|our)\b)"
    rf".{{0,40}}?\b{_EN_VERB} {_EN_SUBJECT}"
    rf"|{_EN_VERB} {_EN_SUBJECT}"
    rf"|(?:welche\w*|was|wer|wen|wo|wann|wie|warum|wieso)\b.{{0,40}}?\b{_DE_VERB} {_DE_SUBJECT}"
    r"|(?:quels?|quelles?|comment|pourquoi|combien|qu'est-ce|est-ce)\b"
    r"|(?:qué|cuál\w*|quién\w*|dónde|cómo|cuándo|por qué|cuánt[oa]s?)\b)",
    re.IGNORECASE,
)
"""Questions that people type without a question mark, by their beginnings."""

_QUESTION_END = re.compile(rf"[{QUESTION_MARKS}][\s\"')\u201d\u00bb*_]*\Z|[吗嗎呢か][。\s]*\Z")
_REQUEST = re.compile(
    r"\b(?:remember|note|save|mind|forget|merk\w*|notier\w*|souven\w*|souviens|reten\w*|retien\w*|recuerd\w*|recordar"
    r"|anot\w*|apunt\w*)\W+(?:\w+\W+)?"
    r"(?:that|this|i|i'm|my|we|our|dass|ich|mein\w*|wir|que|je|j|mon|ma|mes|yo|mi|mis)\b",
    re.IGNORECASE,
)
"""Asks to keep a statement, even as a question: "Can you remember that I like teal?"."""

_OF_ONESELF = re.compile(
    r"\s*(?:(?:and|but|so|since|because|as|da|weil|und|aber|puisque|comme|et|mais|como|porque|y|pero) )?"
    r"(?:i|i'm|i've|my|we|we're|our|ich|wir|mein\w*|je|j'\w+|mon|ma|mes|nous|yo|mi|mis|soy|tengo|estoy|vivo)\b",
    re.IGNORECASE,
)

ONLY_ASKED = (
    "the user only asked this and did not state it: nothing was saved; ask the user, and save what they then say"
)


def is_stated_by_user(fact: str, user: UserStatement) -> bool:
    """Return whether a statement repeats what the person said lately, or what they just agreed to.

    Raises:
        InvalidInputError: the person said it only as a question, which states nothing.
    """
    words = distinctive_stems(fact) or _stems(fact)
    stated, asked = _stems(user.agreed_to), set[str]()
    for sentence in _SENTENCE.findall("\n".join((*user.recent_texts, user.text))):
        statement = _statement_of(sentence)
        stated |= _stems(statement)
        asked |= _stems(sentence) if statement != sentence else set()
    if len(words & stated) >= MIN_STATED_SHARE * len(words):
        return bool(words)
    if len(words & (asked - stated)) > MIN_STATED_SHARE * len(words):
        raise InvalidInputError(ONLY_ASKED)
    return False


def require_keepable_statement(fact: NewFact, user_statement: UserStatement, *, allow_numbers: bool) -> None:
    """Check what a model wants stored before the user is asked whether it may be.

    `allow_numbers` is `memory.allow_numbers`.

    Raises:
        InvalidInputError: the fact may not be kept, or the user only asked it.
    """
    reject_unkeepable(Draft(fact=fact, source="agent"), allow_numbers=allow_numbers)
    is_stated_by_user(fact.text, user_statement)


def _statement_of(sentence: str) -> str:
    """Return what a sentence states: the whole, or of a question only what the person says of themselves first."""
    if _REQUEST.search(sentence) or not (_QUESTION.match(sentence) or _QUESTION_END.search(sentence)):
        return sentence
    *clauses, _ = re.split(r"[,;:]|\s[-\u2013\u2014]\s", sentence)
    return ", ".join(clause for clause in clauses if _OF_ONESELF.match(clause))


def _stems(text: str) -> set[str]:
    return {truncated_stem(word) for word in index_tokens(fold_homoglyphs(text))}
