"""Recall: parse the question, rank facts, rerank, cut to the budget."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gaia_memory.errors import ModelError
from gaia_memory.models import Fact, FactPredicate, Hit, RecallResult, Scope
from gaia_memory.ports import Clock, Database, FactStore, LanguageModel, Reranker, Retriever
from gaia_memory.recall.index.column_cache import ColumnCache
from gaia_memory.recall.query.expansion import (
    EXPANSION_STAGE,
    ExpandedQuery,
    generate_expansions,
    with_expansions,
)
from gaia_memory.recall.query.parsed_query import parse_query, truncate_middle
from gaia_memory.recall.rank_candidates import rank_candidates
from gaia_memory.recall.rank_columns import rank_columns
from gaia_memory.recall.ranking.adaptive_limit import BROAD_LIMIT, adaptive_limit
from gaia_memory.recall.ranking.diversity import diversify
from gaia_memory.recall.ranking.normalise import CONFIDENCE_SAMPLE_SIZE, answer_confidence, merge_hits, to_hits
from gaia_memory.recall.ranking.rank import RankedFact
from gaia_memory.recall.ranking.rerank import RERANK_STAGE, blend_reranker_scores
from gaia_memory.recall.ranking.token_budget import cut_to_budget
from gaia_memory.recall.retrieval import Ranking, ScopeRequest, log_failure
from gaia_memory.recall.retrievers import FilteredRetriever
from gaia_memory.recall.settings import RecallSettings

_OFFLINE_PREFIX = "offline/"


@dataclass(frozen=True, slots=True)
class _Question:
    """A question for any scope, with the settings in force; `failed_expansion` names that stage if it failed."""

    query: str
    expansions: list[str]
    expanded: ExpandedQuery
    settings: RecallSettings
    limit: int | None
    predicate: FactPredicate | None
    failed_expansion: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _ScopeResult:
    """The best facts of one scope, at most `limit`, and the retrievers and models that failed."""

    hits: list[Hit]
    limit: int
    missing: tuple[str, ...]


class Recall:
    """Answers a question with the facts of one scope or several.

    All retrievers are asked at once. One that fails or takes longer than `settings.seconds` costs its share of the
    answer, and the hits name it. The same holds for query expansion and the reranker, where they are switched on.
    `settings` and `reranker` are called at each question, so that they may change at any time.
    """

    def __init__(
        self,
        database: Database,
        facts: FactStore,
        retrievers: Sequence[Retriever],
        clock: Clock,
        *,
        settings: RecallSettings | Callable[[], RecallSettings] | None = None,
        column_cache: ColumnCache | None = None,
        language_model: LanguageModel | None = None,
        reranker: Callable[[], Reranker | None] | None = None,
    ) -> None:
        self._database = database
        self._facts = facts
        self._retrievers = tuple(retrievers)
        self._clock = clock
        self._settings = settings or RecallSettings()
        self._column_cache = column_cache
        self._language_model = language_model
        self._reranker = reranker

    async def recall(self, scope: Scope, query: str, *, limit: int | None, threshold: float | None = None) -> list[Hit]:
        """Return the facts that answer `query` best, at most `limit`; none for a blank query.

        Without a limit it is 3, 5 or 10, depending on the question and the scores. The score of a hit lies between 0
        and 1: its total relative to the best hit's, times the confidence that the question is answered at all. The
        confidence is the share of the question's words in a fact or the cosine of a fact's vector, whichever is greater
        among the best facts. So a `threshold` drops weak hits, and all hits if the question is unrelated to the facts.
        The values of `Hit.why` add up to the score.

        Raises:
            MemoryUnavailable: no retriever could answer.
        """
        return list((await self.explain(scope, query, limit=limit, threshold=threshold)).hits)

    async def explain(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int | None,
        threshold: float | None = None,
        predicate: FactPredicate | None = None,
        extra_scopes: Sequence[Scope] = (),
    ) -> RecallResult:
        """Return what `recall` returns, with the hits it dropped and the retrievers that failed.

        Only facts for which `predicate` is true are considered. The scopes `extra_scopes` are asked the same question,
        and the hits of all are sorted by score: scores are comparable between scopes.

        Raises:
            MemoryUnavailable: no retriever could answer.
        """
        if not query.strip() or (limit is not None and limit < 1):
            return RecallResult()
        query, settings = truncate_middle(query), _effective_settings(self._settings)
        expansions, failed_expansion = await self._generate_expansions(scope, query, settings)
        expanded = with_expansions(parse_query(query), expansions)
        question = _Question(query, expansions, expanded, settings, limit, predicate, failed_expansion)
        # One after the other: the vector of the question is computed for the first and cached for the others.
        results = [await self._recall_scope(each, question) for each in dict.fromkeys((scope, *extra_scopes))]
        limit = max(answer.limit for answer in results)
        failed = tuple(dict.fromkeys(name for answer in results for name in answer.missing))
        best = merge_hits([answer.hits for answer in results])[:limit]
        hits = cut_to_budget(best, limit=limit, threshold=threshold, tokens=settings.tokens)
        kept_ids = {hit.fact.id for hit in hits}
        dropped = tuple(hit for hit in best if hit.fact.id not in kept_ids)
        return RecallResult(
            hits=tuple(hits), dropped=dropped, limit=limit, missing=failed, expansions=tuple(expansions)
        )

    async def _recall_scope(self, scope: Scope, question: _Question) -> _ScopeResult:
        expanded, settings = question.expanded, question.settings
        ranking = await self._rank(scope, question)
        confidence = answer_confidence(expanded.question, ranking.ranked, ranking.retrieved.own_candidates)
        if expanded.expansions:
            sample = await self._load_facts(scope, ranking.ranked[:CONFIDENCE_SAMPLE_SIZE])
            texts = [fact.text for fact in sample.values()]
            confidence = max(confidence, expanded.expansion_confidence(texts))
        ranked, failed_rerank = await self._rerank(scope, question.query, ranking.ranked, settings)
        ranked = await asyncio.to_thread(diversify, ranked, ranking.columns, settings.diversity)
        limit = question.limit or adaptive_limit(question.query, [item.total for item in ranked])
        missing = (*sorted(ranking.retrieved.missing), *question.failed_expansion, *failed_rerank)
        existing, facts = await self._take_existing(scope, ranked, limit)
        return _ScopeResult(to_hits(existing, facts, confidence, missing), limit, missing)

    async def _rank(self, scope: Scope, question: _Question) -> Ranking:
        """Rank the facts of a scope by its columns if they are in memory, else with the database."""
        retrievers: Sequence[Retriever] = self._retrievers
        allowed_ids: set[str] | None = None
        if question.predicate is not None:
            async with self._database.read_transaction() as tx:
                allowed_ids = set(await self._facts.ids_matching(tx, scope, question.predicate))
            retrievers = [FilteredRetriever(each, allowed_ids) for each in retrievers]
        request = ScopeRequest(
            scope=scope,
            query=question.query,
            expansions=question.expansions,
            expanded=question.expanded,
            settings=question.settings,
            retrievers=retrievers,
            wanted_count=question.limit or BROAD_LIMIT,
        )
        columns = None
        if self._column_cache is not None and question.settings.keywords:
            columns = await self._column_cache.get(scope)
        if columns is None:
            return await rank_candidates(request, self._database, self._facts, allowed_ids, self._clock.now())
        if allowed_ids is not None:
            indices = columns.indices_of(allowed_ids)
            columns = columns.select(np.sort(indices[indices >= 0]))
        return await rank_columns(request, columns, self._clock.now())

    async def _take_existing(
        self, scope: Scope, ranked: list[RankedFact], limit: int
    ) -> tuple[list[RankedFact], dict[str, Fact]]:
        """Return the first facts that still exist, at most `limit`, and load them."""
        facts = await self._load_facts(scope, ranked[:limit])
        if len(facts) < min(limit, len(ranked)):
            # Some were forgotten in the meantime: the next ones move up.
            facts |= await self._load_facts(scope, ranked[limit:])
        return [item for item in ranked if item.fact_id in facts][:limit], facts

    async def _load_facts(self, scope: Scope, ranked: Sequence[RankedFact]) -> dict[str, Fact]:
        async with self._database.read_transaction() as tx:
            return await self._facts.get(tx, scope, [each.fact_id for each in ranked])

    async def _generate_expansions(
        self, scope: Scope, query: str, settings: RecallSettings
    ) -> tuple[list[str], tuple[str, ...]]:
        model = self._language_model
        if not settings.rewrite or model is None or model.identity.startswith(_OFFLINE_PREFIX):
            return [], ()
        try:
            async with asyncio.timeout(settings.seconds):
                return await generate_expansions(model, query), ()
        except (ModelError, TimeoutError) as error:
            log_failure(EXPANSION_STAGE, scope, error)
            return [], (EXPANSION_STAGE,)

    async def _rerank(
        self, scope: Scope, query: str, ranked: list[RankedFact], settings: RecallSettings
    ) -> tuple[list[RankedFact], tuple[str, ...]]:
        reranker = None if self._reranker is None else self._reranker()
        if reranker is None or not settings.rerank_share or min(settings.rerank_first, len(ranked)) < 2:
            return ranked, ()
        facts = await self._load_facts(scope, ranked[: settings.rerank_first])
        ranked = [item for index, item in enumerate(ranked) if index >= settings.rerank_first or item.fact_id in facts]
        texts = [facts[item.fact_id].text for item in ranked[: len(facts)]]
        try:
            async with asyncio.timeout(settings.seconds):
                scores = await reranker.score(query, texts)
        except (ModelError, TimeoutError) as error:
            log_failure(RERANK_STAGE, scope, error)
            return ranked, (RERANK_STAGE,)
        return blend_reranker_scores(ranked, scores, settings.rerank_share), ()


def _effective_settings(settings: RecallSettings | Callable[[], RecallSettings]) -> RecallSettings:
    """Return the settings in force; with keywords off, no retriever is a fallback."""
    settings = settings if isinstance(settings, RecallSettings) else settings()
    return settings if settings.keywords else replace(settings, fallback_retrievers=frozenset())
