"""Corrections: "teal, no wait, green", "No, at 11" and "just kidding" after a statement."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from gaia_memory.backend.offline.amendments import Amendment, amend
from gaia_memory.backend.offline.grammar.rules import load_tables
from gaia_memory.language.answer_types import find_hour, tells_age, tells_own_age
from gaia_memory.language.dates import Anchor, DateMention, read
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
_MAX_VALUE_WORDS = 6
_STEM_CHARACTERS = 3
_USER = frozenset(("user", "nutzer", "nutzers", "utilisateur", "usuario"))
_NAMES = frozenset(("name", "nom", "nombre"))
_ONE_DAY, _ONE_HOUR = timedelta(days=1), timedelta(hours=1)
_DATE_PREPOSITIONS = {"en": "on ", "de": "am ", "es": "el "}
CONTRAST = re.compile(
    r"\b(?:sondern|sino|but (?:in|at|a|an|the)|mais (?:à|en|un|une))\b|"
    r",\s(?:and )?(?:not|nicht|(?:et )?(?:non )?pas|(?:y )?no)\s(?P<wrong>(?:\w+\s){0,2}\w+)\W*\Z",
    re.IGNORECASE,
)
"""What a denial goes on with, or is added to: "…, but in Basel", "… is called Lucia, not Lucy"."""
_VALUE_WITH_SUBJECT = re.compile(
    r"(?!(?:it|that|this|he|she|they|es|das|er|sie|c'|ce|il|elle|eso|él|ella)\b)"
    r"(?P<subject>[\w'\u2019-]+(?: [\w'\u2019-]+){0,4}?) "
    r"(?:is|are|was|were|has|have|starts|costs|lives|works|ist|sind|hat|wohnt|est|sont|habite|está|están|tiene|vive)\b",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[\w'\u2019-]+")
_ARTICLES = frozenset(("the", "a", "an", "der", "die", "das", "le", "la", "les", "el", "los", "las", "my", "our"))
_CLAUSE_END = re.compile(r",\s|\s(?:but|sondern|mais|sino)\s", re.IGNORECASE)


_ADMITTED_THING = re.compile(r"\b(?:about|über|bei|sur|sobre|con) (?P<what>.+)", re.IGNORECASE)
_ENUMERATION = re.compile(r",|\b(?:and|und|et|y)\b")
_SENTENCE_START = re.compile(r"\A\s*|[,.!?;:–—-]\s+")  # noqa: RUF001
_AGE_WORDS = frozenset(("age", "alter", "edad"))


class Correction(NamedTuple):
    """What a sentence such as "Sorry, I meant two" corrects with."""

    value: str
    is_certain: bool
    """Whether nothing else can be meant: "No, two", not "Wait, two"."""

    about: str | None = None
    """What it is a value of, if it says so: "My wife's name"."""


def is_retraction(sentence: str) -> bool:
    """Return whether a sentence takes the statement before it back."""
    return _P["retraction"].match(sentence) is not None


def contradicts(sentence: str, before: str, *, is_answer: bool) -> bool:
    """Return whether a sentence says no more than that what came before is wrong or over: "That's not true any more".

    A mere "no" does so after the answer to a question. After a denial it may as well confirm it.
    """
    if _P["overtaken"].match(sentence):
        return True
    if not is_bare_contradiction(sentence) and not is_admission(sentence):
        return False
    return is_answer or not (_words(sentence) <= _REFUSALS or is_denial(before))


def reschedule(statement: str, sentence: str, day: date, language: str) -> str | None:
    """Return "The meeting is on Monday" for "The meeting is on Friday at 9" after "It got moved to Monday".

    The hour may have changed with the day, but a new hour is one of the same day. None where the sentence or the
    statement does not tell one day.
    """
    now = datetime.combine(day, time(), tzinfo=UTC)
    before, after = (read(text, now, UTC, language) for text in (statement, sentence))
    if not _P["overtaken"].match(sentence) or len(before) != 1 or len(after) != 1:
        return None
    [old], [new] = before, after
    leads = (lead.span() for lead in _P["new_date"].finditer(sentence))
    lead, start = next((span for span in leads if new.span[0] <= span[1] < new.span[1]), (0, 0))
    if not start or new.recurrence or new.end - new.start > _ONE_DAY:
        return None
    if new.has_time and new.anchor is Anchor.INFERRED and new.start.date() == day:
        return _at_hour(statement, old, sentence[lead : new.span[1]])
    new_date = sentence[start : new.span[1]]
    if new.anchor is not Anchor.RELATIVE:
        new_date = (
            ("le " if new_date[0].isdigit() else "") + new_date
            if language == "fr"
            else _DATE_PREPOSITIONS[language] + new_date
        )
    return f"{statement[: old.span[0]]}{new_date}{statement[old.span[1] :]}"


def _at_hour(statement: str, date: DateMention, new: str) -> str | None:
    start, end = date.span
    old_hour, new_hour = find_hour(statement[start:end]), find_hour(new)
    # "From 2 to 4 pm" has two hours.
    if old_hour is None or new_hour is None or date.end - date.start > _ONE_HOUR:
        return None
    return f"{statement[: start + old_hour[0]]}{new[new_hour[0] : new_hour[1]]}{statement[start + old_hour[1] :]}"


def is_bare_contradiction(sentence: str) -> bool:
    """Return whether a sentence has no words but those of "That's wrong" or "No, not any more"."""
    words = _words(sentence)
    return words <= _CONTRADICTING | _POINTING and not words.isdisjoint(_CONTRADICTING)


def is_refusal(sentence: str) -> bool:
    """Return whether a sentence is a mere "no" or "sorry", which may mean anything."""
    return _words(sentence) <= _REFUSALS


def _words(sentence: str) -> set[str]:
    return set(_WORD.findall(sentence.lower()))


def split_correction(sentence: str) -> Correction | None:
    """Return what "No, at 11" or "Sorry, I meant two" corrects with; None if a sentence does not begin like these."""
    if misspoken := _P["misspoken"].match(sentence):
        old, new = misspoken["old"], misspoken["new"].strip(" .!")
        return Correction(f"it's {new}, not {old}" if is_value(old) and is_value(new) else new, is_certain=True)
    if replacement := _P["replacement"].match(sentence):
        value = f"it's {replacement['new']}, not {replacement['old']}"
        return Correction(value, is_certain=False, about=replacement["about"])
    found = _P["correction"].match(sentence)
    if not found:
        return Correction(sentence, is_certain=True) if _P["contrast"].match(sentence) else None
    value = sentence[found.end() :].strip()
    return Correction(value, is_certain=_P["certain"].search(found[0]) is not None) if value else None


def replaces(told: str, told_before: str) -> bool:
    """Return whether what "No, I have rabbits" tells is of the same person with the same verb as what was told before.

    After a denial, "No, …" may as well confirm it.
    """
    subject, before = _P["subject_and_verb"].match(told), _P["subject_and_verb"].match(told_before)
    is_same = bool(subject and before and subject[0].casefold() == before[0].casefold())
    return is_same and not is_denial(told_before)


def is_detail(statement: str, whole: str) -> bool:
    """Return whether a statement is about one of several whom another one names: "Alfie is 7"."""
    name = statement.partition(" ")[0].removesuffix("'s")
    is_name = name[:1].isupper() and name.casefold() not in _USER | _FUNCTION_WORDS
    return (
        is_name
        and _ENUMERATION.search(whole) is not None
        and re.search(rf"\w.*\b{re.escape(name)}\b", whole) is not None
    )


def is_admission(sentence: str) -> bool:
    """Return whether a sentence begins with "I was wrong", which says nothing itself."""
    return _P["admission"].match(sentence) is not None


def is_about_another(sentence: str, statement: str) -> bool:
    """Return whether an admission names what it is about, and that is not what was stated: "I lied about Berlin"."""
    if not is_admission(sentence) or not (about := _ADMITTED_THING.search(sentence)):
        return False
    words = content_words(about["what"])
    is_of_age = bool(words & _AGE_WORDS) and (tells_age(statement) or tells_own_age(statement))
    return bool(words) and not is_of_age and words.isdisjoint(content_words(statement))


def is_value(text: str) -> bool:
    """Return whether a correction may be a mere value: "at 11", "my leg", "he's 8"; not "I live in Rome"."""
    is_statement = _P["new_start"].match(text) and not _P["owned_thing"].fullmatch(text)
    return not is_statement and len(text.split()) <= _MAX_VALUE_WORDS


def may_correct(value: str, statement: str) -> bool:
    """Return whether a value has no subject of its own, or that of a statement: "Leo is 8" for "My son Leo is 7"."""
    subject = _VALUE_WITH_SUBJECT.match(value)
    known = set(_WORDS.findall(statement.casefold()))
    return subject is None or set(_WORDS.findall(subject["subject"].casefold())) - _ARTICLES <= known


def value_alone(sentence: str) -> str | None:
    """Return "raspberries" for "It's raspberries"; None for any other sentence."""
    found = _P["value_subject"].match(sentence)
    value = sentence[found.end() :].strip(" .!") if found and not found["person"] else ""
    return value if value and is_value(value) else None


def is_injection(text: str) -> bool:
    """Return whether a message tells a model to ignore its instructions."""
    return _P["injection"].search(text) is not None


def is_confidential(text: str) -> bool:
    """Return whether a message begins with "Keep this between us" or "Don't remember this", or ends with it."""
    found = (_P["confidential"].match(text, start.end()) for start in _SENTENCE_START.finditer(text))
    first, *others = found
    return first is not None or any(each and not re.search(r"\w", text[each.end() :]) for each in others)


def withdraws_itself(sentence: str) -> bool:
    """Return whether a sentence ends with "just kidding"."""
    return _P["self_retraction"].search(sentence) is not None


def withdraws_previous(sentence: str) -> bool:
    """Return whether a sentence begins with "scratch that" and goes on."""
    return _P["withdrawal"].match(sentence) is not None


def is_denial(statement: str) -> bool:
    """Return whether a statement denies something or says that it ended: "I no longer …", "my dog died".

    Not if it goes on with what took it up again: "I quit smoking but started again".
    """
    found = next(filter(None, (_P[name].search(statement) for name in ("denial", "separation", "dismissal"))), None)
    return found is not None and not _P["resumption"].search(statement, found.end())


def as_denial(statement: str) -> str:
    """Return a dislike as a denial: "I do not like jazz" for "I hate jazz"; any other statement as it is."""
    return _TABLES.replace("disliked", statement)


def is_resumption(statement: str) -> bool:
    """Return whether a statement says that something is so again: "I'm back on coffee", "I smoke again"."""
    return not is_denial(statement) and _P["resumption"].search(statement) is not None


def names_successor(denial: str) -> bool:
    """Return whether a denial says what holds instead: "not in Bern any more, but in Basel"."""
    return CONTRAST.search(denial) is not None


def loses_work(statement: str) -> bool:
    """Return whether a statement says that somebody has lost their work: "I got fired", but not "… from the choir"."""
    return _P["dismissal"].search(statement) is not None and not _P["dismissed_from"].search(statement)


def without_separation(statement: str) -> str:
    """Return a statement without the words that say that two have parted."""
    return _P["separation"].sub(" ", statement)


def affirm(denial: str) -> str | None:
    """Return what a denial denies: "I'm allergic to milk" for "I'm not allergic to milk"; None if that is not clear."""
    affirmed = _TABLES.replace("affirmed", denial)
    return None if affirmed == denial else affirmed


def content_words(text: str) -> frozenset[str]:
    """Return the words of a text without function words: those that an answer repeats of a statement."""
    return frozenset(index_tokens(text)) - _FUNCTION_WORDS


def is_about(statement: str, about: str) -> bool:
    """Return whether a statement has the words for what a value is of; that it is a name is told in several ways."""
    return content_words(about) - _NAMES <= content_words(statement)


def repeats(answer: str, statement: str) -> bool:
    """Return whether an answer has the words of a statement, in any person: "Du wohnst" for "Ich wohne"."""
    answered = {word[:_STEM_CHARACTERS] for word in content_words(answer)}
    said = {word[:_STEM_CHARACTERS] for word in content_words(statement) - _USER}
    return bool(said) and said <= answered


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


def apply_correction(sentence: str, language: str) -> str:
    """Return "my colour is green" for "my colour is teal, no wait, green".

    A correction with a subject replaces the statement. One that is not clear changes nothing.
    """
    if language in ("es", "fr") and _P["mere_contrast"].search(sentence):
        return sentence
    parts = _P["marker"].split(sentence)
    corrected = parts[0]
    for part in parts[1:]:
        replacement = part.strip()
        amended = amend(corrected, replacement) if is_value(replacement) else Amendment(replacement, 0)
        if amended is None:
            return sentence
        corrected = amended.text
    return corrected
