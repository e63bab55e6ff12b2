"""Splits a text into the words and numbers that dates are made of."""

from __future__ import annotations

import re
import unicodedata
from enum import IntEnum
from typing import NamedTuple


class Gap(IntEnum):
    """What stands between a token and the one before it."""

    BREAK = 0
    JOIN = 1
    DOT = 2
    COMMA = 3
    DASH = 4
    HYPHEN = 5


class Token(NamedTuple):
    """A word or a number in folded form, its positions in the folded text, and the gap before it.

    `number` is the value of a plain number of at most four digits, -1 for anything else.
    """

    text: str
    start: int
    end: int
    gap: Gap
    number: int
    has_dot: bool


_COMMA_IN_NUMBER = r",(?!(?:19|20)[0-9]{2}(?![0-9]))"
"""A comma that is not the one of "December 1,2023"."""

_TOKEN = re.compile(rf"[0-9]++(?:(?:[.:/t+-]|{_COMMA_IN_NUMBER})[0-9]++)*+(?:[a-z\u00e0]++[0-9]*+)?+|[a-z\u00e0]++")
_GAP = re.compile(r"(?P<join>[^\S\n]{1,3}|\s?\n\s?|')|(?P<dot>\.\s{0,2})|(?P<comma>\s?,\s{0,2})|(?P<dash>\.?\s?-\s?)")
_GAPS = {"join": Gap.JOIN, "dot": Gap.DOT, "comma": Gap.COMMA, "dash": Gap.DASH}
_AMOUNT_BEFORE = frozenset("$\u20ac\u00a3\u00a5#+@=\\&_~^*<>")
_AMOUNT_AFTER = re.compile(r"\s?[%\u2030\u20ac$\u00a3\u00a5\u00b0_@=]|[^\W\d_]")
_KEPT_LETTERS = "\u00e0"
"""Accented letters that stay: in French "à" is a preposition and "a" a verb."""

_PLAIN_CHARACTERS = {"\u2019": "'", "\u2018": "'", "\u02bc": "'", "`": "'", "\u00df": "ss", "\u0153": "oe"}
_PLAIN_CHARACTERS |= dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")


class _FoldTable(dict[str, str]):
    """Folds a character to lower case without accents; remembers what it folded."""

    def __missing__(self, char: str) -> str:
        folded = self[char] = _fold_character(char)
        return folded


def _fold_character(char: str) -> str:
    lower = char.lower()
    if lower in _KEPT_LETTERS:
        return lower
    if lower in _PLAIN_CHARACTERS:
        return _PLAIN_CHARACTERS[lower]
    digit = unicodedata.decimal(char, None)
    if digit is not None:
        return str(digit)
    if char.isspace():
        return "\n" if char == "\n" else " "
    if unicodedata.category(char) in ("Mn", "Cf"):
        return ""
    plain = unicodedata.normalize("NFKD", lower)
    return "".join(each for each in plain if not unicodedata.combining(each)) or lower


_FOLD_TABLE = _FoldTable()


def fold_text(text: str) -> tuple[str, list[int] | None]:
    """Return the text in lower case without accents, and the original position of each character if they differ."""
    if text.isascii():
        return text.lower().replace("`", "'"), None
    # A decomposed "à" is composed by hand: NFC would move all other positions.
    pieces = [
        "\u00e0" if pair in ("a\u0300", "A\u0300") else ""
        for pair in map("".join, zip(text, text[1:] + " ", strict=True))
    ]
    pieces = [piece or _FOLD_TABLE[char] for piece, char in zip(pieces, text, strict=True)]
    folded = "".join(pieces)
    if len(folded) == len(text) and "" not in pieces:
        return folded, None
    positions = [index for index, piece in enumerate(pieces) for _ in piece]
    return folded, [*positions, len(text)]


def split_tokens(folded: str) -> list[Token]:
    """Return the tokens of a folded text."""
    tokens: list[Token] = []
    previous_end = 0
    for found in _TOKEN.finditer(folded):
        text, (start, end) = found[0], found.span()
        number, has_dot = -1, False
        if text[0] <= "9":
            number, has_dot = _read_number(folded, text, start, end)
        tokens.append(Token(text, start, end, _find_gap(folded, previous_end, start), number, has_dot))
        previous_end = end
    return tokens


def _read_number(folded: str, text: str, start: int, end: int) -> tuple[int, bool]:
    """Return the value of a plain number, -1 for another one, -2 for an amount or a part of a word."""
    if start and (folded[start - 1] in _AMOUNT_BEFORE or folded[start - 1].isalnum()):
        return -2, False
    if start > 1 and folded[start - 1] == " " and folded[start - 2] in _AMOUNT_BEFORE:
        return -2, False
    if _AMOUNT_AFTER.match(folded, end):
        return -2, False
    has_dot = folded.startswith(".", end)
    return (int(text) if len(text) <= 4 and text.isdigit() else -1), has_dot


def _find_gap(folded: str, start: int, end: int) -> Gap:
    if end - start == 1:
        char = folded[start]
        if char in " '\n":
            return Gap.JOIN
        if char in ".,":
            return Gap.DOT if char == "." else Gap.COMMA
        if char == "-":
            return Gap.HYPHEN if folded[start - 1].isalpha() and folded[end].isalpha() else Gap.DASH
    if not 0 < end - start <= 4:
        return Gap.BREAK
    found = _GAP.fullmatch(folded, start, end)
    return _GAPS[found.lastgroup or ""] if found else Gap.BREAK
