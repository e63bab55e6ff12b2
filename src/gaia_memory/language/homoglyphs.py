"""Characters that look alike.

There are two tables, for two purposes. Hashes of forgotten facts are stored in folded form, so the table for facts must
not change. The table for prompts has only the letters and brackets of tags, in more scripts, and may grow.
"""

# ruff: noqa: RUF001 - the tables consist of look-alikes

from __future__ import annotations

import unicodedata
from functools import lru_cache

from gaia_memory.language.printable_text import is_invisible
from gaia_memory.language.unicode_forms import fold_case

_FACT_HOMOGLYPHS = str.maketrans(
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
_CASED_FACT_HOMOGLYPHS = str.maketrans(
    # Letters that look like another Latin letter in this case only, and letters that a decomposition would change.
    {
        "\u03b7": "n", "\u03bd": "v", "\u03c5": "u", "\u03c9": "w", "\u03f2": "c", "\u03f3": "j", "\u03f9": "C",
        "\u037f": "J", "\u0475": "v", "\u0474": "V", "\u04c0": "I", "\u050d": "g", "\u050c": "G", "\u0251": "a",
        "\u0261": "g", "\u0131": "i",
    }
)  # fmt: skip

_TAG_CONFUSABLES = {
    **dict.fromkeys("‹〈⟨《⟪❮❬❰⦑˂ᐸ≺≪⋖⋘⧼«﹤᚜", "<"),
    **dict.fromkeys("›〉⟩》⟫❯❭❱⦒˃ᐳ≻≫⋗⋙⧽»﹥᚛", ">"),
    **dict.fromkeys("⁄∕⧸╱", "/"),
    # Cyrillic, Greek, Armenian, Cherokee, Lisu and small capitals, by the Latin letter of a tag they look like.
    **dict.fromkeys("аαᴀᎪꓮ", "a"),
    **dict.fromkeys("сϲᴄᏟꓚ", "c"),
    **dict.fromkeys("ԁᴅᎠꓓ", "d"),
    **dict.fromkeys("еεᴇᎬꓰ", "e"),
    **dict.fromkeys("ꜰϝꓝ", "f"),
    **dict.fromkeys("һнηʜᎻꓧհ", "h"),
    **dict.fromkeys("іιıӏꓲ", "i"),
    **dict.fromkeys("јϳᴊᎫꓙ", "j"),
    **dict.fromkeys("ʟᏞꓡ", "l"),
    **dict.fromkeys("мμᴍᎷꓟ", "m"),
    **dict.fromkeys("νпɴꓠո", "n"),
    **dict.fromkeys("оοσᴏօᎾꓳ", "o"),
    **dict.fromkeys("рρᴘᏢꓑ", "p"),
    **dict.fromkeys("ꞅгᴦʀᎡᏒꓣ", "r"),
    **dict.fromkeys("ѕꜱᏚꓢ", "s"),
    **dict.fromkeys("тτᴛᎢꓔ", "t"),
    **dict.fromkeys("υսᴜꓴ", "u"),
    **dict.fromkeys("ѵᴠᏙꓦ", "v"),
    **dict.fromkeys("уүʏᎩꓬ", "y"),
}


def fold_homoglyphs(text: str) -> str:
    """Return the text in lower case, without invisible characters, look-alike letters replaced by one of them."""
    visible = "".join(char for char in unicodedata.normalize("NFKD", text) if not is_invisible(char))
    # A letter and its look-alike may each carry an accent, so accents are separated and composed again.
    folded = unicodedata.normalize("NFKD", fold_case(visible)).translate(_FACT_HOMOGLYPHS)
    return unicodedata.normalize("NFC", folded)


def fold_cased_homoglyphs(text: str) -> str:
    """Return `fold_homoglyphs` of the text, look-alikes that depend on case replaced first."""
    return fold_homoglyphs(text.translate(_CASED_FACT_HOMOGLYPHS))


@lru_cache(maxsize=4096)
def fold_tag_confusables(char: str) -> str:
    """Return the letters, digits, brackets and slashes that a character looks like; nothing for any other."""
    decomposed = _TAG_CONFUSABLES.get(char) or unicodedata.normalize("NFKD", char)
    plain = "".join(_TAG_CONFUSABLES.get(part, part) for part in decomposed.casefold())
    return "".join(part for part in plain if part in "<>/" or part.isalnum())
