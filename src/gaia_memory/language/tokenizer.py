"""Splits texts into the words that recall compares."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

MAX_QUERY_WORDS = 64
"""Words of a query that are looked up."""

EMOJI_RANGES = "\u2600-\u27bf\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff"
"""Ranges of emoji and other symbols that are words of their own."""

_MAX_INDEXED_WORDS = 10_000
_MAX_WORD_CHARACTERS = 64
_UNSPACED_SCRIPTS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u1100-\u11ff\uac00-\ud7af"  # Hangul, whose particles are written onto the word
)
_WORD = re.compile(r"[^\W_]+")
_ASCII_WORD = re.compile(r"[0-9a-z]+")
_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_VARIATION_SELECTORS = "\ufe0e\ufe0f"
"""Characters after an emoji that select its style."""

_EMOJI = re.compile(f"[{EMOJI_RANGES}]")
_JOINERS = "-\u2010\u2011'\u2019\"\u05f3\u05f4"
"""Hyphens and apostrophes inside a word, and the marks of a Hebrew acronym."""

_JOINER = re.compile(f"[{_JOINERS}]")
_COMPOUND = re.compile(
    # From the beginning of a word and without a step back: a text may be one long word.
    rf"(?<![^\W_])[^\W_]++(?:[{_JOINERS}][^\W_]++)++"
)
_LETTER = re.compile(r"[^\W\d_]")
_POSSESSIVE = re.compile(r"['\u2019]s$", re.IGNORECASE)
_NON_WORD = re.compile(r"[\W_]")
_DIGIT = re.compile(r"\d")
_LONG_NUMBER = re.compile(r"\d(?:[\s().\-/\u00a0\u2010\u2011\u202f]{0,3}\d){6,19}")
_LOCAL_NUMBER_DIGITS = 7
_IDENTIFIER = re.compile(r"(?<![^\W_])[^\W_]++(?:[-_./:\u2010-\u2013\u2212\uff0d][^\W_]++)++")
"""Possible identifiers: letters and digits with single separators between them."""

_MIN_IDENTIFIER_CHARACTERS = 5
_GROUPED_NUMBER = re.compile(r"(?<![\d.,'\u2019])\d{1,3}(?:([,.'\u2019])\d{3})(?:\1\d{3})*(?![,.'\u2019]?\d)")
_UNITS = "kg|g|mg|lbs?|oz|km|m|cm|mm|mi|ft|ml|l|mph|kmh|am|pm|h|hrs?|min|gb|mb|tb|kw|kwh|w|v|mah|hz|ghz|px"
_MEASUREMENT = re.compile(
    rf"(?<![^\W_])(?:\d+(?:[,.'\u2019]\d{{3}}){{0,4}} (?i:{_UNITS})|[A-Z]{{2,3}} \d{{2,6}})(?![^\W_])"
)
_UNSPACED_RUN = re.compile(f"([{_UNSPACED_SCRIPTS}]+)")
_OPTIONAL_MARKS = (range(10, 36), range(200, 241))
"""Combining classes of marks that are often omitted: Hebrew and Arabic points, accents."""

ZERO_WIDTH_CHARACTERS = frozenset("\u00ad\u034f\u200b\u200c\u200d\u2060\ufeff")
"""Characters without a width that control line breaks and ligatures."""

_UNDECOMPOSED_LETTERS = str.maketrans(
    {"\u00f8": "o", "\u0142": "l", "\u0111": "d", "\u00f0": "d", "\u0131": "i", "\u0127": "h", "\u00fe": "th"}
    | {"\u00e6": "ae", "\u0153": "oe"}
)
"""Letters that Unicode does not decompose, and their usual replacements on other keyboards."""

TOKENIZER_VERSION = 3
"""Increases when the same text yields other words: rows of an earlier version are indexed again."""


def index_tokens(text: str) -> list[str]:
    """Return every word of a text in order; for scripts without spaces, each character and each pair of characters."""
    if text.isascii():
        return _ascii_tokens(text)[:_MAX_INDEXED_WORDS]
    tokens: list[str] = []
    for run, is_unspaced in _script_runs(text):
        tokens.extend((*run, *_bigrams(run)) if is_unspaced else (run,))
    return tokens[:_MAX_INDEXED_WORDS]


def query_tokens(text: str) -> list[str]:
    """Return the distinct words to look up; for scripts without spaces, pairs of characters."""
    tokens: dict[str, None] = {}
    for run, is_unspaced in _script_runs(text):
        tokens.update(dict.fromkeys(_bigrams(run) if is_unspaced and len(run) > 1 else (run,)))
    return list(tokens)[:MAX_QUERY_WORDS]


def compound_tokens(text: str) -> list[str]:
    """Return the parts of a text that other texts write as one word.

    "Wi-fi" yields "wifi", "493-817" "493817", "82 kg" "82kg", and a phone number loses its spaces. A run of at least
    seven digits also yields its last seven, in which "+49 151 ..." and "0151 ..." agree.
    """
    tokens: dict[str, None] = {}
    for match in _COMPOUND.finditer(text) if _has_joiner(text) else ():
        words = index_tokens(_NON_WORD.sub("", _POSSESSIVE.sub("", match[0]))) if _LETTER.search(match[0]) else []
        if len(words) == 1 and words[0] not in match[0].casefold():
            tokens[words[0]] = None
    digit = _DIGIT.search(text)
    if digit is None:
        return list(tokens)
    long_numbers = list(_LONG_NUMBER.finditer(text, digit.start()))
    for match in long_numbers:
        digits = "".join(str(unicodedata.decimal(char)) for char in match[0] if char.isdecimal())
        tokens |= dict.fromkeys((digits, digits[-_LOCAL_NUMBER_DIGITS:]))
    long_number_spans = [match.span() for match in long_numbers]
    identifiers = _find_identifiers(text, _two_words_before(text, digit.start()))
    tokens |= dict.fromkeys(
        code for start, code in identifiers if not any(a <= start < b for a, b in long_number_spans)
    )
    return list(tokens)


def _two_words_before(text: str, position: int) -> int:
    """Return the position two words before `position`, where an identifier with a digit there may begin."""
    before = text.rfind(" ", 0, position)
    return 0 if before < 0 else text.rfind(" ", 0, before) + 1


def _find_identifiers(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Yield the position and the joined form of identifiers, grouped numbers and measures: "493-817", "10,000"."""
    for match in _IDENTIFIER.finditer(text, start):
        identifier_tokens = index_tokens(_NON_WORD.sub("", match[0]))
        if (
            len(identifier_tokens) == 1
            and len(identifier_tokens[0]) >= _MIN_IDENTIFIER_CHARACTERS
            and _DIGIT.search(identifier_tokens[0])
        ):
            yield match.start(), identifier_tokens[0]
    for match in _GROUPED_NUMBER.finditer(text, start):
        yield match.start(), _NON_WORD.sub("", match[0])
    for match in _MEASUREMENT.finditer(text, start):
        yield match.start(), _NON_WORD.sub("", match[0]).casefold()


def _has_joiner(text: str) -> bool:
    return "-" in text or "'" in text or (not text.isascii() and bool(_JOINER.search(text)))


def _ascii_tokens(text: str) -> list[str]:
    """Return the words of an ASCII text, which needs no normalisation."""
    words = _ASCII_WORD.findall(text.lower())
    if len(text) <= _MAX_WORD_CHARACTERS:
        return words
    return [word[:_MAX_WORD_CHARACTERS] for word in words]


def _script_runs(text: str) -> Iterator[tuple[str, bool]]:
    if text.isascii():
        yield from ((word, False) for word in _ascii_tokens(text))
        return
    for word in _WORD.findall(_normalize(text)):
        for part in _UNSPACED_RUN.split(word):
            if _UNSPACED_RUN.match(part):
                yield part, True
            elif part:
                yield part[:_MAX_WORD_CHARACTERS], False


def _normalize(text: str) -> str:
    # Folded twice: a mathematical capital becomes a plain capital only after decomposition.
    decomposed = unicodedata.normalize("NFKD", text.casefold()).casefold()
    unmarked = "".join(
        char
        for char in decomposed
        if char not in ZERO_WIDTH_CHARACTERS
        and not any(unicodedata.combining(char) in marks for marks in _OPTIONAL_MARKS)
    )
    return "".join(map(_encode_char, unicodedata.normalize("NFC", unmarked).translate(_UNDECOMPOSED_LETTERS)))


def _encode_char(char: str) -> str:
    """Return a vowel sign or an emoji as letters and digits: an index would split the word there otherwise."""
    if _EMOJI.match(char):
        return "" if char in _SKIN_TONES else f" u{ord(char):x} "
    if char in _VARIATION_SELECTORS or unicodedata.category(char) not in ("Mn", "Mc", "Me"):
        return char
    return "" if _UNSPACED_RUN.match(char) else str(ord(char))


def _bigrams(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)]
