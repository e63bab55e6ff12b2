"""Makes a person's text harmless inside a tagged block of a prompt."""

# ruff: noqa: RUF001 - the table of look-alikes is made of them

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

TAGS = ("USER_PROFILE", "FACTS", "PROJECTS")

_LOOK_ALIKES = {
    **dict.fromkeys("‹〈⟨《⟪❮❬˂ᐸ≺⋖⧼«﹤᚜", "<"),
    **dict.fromkeys("›〉⟩》⟫❯❭˃ᐳ≻⋗⧽»﹥᚛", ">"),
    **dict.fromkeys("⁄∕⧸╱", "/"),
    **dict.fromkeys("аα", "a"),
    **dict.fromkeys("сϲᴄ", "c"),
    **dict.fromkeys("еεᴇ", "e"),
    **dict.fromkeys("іιı", "i"),
    **dict.fromkeys("јϳ", "j"),
    **dict.fromkeys("оοσᴏօ", "o"),
    **dict.fromkeys("рρᴘ", "p"),
    **dict.fromkeys("ѕꜱ", "s"),
    **dict.fromkeys("тτᴛ", "t"),
    **dict.fromkeys("υսᴜ", "u"),
    **dict.fromkeys("ӏ", "l"),
    **dict.fromkeys("ꞅгᴦ", "r"),
    **dict.fromkeys("ʟ", "l"),
    **dict.fromkeys("ꜰ", "f"),
    **dict.fromkeys("ʀ", "r"),
}

_NAMES = "|".join(tag.replace("_", "").casefold() for tag in TAGS)
# An open bracket at the end counts too: the next line would complete it.
_TAG = re.compile(f"[<>/]*<[<>/]*(?:(?:{_NAMES})[<>/]*|$)")
_ROUND = {"<": "(", ">": ")"}

_ENTITIES = re.compile(r"&(?:lt|gt|#0*6[02]|#x0*3[ce]);?", re.IGNORECASE)

# Invisible characters that turn or hide text. Joiners stay: emoji and some scripts need them.
_HIDDEN = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_NOT_SHOWN = {"Cc": " ", "Zl": " ", "Zp": " ", "Cs": ""}


def fence(text: str) -> str:
    """Return `text` as one line that cannot open or close one of our tags, in whatever spelling.

    Angle brackets around a tag's name become round; control, direction and hidden characters go; all else,
    braces too, stays as it is.
    """
    return _disarm(_one_line(text))


def _one_line(text: str) -> str:
    shown = (_NOT_SHOWN.get(unicodedata.category(sign), sign) for sign in _HIDDEN.sub("", text))
    return " ".join("".join(shown).split())


def _disarm(text: str) -> str:
    """Replace the brackets of every tag, found on a skeleton of the text that keeps where each sign came from."""
    places: list[tuple[int, int]] = []
    skeleton: list[str] = []
    for start, end, sign in _signs(text):
        for part in _folded(sign):
            skeleton.append(part)
            places.append((start, end))
    cuts: dict[tuple[int, int], str] = {}
    for found in _TAG.finditer("".join(skeleton)):
        for at in range(*found.span()):
            if skeleton[at] in _ROUND:
                cuts[places[at]] = _ROUND[skeleton[at]]
    for (start, end), bracket in sorted(cuts.items(), reverse=True):
        text = text[:start] + bracket + text[end:]
    return text


def _signs(text: str) -> list[tuple[int, int, str]]:
    """Split into signs, an entity such as `&lt;` being one."""
    signs: list[tuple[int, int, str]] = []
    place = 0
    for entity in _ENTITIES.finditer(text):
        signs += [(at, at + 1, text[at]) for at in range(place, entity.start())]
        bracket = "<" if re.search("lt|60|3c", entity[0], re.IGNORECASE) else ">"
        signs.append((entity.start(), entity.end(), bracket))
        place = entity.end()
    return signs + [(at, at + 1, text[at]) for at in range(place, len(text))]


@lru_cache(maxsize=4096)
def _folded(sign: str) -> str:
    """Return what a sign looks like: plain letters, digits, brackets and slashes; nothing for all others."""
    looks = _LOOK_ALIKES.get(sign) or unicodedata.normalize("NFKD", sign)
    plain = "".join(_LOOK_ALIKES.get(part, part) for part in looks.casefold())
    return "".join(part for part in plain if part in "<>/" or part.isalnum())
