"""The words of a text, as the keyword index keeps them and recall compares them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

QUERY_LIMIT = 64
"""Words of a query that are looked up; a longer one says the rest in other words."""

PICTURES = "\u2600-\u27bf\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff"
"""Ranges of emoji and other signs that are words of their own."""

_WORDS_LIMIT = 10_000
_CHARACTERS_LIMIT = 64
_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u1100-\u11ff\uac00-\ud7af"  # Hangul, whose particles are written onto the word
)
_WORD = re.compile(r"[^\W_]+")
_ASCII_WORD = re.compile(r"[0-9a-z]+")
_SKINS = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_STYLES = "\ufe0e\ufe0f"
"""Signs after a picture that say how to draw it."""

_PICTURE = re.compile(f"[{PICTURES}]")
_JOINTS = "-\u2010\u2011'\u2019\"\u05f3\u05f4"
"""Hyphens and apostrophes inside a word, and the signs of a Hebrew acronym."""

_JOINT = re.compile(f"[{_JOINTS}]")
_COMPOUND = re.compile(
    # From the beginning of a word and without a step back: a text may be one long word.
    rf"(?<![^\W_])[^\W_]++(?:[{_JOINTS}][^\W_]++)++"
)
_LETTER = re.compile(r"[^\W\d_]")
_POSSESSIVE = re.compile(r"['\u2019]s$", re.IGNORECASE)
_NO_WORD = re.compile(r"[\W_]")
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"\d(?:[\s().\-/\u00a0\u2010\u2011\u202f]{0,3}\d){6,19}")
_LOCAL_DIGITS = 7
_CODE = re.compile(r"(?<![^\W_])[^\W_]++(?:[-_./:\u2010-\u2013\u2212\uff0d][^\W_]++)++")
"""What may be a number of a thing: letters and digits with single signs between them."""

_SHORTEST_CODE = 5
_GROUPED = re.compile(r"(?<![\d.,'\u2019])\d{1,3}(?:([,.'\u2019])\d{3})(?:\1\d{3})*(?![,.'\u2019]?\d)")
_UNITS = "kg|g|mg|lbs?|oz|km|m|cm|mm|mi|ft|ml|l|mph|kmh|am|pm|h|hrs?|min|gb|mb|tb|kw|kwh|w|v|mah|hz|ghz|px"
_MEASURED = re.compile(
    rf"(?<![^\W_])(?:\d+(?:[,.'\u2019]\d{{3}}){{0,4}} (?i:{_UNITS})|[A-Z]{{2,3}} \d{{2,6}})(?![^\W_])"
)
_SPACELESS_RUN = re.compile(f"([{_SPACELESS}]+)")
_OPTIONAL_MARKS = (range(10, 36), range(200, 241))
"""Combining classes of what is often left out in writing: Hebrew and Arabic points, accents."""

UNSEEN = frozenset("\u00ad\u034f\u200b\u200c\u200d\u2060\ufeff")
"""Signs without a width, which say where a word may be broken or how its letters join."""

_PLAIN = str.maketrans(
    {"\u00f8": "o", "\u0142": "l", "\u0111": "d", "\u00f0": "d", "\u0131": "i", "\u0127": "h", "\u00fe": "th"}
    | {"\u00e6": "ae", "\u0153": "oe"}
)
"""Letters of their own that are typed without their stroke or as two where a keyboard lacks them."""

FORM = 3
"""Rises when the same text gives other words than before: rows of an earlier form are indexed anew."""


def indexed_words(text: str) -> list[str]:
    """Return every word of a text in order; of writing without spaces, each character and each pair of them."""
    if text.isascii():
        return _ascii_words(text)[:_WORDS_LIMIT]
    found: list[str] = []
    for run, spaceless in _runs(text):
        found.extend((*run, *_pairs(run)) if spaceless else (run,))
    return found[:_WORDS_LIMIT]


def query_words(text: str) -> list[str]:
    """Return the different words to look up; of writing without spaces pairs, so that a part of it is found."""
    found: dict[str, None] = {}
    for run, spaceless in _runs(text):
        found.update(dict.fromkeys(_pairs(run) if spaceless and len(run) > 1 else (run,)))
    return list(found)[:QUERY_LIMIT]


def joined_words(text: str) -> list[str]:
    """Return what a text writes apart and others write as one.

    "Wi-fi" as "wifi", a phone number without its spaces, "493-817" as "493817", "82 kg" as "82kg". Of a run of
    seven digits and more its last seven stand, too: that is where "+49 151 ..." and "0151 ..." agree.
    """
    found: dict[str, None] = {}
    for match in _COMPOUND.finditer(text) if _has_joint(text) else ():
        words = indexed_words(_NO_WORD.sub("", _POSSESSIVE.sub("", match[0]))) if _LETTER.search(match[0]) else []
        if len(words) == 1 and words[0] not in match[0].casefold():
            found[words[0]] = None
    digit = _DIGIT.search(text)
    if digit is None:
        return list(found)
    long = list(_DIGITS.finditer(text, digit.start()))
    for match in long:
        digits = "".join(str(unicodedata.decimal(char)) for char in match[0] if char.isdecimal())
        found |= dict.fromkeys((digits, digits[-_LOCAL_DIGITS:]))
    inside = [match.span() for match in long]
    codes = _codes(text, _two_words_before(text, digit.start()))
    found |= dict.fromkeys(code for start, code in codes if not any(a <= start < b for a, b in inside))
    return list(found)


def _two_words_before(text: str, place: int) -> int:
    """Return where what a digit belongs to may begin: most texts have none before their last words."""
    before = text.rfind(" ", 0, place)
    return 0 if before < 0 else text.rfind(" ", 0, before) + 1


def _codes(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Return ids, grouped numbers and measures as one word, and where they begin: "493-817", "10,000", "82 kg"."""
    for match in _CODE.finditer(text, start):
        code = indexed_words(_NO_WORD.sub("", match[0]))
        if len(code) == 1 and len(code[0]) >= _SHORTEST_CODE and _DIGIT.search(code[0]):
            yield match.start(), code[0]
    for match in _GROUPED.finditer(text, start):
        yield match.start(), _NO_WORD.sub("", match[0])
    for match in _MEASURED.finditer(text, start):
        yield match.start(), _NO_WORD.sub("", match[0]).casefold()


def _has_joint(text: str) -> bool:
    return "-" in text or "'" in text or (not text.isascii() and bool(_JOINT.search(text)))


def _ascii_words(text: str) -> list[str]:
    """Return the words of a text in which nothing is to be folded or split: most of what is read."""
    words = _ASCII_WORD.findall(text.lower())
    if len(text) <= _CHARACTERS_LIMIT:
        return words
    return [word[:_CHARACTERS_LIMIT] for word in words]


def _runs(text: str) -> Iterator[tuple[str, bool]]:
    if text.isascii():
        yield from ((word, False) for word in _ascii_words(text))
        return
    for word in _WORD.findall(_without_marks(text)):
        for part in _SPACELESS_RUN.split(word):
            if _SPACELESS_RUN.match(part):
                yield part, True
            elif part:
                yield part[:_CHARACTERS_LIMIT], False


def _without_marks(text: str) -> str:
    # Folded once more: a letter of mathematics is a capital only after it was taken apart.
    decomposed = unicodedata.normalize("NFKD", text.casefold()).casefold()
    plain = "".join(
        char
        for char in decomposed
        if char not in UNSEEN and not any(unicodedata.combining(char) in marks for marks in _OPTIONAL_MARKS)
    )
    return "".join(map(_spelt, unicodedata.normalize("NFC", plain).translate(_PLAIN)))


def _spelt(char: str) -> str:
    """Return a vowel sign or a picture as letters and digits: as it is, an index would cut its word there."""
    if _PICTURE.match(char):
        return "" if char in _SKINS else f" u{ord(char):x} "
    if char in _STYLES or unicodedata.category(char) not in ("Mn", "Mc", "Me"):
        return char
    return "" if _SPACELESS_RUN.match(char) else str(ord(char))


def _pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)]
