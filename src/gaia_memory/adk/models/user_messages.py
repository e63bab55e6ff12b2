"""Tells questions from statements in what a user writes to the offline model, in four languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto


class MessageKind(Enum):
    """What a message wants; `OVERVIEW` is a question for everything that is known."""

    ABOUT_THE_MODEL = auto()
    REMEMBER = auto()
    OVERVIEW = auto()
    QUESTION = auto()
    GREETING = auto()
    THANKS = auto()
    STATEMENT = auto()


_REMEMBER = re.compile(
    r"(?:please\s+|can you\s+|could you\s+|bitte\s+|por favor\s*,?\s+)?"
    r"(?:remember|keep in mind|make a note|note|don'?t forget|merke? dir(?: bitte)?|vergiss nicht|souviens-toi|retiens|"
    r"n'oublie pas|recuerda|no olvides|apunta)"
    r"(?:\s*[,:]?\s*(?:that|dass|que)\b|\s*[:,])?\s+(?P<fact>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_QUESTION = re.compile(
    r"(?:hey|hi|so|and|und|et|y|ok|okay|also|¿)?[,\s]*(?:"
    r"what|who|whom|whose|where|when|which|why|how|do|does|did|am|is|are|was|were|can|could|should|would|will|"
    r"have i|has|tell me|remind me|what's|who's|where's|when's|"
    r"wer|wie|wo|wann|warum|wieso|welche[rsnm]?|woher|wohin|wogegen|wessen|wem|wen|wei(?:ß|ss)t du|kennst du|bin ich|"
    r"habe ich|kann ich|sag mir|"
    r"qui|quel(?:le)?s?|quoi|où|quand|comment|pourquoi|combien|est-ce|qu'est-ce|sais-tu|dis-moi|que sais|à quoi|"
    r"suis-je|ai-je|"
    r"qué|quién(?:es)?|cómo|cuándo|dónde|cuál(?:es)?|cuánt[oa]s?|por qué|adónde|a qué|sabes|dime)\b",
    re.IGNORECASE,
)
_OVERVIEW = re.compile(
    r"\b(?:what|everything|all) (?:do |did |can )?you (?:know|remember|learn(?:ed)?|recall)(?: (?:all|already))? "
    r"(?:about|of) me\b|what have you learned about me|\btell me (?:something |everything )?about (?:me|myself)\b|"
    r"do you know (?:anything )?about me|"
    r"was (?:alles )?wei(?:ß|ss)t du (?:alles )?(?:schon )?(?:über|von) mich|"
    r"erzähle? mir (?:etwas )?(?:über|von) mi(?:ch|r)|"
    r"que sais-tu (?:de|sur) moi|qu'est-ce que tu sais (?:de|sur) moi|tu sais quoi (?:de|sur) moi|"
    r"qué (?:es lo que )?sabes (?:de|sobre|acerca de) mí|qué recuerdas de mí",
    re.IGNORECASE,
)
_SELF_QUESTION = re.compile(
    r"\b(?:who|what) are you\b|\bare you (?:an? )?(?:offline|real|ai|bot|model|gemini)\b|\b(?:which|what) model\b|"
    r"\bwer bist du\b|\bqui es-tu\b|\bquién eres\b",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"(?:hi|hello|hey|hiya|good (?:morning|evening|afternoon)|hallo|guten (?:morgen|tag|abend)|bonjour|salut|bonsoir|"
    r"hola|"
    r"buenos días|buenas(?: tardes)?)(?:\s+(?:there|gaia|all))?[\s!.,]*",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"(?:thanks?(?: you)?|thx|cheers|danke(?: schön| dir)?|merci(?: beaucoup)?|(?:muchas )?gracias)"
    r"(?:\s+(?:so much|a lot|very much))?[\s!.,]*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?…])(?<!\d\.)\s+|\s*\n+\s*|;\s+")
_CLAUSE_BREAK = re.compile(
    r"(?:,\s+(?:and |but |so |und |aber |et |mais |y |pero )?|\s+(?:and|but|und|aber|et|mais)\s+)"
    r"(?=(?:I|I'm|I've|we|User|ich|je|j'\w+|vivo|tengo|soy|trabajo|me llamo)\b)"
)
_MIN_CLAUSE_WORDS = 2
_MIN_STATEMENT_WORDS = 2


def classify(message: str) -> tuple[MessageKind, str]:
    """Return the kind of a message, and the fact of one that asks to remember it."""
    text = message.strip()
    if _SELF_QUESTION.search(text):
        return MessageKind.ABOUT_THE_MODEL, ""
    remember = _REMEMBER.fullmatch(text)
    if remember and not text.endswith("?"):
        return MessageKind.REMEMBER, remember["fact"].strip()
    if _OVERVIEW.search(text):
        return MessageKind.OVERVIEW, ""
    if any(map(_is_question, _sentences(text))):
        return MessageKind.QUESTION, ""
    if _GREETING.fullmatch(text):
        return MessageKind.GREETING, ""
    return (MessageKind.THANKS if _THANKS.fullmatch(text) else MessageKind.STATEMENT), ""


def find_question(message: str) -> str:
    """Return the last question of a message, or all of it if it has none."""
    questions = [sentence for sentence in _sentences(message) if _is_question(sentence)]
    return questions[-1] if questions else message.strip()


def split_statements(message: str) -> Iterator[str]:
    """Yield the statements of a message: its sentences and clauses that ask nothing."""
    remember = _REMEMBER.fullmatch(message.strip())
    for sentence in _sentences(remember["fact"] if remember else message):
        if _is_question(sentence) or _GREETING.fullmatch(sentence) or _THANKS.fullmatch(sentence):
            continue
        for clause in _clauses(sentence):
            if len(clause.split()) >= _MIN_STATEMENT_WORDS:
                yield clause


def _sentences(text: str) -> list[str]:
    return [sentence.strip() for sentence in _SENTENCE_END.split(text) if sentence and sentence.strip()]


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"'”)» ").endswith("?") or bool(_QUESTION.match(sentence))


def _clauses(sentence: str) -> Iterator[str]:
    """Yield the main clauses of a sentence; "Tom and I live here" stays one."""
    start = 0
    for found in _CLAUSE_BREAK.finditer(sentence):
        if len(sentence[start : found.start()].split()) >= _MIN_CLAUSE_WORDS:
            yield sentence[start : found.start()].strip(" ,")
            start = found.end()
    yield sentence[start:].strip()
