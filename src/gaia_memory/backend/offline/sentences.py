"""Splits text into sentences and recognizes statements."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gaia_memory.backend.offline.grammar.rules import load_tables

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_GERMAN_MONTHS = "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
"""After "am 5." the sentence goes on, as it does before a small letter."""

_BULLET = re.compile(rf"\A(?:[-*•–]|\d{{1,2}}[.)](?!\s+(?:{_GERMAN_MONTHS})))\s+")  # noqa: RUF001
_BLANKS = re.compile(r"[^\S\n]+")
_SENTENCE_END = re.compile(
    rf"(?<=[.!?…])[\"')\]]*\s+(?!(?:{_GERMAN_MONTHS})\b|(?<=\d\.\s)[a-zäöü])|"
    r"(?<=[。！？؟।])\s*|\s*\n+\s*|;\s+"  # noqa: RUF001
)
_ABBREVIATION = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|vs|etc|e\.g|i\.e|No|Inc|Jr|Sr)\.|\b[A-Z]\.)\Z")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")  # noqa: RUF001 - people type both apostrophes
_ARTICLE_AND_WORD = re.compile(
    r"(?:d(?:er|ie|as|en|em)|k?eine?[nmrs]?|el|las?|los|ning[uú]na?|una?|les?|une|des|aucune?)\s+[\w-]+[.!…]*",
    re.IGNORECASE,
)
_SPACELESS_SCRIPT = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_APOSTROPHE = re.compile(r"(?<=\w)[\u02bc\u00b4`\u2032\uff07](?=\w)")
_CURLY_APOSTROPHES = str.maketrans("’‘", "''")  # noqa: RUF001
_QUOTES = "\"'“”‘’*_- "  # noqa: RUF001
_MIN_WORDS = 2
_MAX_CHARACTERS = 600
_MIN_LETTERS = 4
_TABLES = load_tables("messages")
_P = _TABLES.patterns


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of `text`, without code blocks."""
    sentence = ""
    for piece in _SENTENCE_END.split(_BLANKS.sub(" ", _CODE.sub("\n", text))):
        sentence = f"{sentence} {piece}".strip() if sentence else _BULLET.sub("", (piece or "").strip())
        if not sentence or _ABBREVIATION.search(sentence):
            continue
        yield sentence
        sentence = ""
    if sentence:
        yield sentence


def is_too_long(sentence: str) -> bool:
    """Return whether a sentence is pasted text, not a statement about the user."""
    return len(sentence) > _MAX_CHARACTERS


def normalize(sentence: str) -> str:
    """Return a sentence with single spaces and ASCII apostrophes."""
    return " ".join(_APOSTROPHE.sub("'", sentence).translate(_CURLY_APOSTROPHES).split())


def to_command(sentence: str) -> str:
    """Return "remember that I like tea" for "Can you remember that I like tea?"; any other sentence as it is."""
    return _TABLES.replace("remember", sentence)


def unfold_introduction(sentence: str) -> str:
    """Return "I'm Ben, I'm 34, I'm from Dublin" for "I'm Ben, 34, from Dublin"; any other sentence as it is."""
    return _TABLES.replace("introduction", sentence)


def is_small_talk(text: str) -> bool:
    """Return whether a text is nothing but greetings, thanks, interjections, or kind or unkind words to the model."""
    return _P["small_talk"].match(text.strip().strip(_QUOTES)) is not None


def is_question_or_link(sentence: str) -> bool:
    """Return whether a sentence ends as a question, or starts as an address or a slash command."""
    stripped = sentence.strip().strip(_QUOTES)
    if stripped.startswith(("/", "http://", "https://", "¿")):
        return True
    return stripped.rstrip("\"')»” ").endswith(("?", "？", "؟"))  # noqa: RUF001


def is_question(sentence: str) -> bool:
    """Return whether a sentence asks something, with or without a question mark."""
    stripped = sentence.strip().strip(_QUOTES)
    return is_question_or_link(sentence) or any(_P[name].match(stripped) for name in ("question", "asking"))


def is_request_to_forget(sentence: str) -> bool:
    """Return whether a sentence asks to forget or to delete something, which names what must not be kept."""
    return _P["request_to_forget"].match(sentence.strip().strip(_QUOTES)) is not None


def is_instruction(sentence: str) -> bool:
    """Return whether a sentence tells the model what to do, say or be."""
    return _P["instruction"].match(sentence.strip().strip(_QUOTES)) is not None


def is_fragment(sentence: str) -> bool:
    """Return whether a sentence is one word behind an article, without room for a verb: "Der zweite."."""
    return _ARTICLE_AND_WORD.fullmatch(sentence.strip().strip(_QUOTES)) is not None


def is_statement(sentence: str) -> bool:
    """Return whether a sentence may be a statement, and not a question, command, greeting or single word."""
    stripped = sentence.strip().strip(_QUOTES)
    if not stripped or is_question_or_link(stripped):
        return False
    if is_small_talk(stripped) or is_question(stripped) or _P["command"].match(stripped):
        return False
    if _SPACELESS_SCRIPT.search(stripped):
        return sum(letter.isalpha() for letter in stripped) >= _MIN_LETTERS
    return len(_WORD.findall(stripped)) >= _MIN_WORDS
