"""The tables of `rules/`: how each language states what is true of somebody, places, and words with one meaning."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, Literal, NamedTuple

from gaia_memory.language.function_words import FUNCTION_WORDS, Language
from gaia_memory.language.tokenizer import index_tokens

Kind = Literal["state", "change", "left"]
"""What a sentence says: what is so, that it has become so, or that it is over."""

_CODES: Mapping[str, Language] = {"english": "en", "german": "de", "french": "fr", "spanish": "es"}
_CAPITALIZED_WORD = r"(?-i:[A-ZÀ-ÖØ-Þ][\w-]*(?:'[A-Z][\w-]+)?)"
_NAME = rf"{_CAPITALIZED_WORD}(?: {_CAPITALIZED_WORD})?"
_ANY_TEXT = r"\S(?:.*?\S)?"
_GROUP = re.compile(r"\(\?P<\w+>|\\[A-Za-z]|\[[^\]]*[^\w\]][^\]]*\]")
_RUN = re.compile(r"(?:\(\?:\w+(?:\|\w+)*\)\??|\[\w+\]|\w\??)+")
_PART = re.compile(r"(?:\(\?:([\w|]+)\)|\[(\w+)\]|(\w))(\??)")
"""The parts of the pattern of a word: alternatives, one of some letters, or a letter; an optional one ends in `?`."""
_PLACEHOLDER = re.compile(r"<(\w+)(?::([^>]*))?>")


class SentencePattern(NamedTuple):
    """One way to fill a slot. The groups of its pattern are `who` (the speaker if absent), `value`, `old` and `key`."""

    slot: str
    kind: Kind
    pattern: re.Pattern[str]


class Denial(NamedTuple):
    """What says that something is not so, and the text without it; an `event` has ended it, a `plain` one may not."""

    pattern: re.Pattern[str]
    affirmed: str
    kind: Literal["event", "plain", ""]


@dataclass(frozen=True, slots=True, eq=False)
class LanguageRules:
    """The rules of one language."""

    language: str
    code: Language
    rewrites: tuple[tuple[re.Pattern[str], str], ...]
    denials: tuple[Denial, ...]
    unsure: re.Pattern[str]
    reason: re.Pattern[str]
    """A statement and why it holds, after a word that links the two or after a comma."""

    now: re.Pattern[str]
    fillers: re.Pattern[str]
    negations: re.Pattern[str]
    past: re.Pattern[str]
    articles: frozenset[str]
    selves: frozenset[str]
    """What the person is called as a subject or an owner."""

    subject: re.Pattern[str]
    related: re.Pattern[str]
    """Somebody with a name and what they are to the user: "my brother Max"."""

    own_verb: re.Pattern[str] | None
    """A beginning that tells of the speaker without a subject."""

    sentences: tuple[SentencePattern, ...]


@cache
def load_rules() -> tuple[LanguageRules, ...]:
    """Return the rules of every language."""
    return tuple(map(_load_language, _CODES))


@cache
def word_groups(name: str) -> tuple[frozenset[str], ...]:
    """Return a list of `lists.toml`, as the groups that `|` ends."""
    return tuple(frozenset(group.split()) for group in tomllib.loads(_read("lists.toml"))[name].split("|"))


@cache
def words(name: str) -> frozenset[str]:
    """Return all words of a list of `lists.toml`."""
    return frozenset[str]().union(*word_groups(name))


@cache
def place_names() -> Mapping[str, tuple[str, str]]:
    """Return the name and the kind ("city" or "country") of each known place, by each of its folded names."""
    return {
        fold(name): (fold(names[0]), kind)
        for kind, file in (("country", "countries.txt"), ("city", "places.txt"))
        for entry in _read(file).replace("\n", ",").split(",")
        if (names := entry.strip().split("/"))[0]
        for name in names
    }


@cache
def meanings() -> Mapping[str, str]:
    """Return the name of a word's meaning, for words that languages share or that have several forms."""
    by_word: dict[str, str] = {}
    for group in re.split(r"[|\n]", _read("words.txt")):
        for form in group.split():
            by_word.setdefault(form, group.split()[0])
    return by_word


@cache
def slot_words(slot: str) -> frozenset[str]:
    """Return the words with which any language states a slot, without those that any sentence may have."""
    patterns = [each.pattern.pattern for rules in load_rules() for each in rules.sentences if each.slot == slot]
    stated = {word for text in patterns for word in _words_of(text)}
    selves = {word for rules in load_rules() for name in rules.selves for word in name.split()}
    left_out = selves.union(*FUNCTION_WORDS.values())
    return frozenset(word for word in map(fold, stated) if len(word) > 1 and word not in left_out)


def _words_of(pattern: str) -> Iterator[str]:
    """Yield the words that a pattern matches: `study` and `studies` for `stud(?:y|ies)`."""
    for run in _RUN.findall(_GROUP.sub(" ", pattern)):
        parts = [
            [*(alternatives.split("|") if alternatives else letters or letter), *([""] if optional else [])]
            for alternatives, letters, letter, optional in _PART.findall(run)
        ]
        yield from map("".join, product(*parts))


def fold(text: str) -> str:
    """Return the words of a text without case, accents and punctuation."""
    return " ".join(index_tokens(text))


def _read(file: str) -> str:
    text = files("gaia_memory.truth").joinpath("rules", file).read_text(encoding="utf-8")
    return re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)


def _load_language(language: str) -> LanguageRules:
    table = tomllib.loads(_read(f"{language}.toml"))
    return LanguageRules(
        language=language,
        code=_CODES[language],
        rewrites=tuple((_compile(pattern), new) for pattern, new in table["rewrites"]),
        denials=tuple(Denial(_compile(pattern), new, next(iter(kind), "")) for pattern, new, *kind in table["denials"]),
        **{name: _any_of(table[name]) for name in ("unsure", "now", "fillers", "negations", "past")},
        reason=_compile(rf"(?P<said>.+?)(?:,? (?P<link>{table['reason']})(?= \S+ \S)|,(?= \S+ \S+ \S))(?P<why>.+)\Z"),
        articles=frozenset(index_tokens(table["articles"])),
        selves=frozenset(map(fold, (*table["user"], *table["owner"], *table.get("owned_by", ()), "me"))),
        subject=_compile(rf"{_group('who', table)} (?P<rest>\S.*)"),
        related=_compile(
            rf"(?:(?:{'|'.join(table['owner'])}) (?P<relation>[\w-]+) (?P<name>{_NAME})|(?P<named>{_NAME}), "
            rf"(?:der|die|das|le|la|el) (?P<as>[\w-]+) (?:{'|'.join(table.get('owned_by', ['(?!)']))}),)(?= \S)"
        ),
        own_verb=_compile(table["own_verb"]) if "own_verb" in table else None,
        sentences=tuple(
            SentencePattern(slot, kind, _compile(_PLACEHOLDER.sub(lambda found: _fill(found, table), text) + r"\Z"))
            for slot, kinds in table["slots"].items()
            for kind, texts in kinds.items()
            for text in texts
        ),
    )


def _any_of(alternatives: str) -> re.Pattern[str]:
    return _compile(rf"(?<![\w'-])(?:{alternatives.replace(chr(10), '')})(?![\w'-])")


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _fill(found: re.Match[str], table: Mapping[str, Any]) -> str:
    name, alternatives = found.groups()
    if name in ("whose", "by") or (name == "who" and not alternatives):
        return _group(name, table)
    return f"(?P<{name}>{alternatives or _ANY_TEXT})"


def _group(name: str, table: Mapping[str, Any]) -> str:
    """Return the pattern of a subject, or of an owner before or after the noun."""
    own = {"who": table["user"], "whose": table["owner"], "by": table.get("owned_by", [])}[name]
    start = table.get("owner_start", "von ") if name == "by" else ""
    end = table.get("owner_end", "(?!)") if name == "whose" else ""
    selves = "|".join(sorted(map(re.escape, own), key=len, reverse=True))
    return rf"(?P<who>{selves}|{start}{_NAME}{end})"
