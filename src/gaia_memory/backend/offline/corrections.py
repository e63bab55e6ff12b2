"""Corrections: "teal, no wait, green", "No, at 11" and "just kidding" after a statement."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from gaia_memory.backend.offline.grammar.rules import load_tables
from gaia_memory.language.answer_types import find_hour
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
_NUMBERS = _TABLES.words("numbers")
_NAMING = _TABLES.words("naming")
_NAMES = frozenset(("name", "nom", "nombre"))
_FIRST_SUBJECTS = _TABLES.words("first_subjects")
_ONE_DAY, _ONE_HOUR = timedelta(days=1), timedelta(hours=1)
_DATE_PREPOSITIONS = {"en": "on ", "de": "am ", "es": "el "}
_MARKS = ",;:()\"'"
CONTRAST = re.compile(
    r"\b(?:sondern|sino|but (?:in|at|a|an|the)|mais (?:à|en|un|une))\b|"
    r",\s(?:and )?(?:not|nicht|(?:et )?(?:non )?pas|(?:y )?no)\s(?P<wrong>(?:\w+\s){0,2}\w+)\W*\Z",
    re.IGNORECASE,
)
"""What a denial goes on with, or is added to: "…, but in Basel", "… is called Lucia, not Lucy"."""
_CLAUSE_END = re.compile(r",\s|\s(?:but|sondern|mais|sino)\s", re.IGNORECASE)


class Correction(NamedTuple):
    """What a sentence such as "Sorry, I meant two" corrects with."""

    value: str
    is_certain: bool
    """Whether nothing else can be meant: "No, two", not "Wait, two"."""

    about: str | None = None
    """What it is a value of, if it says so: "My wife's name"."""


class Amendment(NamedTuple):
    """A corrected statement, and how many words tell what the correction is about."""

    text: str
    likeness: int


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


def is_admission(sentence: str) -> bool:
    """Return whether a sentence begins with "I was wrong", which says nothing itself."""
    return _P["admission"].match(sentence) is not None


def is_value(text: str) -> bool:
    """Return whether a correction may be a mere value: "at 11", "my leg", "he's 8"; not "I live in Rome"."""
    is_statement = _P["new_start"].match(text) and not _P["owned_thing"].fullmatch(text)
    return not is_statement and len(text.split()) <= _MAX_VALUE_WORDS


def is_injection(text: str) -> bool:
    """Return whether a message tells a model to ignore its instructions."""
    return _P["injection"].search(text) is not None


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


def without_denial(statement: str) -> str:
    """Return a statement without the words that deny or end it, or take it up again."""
    words = _P["resumption"].sub(" ", _P["denial"].sub(" ", statement)).split()
    return " ".join(word for word in words if word.lower() not in _FILLERS)


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


class _Word:
    """A word of a statement or a value: a number, a name, another word with a meaning, or a function word."""

    def __init__(self, text: str) -> None:
        bare = text.strip(_MARKS)
        self.text, self.key = text, bare.casefold()
        tokens = set(index_tokens(bare))
        if self.key[:1].isdigit() or self.key in _NUMBERS:
            self.kind = "number"
        elif tokens <= _FUNCTION_WORDS or self.key in _NAMING:
            self.kind = "function"
        else:
            self.kind = "name" if bare[0].isupper() else "word"

    @property
    def has_meaning(self) -> bool:
        return self.kind in ("name", "word")

    def is_like(self, other: _Word) -> bool:
        """Return whether the word may take the place of another one."""
        is_same_kind = self.kind == other.kind != "function" or (self.has_meaning and other.has_meaning)
        return self.key == other.key or is_same_kind


def amend(statement: str, value: str) -> Amendment | None:
    """Return "My son is 8" for "My son is 7" and "he's 8"; None where it is not clear what the value replaces.

    It is clear if the value repeats a word ("at 11", "two rabbits"), if it is the only number or name to replace, or
    if it takes the place of the last word.
    """
    words = [_Word(word) for word in statement.rstrip(" .!").split()]
    if contrast := _P["contrast"].match(value):
        old, new = ([_Word(word) for word in contrast[name].strip(" .!").split()] for name in ("old", "new"))
        start = _find(words, old)
        return None if start is None else _replace(words, start, start + len(old), new, len(old))
    subject = _P["value_subject"].match(value)
    rest = value[subject.end() :] if subject else value
    new = [_Word(word) for word in rest.strip(" .!,").split()]
    if not new or not words:
        return None
    if subject and subject["person"]:
        new = [_Word("is"), *new] if subject["is"] else new
        # "He's called Tom" after "a brother called Max", but not "he's 8" after "I have two cats".
        return _replace_like(words, new) or _replace_like(words, new[1:], by_meaning=True)
    return (
        _replace_like(words, new)
        or _replace_phrase(words, new)
        or _replace_number(words, new)
        or _replace_end(words, new)
    )


def _find(words: Sequence[_Word], some: Sequence[_Word]) -> int | None:
    """Return where some words stand in a statement, if they stand there once."""
    keys = [word.key for word in some]
    found = [at for at in range(len(words)) if [word.key for word in words[at : at + len(some)]] == keys]
    return found[0] if len(found) == 1 else None


def _replace(words: Sequence[_Word], start: int, end: int, new: Sequence[_Word], likeness: int = 0) -> Amendment:
    mark = "," if words[end - 1].text.endswith(",") else ""
    texts = [word.text for word in (*words[:start], *new)]
    return Amendment(" ".join([*texts[:-1], texts[-1] + mark, *(word.text for word in words[end:])]), likeness)


def _goes_on(words: Sequence[_Word], end: int) -> bool:
    return end < len(words) and words[end].has_meaning and not words[end - 1].text.endswith(",")


def _replace_like(words: Sequence[_Word], new: Sequence[_Word], *, by_meaning: bool = False) -> Amendment | None:
    """Replace the words that are the same as those of the value, or of their kinds: "at 10" with "at 11"."""
    found: list[tuple[int, int, int]] = []
    for start in range(len(words) - len(new) + 1) if new else ():
        end = start + len(new)
        pairs = list(zip(words[start:end], new, strict=True))
        same = [one for one, other in pairs if one.key == other.key]
        is_anchored = any(word.has_meaning or word.key in _NAMING or not by_meaning for word in same) and len(
            same
        ) < len(new)
        ends_well = pairs[-1][0].kind == "number" or pairs[-1][0] in same or not _goes_on(words, end)
        if is_anchored and ends_well and all(other.is_like(one) for one, other in pairs):
            found.append((len(same), sum(one.kind == other.kind for one, other in pairs), start))
    found.sort(reverse=True)
    if not found or (len(found) > 1 and found[0][:2] == found[1][:2]):
        return None
    return _replace(words, found[0][2], found[0][2] + len(new), new, found[0][0])


def _replace_phrase(words: Sequence[_Word], new: Sequence[_Word]) -> Amendment | None:
    """Replace "in New York" with "in Rome"."""
    lead = next((at for at, word in enumerate(new) if word.kind != "function"), 0)
    start = _find(words, new[:lead]) if lead and all(word.has_meaning for word in new[lead:]) else None
    if start is None or not _goes_on(words, start + lead):
        return None
    end = start + lead
    while _goes_on(words, end):
        end += 1
    return _replace(words, start, end, new, lead) if words[end - 1].kind == new[-1].kind else None


def _replace_number(words: Sequence[_Word], new: Sequence[_Word]) -> Amendment | None:
    """Replace the only number, with the words after it that the value has, too: "three white rabbits" with "two"."""
    numbers = [at for at, word in enumerate(words) if word.kind == "number"]
    if new[0].kind != "number" or len(numbers) != 1:
        return None
    [start] = numbers
    after = start + 1
    while _goes_on(words, after):
        after += 1
    phrase, unit = words[start + 1 : after], new[1:]
    if not unit or not phrase:
        return _replace(words, start, start + 1, new)
    is_whole = len(unit) == len(phrase) or unit[-1].key == phrase[-1].key
    return _replace(words, start, after, new) if is_whole else None


def _replace_end(words: Sequence[_Word], new: Sequence[_Word]) -> Amendment | None:
    """Replace the last word, or as many of the last as the value has; a name replaces the only name."""
    if not all(word.has_meaning for word in new):
        return None
    are_names = all(word.kind == "name" for word in new)
    first = 2 if words[0].key in _FIRST_SUBJECTS else 1
    start = len(words)
    while start > first and words[start - 1].has_meaning and (not are_names or words[start - 1].kind == "name"):
        start -= 1
    if start < len(words):
        return _replace(words, start, len(words), new) if len(words) - start in (1, len(new)) else None
    names = [at for at in range(first, len(words)) if are_names and words[at].kind == "name"]
    if len(names) == 1:
        return _replace(words, names[0], names[0] + 1, new)
    # "i live in rome" and "Milan".
    is_last = len(words) > first and words[-1].has_meaning and not words[-2].has_meaning and not names
    return _replace(words, len(words) - 1, len(words), new) if is_last else None
