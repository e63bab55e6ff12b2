"""Extraction without a model: the user's statements in mem0's extraction prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime

from gaia_memory.backend.offline import corrections, relative_dates, sentences
from gaia_memory.backend.offline.grammar import english, french, german, spanish
from gaia_memory.backend.offline.grammar.identify import language_of
from gaia_memory.backend.offline.grammar.rules import Grammar
from gaia_memory.backend.offline.quotations import Quotations
from gaia_memory.backend.offline.referents import Referents

_NEW_MESSAGES = re.compile(r"^## New Messages\n(?P<inside>.*?)\n\n## Observation Date\n", re.DOTALL | re.MULTILINE)
_OBSERVATION_DATE = re.compile(r"^## Observation Date\n(?P<day>\d{4}-\d{2}-\d{2})", re.MULTILINE)
_ROLE_PREFIX = re.compile(r"^(?P<role>user|assistant|system): ", re.MULTILINE)
_MAX_SENTENCE_CHARACTERS = 600
"""A longer sentence is pasted text, not a statement about the user."""

_GRAMMARS = {"en": english.GRAMMAR, "de": german.GRAMMAR, "fr": french.GRAMMAR, "es": spanish.GRAMMAR}


def is_extraction_prompt(prompt: str) -> bool:
    """Return whether `prompt` is mem0's extraction prompt."""
    return _NEW_MESSAGES.search(prompt) is not None


def extract_facts(prompt: str) -> list[str]:
    """Return the user's statements in the new messages of mem0's prompt, without duplicates."""
    found = _NEW_MESSAGES.search(prompt)
    day = _observation_date(prompt)
    unique_facts: dict[str, str] = {}
    affirmed: dict[frozenset[str], list[str]] = {}
    referents = Referents()
    for message in _user_messages(found["inside"] if found else ""):
        for fact in _facts_of_message(message, day, referents):
            key = fact.casefold()
            words, is_denial = corrections.words_and_denial(fact)
            if is_denial:
                for denied in affirmed.pop(words, []):
                    unique_facts.pop(denied, None)
            else:
                affirmed.setdefault(words, []).append(key)
            unique_facts.setdefault(key, fact)
    return list(unique_facts.values())


def _facts_of_message(message: str, day: date, referents: Referents) -> list[str]:
    kept: list[list[str]] = []
    quotations = Quotations(message)
    main_language = language_of(sentences.normalize(quotations.text))
    previous = ""
    for sentence in sentences.split_sentences(quotations.text):
        if len(quotations.restore(sentence)) > _MAX_SENTENCE_CHARACTERS:
            continue
        normalized = sentences.normalize(sentence)
        amended = corrections.amended(previous, normalized)
        if amended or corrections.is_retraction(normalized) or corrections.withdraws_previous(normalized):
            del kept[-1:]
        previous = amended or normalized
        if not corrections.withdraws_itself(previous):
            language = language_of(previous, main_language)
            facts = list(_facts_of_sentence(amended or sentence, language, day, referents))
            kept += [facts] if facts or sentences.is_statement(previous) else []
    return [quotations.restore(fact) for facts in kept for fact in facts]


def _facts_of_sentence(sentence: str, language: str | None, day: date, referents: Referents) -> Iterator[str]:
    if language is None:
        referents.clear()
        if sentences.is_statement(sentence) and not sentences.is_request_to_forget(sentence):
            yield sentence
        return
    grammar = _GRAMMARS[language]
    normalized = sentences.normalize(sentence)
    statement = corrections.apply_correction(_strip_lead_in(normalized, grammar))
    if sentences.is_question_or_link(normalized) or sentences.is_request_to_forget(normalized):
        return
    if grammar.patterns["doubt"].match(statement) or sentences.is_request_to_forget(statement):
        return
    for clause in grammar.split_clauses(_strip_lead_in(statement, grammar)):
        fact = _to_fact(clause, grammar, day, referents)
        if fact:
            referents.note(fact, grammar)
            yield relative_dates.annotate_dates(fact, day)


def _to_fact(clause: str, grammar: Grammar, day: date, referents: Referents) -> str | None:
    if grammar.patterns["birthday_today"].match(clause):
        return grammar.birthday(day)
    named = referents.resolve(clause, grammar)
    if named is None or grammar.patterns["doubt"].match(named):
        return None
    told = grammar.to_third_person(named)
    # The third person of a refusal ("don't call me before 10") is a statement, the words themselves are a request.
    return (
        told
        if told and (told.startswith(("User does not want", "User wants")) or sentences.is_statement(named))
        else None
    )


def _strip_lead_in(sentence: str, grammar: Grammar) -> str:
    """Return a sentence without its lead-in, such as "by the way" or "please remember that"."""
    lead = grammar.patterns["lead_in"].match(sentence)
    rest = sentence[lead.end() :] if lead else sentence
    # "remember to buy milk" is a command, not a lead-in with a statement.
    return sentence if rest.lower().startswith("to ") else rest


def _observation_date(prompt: str) -> date:
    found = _OBSERVATION_DATE.search(prompt)
    return date.fromisoformat(found["day"]) if found else datetime.now(UTC).date()


def _user_messages(new_messages: str) -> list[str]:
    """Parse both forms of mem0's section: a JSON list of messages, or lines that start with a role."""
    try:
        entries = json.loads(new_messages, strict=False)
    except json.JSONDecodeError:
        parts = _ROLE_PREFIX.split(new_messages)[1:]
        return [text for role, text in zip(parts[::2], parts[1::2], strict=False) if role == "user"]
    messages = entries if isinstance(entries, list) else []
    return [str(entry.get("content") or "") for entry in messages if isinstance(entry, dict) and _is_user(entry)]


def _is_user(entry: dict[str, object]) -> bool:
    return entry.get("role") == "user"
