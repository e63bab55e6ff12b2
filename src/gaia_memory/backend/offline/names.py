"""Writes the names of those who introduce themselves in small letters with capitals."""

from __future__ import annotations

from gaia_memory.backend.offline.categories import category_of
from gaia_memory.backend.offline.grammar.rules import load_tables
from gaia_memory.language.function_words import FUNCTION_WORDS

_P = load_tables("messages").patterns
_FUNCTION_WORDS = frozenset[str]().union(*FUNCTION_WORDS.values())


def capitalize_name(sentence: str) -> str:
    """Return "hi, i'm Sam" for "hi, i'm sam"; a sentence that introduces nobody, such as "hi, i'm vegan", as it is."""
    found = _P["introduction"].search(sentence)
    if not found:
        return sentence
    group = "name" if found["name"] else "greeted"
    words = found[group].split()
    # Who greets and goes on with "I'm" may say as well what they eat or do for a living.
    is_other = any(word in _FUNCTION_WORDS or _P["not_name"].fullmatch(word) for word in words) or (
        group == "greeted" and category_of(found["greeted"]) is not None
    )
    if is_other or not found[group].islower():
        return sentence
    return f"{sentence[: found.start(group)]}{found[group].title()}{sentence[found.end(group) :]}"
