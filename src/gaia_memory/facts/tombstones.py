"""Keeps forgotten facts from coming back: salted hashes of their texts and of their distinctive words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import delete as delete_from
from sqlalchemy import exists, or_, select, update

from gaia_memory.facts import scopes
from gaia_memory.facts.current import current_or_past
from gaia_memory.facts.identity import paraphrase_tombstones
from gaia_memory.facts.identity.text_identity import tombstone_hashes, tombstone_lookup_hashes
from gaia_memory.facts.rows import change_in, in_chunks, select_in
from gaia_memory.facts.tables import facts, forgotten_words, past_facts, tombstones

if TYPE_CHECKING:
    from gaia_memory.models import NewFact, Scope
    from gaia_memory.ports import Transaction

SALT_PREFIX = "salt-"
"""Marks a row of the tombstones that stores the salt of a merged scope instead of a hash."""

GONE_PREFIX = "gone-"
"""Marks one with the salt of a scope that was merged into this one before everything was forgotten."""

ID_PREFIX = "id-"
"""Marks one with the random id of a forgotten fact, whose wording or scope may be another in an older copy."""


class Tombstones:
    """Remembers, without their texts, which facts were forgotten."""

    async def add_tombstones(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str], *, said_until: float
    ) -> None:
        """Leave a tombstone (a salted hash of the normal form) for each of these facts; call it before `delete`.

        Those of their distinctive words apply to statements made up to `said_until` (seconds, wall clock).
        """
        state = await scopes.load_scope(tx, scope)
        if state is None:
            return
        for chunk in in_chunks(sorted(set(fact_ids))):
            statement = select(facts.c.row, facts.c.text).where(
                facts.c.partition == scope.partition, facts.c.id.in_(chunk), current_or_past()
            )
            texts = {row.row: row.text for row in await tx.execute(statement)}
            texts |= await _past_texts(tx, scope, chunk)
            await paraphrase_tombstones.record_forgotten(tx, scope, texts, state.salt, forgotten_at=said_until)
            hashes = {value for text in texts.values() for value in tombstone_hashes(text, state.salt)}
            await _insert_tombstones(tx, scope, sorted(hashes))

    async def record_forgotten_ids(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> None:
        """Note the ids of forgotten facts, so that the restore of an older copy leaves them out in every wording."""
        await _insert_tombstones(tx, scope, [ID_PREFIX + each for each in sorted(fact_ids)])

    async def forgotten_ids(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> set[str]:
        """Return those of these ids that were noted as forgotten in this scope."""
        statement = select(tombstones.c.hash).where(tombstones.c.partition == scope.partition)
        marks = await select_in(tx, statement, tombstones.c.hash, [ID_PREFIX + each for each in sorted(fact_ids)])
        return {row.hash.removeprefix(ID_PREFIX) for row in marks}

    async def have_tombstones(self, tx: Transaction, scope: Scope, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether its normal form has a tombstone."""
        state = await scopes.load_scope(tx, scope)
        if state is None:
            return [False] * len(texts)
        salts = await _salts(tx, scope, state.salt)
        hashes = [_lookup_hashes(text, salts) for text in texts]
        statement = select(tombstones.c.hash).where(tombstones.c.partition == scope.partition)
        rows = await select_in(tx, statement, tombstones.c.hash, sorted(set().union(*hashes)))
        found = {row.hash for row in rows}
        return [not found.isdisjoint(values) for values in hashes]

    async def paraphrases_forgotten(self, tx: Transaction, scope: Scope, new_facts: Sequence[NewFact]) -> list[bool]:
        """Return for each fact whether it repeats, perhaps in other words, a fact forgotten after it was said."""
        state = await scopes.load_scope(tx, scope)
        if state is None:
            return [False] * len(new_facts)
        salts = await _salts(tx, scope, state.salt)
        return await paraphrase_tombstones.match_forgotten(tx, scope, new_facts, salts)

    async def remove_tombstones(
        self, tx: Transaction, scope: Scope, texts: Sequence[str], fact_ids: Collection[str] = ()
    ) -> None:
        """Remove the tombstones of these texts and of the facts they paraphrase, and the marks of these ids."""
        deletion = delete_from(tombstones).where(tombstones.c.partition == scope.partition)
        await change_in(tx, deletion, tombstones.c.hash, [ID_PREFIX + each for each in sorted(fact_ids)])
        state = await scopes.load_scope(tx, scope)
        if state is None or not await _has_tombstones(tx, scope):
            return
        salts = await _salts(tx, scope, state.salt)
        await paraphrase_tombstones.remove_matches(tx, scope, texts, salts)
        hashes = {value for text in texts for value in _lookup_hashes(text, salts)}
        await change_in(tx, deletion, tombstones.c.hash, sorted(hashes))


async def _past_texts(tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[int, str]:
    """Return the texts of past facts by numbers that no row of a fact has: they group the words of one fact."""
    is_meant = past_facts.c.partition == scope.partition, past_facts.c.id.in_(fact_ids)
    rows = await tx.execute(select(past_facts.c.id, past_facts.c.text).where(*is_meant))
    return {-(UUID(row.id).int >> 66): row.text for row in rows}


async def move_tombstones(tx: Transaction, scope: Scope, into: Scope, salt: str) -> None:
    """Move the tombstones of a scope into another, with the salts they were made with."""
    statement = delete_from(tombstones).where(tombstones.c.partition == scope.partition).returning(tombstones.c.hash)
    moved = sorted((await tx.execute(statement)).scalars())
    words = update(forgotten_words).where(forgotten_words.c.partition == scope.partition)
    await tx.execute(words.values(partition=into.partition))
    # The texts are unknown, so the hashes cannot be made again with the salt of the other scope.
    await _insert_tombstones(tx, into, [*moved, SALT_PREFIX + salt])


async def drop_tombstones(tx: Transaction, scope: Scope) -> int:
    """Remove the tombstones of a scope of which everything is forgotten; return how many. The merged scopes are kept.

    An older copy of the database has what was theirs under their own ids.
    """
    statement = delete_from(tombstones).where(tombstones.c.partition == scope.partition).returning(tombstones.c.hash)
    dropped = list((await tx.execute(statement)).scalars())
    merged = {each.partition("-")[2] for each in dropped if each.startswith((SALT_PREFIX, GONE_PREFIX))}
    await _insert_tombstones(tx, scope, sorted(GONE_PREFIX + salt for salt in merged))
    return len(dropped) - len(merged)


async def copy_tombstones(
    tx: Transaction, scope: Scope, salt: str, hashes: Sequence[str], words: Sequence[tuple[int, int, float]]
) -> None:
    """Add the tombstones of a scope in another copy of the database, which were made with `salt`.

    `words` has (row of the forgotten fact, hash of a word, time of the forget).
    """
    state = await scopes.ensure_scope(tx, scope)
    own_salt = [] if salt == state.salt else [SALT_PREFIX + salt]
    await _insert_tombstones(tx, scope, [*hashes, *own_salt])
    known = {
        (row.fact_row, row.word)
        for row in await tx.execute(select(forgotten_words).where(forgotten_words.c.partition == scope.partition))
    }
    # Here a later fact may get the row that the forgotten one had there, so the copies have negative rows.
    rows = [
        {"partition": scope.partition, "fact_row": -abs(row), "word": word, "forgotten_at": forgotten_at}
        for row, word, forgotten_at in words
        if (row, word) not in known
    ]
    for chunk in in_chunks(rows):
        await tx.execute(scopes.dialect_insert(tx, forgotten_words).on_conflict_do_nothing(), chunk)


async def _insert_tombstones(tx: Transaction, scope: Scope, hashes: Sequence[str]) -> None:
    for chunk in in_chunks(hashes):
        rows = [{"partition": scope.partition, "hash": value} for value in chunk]
        await tx.execute(scopes.dialect_insert(tx, tombstones).on_conflict_do_nothing(), rows)


async def _has_tombstones(tx: Transaction, scope: Scope) -> bool:
    """Return whether the scope has any: hashing a text takes as long as writing it."""
    is_hash = tombstones.c.hash.not_like("%-%")
    has_hash = exists().where(tombstones.c.partition == scope.partition, is_hash)
    has_word = exists().where(forgotten_words.c.partition == scope.partition)
    return bool((await tx.execute(select(or_(has_hash, has_word)))).scalar_one())


async def _salts(tx: Transaction, scope: Scope, own_salt: str) -> list[str]:
    """Return the salt of a scope, and the salts of the scopes merged into it."""
    in_scope = tombstones.c.partition == scope.partition
    statement = select(tombstones.c.hash).where(in_scope, tombstones.c.hash.startswith(SALT_PREFIX))
    return [own_salt, *(value.removeprefix(SALT_PREFIX) for value in (await tx.execute(statement)).scalars())]


def _lookup_hashes(text: str, salts: Sequence[str]) -> set[str]:
    return {value for salt in salts for value in tombstone_lookup_hashes(text, salt)}
