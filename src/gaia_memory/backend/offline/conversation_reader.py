"""Reads what a user says, message by message: each statement in the third person."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from typing import NamedTuple

from gaia_memory.backend.offline import corrections, relative_dates, sentences
from gaia_memory.backend.offline.grammar import english, french, german, spanish
from gaia_memory.backend.offline.grammar.identify import language_of
from gaia_memory.backend.offline.grammar.rules import Grammar
from gaia_memory.backend.offline.quotations import Quotations
from gaia_memory.backend.offline.referents import Referents
from gaia_memory.language.dates import read
from gaia_memory.language.dates.reminder_requests import to_wish

_MAX_SENTENCE_CHARACTERS = 600
"""A longer sentence is pasted text, not a statement about the user."""

_MAX_STATED = 20
"""The latest statements that a "No, …" may replace."""

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


class Said(NamedTuple):
    """A statement or a question of the user."""

    text: str
    facts: list[SpokenFact]
    is_question: bool


class MessageContent(NamedTuple):
    """What a message says."""

    facts: list[SpokenFact]
    taken_back: list[Said]
    """What the user said before and contradicts, without a statement of what holds instead."""

    denials: list[str]
    """Sentences that deny something and are no statement of their own."""


class ConversationReader:
    """Reads the messages of one conversation, oldest first.

    The messages before tell whom a pronoun stands for, what "that's wrong" is about, and the language of one without a
    word that tells.
    """

    def __init__(self, day: date) -> None:
        """Start a conversation on `day`, from which relative dates count."""
        self._day = day
        self._language: str | None = "en"
        self._referents = Referents()
        self._before: Said | None = None
        self._stated: list[Said] = []

    def read(self, message: str) -> MessageContent:
        """Return what the next message states and takes back."""
        if corrections.is_injection(message):
            return MessageContent([], [], [])
        quotations = Quotations(message)
        self._language = language_of(sentences.normalize(quotations.text), self._language)
        kept: list[Said] = []
        taken_back: list[Said] = []
        denials: list[str] = []
        before = self._before
        # Who asks and says "Never." in one message answers a question of their own.
        asked_before = before if before and before.is_question else None
        for sentence in sentences.split_sentences(quotations.text):
            if len(quotations.restore(sentence)) > _MAX_SENTENCE_CHARACTERS:
                continue
            said, takes_back = self._read_next(sentence, before, quotations, asked_before)
            withdrawn = self._find_replaced(said, sentence, before) or (before if takes_back else None)
            if withdrawn:
                taken_back.append(withdrawn)
                kept = [each for each in kept if each is not withdrawn]
                self._stated = [each for each in self._stated if each is not withdrawn]
            if said.facts:
                self._stated = [*self._stated, said][-_MAX_STATED:]
            if said.facts or sentences.is_statement(said.text):
                kept.append(said)
                before = said
            elif said.is_question:
                before = said
            elif takes_back:
                before = kept[-1] if kept else None
            is_unclear = not (said.facts or takes_back or said.is_question or sentences.is_instruction(said.text))
            is_unclear = is_unclear and not corrections.withdraws_itself(said.text)
            if is_unclear and corrections.is_denial(said.text):
                denials.append(said.text)
        self._before = before
        return MessageContent([fact for said in kept for fact in said.facts], taken_back, denials)

    def _find_replaced(self, said: Said, sentence: str, before: Said | None) -> Said | None:
        """Return what the user stated before and a sentence such as "No, I have rabbits" replaces."""
        # After a question "No," is about its answer.
        earlier = self._stated if before and before.is_question else [each for each in self._stated if each is before]
        told = said.facts[0].told if said.facts else ""
        replaced = (each for each in reversed(earlier) if corrections.replaces(sentence, told, each.facts[0].told))
        return next(replaced, None)

    def _read_next(
        self, sentence: str, before: Said | None, quotations: Quotations, asked_before: Said | None
    ) -> tuple[Said, bool]:
        """Return what a sentence says, and whether it takes back what was said, or answered to `asked_before`."""
        normalized = sentences.normalize(sentence)
        amended = corrections.amended(before.text, normalized) if before else None
        text = amended or normalized
        facts: list[SpokenFact] = []
        withdraws = corrections.withdraws_itself(text) or corrections.is_retraction(normalized)
        if not withdraws and not corrections.is_short_contradiction(text):
            spoken_facts = self._read_sentence(amended or sentence, language_of(text, self._language))
            facts = [_restored(spoken, quotations) for spoken in spoken_facts]
        is_withdrawal = corrections.is_retraction(normalized) or corrections.withdraws_previous(normalized)
        takes_back = bool(amended) or is_withdrawal
        if before and not facts and (before is asked_before or not before.is_question):
            takes_back = takes_back or corrections.contradicts(normalized, before.text, is_answer=before.is_question)
        return Said(text, facts, not facts and sentences.is_question(text)), takes_back

    def _read_sentence(self, sentence: str, language: str | None) -> Iterator[SpokenFact]:
        wish = to_wish(sentence)
        if wish and read(wish, datetime.combine(self._day, time()), UTC, language):
            sentence = wish
        if sentences.is_instruction(sentence):
            return
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
                    fact = relative_dates.annotate_dates(told, self._day, language)
                    yield SpokenFact(clause, told, fact, is_resolved=named != clause)

    def _tell(self, named: str | None, grammar: Grammar) -> str | None:
        """Return a statement whose subject is named in the third person; None when it states nothing."""
        if named and grammar.patterns["birthday_today"].match(named):
            return grammar.birthday(self._day)
        if (
            named is None
            or corrections.is_admission(named)
            or grammar.patterns["doubt"].match(named)
            or grammar.patterns["dangling"].match(named)
        ):
            return None
        told = grammar.to_third_person(named)
        # The third person of a refusal ("don't call me before 10") is a statement, the words themselves are a request.
        is_statement = told and (told.startswith(("User does not want", "User wants")) or sentences.is_statement(named))
        return told if is_statement else None


def _restored(spoken: SpokenFact, quotations: Quotations) -> SpokenFact:
    said, told, fact = map(quotations.restore, (spoken.said, spoken.told, spoken.fact))
    return SpokenFact(said, told, fact, spoken.is_resolved)


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
