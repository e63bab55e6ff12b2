"""Ranks the facts that retrievers find in the database, of a scope that is too large for columns in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from datetime import datetime

from gaia_memory.models import Fact, index_fact
from gaia_memory.ports import Database, FactStore
from gaia_memory.recall.index.candidates import build_candidate_matrix
from gaia_memory.recall.index.neighbours import MAX_TURNS_APART
from gaia_memory.recall.ranking.rank import DATE_RETRIEVER, rank
from gaia_memory.recall.retrieval import (
    CandidatesByRetriever,
    Ranking,
    ScopeRequest,
    retrieve,
    retriever_weight,
    unavailable_error,
)


async def rank_candidates(
    request: ScopeRequest,
    database: Database,
    facts: FactStore,
    allowed_ids: Collection[str] | None,
    now: datetime,
) -> Ranking:
    """Rank the facts that the retrievers find, and their neighbours in a conversation.

    Raises:
        MemoryUnavailable: every retriever failed.
    """
    settings, expanded = request.settings, request.expanded
    active = [each for each in request.retrievers if retriever_weight(each, settings)]
    retrieved, failed = await retrieve(request, active)
    if not retrieved.own_candidates.keys() - {DATE_RETRIEVER}:
        # A question without a date cannot make the retriever of dates fail.
        raise unavailable_error(failed)
    found_facts, idf = await _load_facts_and_idf(request, database, facts, retrieved.candidates)
    allowed_facts = [fact for fact in found_facts if allowed_ids is None or fact.id in allowed_ids]

    def rank_facts() -> Ranking:
        matrix = build_candidate_matrix(expanded.question, idf, [index_fact(fact) for fact in allowed_facts])
        ranked = rank(expanded.question, matrix, retrieved.best_scores(), now, settings)
        return Ranking(matrix.columns, ranked, retrieved)

    # Some milliseconds of arithmetic over several hundred facts: off the event loop.
    return await asyncio.to_thread(rank_facts)


async def _load_facts_and_idf(
    request: ScopeRequest, database: Database, facts: FactStore, found: CandidatesByRetriever
) -> tuple[list[Fact], list[float]]:
    """Load the found facts and their neighbours, and the IDF of each term of the question.

    Only facts of the scope are loaded, whatever ids a retriever returned.
    """
    primary_names = found.keys() - request.settings.fallback_retrievers - {DATE_RETRIEVER}
    primary_ids = {each.fact_id for name in primary_names for each in found[name]}
    fallback_ids = {each.fact_id for name in found for each in found[name]} - primary_ids
    question = request.expanded.question
    if not primary_ids and not fallback_ids:
        return [], [0.0] * len(question.terms)
    async with database.read_transaction() as tx:
        neighbours = await facts.neighbours_of(tx, request.scope, primary_ids, MAX_TURNS_APART)
        fallback_facts = await facts.get(tx, request.scope, fallback_ids - {fact.id for fact in neighbours})
        idf = await facts.idf(tx, request.scope, question.words)
    return [*neighbours, *fallback_facts.values()], request.expanded.weigh_terms(idf)
