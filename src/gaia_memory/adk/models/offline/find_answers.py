"""Finds the statements of a person that answer a question, by the words that they share."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from gaia_memory.adk.models.offline.later_news import is_change_of_state, tells_news
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
    told_words,
    topic_words,
)
from gaia_memory.adk.models.offline.subjects import (
    asks_about_self,
    asks_for_own,
    has_other_owner,
    is_about_another,
    lacks_name,
    names_of,
)
from gaia_memory.adk.models.offline.topic_words import (
    GENERAL_WORDS,
    are_forms,
    has_word,
    have_one_stem,
    with_plain_words,
    without_telling,
)

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
    news = [each for each in later if each not in found and any(tells_news(each, one, question) for one in found)]
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
    implied = told_words(text)
    if not asked or not (tells_answer_type(question, text, implied) or is_change_of_state(text)):
        return 0.0
    general = GENERAL_WORDS.union([] if asks_for_taste(question, asked) else kind_words(question))
    words = (*topic_words(text), *implied)
    matched = [word for word in asked if has_word(words, word) or any(name in words for name in names[word])]
    # "Do I still live in Oslo?" is answered by "I moved to Rome", too.
    counting = implied if not is_open(question) else ()
    weights = {word: _GENERAL_WEIGHT if word in general and not has_word(counting, word) else 1.0 for word in asked}
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
    if is_far or lacks_name(question, words, names) or (is_denied and asks_for_taste(question, asked)):
        return 0.0
    return max(share, 0.0) and share - _OTHER_MOOD * (is_denied + is_of_other_time(question, text))


def _has_literally(words: Collection[str], word: str, names: Collection[str]) -> bool:
    return any(have_one_stem(word, other) or other in names for other in words)


def _has_misspelt(words: Collection[str], word: str, names: Collection[str]) -> bool:
    return not any(are_forms(word, other) or other in names for other in words)
