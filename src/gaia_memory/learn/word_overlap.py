"""The words of a text that tell what it is about, and how much of them two texts share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from functools import lru_cache

from gaia_memory.language.answer_types import NUMBER_WORDS, TIME_WORDS
from gaia_memory.language.dates.phrases.english_dates import ENGLISH
from gaia_memory.language.dates.phrases.french_dates import FRENCH
from gaia_memory.language.dates.phrases.german_dates import GERMAN
from gaia_memory.language.dates.phrases.spanish_dates import SPANISH
from gaia_memory.language.function_words import FUNCTION_WORDS, detect_language
from gaia_memory.language.stems import stem, truncated_stem
from gaia_memory.language.stop_words import STOP_WORDS
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.language.word_variants import word_variants

ROLE_WORDS = frozenset(
    map(
        stem,
        index_tokens(
            "user users assistant assistants agent model ai bot system human speaker nutzer nutzerin benutzer "
            "benutzerin assistent assistentin utilisateur utilisatrice usuario usuaria asistente utente utilizador "
            "gebruiker \u043f\u043e\u043b\u044c\u0437\u043e\u0432\u0430\u0442\u0435\u043b\u044c "
            "\u0627\u0644\u0645\u0633\u062a\u062e\u062f\u0645 \u0645\u0633\u062a\u062e\u062f\u0645 "
            "\u05d4\u05de\u05e9\u05ea\u05de\u05e9 \u05de\u05e9\u05ea\u05de\u05e9"
        ),
    )
)
"""What models call the two sides of a conversation, as stems."""

_UNSPACED_ROLE = re.compile(
    "\u30e6\u30fc\u30b6\u30fc|\u30a2\u30b7\u30b9\u30bf\u30f3\u30c8"  # Japanese
    "|\u7528\u6237|\u7528\u6236|\u4f7f\u7528\u8005|\u52a9\u624b"  # Chinese
    "|\uc0ac\uc6a9\uc790"  # Korean
)
_COMMON_WORDS = frozenset[str]().union(
    index_tokens(" ".join(STOP_WORDS)),
    TIME_WORDS,
    NUMBER_WORDS,
    *FUNCTION_WORDS.values(),
    *({*each.months, *each.weekdays, *each.units, *each.numbers} for each in (ENGLISH, FRENCH, GERMAN, SPANISH)),
)
_LEFT_OUT_STEMS = ROLE_WORDS.union(map(stem, _COMMON_WORDS))
_MIN_WORD_CHARACTERS = 3
_MIN_COMPOUND_CHARACTERS = 8
_MIN_PART_CHARACTERS = 4
_UNSPACED_CHARACTER = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_HIRAGANA_PAIR = re.compile("[\u3040-\u309f]{2}")
"""Two characters that are particles or endings of Japanese words."""

_SCRIPTS = {
    "Cyrillic": re.compile("[\u0400-\u052f]"),
    "Greek": re.compile("[\u0370-\u03ff]"),
    "Hebrew": re.compile("[\u0590-\u05ff]"),
    "Arabic": re.compile("[\u0600-\u06ff]"),
    "Indic": re.compile("[\u0900-\u0dff]"),
    "Thai": re.compile("[\u0e00-\u0e7f]"),
    "Hangul": re.compile("[\u1100-\u11ff\uac00-\ud7af]"),
    "Han": re.compile("[\u3040-\u30ff\u3400-\u9fff]"),
    "Latin": re.compile("[^\\W\\d_\u0370-\uffff]"),
}
_HIRAGANA = re.compile("[\u3040-\u309f]")


def distinctive_words(text: str, *, left_out: Collection[str] = ()) -> frozenset[str]:
    """Return the words of a text without roles, function words, numbers, dates and those `left_out`.

    Where a script has no spaces, these are pairs of characters.
    """
    tokens = index_tokens(_UNSPACED_ROLE.sub(" ", text))
    return frozenset(token for token in tokens if _is_distinctive(token) and token not in left_out)


def is_role(text: str) -> bool:
    """Return True for the name of a role and nothing else, such as "The user", and for a text without words."""
    words = index_tokens(_UNSPACED_ROLE.sub(" ", text))
    return not any(map(str.isalnum, text)) or all(word == "the" or stem(word) in ROLE_WORDS for word in words)


def _is_distinctive(token: str) -> bool:
    if _UNSPACED_CHARACTER.match(token):
        return len(token) > 1 and not _HIRAGANA_PAIR.fullmatch(token)
    return (
        len(token) >= _MIN_WORD_CHARACTERS
        and not token[0].isdigit()
        and token not in _COMMON_WORDS
        and stem(token) not in _LEFT_OUT_STEMS
    )


def word_forms(text: str) -> frozenset[str]:
    """Return every word of a text, its stem and its beginning."""
    return frozenset(form for token in set(index_tokens(text)) for form in (token, stem(token), truncated_stem(token)))


def count_shared(words: Iterable[str], forms: Collection[str]) -> int:
    """Return how many of `words` stand among the `word_forms` of a text, in this or another form."""
    return sum(not _forms_of(word).isdisjoint(forms) for word in words)


@lru_cache(maxsize=10_000)
def _forms_of(word: str) -> frozenset[str]:
    """Return the forms in which another text may have a word, among them the parts that it may be composed of."""
    forms = {form for each in (word, *word_variants(word)) for form in (each, stem(each), truncated_stem(each))}
    if len(word) >= _MIN_COMPOUND_CHARACTERS:
        for split in range(_MIN_PART_CHARACTERS, len(word) - _MIN_PART_CHARACTERS + 1):
            forms |= {word[:split], word[split:]}
    return frozenset(forms)


def language_of(text: str, default: str = "en") -> str:
    """Return the language of a text: of four languages in Latin script its code, else the name of its script.

    `default` is the language of a text in Latin script whose words and letters do not tell.
    """
    counts = Counter({name: len(letters.findall(text)) for name, letters in _SCRIPTS.items()})
    script, _ = counts.most_common(1)[0]
    if script == "Latin" or not counts.total():
        return detect_language(text, next((each for each in FUNCTION_WORDS if each == default), "en"))
    return "Japanese" if script == "Han" and _HIRAGANA.search(text) else script
