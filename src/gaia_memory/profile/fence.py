"""Makes a person's text harmless inside a tagged block of a prompt."""

# ruff: noqa: RUF001 - the table of look-alikes is made of them

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from gaia_memory.language.printable_text import is_invisible

TAGS = ("USER_PROFILE", "FACTS", "PROJECTS", "PAST_CONVERSATIONS")
"""Blocks that hold text from memory: three of ours, and that of ADK's `preload_memory`."""

_ROLES = ("system", "sys", "assistant", "human", "start_of_turn", "end_of_turn")
"""Tags that models were trained to take for a change of speaker."""

_LOOK_ALIKES = {
    **dict.fromkeys("‹〈⟨《⟪❮❬❰⦑˂ᐸ≺≪⋖⋘⧼«﹤᚜", "<"),
    **dict.fromkeys("›〉⟩》⟫❯❭❱⦒˃ᐳ≻≫⋗⋙⧽»﹥᚛", ">"),
    **dict.fromkeys("⁄∕⧸╱", "/"),
    # Cyrillic, Greek, Armenian, Cherokee, Lisu and small capitals, by the Latin letter of our tags they look like.
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

_NAMES = "|".join(tag.replace("_", "").casefold() for tag in (*TAGS, *_ROLES))
# An open bracket at the end counts too: the next line would complete it.
# Each run of brackets is read once: a text of brackets alone would take minutes otherwise.
_TAG = re.compile(f"(?<![<>/])(?P<before>[<>/]++)(?:(?:{_NAMES})(?=(?P<after>[<>/]*))|$)")
_ROUND = {"<": "(", ">": ")"}

# Look-alikes cannot all be listed: what follows a plain bracket and is not plain throughout opens no tag either.
_STRANGE = re.compile(
    r"(?:[<＜﹤]|&(?:amp;)*(?:lt|#0*60|#x0*3c);?|(?:%|\\x|\\u00)3c)"
    r"(?=(?:\s*/[^>)]{0,40}?|[^\s>)]{0,40}?)[^\x00-\x7f])",
    re.IGNORECASE,
)

# What local models read as the end of a turn, wherever it stands; and what would open a code block around all below.
_PLAIN = (
    (_STRANGE, "("),
    (re.compile(r"<(/?(?:s|bos|eos))>", re.IGNORECASE), r"(\1)"),
    (re.compile(r"\[(/?INST)\]", re.IGNORECASE), r"(\1)"),
    (re.compile(r"<(?=[|｜])"), "("),
    (re.compile(r"(?<=[|｜])>"), ")"),
    (re.compile(r"`{3,}|~{3,}"), "'''"),
)

# Brackets and letters in disguise: HTML's entities, and the brackets as URLs and programs write them.
_DISGUISED = re.compile(
    r"&(?:amp;)*(?P<name>#\d{1,7}|#x[\da-f]{1,6}|lt|gt|[a-z]{2,12}(?=;));?|(?:%|\\x|\\u00)(?P<code>3c|3e|2f)",
    re.IGNORECASE,
)

# Joiners and the two styles of emoji stay, and signs that Arabic, Syriac and Kaithi write around numbers.
_WANTED = frozenset("\u200c\u200d\ufe0e\ufe0f\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd").union(
    map(chr, range(0x600, 0x606))
)
_NOT_SHOWN = {"Cc": " ", "Zl": " ", "Zp": " ", "Cs": ""}


def fence(text: str) -> str:
    """Return `text` as one line that cannot open or close a block or a turn of a prompt, in whatever spelling.

    Angle brackets around such a tag's name become round, and code fences become quotes; control, direction and
    hidden characters go; all else, braces too, stays as it is.
    """
    line = _one_line(text)
    for pattern, plain in _PLAIN:
        line = pattern.sub(plain, line)
    return _disarm(line)


def _one_line(text: str) -> str:
    return " ".join("".join(map(_shown, text)).split())


@lru_cache(maxsize=4096)
def _shown(sign: str) -> str:
    if is_invisible(sign) and sign not in _WANTED:
        return ""
    return _NOT_SHOWN.get(unicodedata.category(sign), sign)


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
        if "<" not in found["before"]:
            continue
        for at in (*range(*found.span("before")), *range(*found.span("after"))):
            if skeleton[at] in _ROUND:
                cuts[places[at]] = _ROUND[skeleton[at]]
    for (start, end), bracket in sorted(cuts.items(), reverse=True):
        text = text[:start] + bracket + text[end:]
    return text


def _signs(text: str) -> Iterator[tuple[int, int, str]]:
    """Split into signs, one in disguise such as `&lt;` being one."""
    place = 0
    for found in _DISGUISED.finditer(text):
        yield from ((at, at + 1, text[at]) for at in range(place, found.start()))
        place = found.start()
        sign = bytes.fromhex(found["code"]).decode() if found["code"] else html.unescape(f"&{found['name'].lower()};")
        if not sign.startswith("&"):
            yield found.start(), found.end(), sign
            place = found.end()
    yield from ((at, at + 1, text[at]) for at in range(place, len(text)))


@lru_cache(maxsize=4096)
def _folded(sign: str) -> str:
    """Return what a sign looks like: plain letters, digits, brackets and slashes; nothing for all others."""
    looks = _LOOK_ALIKES.get(sign) or unicodedata.normalize("NFKD", sign)
    plain = "".join(_LOOK_ALIKES.get(part, part) for part in looks.casefold())
    return "".join(part for part in plain if part in "<>/" or part.isalnum())
