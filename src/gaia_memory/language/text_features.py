"""What recall compares of a text, worked out once and packed into bytes that are kept beside it."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from gaia_memory.language.answer_types import kinds_in
from gaia_memory.language.stems import code_of, stem_code
from gaia_memory.language.tokenizer import indexed_words, joined_words

QUESTION_MARKS = "?\uff1f\u061f\u037e"

_LEADING_NAME = re.compile(r"\s*([^\W\d_][\w.'\u2019-]*(?: [^\W\d_][\w.'\u2019-]*){0,2}): ")
_LEADING_NAMES = re.compile(r"\s*((?:[^\W\d_a-z][\w.'\u2019-]*(?:\s+|$)){1,3})")
"""Up to three words in a row with which a text begins and that no small letter begins."""

_MARKS = tuple(QUESTION_MARKS)
_ASKED = re.compile(f"[{QUESTION_MARKS}]")
_SENTENCE = re.compile(rf"[^.!{QUESTION_MARKS}\u2026\u3002\uff01]+[.!{QUESTION_MARKS}\u2026\u3002\uff01]*")

_FORM = 2
"""Rises when the same text gives other traits than before: those of an earlier form are worked out anew."""

_HEAD = struct.Struct("<BB?fHHH")
"""Form, kinds, whether it ends with a question mark, the share that asks, and how many words, joined ones and names."""

_CODE = 4
"""Bytes of a code."""


class Traits(NamedTuple):
    """What recall compares of a text. Words are packed codes, 32 bits each, little-endian.

    `kinds` are the expressions it holds, `asks` whether it ends with a question mark, `asking` the share of its
    characters in sentences that ask, `words` its words in order without the `Name:` of who said it, `joined` what is
    written apart and looked up as one. `leads` are the names it begins with, but for what somebody says, which begins
    with whom it is said to; `speaker` is who said it.
    """

    kinds: int
    asks: bool
    asking: float
    words: bytes
    joined: bytes
    leads: bytes
    speaker: str | None


def traits_of(text: str, said_by: str | None) -> bytes:
    """Return the traits of a text as they are kept; `said_by` is who said it where the text does not tell."""
    return pack_traits(text, said_by, indexed_words(text), joined_words(text))


def pack_traits(text: str, said_by: str | None, words: Sequence[str], joined: Sequence[str]) -> bytes:
    """Return the traits of a text whose words are known."""
    match = _LEADING_NAME.match(text)
    if match:
        words = words[len(indexed_words(match[0])) :]
    said = text[match.end() :] if match else text
    speaker = said_by or (match[1] if match else "")
    codes = [*map(stem_code, words), *map(stem_code, joined)]
    leads = () if speaker else _leading_names(text)
    asks = text.rstrip().endswith(_MARKS)
    head = _HEAD.pack(_FORM, kinds_in(text, words), asks, _asking(said), len(words), len(joined), len(leads))
    packed = struct.pack(f"<{len(codes) + len(leads)}i", *codes, *leads)
    return head + packed + speaker.casefold().encode(errors="surrogatepass")


def is_current(packed: bytes | None) -> bool:
    """Say whether these are traits as they are worked out today."""
    return packed is not None and packed[0] == _FORM


def unpack_traits(packed: bytes) -> Traits:
    """Return traits that were packed."""
    _, kinds, asks, asking, words, joined, leads = _HEAD.unpack_from(packed)
    first = _HEAD.size + _CODE * words
    second = first + _CODE * joined
    third = second + _CODE * leads
    return Traits(
        kinds,
        asks,
        asking,
        packed[_HEAD.size : first],
        packed[first:second],
        packed[second:third],
        packed[third:].decode(errors="surrogatepass") or None,
    )


def _asking(said: str) -> float:
    if not _ASKED.search(said):
        return 0.0
    sentences = _SENTENCE.findall(said)
    asked = sum(len(each) for each in sentences if each.endswith(_MARKS))
    return asked / max(1, sum(map(len, sentences)))


def _leading_names(text: str) -> tuple[int, ...]:
    match = _LEADING_NAMES.match(text)
    return _codes_of_names(match[1]) if match else ()


@lru_cache(maxsize=10_000)
def _codes_of_names(names: str) -> tuple[int, ...]:
    return tuple(code_of(word) for word in indexed_words(names))
