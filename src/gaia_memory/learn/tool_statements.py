"""Judges whose word a model's tool call is: the person's, or that of another tool's answer."""

from __future__ import annotations

import re
from collections.abc import Set

from gaia_memory.language.distinctive_words import distinctive_stems
from gaia_memory.language.homoglyphs import fold_homoglyphs
from gaia_memory.language.stems import truncated_stem
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.models import NewFact, UserStatement
from gaia_memory.redaction.credentials import without_masks

MIN_ANSWERED_SHARE = 0.5
"""Share of the distinctive stems of a statement in a tool's answer, from which on it may come from there."""

_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.\w+|(?<![\w.])(?:[\w-]+\.)+[a-z]{2,}(?![\w.])", re.IGNORECASE)
_LONG_NUMBER = re.compile(r"(?<![\w-])[A-Z]{0,2}\d(?:[ ()/.-]?\d){5,}(?![\w-])")
_DAY_OR_TIME = re.compile(r"\d{4}-\d\d-\d\d|\d\d?[./]\d\d?[./]\d{4}|\d\d?[.:]\d\d")
_COMPARED_DIGITS = 5


def is_of_a_tool(fact: NewFact, user: UserStatement) -> bool:
    """Return whether a statement of a model's has its words from another tool's answer rather than from the person.

    That is so if at least half of its distinctive stems stand in one answer and fewer of them in what the person said,
    or if an address or a long number of it stands in an answer alone: few other words can redirect so much.
    """
    # "On Friday" is said, and its date is saved.
    stems = distinctive_stems(_LONG_NUMBER.sub(" ", _DAY_OR_TIME.sub(" ", without_masks(fact.text))))
    said = "\n".join((*user.recent_texts, user.text, user.agreed_to))
    said_count = len(stems & _stems(said)) if user.tool_answers else 0
    named = "\n".join(filter(None, (fact.text, fact.category, fact.entity, fact.context, fact.key)))
    contacts = _contacts(_DAY_OR_TIME.sub(" ", named))
    unsaid = {contact for contact in contacts - _contacts(said) if contact not in _digits(said)}
    for answer in user.tool_answers:
        answered_count = len(stems & _stems(answer))
        is_answered = bool(stems) and answered_count >= MIN_ANSWERED_SHARE * len(stems)
        if (is_answered and said_count < answered_count) or not unsaid.isdisjoint(_contacts(answer)):
            return True
    return False


def _contacts(text: str) -> Set[str]:
    """Return the addresses of a text and the last digits of its long numbers."""
    addresses = {address.casefold() for address in _ADDRESS.findall(text)}
    return addresses | {_digits(number)[-_COMPARED_DIGITS:] for number in _LONG_NUMBER.findall(text)}


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _stems(text: str) -> set[str]:
    return {truncated_stem(word) for word in index_tokens(fold_homoglyphs(text))}
