"""The ways of finding facts: by their words, by when they were said, and by their vectors."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.errors import BadAnswerError
from gaia_memory.language.tokenizer import indexed_words
from gaia_memory.models import Candidate, Scope, Vector
from gaia_memory.ports import Database, Embedder, FactStore, Retriever
from gaia_memory.recall.index.whitened_cosine import Vectors, vectors_of
from gaia_memory.recall.query.dates import dates_in
from gaia_memory.recall.query.parsed_query import read
from gaia_memory.recall.ranking.rank import DATES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Scored = Callable[[Vectors, NDArray[np.float32]], NDArray[np.float32]]

CACHED_SCOPES = 16
LARGE = 2_000_000
"""Numbers in a matrix from which on arithmetic with it leaves the event loop."""

LATEST_YEARS = 10
"""How many years back a month is looked for that is named without one."""

_FURTHER = 8
"""How many times as many facts are looked for where too few of those found are meant."""

HASHED_FLOOR = 0.2
"""Cosine up to which vectors of hashed words only share chance."""


@dataclass(frozen=True, slots=True)
class Among:
    """A retriever that finds only these facts of a scope: as many of them as it is asked for."""

    retriever: Retriever
    fact_ids: Collection[str]

    @property
    def name(self) -> str:
        """The name shown in `Hit.why`."""
        return self.retriever.name

    async def retrieve(self, scope: Scope, query: str, *, limit: int) -> list[Candidate]:
        """Return what the retriever finds among these facts, best first."""
        wanted = limit
        while True:
            found = await self.retriever.retrieve(scope, query, limit=wanted)
            among = [each for each in found if each.fact_id in self.fact_ids]
            if len(among) >= limit or len(found) < wanted:
                return among[:limit]
            wanted *= _FURTHER


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
        """Return facts that share a word with `query`, in any of its forms, best first; function words do not count."""
        terms = [sorted(same) for same in read(query).words]
        if not terms:
            return []
        # One form of each word first: of a long question the index looks up only so many.
        first, others = [same[0] for same in terms], [each for same in terms for each in same[1:]]
        async with self._database.reading() as tx:
            return await self._facts.match(tx, scope, " ".join([*first, *others]), limit=limit)


class DateRetriever:
    """Finds facts by when they were said, where a question names a month or a year: none may hold its words."""

    def __init__(self, database: Database, facts: FactStore) -> None:
        self._database = database
        self._facts = facts

    @property
    def name(self) -> str:
        """The name shown in `Hit.why`."""
        return DATES

    async def retrieve(self, scope: Scope, query: str, *, limit: int) -> list[Candidate]:
        """Return facts said in the years or months or on the days that `query` names, the latest first."""
        named = dates_in(query)
        if not named.months and not named.years:
            return []
        async with self._database.reading() as tx:
            years = [] if named.years else await self._facts.years(tx, scope)
            spans = named.spans(years[-LATEST_YEARS:])
            found = await self._facts.said_in(tx, scope, spans, limit=limit)
        return [Candidate(fact_id=fact_id, score=named.worth(spans[0][0])) for fact_id in found]


@dataclass(frozen=True, slots=True)
class _Matrix:
    """A scope's vectors as they were at `revision`; None where there are none."""

    revision: int
    ids: list[str]
    vectors: Vectors | None


class VectorRetriever:
    """Finds facts by their vectors, exactly, over all vectors of the scope.

    Only vectors of the embedder in use count: those of another one are left to the keywords. The scores are contrasts,
    beside the cosines. A scope's vectors are kept in memory until its revision changes, for the last few scopes.
    `is_alone` says whether nothing else finds facts: then scores are cosines, and chance is better than nothing.
    """

    def __init__(
        self,
        database: Database,
        facts: FactStore,
        embedder: Embedder,
        *,
        is_alone: Callable[[], bool] = lambda: False,
    ) -> None:
        self._database = database
        self._facts = facts
        self._embedder = embedder
        self._is_alone = is_alone
        self._cache: OrderedDict[tuple[Scope, str], _Matrix] = OrderedDict()

    @property
    def name(self) -> str:
        """The name shown in `Hit.why`: `hashed` where the vectors know words but no meanings."""
        return "hashed" if self._hashed else "vectors"

    @property
    def _hashed(self) -> bool:
        return self._embedder.identity.startswith("offline/")

    async def retrieve(self, scope: Scope, query: str, *, limit: int) -> list[Candidate]:
        """Return the nearest facts, best first; a scope without vectors costs no call of the embedder.

        Raises:
            ModelError: the embedder could not answer.
        """
        if self._hashed and not indexed_words(query):
            # Of signs alone nothing is hashed: all such texts would be alike.
            return []
        asked = None if self._knows_itself else await self._embedded(query)
        matrix = await self._matrix(scope)
        if matrix.vectors is None:
            return []
        if asked is None:
            asked = await self._embedded(query)
        rows = matrix.vectors.rows
        if len(asked) != rows.shape[1]:
            raise BadAnswerError(
                f"{self._embedder.identity} gave {len(asked)} numbers where its vectors have {rows.shape[1]}"
            )
        scored = Vectors.cosines if self._hashed or self._is_alone() else Vectors.contrasts
        floor = HASHED_FLOOR if self._hashed and not self._is_alone() else -1.0
        if rows.size >= LARGE:
            return await asyncio.to_thread(_nearest, matrix.ids, matrix.vectors, asked, limit, floor, scored)
        return _nearest(matrix.ids, matrix.vectors, asked, limit, floor, scored)

    @property
    def _knows_itself(self) -> bool:
        """Say whether the embedder can name its dimensions already; some learn them from their first vector."""
        return not self._embedder.identity.endswith("/?")

    async def _embedded(self, query: str) -> Vector:
        vectors = await self._embedder.embed([query], purpose="search")
        if len(vectors) != 1:
            raise BadAnswerError(f"{self._embedder.identity} gave {len(vectors)} vectors for one text")
        return vectors[0]

    async def _matrix(self, scope: Scope) -> _Matrix:
        key = (scope, self._embedder.identity)
        async with self._database.reading() as tx:
            revision = (await self._facts.state(tx, scope)).revision
            kept = self._cache.get(key)
            if kept is not None and kept.revision == revision:
                self._cache.move_to_end(key)
                return kept
            ids, rows = await self._facts.vectors(tx, scope, self._embedder.identity)
        matrix = _Matrix(revision, ids, await asyncio.to_thread(vectors_of, rows) if len(ids) else None)
        self._cache[key] = matrix
        self._cache.move_to_end(key)
        while len(self._cache) > CACHED_SCOPES:
            self._cache.popitem(last=False)
        return matrix


def retrievers(
    database: Database, facts: FactStore, embedder: Embedder, *, is_alone: Callable[[], bool]
) -> list[Retriever]:
    """Return every way of finding facts; `is_alone` says whether vectors are the only one in force."""
    return [
        KeywordRetriever(database, facts),
        DateRetriever(database, facts),
        VectorRetriever(database, facts, embedder, is_alone=is_alone),
    ]


def _nearest(
    ids: Sequence[str], vectors: Vectors, vector: Vector, limit: int, floor: float, scored: _Scored
) -> list[Candidate]:
    """Return those with the best scores, among whose cosines are above the floor."""
    asked = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(asked))
    if not np.isfinite(length) or length == 0.0:
        return []
    asked = asked / np.float32(length)
    cosines, scores = vectors.cosines(asked), scored(vectors, asked)
    places = np.flatnonzero(cosines > floor)
    if len(places) > limit:
        places = places[np.argpartition(-scores[places], limit - 1)[:limit]]
    found = [
        Candidate(fact_id=ids[place], score=float(scores[place]), likeness=float(cosines[place]))
        for place in places.tolist()
    ]
    return sorted(found, key=lambda candidate: (-candidate.score, candidate.fact_id))
