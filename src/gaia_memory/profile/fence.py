"""Makes a person's text harmless inside a tagged block of a prompt."""

# ruff: noqa: RUF001 - the table of look-alikes is made of them

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from gaia_memory.language.printable_text import is_invisible

PROTECTED_TAGS = ("USER_PROFILE", "FACTS", "PROJECTS", "PAST_CONVERSATIONS")
"""Blocks that hold text from memory: three of ours, and that of ADK's `preload_memory`."""

_ROLE_TAGS = ("system", "sys", "assistant", "human", "start_of_turn", "end_of_turn")
"""Tags that models were trained to take for a change of speaker."""

_CONFUSABLES = {
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

_TAG_NAMES = "|".join(tag.replace("_", "").casefold() for tag in (*PROTECTED_TAGS, *_ROLE_TAGS))
# An open bracket at the end counts too: the next line would complete it.
# Each run of brackets is read once: a text of brackets alone would take minutes otherwise.
_TAG = re.compile(f"(?<![<>/])(?P<before>[<>/]++)(?:(?:{_TAG_NAMES})(?=(?P<after>[<>/]*))|$)")
_ROUND_BRACKETS = {"<": "(", ">": ")"}

# Look-alikes cannot all be listed: what follows a plain bracket and is not plain throughout opens no tag either.
_CONFUSABLE_TAG = re.compile(
    r"(?:[<＜﹤]|&(?:amp;)*(?:lt|#0*60|#x0*3c);?|(?:%|\\x|\\u00)3c)"
    r"(?=(?:\s*/[^>)]{0,40}?|[^\s>)]{0,40}?)[^\x00-\x7f])",
    re.IGNORECASE,
)

# What local models read as the end of a turn, wherever it stands; and what would open a code block around all below.
_REPLACEMENTS = (
    (_CONFUSABLE_TAG, "("),
    (re.compile(r"<(/?(?:s|bos|eos))>", re.IGNORECASE), r"(\1)"),
    (re.compile(r"\[(/?INST)\]", re.IGNORECASE), r"(\1)"),
    (re.compile(r"<(?=[|｜])"), "("),
    (re.compile(r"(?<=[|｜])>"), ")"),
    (re.compile(r"`{3,}|~{3,}"), "'''"),
)

# Brackets and letters in disguise: HTML's entities, and the brackets as URLs and programs write them.
_ENCODED_CHAR = re.compile(
    r"&(?:amp;)*(?P<name>#\d{1,7}|#x[\da-f]{1,6}|lt|gt|[a-z]{2,12}(?=;));?|(?:%|\\x|\\u00)(?P<code>3c|3e|2f)",
    re.IGNORECASE,
)

# Joiners and the two styles of emoji stay, and signs that Arabic, Syriac and Kaithi write around numbers.
_ALLOWED_INVISIBLE = frozenset("\u200c\u200d\ufe0e\ufe0f\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd").union(
    map(chr, range(0x600, 0x606))
)
_CONTROL_REPLACEMENTS = {"Cc": " ", "Zl": " ", "Zp": " ", "Cs": ""}


def escape_for_prompt(text: str) -> str:
    """Return `text` as one line that cannot open or close a block or a turn of a prompt, in whatever spelling.

    Angle brackets around such a tag's name become round, and code fences become quotes; control, direction and
    hidden characters go; all else, braces too, stays as it is.
    """
    line = _collapse_to_line(text)
    for pattern, replacement in _REPLACEMENTS:
        line = pattern.sub(replacement, line)
    return _neutralize_tags(line)


def _collapse_to_line(text: str) -> str:
    return " ".join("".join(map(_replace_invisible, text)).split())


@lru_cache(maxsize=4096)
def _replace_invisible(char: str) -> str:
    if is_invisible(char) and char not in _ALLOWED_INVISIBLE:
        return ""
    return _CONTROL_REPLACEMENTS.get(unicodedata.category(char), char)


def _neutralize_tags(text: str) -> str:
    """Replace the brackets of every tag, found on a skeleton of the text that keeps where each sign came from."""
    spans: list[tuple[int, int]] = []
    skeleton: list[str] = []
    for start, end, char in _decode_chars(text):
        for part in _fold_confusables(char):
            skeleton.append(part)
            spans.append((start, end))
    replacements: dict[tuple[int, int], str] = {}
    for match in _TAG.finditer("".join(skeleton)):
        if "<" not in match["before"]:
            continue
        for index in (*range(*match.span("before")), *range(*match.span("after"))):
            if skeleton[index] in _ROUND_BRACKETS:
                replacements[spans[index]] = _ROUND_BRACKETS[skeleton[index]]
    for (start, end), bracket in sorted(replacements.items(), reverse=True):
        text = text[:start] + bracket + text[end:]
    return text


def _decode_chars(text: str) -> Iterator[tuple[int, int, str]]:
    """Split into signs, one in disguise such as `&lt;` being one."""
    position = 0
    for match in _ENCODED_CHAR.finditer(text):
        yield from ((at, at + 1, text[at]) for at in range(position, match.start()))
        position = match.start()
        char = bytes.fromhex(match["code"]).decode() if match["code"] else html.unescape(f"&{match['name'].lower()};")
        if not char.startswith("&"):
            yield match.start(), match.end(), char
            position = match.end()
    yield from ((at, at + 1, text[at]) for at in range(position, len(text)))


@lru_cache(maxsize=4096)
def _fold_confusables(char: str) -> str:
    """Return what a sign looks like: plain letters, digits, brackets and slashes; nothing for all others."""
    decomposed = _CONFUSABLES.get(char) or unicodedata.normalize("NFKD", char)
    plain = "".join(_CONFUSABLES.get(part, part) for part in decomposed.casefold())
    return "".join(part for part in plain if part in "<>/" or part.isalnum())
