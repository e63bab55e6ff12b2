"""Reads what a user says, message by message: each statement in the third person."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from gaia_memory.backend.offline import corrections, relative_dates, sentences
from gaia_memory.backend.offline.grammar import english, french, german, spanish
from gaia_memory.backend.offline.grammar.identify import language_of
from gaia_memory.backend.offline.grammar.rules import Grammar
from gaia_memory.backend.offline.quotations import Quotations
from gaia_memory.backend.offline.referents import Referents

_MAX_SENTENCE_CHARACTERS = 600
"""A longer sentence is pasted text, not a statement about the user."""

_GRAMMARS = {"en": english.GRAMMAR, "de": german.GRAMMAR, "fr": french.GRAMMAR, "es": spanish.GRAMMAR}


class SpokenFact(NamedTuple):
    """A statement of the user."""

    said: str
    """The user's own words."""

    told: str
    """The statement in the third person."""

    fact: str
    """The same with a date after each relative one."""

    is_resolved: bool
    """Whether a name took the place of a pronoun."""


class ConversationReader:
    """Reads the messages of one conversation, oldest first.

    The messages before tell whom a pronoun stands for, and the language of one without a word that tells.
    """

    def __init__(self, day: date) -> None:
        """Start a conversation on `day`, from which relative dates count."""
        self._day = day
        self._language: str | None = "en"
        self._referents = Referents()

    def read(self, message: str) -> list[SpokenFact]:
        """Return the statements of the next message."""
        kept: list[list[SpokenFact]] = []
        quotations = Quotations(message)
        self._language = language_of(sentences.normalize(quotations.text), self._language)
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
                spoken_facts = list(self._read_sentence(amended or sentence, language_of(previous, self._language)))
                kept += [spoken_facts] if spoken_facts or sentences.is_statement(previous) else []
        return [_restored(spoken, quotations) for spoken_facts in kept for spoken in spoken_facts]

    def _read_sentence(self, sentence: str, language: str | None) -> Iterator[SpokenFact]:
        if language is None:
            self._referents.clear()
            if sentences.is_statement(sentence) and not sentences.is_request_to_forget(sentence):
                yield SpokenFact(sentence, sentence, sentence, is_resolved=False)
            return
        grammar = _GRAMMARS[language]
        normalized = sentences.normalize(sentence)
        statement = corrections.apply_correction(_strip_lead_in(normalized, grammar))
        if sentences.is_question_or_link(normalized) or sentences.is_request_to_forget(normalized):
            return
        if grammar.patterns["doubt"].match(statement) or sentences.is_request_to_forget(statement):
            return
        for piece in _split_run_on(_strip_lead_in(statement, grammar), grammar):
            for clause in grammar.split_clauses(piece):
                named = self._referents.resolve(clause, grammar)
                if told := self._tell(named, grammar):
                    self._referents.note(told, grammar)
                    fact = relative_dates.annotate_dates(told, self._day)
                    yield SpokenFact(clause, told, fact, is_resolved=named != clause)

    def _tell(self, named: str | None, grammar: Grammar) -> str | None:
        """Return a statement whose subject is named in the third person; None when it states nothing."""
        if named and grammar.patterns["birthday_today"].match(named):
            return grammar.birthday(self._day)
        if named is None or grammar.patterns["doubt"].match(named) or grammar.patterns["dangling"].match(named):
            return None
        told = grammar.to_third_person(named)
        # The third person of a refusal ("don't call me before 10") is a statement, the words themselves are a request.
        is_statement = told and (told.startswith(("User does not want", "User wants")) or sentences.is_statement(named))
        return told if is_statement else None


def _restored(spoken: SpokenFact, quotations: Quotations) -> SpokenFact:
    said, told, fact = map(quotations.restore, (spoken.said, spoken.told, spoken.fact))
    return SpokenFact(said, told, fact, spoken.is_resolved)


def split_run_on(line: str) -> list[str]:
    """Return the statements of a line without punctuation: "i live in rome i have a dog" has two."""
    language = language_of(sentences.normalize(line))
    return _split_run_on(line, _GRAMMARS[language]) if language else [line]


def _split_run_on(sentence: str, grammar: Grammar) -> list[str]:
    pieces, start = [], 0
    for found in grammar.patterns["next_statement"].finditer(sentence):
        left = sentence[start : found.start()]
        if grammar.patterns["statement"].match(left) and not grammar.patterns["unfinished"].search(left):
            pieces.append(left)
            start = found.end()
    return [*pieces, sentence[start:]]


def _strip_lead_in(sentence: str, grammar: Grammar) -> str:
    """Return a sentence without its lead-in, such as "by the way" or "please remember that"."""
    lead = grammar.patterns["lead_in"].match(sentence)
    rest = sentence[lead.end() :] if lead else sentence
    # "remember to buy milk" is a command, not a lead-in with a statement.
    return sentence if rest.lower().startswith("to ") else rest
