"""Tells English, German, French and Spanish sentences from each other and from all others."""

from __future__ import annotations

import re

from gaia_memory.backend.offline.grammar import english_verbs, german, spanish
from gaia_memory.backend.offline.grammar.rules import load_tables

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_TABLES = load_tables("identify")
_MOST_LIKELY_FIRST = ("en", "de", "fr", "es", "other")
_WORDS = {language: _TABLES.words(language) for language in _MOST_LIKELY_FIRST}
_WORDS["en"] |= english_verbs.VERBS
_WORDS["de"] |= german.FIRST_PERSON | german.THIRD_PERSON
_WORDS["es"] |= spanish.FIRST_PERSON | spanish.THIRD_PERSON
_LANGUAGES_OF_WORD = {
    word: frozenset(language for language in _MOST_LIKELY_FIRST if word in _WORDS[language])
    for word in frozenset[str]().union(*_WORDS.values())
}
_ACCENTS = (
    ("es", re.compile(r"^\w{3,}é\b")),
    ("de", re.compile("[äöüß]")),
    ("es", re.compile(r"[ñ¿¡íóú]|\b(?:me|nos|se|ya|no) \w+é\b")),
    (
        "es",
        re.compile(r"[ñ¿¡íóúá]|\w[aei]mos\b|\b(?:he|ha|has|hemos|han) \w+[ai]do\b|^\w{3,}é\b|\b(?:me|nos|se) \w+é\b"),
    ),
    ("fr", re.compile("[éèêàçœûî]")),
)
_OTHER_SCRIPT = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")


def language_of(text: str, default: str | None = "en") -> str | None:
    """Return the language code of a text in `en`, `de`, `fr` or `es`, judged by frequent words and accents.

    None stands for any other language. Without evidence for one language, the text has the language `default`.
    """
    if _OTHER_SCRIPT.search(text):
        return None
    lowered = text.lower()
    scores = dict.fromkeys(_MOST_LIKELY_FIRST, 0.0)
    for word in _WORD.findall(lowered):
        for language in _languages_of(word):
            scores[language] += 1 / len(_languages_of(word))
    for language, accent in _ACCENTS:
        scores[language] += 0.5 * bool(accent.search(lowered))
    best = max(scores.values())
    winners = [language for language, score in scores.items() if score == best]
    chosen = winners[0] if best and (default or "other") not in winners else default
    return None if chosen == "other" else chosen


def _languages_of(word: str) -> frozenset[str]:
    if word in _LANGUAGES_OF_WORD:
        return _LANGUAGES_OF_WORD[word]
    # French elides: "j'adore", "l'hôpital".
    return frozenset({"fr"}) if word[1:2] == "'" and word[0] in "jldcnms" else frozenset()
