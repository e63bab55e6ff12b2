"""Ranks the facts of a scope whose columns are in memory."""

from __future__ import annotations

import asyncio
from datetime import datetime

from gaia_memory.recall.index.candidates import select_candidates
from gaia_memory.recall.index.fact_columns import FactColumns
from gaia_memory.recall.ranking.diversity import DIVERSITY_WINDOW
from gaia_memory.recall.ranking.rank import DATE_RETRIEVER, KEYWORD_RETRIEVER, RankedFact, rank
from gaia_memory.recall.retrieval import (
    Ranking,
    Retrieval,
    ScopeRequest,
    ask_retrievers,
    retrieve,
    retriever_weight,
)

_ANSWERED_BY_COLUMNS = (KEYWORD_RETRIEVER, DATE_RETRIEVER)


async def rank_columns(request: ScopeRequest, columns: FactColumns, now: datetime) -> Ranking:
    """Rank the facts with words of the question, their neighbours, and the retrieved facts.

    The columns answer for words and dates, so the retrievers of these are not asked. Fallback retrievers are asked only
    if there are fewer facts than wanted. A retriever that fails costs its share.
    """
    settings = request.settings
    active = [
        each
        for each in request.retrievers
        if each.name not in _ANSWERED_BY_COLUMNS and retriever_weight(each, settings)
    ]
    retrieved, _ = await retrieve(request, [each for each in active if each.name not in settings.fallback_retrievers])
    if settings.dates:
        dated = {DATE_RETRIEVER: columns.match_dates(request.expanded.question.dates)}
        retrieved = retrieved.with_retriever(dated, {})
    ranked = await asyncio.to_thread(_rank, request, columns, retrieved, now)
    fallbacks = [each for each in active if each.name in settings.fallback_retrievers]
    if fallbacks and len(ranked) < request.wanted_count:
        retrieved = retrieved.with_retriever(*await ask_retrievers(request, fallbacks, request.query))
        ranked = await asyncio.to_thread(_rank, request, columns, retrieved, now)
    return Ranking(columns, ranked, retrieved)


def _rank(request: ScopeRequest, columns: FactColumns, retrieved: Retrieval, now: datetime) -> list[RankedFact]:
    question, settings = request.expanded.question, request.settings
    found_ids = {each.fact_id for candidates in retrieved.candidates.values() for each in candidates}
    matrix = select_candidates(columns, question, request.expanded.weigh_terms, found_ids)
    limit = max(request.wanted_count, DIVERSITY_WINDOW, settings.rerank_first)
    return rank(question, matrix, retrieved.best_scores(), now, settings, limit=limit)
