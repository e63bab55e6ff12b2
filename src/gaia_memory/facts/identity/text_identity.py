"""Decides when two texts are the same fact, and when a text is one that was forgotten."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from gaia_memory.language.homoglyphs import fold_case, fold_cased_homoglyphs, fold_homoglyphs, replace_look_alikes

_FULL_STOPS = (".", "\u3002")

_APOSTROPHES = str.maketrans(dict.fromkeys("\u00b4\u0060\u02b9\u02bb\u02bc\u02bd\u2018\u2019\u201b\u2032", "'"))
_SIGNIFICANT_SYMBOLS = frozenset("#%&@")
_DECORATIVE_SYMBOLS = frozenset("|~^`\u2800\u02b9\u02bb\u02bc\u02bd")
_DIGIT_SEPARATOR = re.compile(r"(?<=\d)\s*(?:[.,:/-]\s*|\s)(?=\d)")
_MINUS_SIGN = re.compile(r"(?<!\w)-(?=\d)")
_PLACEHOLDER_BY_SYMBOL = {".": "\ue000", ",": "\ue001", ":": "\ue002", "/": "\ue003", "-": "\ue004", "": "\ue005"}
"""Placeholders of characters that distinguish numbers, while other punctuation is dropped."""
_PLACEHOLDERS = frozenset(_PLACEHOLDER_BY_SYMBOL.values())


def normal_form(text: str) -> str:
    """Return the text in the form that is compared: NFC, white space collapsed, case folded, no final full stop."""
    folded = " ".join(fold_case(text).split())
    for stop in _FULL_STOPS:
        if folded.endswith(stop):
            return folded.removesuffix(stop).rstrip()
    return folded


def normal_hash(text: str) -> str:
    """Return the hash of the normal form, for a unique index."""
    return hashlib.sha256(normal_form(text).encode("utf-8", "surrogatepass")).hexdigest()


def tombstone_forms(text: str) -> set[str]:
    """Return the forms in which a text is compared with forgotten ones: two texts are the same if they share a form.

    Case, spacing, punctuation, invisible characters and differences between look-alike letters are ignored, so that a
    forgotten text cannot come back in disguise. Characters that distinguish numbers stay: "1.5" is not "15".
    """
    # A lone accent would join the letter before it once it is decomposed.
    normalized = "".join(char for char in text.translate(_APOSTROPHES) if not _is_lone_accent(char))
    # The look of a Greek letter depends on its case, while genuine Greek is the same in both: one form for each.
    # The hashes of forgotten texts are stored, so a form may be added here, but none may change.
    return {
        _strip_punctuation(fold(spelling))
        for fold in (fold_homoglyphs, fold_cased_homoglyphs)
        for spelling in {normalized, replace_look_alikes(normalized)}
    }


def tombstone_hashes(text: str, salt: str) -> set[str]:
    """Return the hashes stored of a forgotten text: they do not reveal it, and only the same text yields one again."""
    return {_salted_hash(form, salt) for form in tombstone_forms(text)}


def tombstone_lookup_hashes(text: str, salt: str) -> set[str]:
    """Return all hashes that a forgotten text may have, including those of older versions of this package."""
    return tombstone_hashes(text, salt) | {_salted_hash(normal_form(fold_homoglyphs(text)), salt)}


def _salted_hash(form: str, salt: str) -> str:
    return hashlib.sha256(f"{salt}:{form}".encode("utf-8", "surrogatepass")).hexdigest()


def _strip_punctuation(text: str) -> str:
    """Return a folded text without white space and punctuation, except separators and signs of numbers."""
    dashed = "".join("-" if _is_dash(char) else char for char in text)
    marked = _DIGIT_SEPARATOR.sub(lambda found: _PLACEHOLDER_BY_SYMBOL[found[0].strip()], dashed)
    marked = _MINUS_SIGN.sub(_PLACEHOLDER_BY_SYMBOL["-"], marked)
    stripped = "".join(char for char in marked if char in _PLACEHOLDERS or not _is_ignored(char))
    # A text of punctuation alone is compared unchanged.
    return unicodedata.normalize("NFC", stripped) or " ".join(text.split())


def _is_lone_accent(char: str) -> bool:
    return len(decomposed := unicodedata.normalize("NFKD", char)) > 1 and decomposed[0] == " "


def _is_dash(char: str) -> bool:
    return char == "\u2212" or unicodedata.category(char) == "Pd"


def _is_ignored(char: str) -> bool:
    category = unicodedata.category(char)
    return char not in _SIGNIFICANT_SYMBOLS and (
        char.isspace() or category[0] == "P" or category == "Cc" or char in _DECORATIVE_SYMBOLS
    )
