"""Tells questions from statements."""

from __future__ import annotations

import re

from gaia_memory.language.text_features import QUESTION_MARKS

SENTENCE = re.compile(rf"[^.!{QUESTION_MARKS}\u2026\u3002\uff01\n]+[.!{QUESTION_MARKS}\u2026\u3002\uff01]*")
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
_QUESTION_WORD = re.compile(
    r"[\s\"'(*_-]*(?:¿|(?:which|what|who|whom|whose|when|where|why|how"
    r"|welche\w*|was|wer|wen|wem|wo\w*|wann|wie\w*|warum|quels?|quelles?|comment|pourquoi|combien|qui|que|où|quand"
    r"|qué|cuál\w*|quién\w*|dónde|cómo|cuándo|por qué|cuánt[oa]s?)\b"
    rf"|{_EN_VERB} {_EN_SUBJECT}|{_DE_VERB} {_DE_SUBJECT}|(?:est-ce|puis-je|peut-on|ai-je|dois-je)\b)",
    re.IGNORECASE,
)
_UNSPACED_QUESTION_END = re.compile(r"[吗嗎呢か][。\s]*[?\uff1f]?\Z")

INDIRECT_QUESTION = re.compile(
    r"\b(?:whether (?:i|we|my|our|the)"
    r"|(?:remember|recall|know|wonder\w*|tell (?:me|us)|sure|check|see|say|ask\w*|find out|figure out) if"
    r"|ob (?:ich|wir|mein\w*|man)"
    r"|(?:souven\w+|souviens|rappel\w+|sa(?:is|it|vez|voir)|demande|dis(?:-moi)?|dire) si"
    r"|(?:recuerdas?|recordar|sab(?:es|e|er)|pregunto|d[ií]me|decirme) si)\b",
    re.IGNORECASE,
)
"""What follows is asked: "Do you remember if I eat nuts", "I wonder whether my flight is late"."""


def is_question(sentence: str) -> bool:
    """Return whether a person asks something with a sentence: it begins or ends as questions do."""
    return bool(_QUESTION.match(sentence) or _QUESTION_END.search(sentence))


def only_asks(text: str) -> bool:
    """Return whether a text begins and ends like a question: the name of a show, too, may end like one."""
    return bool(_UNSPACED_QUESTION_END.search(text) or (_QUESTION_WORD.match(text) and _QUESTION_END.search(text)))
