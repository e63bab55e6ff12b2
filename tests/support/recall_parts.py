"""Parts of recall for its tests: indexed facts, settings by short names, and the candidates of a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gaia_memory.config.sections.recall_section import RecallConfig, RecallWeights
from gaia_memory.models import Fact, IndexedFact, extract_fact_features
from gaia_memory.ports import Embedder, LanguageModel, Reranker
from gaia_memory.recall.index.bounded_cache import BoundedCache
from gaia_memory.recall.index.candidates import CandidateMatrix, select_candidates
from gaia_memory.recall.index.fact_columns import FactColumns, build_fact_columns
from gaia_memory.recall.index.vector_search import VectorMatches
from gaia_memory.recall.query.expansion import ExpandedQuery, with_expansions
from gaia_memory.recall.query.parsed_query import parse_query

WEIGHTS = tuple(RecallWeights.model_fields)


def index_fact(fact: Fact) -> IndexedFact:
    """Return a fact as the store gives it to recall."""
    said_at = None if fact.said_at is None else fact.said_at.timestamp()
    features = extract_fact_features(fact.text, fact.metadata)
    return IndexedFact(fact.id, fact.session_id, fact.seq, said_at, fact.created_at.timestamp(), features)


def columns_of(facts: Sequence[Fact]) -> FactColumns:
    """Return the columns of these facts."""
    return build_fact_columns([index_fact(fact) for fact in facts])


def no_limit() -> BoundedCache:
    """Return a cache that keeps everything."""
    return BoundedCache(lambda: 10**12)


class Models:
    """The models of recall, of which any may be replaced; without `language_model` it answers nothing."""

    def __init__(self, embedder: Embedder | None = None, language_model: LanguageModel | None = None) -> None:
        # It loads ADK, which the fast tests must not do.
        from gaia_memory.testing import ScriptedEmbedder, ScriptedLanguageModel

        self.embedder = embedder or ScriptedEmbedder()
        self.language_model = language_model or ScriptedLanguageModel()
        self.reranker: Reranker | None = None


def recall_config(**values: Any) -> RecallConfig:
    """Return settings of recall, each weight given by its own name; bounds are not checked."""
    weights = {name: values.pop(name) for name in WEIGHTS if name in values}
    return RecallConfig().model_copy(update={"weights": RecallWeights().model_copy(update=weights), **values})


def matches_of(scores: Mapping[str, float]) -> VectorMatches:
    """Return vector matches with these scores, which are cosines too."""
    return VectorMatches(scores=scores, cosines=scores)


class WeighedQuery(ExpandedQuery):
    """A question whose terms have the weights `idf`, whatever the facts; 1 without any."""

    idf: Sequence[float] = ()

    def weigh_terms(self, idf: Sequence[float]) -> list[float]:
        """Return the given weights, lowered for added terms."""
        return super().weigh_terms(self.idf or [1.0] * len(idf))


def matrix_of(
    asked: str, facts: Sequence[Fact], *, lines: Sequence[str] = (), idf: Sequence[float] = ()
) -> tuple[ExpandedQuery, CandidateMatrix]:
    """Return a question and the matrix of exactly these facts."""
    expanded = with_expansions(parse_query(asked), lines)
    query = WeighedQuery(expanded.question, expanded.own_term_count, expanded.expansions)
    object.__setattr__(query, "idf", tuple(idf))
    columns = columns_of(facts)
    return query, select_candidates(columns, query, np.arange(len(columns)))
