"""The words of a text that tell what it is about, and how much of them two texts share."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache, lru_cache
from importlib.resources import files

from gaia_memory.language.dates.calendar_words import ALL_WEEKDAYS, DAY_PARTS, MONTHS, NAMED_DAYS, NUMBERS, UNITS
from gaia_memory.language.homoglyphs import fold_homoglyphs
from gaia_memory.language.stems import stem, truncated_stem
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.language.word_variants import word_variants

_ROLES = (
    "user users assistant assistants agent model ai bot system human speaker nutzer nutzerin benutzer "
    "benutzerin assistent assistentin utilisateur utilisatrice usuario usuaria asistente utente utilizador "
    "gebruiker \u043f\u043e\u043b\u044c\u0437\u043e\u0432\u0430\u0442\u0435\u043b\u044c "
    "\u0627\u0644\u0645\u0633\u062a\u062e\u062f\u0645 \u0645\u0633\u062a\u062e\u062f\u0645 "
    "\u05d4\u05de\u05e9\u05ea\u05de\u05e9 \u05de\u05e9\u05ea\u05de\u05e9"
)
"""What models call the two sides of a conversation."""

_UNSPACED_ROLE = re.compile(
    "\u30e6\u30fc\u30b6\u30fc|\u30a2\u30b7\u30b9\u30bf\u30f3\u30c8"  # Japanese
    "|\u7528\u6237|\u7528\u6236|\u4f7f\u7528\u8005|\u52a9\u624b"  # Chinese
    "|\uc0ac\uc6a9\uc790"  # Korean
)


def _load_word_list(name: str) -> frozenset[str]:
    """Return the words, folded as those of forgotten facts are."""
    lines = files("gaia_memory.language").joinpath(name).read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in index_tokens(fold_homoglyphs(line)))


COMMON_WORDS = _load_word_list("common_words.txt")
"""Words that say nothing of what a text is about, in several languages."""

_NUMBER_WORDS = frozenset(
    index_tokens("a an deux dos ein eine einem einen einer once one onze tres two un una une uno zwei")
)
_GENERIC_WORDS = _load_word_list("generic_words.txt")
_CALENDAR_WORDS = frozenset((*MONTHS, *ALL_WEEKDAYS, *UNITS, *NUMBERS, *DAY_PARTS, *NAMED_DAYS)) - {"may"}
_WORDS_OF_EVERY_TEXT = COMMON_WORDS | _CALENDAR_WORDS
_YEAR = re.compile("(?:19|20)[0-9]{2}")
_MIN_WORD_CHARACTERS = 3
_MIN_COMPOUND_CHARACTERS = 8
_MIN_PART_CHARACTERS = 4
_MIN_SHARED_CHARACTERS = 5
_UNSPACED_CHARACTER = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_HIRAGANA_PAIR = re.compile("[\u3040-\u309f]{2}")
"""Two characters that are particles or endings of Japanese words."""


@cache
def role_stems() -> frozenset[str]:
    """Return what models call the two sides of a conversation, as stems."""
    return frozenset(map(stem, index_tokens(_ROLES)))


@cache
def _left_out_stems() -> frozenset[str]:
    return role_stems().union(map(stem, _WORDS_OF_EVERY_TEXT))


def distinctive_words(text: str, *, left_out: Collection[str] = ()) -> frozenset[str]:
    """Return the words of a text without roles, function words, numbers, dates and those `left_out`.

    Where a script has no spaces, the words are pairs of characters.
    """
    tokens = index_tokens(_UNSPACED_ROLE.sub(" ", text))
    return frozenset(token for token in tokens if _is_distinctive(token) and token not in left_out)


def distinctive_stems(text: str) -> set[str]:
    """Return the stems of the words and numbers that identify a fact; hashes of them are stored with forgotten facts.

    What kind of thing a fact is about counts only where no other word tells it.
    """
    words = {word for word in index_tokens(fold_homoglyphs(text)) if word not in COMMON_WORDS and len(word) > 1}
    distinctive = {word for word in words - _GENERIC_WORDS if not _YEAR.fullmatch(word)}
    return {truncated_stem(word) for word in distinctive or words}


def is_common_word(word: str) -> bool:
    """Return whether a word says nothing of what a text is about, in one of several languages; no number does."""
    return not (COMMON_WORDS - _NUMBER_WORDS).isdisjoint(index_tokens(word))


def is_role(text: str) -> bool:
    """Return True for the name of a role and nothing else, such as "The user", and for a text without words."""
    words = index_tokens(_UNSPACED_ROLE.sub(" ", text))
    return not any(map(str.isalnum, text)) or all(word == "the" or stem(word) in role_stems() for word in words)


def _is_distinctive(token: str) -> bool:
    if _UNSPACED_CHARACTER.match(token):
        return len(token) > 1 and not _HIRAGANA_PAIR.fullmatch(token)
    return (
        len(token) >= _MIN_WORD_CHARACTERS
        and not token[0].isdigit()
        and token not in _WORDS_OF_EVERY_TEXT
        and stem(token) not in _left_out_stems()
    )


def word_forms(text: str) -> frozenset[str]:
    """Return every word of a text, its stem and its beginning."""
    return frozenset(form for token in set(index_tokens(text)) for form in (token, stem(token), truncated_stem(token)))


def count_shared(words: Iterable[str], forms: Collection[str]) -> int:
    """Return how many of `words` stand among the `word_forms` of a text, in this or another form."""
    return sum(not _forms_of(word).isdisjoint(forms) for word in words)


def mentions(user_text: str, text: str) -> bool:
    """Return whether `user_text` shares a distinctive word with `text`; any word if `text` has no such word."""
    stems = distinctive_stems(text)
    if stems:
        return not stems.isdisjoint(distinctive_stems(user_text))
    words = set(index_tokens(text))
    return not words.isdisjoint(index_tokens(user_text)) if words else text.strip() in user_text


def shares_distinctive_word(text: str, statement: str) -> bool:
    """Return whether a text has a distinctive word of a statement; common words such as "likes" and "old" are none.

    An ending of two characters may differ. Neither a common beginning nor a part of a compound is enough: with it,
    "internet" would be a word of "international".
    """
    words = distinctive_words(statement)
    tokens = set(index_tokens(fold_homoglyphs(text)))
    forms = tokens.union(map(stem, tokens))
    for word in words:
        own_forms = {form for each in (word, *word_variants(word)) for form in (each, stem(each))}
        if not own_forms.isdisjoint(forms) or any(_differ_in_ending(word, token) for token in tokens):
            return True
    return False


def _differ_in_ending(word: str, other: str) -> bool:
    shorter, longer = sorted((word, other), key=len)
    return longer.startswith(shorter) and len(shorter) >= _MIN_SHARED_CHARACTERS and len(longer) - len(shorter) <= 2


@lru_cache(maxsize=10_000)
def _forms_of(word: str) -> frozenset[str]:
    """Return the forms in which another text may have a word, among them the parts that it may be composed of."""
    forms = {form for each in (word, *word_variants(word)) for form in (each, stem(each), truncated_stem(each))}
    if len(word) >= _MIN_COMPOUND_CHARACTERS:
        for split in range(_MIN_PART_CHARACTERS, len(word) - _MIN_PART_CHARACTERS + 1):
            forms |= {word[:split], word[split:]}
    return frozenset(forms)
