"""Tells whether a later statement is news for an answer: "I sold the Fiat" for "I drive a red Fiat"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from gaia_memory.adk.models.offline.question_kinds import (
    asks_for_taste,
    denies,
    is_of_other_time,
    is_open,
    tells_answer_type,
)
from gaia_memory.adk.models.offline.statements import (
    Statement,
    tells_trade,
    told_words,
    topic_words,
    without_added_dates,
    without_dates,
)
from gaia_memory.adk.models.offline.subjects import (
    has_other_owner,
    is_about_user,
    lacks_name,
    owner_words,
    subject_words,
)
from gaia_memory.adk.models.offline.topic_words import (
    GENERAL_WORDS,
    SLOT_WORDS,
    has_word,
    have_one_root,
    implied_words,
    is_same_word,
    with_plain_words,
)

_SWITCH = re.compile(
    r"\b(?:(?:switched|changed) (?:from|to)|updated|upgraded|moved|postponed|rescheduled|delayed)\b|"
    r"\bchang(?:es|ed|ing) (?:my|user's|our|their|his|her|its|the)\b|"
    r"\bumgestiegen\b|\bpassée? (?:de|à|aux?)\b|\bcambi(?:é|ó|aste) (?:de|a)\b",
    re.IGNORECASE,
)
_ENDING = re.compile(
    r"\b(?:no longer|any ?more|stopped|quit|cancell?ed|called off|g[ai]ven? up|nicht mehr|aufgehört|plus|"
    r"arrêtée?|ya no|dej[éó]|dejado)\b",
    re.IGNORECASE,
)
_SETTLEMENT = re.compile(
    r"\b(?:(?:re)?paid|fixed|repaired|mended|sold|returned|finished|delivered|(?:brought|gave|given) .*\bback|"
    r"bezahlt|repariert|verkauft|zurückgegeben|payé|réparé|vendu|rendu|pag(?:ué|ó|ado)|arregl(?:é|ó|ado)|vend(?:í|ió|ido))\b",
    re.IGNORECASE,
)
"""What may be over now for the thing or the sum that it names."""

_ERRAND = re.compile(r"\b(?:(?:need|have|has|want)s? to|must|muss|doi[st]|tiene que)\b", re.IGNORECASE)
_ERRAND_DONE = re.compile(
    r"\b(?:picked up|collected|bought|posted|ordered|booked|rang|called|phoned|renewed|did|done|got)\b", re.IGNORECASE
)
_CANCELLATION = re.compile(r"\b(?:cancel\w*|called off|abgesagt|annulée?s?|cancelad[oa]s?)\b", re.IGNORECASE)
"""A cancelled trip may be a flight."""

_USER_VERB = re.compile(r"\bUser (?:now |also |still )?\w+")
_NOW = re.compile(r"\b(?:now|currently|jetzt|inzwischen|maintenant|désormais|ahora)\b", re.IGNORECASE)


def tells_news(later: Statement, earlier: Statement, question: str) -> bool:
    """Return whether a later statement tells news of what an earlier one is about: "Rex died", "Max moved to Rome"."""
    asked = topic_words(with_plain_words(question))
    words = (*topic_words(without_added_dates(later.text)), *told_words(later.text))
    known = topic_words(without_added_dates(earlier.text))
    subject = subject_words(later.text)
    things = [word for word in words if word != "back" and not has_word(subject, word)]
    is_done = _ERRAND.search(earlier.text) is not None and _ERRAND_DONE.search(later.text) is not None
    if (is_done or _SETTLEMENT.search(later.text)) and any(has_word(known, word) for word in things):
        return not lacks_name(question, (*words, *known), {})
    # "Anna moved" is news of "Max's sister Anna", but "Maisie turns 10" none of Alfie.
    if lacks_name(question, (*words, *(subject_words(earlier.text) if subject else ())), {}):
        return False
    is_aside = is_of_other_time(question, later.text) or has_other_owner(asked, later.text)
    is_answer = not is_aside and tells_answer_type(question, later.text, told_words(later.text))
    if not is_answer and not is_change_of_state(later.text):
        return False
    compared = _Comparison(later.text, earlier.text, question, asked, words, known)
    return _is_news_of_another(compared, subject) if subject else _is_news_of_user(compared)


class _Comparison(NamedTuple):
    """Two statements and a question with their words."""

    later: str
    earlier: str
    question: str
    asked: Sequence[str]
    words: Sequence[str]
    known: Sequence[str]

    @property
    def named(self) -> list[str]:
        """The words of the question that say much."""
        return [word for word in self.asked if word not in GENERAL_WORDS]

    @property
    def tells_change(self) -> bool:
        """Whether the later statement changes what the question names: "The doctor changed my dose"."""
        objects = [word for word in self.words if word not in subject_words(self.later)]
        return _is_change(self.later) and any(have_one_root(each, word) for each in objects for word in self.named)


def _is_news_of_another(compared: _Comparison, subject: Sequence[str]) -> bool:
    """Return whether news is about somebody or something of the earlier statement."""
    known_name, name = subject_words(compared.earlier)[1:], subject[1:]
    if known_name and name and set(known_name).isdisjoint(name) and not is_change_of_state(compared.later):
        return False  # "My pupil Nina comes on Fridays" is none of the pupil Oskar.
    # "The service is on the 10th" tells another time of the same.
    is_detail = owner_words(compared.later) == owner_words(compared.earlier) and all(
        has_word((*compared.known, *compared.asked), word) for word in topic_words(without_dates(compared.later))
    )
    is_asked = any(has_word(compared.words, word) for word in compared.asked if not has_word(subject, word))
    # "Maisie's boyfriend" is news of a boyfriend, not of Maisie.
    is_users = compared.later.casefold().startswith(("user's", "my ", "our "))
    owners = [] if is_users else owner_words(compared.later)
    nouns = [word for word in subject if word not in owners] or subject
    # News of dad is none of dad's carer.
    nouns = [word for word in nouns if word not in owner_words(compared.earlier)]
    is_same = is_same_word if _CANCELLATION.search(compared.later) else have_one_root
    is_of_it = compared.tells_change or any(is_same(each, noun) for each in compared.known for noun in nouns)
    return is_of_it and (is_change_of_state(compared.later) or is_asked or is_detail)


def _is_news_of_user(compared: _Comparison) -> bool:
    """Return whether news of the user changes what the earlier statement says."""
    if any(has_word((*compared.asked, *told_words(compared.earlier)), word) for word in _changed_words(compared.later)):
        return True
    is_of_taste = is_open(compared.question) and asks_for_taste(compared.question, compared.asked)
    if is_of_taste or not is_change_of_state(compared.later) or (denies(compared.later) and denies(compared.earlier)):
        return False
    is_of_user = is_about_user(compared.earlier)
    known = topic_words(_USER_VERB.sub("", compared.earlier)) if is_of_user else tuple(subject_words(compared.earlier))
    # "I'm not allergic to milk" is no news for "Am I allergic to nuts?".
    is_asked_of = not is_open(compared.question) or _ENDING.search(compared.later) is not None
    concerns = bool(compared.named) and is_asked_of and all(has_word(compared.words, word) for word in compared.named)
    shared = [word for word in compared.words if word not in GENERAL_WORDS and not has_word(compared.asked, word)]
    return concerns or compared.tells_change or any(has_word(known, word) for word in shared)


def _changed_words(text: str) -> tuple[str, ...]:
    """Return the words for what is new or over for the user: "work" for "I'm a baker now", "wife" for "We broke up"."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline import corrections

    is_parted = corrections.without_separation(text) != text
    has_new_work = corrections.loses_work(text) or (_NOW.search(text) is not None and tells_trade(text))
    changed = implied_words(text, only_changed=True)
    return (*changed, *(SLOT_WORDS["partner"] if is_parted else ()), *(["work"] if has_new_work else []))


def is_change_of_state(text: str) -> bool:
    """Return whether a text says that something is over, so again, or another thing now."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline import corrections

    return corrections.is_denial(text) or corrections.is_resumption(text) or _is_change(text)


def _is_change(text: str) -> bool:
    """Return whether a text says that something is another thing or at another time now."""
    return _SWITCH.search(text) is not None
