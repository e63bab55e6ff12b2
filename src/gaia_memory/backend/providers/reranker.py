"""Rerankers: mem0's, and a cross-encoder from a folder, behind our port, with their errors told."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gaia_memory.backend.model_errors import model_error, without_words_of
from gaia_memory.backend.providers import local
from gaia_memory.backend.providers.provider_specs import LOCAL, Provider, unknown
from gaia_memory.backend.providers.swappable_llm import close_client
from gaia_memory.backend.thread_pools import Pool
from gaia_memory.errors import BadAnswerError

NONE = "none"
_LLM = "llm_reranker"
_PACKAGES = {
    "cohere": ("cohere",),
    "huggingface": ("transformers", "torch"),
    "sentence_transformer": ("sentence_transformers",),
    "zero_entropy": ("zeroentropy",),
}
"""What each of mem0's rerankers imports; without it mem0 refuses to make one."""

_ASKED_THROUGH = ("client", "llm", "model", "tokenizer")
"""Where mem0's rerankers keep what they ask."""

_LOCAL_KEYS = frozenset({"model"})


def provider_of(given: Provider, home: Path) -> Provider:
    """Return the reranker that a configuration means; a relative folder of `local` is taken from the home."""
    if given.name != LOCAL or not given.config.get("model"):
        return given
    return Provider(LOCAL, {**given.config, "model": str(home / os.path.expanduser(str(given.config["model"])))})


def problems(provider: Provider) -> list[str]:
    """Return one line for each thing that keeps a reranker from being made. Blocking; mem0 must be imported."""
    from mem0.utils.factory import RerankerFactory

    factory = RerankerFactory.provider_to_class
    known = {NONE: (), LOCAL: _LOCAL_KEYS, **{name: made[1].model_fields for name, made in factory.items()}}
    found = unknown("memory.reranker", provider, known, lambda name: known[name] if name != NONE else None)
    if found:
        return found
    if provider.name == LOCAL:
        return local.problems(provider.model, part="memory.reranker")
    lacking = [package for package in _PACKAGES.get(provider.name, ()) if find_spec(package) is None]
    return [
        f"memory.reranker.provider: {provider.name!r} needs a package that is not installed: pip install {package}"
        for package in lacking
    ]


class Mem0Reranker:
    """The port `Reranker` over one of mem0's, or over a cross-encoder on this machine; made at first use."""

    def __init__(self, provider: Provider, load: Callable[[], Any], pool: Pool) -> None:
        """Take what imports mem0, blocking, and the pool it may block in."""
        self.provider = provider
        self._load = load
        self._pool = pool
        self._made: Any = None
        self._making = threading.Lock()
        self._ear = _Ear()

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score a text, higher is better, on a scale of its own.

        Raises:
            ModelUnavailableError: the reranker could not be made or reached.
            BadAnswerError: it left a text out, or its scores are no numbers.
        """
        with without_words_of([query, *texts]):
            return await self._pool.run(self._scores, query, list(texts))

    def close(self) -> None:
        """Close the clients it asks through, if it was made. Blocking."""
        with self._making:
            made, self._made = self._made, None
        self._ear.error = None
        close_client(made)
        close_client(getattr(made, "llm", None))

    def _scores(self, query: str, texts: list[str]) -> list[float]:
        what = f"the reranker {self.provider.name}"
        documents = [{"id": place, "memory": text} for place, text in enumerate(texts)]
        self._ear.error = None
        try:
            # mem0 cuts the answer to `top_k`: all are wanted back.
            answered = self._reranker().rerank(query, documents, len(documents))
            if self._ear.error is not None:
                raise self._ear.error
            found = {each["id"]: float(each["rerank_score"]) for each in answered}
        except (Exception, SystemExit) as error:  # Boundary: a provider may raise anything, and some exit.
            raise model_error(error, what=what) from error
        if found.keys() != set(range(len(texts))) or not all(map(math.isfinite, found.values())):
            raise BadAnswerError(f"{what} left a text out, or gave a score that is no number")
        if self.provider.name != _LLM and not any(found.values()):
            # What mem0 answers where a service failed in a way that it kept to itself.
            raise BadAnswerError(f"{what} gave every text the score 0")
        return [found[place] for place in range(len(texts))]

    def _reranker(self) -> Any:
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made

    def _make(self) -> Any:
        if self.provider.name == LOCAL:
            return LocalReranker(str(self.provider.model))
        self._load()
        from mem0.utils.factory import RerankerFactory

        made = RerankerFactory.create(self.provider.name, dict(self.provider.config))
        for name in _ASKED_THROUGH:
            if name in vars(made):
                setattr(made, name, _Loud(getattr(made, name), self._ear))
        return made


class LocalReranker:
    """A cross-encoder of sentence-transformers, read from a folder and from nowhere else. Its constructor loads it."""

    def __init__(self, folder: str) -> None:
        self._model = local.loaded(folder, "CrossEncoder")
        self._at_work = threading.Lock()

    def rerank(self, query: str, documents: Sequence[Mapping[str, Any]], top_k: int) -> list[dict[str, Any]]:
        """Return the documents with a `rerank_score` each, as mem0's rerankers do."""
        with self._at_work:
            scores = self._model.predict([(query, each["memory"]) for each in documents], show_progress_bar=False)
        return [{**each, "rerank_score": float(score)} for each, score in zip(documents, scores, strict=True)][:top_k]


class _Ear(threading.local):
    """What went wrong in this thread's call of a reranker."""

    error: Exception | None = None


class _Loud:
    """Something that one of mem0's rerankers asks, whose errors are heard.

    mem0 catches them and returns its input as an answer; after the first one nothing more is asked in the same call.
    """

    def __init__(self, inner: Any, ear: _Ear) -> None:
        self._inner = inner
        self._ear = ear

    def __getattr__(self, name: str) -> Any:
        return _Loud(getattr(self._inner, name), self._ear)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._ear.error is not None:
            raise self._ear.error
        try:
            return self._inner(*args, **kwargs)
        except Exception as error:  # Whatever it is: mem0 keeps it to itself.
            self._ear.error = error
            raise
