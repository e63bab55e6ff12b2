"""Keeps what was forgotten alone from coming back in other words out of talk that was there before.

Of a forgotten fact hashes of its telling words stay. A fact that is learned later, from talk of before, tells it again
when it shares at least half of them: "Pistachio is Itay's favourite ice cream" after "Loves pistachio ice cream" was
forgotten. A hash has 16 bits, so every other word of a language shares its own with some other: nobody can tell from
them which were meant. What is said after the forgetting is not held against it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from gaia_memory.facts import keywords
from gaia_memory.facts.normal import fold_alike
from gaia_memory.facts.rows import in_chunks, seconds
from gaia_memory.facts.scopes import insert
from gaia_memory.facts.tables import forgotten_words
from gaia_memory.models.words import indexed_words

if TYPE_CHECKING:
    from gaia_memory.models import NewFact, Scope
    from gaia_memory.ports import Transaction

SHARE = 0.5
"""Of a forgotten fact's telling words, how many tell it again: `tests/integration/forgetting/test_retold.py` has the
pairs it was set by."""

COMMON_FROM = 10
COMMON_SHARE = 0.2
"""A word that at least so many facts of a person hold, and this share of them, tells none of them: often a name."""

_STEM = 5


def _listed() -> frozenset[str]:
    lines = files("gaia_memory.facts").joinpath("common_words.txt").read_text(encoding="utf-8").splitlines()
    # As they stand after look-alike letters are folded: so they are compared.
    return frozenset(word for line in lines if not line.startswith("#") for word in indexed_words(fold_alike(line)))


_COMMON_WORDS = _listed()


def telling_words(text: str) -> set[str]:
    """Return the words that say what a text is about, each cut so that its other forms are mostly the same."""
    words = (word for word in indexed_words(fold_alike(text)) if word not in _COMMON_WORDS)
    return {_stem(word) for word in words if len(word) > 1}


async def note(tx: Transaction, scope: Scope, number: int, texts: dict[int, str], salt: str, *, until: float) -> None:
    """Keep the telling words of facts that are forgotten alone; `until` (seconds) is when that was."""
    of_fact = {row: telling_words(text) for row, text in texts.items()}
    held = await _held_by_many(tx, scope, number, texts.values())
    rows = [
        {"partition": scope.partition, "fact_row": row, "word": _hash(word, salt), "forgotten_at": until}
        for row, words in of_fact.items()
        for word in sorted(words - held or words)
    ]
    for chunk in in_chunks(rows):
        await tx.execute(insert(tx, forgotten_words).on_conflict_do_nothing(), chunk)


async def retold(tx: Transaction, scope: Scope, facts: Sequence[NewFact], salts: Sequence[str]) -> list[bool]:
    """Say for each fact whether it was said before something was forgotten that it tells again."""
    moments = [seconds(fact.said_at) for fact in facts if fact.said_at is not None]
    if not moments:
        return [False] * len(facts)
    gone = await _forgotten(tx, scope, since=min(moments))
    return [
        fact.said_at is not None and bool(_told_by(fact.text, gone, salts, said_at=seconds(fact.said_at)))
        for fact in facts
    ]


async def lift(tx: Transaction, scope: Scope, texts: Sequence[str], salts: Sequence[str]) -> None:
    """Let what these texts tell come back: somebody says it again."""
    gone = await _forgotten(tx, scope, since=None)
    wanted = {row for text in texts for row in _told_by(text, gone, salts, said_at=None)}
    mine = forgotten_words.c.partition == scope.partition
    for chunk in in_chunks(sorted(wanted)):
        await tx.execute(delete(forgotten_words).where(mine, forgotten_words.c.fact_row.in_(chunk)))


async def _held_by_many(tx: Transaction, scope: Scope, number: int, texts: Iterable[str]) -> set[str]:
    words = sorted({word for text in texts for word in indexed_words(text)})
    common: set[str] = set()
    for chunk in in_chunks(words):
        total, counts = await keywords.counts(tx, scope.partition, number, chunk)
        limit = max(COMMON_FROM, COMMON_SHARE * total)
        common.update(_stem(fold_alike(word)) for word, count in zip(chunk, counts, strict=True) if count >= limit)
    return common


async def _forgotten(tx: Transaction, scope: Scope, *, since: float | None) -> dict[int, tuple[float, frozenset[int]]]:
    """Return when each fact was forgotten and its hashes, those forgotten at `since` or later."""
    statement = select(forgotten_words).where(forgotten_words.c.partition == scope.partition)
    if since is not None:
        statement = statement.where(forgotten_words.c.forgotten_at >= since)
    words: defaultdict[tuple[int, float], set[int]] = defaultdict(set)
    for row in await tx.execute(statement):
        words[row.fact_row, row.forgotten_at].add(row.word)
    return {fact_row: (until, frozenset(hashes)) for (fact_row, until), hashes in words.items()}


def _told_by(
    text: str, gone: dict[int, tuple[float, frozenset[int]]], salts: Sequence[str], *, said_at: float | None
) -> list[int]:
    """Return the forgotten facts that a text tells again, of those forgotten when it was said or later."""
    words = telling_words(text)
    told = {_hash(word, salt) for word in words for salt in salts}
    return [
        row
        for row, (until, hashes) in gone.items()
        if (said_at is None or said_at <= until) and len(told & hashes) >= SHARE * len(hashes)
    ]


def _stem(word: str) -> str:
    singular = word.removesuffix("s") if len(word) > 3 else word
    return singular[:_STEM]


def _hash(word: str, salt: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{salt}:word:{word}".encode("utf-8", "surrogatepass")).digest()[:2])
