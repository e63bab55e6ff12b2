"""Recall: retrieve, fuse, rank, cut to the budget."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gaia_memory.errors import MemoryUnavailable, ModelError
from gaia_memory.log import logger_for
from gaia_memory.models import Candidate, Fact, FactPredicate, Hit, RecallResult, Scope, index_fact
from gaia_memory.ports import Clock, Database, FactStore, LanguageModel, Reranker, Retriever
from gaia_memory.recall.index.candidates import build_candidate_matrix, select_candidates
from gaia_memory.recall.index.column_cache import ColumnCache
from gaia_memory.recall.index.fact_columns import FactColumns
from gaia_memory.recall.index.neighbours import MAX_TURNS_APART
from gaia_memory.recall.query.expansion import (
    EXPANSION_STAGE,
    ExpandedQuery,
    generate_expansions,
    merge_candidates,
    with_expansions,
)
from gaia_memory.recall.query.parsed_query import parse_query, truncate_middle
from gaia_memory.recall.ranking.adaptive_limit import BROAD_LIMIT, adaptive_limit
from gaia_memory.recall.ranking.diversity import DIVERSITY_WINDOW, diversify
from gaia_memory.recall.ranking.normalise import CONFIDENCE_SAMPLE_SIZE, answer_confidence, merge_hits, to_hits
from gaia_memory.recall.ranking.rank import DATE_RETRIEVER, KEYWORD_RETRIEVER, RankedFact, rank
from gaia_memory.recall.ranking.rerank import RERANK_STAGE, blend_reranker_scores
from gaia_memory.recall.ranking.token_budget import cut_to_budget
from gaia_memory.recall.retrievers import FilteredRetriever
from gaia_memory.recall.settings import RecallSettings
from gaia_memory.telemetry import log_fields

logger = logger_for(__name__)

_REMEDY = "check the memory database (`memory.database_url`) and the embedder (`memory.embedder`), then ask again"
_OFFLINE_PREFIX = "offline/"

CandidatesByRetriever = Mapping[str, Sequence[Candidate]]


@dataclass(frozen=True, slots=True)
class _Ranking:
    """Facts of a shelf in their order, what was found for the question itself, and who could not answer."""

    columns: FactColumns
    ranked: list[RankedFact]
    own_candidates: CandidatesByRetriever
    missing: set[str]


@dataclass(frozen=True, slots=True)
class _Request:
    """A question as each scope is asked it: with the model's other words, or its name where it had none in time."""

    query: str
    expansions: list[str]
    expanded: ExpandedQuery
    settings: RecallSettings
    limit: int | None
    predicate: FactPredicate | None
    failed_expansion: tuple[str, ...]

    @property
    def queries(self) -> list[str]:
        return [self.query, *self.expansions]


@dataclass(frozen=True, slots=True)
class _ScopeResult:
    """The best facts of one scope, at most `limit`, and who could not answer."""

    hits: list[Hit]
    limit: int
    missing: tuple[str, ...]


class Recall:
    """Answers a question with the facts of one scope.

    All retrievers are asked at once. One that fails or takes longer than `settings.seconds` costs its share of
    the answer, and the hits name it; so it is with the rewriting and the reranker, where they are switched on.
    `settings` and `reranker` are asked for at each question, so that they may change meanwhile.
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

        Without a limit it is 3, 5 or 10, as the question and the scores ask for. A hit's score lies between 0 and 1:
        its parts over those of the best hit, times how well the question is answered at all. That is the share of the
        question's words that a fact holds, or the cosine of a fact's vector, whichever is greater over the best few.
        So a `threshold` drops weak hits, and everything when the question has nothing to do with what is known.
        `Hit.why` adds up to the score.

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
        """Return what `recall` does, with what it left out and what could not answer.

        Facts that are not `predicate` do not exist for this question. The scopes `extra_scopes` are asked the same, and
        the best of all come first: how well a question is answered is told apart in one scope as in another.

        Raises:
            MemoryUnavailable: no retriever could answer.
        """
        if not query.strip() or (limit is not None and limit < 1):
            return RecallResult()
        query, settings = truncate_middle(query), _effective_settings(self._settings)
        expansions, failed_expansion = await self._generate_expansions(scope, query, settings)
        expanded = with_expansions(parse_query(query), expansions)
        request = _Request(query, expansions, expanded, settings, limit, predicate, failed_expansion)
        # One after the other: the first one's vector of the question serves them all.
        results = [await self._recall_scope(each, request) for each in dict.fromkeys((scope, *extra_scopes))]
        limit = max(answer.limit for answer in results)
        failed = tuple(dict.fromkeys(name for answer in results for name in answer.missing))
        best = merge_hits([answer.hits for answer in results])[:limit]
        hits = cut_to_budget(best, limit=limit, threshold=threshold, tokens=settings.tokens)
        kept_ids = {hit.fact.id for hit in hits}
        dropped = tuple(hit for hit in best if hit.fact.id not in kept_ids)
        return RecallResult(
            hits=tuple(hits), dropped=dropped, limit=limit, missing=failed, expansions=tuple(expansions)
        )

    async def _recall_scope(self, scope: Scope, request: _Request) -> _ScopeResult:
        query, expanded, settings = request.query, request.expanded, request.settings
        allowed_ids, retrievers = await self._filter_retrievers(scope, request.predicate)
        columns = await self._load_columns(scope, settings)
        if columns is None:
            ranking = await self._rank_candidates(scope, request, retrievers, allowed_ids)
        else:
            ranking = await self._rank_columns(scope, _select_ids(columns, allowed_ids), request, retrievers)
        confidence = answer_confidence(expanded.question, ranking.ranked, ranking.own_candidates)
        if expanded.expansions:
            confidence = max(
                confidence,
                expanded.expansion_confidence(await self._load_texts(scope, ranking.ranked[:CONFIDENCE_SAMPLE_SIZE])),
            )
        ranked, failed_rerank = await self._rerank(scope, query, ranking.ranked, settings)
        ranked = await asyncio.to_thread(diversify, ranked, ranking.columns, settings.diversity)
        limit = adaptive_limit(query, [item.total for item in ranked]) if request.limit is None else request.limit
        missing = (*sorted(ranking.missing), *request.failed_expansion, *failed_rerank)
        return _ScopeResult(
            to_hits(*await self._take_existing(scope, ranked, limit), confidence, missing), limit, missing
        )

    async def _filter_retrievers(
        self, scope: Scope, predicate: FactPredicate | None
    ) -> tuple[set[str] | None, Sequence[Retriever]]:
        """Return the ids of the facts that are meant, None for all, and what finds no others."""
        if predicate is None:
            return None, self._retrievers
        async with self._database.read_transaction() as tx:
            allowed_ids = set(await self._facts.ids_matching(tx, scope, predicate))
        return allowed_ids, [FilteredRetriever(each, allowed_ids) for each in self._retrievers]

    async def _load_columns(self, scope: Scope, settings: RecallSettings) -> FactColumns | None:
        """Return the scope in memory, unless it is too large or its words do not count."""
        return None if self._column_cache is None or not settings.keywords else await self._column_cache.get(scope)

    async def _rank_columns(
        self, scope: Scope, columns: FactColumns, request: _Request, retrievers: Sequence[Retriever]
    ) -> _Ranking:
        """Put all facts of a shelf in order; a filler is asked only where they are fewer than are wanted."""
        settings, expanded, wanted_count = request.settings, request.expanded, request.limit or BROAD_LIMIT
        first = max(wanted_count, DIVERSITY_WINDOW, settings.rerank_first)
        active = [
            each
            for each in retrievers
            if each.name not in (KEYWORD_RETRIEVER, DATE_RETRIEVER) and _retriever_weight(each, settings)
        ]
        primaries = [each for each in active if each.name not in settings.fallback_retrievers]
        answers, failed = await self._ask_retrievers(primaries, scope, request.query, settings)
        own_candidates, found, missing = await self._retrieve_expansions(
            primaries, scope, request.expansions, answers, failed, settings
        )
        if settings.dates:
            dated = {DATE_RETRIEVER: columns.match_dates(expanded.question.dates)}
            own_candidates, found = {**own_candidates, **dated}, {**found, **dated}

        def rank_found(found: CandidatesByRetriever) -> list[RankedFact]:
            found_ids = {each.fact_id for candidates in found.values() for each in candidates}
            pool = select_candidates(columns, expanded.question, expanded.weigh_terms, found_ids)
            return rank(expanded.question, pool, _best_scores(found), self._clock.now(), settings, limit=first)

        ranked = await asyncio.to_thread(rank_found, found)
        fallbacks = [each for each in active if each.name in settings.fallback_retrievers]
        if fallbacks and len(ranked) < wanted_count:
            answers, failed = await self._ask_retrievers(fallbacks, scope, request.query, settings)
            own_candidates, found, missing = (
                {**own_candidates, **answers},
                {**found, **answers},
                missing | failed.keys(),
            )
            ranked = await asyncio.to_thread(rank_found, found)
        return _Ranking(columns, ranked, own_candidates, missing)

    async def _rank_candidates(
        self, scope: Scope, request: _Request, retrievers: Sequence[Retriever], allowed_ids: Collection[str] | None
    ) -> _Ranking:
        """Put the facts in order that the retrievers find, and what stands beside them."""
        settings, expanded = request.settings, request.expanded
        own_candidates, found, missing = await self._retrieve(scope, request.queries, retrievers, settings)
        facts, idf = await self._load_facts_and_idf(scope, expanded, found, settings)
        facts = [fact for fact in facts if allowed_ids is None or fact.id in allowed_ids]

        def rank_facts() -> _Ranking:
            pool = build_candidate_matrix(expanded.question, idf, [index_fact(fact) for fact in facts])
            ranked = rank(expanded.question, pool, _best_scores(found), self._clock.now(), settings)
            return _Ranking(pool.columns, ranked, own_candidates, missing)

        # Some milliseconds of arithmetic over several hundred facts: turns of others go on meanwhile.
        return await asyncio.to_thread(rank_facts)

    async def _take_existing(
        self, scope: Scope, ranked: list[RankedFact], limit: int
    ) -> tuple[list[RankedFact], dict[str, Fact]]:
        """Return the first that are still there, at most `limit`, and their facts."""
        facts = await self._load_facts(scope, ranked[:limit])
        if len(facts) < min(limit, len(ranked)):
            # Some were forgotten while this was asked: what stands behind them moves up.
            facts |= await self._load_facts(scope, ranked[limit:])
        return [item for item in ranked if item.fact_id in facts][:limit], facts

    async def _load_texts(self, scope: Scope, ranked: Sequence[RankedFact]) -> list[str]:
        return [fact.text for fact in (await self._load_facts(scope, ranked)).values()]

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
            _log_failure(EXPANSION_STAGE, scope, error)
            return [], (EXPANSION_STAGE,)

    async def _rerank(
        self, scope: Scope, query: str, ranked: list[RankedFact], settings: RecallSettings
    ) -> tuple[list[RankedFact], tuple[str, ...]]:
        reranker = None if self._reranker is None else self._reranker()
        if reranker is None or not settings.rerank_share or min(settings.rerank_first, len(ranked)) < 2:
            return ranked, ()
        facts = await self._load_facts(scope, ranked[: settings.rerank_first])
        ranked = [item for place, item in enumerate(ranked) if place >= settings.rerank_first or item.fact_id in facts]
        texts = [facts[item.fact_id].text for item in ranked[: len(facts)]]
        try:
            async with asyncio.timeout(settings.seconds):
                scores = await reranker.score(query, texts)
        except (ModelError, TimeoutError) as error:
            _log_failure(RERANK_STAGE, scope, error)
            return ranked, (RERANK_STAGE,)
        return blend_reranker_scores(ranked, scores, settings.rerank_share), ()

    async def _retrieve(
        self, scope: Scope, queries: Sequence[str], retrievers: Sequence[Retriever], settings: RecallSettings
    ) -> tuple[CandidatesByRetriever, CandidatesByRetriever, set[str]]:
        """Ask every retriever that counts.

        Raises:
            MemoryUnavailable: none could answer.
        """
        retrievers = [each for each in retrievers if _retriever_weight(each, settings)]
        found, failed = await self._ask_retrievers(retrievers, scope, queries[0], settings)
        if not found.keys() - {DATE_RETRIEVER}:
            # A question without a date gives that retriever nothing to fail at.
            raise _unavailable_error(failed)
        return await self._retrieve_expansions(retrievers, scope, queries[1:], found, failed, settings)

    async def _retrieve_expansions(
        self,
        retrievers: Sequence[Retriever],
        scope: Scope,
        queries: Sequence[str],
        found: dict[str, list[Candidate]],
        failed: Mapping[str, Exception],
        settings: RecallSettings,
    ) -> tuple[CandidatesByRetriever, CandidatesByRetriever, set[str]]:
        """Ask those that answered the question for the added queries, too.

        Return what they found for the question, what for all, and who could not answer.
        """
        responsive = [each for each in retrievers if each.name in found]
        expansion_answers = await asyncio.gather(
            *(self._ask_retrievers(responsive, scope, each, settings) for each in queries)
        )
        missing = {*failed, *(name for _, lost in expansion_answers for name in lost)}
        return (
            found,
            merge_candidates(found, [answers for answers, _ in expansion_answers]) if expansion_answers else found,
            missing,
        )

    async def _ask_retrievers(
        self, retrievers: Sequence[Retriever], scope: Scope, query: str, settings: RecallSettings
    ) -> tuple[dict[str, list[Candidate]], dict[str, Exception]]:
        primaries = [each for each in retrievers if each.name not in settings.fallback_retrievers]
        answers = await asyncio.gather(*(self._ask_retriever(each, scope, query, settings) for each in primaries))
        if not any(isinstance(answer, list) and len(answer) >= settings.candidates for _, answer in answers):
            # What only these find comes below all else: there is no need of it behind enough.
            fallbacks = [each for each in retrievers if each.name in settings.fallback_retrievers]
            answers += await asyncio.gather(*(self._ask_retriever(each, scope, query, settings) for each in fallbacks))
        found = {name: answer for name, answer in answers if isinstance(answer, list)}
        return found, {name: answer for name, answer in answers if not isinstance(answer, list)}

    async def _ask_retriever(
        self, retriever: Retriever, scope: Scope, query: str, settings: RecallSettings
    ) -> tuple[str, list[Candidate] | Exception]:
        try:
            async with asyncio.timeout(settings.seconds):
                return retriever.name, await retriever.retrieve(scope, query, limit=settings.candidates)
        except Exception as error:  # a retriever may fail in ways of its own, and must cost no more than its share
            _log_failure(retriever.name, scope, error)
            return retriever.name, error

    async def _load_facts_and_idf(
        self, scope: Scope, expanded: ExpandedQuery, found: CandidatesByRetriever, settings: RecallSettings
    ) -> tuple[list[Fact], list[float]]:
        """Read the found ids and what stands beside them, and how rare each term of the question is.

        Within the scope: a retriever's word is not enough.
        """
        primary_ids = {
            each.fact_id
            for name in found.keys() - settings.fallback_retrievers - {DATE_RETRIEVER}
            for each in found[name]
        }
        fallback_ids = {each.fact_id for name in found for each in found[name]} - primary_ids
        question = expanded.question
        if not primary_ids and not fallback_ids:
            return [], [0.0] * len(question.terms)
        async with self._database.read_transaction() as tx:
            neighbours = await self._facts.neighbours_of(tx, scope, primary_ids, MAX_TURNS_APART)
            fallback_facts = await self._facts.get(tx, scope, fallback_ids - {fact.id for fact in neighbours})
            idf = await self._facts.idf(tx, scope, question.words)
        return [*neighbours, *fallback_facts.values()], expanded.weigh_terms(idf)


def _effective_settings(settings: RecallSettings | Callable[[], RecallSettings]) -> RecallSettings:
    """Return the settings in force; where the words are off, no retriever is a mere filler behind them."""
    settings = settings if isinstance(settings, RecallSettings) else settings()
    return settings if settings.keywords else replace(settings, fallback_retrievers=frozenset())


def _select_ids(columns: FactColumns, allowed_ids: Collection[str] | None) -> FactColumns:
    """Return a shelf of these facts alone."""
    if allowed_ids is None:
        return columns
    indices = columns.indices_of(allowed_ids)
    return columns.select(np.sort(indices[indices >= 0]))


def _retriever_weight(retriever: Retriever, settings: RecallSettings) -> float:
    return {KEYWORD_RETRIEVER: settings.keywords, DATE_RETRIEVER: settings.dates}.get(retriever.name, settings.vectors)


def _log_failure(name: str, scope: Scope, error: Exception) -> None:
    kind = type(error).__name__
    fields = log_fields("recall.partial", scope, retriever=name, error=kind)
    logger.warning("recall goes on without %s: %s", name, kind, extra=fields)


def _unavailable_error(failed: Mapping[str, Exception]) -> MemoryUnavailable:
    """Return the error that says why nobody could answer, with the remedy of the first who knows one."""
    explained = [error for error in failed.values() if isinstance(error, MemoryUnavailable)]
    reasons = [
        f"{name}: {error.reason if isinstance(error, MemoryUnavailable) else type(error).__name__}"
        for name, error in failed.items()
    ]
    remedy = next((error.remedy for error in explained if error.remedy), _REMEDY)
    return MemoryUnavailable(
        f"no way of searching could answer ({', '.join(reasons) or 'none is configured'})", remedy=remedy
    )


def _best_scores(found: CandidatesByRetriever) -> dict[str, dict[str, float]]:
    """Return the best score each retriever gave a fact; one that is no number counts as 0."""
    scores: dict[str, dict[str, float]] = {name: {} for name in found}
    for name, candidates in found.items():
        for each in candidates:
            score = each.score if math.isfinite(each.score) else 0.0
            scores[name][each.fact_id] = max(score, scores[name].get(each.fact_id, score))
    return scores
