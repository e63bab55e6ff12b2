"""Builds recall from the configuration and the parts it asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.ports import Clock, Database, Embedder, FactStore, LanguageModel, Reranker
from gaia_memory.recall.index.column_cache import ColumnCache
from gaia_memory.recall.pipeline import Recall
from gaia_memory.recall.retrievers import build_retrievers
from gaia_memory.recall.settings import RecallSettings


class RecallModels(Protocol):
    """The models that recall calls."""

    @property
    def embedder(self) -> Embedder:
        """Embeds the question."""
        ...

    @property
    def language_model(self) -> LanguageModel:
        """Expands the question, if that is switched on."""
        ...

    @property
    def reranker(self) -> Reranker | None:
        """Orders the best facts again; None if there is no reranker."""
        ...


def build_recall(
    database: Database,
    facts: FactStore,
    clock: Clock,
    models: RecallModels,
    *,
    config: Callable[[], GaiaConfig],
) -> Recall:
    """Return recall over these parts; the reranker and `config` are asked for at each use, so both may change."""
    retrievers = build_retrievers(
        database, facts, models.embedder, is_sole_retriever=lambda: not config().memory.recall.weights.keywords
    )
    return Recall(
        database,
        facts,
        retrievers,
        clock,
        settings=lambda: recall_settings(config()),
        column_cache=ColumnCache(database, facts),
        language_model=models.language_model,
        reranker=lambda: models.reranker,
    )


def recall_settings(config: GaiaConfig) -> RecallSettings:
    """Return the settings of recall, which have the same names as the keys of `memory.recall`."""
    values = dict(config.memory.recall)
    return RecallSettings(**dict(values.pop("weights")), **values)
