"""Takes facts away, and remembers, without their text, that they are not wanted back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import delete as delete_from
from sqlalchemy import exists, func, literal, or_, select, update

from gaia_memory.facts import scopes
from gaia_memory.facts.identity import paraphrase_tombstones
from gaia_memory.facts.identity.text_identity import tombstone_hashes, tombstone_lookup_hashes
from gaia_memory.facts.indexing import keyword_index
from gaia_memory.facts.rows import in_chunks
from gaia_memory.facts.tables import facts, forgotten_words, outbox, profiles, sources, tombstones
from gaia_memory.models import NewFact, Scope

if TYPE_CHECKING:
    from sqlalchemy import Select

    from gaia_memory.ports import Transaction

_SALT_PREFIX = "salt-"
"""What stands before the salt of a merged scope, which is kept among the hashes that it made."""


async def delete(tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, int]:
    """Delete facts of this scope and return the rows removed by place; their ids go into the outbox."""
    await scopes.load_scope(tx, scope)
    owned: dict[int, str] = {}
    removed = dict.fromkeys(("facts", "sources", "vectors", "profiles", "words"), 0)
    for chunk in in_chunks(sorted(set(fact_ids))):
        columns = facts.c.row, facts.c.id, facts.c.vector.is_not(None).label("has_vector")
        statement = select(*columns).where(facts.c.partition == scope.partition, facts.c.id.in_(chunk))
        for row in await tx.execute(statement):
            owned[row.row] = row.id
            removed["vectors"] += bool(row.has_vector)
    if not owned:
        return removed
    state = await scopes.bump_revision(tx, scope)
    for rows in in_chunks(owned):
        await keyword_index.unindex(tx, rows)
        removed["sources"] += (await tx.execute(delete_from(sources).where(sources.c.fact_row.in_(rows)))).rowcount
        await tx.execute(delete_from(facts).where(facts.c.row.in_(rows)))
    # The last profile may tell what is gone now.
    deleted_profiles = await tx.execute(delete_from(profiles).where(profiles.c.partition == scope.partition))
    await scopes.mark_dirty(tx, sorted(owned.values()), state.revision)
    return removed | {"facts": len(owned), "words": len(owned), "profiles": deleted_profiles.rowcount}


async def delete_all(tx: Transaction, scope: Scope, *, forgotten_at: float) -> dict[str, int]:
    """Delete everything of this scope and set `forgotten_at`; return the rows removed by place."""
    state = await scopes.bump_revision(tx, scope, forgotten_at=forgotten_at)
    in_scope = facts.c.partition == scope.partition
    vectors = await tx.scalar(select(func.count()).where(in_scope, facts.c.vector.is_not(None)))
    await _mark_all_dirty(tx, select(facts.c.id, literal(state.revision, outbox.c.version.type)).where(in_scope))
    await keyword_index.unindex_all(tx, scope.partition)
    of_scope = select(facts.c.row).where(in_scope)
    removed = {
        "sources": (await tx.execute(delete_from(sources).where(sources.c.fact_row.in_(of_scope)))).rowcount,
        "facts": (await tx.execute(delete_from(facts).where(in_scope))).rowcount,
        "vectors": vectors or 0,
    }
    for name, table in (("profiles", profiles), ("tombstones", tombstones)):
        deleted = await tx.execute(delete_from(table).where(table.c.partition == scope.partition))
        removed[name] = deleted.rowcount
    # All that was said until now is never learned: no single fact has to be kept out any more.
    await tx.execute(delete_from(forgotten_words).where(forgotten_words.c.partition == scope.partition))
    return removed | {"words": removed["facts"]}


async def _mark_all_dirty(tx: Transaction, changed: Select[tuple[str, int]]) -> None:
    statement = scopes.dialect_insert(tx, outbox).from_select(["fact_id", "version"], changed.order_by(facts.c.id))
    await tx.execute(
        statement.on_conflict_do_update(index_elements=[outbox.c.fact_id], set_={"version": statement.excluded.version})
    )


async def add_tombstones(tx: Transaction, scope: Scope, fact_ids: Collection[str], *, said_until: float) -> None:
    """Leave a tombstone for each of these facts, and what knows them in other words if said up to `said_until`."""
    state = await scopes.load_scope(tx, scope)
    if state is None:
        return
    for chunk in in_chunks(sorted(set(fact_ids))):
        statement = select(facts.c.row, facts.c.text).where(facts.c.partition == scope.partition, facts.c.id.in_(chunk))
        texts = {row.row: row.text for row in await tx.execute(statement)}
        await paraphrase_tombstones.record_forgotten(
            tx, scope, state.number, texts, state.salt, forgotten_at=said_until
        )
        hashes = {value for text in texts.values() for value in tombstone_hashes(text, state.salt)}
        rows = [{"partition": scope.partition, "hash": value} for value in sorted(hashes)]
        if rows:
            await tx.execute(scopes.dialect_insert(tx, tombstones).on_conflict_do_nothing(), rows)


async def have_tombstones(tx: Transaction, scope: Scope, texts: Sequence[str]) -> list[bool]:
    """Say for each text whether its normal form has a tombstone."""
    state = await scopes.load_scope(tx, scope)
    if state is None:
        return [False] * len(texts)
    salts = await _salts(tx, scope, state.salt)
    hashes = [_lookup_hashes(text, salts) for text in texts]
    found: set[str] = set()
    for chunk in in_chunks(sorted(set().union(*hashes))):
        statement = select(tombstones.c.hash).where(
            tombstones.c.partition == scope.partition, tombstones.c.hash.in_(chunk)
        )
        found.update((await tx.execute(statement)).scalars())
    return [not found.isdisjoint(values) for values in hashes]


async def paraphrases_forgotten(tx: Transaction, scope: Scope, new_facts: Sequence[NewFact]) -> list[bool]:
    """Say for each fact whether it tells what was forgotten alone after it was said."""
    state = await scopes.load_scope(tx, scope)
    if state is None:
        return [False] * len(new_facts)
    return await paraphrase_tombstones.match_forgotten(
        tx, scope, state.number, new_facts, await _salts(tx, scope, state.salt)
    )


async def move_tombstones(tx: Transaction, scope: Scope, into: Scope, salt: str) -> None:
    """Make the tombstones of a scope, and the salts they were made with, another's."""
    statement = delete_from(tombstones).where(tombstones.c.partition == scope.partition).returning(tombstones.c.hash)
    moved = sorted((await tx.execute(statement)).scalars())
    words = update(forgotten_words).where(forgotten_words.c.partition == scope.partition)
    words_moved = (await tx.execute(words.values(partition=into.partition))).rowcount
    # A hash cannot be made anew with another salt: nobody knows its text.
    hashes = [*moved, _SALT_PREFIX + salt] if moved or words_moved else []
    for chunk in in_chunks(hashes):
        rows = [{"partition": into.partition, "hash": value} for value in chunk]
        await tx.execute(scopes.dialect_insert(tx, tombstones).on_conflict_do_nothing(), rows)


async def _has_tombstones(tx: Transaction, scope: Scope) -> bool:
    """Say whether anything is kept of what was forgotten: to hash a text takes as long as to write it."""
    columns = tombstones.c.partition, forgotten_words.c.partition
    conditions = [exists().where(partition == scope.partition) for partition in columns]
    return bool((await tx.execute(select(or_(*conditions)))).scalar_one())


async def _salts(tx: Transaction, scope: Scope, own_salt: str) -> list[str]:
    """Return the salt of a scope, and those of scopes that were merged into it."""
    in_scope = tombstones.c.partition == scope.partition
    statement = select(tombstones.c.hash).where(in_scope, tombstones.c.hash.startswith(_SALT_PREFIX))
    return [own_salt, *(value.removeprefix(_SALT_PREFIX) for value in (await tx.execute(statement)).scalars())]


def _lookup_hashes(text: str, salts: Sequence[str]) -> set[str]:
    return {value for salt in salts for value in tombstone_lookup_hashes(text, salt)}


async def remove_tombstones(tx: Transaction, scope: Scope, texts: Sequence[str]) -> None:
    """Lift the tombstones of these texts."""
    state = await scopes.load_scope(tx, scope)
    if state is None:
        return
    if not await _has_tombstones(tx, scope):
        return
    salts = await _salts(tx, scope, state.salt)
    await paraphrase_tombstones.remove_matches(tx, scope, state.number, texts, salts)
    for chunk in in_chunks(sorted({value for text in texts for value in _lookup_hashes(text, salts)})):
        await tx.execute(
            delete_from(tombstones).where(tombstones.c.partition == scope.partition, tombstones.c.hash.in_(chunk))
        )
