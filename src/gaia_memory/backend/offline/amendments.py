"""Puts a corrected value into a statement: "My son is 8" of "My son is 7" and "he's 8"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gaia_memory.backend.offline.grammar.rules import load_tables
from gaia_memory.language.function_words import FUNCTION_WORDS
from gaia_memory.language.tokenizer import index_tokens

_TABLES = load_tables("messages")
_P = _TABLES.patterns
_NUMBERS = _TABLES.words("numbers")
_NAMING = _TABLES.words("naming")
_FIRST_SUBJECTS = _TABLES.words("first_subjects")
_FUNCTION_WORDS = frozenset[str]().union(*FUNCTION_WORDS.values())
_MARKS = ",;:()\"'"


class Amendment(NamedTuple):
    """A corrected statement, and how many words tell what the correction is about."""

    text: str
    likeness: int


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
        values = (contrast["old"], contrast["new"] or contrast["new_word"])
        old, new = ([_Word(word) for word in value.strip(" .!").split()] for value in values)
        start = _find(words, old)
        if start is None:
            return None
        end = start + len(old)
        # "It's 10 mg, not 20" and "it's at 11, not 10" repeat what stands behind or before the old value.
        return _replace(
            words, start - _shared(new, words[:start]), end + _shared(words[end:], new), new, likeness=len(old)
        )
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


def _shared(beginning: Sequence[_Word], end: Sequence[_Word]) -> int:
    """Return how many words at the beginning of some words are those at the end of others."""
    one, other = ([word.key for word in words] for words in (beginning, end))
    return max((count for count in range(len(other) + 1) if one[:count] == other[len(other) - count :]), default=0)


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
