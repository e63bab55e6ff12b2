"""When two texts are the same fact."""

from __future__ import annotations

import hashlib
import unicodedata

from gaia_memory.models.text import is_invisible

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


def tombstone_form(text: str) -> str:
    """Return the normal form of a text as a person sees it.

    Characters that show nothing are dropped and letters that look alike are one, so that a forgotten text does
    not come back in a disguise.
    """
    visible = "".join(char for char in unicodedata.normalize("NFKD", text) if not is_invisible(char))
    # A letter and its look-alike may each carry an accent: they are folded apart and put together again.
    alike = unicodedata.normalize("NFKD", _fold_case(visible)).translate(_LOOK_ALIKES)
    return normal_form(alike)


def tombstone_hash(text: str, salt: str) -> str:
    """Return what is kept of a forgotten text: nobody can read it, and only the same text gives it again."""
    return hashlib.sha256(f"{salt}:{tombstone_form(text)}".encode("utf-8", "surrogatepass")).hexdigest()


def _fold_case(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
