"""Characters that look alike: one table for forgotten facts, prompts and credentials.

Hashes of forgotten facts are stored in folded form, so what `fold_homoglyphs` and `fold_cased_homoglyphs` return must
not change. A new look-alike belongs into `_FURTHER_LETTERS`, which every other function reads, too.
"""

# ruff: noqa: RUF001 - the tables consist of look-alikes

from __future__ import annotations

import unicodedata
from functools import lru_cache

from gaia_memory.language.printable_text import is_invisible

_HASHED_LETTERS = str.maketrans(
    # Cyrillic, then Greek: letters whose upper or lower case looks like a Latin letter.
    {
        "\u0430": "a", "\u0432": "b", "\u0435": "e", "\u043a": "k", "\u043c": "m", "\u043d": "h", "\u043e": "o",
        "\u0440": "p", "\u0441": "c", "\u0442": "t", "\u0443": "y", "\u0445": "x", "\u0455": "s", "\u0456": "i",
        "\u0458": "j", "\u04af": "y", "\u04bb": "h", "\u04cf": "l", "\u0501": "d", "\u051b": "q", "\u051d": "w",
        "\u03b1": "a", "\u03b2": "b", "\u03b3": "y", "\u03b5": "e", "\u03b6": "z", "\u03b7": "h", "\u03b9": "i",
        "\u03ba": "k", "\u03bc": "m", "\u03bd": "n", "\u03bf": "o", "\u03c1": "p", "\u03c4": "t", "\u03c5": "y",
        "\u03c7": "x",
    }
)  # fmt: skip
_CASED_HASHED_LETTERS = str.maketrans(
    # Letters that look like another Latin letter in this case only, and letters that a decomposition would change.
    {
        "\u03b7": "n", "\u03bd": "v", "\u03c5": "u", "\u03c9": "w", "\u03f2": "c", "\u03f3": "j", "\u03f9": "C",
        "\u037f": "J", "\u0475": "v", "\u0474": "V", "\u04c0": "I", "\u050d": "g", "\u050c": "G", "\u0251": "a",
        "\u0261": "g", "\u0131": "i",
    }
)  # fmt: skip
_FURTHER_LETTERS = {
    ord(char): letter
    for letter, chars in {
        # Cyrillic, Greek, Armenian, Cherokee, Lisu and small capitals, without differences of case.
        "a": "ᴀᎪꓮ", "b": "ʙᏴꓐƅ", "c": "ᴄᏟꓚ", "d": "ᴅᎠꓓԁժ", "e": "ᴇᎬꓰҽե", "f": "ꜰϝꓝքֆ", "g": "ɢᏀꓖցɡ",
        "h": "ʜᎻꓧհ", "i": "ıɩꓲɪӀ", "j": "ᴊᎫꓙյ", "k": "ᴋᏦꓗ", "l": "ʟᏞꓡӏ", "m": "ᴍᎷꓟ", "n": "пɴꓠոռ", "o": "σᴏօᎾꓳ",
        "p": "ᴘᏢꓑ", "q": "ԛգ", "r": "ꞅгᴦʀᎡᏒꓣ", "s": "ꜱᏚꓢ", "t": "ᴛᎢꓔ", "u": "սᴜꓴ", "v": "ѵᴠᏙꓦ", "w": "ᴡᎳꓪա",
        "x": "ꓫ", "y": "үʏᎩꓬ", "z": "ᴢᏃꓜ",
    }.items()
    for char in chars
}  # fmt: skip
_LETTERS = {**_FURTHER_LETTERS, **_HASHED_LETTERS}

_TAG_SIGNS = {
    **dict.fromkeys("‹〈⟨《⟪❮❬❰⦑˂ᐸ≺≪⋖⋘⧼«﹤᚜◁◃≲🠌⪡⪻", "<"),
    **dict.fromkeys("›〉⟩》⟫❯❭❱⦒˃ᐳ≻≫⋗⋙⧽»﹥᚛▷▹≳🠎⪢⪼", ">"),
    **dict.fromkeys("⁄∕⧸╱", "/"),
}


def fold_homoglyphs(text: str) -> str:
    """Return the text in lower case, without invisible characters, Cyrillic and Greek look-alikes as Latin letters."""
    visible = "".join(char for char in unicodedata.normalize("NFKD", text) if not is_invisible(char))
    # A letter and its look-alike may each carry an accent, so accents are separated and composed again.
    folded = unicodedata.normalize("NFKD", fold_case(visible)).translate(_HASHED_LETTERS)
    return unicodedata.normalize("NFC", folded)


def fold_cased_homoglyphs(text: str) -> str:
    """Return `fold_homoglyphs` of the text, look-alikes that depend on case replaced first."""
    return fold_homoglyphs(text.translate(_CASED_HASHED_LETTERS))


def replace_look_alikes(text: str) -> str:
    """Return the text with every letter that looks like a Latin one replaced by it, in the same case."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", "".join(map(_latin_letter, unicodedata.normalize("NFKD", text))))


@lru_cache(maxsize=4096)
def fold_width(char: str) -> str:
    """Return the NFKC form of a character, nothing for an invisible one, an ASCII digit for a decimal digit."""
    if is_invisible(char):
        return ""
    plain = unicodedata.normalize("NFKC", char)
    digit = unicodedata.decimal(plain, None) if len(plain) == 1 else None
    return plain if digit is None else str(digit)


@lru_cache(maxsize=4096)
def fold_tag_confusables(char: str) -> str:
    """Return the letters, digits, brackets and slashes that a character looks like; nothing for any other."""
    decomposed = _TAG_SIGNS.get(char) or unicodedata.normalize("NFKD", char)
    plain = "".join(_TAG_SIGNS.get(part) or _latin_letter(part).casefold() for part in decomposed)
    return "".join(part for part in plain if part in "<>/" or part.isalnum())


def _latin_letter(char: str) -> str:
    """Return the Latin letter that a character looks like, or the character."""
    if char.isascii():
        return char
    if letter := _CASED_HASHED_LETTERS.get(ord(char)):
        return letter
    folded = fold_case(char)
    letter = _LETTERS.get(ord(folded)) if len(folded) == 1 else None
    if letter is None:
        return char
    return letter.upper() if char.isupper() else letter


def compose(text: str) -> str:
    """Return the text in NFC, each letter and its accent as one character: some keyboards type two."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def fold_case(text: str) -> str:
    """Return the composed text without differences of case."""
    return compose(compose(text).casefold())
