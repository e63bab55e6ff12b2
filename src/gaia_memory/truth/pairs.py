"""Finds pairs of current facts that may contradict or repeat each other, and that no model has compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_memory.models import PairingState, Scope, StoredFact, UndecidedFact
from gaia_memory.ports import FactStore
from gaia_memory.truth.reconciler import Reconciler

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database

MAX_CHANGED_FACTS = 200
"""Changed facts whose pairs are looked for at once."""


_Unlikeness = tuple[bool, float, int]
"""By what pairs are sorted: those with common words first, since one pair in a hundred has near vectors in any case."""


async def find_pairs(
    database: Database, facts: FactStore, reconciler: Reconciler, scope: Scope, *, limit: int
) -> tuple[list[UndecidedFact], PairingState]:
    """Return likely pairs of facts, the most similar first, and the state to store once they are compared.

    One fact of each has changed since facts were last compared in pairs. With more than `limit` of them, the state
    stays what it is, so that the others are found next time.
    """
    async with database.read_transaction() as tx:
        state = await facts.pairing_state(tx, scope)
        revision = (await facts.state(tx, scope)).revision
        changed = await facts.changed_facts(tx, scope, since=state.paired_revision, limit=MAX_CHANGED_FACTS)
        waiting = {each.fact_id for each in await facts.undecided(tx, scope)}
        stored = await facts.stored(tx, scope, changed.keys() - waiting)
    likeness: dict[tuple[str, str], _Unlikeness] = {}
    for known in stored.values():
        for other_id, like in (await _similar_to(database, facts, reconciler, scope, known)).items():
            first, second = sorted((known.fact.id, other_id))
            if other_id not in waiting:
                likeness[first, second] = like
    pairs = [UndecidedFact(fact_id=one, other_id=other) for one, other in sorted(likeness, key=lambda it: likeness[it])]
    if len(pairs) > limit:
        return pairs[:limit], state
    reached = revision if len(changed) < MAX_CHANGED_FACTS else max(changed.values())
    return pairs, PairingState(paired_revision=reached)


async def _similar_to(
    database: Database, facts: FactStore, reconciler: Reconciler, scope: Scope, known: StoredFact
) -> dict[str, _Unlikeness]:
    """Return the facts that are similar to one and that no model has compared with it."""
    similar = {each.fact.id: each for each in await reconciler.find_similar(scope, known)}
    async with database.read_transaction() as tx:
        compared = await facts.find_compared(tx, scope, known.fact, [each.fact for each in similar.values()])
    return {
        fact_id: (not each.is_similar_by_words, -each.cosine, -each.shared_words)
        for fact_id, each in similar.items()
        if fact_id not in compared
    }
