"""Asks all retrievers at once, each with a time limit, for the question and its expansions."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gaia_memory.errors import MemoryUnavailable
from gaia_memory.log import logger_for
from gaia_memory.models import Candidate, Scope
from gaia_memory.ports import Retriever
from gaia_memory.recall.index.fact_columns import FactColumns
from gaia_memory.recall.query.expansion import ExpandedQuery, merge_candidates
from gaia_memory.recall.ranking.rank import DATE_RETRIEVER, KEYWORD_RETRIEVER, RankedFact
from gaia_memory.recall.settings import RecallSettings
from gaia_memory.telemetry import log_fields

logger = logger_for(__name__)

_REMEDY = "check the memory database (`memory.database_url`) and the embedder (`memory.embedder`), then ask again"

CandidatesByRetriever = Mapping[str, Sequence[Candidate]]


@dataclass(frozen=True, slots=True)
class ScopeRequest:
    """A question to one scope, with its expansions, settings and retrievers; `wanted_count` facts are to be ranked."""

    scope: Scope
    query: str
    expansions: Sequence[str]
    expanded: ExpandedQuery
    settings: RecallSettings
    retrievers: Sequence[Retriever]
    wanted_count: int


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Candidates for the question itself (`own_candidates`) and for all queries, and the failed retrievers."""

    own_candidates: CandidatesByRetriever
    candidates: CandidatesByRetriever
    missing: frozenset[str]

    def with_retriever(self, found: CandidatesByRetriever, failed: Mapping[str, Exception]) -> Retrieval:
        """Return this with the results of further retrievers for the question."""
        return Retrieval({**self.own_candidates, **found}, {**self.candidates, **found}, self.missing | failed.keys())

    def best_scores(self) -> dict[str, dict[str, float]]:
        """Return the best score of each fact by retriever; a score that is not finite counts as 0."""
        scores: dict[str, dict[str, float]] = {name: {} for name in self.candidates}
        for name, candidates in self.candidates.items():
            for each in candidates:
                score = each.score if math.isfinite(each.score) else 0.0
                scores[name][each.fact_id] = max(score, scores[name].get(each.fact_id, score))
        return scores


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ranked facts of one scope, with the columns that compare them and the retrieved candidates."""

    columns: FactColumns
    ranked: list[RankedFact]
    retrieved: Retrieval


def retriever_weight(retriever: Retriever, settings: RecallSettings) -> float:
    """Return the weight of a retriever's candidates; 0 switches it off."""
    return {KEYWORD_RETRIEVER: settings.keywords, DATE_RETRIEVER: settings.dates}.get(retriever.name, settings.vectors)


async def retrieve(request: ScopeRequest, retrievers: Sequence[Retriever]) -> tuple[Retrieval, dict[str, Exception]]:
    """Ask retrievers the question, and those that answered the expansions; return the errors of the others, too."""
    found, failed = await ask_retrievers(request, retrievers, request.query)
    responsive = [each for each in retrievers if each.name in found]
    answers = await asyncio.gather(*(ask_retrievers(request, responsive, each) for each in request.expansions))
    missing = frozenset({*failed, *(name for _, lost in answers for name in lost)})
    merged = merge_candidates(found, [each for each, _ in answers]) if answers else found
    return Retrieval(found, merged, missing), failed


async def ask_retrievers(
    request: ScopeRequest, retrievers: Sequence[Retriever], query: str
) -> tuple[dict[str, list[Candidate]], dict[str, Exception]]:
    """Return candidates and errors by retriever; fallbacks are asked only if every other list is short."""
    fallback_names, limit = request.settings.fallback_retrievers, request.settings.candidates
    primaries = [each for each in retrievers if each.name not in fallback_names]
    answers = await asyncio.gather(*(_ask_retriever(request, each, query) for each in primaries))
    if not any(isinstance(answer, list) and len(answer) >= limit for _, answer in answers):
        # Facts that only fallbacks find rank below all others, so these suffice.
        fallbacks = [each for each in retrievers if each.name in fallback_names]
        answers += await asyncio.gather(*(_ask_retriever(request, each, query) for each in fallbacks))
    found = {name: answer for name, answer in answers if isinstance(answer, list)}
    return found, {name: answer for name, answer in answers if not isinstance(answer, list)}


async def _ask_retriever(
    request: ScopeRequest, retriever: Retriever, query: str
) -> tuple[str, list[Candidate] | Exception]:
    try:
        async with asyncio.timeout(request.settings.seconds):
            found = await retriever.retrieve(request.scope, query, limit=request.settings.candidates)
            return retriever.name, found
    except Exception as error:  # a retriever may fail in any way, and must cost no more than its share
        log_failure(retriever.name, request.scope, error)
        return retriever.name, error


def log_failure(name: str, scope: Scope, error: Exception) -> None:
    """Log that a retriever or a model failed, by the type of its error alone."""
    kind = type(error).__name__
    fields = log_fields("recall.partial", scope, retriever=name, error=kind)
    logger.warning("recall goes on without %s: %s", name, kind, extra=fields)


def unavailable_error(failed: Mapping[str, Exception]) -> MemoryUnavailable:
    """Return the error to raise when every retriever failed, with the first remedy among theirs."""
    explained = [error for error in failed.values() if isinstance(error, MemoryUnavailable)]
    reasons = [
        f"{name}: {error.reason if isinstance(error, MemoryUnavailable) else type(error).__name__}"
        for name, error in failed.items()
    ]
    remedy = next((error.remedy for error in explained if error.remedy), _REMEDY)
    return MemoryUnavailable(
        f"no way of searching could answer ({', '.join(reasons) or 'none is configured'})", remedy=remedy
    )
