"""Finds the statements of a person that answer a question, by the words that they share."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from gaia_memory.adk.models.offline.question_kinds import (
    asks_for_next,
    asks_for_taste,
    coming_days,
    denies,
    fit_by_kind,
    is_by_kind,
    is_of_other_day,
    is_of_other_time,
    is_open,
    kind_words,
    tells_answer_type,
)
from gaia_memory.adk.models.offline.statements import (
    Statement,
    tells_trade,
    topic_words,
    without_added_dates,
    without_dates,
)
from gaia_memory.adk.models.offline.subjects import (
    asks_about_self,
    asks_for_own,
    has_other_owner,
    is_about_another,
    is_about_user,
    named_in,
    names_of,
    subject_words,
)
from gaia_memory.adk.models.offline.topic_words import (
    GENERAL_WORDS,
    SLOT_WORDS,
    are_forms,
    have_one_stem,
    implied_words,
    is_same_word,
    with_plain_words,
    without_telling,
)
from gaia_memory.language.answer_types import tells_age

_MAX_ANSWERS = 10
_MIN_SCORE = 0.5
_GENERAL_WEIGHT = 0.4
"""What a verb such as "like" counts beside another word: "Do I like tea?" is about tea."""

_OTHER_OWNER = 0.3
"""Taken off what belongs to somebody whom the question does not name: "My son's birthday" for "my birthday"."""

_OTHER_SPELLING = 0.25
"""Taken off for a word that may be another one: a contract is no contact."""

_OTHER_MOOD = 0.1
"""Taken off a denial where the question asks for what is so, or the reverse, and off the past for the present."""

_RELATIVE_CLAUSE = re.compile(r",? \b(?:who|whose|which)\b.*")
_SWITCH = re.compile(
    r"\b(?:(?:switched|changed) (?:from|to)|updated|upgraded|moved|postponed|rescheduled|delayed)\b|"
    r"\bchang(?:es|ed|ing) (?:my|user's|our|their|his|her|its|the)\b|"
    r"\bumgestiegen\b|\bpassée? (?:de|à|aux?)\b|\bcambi(?:é|ó|aste) (?:de|a)\b",
    re.IGNORECASE,
)
_ENDING = re.compile(
    r"\b(?:no longer|any ?more|stopped|quit|g[ai]ven? up|nicht mehr|aufgehört|plus|arrêtée?|ya no|dej[éó]|dejado)\b",
    re.IGNORECASE,
)
_USER_VERB = re.compile(r"\bUser (?:now |also |still )?\w+")
_NOW = re.compile(r"\b(?:now|currently|jetzt|inzwischen|maintenant|désormais|ahora)\b", re.IGNORECASE)
_ORIGIN = re.compile(
    r"\b(?:from|born in|aus|geboren in|(?:originaire|vien[st]) d[eu]|(?:es|soy) de) (?-i:[A-ZÀ-Þ])|\bd'(?-i:[A-ZÀ-Þ])|"
    r"\b(?:User is|I'?m) from\b",
    re.IGNORECASE,
)


class Answers(NamedTuple):
    """The statements that answer a question, best first."""

    statements: list[Statement]
    is_certain: bool = True
    """Whether they have all words of the question."""


def find_answers(question: str, statements: Sequence[Statement]) -> Answers:
    """Return the statements that have most of the words of a question, the newest first; none where few fit.

    Later news of what they are about are told, too: "Rex died" before "My dog is called Rex". A statement that has
    only some words of the question is the only answer, and not a certain one.
    """
    question = without_telling(question)
    asked = topic_words(with_plain_words(question))
    names = _names_of(asked, statements)
    fits = [(_fit(question, asked, names, each.text), each) for each in statements]
    best = max((fit for fit, _ in fits), default=0.0)
    if best < _MIN_SCORE:
        return Answers([])
    is_certain = best >= 1.0 - 2 * _OTHER_MOOD
    found = [each for fit, each in fits if fit == best]
    if is_certain and asks_for_next(question) and (soonest := _find_soonest(found)):
        return Answers([soonest])
    if on_day := [each for each in found if not is_of_other_day(question, each.text)]:
        found = on_day
    else:
        is_certain = False
    found = found[-_MAX_ANSWERS if is_certain else -1 :]
    later = [] if is_by_kind(question) else statements[statements.index(found[0]) + 1 :]
    news = [each for each in later if each not in found and any(_tells_news(each, one, question) for one in found)]
    told = [each for each in statements if each in news or each in found]
    return Answers(told[::-1][:_MAX_ANSWERS], is_certain)


def _find_soonest(statements: Sequence[Statement]) -> Statement | None:
    """Return the statement with the first day to come; None if none has one."""
    dated = [(start, at) for at, each in enumerate(statements) for start in coming_days(each.text)]
    return statements[min(dated)[1]] if dated else None


def _names_of(asked: Sequence[str], statements: Sequence[Statement]) -> dict[str, list[str]]:
    """Return what those are called whom the words `asked` stand for: "anna" of "sister"."""
    return {word: [name for each in statements for name in names_of(word, each.text)] for word in asked}


def _fit(question: str, asked: Sequence[str], names: Mapping[str, Sequence[str]], text: str) -> float:
    """Return the share of the question's words in a statement: 0.0 if it is about somebody else, or tells no answer."""
    if (fit := fit_by_kind(question, text)) is not None:
        return fit
    if asks_about_self(question):
        if is_about_another(asked, text):
            return 0.0
        text = _RELATIVE_CLAUSE.sub("", text)
    implied = _implied_words(text)
    if not asked or not (tells_answer_type(question, text, implied) or _is_turn(text)):
        return 0.0
    general = GENERAL_WORDS.union([] if asks_for_taste(question, asked) else kind_words(question))
    words = (*topic_words(text), *implied)
    matched = [word for word in asked if _has(words, word) or any(name in words for name in names[word])]
    # "Do I still live in Oslo?" is answered by "I moved to Rome", too.
    counting = implied if not is_open(question) else ()
    weights = {word: _GENERAL_WEIGHT if word in general and not _has(counting, word) else 1.0 for word in asked}
    is_of_another = has_other_owner(asked, text)
    # "Kiran was born in May" is not even close to "When is nan's birthday?".
    is_near = len(matched) == len(asked) or any(_has_literally(words, word, names[word]) for word in matched)
    share = sum(weights[word] for word in matched) / sum(weights.values()) - _OTHER_OWNER * (
        is_of_another and asks_for_own(question)
    )
    share -= _OTHER_SPELLING * any(_has_misspelt(words, word, names[word]) for word in matched)
    # "Do I play chess?" is answered by "I no longer play chess", too.
    is_denied = is_open(question) and denies(question) != denies(text)
    is_far = not is_near and (is_of_another or not asks_about_self(question))
    if is_far or _lacks_name(question, words, names) or (is_denied and asks_for_taste(question, asked)):
        return 0.0
    return max(share, 0.0) and share - _OTHER_MOOD * (is_denied + is_of_other_time(question, text))


def _lacks_name(question: str, words: Collection[str], names: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a question names somebody, and none of the words is that name, or one of `names` for it."""
    asked = named_in(question)
    return bool(asked) and not any(
        _has(words, name) or any(each in words for each in names.get(name, ())) for name in asked
    )


def _tells_news(later: Statement, earlier: Statement, question: str) -> bool:
    """Return whether a later statement tells news of what an earlier one is about: "Rex died", "Max moved to Rome"."""
    asked = topic_words(with_plain_words(question))
    is_aside = is_of_other_time(question, later.text) or has_other_owner(asked, later.text)
    words = (*topic_words(without_added_dates(later.text)), *_implied_words(later.text))
    known = topic_words(without_added_dates(earlier.text))
    named = [word for word in asked if word not in GENERAL_WORDS]
    tells_change = _is_change(later.text) and any(_has(words, word) for word in named)
    subject = subject_words(later.text)
    # "Anna moved" is news of "Max's sister Anna", but "Maisie turns 10" none of Alfie.
    is_of_another = _lacks_name(question, (*words, *(subject_words(earlier.text) if subject else ())), {})
    is_other_answer = is_aside or not tells_answer_type(question, later.text, _implied_words(later.text))
    if is_of_another or (is_other_answer and not _is_turn(later.text)):
        return False
    if subject:
        # "The service is on the 10th" tells another time of the same.
        is_detail = all(_has((*known, *asked), word) for word in topic_words(without_dates(later.text)))
        is_news = (
            _is_turn(later.text) or any(_has(words, word) for word in asked if not _has(subject, word)) or is_detail
        )
        # "The doctor changed my dose" has another subject.
        is_of_it = any(_has(known, word) for word in subject) or tells_change
        return is_news and is_of_it
    if any(_has((*asked, *_implied_words(earlier.text)), word) for word in _changed_words(later.text)):
        return True
    if is_open(question) and asks_for_taste(question, asked):
        return False
    is_of_user = is_about_user(earlier.text)
    known = topic_words(_USER_VERB.sub("", earlier.text)) if is_of_user else tuple(subject_words(earlier.text))
    if not _is_turn(later.text) or (denies(later.text) and denies(earlier.text)):
        return False
    # "I'm not allergic to milk" is no news for "Am I allergic to nuts?".
    is_asked_of = not is_open(question) or _ENDING.search(later.text) is not None
    concerns = bool(named) and is_asked_of and all(_has(words, word) for word in named)
    shared = [word for word in words if word not in GENERAL_WORDS and not _has(asked, word)]
    return concerns or tells_change or any(_has(known, word) for word in shared)


def _changed_words(text: str) -> tuple[str, ...]:
    """Return the words for what is new or over for the user: "work" for "I'm a baker now", "wife" for "We broke up"."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline import corrections

    is_parted = corrections.without_separation(text) != text
    has_new_work = corrections.loses_work(text) or (_NOW.search(text) is not None and tells_trade(text))
    changed = implied_words(text, only_changed=True)
    return (*changed, *(SLOT_WORDS["partner"] if is_parted else ()), *(["work"] if has_new_work else []))


@lru_cache(maxsize=1_000)
def _implied_words(text: str) -> tuple[str, ...]:
    """Return the words for what a statement tells without them: "work" for "User is a nurse"."""
    implied = {"work": tells_trade(text), "age": tells_age(text), "origin": _ORIGIN.search(text)}
    return (*implied_words(text, without_dates(text)), *(word for word, is_told in implied.items() if is_told))


def _has_literally(words: Collection[str], word: str, names: Collection[str]) -> bool:
    return any(have_one_stem(word, other) or other in names for other in words)


def _has_misspelt(words: Collection[str], word: str, names: Collection[str]) -> bool:
    return not any(are_forms(word, other) or other in names for other in words)


def _has(words: Collection[str], word: str) -> bool:
    return any(is_same_word(word, other) for other in words)


def _is_turn(text: str) -> bool:
    """Return whether a text says that something is over, so again, or another thing now."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline import corrections

    return corrections.is_denial(text) or corrections.is_resumption(text) or _is_change(text)


def _is_change(text: str) -> bool:
    """Return whether a text says that something is another thing or at another time now."""
    return _SWITCH.search(text) is not None
