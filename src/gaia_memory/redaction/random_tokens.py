"""Recognizes keys without a known prefix: long tokens that look random, and the words of a wallet."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files

from gaia_memory.language.stop_words import STOP_WORDS

_TOKEN = re.compile(r"[A-Za-z0-9_+=-]{24,}")
_HEX = re.compile(r"[0-9a-fA-F-]+")
_ETHEREUM_KEY = re.compile(r"\b0x[0-9a-fA-F]{64}(?![0-9a-fA-F])")
_AWS_SECRET = re.compile(r"(?<![\w/+.:-])(?=[A-Za-z0-9]*[/+])[A-Za-z0-9/+]{40}(?![\w/+=-])")
_CAMEL_CASE = re.compile(r"(?:[A-Z][a-z]{3,}){2}")
_CASE_CHANGE = re.compile(r"[a-z](?=[A-Z])")
DIGIT_CHANGE = re.compile(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])")

_CONTEXT_CHARACTERS = 200
_MIN_ENTROPY_BITS = 3.7
_MIN_DIGIT_CHANGES = 4
_MIN_AWS_CASE_CHANGES = 5

# What stands before a random token that is no secret: its name, or the address it is a part of.
_IDENTIFIER_NAME = re.compile(
    r"(?i)(?:(?<![A-Za-z])(?:ids?|doc|document|file|folder|video|playlist|sheet|page|commit|hash|tx|txid|transaction|block|checksum|"
    r"digest|integrity|e-?tag|fingerprint|u?uid|guid|order|tracking|address|bitcoin|btc|model)\b\W*(?:(?:is|to)\W+)?"
    r"|sha-?\d+[:-]|base64,|\bAAAA|(?:public key|certificate)-----\s*)$"
)
_ADDRESS = re.compile(r"(?i)(?:[a-z]:\\|[\w.~-]*[/\\]|www\.)\S*$")
_SECRET_ARGUMENT = re.compile(r"(?i)[?&#](?:[\w-]*(?:token|key|secret|sig|signature|password|auth|code))=$")

# Read when the module is imported: screening may run in an event loop, which must not wait for a file.
_SEED_WORDS = frozenset(
    word
    for line in files("gaia_memory.redaction").joinpath("seed_words.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
    for word in line.split()
)
_EMPHATIC_WORDS = frozenset({"very", "again", "long", "super", "real", "good", "happy", "sad", "love", "hello", "cool"})
"""Words of the list that people repeat: "very, very good"."""

_LESSON = re.compile(
    r"(?i)\b(?:vocab\w*|vokabel\w*|spelling|flash\s?cards?|words\b.{0,20}\bto\s+(?:learn|practi[cs]e|spell))\b"
)
"""Says that words are there to be learned for their own sake."""

_MIN_SEED_WORDS = 12
_MIN_KNOWN_WORDS = 11
_MAX_STOP_WORDS = 4
"""Of 2,048 words on the list 43 are stop words: three of a million wallets have more of them among their twelve words,
and many sentences do, such as "only when you know that you will use this one, then you …"."""


def find_random_tokens(text: str) -> Iterator[tuple[int, int]]:
    """Yield where a long token that looks random stands; not a hash, an identifier or a part of an address."""
    if len(text) < 24:
        return
    for found in _TOKEN.finditer(text):
        if _looks_random(found[0]) and not _is_identifier(_before(text, found), found[0]):
            yield found.span()
    for found in _AWS_SECRET.finditer(text):
        if len(_CASE_CHANGE.findall(found[0])) >= _MIN_AWS_CASE_CHANGES and re.search(r"\d", found[0]):
            yield found.span()
    for found in _ETHEREUM_KEY.finditer(text):
        if not _IDENTIFIER_NAME.search(_before(text, found)):
            yield found.span()


def find_seed_phrases(text: str) -> Iterator[tuple[int, int]]:
    """Yield where at least twelve words of the list that wallets use (BIP-39) follow each other."""
    if sum(word.strip(".,") in _SEED_WORDS for word in text.lower().split()) < _MIN_KNOWN_WORDS:
        return
    words = list(re.finditer(r"[^\W\d_]+", text))
    lower = [word[0].lower() for word in words]
    is_known = [word in _SEED_WORDS for word in lower]
    for place in range(1, len(words)):
        is_known[place] &= lower[place] != lower[place - 1] or lower[place] not in _EMPHATIC_WORDS
    lesson = _LESSON.search(text)
    for first in range(len(words) - _MIN_SEED_WORDS + 1):
        is_lesson = lesson is not None and 0 <= words[first].start() - lesson.start() < _CONTEXT_CHARACTERS
        is_sentence = sum(word in STOP_WORDS for word in lower[first : first + _MIN_SEED_WORDS]) > _MAX_STOP_WORDS
        known = sum(is_known[first : first + _MIN_SEED_WORDS])
        if known >= _MIN_KNOWN_WORDS and not (is_lesson or is_sentence):
            yield words[first].start(), words[first + _MIN_SEED_WORDS - 1].end()


def _looks_random(token: str) -> bool:
    if _HEX.fullmatch(token) or _CAMEL_CASE.search(token):
        return False
    is_mixed_case = any(character.islower() for character in token) and any(character.isupper() for character in token)
    return (
        is_mixed_case
        and len(DIGIT_CHANGE.findall(token)) >= _MIN_DIGIT_CHANGES
        and _entropy(token) >= _MIN_ENTROPY_BITS
    )


def _is_identifier(before: str, token: str) -> bool:
    if _SECRET_ARGUMENT.search(before):
        return False
    return bool(
        _IDENTIFIER_NAME.search(before)
        or _ADDRESS.search(before)
        or re.match(r"(?i)sha\d+-|AAAA|0x[0-9a-f]{40}$", token)
        or re.fullmatch(r"[13][1-9A-HJ-NP-Za-km-z]{25,34}", token)
    )


def _before(text: str, found: re.Match[str]) -> str:
    return text[max(0, found.start() - _CONTEXT_CHARACTERS) : found.start()]


def _entropy(token: str) -> float:
    counts = Counter(token).values()
    return -sum(count / len(token) * math.log2(count / len(token)) for count in counts)
