"""Finds the facts whose vectors are nearest to a question."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.errors import BadAnswerError
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.models import Scope, Vector
from gaia_memory.ports import Database, Embedder, FactStore
from gaia_memory.recall.index.whitened_cosine import VectorMatrix, build_vector_matrix
from gaia_memory.recall.query.expansion import ADDED_QUERY_WEIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_CACHED_SCOPES = 16
"""Scopes whose vectors are cached."""

MIN_HASHED_COSINE = 0.2
"""Cosine up to which vectors of hashed words are alike by chance."""


@dataclass(frozen=True, slots=True)
class VectorMatches:
    """The facts nearest to a question: their scores, and their cosines to the question itself.

    `name` is the name in `Hit.why`. Fallback matches rank below everything that words find. `is_partial`: some facts
    carry vectors of another embedder, which are not compared.
    """

    name: str = "vectors"
    is_fallback: bool = False
    is_partial: bool = False
    scores: Mapping[str, float] = field(default_factory=dict)
    cosines: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _CachedVectors:
    """The vectors of a scope at `revision`; None if there are none. `is_partial` is that of `VectorMatches`."""

    revision: int
    is_partial: bool
    ids: list[str]
    matrix: VectorMatrix | None


class VectorSearch:
    """An exact search over all vectors of a scope, cached for the last few scopes until their revision changes.

    Only vectors of the current embedder are compared; other facts are left to the keywords.
    """

    def __init__(self, database: Database, facts: FactStore, embedder: Embedder) -> None:
        self._database = database
        self._facts = facts
        self._embedder = embedder
        self._cache: OrderedDict[tuple[Scope, str], _CachedVectors] = OrderedDict()

    @property
    def name(self) -> str:
        """The name shown in `Hit.why`: `hashed` for vectors of words without meanings."""
        return "hashed" if self.is_hashed else "vectors"

    @property
    def is_hashed(self) -> bool:
        """Whether the vectors are made of words without their meanings."""
        return self._embedder.identity.startswith("offline/")

    async def find(
        self,
        scope: Scope,
        question: str,
        expansions: Sequence[str] = (),
        *,
        limit: int,
        is_alone: bool = False,
        allowed_ids: Collection[str] | None = None,
    ) -> VectorMatches:
        """Return the facts nearest to the question and to each expansion, at most `limit` for each.

        The scores are whitened cosines; they are plain cosines for hashed words, and if nothing else finds facts
        (`is_alone`). The embedder is not called for a scope without vectors.

        Raises:
            ModelError: the embedder could not answer.
        """
        matches = VectorMatches(self.name, is_fallback=self.is_hashed and not is_alone)
        # Without words nothing is hashed, and all such texts would be equal.
        queries = [each for each in (question, *expansions) if not self.is_hashed or index_tokens(each)]
        if not queries:
            return matches
        vectors = None if self._knows_dimensions else await self._embed(queries)
        cached = await self._load_vectors(scope)
        matches = replace(matches, is_partial=cached.is_partial)
        if cached.matrix is None:
            return matches
        vectors = vectors or await self._embed(queries)
        is_allowed = None if allowed_ids is None else np.array([each in allowed_ids for each in cached.ids])
        whitens = not self.is_hashed and not is_alone
        min_cosine = MIN_HASHED_COSINE if matches.is_fallback else -1.0
        scores: dict[str, float] = {}
        cosines: dict[str, float] = {}
        for query, vector in zip(queries, vectors, strict=True):
            rows, row_scores, row_cosines = await asyncio.to_thread(
                _nearest_rows, cached.matrix, vector, limit, is_allowed, whitens=whitens, min_cosine=min_cosine
            )
            ids = [cached.ids[row] for row in rows.tolist()]
            if query == question:
                cosines = dict(zip(ids, row_cosines.tolist(), strict=True))
            else:
                row_scores = np.minimum(row_scores, row_scores * ADDED_QUERY_WEIGHT)
            for fact_id, score in zip(ids, row_scores.tolist(), strict=True):
                scores[fact_id] = max(score, scores.get(fact_id, score))
        return replace(matches, scores=scores, cosines=cosines)

    @property
    def _knows_dimensions(self) -> bool:
        """Whether the embedder knows its dimensions; some learn them from their first vector."""
        return not self._embedder.identity.endswith("/?")

    async def _embed(self, queries: Sequence[str]) -> list[Vector]:
        vectors = await self._embedder.embed(queries, purpose="search")
        if len(vectors) != len(queries):
            raise BadAnswerError(f"{self._embedder.identity} returned {len(vectors)} vectors for {len(queries)} texts")
        return vectors

    async def _load_vectors(self, scope: Scope) -> _CachedVectors:
        key = (scope, self._embedder.identity)
        async with self._database.read_transaction() as tx:
            revision = (await self._facts.state(tx, scope)).revision
            cached = self._cache.get(key)
            if cached is not None and cached.revision == revision:
                self._cache.move_to_end(key)
                return cached
            ids, rows = await self._facts.vectors(tx, scope, self._embedder.identity)
            is_partial = await self._facts.has_other_vectors(tx, scope, self._embedder.identity)
        matrix = await asyncio.to_thread(build_vector_matrix, rows) if len(ids) else None
        loaded = _CachedVectors(revision, is_partial, ids, matrix)
        self._cache[key] = loaded
        self._cache.move_to_end(key)
        while len(self._cache) > MAX_CACHED_SCOPES:
            self._cache.popitem(last=False)
        return loaded


def _nearest_rows(
    matrix: VectorMatrix,
    vector: Vector,
    limit: int,
    is_allowed: NDArray[np.bool_] | None,
    *,
    whitens: bool,
    min_cosine: float,
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]:
    """Return the rows with the best scores among those with a cosine above the minimum, their scores and cosines."""
    query = np.asarray(vector, dtype=np.float32)
    length = np.linalg.norm(query)
    query = query / np.float32(length or 1.0)
    cosines = matrix.cosines(query)
    scores = matrix.whitened_cosines(query) if whitens else cosines
    is_near = (cosines > min_cosine) & (length > 0)
    rows = np.flatnonzero(is_near if is_allowed is None else is_near & is_allowed)
    if len(rows) > limit:
        rows = rows[np.argpartition(-scores[rows], limit - 1)[:limit]]
    return rows, scores[rows], cosines[rows]
