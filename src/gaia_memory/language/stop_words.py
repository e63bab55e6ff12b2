"""Stop words, and the words of a question that remain without them."""

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
"""English function words, without those that may be names or nouns ("may", "will", "can")."""

_REMOVE_ZERO_WIDTH = dict.fromkeys(map(ord, ZERO_WIDTH_CHARACTERS))

MAX_QUESTION_WORDS = 64
MIN_STOP_WORD_SHARE = 0.25
"""Share of stop words from which on a question counts as English."""

_WORD = re.compile(rf"\w+(?:['\u2019\u2010\u2011-]\w+)*|[{EMOJI_RANGES}]")


def content_words(query: str) -> list[str]:
    """Return the distinct words of `query`, at most `MAX_QUESTION_WORDS`, as written and in order.

    Of a longer query, the words at both ends are kept: the question precedes or follows its context. Stop words of an
    English query are dropped if other words remain. Queries in other languages keep all words.
    """
    query = query if query.isascii() else query.translate(_REMOVE_ZERO_WIDTH)
    words = list({word.casefold(): word for word in _split_words(query)}.values())
    if len(words) > MAX_QUESTION_WORDS:
        words = [*words[: MAX_QUESTION_WORDS // 2], *words[-MAX_QUESTION_WORDS // 2 :]]
    content = [word for word in words if word.casefold().replace("\u2019", "'") not in STOP_WORDS]
    is_english = len(words) - len(content) >= MIN_STOP_WORD_SHARE * len(words)
    return [strip_possessive(word) for word in (content if content and is_english else words)]


def _split_words(query: str) -> list[str]:
    """Return the words as written, with their combining marks."""
    masked = query if query.isascii() else "".join(map(_replace_mark, query))
    return [query[match.start() : match.end()] for match in _WORD.finditer(masked)]


def _replace_mark(char: str) -> str:
    return "x" if unicodedata.category(char).startswith("M") else char


def strip_possessive(word: str) -> str:
    """Return a word without a final 's."""
    return re.sub(r"['\u2019]s$", "", word, flags=re.IGNORECASE)
