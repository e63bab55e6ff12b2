"""English verbs: which words are verbs, and their form in the third person."""

from __future__ import annotations

import re

from gaia_memory.backend.offline.grammar.rules import load_tables

TABLES = load_tables("english")
BASES = TABLES.words("base")
_UNCHANGED_VERBS = TABLES.words("unchanged")
_PRESENT_ED = TABLES.words("present_ed")
_LY_AND_ING_VERBS = TABLES.words("ly_and_ing_verbs")
_NOUNS_IN_ED = TABLES.words("nouns_in_ed")
_NON_VERBS = TABLES.words("non_verbs")
_IRREGULAR = {verb: third for verb, (third,) in TABLES.pairs("irregular").items()}
_PARTICIPLES = {verb: participle for verb, (participle,) in TABLES.pairs("participles").items()}


def participle(verb: str) -> str:
    """Return the past participle of a verb that a refusal may contain."""
    return _PARTICIPLES[verb.lower()]


def is_past(verb: str) -> bool:
    """Return whether a verb is in the past tense or a modal."""
    return verb in _UNCHANGED_VERBS or (verb.endswith("ed") and verb not in _PRESENT_ED) or verb in ("were", "weren't")


def is_verb(word: str) -> bool:
    """Return whether a word is certainly or nearly certainly a finite verb."""
    word = word.lower()
    if word in BASES or word in _UNCHANGED_VERBS or word in _IRREGULAR or _base(word) in BASES:
        return True
    return word.endswith("ed") and len(word) > 3 and word not in _NOUNS_IN_ED


def _base(word: str) -> str:
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return re.sub(r"(?<=ch|sh|ss)es$|(?<=[xzo])es$|(?<!s)s$", "", word)


def conjugate(verb: str) -> str:
    """Return a verb of the first person in the third person singular."""
    verb = verb.lower()
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if is_past(verb) or verb in _NON_VERBS:
        return verb
    if verb.endswith(("'t", "ing", "ly")) and verb not in _LY_AND_ING_VERBS:
        return verb
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{verb}s"


VERBS = BASES | {conjugate(verb) for verb in BASES}
"""Frequent verbs, as they follow "I" or a name."""
