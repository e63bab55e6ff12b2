"""Features of a text that recall compares, computed once and stored with it as packed bytes."""

from __future__ import annotations

import re
import struct
from functools import lru_cache
from typing import NamedTuple

from gaia_memory.language.stems import stem_code, word_code
from gaia_memory.language.tokenizer import compound_tokens, index_tokens

QUESTION_MARKS = "?\uff1f\u061f\u037e"

_LEADING_NAME = re.compile(r"\s*([^\W\d_][\w.'\u2019-]*(?: [^\W\d_][\w.'\u2019-]*){0,2}): ")
_LEADING_NAMES = re.compile(r"\s*((?:[^\W\d_a-z][\w.'\u2019-]*(?:\s+|$)){1,3})")
"""Up to three words at the beginning of a text that do not begin with a lower-case letter."""

_QUESTION_ENDINGS = tuple(QUESTION_MARKS)
_QUESTION_MARK = re.compile(f"[{QUESTION_MARKS}]")
_SENTENCE = re.compile(rf"[^.!{QUESTION_MARKS}\u2026\u3002\uff01]+[.!{QUESTION_MARKS}\u2026\u3002\uff01]*")

_FORMAT_VERSION = 2
"""Increases when the same text yields other features: features of an earlier version are computed again."""

_HEADER = struct.Struct("<Bx?fHHH")
"""Version, an unused byte, is_question, question_share, and the counts of words, compounds and leading names."""

_BYTES_PER_CODE = 4


class TextFeatures(NamedTuple):
    """The features of a text. Words are packed codes of 32 bits, little-endian.

    `is_question` tells whether it ends with a question mark, `question_share` the share of its characters in questions.
    `words` are its words in order without a leading `Speaker:`, `compounds` words written apart and looked up as one.
    `leading_names` are the names it begins with, unless it has a `speaker`: an utterance begins with the name of the
    person spoken to.
    """

    is_question: bool
    question_share: float
    words: bytes
    compounds: bytes
    leading_names: bytes
    speaker: str | None


def extract_features(text: str, known_speaker: str | None) -> bytes:
    """Return the packed features of a text; `known_speaker` has precedence over a leading `Speaker:`."""
    words, compounds = index_tokens(text), compound_tokens(text)
    match = _LEADING_NAME.match(text)
    if match:
        words = words[len(index_tokens(match[0])) :]
    utterance = text[match.end() :] if match else text
    speaker = known_speaker or (match[1] if match else "")
    codes = [*map(stem_code, words), *map(stem_code, compounds)]
    name_codes = () if speaker else _leading_names(text)
    is_question = text.rstrip().endswith(_QUESTION_ENDINGS)
    header = _HEADER.pack(
        _FORMAT_VERSION,
        is_question,
        _question_share(utterance),
        len(words),
        len(compounds),
        len(name_codes),
    )
    packed = struct.pack(f"<{len(codes) + len(name_codes)}i", *codes, *name_codes)
    return header + packed + speaker.casefold().encode(errors="surrogatepass")


def has_current_version(packed: bytes | None) -> bool:
    """Return whether these features have the current version."""
    return packed is not None and packed[0] == _FORMAT_VERSION


def unpack_features(packed: bytes) -> TextFeatures:
    """Return unpacked features."""
    _, is_question, question_share, word_count, compound_count, name_count = _HEADER.unpack_from(packed)
    words_end = _HEADER.size + _BYTES_PER_CODE * word_count
    compounds_end = words_end + _BYTES_PER_CODE * compound_count
    names_end = compounds_end + _BYTES_PER_CODE * name_count
    return TextFeatures(
        is_question,
        question_share,
        packed[_HEADER.size : words_end],
        packed[words_end:compounds_end],
        packed[compounds_end:names_end],
        packed[names_end:].decode(errors="surrogatepass") or None,
    )


def _question_share(utterance: str) -> float:
    if not _QUESTION_MARK.search(utterance):
        return 0.0
    sentences = _SENTENCE.findall(utterance)
    question_characters = sum(len(each) for each in sentences if each.endswith(_QUESTION_ENDINGS))
    return question_characters / max(1, sum(map(len, sentences)))


def _leading_names(text: str) -> tuple[int, ...]:
    match = _LEADING_NAMES.match(text)
    return _name_codes(match[1]) if match else ()


@lru_cache(maxsize=10_000)
def _name_codes(names: str) -> tuple[int, ...]:
    return tuple(word_code(word) for word in index_tokens(names))
