"""Recall: parse the question, rank facts, rerank, cut to the budget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

import numpy as np

from gaia_memory.config.schema import MemoryConfig
from gaia_memory.config.sections.recall_section import RecallConfig
from gaia_memory.errors import MemoryUnavailable, ModelError
from gaia_memory.log import logger_for
from gaia_memory.model_calls import asking_about, time_limit
from gaia_memory.models import Fact, FactPredicate, Hit, RecallResult, Scope
from gaia_memory.models.fact import OTHER_VECTORS
from gaia_memory.models.validation import raise_invalid, require_int
from gaia_memory.ports import Clock, Database, Embedder, FactStore, LanguageModel, Reranker
from gaia_memory.recall.index.candidates import select_candidates
from gaia_memory.recall.index.column_cache import ColumnCache
from gaia_memory.recall.index.fact_columns import FactColumns
from gaia_memory.recall.index.vector_search import VectorMatches, VectorSearch
from gaia_memory.recall.query.expansion import (
    EXPANSION_STAGE,
    ExpandedQuery,
    generate_expansions,
    with_expansions,
)
from gaia_memory.recall.query.parsed_query import parse_query, truncate_middle
from gaia_memory.recall.ranking import stages
from gaia_memory.recall.ranking.adaptive_limit import BROAD_LIMIT, adaptive_limit
from gaia_memory.recall.ranking.diversity import DIVERSITY_WINDOW, diversify
from gaia_memory.recall.ranking.normalise import merge_hits, to_hits
from gaia_memory.recall.ranking.rank import RankedFact, rank
from gaia_memory.recall.ranking.rerank import RERANK_STAGE, blend_reranker_scores
from gaia_memory.recall.ranking.token_budget import cut_to_budget
from gaia_memory.telemetry import log_fields, memory_span

logger = logger_for(__name__)

MAX_LIMIT = 1_000
"""The highest `limit` of one recall."""

CONFIDENCE_SAMPLE_SIZE = 10
"""Number of the best facts that determine the confidence that the question is answered."""

VECTOR_STAGE = "vectors"
_OFFLINE_PREFIX = "offline/"
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class _Question:
    """A question for any scope, with the settings in force; `failed_expansion` names that stage if it failed."""

    query: str
    expansions: list[str]
    expanded: ExpandedQuery
    settings: RecallConfig
    limit: int | None
    predicate: FactPredicate | None
    failed_expansion: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _ScopeResult:
    """The best facts of one scope, at most `limit`, and what failed."""

    hits: list[Hit]
    limit: int
    missing: tuple[str, ...]


class RecallModels(Protocol):
    """The models that recall calls; they are asked for at each question, so that the reranker may change."""

    @property
    def embedder(self) -> Embedder:
        """Embeds the question."""

    @property
    def language_model(self) -> LanguageModel:
        """Expands the question, if that is switched on."""

    @property
    def reranker(self) -> Reranker | None:
        """Orders the best facts again; None if there is no reranker."""


class Recall:
    """Answers a question with the facts of one scope or several.

    The columns in memory answer by words and dates, the embedder by vectors. An embedder that fails or takes longer
    than `memory.recall.seconds` costs its share of the answer, and the hits name it. The same holds for query expansion
    and the reranker, where they are switched on. `settings` is called at each question, so that they may change;
    "yesterday" is that of `memory.time_zone`.
    """

    def __init__(
        self,
        database: Database,
        facts: FactStore,
        models: RecallModels,
        clock: Clock,
        settings: Callable[[], MemoryConfig] = MemoryConfig,
    ) -> None:
        self._database = database
        self._facts = facts
        self._columns = ColumnCache(database, facts)
        self._vectors = VectorSearch(database, facts, models.embedder)
        self._clock = clock
        self._models = models
        self._settings = settings

    async def recall(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int | None,
        threshold: float | None = None,
        predicate: FactPredicate | None = None,
        extra_scopes: Sequence[Scope] = (),
    ) -> RecallResult:
        """Return the facts that answer `query` best, at most `limit`, with the hits it dropped and what failed.

        Without a limit it is 3, 5 or 10, depending on the question and the scores. The score of a hit lies between 0
        and 1: its total relative to the best hit's, times the confidence that the question is answered at all. So a
        `threshold` drops weak hits, and all hits if the question is unrelated to the facts. The values of `Hit.why` add
        up to the score.

        Only facts for which `predicate` is true are considered. The scopes `extra_scopes` are asked the same question,
        and the hits of all are sorted by score: scores are comparable between scopes.

        Raises:
            InvalidInputError: the query is no text, or `limit` is not from 1 to 1000.
            MemoryUnavailable: the database does not answer, or only vectors could answer and the embedder failed.
        """
        if not isinstance(query, str):
            raise_invalid("query", query, "pass what to look for as text")
        if limit is not None:
            require_int("limit", limit, minimum=1, maximum=MAX_LIMIT, fix=f"pass 1 to {MAX_LIMIT}")
        with memory_span("search_memory", scope) as span:
            if not query.strip():
                return RecallResult()
            query, settings = truncate_middle(query), self._settings().recall
            expansions, failed_expansion = await self._generate_expansions(scope, query, settings)
            expanded = with_expansions(parse_query(query, self._local_now()), expansions)
            question = _Question(query, expansions, expanded, settings, limit, predicate, failed_expansion)
            # One after the other: the vector of the question is computed for the first and cached for the others.
            results = [await self._recall_scope(each, question) for each in dict.fromkeys((scope, *extra_scopes))]
            recalled = _merge_results(results, question, threshold=threshold)
            span.set_record_count(len(recalled.hits))
        return recalled

    def _local_now(self) -> datetime:
        return self._clock.now().astimezone(self._settings().zone)

    async def find_by_words(self, scope: Scope, words: str, *, limit: int) -> list[Fact]:
        """Return the facts that contain one of these words, in any of its forms, best first; asks no model."""
        columns = await self._columns.get(scope)
        fact_ids = await asyncio.to_thread(_ids_by_words, columns, words, limit)
        async with self._database.read_transaction() as tx:
            found = await self._facts.get(tx, scope, fact_ids)
        return [found[fact_id] for fact_id in fact_ids if fact_id in found]

    async def _recall_scope(self, scope: Scope, question: _Question) -> _ScopeResult:
        settings = question.settings
        columns, ranked, failed_vectors = await self._rank(scope, question)
        confidence = max((item.confidence for item in ranked[:CONFIDENCE_SAMPLE_SIZE]), default=0.0)
        ranked, failed_rerank = await self._rerank(scope, question.query, ranked, settings)
        ranked = await asyncio.to_thread(diversify, ranked, columns, settings.weights.diversity)
        limit = question.limit or adaptive_limit(question.query, [item.total for item in ranked])
        missing = (*failed_vectors, *question.failed_expansion, *failed_rerank)
        existing, facts = await self._take_existing(scope, ranked, limit)
        return _ScopeResult(to_hits(existing, facts, confidence, missing), limit, missing)

    async def _rank(self, scope: Scope, question: _Question) -> tuple[FactColumns, list[RankedFact], tuple[str, ...]]:
        """Rank the facts with words of the question, their neighbours, and the facts with near vectors.

        Vectors of hashed words are searched only if words find fewer facts than wanted.
        """
        columns, allowed_ids = await self._columns.get(scope), None
        if question.predicate is not None:
            async with self._database.read_transaction() as tx:
                allowed_ids = set(await self._facts.ids_matching(tx, scope, question.predicate))
            columns = columns.select(np.sort(columns.known_indices(allowed_ids)))
        weights, now = question.settings.weights, self._clock.now()
        is_fallback = self._vectors.is_hashed and weights.keywords > 0
        matches = VectorMatches()
        failed: tuple[str, ...] = ()
        if weights.vectors and not is_fallback:
            matches, failed = await self._find_vectors(scope, question, allowed_ids)
        ranked = await asyncio.to_thread(_rank_columns, columns, question, matches, now)
        if weights.vectors and is_fallback and len(ranked) < (question.limit or BROAD_LIMIT):
            matches, failed = await self._find_vectors(scope, question, allowed_ids)
            ranked = await asyncio.to_thread(_rank_columns, columns, question, matches, now)
        return columns, ranked, (*failed, OTHER_VECTORS) if matches.is_partial else failed

    async def _find_vectors(
        self, scope: Scope, question: _Question, allowed_ids: set[str] | None
    ) -> tuple[VectorMatches, tuple[str, ...]]:
        settings = question.settings
        is_alone = not settings.weights.keywords
        found = self._vectors.find(
            scope,
            question.query,
            question.expansions,
            limit=settings.candidates,
            is_alone=is_alone,
            allowed_ids=allowed_ids,
        )
        matches, failed = await _attempt(found, VECTOR_STAGE, scope, settings.seconds)
        if failed and is_alone:
            raise MemoryUnavailable(
                "only vectors may be searched, and the embedder gave no answer",
                remedy="check the embedder (`memory.embedder`), then ask again",
            )
        return matches or VectorMatches(), failed

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
        self, scope: Scope, query: str, settings: RecallConfig
    ) -> tuple[list[str], tuple[str, ...]]:
        model = self._models.language_model
        with asking_about(scope.app):
            if not settings.rewrite or model.identity.startswith(_OFFLINE_PREFIX):
                return [], ()
            lines, failed = await _attempt(generate_expansions(model, query), EXPANSION_STAGE, scope, settings.seconds)
        return lines or [], failed

    async def _rerank(
        self, scope: Scope, query: str, ranked: list[RankedFact], settings: RecallConfig
    ) -> tuple[list[RankedFact], tuple[str, ...]]:
        reranker = self._models.reranker
        if reranker is None or not settings.rerank_share or min(settings.rerank_first, len(ranked)) < 2:
            return ranked, ()
        facts = await self._load_facts(scope, ranked[: settings.rerank_first])
        ranked = [item for index, item in enumerate(ranked) if index >= settings.rerank_first or item.fact_id in facts]
        texts = [facts[item.fact_id].text for item in ranked[: len(facts)]]
        scores, failed = await _attempt(reranker.score(query, texts), RERANK_STAGE, scope, settings.seconds)
        return ranked if scores is None else blend_reranker_scores(ranked, scores, settings.rerank_share), failed


async def _attempt(
    answer: Awaitable[_Answer], name: str, scope: Scope, seconds: float
) -> tuple[_Answer | None, tuple[str, ...]]:
    """Return a model's answer, or None and the name of what failed; the log has only the type of the error."""
    try:
        async with time_limit(seconds):
            return await answer, ()
    except (ModelError, TimeoutError) as error:
        kind = type(error).__name__
        fields = log_fields("recall.partial", scope, retriever=name, error=kind)
        reason = f"no answer within {seconds:g} s" if isinstance(error, TimeoutError) else kind
        logger.warning("recall goes on without %s: %s", name, reason, extra=fields)
        return None, (name,)


def _rank_columns(columns: FactColumns, question: _Question, matches: VectorMatches, now: datetime) -> list[RankedFact]:
    expanded, settings = question.expanded, question.settings
    extra_indices = columns.known_indices(matches.scores.keys())
    if settings.weights.dates:
        extra_indices = np.union1d(extra_indices, columns.find_dates(expanded.question.dates))
    matrix = select_candidates(columns, expanded, extra_indices, uses_words=settings.weights.keywords > 0)
    limit = max(question.limit or BROAD_LIMIT, DIVERSITY_WINDOW, settings.rerank_first)
    return rank(expanded, matrix, matches, now, settings, limit=limit)


def _merge_results(results: Sequence[_ScopeResult], question: _Question, *, threshold: float | None) -> RecallResult:
    limit = max(answer.limit for answer in results)
    best = merge_hits([answer.hits for answer in results])[:limit]
    hits = cut_to_budget(best, limit=limit, threshold=threshold, tokens=question.settings.tokens)
    kept_ids = {hit.fact.id for hit in hits}
    return RecallResult(
        hits=tuple(hits),
        dropped=tuple(hit for hit in best if hit.fact.id not in kept_ids),
        limit=limit,
        missing=tuple(dict.fromkeys(name for answer in results for name in answer.missing)),
        expansions=tuple(question.expansions),
    )


def _ids_by_words(columns: FactColumns, words: str, limit: int) -> list[str]:
    """Return the facts that contain one of these words, also as the name of the speaker, the best by BM25 first."""
    question = parse_query(words)
    if not len(columns) or not question.terms:
        return []
    in_name = columns.match_speakers(question)
    named_indices = np.flatnonzero(np.any(in_name[columns.speakers.codes], axis=1))
    matrix = select_candidates(columns, with_expansions(question, []), named_indices)
    has_term = matrix.has_term | in_name[matrix.speakers]
    counts, lengths = has_term.sum(axis=0), columns.lengths[matrix.fact_indices]
    idf = np.log(1 + (len(columns) - counts + 0.5) / (counts + 0.5))
    scores = has_term @ idf / (1 - stages.BM25_B + stages.BM25_B * lengths / columns.lengths.mean())
    rows = np.flatnonzero(has_term.any(axis=1))
    best = rows[np.lexsort((matrix.ids[rows], -scores[rows]))][:limit]
    return [fact_id.decode() for fact_id in matrix.ids[best].tolist()]
