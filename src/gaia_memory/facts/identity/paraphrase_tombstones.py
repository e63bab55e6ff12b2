"""Keeps single forgotten facts from coming back in other words, out of conversations held before the forgetting.

Hashes of the distinctive words of a forgotten fact are stored. A fact learned later from earlier statements repeats it
if they share at least half of the words of either: "Pistachio is Itay's favourite ice cream" after "Loves pistachio
ice cream" was forgotten, and "Has HIV" after "Was diagnosed with HIV in 2019". A word that many current facts contain
counts less: someone who forgot "Family eats pizza" may still have a family. A hash has 16 bits, so every other word of
a language shares its hash with another word, and the hashes do not reveal which was meant. Statements made after the
forgetting are not compared.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, select

from gaia_memory.facts.current import current_or_past
from gaia_memory.facts.rows import change_in, in_chunks, select_in, to_epoch_seconds
from gaia_memory.facts.scopes import dialect_insert
from gaia_memory.facts.tables import facts, forgotten_words
from gaia_memory.language.distinctive_words import distinctive_stems
from gaia_memory.language.homoglyphs import fold_homoglyphs, replace_look_alikes
from gaia_memory.language.stems import truncated_stem
from gaia_memory.language.tokenizer import index_tokens

if TYPE_CHECKING:
    from gaia_memory.models import NewFact, Scope
    from gaia_memory.ports import Transaction

MIN_SHARED_RATIO = 0.5
"""Share of the distinctive words of one text that the other repeats, chosen by the pairs in
`tests/contract/test_paraphrase_tombstones.py`."""

RARE_MAX_FACTS = 3
"""Facts above which a word counts less: words shared by chance are mostly frequent ones."""


async def record_forgotten(
    tx: Transaction, scope: Scope, texts: dict[int, str], salt: str, *, forgotten_at: float
) -> None:
    """Store the distinctive words of facts that are forgotten at `forgotten_at` (seconds since the epoch)."""
    rows = [
        {"partition": scope.partition, "fact_row": row, "word": _hash(word, salt), "forgotten_at": forgotten_at}
        for row, text in texts.items()
        for word in sorted(distinctive_stems(text))
    ]
    for chunk in in_chunks(rows):
        await tx.execute(dialect_insert(tx, forgotten_words).on_conflict_do_nothing(), chunk)


async def match_forgotten(
    tx: Transaction, scope: Scope, new_facts: Sequence[NewFact], salts: Sequence[str]
) -> list[bool]:
    """Return for each fact whether it repeats a forgotten fact and was said before the forgetting."""
    times = [None if fact.said_at is None else to_epoch_seconds(fact.said_at) for fact in new_facts]
    known_times = [moment for moment in times if moment is not None]
    if not known_times:
        return [False] * len(new_facts)
    # Statements without a time are not compared.
    texts = ["" if moment is None else fact.text for fact, moment in zip(new_facts, times, strict=True)]
    matches = await _find_matches(tx, scope, texts, salts, since=min(known_times))
    return [
        any(moment is not None and moment <= until for until in rows.values())
        for rows, moment in zip(matches, times, strict=True)
    ]


async def remove_matches(tx: Transaction, scope: Scope, texts: Sequence[str], salts: Sequence[str]) -> None:
    """Delete the words of facts that these texts repeat; one word of a longer fact does not repeat it."""
    matched_rows = set().union(*await _find_matches(tx, scope, texts, salts, since=None, is_whole_fact=True))
    deletion = delete(forgotten_words).where(forgotten_words.c.partition == scope.partition)
    await change_in(tx, deletion, forgotten_words.c.fact_row, sorted(matched_rows))


async def _find_matches(
    tx: Transaction,
    scope: Scope,
    texts: Sequence[str],
    salts: Sequence[str],
    *,
    since: float | None,
    is_whole_fact: bool = False,
) -> list[dict[int, float]]:
    """Return for each text the facts that it repeats, forgotten at `since` or later, each with when.

    A text with look-alikes that the stored stems do not fold is also compared in its Latin spelling. With
    `is_whole_fact` the text has to repeat half of the forgotten fact, otherwise half of either.
    """
    spellings = [*texts, *(latin for text in texts if (latin := replace_look_alikes(text)) != text)]
    matches = await _match_spellings(tx, scope, spellings, salts, since=since, is_whole_fact=is_whole_fact)
    found = dict(zip(spellings, matches, strict=True))
    return [found[text] | found.get(replace_look_alikes(text), {}) for text in texts]


async def _match_spellings(
    tx: Transaction,
    scope: Scope,
    texts: Sequence[str],
    salts: Sequence[str],
    *,
    since: float | None,
    is_whole_fact: bool,
) -> list[dict[int, float]]:
    hashes = [{_hash(word, salt) for word in distinctive_stems(text) for salt in salts} for text in texts]
    facts_of, forgotten_at = await _load_forgotten(tx, scope, set().union(*hashes), since=since)
    sizes = await _count_stems(tx, scope, forgotten_at)
    shared = [_shared_hashes(mine, facts_of) for mine in hashes]
    matched_texts = [text for text, rows in zip(texts, shared, strict=True) if rows]
    weights = await _stem_weights(tx, scope, matched_texts, salts, wanted_hashes=facts_of)
    matches: list[dict[int, float]] = []
    for mine, rows in zip(hashes, shared, strict=True):
        max_size = math.inf if is_whole_fact else len(mine) // len(salts)
        matches.append(
            {
                row: forgotten_at[row]
                for row, values in rows.items()
                if _is_match([weights[each] for each in values], min(sizes[row], max_size))
            }
        )
    return matches


def _shared_hashes(hashes: Iterable[int], facts_of: Mapping[int, Iterable[int]]) -> dict[int, list[int]]:
    """Return the forgotten facts that share any of these hashes, each with those that it shares."""
    shared: defaultdict[int, list[int]] = defaultdict(list)
    for value in hashes:
        for row in facts_of.get(value, ()):
            shared[row].append(value)
    return shared


def _is_match(weights: Sequence[float], size: float) -> bool:
    """Return whether shared words of these weights are half of `size` words; the others count as rare words."""
    shared_weight = sum(weights)
    return shared_weight >= MIN_SHARED_RATIO * (shared_weight + size - len(weights))


async def _load_forgotten(
    tx: Transaction, scope: Scope, hashes: Iterable[int], *, since: float | None
) -> tuple[dict[int, list[int]], dict[int, float]]:
    """Return the forgotten facts that have each hash, and when each of them was forgotten."""
    in_scope = forgotten_words.c.partition == scope.partition
    if since is not None:
        in_scope &= forgotten_words.c.forgotten_at >= since
    facts_of: defaultdict[int, list[int]] = defaultdict(list)
    forgotten_at: dict[int, float] = {}
    statement = select(forgotten_words).where(in_scope)
    for row in await select_in(tx, statement, forgotten_words.c.word, sorted(hashes)):
        facts_of[row.word].append(row.fact_row)
        forgotten_at[row.fact_row] = row.forgotten_at
    return facts_of, forgotten_at


async def _count_stems(tx: Transaction, scope: Scope, rows: Iterable[int]) -> dict[int, int]:
    """Return how many words are stored of each of these forgotten facts."""
    in_scope, of_row = forgotten_words.c.partition == scope.partition, forgotten_words.c.fact_row
    statement = select(of_row, func.count().label("kept")).where(in_scope).group_by(of_row)
    return {row.fact_row: row.kept for row in await select_in(tx, statement, of_row, sorted(rows))}


async def _stem_weights(
    tx: Transaction, scope: Scope, texts: Sequence[str], salts: Sequence[str], *, wanted_hashes: Collection[int]
) -> dict[int, float]:
    """Return the weight of the hash of each wanted word in these texts: the more facts contain it, the lower."""
    of_stem = {stem: {_hash(stem, salt) for salt in salts} for text in texts for stem in distinctive_stems(text)}
    wanted = {stem for stem, hashes in of_stem.items() if not hashes.isdisjoint(wanted_hashes)}
    counts = Counter[str]()
    if wanted:
        current = select(facts.c.text).where(facts.c.partition == scope.partition, current_or_past())
        async for (text,) in await tx.stream(current):
            counts.update(wanted.intersection(truncated_stem(fold_homoglyphs(word)) for word in index_tokens(text)))
    return {value: min(1.0, RARE_MAX_FACTS / max(1, counts[stem])) for stem in wanted for value in of_stem[stem]}


def _hash(word: str, salt: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{salt}:word:{word}".encode("utf-8", "surrogatepass")).digest()[:2])
