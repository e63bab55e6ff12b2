"""When two texts are the same fact."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from gaia_memory.language.printable_text import is_invisible

_FULL_STOPS = (".", "\u3002")

_LOOK_ALIKES = str.maketrans(
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
_DRAWN_ALIKE = str.maketrans(
    # Letters that another Latin one is drawn like in just this case, and some that a decomposition would change.
    {
        "\u03b7": "n", "\u03bd": "v", "\u03c5": "u", "\u03c9": "w", "\u03f2": "c", "\u03f3": "j", "\u03f9": "C",
        "\u037f": "J", "\u0475": "v", "\u0474": "V", "\u04c0": "I", "\u050d": "g", "\u050c": "G", "\u0251": "a",
        "\u0261": "g", "\u0131": "i",
    }
)  # fmt: skip
_APOSTROPHES = str.maketrans(dict.fromkeys("\u00b4\u0060\u02b9\u02bb\u02bc\u02bd\u2018\u2019\u201b\u2032", "'"))
_TELLING = frozenset("#%&@")
_DECORATION = frozenset("|~^`\u2800\u02b9\u02bb\u02bc\u02bd")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)\s*(?:[.,:/-]\s*|\s)(?=\d)")
_SIGN = re.compile(r"(?<!\w)-(?=\d)")
_KEPT = {".": "\ue000", ",": "\ue001", ":": "\ue002", "/": "\ue003", "-": "\ue004", "": "\ue005"}
"""What stands for a character that tells numbers apart while all others of its kind are dropped."""
_STANDING = frozenset(_KEPT.values())


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
    even = "".join(char for char in text.translate(_APOSTROPHES) if not _is_lone_accent(char))
    # What a Greek letter is drawn like depends on its case, and genuine Greek is the same in either: a form each.
    return {_bare(fold_alike(even)), _bare(fold_alike(even.translate(_DRAWN_ALIKE)))}


def tombstone_hashes(text: str, salt: str) -> set[str]:
    """Return what is kept of a forgotten text: nobody can read it, and only the same text gives one of them again."""
    return {_salted(form, salt) for form in tombstone_forms(text)}


def hashes_to_look_for(text: str, salt: str) -> set[str]:
    """Return what may be kept of a text where it was forgotten, also in databases that knew another form of it."""
    return tombstone_hashes(text, salt) | {_salted(normal_form(fold_alike(text)), salt)}


def _salted(form: str, salt: str) -> str:
    return hashlib.sha256(f"{salt}:{form}".encode("utf-8", "surrogatepass")).hexdigest()


def fold_alike(text: str) -> str:
    """Return the text in small letters, without what shows nothing, each letter for all that are drawn like it."""
    visible = "".join(char for char in unicodedata.normalize("NFKD", text) if not is_invisible(char))
    # A letter and its look-alike may each carry an accent: they are folded apart and put together again.
    alike = unicodedata.normalize("NFKD", _fold_case(visible)).translate(_LOOK_ALIKES)
    return unicodedata.normalize("NFC", alike)


def _bare(text: str) -> str:
    """Return a folded text without white space and punctuation, but for what separates or signs numbers."""
    dashed = "".join("-" if _is_dash(char) else char for char in text)
    marked = _BETWEEN_DIGITS.sub(lambda found: _KEPT[found[0].strip()], dashed)
    marked = _SIGN.sub(_KEPT["-"], marked)
    bare = "".join(char for char in marked if char in _STANDING or not _is_dropped(char))
    # Nothing but punctuation: then that is what it says.
    return unicodedata.normalize("NFC", bare) or " ".join(text.split())


def _is_lone_accent(char: str) -> bool:
    return len(apart := unicodedata.normalize("NFKD", char)) > 1 and apart[0] == " "


def _is_dash(char: str) -> bool:
    return char == "\u2212" or unicodedata.category(char) == "Pd"


def _is_dropped(char: str) -> bool:
    kind = unicodedata.category(char)
    return char not in _TELLING and (char.isspace() or kind[0] == "P" or kind == "Cc" or char in _DECORATION)


def _fold_case(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
