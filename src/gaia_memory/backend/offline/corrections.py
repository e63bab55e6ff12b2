"""Corrections within a message: "teal, no wait, green", and "just kidding" after a statement."""

from __future__ import annotations

from gaia_memory.backend.offline.grammar.rules import load_tables

_P = load_tables("messages").patterns
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
