"""When two texts are the same fact."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from gaia_memory.language.printable_text import is_invisible

_FULL_STOPS = (".", "\u3002")

_HOMOGLYPHS = str.maketrans(
    # Cyrillic, then Greek: letters of which the large or the small form is drawn like the Latin one.
    {
        "\u0430": "a", "\u0432": "b", "\u0435": "e", "\u043a": "k", "\u043c": "m", "\u043d": "h", "\u043e": "o",
        "\u0440": "p", "\u0441": "c", "\u0442": "t", "\u0443": "y", "\u0445": "x", "\u0455": "s", "\u0456": "i",
        "\u0458": "j", "\u04af": "y", "\u04bb": "h", "\u04cf": "l", "\u0501": "d", "\u051b": "q", "\u051d": "w",
        "\u03b1": "a", "\u03b2": "b", "\u03b3": "y", "\u03b5": "e", "\u03b6": "z", "\u03b7": "h", "\u03b9": "i",
        "\u03ba": "k", "\u03bc": "m", "\u03bd": "n", "\u03bf": "o", "\u03c1": "p", "\u03c4": "t", "\u03c5": "y",
        "\u03c7": "x",
    }
)  # fmt: skip
_CASE_SENSITIVE_HOMOGLYPHS = str.maketrans(
    # Letters that another Latin one is drawn like in just this case, and some that a decomposition would change.
    {
        "\u03b7": "n", "\u03bd": "v", "\u03c5": "u", "\u03c9": "w", "\u03f2": "c", "\u03f3": "j", "\u03f9": "C",
        "\u037f": "J", "\u0475": "v", "\u0474": "V", "\u04c0": "I", "\u050d": "g", "\u050c": "G", "\u0251": "a",
        "\u0261": "g", "\u0131": "i",
    }
)  # fmt: skip
_APOSTROPHES = str.maketrans(dict.fromkeys("\u00b4\u0060\u02b9\u02bb\u02bc\u02bd\u2018\u2019\u201b\u2032", "'"))
_SIGNIFICANT_SYMBOLS = frozenset("#%&@")
_DECORATIVE_SYMBOLS = frozenset("|~^`\u2800\u02b9\u02bb\u02bc\u02bd")
_DIGIT_SEPARATOR = re.compile(r"(?<=\d)\s*(?:[.,:/-]\s*|\s)(?=\d)")
_MINUS_SIGN = re.compile(r"(?<!\w)-(?=\d)")
_PLACEHOLDER_BY_SYMBOL = {".": "\ue000", ",": "\ue001", ":": "\ue002", "/": "\ue003", "-": "\ue004", "": "\ue005"}
"""What stands for a character that tells numbers apart while all others of its kind are dropped."""
_PLACEHOLDERS = frozenset(_PLACEHOLDER_BY_SYMBOL.values())


def normal_form(text: str) -> str:
    """Return the text as compared: NFC, white space collapsed, case folded, without its final full stop."""
    folded = " ".join(_fold_case(text).split())
    for stop in _FULL_STOPS:
        if folded.endswith(stop):
            return folded.removesuffix(stop).rstrip()
    return folded


def normal_hash(text: str) -> str:
    """Return the normal form as a value of fixed length, for a unique index."""
    return hashlib.sha256(normal_form(text).encode("utf-8", "surrogatepass")).hexdigest()


def tombstone_forms(text: str) -> set[str]:
    """Return what a text is compared by with one that was forgotten: they are the same where they share a form.

    Case, spacing, punctuation and characters that show nothing do not count, and letters that look alike are one, so
    that a forgotten text does not come back in a disguise. What tells numbers apart stays: "1.5" is not "15".
    """
    # An accent that stands alone would join the letter before it once it is decomposed.
    normalized = "".join(char for char in text.translate(_APOSTROPHES) if not _is_lone_accent(char))
    # What a Greek letter is drawn like depends on its case, and genuine Greek is the same in either: a form each.
    return {
        _strip_punctuation(fold_homoglyphs(normalized)),
        _strip_punctuation(fold_homoglyphs(normalized.translate(_CASE_SENSITIVE_HOMOGLYPHS))),
    }


def tombstone_hashes(text: str, salt: str) -> set[str]:
    """Return what is kept of a forgotten text: nobody can read it, and only the same text gives one of them again."""
    return {_salted_hash(form, salt) for form in tombstone_forms(text)}


def tombstone_lookup_hashes(text: str, salt: str) -> set[str]:
    """Return what may be kept of a text where it was forgotten, also in databases that knew another form of it."""
    return tombstone_hashes(text, salt) | {_salted_hash(normal_form(fold_homoglyphs(text)), salt)}


def _salted_hash(form: str, salt: str) -> str:
    return hashlib.sha256(f"{salt}:{form}".encode("utf-8", "surrogatepass")).hexdigest()


def fold_homoglyphs(text: str) -> str:
    """Return the text in small letters, without what shows nothing, each letter for all that are drawn like it."""
    visible = "".join(char for char in unicodedata.normalize("NFKD", text) if not is_invisible(char))
    # A letter and its look-alike may each carry an accent: they are folded apart and put together again.
    folded = unicodedata.normalize("NFKD", _fold_case(visible)).translate(_HOMOGLYPHS)
    return unicodedata.normalize("NFC", folded)


def _strip_punctuation(text: str) -> str:
    """Return a folded text without white space and punctuation, but for what separates or signs numbers."""
    dashed = "".join("-" if _is_dash(char) else char for char in text)
    marked = _DIGIT_SEPARATOR.sub(lambda found: _PLACEHOLDER_BY_SYMBOL[found[0].strip()], dashed)
    marked = _MINUS_SIGN.sub(_PLACEHOLDER_BY_SYMBOL["-"], marked)
    stripped = "".join(char for char in marked if char in _PLACEHOLDERS or not _is_ignored(char))
    # Nothing but punctuation: then that is what it says.
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


def _fold_case(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
