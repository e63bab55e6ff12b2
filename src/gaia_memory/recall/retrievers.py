"""Retrievers, which find facts by their words, by their date and by their vectors."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.errors import BadAnswerError
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.models import Candidate, Scope, Vector
from gaia_memory.ports import Database, Embedder, FactStore, Retriever
from gaia_memory.recall.index.whitened_cosine import VectorMatrix, build_vector_matrix
from gaia_memory.recall.query.dates import parse_dates
from gaia_memory.recall.query.parsed_query import parse_query
from gaia_memory.recall.ranking.rank import DATE_RETRIEVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _VectorScorer = Callable[[VectorMatrix, NDArray[np.float32]], NDArray[np.float32]]

MAX_CACHED_SCOPES = 16
"""Scopes whose vectors are cached."""

MAX_EVENT_LOOP_ELEMENTS = 2_000_000
"""Elements of a matrix from which on its arithmetic runs off the event loop."""

MAX_YEARS_BACK = 10
"""Years in which a month without a year is searched, counted from the latest."""

_WIDENING_FACTOR = 8
"""Factor by which the limit grows if too few of the found facts are allowed."""

MIN_HASHED_COSINE = 0.2
"""Cosine up to which vectors of hashed words are alike by chance."""


@dataclass(frozen=True, slots=True)
class FilteredRetriever:
    """A retriever limited to some facts of a scope; it still finds as many as requested."""

    retriever: Retriever
    fact_ids: Collection[str]

    @property
    def name(self) -> str:
        """The name shown in `Hit.why`."""
        return self.retriever.name

    async def retrieve(self, scope: Scope, query: str, *, limit: int) -> list[Candidate]:
        """Return the allowed facts that the retriever finds, best first."""
        fetch_limit = limit
        while True:
            found = await self.retriever.retrieve(scope, query, limit=fetch_limit)
            allowed = [each for each in found if each.fact_id in self.fact_ids]
            if len(allowed) >= limit or len(found) < fetch_limit:
                return allowed[:limit]
            fetch_limit *= _WIDENING_FACTOR


class KeywordRetriever:
    """Finds facts by their words."""

    def __init__(self, database: Database, facts: FactStore) -> None:
        self._database = database
        self._facts = facts

    @property
    def name(self) -> str:
        """The name shown in `Hit.why`."""
        return "keywords"

    async def retrieve(self, scope: Scope, query: str, *, limit: int) -> list[Candidate]:
        """Return facts that share a word with `query`, in any of its forms, best first; stop words are ignored."""
        terms = [sorted(same) for same in parse_query(query).words]
        if not terms:
            return []
        # One form of each word first, because the index truncates long queries.
        first, others = [same[0] for same in terms], [each for same in terms for each in same[1:]]
        async with self._database.read_transaction() as tx:
            return await self._facts.match(tx, scope, " ".join([*first, *others]), limit=limit)


class DateRetriever:
    """Finds facts by `said_at` if a question names a month or a year; they need not share a word with it."""

    def __init__(self, database: Database, facts: FactStore) -> None:
        self._database = database
        self._facts = facts

    @property
    def name(self) -> str:
        """The name shown in `Hit.why`."""
        return DATE_RETRIEVER

    async def retrieve(self, scope: Scope, query: str, *, limit: int) -> list[Candidate]:
        """Return facts said in the years or months or on the days in `query`, the latest first."""
        mentions = parse_dates(query)
        if not mentions.months and not mentions.years:
            return []
        async with self._database.read_transaction() as tx:
            years = [] if mentions.years else await self._facts.years(tx, scope)
            intervals = mentions.intervals(years[-MAX_YEARS_BACK:])
            found = await self._facts.said_between(tx, scope, intervals, limit=limit)
        return [Candidate(fact_id=fact_id, score=mentions.relevance(intervals[0][0])) for fact_id in found]


@dataclass(frozen=True, slots=True)
class _CachedVectors:
    """The vectors of a scope at `revision`; None if there are none."""

    revision: int
    ids: list[str]
    vectors: VectorMatrix | None


class VectorRetriever:
    """Finds facts by their vectors, with an exact search over all vectors of the scope.

    Only vectors of the current embedder are compared; other facts are left to the keywords. The scores are whitened
    cosines, and the plain cosine is the similarity. The vectors of the last few scopes are cached until their revision
    changes. If `is_sole_retriever` returns true, nothing else finds facts: then the scores are plain cosines, without a
    minimum.
    """

    def __init__(
        self,
        database: Database,
        facts: FactStore,
        embedder: Embedder,
        *,
        is_sole_retriever: Callable[[], bool] = lambda: False,
    ) -> None:
        self._database = database
        self._facts = facts
        self._embedder = embedder
        self._is_sole_retriever = is_sole_retriever
        self._cache: OrderedDict[tuple[Scope, str], _CachedVectors] = OrderedDict()

    @property
    def name(self) -> str:
        """The name shown in `Hit.why`: `hashed` for vectors of words without meanings."""
        return "hashed" if self._is_hashed else "vectors"

    @property
    def _is_hashed(self) -> bool:
        return self._embedder.identity.startswith("offline/")

    async def retrieve(self, scope: Scope, query: str, *, limit: int) -> list[Candidate]:
        """Return the nearest facts, best first; the embedder is not called for a scope without vectors.

        Raises:
            ModelError: the embedder could not answer.
        """
        if self._is_hashed and not index_tokens(query):
            # Without words nothing is hashed, and all such texts would be equal.
            return []
        query_vector = None if self._knows_dimensions else await self._embed_query(query)
        cached = await self._load_vectors(scope)
        if cached.vectors is None:
            return []
        if query_vector is None:
            query_vector = await self._embed_query(query)
        rows = cached.vectors.rows
        if len(query_vector) != rows.shape[1]:
            raise BadAnswerError(
                f"{self._embedder.identity} returned {len(query_vector)} numbers, but its vectors have {rows.shape[1]}"
            )
        scorer = VectorMatrix.cosines if self._is_hashed or self._is_sole_retriever() else VectorMatrix.whitened_cosines
        min_cosine = MIN_HASHED_COSINE if self._is_hashed and not self._is_sole_retriever() else -1.0
        if rows.size >= MAX_EVENT_LOOP_ELEMENTS:
            return await asyncio.to_thread(
                _nearest_facts, cached.ids, cached.vectors, query_vector, limit, min_cosine, scorer
            )
        return _nearest_facts(cached.ids, cached.vectors, query_vector, limit, min_cosine, scorer)

    @property
    def _knows_dimensions(self) -> bool:
        """Whether the embedder knows its dimensions; some learn them from their first vector."""
        return not self._embedder.identity.endswith("/?")

    async def _embed_query(self, query: str) -> Vector:
        vectors = await self._embedder.embed([query], purpose="search")
        if len(vectors) != 1:
            raise BadAnswerError(f"{self._embedder.identity} returned {len(vectors)} vectors for one text")
        return vectors[0]

    async def _load_vectors(self, scope: Scope) -> _CachedVectors:
        key = (scope, self._embedder.identity)
        async with self._database.read_transaction() as tx:
            revision = (await self._facts.state(tx, scope)).revision
            cached = self._cache.get(key)
            if cached is not None and cached.revision == revision:
                self._cache.move_to_end(key)
                return cached
            ids, rows = await self._facts.vectors(tx, scope, self._embedder.identity)
        loaded = _CachedVectors(revision, ids, await asyncio.to_thread(build_vector_matrix, rows) if len(ids) else None)
        self._cache[key] = loaded
        self._cache.move_to_end(key)
        while len(self._cache) > MAX_CACHED_SCOPES:
            self._cache.popitem(last=False)
        return loaded


def build_retrievers(
    database: Database, facts: FactStore, embedder: Embedder, *, is_sole_retriever: Callable[[], bool]
) -> list[Retriever]:
    """Return all retrievers; `is_sole_retriever` returns whether only vectors are switched on."""
    return [
        KeywordRetriever(database, facts),
        DateRetriever(database, facts),
        VectorRetriever(database, facts, embedder, is_sole_retriever=is_sole_retriever),
    ]


def _nearest_facts(
    ids: Sequence[str], vectors: VectorMatrix, vector: Vector, limit: int, min_cosine: float, scorer: _VectorScorer
) -> list[Candidate]:
    """Return the facts with the best scores among those with a cosine above the minimum."""
    unit_query = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(unit_query))
    if not np.isfinite(length) or length == 0.0:
        return []
    unit_query = unit_query / np.float32(length)
    cosines, scores = vectors.cosines(unit_query), scorer(vectors, unit_query)
    rows = np.flatnonzero(cosines > min_cosine)
    if len(rows) > limit:
        rows = rows[np.argpartition(-scores[rows], limit - 1)[:limit]]
    found = [
        Candidate(fact_id=ids[row], score=float(scores[row]), similarity=float(cosines[row])) for row in rows.tolist()
    ]
    return sorted(found, key=lambda candidate: (-candidate.score, candidate.fact_id))
