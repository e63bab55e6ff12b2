"""Rerankers behind our port: mem0's and a local cross-encoder, with their errors reported."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from gaia_memory.backend.model_errors import redact_user_text, to_model_error
from gaia_memory.backend.providers import local
from gaia_memory.backend.providers.resolve_provider import LOCAL, Provider, find_unknown
from gaia_memory.backend.providers.swappable_llm import close_client
from gaia_memory.backend.thread_pools import WorkerPool
from gaia_memory.errors import BadAnswerError

NO_RERANKER = "none"
_LLM_RERANKER = "llm_reranker"
_REQUIRED_PACKAGES = {
    "cohere": ("cohere",),
    "huggingface": ("transformers", "torch"),
    "sentence_transformer": ("sentence_transformers",),
    "zero_entropy": ("zeroentropy",),
}
"""The packages that mem0's rerankers need."""

_CLIENT_ATTRIBUTES = ("client", "llm", "model", "tokenizer")
"""The attributes in which mem0's rerankers keep their clients and models."""


def problems(provider: Provider) -> list[str]:
    """Return one line for each problem that prevents a reranker. Blocking; mem0 must be imported."""
    from mem0.utils.factory import RerankerFactory

    factory = RerankerFactory.provider_to_class
    keys_of_mem0 = {name: config_class.model_fields for name, (_, config_class) in factory.items()}
    known = {NO_RERANKER: None, LOCAL: local.CONFIG_KEYS, **keys_of_mem0}
    found = find_unknown("memory.reranker", provider, known, known.get)
    if found:
        return found
    if provider.name == LOCAL:
        return local.problems(provider.model, part="memory.reranker")
    missing_packages = [package for package in _REQUIRED_PACKAGES.get(provider.name, ()) if find_spec(package) is None]
    return [
        f"memory.reranker.provider: {provider.name!r} needs a package that is not installed: pip install {package}"
        for package in missing_packages
    ]


class Mem0Reranker:
    """The port `Reranker` over one of mem0's, or over a local cross-encoder; built at first use."""

    def __init__(self, provider: Provider, load: Callable[[], Any], pool: WorkerPool) -> None:
        """Build nothing yet; `load` imports mem0 in a thread of `pool`."""
        self.provider = provider
        self._load = load
        self._pool = pool
        self._instance: Any = None
        self._creation_lock = threading.Lock()
        self._captured = _CapturedError()

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text, higher is better, on the reranker's own scale.

        Raises:
            ModelUnavailableError: the reranker could not be built or did not answer.
            BadAnswerError: it omitted a text, or a score is not a number.
        """
        with redact_user_text([query, *texts]):
            return await self._pool.run(self._score, query, list(texts))

    def close(self) -> None:
        """Close its clients, if it was built. Blocking."""
        with self._creation_lock:
            reranker, self._instance = self._instance, None
        self._captured.error = None
        close_client(reranker)
        close_client(getattr(reranker, "llm", None))

    def _score(self, query: str, texts: list[str]) -> list[float]:
        subject = f"the reranker {self.provider.name}"
        documents = [{"id": place, "memory": text} for place, text in enumerate(texts)]
        self._captured.error = None
        try:
            # mem0 cuts the answer to `top_k`; all scores are needed.
            ranked = self._get_or_create().rerank(query, documents, len(documents))
            if self._captured.error is not None:
                raise self._captured.error
            scores_by_index = {each["id"]: float(each["rerank_score"]) for each in ranked}
        except (Exception, SystemExit) as error:  # Boundary: a provider may raise anything, and some exit.
            raise to_model_error(error, subject=subject) from error
        if scores_by_index.keys() != set(range(len(texts))) or not all(map(math.isfinite, scores_by_index.values())):
            raise BadAnswerError(f"{subject} omitted a text, or gave a score that is not a number")
        if self.provider.name != _LLM_RERANKER and not any(scores_by_index.values()):
            # mem0 answers this when it hides the failure of a service.
            raise BadAnswerError(f"{subject} gave every text the score 0")
        return [scores_by_index[place] for place in range(len(texts))]

    def _get_or_create(self) -> Any:
        with self._creation_lock:
            if self._instance is None:
                self._instance = self._create()
            return self._instance

    def _create(self) -> Any:
        if self.provider.name == LOCAL:
            return LocalReranker(str(self.provider.model))
        self._load()
        from mem0.utils.factory import RerankerFactory

        reranker = RerankerFactory.create(self.provider.name, dict(self.provider.config))
        for name in _CLIENT_ATTRIBUTES:
            if name in vars(reranker):
                setattr(reranker, name, _ErrorCapturingProxy(getattr(reranker, name), self._captured))
        return reranker


class LocalReranker:
    """A cross-encoder of sentence-transformers, read from a folder only. Its constructor loads it."""

    def __init__(self, folder: str) -> None:
        self._model = local.load_model(folder, "CrossEncoder")
        self._predict_lock = threading.Lock()

    def rerank(self, query: str, documents: Sequence[Mapping[str, Any]], top_k: int) -> list[dict[str, Any]]:
        """Return the documents, each with a `rerank_score`, like mem0's rerankers."""
        with self._predict_lock:
            scores = self._model.predict([(query, each["memory"]) for each in documents], show_progress_bar=False)
        return [{**each, "rerank_score": float(score)} for each, score in zip(documents, scores, strict=True)][:top_k]


class _CapturedError(threading.local):
    """The error of this thread's call to a reranker."""

    error: Exception | None = None


class _ErrorCapturingProxy:
    """A client of one of mem0's rerankers, with its errors captured.

    mem0 catches them and returns its input as the answer. After the first error, the same call makes no further
    requests.
    """

    def __init__(self, inner: Any, captured: _CapturedError) -> None:
        self._inner = inner
        self._captured = captured

    def __getattr__(self, name: str) -> Any:
        return _ErrorCapturingProxy(getattr(self._inner, name), self._captured)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._captured.error is not None:
            raise self._captured.error
        try:
            return self._inner(*args, **kwargs)
        except Exception as error:  # mem0 hides any error.
            self._captured.error = error
            raise
