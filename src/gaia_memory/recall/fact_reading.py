"""The part of `Memory` that answers questions and lists facts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from datetime import datetime
from math import inf
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.models import (
    Fact,
    Filters,
    Hit,
    Origin,
    Page,
    PointInTime,
    RecallResult,
    Scope,
    compile_filters,
    require_scopes,
)
from gaia_memory.models.validation import require_time
from gaia_memory.ports import Clock, Embedder
from gaia_memory.recall.browse import MAX_PAGE_FACTS, load_page
from gaia_memory.recall.pipeline import QuestionTime, Recall
from gaia_memory.recall.visibility import Visibility, VisibilityOptions, require_visibility

if TYPE_CHECKING:
    from gaia_memory.ledger.memory_stores import MemoryStores


def read_moment(as_of: datetime | None, known_at: datetime | None, now: datetime) -> PointInTime | None:
    """Return the times of a question, None for one about the present as it is known.

    Raises:
        InvalidInputError: one of them has no time zone.
    """
    if as_of is None and known_at is None:
        return None
    at = now if as_of is None else require_time("as_of", as_of)
    return PointInTime(at.timestamp(), inf if known_at is None else require_time("known_at", known_at).timestamp())


class FactReadingMixin:
    """Reads facts: the best ones for a question, pages of them, and where they come from."""

    clock: Clock
    stores: MemoryStores
    recaller: Recall

    @property
    @abstractmethod
    def config(self) -> GaiaConfig:
        """The settings in force."""

    @property
    @abstractmethod
    def embedder(self) -> Embedder:
        """What makes the vectors of facts."""

    @abstractmethod
    async def _require(self, scope: object, *, enabled: bool = True) -> None:
        """Check that `scope` is a scope and memory is open, and, if `enabled`, on."""

    async def recall(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int | None = None,
        filters: Filters | None = None,
        extra_scopes: Sequence[Scope] = (),
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        **visibility: Unpack[VisibilityOptions],
    ) -> list[Hit]:
        """Return the facts that answer a question best, at most `limit` (default `memory.recall_limit`).

        A blank question has no answer: the list is empty. `filters`, in mem0's form, select the facts that may answer:
        `{"category": "health"}`, `{"said_at": {"gte": "2026-03-01"}}`. Facts of `extra_scopes`, such as those of a
        family, may answer, too, and with `memory.app_facts` those of the app; `hit.fact.scope` says whose a fact is.

        With `context`, only facts of that context and `global` ones answer; by default those of every context.
        Sensitive facts answer only with `include_sensitive`, or if the words `person_said` name them.

        `as_of` asks for what was true at a time, past facts included, and `known_at` for what was known about it at
        another: with `known_at` alone, about now.

        Raises:
            InvalidInputError: the query is no text, `limit` is not from 1 to 1000, the filters have another form, a
                time has no time zone, or an item of `extra_scopes` is no scope.
            MemoryUnavailable: the database does not answer, or only vectors could answer and the embedder failed.
        """
        about = QuestionTime(read_moment(as_of, known_at, self.clock.now()))
        result = await self._recall(scope, query, limit, filters, extra_scopes, about, require_visibility(**visibility))
        return list(result.hits)

    async def explain(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int | None = None,
        filters: Filters | None = None,
        extra_scopes: Sequence[Scope] = (),
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        **visibility: Unpack[VisibilityOptions],
    ) -> RecallResult:
        """Return the hits of `recall` with what it dropped and what failed; raises what `recall` raises.

        Without `as_of` and `known_at`, `outdated` are the facts that have ended and would have been hits.
        """
        moment = read_moment(as_of, known_at, self.clock.now())
        about = QuestionTime(moment, with_outdated=moment is None)
        return await self._recall(scope, query, limit, filters, extra_scopes, about, require_visibility(**visibility))

    async def _recall(
        self,
        scope: Scope,
        query: str,
        limit: int | None,
        filters: Filters | None,
        extra_scopes: Sequence[Scope],
        about: QuestionTime,
        visibility: Visibility,
    ) -> RecallResult:
        await self._require(scope)
        require_scopes("extra_scopes", extra_scopes)
        settings = self.config.memory
        if settings.app_facts:
            extra_scopes = (*extra_scopes, Scope.app_wide(scope.app or self.config.app))
        if limit is None and settings.recall_limit != "auto":
            limit = settings.recall_limit
        return await self.recaller.recall(
            scope,
            query,
            limit=limit,
            threshold=settings.score_threshold,
            predicate=None if filters is None else compile_filters(filters),
            extra_scopes=extra_scopes,
            visibility=visibility,
            about=about,
        )

    async def facts(self, scope: Scope) -> list[Fact]:
        """Return every current fact, oldest first."""
        await self._require(scope)
        async with self.stores.database.read_transaction() as tx:
            return await self.stores.facts.facts(tx, scope)

    async def get(self, scope: Scope, fact_ids: Collection[str]) -> dict[str, Fact]:
        """Return the current facts with these ids, by id; unknown and foreign ids are left out."""
        await self._require(scope)
        async with self.stores.database.read_transaction() as tx:
            return await self.stores.facts.get(tx, scope, fact_ids)

    async def browse(
        self,
        scope: Scope,
        *,
        filters: Filters | None = None,
        offset: int = 0,
        limit: int = MAX_PAGE_FACTS,
        include_origins: bool = False,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> Page:
        """Return a page of the current facts that pass the `filters`, oldest first; `page.origins` if wanted.

        `as_of` and `known_at` are those of `recall`.

        Raises:
            InvalidInputError: `offset` is below 0, `limit` is not from 1 to 100, the filters have another form, or a
                time has no time zone.
        """
        moment = read_moment(as_of, known_at, self.clock.now())
        await self._require(scope)
        predicate = None if filters is None else compile_filters(filters)
        return await load_page(
            self.stores, scope, predicate, moment, offset=offset, limit=limit, include_origins=include_origins
        )

    async def sources(self, scope: Scope, fact_id: str) -> list[Origin]:
        """Return where a fact comes from, with what the person said, oldest first; [] for an unknown or foreign id."""
        await self._require(scope)
        async with self.stores.database.read_transaction() as tx:
            return (await self.stores.facts.provenance.origins(tx, scope, [fact_id])).get(fact_id, [])

    async def holding(self, scope: Scope, words: str, *, limit: int) -> list[Fact]:
        """Return the facts that contain one of these words in any form, best first; calls no embedder."""
        await self._require(scope)
        return await self.recaller.find_by_words(scope, words, limit=limit)

    async def similar(self, scope: Scope, fact_id: str, *, limit: int = 3) -> list[Fact]:
        """Return the facts that a current one may contradict or repeat, most similar first; calls no model."""
        await self._require(scope)
        async with self.stores.database.read_transaction() as tx:
            known = (await self.stores.facts.history.stored(tx, scope, [fact_id])).get(fact_id)
        if known is None:
            return []
        vector = known.vector if known.embedder == self.embedder.identity else None
        found = await self.recaller.find_similar(scope, known.fact.text, vector, left_out=fact_id)
        return [each.fact for each in found[:limit]]

    async def count(self, scope: Scope) -> int:
        """Count the current facts."""
        await self._require(scope)
        async with self.stores.database.read_transaction() as tx:
            return await self.stores.facts.count(tx, scope)
