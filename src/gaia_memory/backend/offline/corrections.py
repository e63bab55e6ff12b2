"""Corrections within a message: "teal, no wait, green", and "just kidding" after a statement."""

from __future__ import annotations

import re

from gaia_memory.backend.offline.grammar.rules import load_tables

_TABLES = load_tables("messages")
_P = _TABLES.patterns
_NEGATIONS = _TABLES.words("negations")
_FILLERS = _TABLES.words("fillers")
_MAX_REPLACED_WORDS = 4


def is_retraction(sentence: str) -> bool:
    """Return whether a sentence takes the statement before it back."""
    return _P["retraction"].match(sentence) is not None


def withdraws_itself(sentence: str) -> bool:
    """Return whether a sentence ends with "just kidding"."""
    return _P["self_retraction"].search(sentence) is not None


def withdraws_previous(sentence: str) -> bool:
    """Return whether a sentence begins with "scratch that" and goes on."""
    return _P["withdrawal"].match(sentence) is not None


def amended(previous: str, sentence: str) -> str | None:
    """Return "I live in Milan" for "I live in Rome." and "No wait, Milan."; None if `sentence` corrects nothing."""
    found = _P["replacement"].match(sentence)
    if not found or not previous:
        return None
    replacement = sentence[found.end() :].strip(" .!")
    whole = f"{previous.rstrip(' .!')}, no wait, {replacement}"
    corrected = apply_correction(whole)
    return None if corrected == whole else corrected


def words_and_denial(fact: str) -> tuple[frozenset[str], bool]:
    """Return the words that a fact shares with its denial, and whether it is one.

    "User eats meat" and "User no longer eats meat" have the same words.
    """
    words = frozenset(re.findall(r"\w+", re.sub(r"n't\b", " not", _P["added_date"].sub("", fact.lower()))))
    shared = (re.sub(r"(?<=\w\w)(?:es|s|e)\Z", "", word) for word in words - _NEGATIONS - _FILLERS)
    return frozenset(shared), bool(words & _NEGATIONS)


def apply_correction(sentence: str) -> str:
    """Return "my colour is green" for "my colour is teal, no wait, green".

    A short correction replaces as many words as it has; one with a subject replaces the statement.
    """
    parts = _P["marker"].split(sentence)
    corrected = parts[0]
    for part in parts[1:]:
        replacement = part.strip()
        words, new_words = corrected.split(), replacement.split()
        if _P["new_start"].match(replacement):
            corrected = replacement
        elif new_words and len(new_words) <= min(_MAX_REPLACED_WORDS, len(words) - 1):
            corrected = " ".join([*words[: -len(new_words)], *new_words])
        else:
            return sentence
    return corrected
