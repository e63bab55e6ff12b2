"""Reads what a user says, message by message: each statement in the third person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from typing import NamedTuple

from gaia_memory.backend.offline import corrections, sentences
from gaia_memory.backend.offline.amendments import amend
from gaia_memory.backend.offline.grammar import english, french, german, spanish
from gaia_memory.backend.offline.grammar.identify import language_of
from gaia_memory.backend.offline.grammar.rules import Grammar
from gaia_memory.backend.offline.names import capitalize_name
from gaia_memory.backend.offline.quotations import Quotations
from gaia_memory.backend.offline.referents import Referents
from gaia_memory.language.dates import read, relative_dates
from gaia_memory.language.dates.mention import DateMention, Grain
from gaia_memory.language.dates.reminder_requests import to_wish

_MIN_CODE_DIGITS = 3
_DAY_NUMBER = re.compile(r"\b\d{1,2}(?:st|nd|rd|th|\.|er)?(?: of| de)? (?!months?\b|Monat|mois\b|mes(?:es)?\b)[^\W\d]")
_DAY_CHARACTERS = len("31st of ")
_MAX_STATED = 20
"""The latest statements that a "No, …" may replace."""

GRAMMARS = {"en": english.GRAMMAR, "de": german.GRAMMAR, "fr": french.GRAMMAR, "es": spanish.GRAMMAR}


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
    taken_back: list[SpokenFact]
    """What the user stated before and takes back, or corrects with one of `facts`."""

    denials: list[str]
    """Sentences that deny something and are no statement of their own, and what is said to be wrong of memory."""

    is_unclear: bool = False
    """Whether it corrects something that cannot be told."""

    is_retraction: bool = False
    """Whether it says that what was said before is wrong."""

    is_cut: bool = False
    """Whether one of its sentences is too long to be read."""

    is_confidential: bool = False
    """Whether it asks not to be remembered."""


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
        self._answer: str | None = None
        self._stated: list[Said] = []

    def read(self, message: str, answer: str | None = None) -> MessageContent:
        """Return what the next message states and takes back; `answer` is what the model said before it, if known."""
        if corrections.is_injection(message):
            return MessageContent([], [], [])
        if corrections.is_confidential(message):
            return MessageContent([], [], [], is_confidential=True)
        quotations = Quotations(message)
        self._language = language_of(sentences.normalize(quotations.text), self._language)
        if self._before and self._before.is_question and self._answer is None:
            self._answer = answer
        # Who asks and says "Never." in one message answers a question of their own.
        self._asked_before = self._before
        content = MessageContent([], [], [])
        for sentence in sentences.split_sentences(quotations.text):
            if sentences.is_too_long(quotations.restore(sentence)):
                content = content._replace(is_cut=True)
            else:
                content = self._add(content, sentence, quotations)
        return content

    def _add(self, content: MessageContent, sentence: str, quotations: Quotations) -> MessageContent:
        """Return the content of a message with that of its next sentence."""
        normalized = sentences.normalize(sentence)
        correction = _correction_in(normalized) or self._new_number(normalized)
        if correction and (amended := self._amend(quotations.restore(correction.value), correction.about)):
            return _changed(content, [amended[0]], [amended[1]])
        if correction and correction.is_certain and self._is_mere_value(correction.value):
            # After an answer from memory, only the whole statement says what changes.
            is_about_answer = self._before is not None and self._before.is_question
            return content._replace(is_unclear=bool(self._stated) or is_about_answer)
        if content.is_retraction and (replacing := self._replace_denied(content.facts[-1:], normalized)):
            return _changed(content, [], [replacing])
        if moved := self._move(normalized):
            return _changed(content, [moved[0]], [moved[1]])
        said = self._read_next(correction.value if correction and correction.is_certain else sentence, quotations)
        # "Sorry, my name is Kenzo" corrects a name; "Sorry, I have a cold" adds to what was said.
        corrects = correction and said.facts and (correction.is_certain or said.facts[0].told.startswith("User's "))
        replaced = self._find_replaced(said) if corrects else []
        is_retraction = self._retracts(normalized, said)
        wrong: list[str] = []
        if is_retraction and not replaced:
            replaced, wrong = self._withdrawn()
            # "That's wrong, Alfie is 7" leaves the rest of "two children, Maisie who is 9 and Alfie who is 6".
            told = said.facts[0].told if said.facts else ""
            replaced = [each for each in replaced if not corrections.is_detail(told, each.told)]
            wrong = [each for each in wrong if not corrections.is_detail(told, each)]
            # A mere "no" may mean anything.
            is_retraction = bool(replaced or wrong) or not corrections.is_refusal(normalized)
        self._forget(replaced)
        if is_retraction and not said.facts:
            self._before = None
        elif said.facts or said.is_question or sentences.is_statement(said.text):
            self._before, self._answer = said, None
        if said.facts:
            self._stated = [*self._stated, said][-_MAX_STATED:]
        is_denial = not (said.facts or is_retraction or said.is_question or sentences.is_instruction(said.text))
        if is_denial and corrections.is_denial(said.text) and not corrections.withdraws_itself(said.text):
            wrong = [said.text]
        content = content._replace(
            denials=[*content.denials, *wrong], is_retraction=content.is_retraction or is_retraction
        )
        return _changed(content, replaced, said.facts)

    def _amend(self, value: str, about: str | None) -> tuple[SpokenFact, SpokenFact] | None:
        """Return which statement a value such as "at 11" corrects, and the corrected one; None if that is not clear."""
        if not self._stated or not corrections.is_value(value):
            return None
        facts = self._answered() or self._stated[-1].facts
        if about is not None:
            facts = [each for said in self._stated for each in said.facts if corrections.is_about(each.said, about)]
        facts = [each for each in facts if corrections.may_correct(value, each.said)]
        amended = [(each, found) for each in facts if (found := self._amend_fact(each, value))]
        amended.sort(key=lambda each: -each[1][0])
        if not amended or (len(amended) > 1 and amended[0][1][0] == amended[1][1][0]):
            return None
        old, (_, new) = amended[0]
        return self._put_in_place(old, new)

    def _new_number(self, sentence: str) -> corrections.Correction | None:
        """Return the number of "It's 4412" after "My code is 4421", which has as many digits; None if it is not one."""
        value, before = corrections.value_alone(sentence), self._before
        if value is None or before is None or not value.isdigit() or len(value) < _MIN_CODE_DIGITS:
            return None
        numbers = [number for each in before.facts for number in re.findall(r"\d+", each.said)]
        is_code = [len(number) for number in numbers] == [len(value)]
        return corrections.Correction(value, is_certain=False) if is_code else None

    def _move(self, sentence: str) -> tuple[SpokenFact, SpokenFact] | None:
        """Return which statement "It got moved to Monday" is about, and the same with the new day; None if none is."""
        moved = [
            (old, new)
            for old in self._withdrawn()[0]
            if (language := language_of(sentences.normalize(old.said), self._language)) and not old.is_resolved
            if (text := corrections.reschedule(old.said, sentence, self._day, language))
            for new in self._read_sentence(text, language)
        ]
        return self._put_in_place(*moved[0]) if len(moved) == 1 else None

    def _replace_denied(self, facts: list[SpokenFact], sentence: str) -> SpokenFact | None:
        """Return "I'm allergic to nuts" for "It's nuts" after "That's wrong, I'm not allergic to milk"; None if not so.

        Without "That's wrong", "I don't like tea. It's bitter." tells why.
        """
        value = corrections.value_alone(sentence)
        if value is None or not facts or (affirmed := corrections.affirm(facts[0].said)) is None:
            return None
        amended = amend(affirmed, value)
        language = language_of(sentences.normalize(affirmed), self._language)
        found = list(self._read_sentence(amended.text, language)) if amended else []
        return found[0] if len(found) == 1 else None

    def _put_in_place(self, old: SpokenFact, new: SpokenFact) -> tuple[SpokenFact, SpokenFact]:
        self._forget([old])
        self._before, self._answer = Said(new.said, [new], is_question=False), None
        self._stated.append(self._before)
        return old, new

    def _is_mere_value(self, value: str) -> bool:
        """Return whether a correction says no more than a value; "Tim lives in Oslo" says more."""
        names_subject = value[0].isupper() and language_of(value, self._language) == "en"
        return corrections.is_value(value) and not (names_subject and any(self._read_sentence(value, "en")))

    def _amend_fact(self, fact: SpokenFact, value: str) -> tuple[int, SpokenFact] | None:
        """Return a fact with a value in place of the one that it corrects, and how clear it is."""
        language = language_of(sentences.normalize(fact.said), self._language)
        if fact.is_resolved:
            # "She" may be another one by now.
            amended = amend(fact.told, value)
            dated = relative_dates.annotate_dates(amended.text, self._day, language or "en") if amended else ""
            return (amended.likeness, SpokenFact(amended.text, amended.text, dated, True)) if amended else None
        quotations = Quotations(fact.said)
        amended = amend(quotations.text, value)
        facts = list(self._read_sentence(amended.text, language)) if amended else []
        return (amended.likeness, _restored(facts[0], quotations)) if amended and len(facts) == 1 else None

    def _answered(self) -> list[SpokenFact]:
        """Return the statements that the answer to the last question repeats."""
        facts = [fact for said in self._stated for fact in said.facts]
        return [
            each
            for each in facts
            if any(corrections.repeats(self._answer or "", text) for text in (each.said, each.told))
        ]

    def _find_replaced(self, said: Said) -> list[SpokenFact]:
        """Return what the user stated before and a sentence such as "No, I have rabbits" replaces."""
        before = self._before
        # After a question "No," is about its answer.
        earlier = self._stated if before and before.is_question else [before] if before else []
        candidates = self._answered() or [fact for each in reversed(earlier) for fact in each.facts]
        words = corrections.content_words(said.facts[0].said)
        candidates.sort(key=lambda fact: -len(words & corrections.content_words(fact.said)))
        return [each for each in candidates if corrections.replaces(said.facts[0].told, each.told)][:1]

    def _retracts(self, sentence: str, said: Said) -> bool:
        """Return whether a sentence says that the statement or the answer before it is wrong."""
        before = self._before
        if corrections.withdraws_previous(sentence):
            return True
        if before and not before.is_question and corrections.is_about_another(sentence, before.text):
            return False
        if before and before.is_question:
            is_asked = before is self._asked_before and not said.facts
            return is_asked and corrections.contradicts(sentence, before.text, is_answer=True)
        if corrections.is_retraction(sentence):
            return True
        text = before.text if before else ""
        return not said.facts and corrections.contradicts(sentence, text, is_answer=False)

    def _withdrawn(self) -> tuple[list[SpokenFact], list[str]]:
        """Return the statements that a retraction is about, or the answer from memory, which only the text tells."""
        before = self._before
        if before is None or not before.is_question:
            return (before.facts if before else []), []
        if facts := self._answered():
            return facts, []
        # Where the answer is not known, the question tells what it is about.
        wrong = before.text if self._answer is None else self._answer
        return [], [wrong] if wrong else []

    def _forget(self, facts: list[SpokenFact]) -> None:
        kept = [each._replace(facts=[fact for fact in each.facts if fact not in facts]) for each in self._stated]
        self._stated = [each for each in kept if each.facts]

    def _read_next(self, sentence: str, quotations: Quotations) -> Said:
        """Return what a sentence says."""
        text = sentences.normalize(sentence)
        facts: list[SpokenFact] = []
        if not corrections.withdraws_itself(text) and not corrections.is_retraction(text):
            spoken_facts = self._read_sentence(sentence, language_of(text, self._language))
            facts = [_restored(spoken, quotations) for spoken in spoken_facts]
        return Said(text, facts, not facts and sentences.is_question(text))

    def _read_sentence(self, sentence: str, language: str | None) -> Iterator[SpokenFact]:
        sentence = to_reminder(sentence, self._day, language) or sentences.to_command(sentence)
        if sentences.is_instruction(sentence):
            return
        if language is None:
            self._referents.clear()
            if sentences.is_statement(sentence) and not sentences.is_request_to_forget(sentence):
                yield SpokenFact(sentence, sentence, sentence, is_resolved=False)
            return
        grammar = GRAMMARS[language]
        normalized = capitalize_name(sentences.normalize(sentence))
        statement = without_asides(normalized, language)
        if sentences.is_question_or_link(normalized) or sentences.is_request_to_forget(normalized):
            return
        if grammar.patterns["doubt"].match(statement) or sentences.is_request_to_forget(statement):
            return
        statement = sentences.unfold_introduction(_strip_lead_in(statement, grammar))
        for piece in _split_run_on(statement, grammar):
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
        if told == named and sentences.is_fragment(named):
            return None
        # The third person of a refusal ("don't call me before 10") is a statement, the words themselves are a request.
        is_statement = told and (told.startswith(("User does not want", "User wants")) or sentences.is_statement(named))
        return told if is_statement else None


def without_asides(sentence: str, language: str) -> str:
    """Return a sentence without its lead-in and what it corrects: "I like Rome" for "Btw, I like Oslo, no, Rome"."""
    return corrections.apply_correction(_strip_lead_in(sentence, GRAMMARS[language]), language)


def to_reminder(sentence: str, day: date, language: str | None) -> str | None:
    """Return a request for a reminder with a time to come as a statement; None for any other sentence."""
    wish, midnight = to_wish(sentence), datetime.combine(day, time(), tzinfo=UTC)
    mentions = read(wish, midnight, UTC, language) if wish else ()
    is_day = any(mention.end > midnight and not _is_impossible(mention, wish or "") for mention in mentions)
    return wish if is_day else None


def _is_impossible(mention: DateMention, text: str) -> bool:
    """Return whether a month is what is left of a day that it does not have: "31 February"."""
    start, end = mention.span
    return mention.grain is Grain.MONTH and _DAY_NUMBER.search(text, max(start - _DAY_CHARACTERS, 0), end) is not None


def _correction_in(sentence: str) -> corrections.Correction | None:
    """Return what a sentence corrects with; None if it only says that something is wrong, or corrects nothing."""
    found = corrections.split_correction(sentence)
    is_bare = corrections.is_bare_contradiction(sentence) or corrections.is_retraction(sentence)
    if not found or is_bare or any(sentences.is_small_talk(text) for text in (sentence, found.value)):
        return None
    return None if sentences.is_question(found.value) else found


def _changed(content: MessageContent, taken_back: list[SpokenFact], facts: list[SpokenFact]) -> MessageContent:
    kept = [each for each in content.facts if each not in taken_back]
    return content._replace(facts=[*kept, *facts], taken_back=[*content.taken_back, *taken_back])


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
