"""The words of a question that can point at a fact."""

from __future__ import annotations

import re
import unicodedata

from gaia_memory.language.tokenizer import EMOJI_RANGES, ZERO_WIDTH_CHARACTERS

_FUNCTION_WORDS = """
a about again all also am an and any anyone anything are as at be because been before being both but by
could did do does doing during each either else ever every few for from get gets got had has have having he
her here hers him his how i if in into is it its just let like many me more most much my myself no nor not of
off often on once one only or other our out over own please shall she should so some something still such
tell than that the their them then there these they thing things this those to too under until up us very
was we were what when where which while who whom whose why with would yes you your yours
don't doesn't didn't isn't aren't wasn't weren't can't won't i'm i've i'd you're he's she's it's
what's who's where's when's how's that's there's let's
"""

STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Function words of English, without those that carry a meaning in a memory ("may", "will", "can")."""

_REMOVE_ZERO_WIDTH = dict.fromkeys(map(ord, ZERO_WIDTH_CHARACTERS))

MAX_QUESTION_WORDS = 64
MIN_ENGLISH_SHARE = 0.25

_WORD = re.compile(rf"\w+(?:['\u2019\u2010\u2011-]\w+)*|[{EMOJI_RANGES}]")


def content_words(query: str) -> list[str]:
    """Return the distinct words of `query`, at most `MAX_QUESTION_WORDS`, as written and in order.

    Of more words it is those at both ends: what is asked stands before or behind what it is about.
    Of an English question the function words are dropped, but only when other words remain. It counts as
    English when a quarter of its words are such; other languages are left as they are.
    """
    query = query if query.isascii() else query.translate(_REMOVE_ZERO_WIDTH)
    words = list({word.casefold(): word for word in _split_words(query)}.values())
    if len(words) > MAX_QUESTION_WORDS:
        words = [*words[: MAX_QUESTION_WORDS // 2], *words[-MAX_QUESTION_WORDS // 2 :]]
    content = [word for word in words if word.casefold().replace("\u2019", "'") not in STOP_WORDS]
    is_english = len(words) - len(content) >= MIN_ENGLISH_SHARE * len(words)
    return [strip_possessive(word) for word in (content if content and is_english else words)]


def _split_words(query: str) -> list[str]:
    """Return the words as they are written, each with the marks that follow its letters."""
    masked = query if query.isascii() else "".join(map(_replace_mark, query))
    return [query[match.start() : match.end()] for match in _WORD.finditer(masked)]


def _replace_mark(char: str) -> str:
    return "x" if unicodedata.category(char).startswith("M") else char


def strip_possessive(word: str) -> str:
    """Return a word without the 's at its end."""
    return re.sub(r"['\u2019]s$", "", word, flags=re.IGNORECASE)
