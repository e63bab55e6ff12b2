"""Finds facts to compare a new one with: by words, by vectors, and among other new ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gaia_memory.models import Draft, Fact, Scope, SimilarFact, StoredFact, Vector
from gaia_memory.recall.index.column_cache import ColumnCache
from gaia_memory.recall.index.vector_search import VectorSearch
from gaia_memory.recall.index.word_matches import MAX_WORD_MATCHES, ids_by_words
from gaia_memory.recall.select_similar import MAX_SIMILAR_FACTS, find_similar_drafts, select_similar
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts import FactStore


class SimilarFactMixin:
    """The part of `Recall` that finds the facts which a new one may contradict or repeat."""

    _database: Database
    _facts: FactStore
    _columns: ColumnCache
    _vectors: VectorSearch

    async def find_by_words(self, scope: Scope, words: str, *, limit: int) -> list[Fact]:
        """Return the facts that contain one of these words, in any of its forms, best first; asks no model."""
        columns = await self._columns.get(scope)
        fact_ids = await run_in_thread(ids_by_words, columns, words, limit)
        async with self._database.read_transaction() as tx:
            found = await self._facts.get(tx, scope, fact_ids)
        return [found[fact_id] for fact_id in fact_ids if fact_id in found]

    async def find_similar(
        self, scope: Scope, text: str, vector: Vector | None, *, left_out: str | None = None
    ) -> list[SimilarFact]:
        """Return the current facts that a fact may contradict or repeat, most similar first; asks no model.

        `vector` is that of the current embedder, None to compare words alone. `left_out` is the id of the fact itself.
        """
        by_words = await self.find_by_words(scope, text, limit=MAX_WORD_MATCHES)
        cosines: dict[str, float] = {}
        if vector is not None:
            stored, current = await self._columns.get_all(scope)
            allowed = None if current is stored else current
            cosines = await self._vectors.find_similar(scope, vector, limit=MAX_SIMILAR_FACTS + 1, allowed=allowed)
            cosines.pop(left_out or "", None)
        missing = cosines.keys() - {fact.id for fact in by_words}
        async with self._database.read_transaction() as tx:
            by_vector = await self._facts.get(tx, scope, missing)
        candidates = [fact for fact in (*by_words, *by_vector.values()) if fact.id != left_out]
        return await run_in_thread(select_similar, text, candidates, cosines)

    async def find_siblings(self, scope: Scope, drafts: Sequence[Draft]) -> dict[int, int]:
        """Return the places of drafts that are similar to an earlier one, each with the place of the most similar."""
        if len(drafts) < 2:
            return {}
        min_cosine = await self._vectors.similarity_threshold(scope)
        return await run_in_thread(find_similar_drafts, drafts, min_cosine)

    async def select_similar(
        self, scope: Scope, text: str, vector: Vector | None, facts: Sequence[StoredFact]
    ) -> list[SimilarFact]:
        """Return those of these facts, which need not be current, that a fact may contradict or repeat."""
        cosines = {} if vector is None else await self._vectors.compare(scope, vector, facts)
        return await run_in_thread(select_similar, text, [each.fact for each in facts], cosines)
