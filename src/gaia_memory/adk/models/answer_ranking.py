"""Finds the statements of a person that answer a question, by their words and by the kind of answer asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from gaia_memory.adk.models.offline_phrases import detect_language
from gaia_memory.adk.models.statement_subjects import (
    has_other_owner,
    has_other_subject,
    is_about_person,
    without_clauses_about_others,
)
from gaia_memory.adk.models.topic_words import is_same_name, is_same_word
from gaia_memory.language.answer_types import MOMENT, NUMBER, PLACE, detect_answer_types
from gaia_memory.language.function_words import FUNCTION_WORDS, Language
from gaia_memory.language.tokenizer import index_tokens

MIN_SCORE = 0.5
"""The least share of the question's words that an answer contains."""

_TYPE_BONUS, _PAST_PENALTY, _SAME_CONTENT_SHARE = 0.3, 0.4, 0.5
_MAX_ANSWERS = 2

_PLACE_QUESTION = re.compile(
    r"\b(?:where|which (?:city|town|country)|wo|woher|wohin|où|d'où|dónde|donde|adónde)\b", re.IGNORECASE
)
_PLACE = re.compile(r"\b(?:nach|aus|bei|à|en|a) [A-ZÀ-Þ]")
_MOMENT_QUESTION = re.compile(r"\b(?:when|what (?:day|time|date)|wann|quand|cuándo|cuando)\b", re.IGNORECASE)
_NUMBER_QUESTION = re.compile(
    r"\b(?:how (?:many|much|old|tall|long)|wie (?:viele?|alt|gro(?:ß|ss)|lange)|combien|quel âge|cuánt[oa]s?)\b",
    re.IGNORECASE,
)
_SINGLE_ANSWER_QUESTION = re.compile(
    r"\b(?:who|what(?:'s| is) my|which|wer|wie hei(?:ß|ss)|mein name|qui|comment|quel(?:le)? est|quién|cómo|cuál|"
    r"favou?rite|liebling\w*|préféré\w*|favorit[oa])\b",
    re.IGNORECASE,
)
_POSSESSED_NOUN = re.compile(
    r"\b(?:my|our|mein(?:e[nmrs]?)?|unser(?:e[nmrs]?)?|mon|ma|mes|notre|nos|mis?|User's|their)\s+(?P<noun>[^\W\d_]+)",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=\w )(?P<name>[A-ZÀ-Þ][^\W\d_]+)")
_GERMAN_NAME = re.compile(
    r"\b(?!(?i:ich|du|wir|er|sie|es|man|der|die|das|dem|den|des|[mdsk]?eine?[nmrs]?|unsere?[nmrs]?|ihre?[nmrs]?|"
    r"welche?[nmrs]?|viele?|zu[mr]|i[mn]|am|bei[m]?|mir|dir|uns|wie|und|oder)\b)"
    r"(?:[a-zäöüß]+|(?:Ist|Hat|Mag|Kann|War|Wird|Will|Soll|Muss|Darf|[A-ZÄÖÜ][a-zäöüß]+t)|"
    r"(?i:mein|unser)e?[nmrs]? [A-ZÄÖÜ]\w+)\s(?P<name>[A-ZÄÖÜ][^\W\d_]+)"
)
"""German nouns have capitals, too: a name follows a verb or "my sister", without an article."""

_PAST_MARK = re.compile(
    r"\b(?:used to|no longer|not any ?more|any ?more|formerly|früher|nicht mehr|avant|autrefois|plus à|ya no|antes)\b",
    re.IGNORECASE,
)
_OWN_NAME = re.compile(
    r"(?:^|[,.!] ?|\b)(?:(?:I am|[Ii]'?m|User is|[Ii]ch bin|[Jj]e suis|[Ss]oy)\s+"
    r"(?!(?:German|French|Spanish|English|American|British|Italian|Irish|Dutch|Swedish|Polish|Portuguese|Turkish|Indian|"
    r"Chinese|Japanese|Jewish|Catholic|Muslim)\b)(?=[A-ZÄÖÜ][a-zäöüéè]+)|"
    r"(?i:call me|ich heiße|je m'appelle|me llamo|User is called|User wants to be called|my name(?: is|'s)|"
    r"User's name is|l'utilisat(?:eur|rice) s'appelle|(?:be)?nutzer(?:in)? hei(?:ß|ss)t|usuari[oa] se llama)\b|\AName:)"
)
_ASIDE_FROM_YEARS = r"(?!\s*(?:%|am\b|pm\b|km\b|cm\b|m\b|kg\b|min\w*\b|hours?\b|days?\b|weeks?\b|months?\b))\b"
_OWN_AGE = re.compile(
    r"\b(?:I'?m|I am|(?:I|User)(?: just| have| has)? turn(?:ed|s)|User is|(?:my|User's) age is|ich bin|j'ai|tengo)"
    rf"\s+(?:an? )?\d{{1,3}}{_ASIDE_FROM_YEARS}|\AAge: ",
    re.IGNORECASE,
)
_AGE = re.compile(
    rf"\b(?:is|turned|turns|ist|a|tiene)\s+(?:an? )?\d{{1,3}}{_ASIDE_FROM_YEARS}|"
    r"\b\d{1,3}[ -](?:years?[ -]old|Jahre|ans|años)\b",
    re.IGNORECASE,
)
_NAME_QUESTION = re.compile(
    r"what(?:'?s| is) my name|who am i\W*$|wie heiße ich|wer bin ich|mein name|"
    r"comment (?:est-ce que )?(?:je )?m'appelle|mon (?:nom|prénom)|quién soy|cómo me llamo|mi nombre",
    re.IGNORECASE,
)
_AGE_QUESTION = re.compile(
    r"how old am i|my age|wie alt bin ich|quel âge (?:ai|j'ai)|cuántos años tengo|mi edad", re.IGNORECASE
)
_ANY_AGE_QUESTION = re.compile(r"\b(?:how old|wie alt|quel âge|cuántos años)\b", re.IGNORECASE)
_COMPANY_QUESTION = re.compile(r"\b(?:with (?:me|us)|mit (?:mir|uns)|avec (?:moi|nous)|conmigo)\b", re.IGNORECASE)
_COMPANY = re.compile(r"\b(?:with|mit|avec|con)\b", re.IGNORECASE)
_VERBS = frozenset(
    (
        *("like", "love", "enjoy", "prefer", "hate", "dislike", "eat", "drink", "live", "work", "speak", "play"),
        *("likes", "loves", "enjoys", "prefers", "hates", "eats", "drinks", "lives", "works", "speaks", "plays"),
        *("drive", "drives", "study", "studies", "go", "goes", "visit", "want", "wants", "need", "needs", "own", "use"),
        *("mag", "liebe", "hasse", "esse", "trinke", "wohne", "arbeite", "spreche", "spiele", "fahre", "studiere"),
        *("aime", "adore", "deteste", "mange", "bois", "habite", "travaille", "parle", "joue", "etudie"),
        *("gusta", "gustan", "encanta", "odio", "como", "bebo", "vivo", "trabajo", "hablo", "estudio"),
    )
)
"""Verbs that answer nothing alone where the question has another word: "Do I like tea?" is about tea."""

_OWN_ORIGIN_QUESTION = re.compile(r"\bwhere (?:am i|do i come|are we|do we come) from\b", re.IGNORECASE)
_ORIGIN = re.compile(r"\b(?:from|(?:born|grew up|raised) in) [A-ZÀ-Þ]")
_LIVELIHOOD = re.compile(r"\bdo for (?:a living|work)\b", re.IGNORECASE)
_NAME_WORDS = frozenset(
    (
        "name",
        "names",
        "named",
        "called",
        "call",
        "heisst",
        "heissen",
        "heisse",
        "appelle",
        "llama",
        "llaman",
        "nom",
        "nombre",
    )
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of the person, or a fact about them or others (`is_fact`); a higher `order` is newer."""

    text: str
    order: int
    is_fact: bool = False


@dataclass(frozen=True, slots=True)
class _Question:
    text: str
    words: tuple[str, ...]
    required: tuple[str, ...]
    names: tuple[str, ...]
    answer_types: int
    has_one_answer: bool
    is_about_name: bool = field(default=False)
    is_about_age: bool = field(default=False)


@dataclass(frozen=True, slots=True)
class _Fit:
    score: float
    words: tuple[str, ...] = ()


_NO_FIT = _Fit(0.0)


def rank_answers(question_text: str, statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements that answer a question, best first: at most two, and none where nothing fits.

    The second fits as well as the first, by the same words. Of two that fit equally well the newer one comes first, and
    one that a newer one repeats or revises is left out.
    """
    question = _parse_question(question_text)
    fits = [(_fit(question, statement.text), statement) for statement in statements]
    fitting = sorted(
        ((fit, statement) for fit, statement in fits if fit.score >= MIN_SCORE),
        key=lambda found: (-found[0].score, -found[1].order),
    )
    answers: list[Statement] = []
    for fit, statement in fitting:
        if fit != fitting[0][0] or len(answers) == _MAX_ANSWERS:
            continue
        if not any(_is_revised_by(statement, newer) for newer in answers):
            answers.append(statement)
    return answers[:1] if question.has_one_answer else answers


def topic_words(text: str, language: Language) -> tuple[str, ...]:
    """Return the distinct words of a text without the function words of its language."""
    words = dict.fromkeys(index_tokens(text))
    return tuple(word for word in words if word not in FUNCTION_WORDS[language] and word != "user")


def _parse_question(text: str) -> _Question:
    text = _LIVELIHOOD.sub("work", text)
    language = detect_language(text)
    words = topic_words(text, language)
    without_name = tuple(word for word in words if word not in _NAME_WORDS)
    required = {token for noun in _POSSESSED_NOUN.findall(text) for token in index_tokens(noun)}
    named = (_GERMAN_NAME if language == "de" else _NAME).finditer(text)
    names = {token for found in named for token in index_tokens(found["name"])}
    answer_types = (
        PLACE * bool(_PLACE_QUESTION.search(text))
        | MOMENT * bool(_MOMENT_QUESTION.search(text))
        | NUMBER * bool(_NUMBER_QUESTION.search(text))
    )
    return _Question(
        text=text,
        words=without_name or words,
        required=tuple((required | names).intersection(without_name)),
        names=tuple(names.intersection(without_name)),
        answer_types=answer_types,
        has_one_answer=bool(answer_types or _SINGLE_ANSWER_QUESTION.search(text)),
        is_about_name=bool(_NAME_QUESTION.search(text)),
        is_about_age=bool(_AGE_QUESTION.search(text)),
    )


def _fit(question: _Question, text: str) -> _Fit:
    """Return the share of the question's words in a statement, with a bonus for the kind of answer asked for."""
    if has_other_subject(question.text, question.words, text) or has_other_owner(question.required, text):
        return _NO_FIT
    if question.is_about_name:
        return _Fit(float(bool(_OWN_NAME.search(text))))
    if question.is_about_age:
        return _Fit(1.0 + _TYPE_BONUS) if _OWN_AGE.search(text) else _NO_FIT
    if _OWN_ORIGIN_QUESTION.search(question.text):
        return _Fit(float(bool(_ORIGIN.search(text))))
    lacks_company = _COMPANY_QUESTION.search(question.text) and not _COMPANY.search(text)
    lacks_age = _ANY_AGE_QUESTION.search(question.text) and not _AGE.search(text)
    if lacks_company or lacks_age:
        return _NO_FIT
    return _fit_by_words(question, without_clauses_about_others(text) if is_about_person(question.text) else text)


def _fit_by_words(question: _Question, text: str) -> _Fit:
    words = topic_words(text, detect_language(text))
    if not question.words or not words:
        return _NO_FIT
    mates = {word: [other for other in words if _is_mate(question, word, other)] for word in question.words}
    if _ANY_AGE_QUESTION.search(question.text):
        mates.update((word, [word]) for word in question.words if is_same_word(word, "age"))
    matched = [word for word, others in mates.items() if others]
    if not set(question.required).issubset(matched):
        return _NO_FIT
    # A name alone does not answer: "Where does Tom work?" is about his work, too.
    if set(matched).issubset(question.names) and not set(question.words).issubset(question.names):
        return _NO_FIT
    if not _VERBS.issuperset(question.words) and all(
        word in _VERBS and _VERBS.issuperset(mates[word]) for word in matched
    ):
        return _NO_FIT
    score = len(matched) / len(question.words)
    types = detect_answer_types(text, index_tokens(text)) | PLACE * bool(_PLACE.search(text))
    has_type = bool(question.answer_types & types)
    if score < 1.0 and question.answer_types and not has_type:
        return _NO_FIT
    if score:
        score += _TYPE_BONUS * has_type
    is_past = score > MIN_SCORE and _PAST_MARK.search(text)
    return _Fit(score - _PAST_PENALTY if is_past else score, tuple(matched))


def _is_mate(question: _Question, word: str, other: str) -> bool:
    return is_same_name(word, other) if word in question.names else is_same_word(word, other)


def _is_revised_by(older: Statement, newer: Statement) -> bool:
    """Return whether two statements have most of their words in common, so that the newer one replaces the older."""
    one, other = (topic_words(each.text, detect_language(each.text)) for each in (older, newer))
    shared = sum(any(is_same_word(word, mate) for mate in other) for word in one)
    return shared > _SAME_CONTENT_SHARE * min(len(one), len(other))
