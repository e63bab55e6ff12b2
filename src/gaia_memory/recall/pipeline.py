"""Recall: parse the question, rank facts, rerank, cut to the budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gaia_memory.config.sections.memory_section import MemoryConfig
from gaia_memory.config.sections.recall_section import RecallConfig, ScoreThreshold
from gaia_memory.database.bounded_waits import run_detached
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.model_calls import asking_about, time_limit
from gaia_memory.models import (
    Fact,
    FactPredicate,
    Hit,
    OutdatedHit,
    PointInTime,
    RecallResult,
    Scope,
)
from gaia_memory.models.fact import OTHER_VECTORS
from gaia_memory.models.validation import raise_invalid, require_int
from gaia_memory.ports import Clock, Embedder, LanguageModel, Reranker
from gaia_memory.recall.fact_pool import FactPool, FactPools
from gaia_memory.recall.index.bounded_cache import BoundedCache
from gaia_memory.recall.index.candidates import select_candidates
from gaia_memory.recall.index.column_cache import ColumnCache
from gaia_memory.recall.index.fact_columns import FactColumns
from gaia_memory.recall.index.vector_search import VECTOR_STAGE, VectorMatches, VectorSearch
from gaia_memory.recall.query.expansion import (
    EXPANSION_STAGE,
    ExpandedQuery,
    generate_expansions,
    with_expansions,
)
from gaia_memory.recall.query.parsed_query import parse_query, truncate_middle
from gaia_memory.recall.ranking.confidence import SILENT_BELOW, answer_confidence
from gaia_memory.recall.ranking.near_equal import NEAR_EQUAL_WINDOW, newest_first
from gaia_memory.recall.ranking.rank import (
    MAX_AUTO_LIMIT,
    RankedFact,
    cap_scores,
    count_relevant,
    merge_hits,
    rank,
    to_hits,
    to_outdated,
)
from gaia_memory.recall.ranking.rerank import RERANK_STAGE, attempt, blend_reranker_scores
from gaia_memory.recall.ranking.token_budget import cut_to_budget
from gaia_memory.recall.similar_fact_search import SimilarFactMixin
from gaia_memory.recall.visibility import Visibility
from gaia_memory.redaction.credentials import mask_credentials
from gaia_memory.telemetry import memory_span
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts import FactStore

MAX_LIMIT = 1_000
"""The highest `limit` of one recall."""

EVERY_CONTEXT = Visibility()
"""What a host sees that does not ask for sensitive facts."""

_OFFLINE_PREFIX = "offline/"
_LATE_REMEDY = "check whether another process has locked the memory database, or raise `memory.recall.seconds`"


@dataclass(frozen=True, slots=True)
class QuestionTime:
    """The time that a question is about, None for now; `with_outdated` looks for ended facts, too, which takes longer.

    These are the facts that would have been among the hits.
    """

    moment: PointInTime | None = None
    with_outdated: bool = False


PRESENT = QuestionTime()


@dataclass(frozen=True, slots=True)
class _Question:
    """A question for any scope, with the settings in force; `failed_expansion` names that stage if it failed.

    `trusts_all`: an unconfirmed fact is ranked as any other.
    """

    query: str
    expansions: list[str]
    expanded: ExpandedQuery
    settings: RecallConfig
    limit: int | None
    predicate: FactPredicate | None
    visibility: Visibility
    about: QuestionTime
    failed_expansion: tuple[str, ...]
    trusts_all: bool


@dataclass(frozen=True, slots=True)
class _ScopeResult:
    """The best facts of one scope, at most `limit`, what failed, and what would have been among them."""

    hits: list[Hit]
    limit: int
    missing: tuple[str, ...]
    outdated: list[OutdatedHit]


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


class Recall(SimilarFactMixin):
    """Answers a question with the facts of one scope or several.

    The columns in memory answer by words and dates, the embedder by vectors. An embedder that fails or is late costs
    its share of the answer, and the hits name it. The same holds for query expansion and the reranker, where they are
    switched on. The whole answer takes at most `memory.recall.seconds`. `settings` is called at each question, so that
    they may change; "yesterday" is that of `memory.time_zone`.
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
        cache = BoundedCache(lambda: settings().recall.cache_mb * 1_000_000)
        self._columns = ColumnCache(database, facts, cache, clock)
        self._pools = FactPools(database, facts, self._columns, models.embedder)
        self._vectors = VectorSearch(database, facts, models.embedder, cache)
        self._clock = clock
        self._models = models
        self._settings = settings

    async def recall(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int | None,
        threshold: ScoreThreshold | None = None,
        predicate: FactPredicate | None = None,
        extra_scopes: Sequence[Scope] = (),
        visibility: Visibility = EVERY_CONTEXT,
        about: QuestionTime = PRESENT,
    ) -> RecallResult:
        """Return the facts that answer `query` best, at most `limit`, with the hits it dropped and what failed.

        Without a limit there are up to 10, as far as their totals are not noise beside the best. The score of a hit
        lies between 0 and 1: its total relative to the best hit's, times the confidence that the question is
        answered at all. So a `threshold` drops weak hits, and all hits if the question is unrelated to the facts;
        `auto` only the latter. The values of `Hit.why` add up to the score. With `memory.trust: person`, what is
        unconfirmed stands behind all other hits.

        Only facts that `visibility` shows and for which `predicate` is true are considered. The scopes `extra_scopes`
        are asked the same question, and the hits of all are sorted by score: scores are comparable between scopes.
        A question `about` another time is answered by what held then, and its "yesterday" is the day before.

        Raises:
            InvalidInputError: the query is no text, or `limit` is not from 1 to 1000.
            MemoryUnavailable: the database does not answer within `memory.recall.seconds`, or only vectors could answer
                and the embedder failed.
        """
        if not isinstance(query, str):
            raise_invalid("query", query, "pass what to look for as text")
        if limit is not None:
            require_int("limit", limit, minimum=1, maximum=MAX_LIMIT, fix=f"pass 1 to {MAX_LIMIT}")
        settings, trusts_all = self._settings().recall, self._settings().trust == "all"
        with memory_span("search_memory", scope) as span:
            if not query.strip():
                return RecallResult()
            scopes = list(dict.fromkeys((scope, *extra_scopes)))
            options: dict[str, Any] = {"predicate": predicate, "visibility": visibility, "about": about}
            asked = partial(_Question, limit=limit, trusts_all=trusts_all, **options)
            answering = self._answer(scopes, truncate_middle(query), settings, about, asked)
            try:
                async with time_limit(settings.seconds):
                    # Facts that are read for the first time serve the next question, even if this one is too late.
                    question, results = await run_detached(answering, keeps_running=True)
            except TimeoutError as error:
                raise MemoryUnavailable(
                    f"recall did not end within {settings.seconds:g} s", remedy=_LATE_REMEDY
                ) from error
            recalled = _merge_results(results, question, threshold=self._read_threshold(threshold))
            span.set_record_count(len(recalled.hits))
        return recalled

    async def _answer(
        self,
        scopes: Sequence[Scope],
        query: str,
        settings: RecallConfig,
        about: QuestionTime,
        asked: Callable[..., _Question],
    ) -> tuple[_Question, list[_ScopeResult]]:
        expansions, failed_expansion = await self._generate_expansions(scopes[0], query, settings)
        expanded = with_expansions(parse_query(query, self._local_time_of(about)), expansions)
        question = asked(query, expansions, expanded, settings, failed_expansion=failed_expansion)
        # One after the other: the vector of the question is computed for the first and cached for the others.
        return question, [each for scope in scopes for each in await self._recall_scope(scope, question)]

    def _read_threshold(self, threshold: ScoreThreshold | None) -> ScoreThreshold | None:
        return None if threshold == "auto" and not self._is_calibrated else threshold

    @property
    def _is_calibrated(self) -> bool:
        """Whether the confidence was measured with the embedder: the scores of others have no meaning of their own."""
        return self._models.embedder.identity.startswith(_OFFLINE_PREFIX)

    def _time_of(self, about: QuestionTime) -> datetime:
        return self._clock.now() if about.moment is None else datetime.fromtimestamp(about.moment.at, UTC)

    def _local_time_of(self, about: QuestionTime) -> datetime:
        asked_at, zone = self._time_of(about), self._settings().zone
        try:
            return asked_at.astimezone(zone)
        except OverflowError:
            # On the first or last day of the calendar.
            return asked_at.replace(tzinfo=zone)

    async def _recall_scope(self, scope: Scope, question: _Question) -> list[_ScopeResult]:
        """Return the answer of the confirmed facts, as if there were no others, then that of the unconfirmed ones."""
        pool = await self._pools.load(scope, question.visibility, question.predicate, question.about.moment)
        pools = [pool] if question.trusts_all else await run_in_thread(pool.by_trust)
        results = [await self._recall_pool(scope, question, each) for each in pools]
        if question.about.with_outdated:
            results[0].outdated.extend(await self._find_outdated(scope, question, results[0].limit))
        return results

    async def _recall_pool(self, scope: Scope, question: _Question, pool: FactPool) -> _ScopeResult:
        settings = question.settings
        ranked, confidence, failed_vectors = await self._rank(scope, question, pool)
        ranked, failed_rerank = await self._rerank(scope, question.query, ranked, settings, pool)
        ranked = await run_in_thread(newest_first, ranked, pool.columns)
        limit = question.limit or count_relevant(ranked)
        missing = (*failed_vectors, *question.failed_expansion, *failed_rerank)
        existing, facts = await self._take_existing(scope, ranked, limit, pool)
        return _ScopeResult(to_hits(existing, facts, confidence, missing), limit, missing, [])

    async def _find_outdated(self, scope: Scope, question: _Question, limit: int) -> list[OutdatedHit]:
        """Return what would have been among the first `limit` facts if it had not ended."""
        pool = await self._pools.load_everything(scope, question.visibility)
        ranked, confidence, _ = await self._rank(scope, question, pool)
        best = ranked[:limit]
        async with self._database.read_transaction() as tx:
            found = await self._facts.past.outdated(tx, scope, [item.fact_id for item in best])
        is_wanted = question.predicate or (lambda _: True)
        facts = {fact_id: fact for fact_id, (fact, _) in found.items() if is_wanted(fact)}
        return [to_outdated(hit, found[hit.fact.id][1]) for hit in to_hits(best, facts, confidence)]

    async def _rank(
        self, scope: Scope, question: _Question, pool: FactPool
    ) -> tuple[list[RankedFact], float, tuple[str, ...]]:
        """Rank the facts with words of the question, their neighbours, and the facts with near vectors.

        Return also how sure it is that they answer the question, and what failed.
        """
        weights = question.settings.weights
        matches = VectorMatches()
        failed: tuple[str, ...] = ()
        if weights.vectors:
            matches, failed = await self._find_vectors(scope, question, pool)
        ranked, confidence = await run_in_thread(
            _rank_columns, pool.columns, question, matches, is_calibrated=self._is_calibrated
        )
        return ranked, confidence, tuple(dict.fromkeys((*failed, *matches.missing)))

    async def _find_vectors(
        self, scope: Scope, question: _Question, pool: FactPool
    ) -> tuple[VectorMatches, tuple[str, ...]]:
        settings = question.settings
        is_alone = not settings.weights.keywords
        found = self._vectors.find(
            scope,
            question.query,
            question.expansions,
            limit=settings.candidates,
            is_alone=is_alone,
            allowed=pool.allowed,
            past=pool.past,
        )
        matches, failed = await attempt(found, VECTOR_STAGE, scope, settings)
        if failed and is_alone:
            raise MemoryUnavailable(
                "only vectors may be searched, and the embedder gave no answer",
                remedy="check the embedder (`memory.embedder`), then ask again",
            )
        return matches or VectorMatches(), failed

    async def _take_existing(
        self, scope: Scope, ranked: list[RankedFact], limit: int, pool: FactPool
    ) -> tuple[list[RankedFact], dict[str, Fact]]:
        """Return the first facts that still exist, at most `limit`, and load them."""
        facts = await self._pools.get(scope, [each.fact_id for each in ranked[:limit]], pool)
        if len(facts) < min(limit, len(ranked)):
            # Some were forgotten in the meantime: the next ones move up.
            facts |= await self._pools.get(scope, [each.fact_id for each in ranked[limit:]], pool)
        return [item for item in ranked if item.fact_id in facts][:limit], facts

    async def _generate_expansions(
        self, scope: Scope, query: str, settings: RecallConfig
    ) -> tuple[list[str], tuple[str, ...]]:
        model = self._models.language_model
        with asking_about(scope.app):
            if not settings.rewrite or model.identity.startswith(_OFFLINE_PREFIX):
                return [], ()
            words = generate_expansions(model, query)
            # The embedder, which is asked afterwards, has the other half.
            lines, failed = await attempt(words, EXPANSION_STAGE, scope, settings, share=0.5)
        return lines or [], failed

    async def _rerank(
        self, scope: Scope, query: str, ranked: list[RankedFact], settings: RecallConfig, pool: FactPool
    ) -> tuple[list[RankedFact], tuple[str, ...]]:
        reranker = self._models.reranker
        if reranker is None or not settings.rerank_share or min(settings.rerank_first, len(ranked)) < 2:
            return ranked, ()
        facts = await self._pools.get(scope, [each.fact_id for each in ranked[: settings.rerank_first]], pool)
        ranked = [item for index, item in enumerate(ranked) if index >= settings.rerank_first or item.fact_id in facts]
        allow_numbers = self._settings().allow_numbers
        texts = [
            mask_credentials(facts[item.fact_id].text, allow_numbers=allow_numbers) for item in ranked[: len(facts)]
        ]
        scores, failed = await attempt(reranker.score(query, texts), RERANK_STAGE, scope, settings)
        return ranked if scores is None else blend_reranker_scores(ranked, scores, settings.rerank_share), failed


def _rank_columns(
    columns: FactColumns, question: _Question, matches: VectorMatches, *, is_calibrated: bool
) -> tuple[list[RankedFact], float]:
    expanded, settings = question.expanded, question.settings
    extra_indices = columns.known_indices(matches.scores.keys())
    if settings.weights.dates:
        extra_indices = np.union1d(extra_indices, columns.find_dates(expanded.question.dates))
    matrix = select_candidates(columns, expanded, extra_indices, uses_words=settings.weights.keywords > 0)
    limit = max(question.limit or MAX_AUTO_LIMIT, NEAR_EQUAL_WINDOW, settings.rerank_first)
    ranked = rank(expanded, matrix, matches, settings, limit=limit)
    confidence = answer_confidence(expanded.question, matrix, matches, ranked, calibrated=is_calibrated)
    return ranked, confidence


def _merge_results(
    results: Sequence[_ScopeResult], question: _Question, *, threshold: ScoreThreshold | None
) -> RecallResult:
    limit = max(answer.limit for answer in results)
    found = merge_hits([answer.hits for answer in results], trusts_all=question.trusts_all)
    silent: set[str] = set()
    if threshold == "auto":
        # What cannot be compared by its vector may be the answer.
        compared = [answer.hits for answer in results if not {VECTOR_STAGE, OTHER_VECTORS} & set(answer.missing)]
        unanswered = (hits for hits in compared if hits and hits[0].score < SILENT_BELOW)
        silent, threshold = {hit.fact.id for hits in unanswered for hit in hits}, None
    answering = [hit for hit in found if hit.fact.id not in silent]
    hits = cut_to_budget(answering, limit=limit, threshold=threshold, tokens=question.settings.tokens)
    kept_ids = {hit.fact.id for hit in hits}
    return RecallResult(
        hits=tuple(cap_scores(hits)),
        dropped=tuple(hit for hit in found[:limit] if hit.fact.id not in kept_ids),
        limit=limit,
        outdated=tuple(hit for answer in results for hit in answer.outdated),
        missing=tuple(dict.fromkeys(name for answer in results for name in answer.missing)),
        expansions=tuple(question.expansions),
    )
