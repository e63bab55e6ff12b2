"""What a conversation teaches without a model: the person's sentences, as they wrote them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gaia_memory.language.text_features import QUESTION_MARKS
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.models import Chunk, ExtractedFact
from gaia_memory.ports import AnswerCheck

MIN_TOKENS = 3
"""Tokens of a sentence that is kept: a shorter one says nothing without those around it."""

_OTHER_QUESTION_MARKS = "\u203d\u2047\u2048\u2049\u1367\ua60f"
_QUESTION = re.compile(rf"[{QUESTION_MARKS}{_OTHER_QUESTION_MARKS}]\W*\Z|\u055e")
"""Armenian has its mark inside of the word that is asked about."""

_CODE_BLOCK = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_CODE_LINE = re.compile(r"\s*(?:>|\$ |`[^`]*`\W*\Z)|.*(?:[{};]|\):|=>|/>)\s*\Z")
"""Also a line that is quoted, as in a mail."""

_SENTENCE_END = re.compile(
    r"(?<!\b[^\W\d_])(?<!\b[A-Z][b-df-hj-np-tv-z])(?<!\b[A-Z][b-df-hj-np-tv-z]{2})"
    "[.!?\u2026\u061f\u06d4\u0964\u0965\u0589\u1362\u1367\u037e]+[\"'\u2019\u201d\u00bb)\\]]*(?=\\s)"
    "|[\u3002\uff01\uff1f\uff61]+[\"'\u2019\u201d\u300d\u300f\uff09]*"
)
"""Not after an initial or an abbreviation without a vowel: "J. Smith", "Dr. Smith"."""

_REQUEST_OR_GREETING = re.compile(
    r"\W*(?:(?:please|(?:can|could|would|will) you|forget|tell me|show me|give me|help me|explain|write|translate)\b"
    r"|(?:hi|hello|hey|thanks?|thank you|good \w+|bye)\b(?:\W+\w+){0,2}\W*\Z)",
    re.IGNORECASE,
)

_REMEMBER = re.compile(r"\A(?:please\s+)?remember\s+that\b[\s:,]*", re.IGNORECASE)

EXTRACTOR = "offline/sentences-1"
"""Stored with each fact that it learned."""


def find_statements(message: str) -> list[str]:
    """Return the sentences that a message states, each once: no question, request, greeting, code or short remark.

    Of "remember that …", the statement is what follows: the tool `remember` may have kept that.
    """
    sentences = (_REMEMBER.sub("", sentence.strip(" \t-*\u2022")) for sentence in split_sentences(message))
    return list(dict.fromkeys(sentence for sentence in sentences if _is_statement(sentence)))


def split_sentences(message: str) -> Iterator[str]:
    """Yield the sentences of a message, which end with a line at the latest; code and quoted lines are left out."""
    for line in _CODE_BLOCK.sub("\n", message).splitlines():
        if _CODE_LINE.match(line):
            continue
        start = 0
        for end in _SENTENCE_END.finditer(line):
            yield line[start : end.end()]
            start = end.end()
        yield line[start:]


def is_question(sentence: str) -> bool:
    """Return whether a sentence ends with a question mark, of any script."""
    return _QUESTION.search(sentence) is not None


def _is_statement(sentence: str) -> bool:
    return (
        not is_question(sentence)
        and _REQUEST_OR_GREETING.match(sentence) is None
        and len(index_tokens(sentence)) >= MIN_TOKENS
    )


class KeylessExtractor:
    """The port `Extractor` without a model: each sentence that a person stated is a fact, as written.

    Nothing is put into other words, dated, sorted or concluded, and nothing is learned from the assistant's answers.
    """

    async def extract(self, chunk: Chunk, *, instructions: str, check: AnswerCheck) -> list[ExtractedFact]:
        """Return the statements of a chunk, each once; nothing in the person's own words needs `check`."""
        found: dict[str, ExtractedFact] = {}
        for message in chunk.messages:
            for text in find_statements(message.text) if message.role == "user" else ():
                fact = ExtractedFact(text=text, attributed_to=message.speaker or "user", extractor=EXTRACTOR)
                found.setdefault(text.casefold(), fact)
        return list(found.values())
