"""Finds the facts whose vectors are nearest to a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.errors import BadAnswerError
from gaia_memory.models import PastIndex, Scope, StoredFact, Vector
from gaia_memory.models.fact import OTHER_VECTORS
from gaia_memory.ports import Embedder, Transaction
from gaia_memory.recall.index.bounded_cache import BoundedCache
from gaia_memory.recall.index.fact_columns import FactColumns, encode_ids
from gaia_memory.recall.query.expansion import ADDED_QUERY_WEIGHT
from gaia_memory.recall.select_similar import DEFAULT_COSINE, similarity_threshold
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts import FactStore


MAX_SAMPLE_VECTORS = 1000
"""Vectors, evenly sampled from a scope, from which the covariance is estimated."""

VECTOR_STAGE = "vectors"
"""The name of this stage in `Hit.why` and `Hit.missing`."""

MIN_WHITENED_FACTS = 20
"""Facts from which on the covariance says something; of two facts, whitening shows nothing but the contrast."""

REGULARIZATION = 0.01
"""Variance at which a direction counts half; the variances of all directions add up to 1 at most."""

CONJUGATE_GRADIENT_STEPS = 8
"""Steps of conjugate gradients, after which the order of the first facts is stable."""

_MIN_LENGTH = 1e-4
"""Lengths below this may be rounding errors."""

_ignores_unused_lanes = np.errstate(invalid="ignore")
"""Some kernels of OpenBLAS set the flag for an invalid value in lanes of a register that they do not use, so that NumPy
warns about a product of finite vectors (numpy/numpy#13173, #24067). The rows are finite, and so must be the query."""


@dataclass(frozen=True, slots=True)
class VectorMatches:
    """The facts nearest to a question: their scores, and their cosines to the question itself.

    `missing` names what cannot be compared: facts with vectors of another embedder, and those that wait for theirs.
    """

    missing: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    cosines: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _CachedVectors:
    """The vectors of a scope at `revision`; None if there are none. `missing` is that of `VectorMatches`.

    From the cosine `similar_from` on, two facts are similar.
    """

    revision: int
    missing: tuple[str, ...]
    ids: list[str]
    encoded_ids: NDArray[np.bytes_]
    matrix: VectorMatrix | None
    similar_from: float

    def with_past(self, past: PastIndex) -> _CachedVectors:
        """Return these vectors and those of past facts."""
        if not past.ids:
            return self
        rows = past.vectors if self.matrix is None else np.concatenate([self.matrix.rows, past.vectors])
        ids = [*self.ids, *past.ids]
        return replace(self, ids=ids, encoded_ids=encode_ids(ids), matrix=build_vector_matrix(rows))


class VectorSearch:
    """An exact search over all vectors of a scope, which are cached until its revision changes.

    Only vectors of the current embedder are compared; other facts are left to the keywords.
    """

    def __init__(self, database: Database, facts: FactStore, embedder: Embedder, cache: BoundedCache) -> None:
        self._database = database
        self._facts = facts
        self._embedder = embedder
        self._cache = cache

    async def find(
        self,
        scope: Scope,
        question: str,
        expansions: Sequence[str] = (),
        *,
        limit: int,
        is_alone: bool = False,
        allowed: FactColumns | None = None,
        past: PastIndex | None = None,
    ) -> VectorMatches:
        """Return the stored facts nearest to the question and to each expansion, at most `limit` for each.

        Those of `past` are searched, too. What has expired is left out by `allowed`.

        The scores are whitened cosines, and plain cosines if nothing else finds facts (`is_alone`). Only
        the facts in `allowed` are searched. The embedder is not called for a scope without vectors.

        Raises:
            ModelError: the embedder could not answer.
        """
        queries = [question, *expansions]
        vectors = None if self._knows_dimensions else await self._embed(queries)
        cached = await self._load_vectors(scope)
        matches = VectorMatches(missing=cached.missing)
        if past is not None:
            cached = await run_in_thread(cached.with_past, past)
        if cached.matrix is None:
            return matches
        vectors = vectors or await self._embed(queries)
        is_allowed = None if allowed is None else allowed.indices_of_encoded(cached.encoded_ids) >= 0
        scores: dict[str, float] = {}
        cosines: dict[str, float] = {}
        for query, vector in zip(queries, vectors, strict=True):
            rows, row_scores, row_cosines = await run_in_thread(
                _nearest_rows, cached.matrix, vector, limit, is_allowed, whitens=not is_alone, min_cosine=-1.0
            )
            ids = [cached.ids[row] for row in rows.tolist()]
            if query == question:
                cosines = dict(zip(ids, row_cosines.tolist(), strict=True))
            else:
                row_scores = np.minimum(row_scores, row_scores * ADDED_QUERY_WEIGHT)
            for fact_id, score in zip(ids, row_scores.tolist(), strict=True):
                scores[fact_id] = max(score, scores.get(fact_id, score))
        return replace(matches, scores=scores, cosines=cosines)

    async def find_similar(
        self, scope: Scope, vector: Vector, *, limit: int, allowed: FactColumns | None = None
    ) -> dict[str, float]:
        """Return the cosines of the facts that are similar to a vector of the current embedder, at most `limit`."""
        cached = await self._load_vectors(scope)
        if cached.matrix is None:
            return {}
        is_allowed = None if allowed is None else allowed.indices_of_encoded(cached.encoded_ids) >= 0
        rows, _, cosines = await run_in_thread(
            _nearest_rows, cached.matrix, vector, limit, is_allowed, whitens=False, min_cosine=cached.similar_from
        )
        return {cached.ids[row]: cosine for row, cosine in zip(rows.tolist(), cosines.tolist(), strict=True)}

    async def compare(self, scope: Scope, vector: Vector, others: Sequence[StoredFact]) -> dict[str, float]:
        """Return the cosines of those of these facts that are as similar to a vector as `find_similar` asks for."""
        ids = [each.fact.id for each in others if each.embedder == self._embedder.identity]
        vectors = [each.vector for each in others if each.embedder == self._embedder.identity]
        if not ids:
            return {}
        similar_from = (await self._load_vectors(scope)).similar_from
        matrix = await run_in_thread(build_vector_matrix, np.array(vectors, dtype=np.float32))
        rows, _, cosines = _nearest_rows(matrix, vector, len(ids), None, whitens=False, min_cosine=similar_from)
        return {ids[row]: cosine for row, cosine in zip(rows.tolist(), cosines.tolist(), strict=True)}

    async def similarity_threshold(self, scope: Scope) -> float:
        """Return the cosine from which on two facts of a scope are similar."""
        return (await self._load_vectors(scope)).similar_from

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
        key = ("vectors", scope, self._embedder.identity)
        cached: _CachedVectors | None = self._cache.get(key)
        if cached is not None:
            async with self._database.single_statement(only_reads=True) as tx:
                if (await self._facts.state(tx, scope)).revision == cached.revision:
                    return cached
        async with self._database.read_transaction() as tx:
            revision = (await self._facts.state(tx, scope)).revision
            ids, rows = await self._changed_vectors(tx, scope, cached)
            if rows is None:
                ids, rows = await self._facts.vectors(tx, scope, self._embedder.identity)
            has_other, is_waiting = await self._facts.missing_vectors(tx, scope, self._embedder.identity)
        matrix = await run_in_thread(build_vector_matrix, rows) if len(ids) else None
        encoded_ids = await run_in_thread(encode_ids, ids)
        similar_from = DEFAULT_COSINE if matrix is None else similarity_threshold(matrix.rows)
        missing = (*[OTHER_VECTORS] * has_other, *[VECTOR_STAGE] * is_waiting)
        loaded = _CachedVectors(revision, missing, ids, encoded_ids, matrix, similar_from)
        self._cache.put(key, loaded)
        return loaded

    async def _changed_vectors(
        self, tx: Transaction, scope: Scope, cached: _CachedVectors | None
    ) -> tuple[list[str], NDArray[np.float32] | None]:
        """Return the cached vectors with those of changed facts; None where a fact has none, which may be filled in."""
        if cached is None or cached.matrix is None:
            return [], None
        current = await self._facts.ids(tx, scope)
        changed, new_rows = await self._facts.vectors(
            tx, scope, self._embedder.identity, since_revision=cached.revision
        )
        is_kept = set(current).difference(changed)
        places = [place for place, fact_id in enumerate(cached.ids) if fact_id in is_kept]
        if len(places) + len(changed) < len(current):
            return [], None
        ids = [*(cached.ids[place] for place in places), *changed]
        kept_rows = cached.matrix.rows[places]
        return ids, np.concatenate([kept_rows, new_rows]) if changed else kept_rows


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
    scores = matrix.whitened_cosines(query) if whitens and len(matrix.rows) >= MIN_WHITENED_FACTS else cosines
    is_near = (cosines > min_cosine) & (length > 0)
    rows = np.flatnonzero(is_near if is_allowed is None else is_near & is_allowed)
    if len(rows) > limit:
        rows = rows[np.argpartition(-scores[rows], limit - 1)[:limit]]
    return rows, scores[rows], cosines[rows]


@dataclass(frozen=True, slots=True)
class VectorMatrix:
    """Unit vectors as rows, their mean, and the distance of each from the mean."""

    rows: NDArray[np.float32]
    mean: NDArray[np.float32]
    mean_distances: NDArray[np.float32]

    @_ignores_unused_lanes
    def cosines(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine of each row to a unit vector."""
        return np.asarray(self.rows @ query)

    @_ignores_unused_lanes
    def whitened_cosines(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the whitened cosine of each row to a unit vector, from -1 to 1.

        It is the cosine after subtracting the mean, in which directions of great variance count less. That a fact is
        about Maria says little if half of the facts are, as with a frequent word.
        """
        whitened_query = self._precision_times(query - self.mean)
        length = np.linalg.norm(whitened_query)
        if length < _MIN_LENGTH:
            return np.zeros_like(self.mean_distances)
        similarities = self.rows @ whitened_query - self.mean @ whitened_query
        return np.divide(
            similarities,
            self.mean_distances * length,
            out=np.zeros_like(similarities),
            where=self.mean_distances > _MIN_LENGTH,
        )

    def _precision_times(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the product of `query` and the inverse of covariance + REGULARIZATION, by conjugate gradients.

        Inverting the matrix would take seconds for long vectors.
        """
        sample = self.rows[:: -(-len(self.rows) // MAX_SAMPLE_VECTORS)]
        sample_mean = sample.mean(axis=0)
        solution, direction, residual = np.zeros_like(query), query, query
        for _ in range(CONJUGATE_GRADIENT_STEPS):
            residual_norm = residual @ residual
            if residual_norm < _MIN_LENGTH**2:
                break
            covariance_direction = (sample @ direction - sample_mean @ direction) @ sample / len(
                sample
            ) + REGULARIZATION * direction
            step_size = residual_norm / (direction @ covariance_direction)
            solution, residual = solution + step_size * direction, residual - step_size * covariance_direction
            direction = residual + (residual @ residual) / residual_norm * direction
        return solution


def build_vector_matrix(rows: NDArray[np.float32]) -> VectorMatrix:
    """Return rows of any length as unit vectors; a row that is zero or not finite becomes zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=np.isfinite(lengths) & (lengths > 0))
    mean = unit.mean(axis=0)
    return VectorMatrix(unit, mean, np.linalg.norm(unit - mean, axis=1))
