"""Finds the statements of a person that answer a question, by their words and by the kind of answer asked for."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gaia_memory.adk.models.offline.offline_phrases import detect_language
from gaia_memory.adk.models.offline.question_reading import (
    OPEN_QUESTION,
    WHO_QUESTION,
    YES_NO_QUESTION,
    Question,
    asks_for_duties,
    asks_for_former,
    denies_another,
    find_asked_verb,
    is_duty,
    is_of_other_tense,
    parse_question,
    statement_asked,
    tells_dislike,
    tells_end,
    tells_place_left,
)
from gaia_memory.adk.models.offline.statement_changes import (
    Changes,
    without_outdated,
)
from gaia_memory.adk.models.offline.statement_subjects import (
    are_two_of_a_relation,
    by_name,
    find_identity,
    has_other_owner,
    has_other_subject,
    is_about_person,
    names_user,
    subject_words,
    without_clauses_about_others,
)
from gaia_memory.adk.models.offline.statements import (
    Statement,
    category_of,
    contradicts,
    names_workplace,
    states_profession,
    tells_new_role,
    topic_words,
    without_dates,
)
from gaia_memory.adk.models.offline.topic_words import (
    NAME_WORDS,
    TRAVEL_WORDS,
    VERBS,
    asks_for_trade,
    implied_words,
    is_inflection,
    is_same_name,
    is_same_word,
    names_any,
    names_other_contact,
    share_most,
    tells_feeling,
    tells_name,
)
from gaia_memory.language.answer_types import (
    MOMENT,
    PLACE,
    detect_answer_types,
    tells_age,
    tells_clock_time,
    tells_own_age,
)
from gaia_memory.language.tokenizer import index_tokens

MIN_SCORE = 0.5
"""The least share of the question's words that an answer contains."""

_TYPE_BONUS, _WORD_BONUS, _PAST_PENALTY = 0.3, 0.1, 0.4
_MAX_ANSWERS = 10

_PLACE = re.compile(r"\b(?:nach|aus|bei|à|en|a) [A-ZÀ-Þ]")
_HERE_OR_THERE = re.compile(
    r"\b(?:in|at|near|from|to|on|by|with|next|outside|around|abroad|home|here|there|remote(?:ly)?|bei|beim|im|am|auf|an|nach|zu|zur|aus|"
    r"hier|mit|à|au|aux|chez|en|dans|de|ici|avec|a|cerca|desde|aquí|con)\b|(?<=\w )(?-i:[A-ZÀ-Þ])\w",
    re.IGNORECASE,
)
"""What tells a place, perhaps: "at the post office", "with my parents"; not "for music"."""

_LEFT_OF_DATE = re.compile(r"\b(?:on|in|am|im|en|à)\W*\Z")
_TIME = re.compile(
    r"\d|\b(?:before|after|during|until|every|vor|nach|bis|jede\w*|avant|après|chaque|antes|después|cada)\b",
    re.IGNORECASE,
)
_PAST_MARK = re.compile(
    r"\b(?:used to|no longer|not any ?more|any ?more|formerly|früher|nicht mehr|avant|autrefois|plus à|ya no|antes)\b",
    re.IGNORECASE,
)
_ANY_AGE_QUESTION = re.compile(r"\b(?:how old|wie alt|quel âge|cuántos años)\b", re.IGNORECASE)
_COUNT_QUESTION = re.compile(
    r"\b(?:how many|wie viele|combien d|cuánt[oa]s)(?! (?:years|jahre|ans|años)\b)", re.IGNORECASE
)
_AGE_ASIDE = re.compile(r" \(\d{1,2}\)")
_QUANTITY = re.compile(
    r"\d|\b(?:an?|no|one|two|three|four|five|six|both|twins|many|several|eine?n?|kein\w*|zwei|drei|vier|fünf|sechs|une?|"
    r"deux|trois|quatre|cinq|un[oa]?|dos|tres|cuatro|cinco|and|und|et|y)\b",
    re.IGNORECASE,
)
_COMPANY_QUESTION = re.compile(r"\b(?:with (?:me|us)|mit (?:mir|uns)|avec (?:moi|nous)|conmigo)\b", re.IGNORECASE)
_COMPANY = re.compile(r"\b(?:with|mit|avec|con)\b", re.IGNORECASE)
_LOWER_CASE_IDENTITY = re.compile(
    r"(?i:i'?m|i am|user is|ich bin|der nutzer ist|je suis|l'utilisateur est|soy|el usuario es) [a-zà-ÿ]+\W*"
)
_OWN_ORIGIN_QUESTION = re.compile(
    r"\b(?:where (?:am i|do i come|are we|do we come) from|(?:woher|wo) komme ich|"
    r"d'où (?:est-ce que )?(?:je viens|viens-je)|de dónde (?:soy|vengo))\b",
    re.IGNORECASE,
)
_ORIGIN = re.compile(
    r"\b(?:from|(?:born|grew up|raised) in|(?:komme|kommt|bin|ist|stamme|stammt) aus|(?:geboren|aufgewachsen) in|"
    r"(?:viens|vient|suis|est|originaire) d(?:e|u)|née? à|(?:soy|es|vengo|viene) de|(?:nací|nació) en) [A-ZÀ-Þ]|"
    r"\b(?:viens|vient|suis|est|originaire) d'[A-ZÀ-Þ]|\b(?i:I'?m|I am|User is) from \w"
)


class Answers(NamedTuple):
    """The statements that answer a question, best first."""

    statements: list[Statement]
    is_outdated: bool = False
    """Whether there is none because the person took back what would have answered."""

    is_in_own_words: bool = False
    """Whether only their wording is known: "i'm sam" may have a name or an adjective."""


class _Fit(NamedTuple):
    score: float
    words: tuple[str, ...] = ()


_NO_FIT = _Fit(0.0)


def rank_answers(question_text: str, statements: Sequence[Statement]) -> Answers:
    """Return the statements that answer a question: at most ten, and none where nothing fits.

    They fit as well as the first, by the same words. Of two that fit equally well the newer one comes first, and
    one that a newer one repeats or revises is left out. One that a newer one denies or takes back is no answer, and
    what fits less well takes its place only if it is as new as the denial; else the denial answers. "Do I live in
    Oslo?" is answered with what says newer that it is another place.
    """
    if asks_for_duties(question_text) and (duties := _duties(question_text, statements)):
        return Answers(duties[:_MAX_ANSWERS])
    question = parse_question(question_text)
    answers = _rank(question, question_text, statements)
    if answers.statements or answers.is_outdated:
        return answers
    return Answers(_guess(question, statements), is_in_own_words=question.is_about_name)


def _rank(question: Question, question_text: str, statements: Sequence[Statement]) -> Answers:
    fits = [(_fit(question, each.text), each) for each in statements if not each.takes_back]
    fits = [(fit, each) for fit, each in fits if fit.score >= MIN_SCORE]
    changes = Changes(statements)
    # "I have a daughter" ends "I have no children" in other words.
    newest = max((each.order for fit, each in fits if fit.score >= 1.0 and not changes.is_denial(each)), default=-1)
    fits = [
        (_Fit(fit.score - _WORD_BONUS, fit.words) if each.order < newest and changes.is_denial(each) else fit, each)
        for fit, each in fits
    ]
    ended = changes.ended_at([each for _, each in fits])
    # "I don't live in Milan" tells less than "I live in Rome", which it does not deny.
    is_open = question.has_one_answer or OPEN_QUESTION.match(question_text)
    denials = changes.bare_denials if is_open else set[int]()
    asks_denial = changes.is_denial(Statement(question_text, 0))
    fitting = sorted(
        fits,
        key=lambda found: (-found[0].score, (found[1].order in denials) != asks_denial, -found[1].order),
    )
    outdated_at = -1
    answers: list[Statement] = []
    best: _Fit | None = None
    for fit, statement in fitting:
        changed_at = ended.get(statement, -1)
        if any(each.order == changed_at for each in changes.partial_ends(statement, question.words)):
            changed_at = -1
        if best is None:
            outdated_at = max(outdated_at, changed_at)
        if changed_at >= 0 or statement.order < outdated_at:
            continue
        best = best or fit
        is_left_out = fit != best or len(answers) == _MAX_ANSWERS
        is_known = any(_is_revised_by(statement, newer) for newer in answers)
        # Of "You bought a car" and "You don't have a car" the newer holds.
        is_opposite = bool(answers) and changes.is_denial(statement) != changes.is_denial(answers[0])
        if not (is_left_out or is_known or is_opposite):
            answers.append(statement)
    asked = "" if question.has_one_answer else statement_asked(question_text)
    contrary = [each for each in statements if contradicts(each, asked) and each not in changes.ended_at([each])]
    if contrary and (not answers or contrary[-1].order > answers[0].order):
        answers = contrary[-1:]
    if outdated_at >= 0 and not answers:
        answers = [each for each in statements if each.order == outdated_at and not each.takes_back]
    elif question.has_one_answer:
        others = [] if question.asks_for_name else answers[1:]
        answers = [*answers[:1], *(each for each in others if are_two_of_a_relation(each.text, answers[0].text))]
    besides = [changes.beside(each) for each in answers if outdated_at == each.order or each.order in denials]
    later = [(*changes.partial_ends(each, question.words), *changes.additions(each)) for each in answers]
    before = [changes.told_before(each, question.words) for each in answers]
    answers = [each for each in answers if not changes.leaves_nothing(each)]
    return Answers(
        list(dict.fromkeys(itertools.chain(*before, answers, *besides, *later))),
        is_outdated=outdated_at >= 0 and not answers,
    )


def _guess(question: Question, statements: Sequence[Statement]) -> list[Statement]:
    """Return what of the person's own statements may answer a question whose words they do not have."""
    if question.is_about_name:
        found = [each for each in statements if _LOWER_CASE_IDENTITY.fullmatch(each.text)]
        found = [each for each in found if not category_of(each.text) and not implied_words(each.text)]
    elif (verb := find_asked_verb(question.text)) and not tells_feeling([verb]):
        words = {each: topic_words(each.text, detect_language(each.text)) for each in statements}
        found = [each for each in words if any(_is_form_of(word, verb) for word in words[each])]
    else:
        return []
    own = _own(found, statements)
    return own if len(own) == 1 else []


def _duties(question: str, statements: Sequence[Statement]) -> list[Statement]:
    """Return what the person has to do or wants to be reminded of, on the day that a question names, newest first."""
    day = set(index_tokens(question)) - set(index_tokens(without_dates(question)))
    duties = [each for each in statements if is_duty(each.text) and day.issubset(index_tokens(each.text))]
    return _own(duties, statements)[::-1]


def _own(some: Sequence[Statement], statements: Sequence[Statement]) -> list[Statement]:
    """Return those of some statements that the person makes about themselves and that still hold."""
    own = [each for each in some if not subject_words(each.text)]
    # To compare all statements with each other takes seconds where there are many.
    holding = without_outdated(statements) if own else []
    return [each for each in own if each in holding]


def _is_form_of(word: str, verb: str) -> bool:
    return word[:3] == verb[:3] and is_same_word(word, verb)


def _fit(question: Question, text: str) -> _Fit:
    """Return the share of the question's words in a statement, with a bonus for the kind of answer asked for."""
    if question.is_about_name:
        return _Fit(float(_tells_own_name(question, text)))
    if has_other_subject(question.text, question.words, text) or has_other_owner(question.required, text):
        return _NO_FIT
    if question.is_about_age:
        return _Fit(1.0 + _TYPE_BONUS) if tells_own_age(text) else _NO_FIT
    if _OWN_ORIGIN_QUESTION.search(question.text):
        return _Fit(float(bool(_ORIGIN.search(text))))
    misses = (
        _COMPANY_QUESTION.search(question.text) and not _COMPANY.search(text),
        _ANY_AGE_QUESTION.search(question.text) and not tells_age(text),
        # "My son is 7" tells no number of children.
        _COUNT_QUESTION.search(question.text) and not _tells_count(_AGE_ASIDE.sub("", text)),
        question.answer_types & PLACE and (tells_new_role(text) or tells_place_left(question.text, text)),
        asks_for_former(question.text) and not (_PAST_MARK.search(text) or tells_end(text)),
        question.asks_dislike and not tells_dislike(text),
        not OPEN_QUESTION.match(question.text) and denies_another(text, question.text),
    )
    if any(misses):
        return _NO_FIT
    return _fit_by_words(
        question, without_clauses_about_others(text, question.required) if is_about_person(question.text) else text
    )


def _tells_own_name(question: Question, text: str) -> bool:
    if names_user(text):
        return True
    # A trade has a capital letter in German, too.
    is_trade = category_of(identity := find_identity(text)) is not None
    return bool(identity) and not is_trade and not has_other_subject(question.text, question.words, text)


def _fit_by_words(question: Question, text: str) -> _Fit:
    words = topic_words(text, detect_language(text))
    if not question.words or not words:
        return _NO_FIT
    mates = {word: [other for other in words if _is_mate(question, word, other)] for word in question.words}
    implied = _implied_by(question, text)
    for word in question.words:
        mates[word] = mates[word] or [word for each in implied if is_same_word(word, each)]
        if question.names and word in TRAVEL_WORDS:
            # Who is "flying to Oslo" is "going to Oslo".
            mates[word] = mates[word] or [each for each in words if each in TRAVEL_WORDS]
    matched = [word for word, others in mates.items() if others]
    if _lacks_topic(question, words, mates, matched):
        return _NO_FIT
    score = len(matched) / len(question.words)
    # "I work on Saturdays" tells less of a trade than "I'm a nurse".
    score += _TYPE_BONUS * ("work" in implied and asks_for_trade(question.text))
    if set(question.names) == set(question.words):
        # "Who is Raj?" is answered with what is said about him, not with what the user does with him.
        score += _TYPE_BONUS * any(_is_mate(question, word, noun) for word in matched for noun in subject_words(text))
    if question.asks_for_name or WHO_QUESTION.match(question.text):
        # "My kids are Ann and Ben" tells more of "my kids" than "My son is Ben", or "My kids are loud".
        score += _TYPE_BONUS * tells_name(text) + _WORD_BONUS * set(matched).issubset(words)
    types = detect_answer_types(text, index_tokens(text)) | PLACE * bool(_PLACE.search(text))
    types |= MOMENT * tells_clock_time(text)
    has_type = bool(question.answer_types & types)
    if question.answer_types and not (has_type or (score >= 1.0 and _may_tell(question, text, implied))):
        return _NO_FIT
    score += _TYPE_BONUS * (has_type and score > 0)
    score -= _WORD_BONUS * names_other_contact(question.words, words, implied)
    return _Fit(score and score + _wording_bonus(question, text, words, matched, score), tuple(matched))


def _implied_by(question: Question, text: str) -> set[str]:
    """Return the words of the question that a statement does without."""
    implied = set(implied_words(text, without_dates(text), by_name(text, text)))
    if _ANY_AGE_QUESTION.search(question.text):
        implied.add("age")
    if question.asks_dislike and tells_feeling(topic_words(text, detect_language(text)), "eat", "drink"):
        implied.update(("like", "hate"))
    if states_profession(text) and (names_workplace(text) or not question.answer_types & PLACE):
        implied.add("work")
    return implied


def _lacks_topic(
    question: Question, words: Sequence[str], mates: Mapping[str, Sequence[str]], matched: Sequence[str]
) -> bool:
    """Return whether the words that a statement shares with a question are not those that the question is about."""
    # "Do I hate my boss?" asks for a feeling.
    asks_feeling = YES_NO_QUESTION.match(question.text) and tells_feeling(question.words)
    if not set(question.required).issubset(matched) or (asks_feeling and not tells_feeling(words)):
        return True
    # A name alone does not answer: "Where does Tom work?" is about his work, too.
    if set(matched).issubset(question.names) and not set(question.words).issubset(question.names):
        return True
    # "My wife is called Priya" does not tell whether she works.
    further = [word for word in words if word not in NAME_WORDS and not any(word in mates[each] for each in matched)]
    is_mere_name = not NAME_WORDS.isdisjoint(words) and len(further) <= 1
    missed = set(question.words).difference(matched)
    if is_mere_name and not question.has_one_answer and names_any(missed, VERBS):
        return True
    return not VERBS.issuperset(question.words) and all(
        word in VERBS and VERBS.issuperset(mates[word]) for word in matched
    )


def _tells_count(text: str) -> bool:
    return not tells_age(text) and _QUANTITY.search(text) is not None


def _wording_bonus(question: Question, text: str, words: Sequence[str], matched: Sequence[str], score: float) -> float:
    """Return what the wording adds: "Am I vegetarian?" asks for this word, and "not any more" answers it, too.

    "Can I eat nuts?" is about nuts: who is vegetarian tells less of them than who is allergic to them.
    """
    if is_of_other_tense(question.text, text, is_moment=bool(question.answer_types & MOMENT)):
        return -_WORD_BONUS
    if YES_NO_QUESTION.match(question.text):
        things = set(question.words) - VERBS
        is_named = bool(things) and things.issubset(matched)
        return _WORD_BONUS * _has_inflections(words, matched) + _TYPE_BONUS * is_named
    is_over = score > MIN_SCORE and _PAST_MARK.search(text) and not asks_for_former(question.text)
    return -_PAST_PENALTY * bool(is_over)


def _has_inflections(words: Sequence[str], matched: Sequence[str]) -> bool:
    """Return whether a statement has the matched words themselves, perhaps inflected, and not others of their topic."""
    return all(any(is_inflection(word, other) for other in words) for word in matched)


def _may_tell(question: Question, text: str, implied: set[str]) -> bool:
    """Return whether a statement with all words of a question may tell where or when; any may tell how many."""
    if question.answer_types & PLACE:
        # A slot that the question asks for is filled with a name.
        return bool(implied or _HERE_OR_THERE.search(_LEFT_OF_DATE.sub("", without_dates(text))))
    return not question.answer_types & MOMENT or bool(_TIME.search(text) or without_dates(text) != text)


def _is_mate(question: Question, word: str, other: str) -> bool:
    return is_same_name(word, other) if word in question.names else is_same_word(word, other)


def _is_revised_by(older: Statement, newer: Statement) -> bool:
    """Return whether two statements have most of their words in common, so that the newer one replaces the older."""
    one, other = (topic_words(each.text, detect_language(each.text)) for each in (older, newer))
    return share_most(one, other)
