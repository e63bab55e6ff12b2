"""Corrections within a message: "teal, no wait, green", and "just kidding" after a statement."""

from __future__ import annotations

import re

from gaia_memory.backend.offline.grammar.rules import load_tables
from gaia_memory.language.function_words import FUNCTION_WORDS
from gaia_memory.language.tokenizer import index_tokens

_TABLES = load_tables("messages")
_P = _TABLES.patterns
_NEGATIONS = _TABLES.words("negations")
_FILLERS = _TABLES.words("fillers")
_CONTRADICTING = _TABLES.words("contradicting")
_REFUSALS = _TABLES.words("refusals")
_POINTING = _TABLES.words("pointing")
_FUNCTION_WORDS = frozenset[str]().union(*FUNCTION_WORDS.values())
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_MAX_REPLACED_WORDS = 4
_CONTRAST = re.compile(r"\b(?:sondern|sino|but (?:in|at|a|an|the)|mais (?:à|en|un|une))\b", re.IGNORECASE)
_CLAUSE_END = re.compile(r",\s|\s(?:but|sondern|mais|sino)\s", re.IGNORECASE)


def is_retraction(sentence: str) -> bool:
    """Return whether a sentence takes the statement before it back."""
    return _P["retraction"].match(sentence) is not None


def contradicts(sentence: str, before: str, *, is_answer: bool) -> bool:
    """Return whether a sentence says that what came before is wrong or over: "That's not true any more", "No, Tim".

    A mere "no" does so after the answer to a question. After a denial it may as well confirm it.
    """
    if _P["overtaken"].match(sentence):
        return True
    words = set(_WORD.findall(sentence.lower()))
    is_bare = words <= _CONTRADICTING | _POINTING and not words.isdisjoint(_CONTRADICTING)
    if not is_bare and not _P["contradiction"].match(sentence) and not is_admission(sentence):
        return False
    return is_answer or not (words <= _REFUSALS or is_denial(before))


def replaces(sentence: str, told: str, told_before: str) -> bool:
    """Return whether "No, I have rabbits" replaces what was told before, of the same person with the same verb.

    After a denial, "No, …" may as well confirm it.
    """
    if not _P["refusal"].match(sentence) or is_denial(told_before):
        return False
    subject, before = _P["subject_and_verb"].match(told), _P["subject_and_verb"].match(told_before)
    return bool(subject and before and subject[0].casefold() == before[0].casefold())


def is_admission(sentence: str) -> bool:
    """Return whether a sentence begins with "I was wrong" or "I mean", which says nothing itself."""
    return _P["admission"].match(sentence) is not None


def is_short_contradiction(sentence: str) -> bool:
    """Return whether a sentence is "no" with some words that are no statement: "No, blue"."""
    found = _P["contradiction"].match(sentence)
    rest = sentence[found.end() :] if found else ""
    return 0 < len(rest.split()) <= _MAX_REPLACED_WORDS and not _P["new_start"].match(rest)


def is_injection(text: str) -> bool:
    """Return whether a message tells a model to ignore its instructions."""
    return _P["injection"].search(text) is not None


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


def is_denial(statement: str) -> bool:
    """Return whether a statement denies something or says that it ended: "I no longer …", "my dog died".

    Not if it goes on with what took it up again: "I quit smoking but started again".
    """
    found = _P["denial"].search(statement) or _P["separation"].search(statement)
    return found is not None and not _P["resumption"].search(statement, found.end())


def is_resumption(statement: str) -> bool:
    """Return whether a statement says that something is so again: "I'm back on coffee", "I smoke again"."""
    return not is_denial(statement) and _P["resumption"].search(statement) is not None


def names_successor(denial: str) -> bool:
    """Return whether a denial says what holds instead: "not in Bern any more, but in Basel"."""
    return _CONTRAST.search(denial) is not None


def without_denial(statement: str) -> str:
    """Return a statement without the words that deny or end it, or take it up again."""
    words = _P["resumption"].sub(" ", _P["denial"].sub(" ", statement)).split()
    return " ".join(word for word in words if word.lower() not in _FILLERS)


def content_words(text: str) -> frozenset[str]:
    """Return the words of a text without function words: those that an answer repeats of a statement."""
    return frozenset(index_tokens(text)) - _FUNCTION_WORDS


def words_and_denial(fact: str) -> tuple[frozenset[str], bool]:
    """Return the words that a fact shares with its denial, and whether it is one.

    "User eats meat" and "User no longer eats meat" have the same words.
    """
    words = frozenset(re.findall(r"\w+", re.sub(r"n't\b", " not", _P["added_date"].sub("", fact.lower()))))
    shared = (re.sub(r"(?<=\w\w)(?:es|s|e)\Z", "", word) for word in words - _NEGATIONS - _FILLERS)
    return frozenset(shared), bool(words & _NEGATIONS)


def denied_words(denial: str) -> tuple[frozenset[str], ...]:
    """Return the words of what a denial denies: all of them, or those before "but" or a comma."""
    return tuple({words_and_denial(text)[0] for text in (denial, _CLAUSE_END.split(denial)[0])})


def apply_correction(sentence: str) -> str:
    """Return "my colour is green" for "my colour is teal, no wait, green".

    A short correction replaces as many words as it has, the last ones or those that begin like it; one with a subject
    replaces the statement.
    """
    parts = _P["marker"].split(sentence)
    corrected = parts[0]
    for part in parts[1:]:
        replacement = part.strip()
        words, new_words = corrected.split(), replacement.split()
        if _P["new_start"].match(replacement) and not _P["owned_thing"].fullmatch(replacement):
            corrected = replacement
        elif new_words and len(new_words) <= min(_MAX_REPLACED_WORDS, len(words) - 1):
            start = _replaced_from(words, new_words)
            corrected = " ".join([*words[:start], *new_words, *words[start + len(new_words) :]])
        else:
            return sentence
    return corrected


def _replaced_from(words: list[str], new_words: list[str]) -> int:
    """Return where the words begin that a correction replaces: "my leg" those of "my arm"."""
    last = len(words) - len(new_words)
    alike = (start for start in range(last, 0, -1) if words[start].lower() == new_words[0].lower())
    return next(alike, last)
