"""Checked vectors from mem0's embedder, in worker threads, with a cache of the latest."""

from __future__ import annotations

import math
import secrets
from array import array
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from gaia_memory.backend.model_errors import redact_user_text, to_model_error
from gaia_memory.backend.providers.gemini import DEFAULT_DIMENSIONS
from gaia_memory.backend.providers.resolve_provider import GEMINI, LOCAL, OFFLINE, Provider
from gaia_memory.backend.providers.sentence_encoder import DIMENSIONS, MODEL, is_loaded, load_model
from gaia_memory.backend.thread_pools import WorkerPool
from gaia_memory.errors import BadAnswerError, ModelUnavailableError, VectorsLaterError
from gaia_memory.model_calls import EMBEDDING_DEADLINE_SECONDS, time_limit
from gaia_memory.models import Vector
from gaia_memory.ports import EmbeddingPurpose
from gaia_memory.telemetry.token_usage import TokenMeter

if TYPE_CHECKING:
    from numpy.typing import NDArray


MAX_BATCH_TEXTS = 100
MAX_WRITTEN_TEXTS = 16
"""Texts of one write that the encoder of this process embeds at once, in some 30 ms."""

MAX_TEXT_CHARACTERS = 8_000
"""Characters of a text that are embedded: some providers refuse more, and no vector improves with more."""

_MIN_SQUARED_NORM = 1e-200
_PROBE_TEXT = "dimensions"

MAX_NUMBERS_PER_PURPOSE = 500_000
"""Numbers kept for each purpose, 4 MB: 1,300 vectors of 384 dimensions, or 160 of 3,072."""


class Mem0Embedder:
    """The port `Embedder` over mem0's embedding model. Every vector has length 1.

    `identity` is known from the start for `offline`, for `gemini` and for a provider with `embedding_dims` in its
    configuration. For others its dimensions are `?` until the first vector: read it after an `embed`, not before.

    A text whose vector is still in the cache is not sent again.
    """

    def __init__(
        self,
        embedding_model: Callable[[], Any],
        provider: Provider,
        pool: WorkerPool,
        *,
        meter: TokenMeter | None = None,
        prepare: Callable[[], Awaitable[None]] | None = None,
        deadline: float = EMBEDDING_DEADLINE_SECONDS,
    ) -> None:
        """Ask the object that `embedding_model` returns, in a thread of `pool`.

        `deadline` bounds each batch of up to 100 texts, in seconds. `prepare` imports packages before the first batch;
        no time limit counts that. `meter` counts tokens, but none of a model in this process.
        """
        self._embedding_model = embedding_model
        self._provider = provider
        self._pool = pool
        self._meter = meter or TokenMeter()
        self._prepare = prepare
        self._deadline = deadline
        self._dimensions = _known_dimensions(provider)
        self._model = _known_model(provider)
        self._cache = VectorCache()
        self.on_deferred: Callable[[], None] | None = None
        """Called when a write does not wait for vectors; set by who makes them in the background."""

    @property
    def identity(self) -> str:
        """Provider, model and dimensions, as `provider/model/dimensions`."""
        return f"{self._provider.name}/{self._model or 'default'}/{self._dimensions or '?'}"

    def adopt_fingerprint(self, fingerprint: str) -> None:
        """Take the hash of a local model's files as its name, before it is loaded; only the first call counts."""
        self._model = self._model or fingerprint

    @property
    def is_free(self) -> bool:
        """Whether vectors cost neither money nor a call: the encoder of this process makes them."""
        return self._provider.name == OFFLINE

    async def load(self) -> None:
        """Load the encoder of this process, which takes a second."""
        await self._pool.run(load_model)

    async def embed(self, texts: Sequence[str], *, purpose: EmbeddingPurpose) -> list[Vector]:
        """Return one vector for each text, of its first 8,000 characters.

        Raises:
            ModelUnavailableError: the embedder did not answer in time, or is still being loaded in the background.
            BadAnswerError: it returned too many, too few or unusable vectors.
            VectorsLaterError: a write would wait for the encoder of this process.
        """
        if self.is_free:
            self._require_loaded(len(texts), purpose)
        purpose = "search" if purpose == "search" else "add"
        texts = [text[:MAX_TEXT_CHARACTERS] for text in texts]
        unique_texts = list(dict.fromkeys(texts))
        found = self._cache.get_many(unique_texts, purpose)
        uncached = [text for text in unique_texts if text not in found]
        for start in range(0, len(uncached), MAX_BATCH_TEXTS):
            batch = uncached[start : start + MAX_BATCH_TEXTS]
            # Vectors are paid for: those before a failing batch are not requested again.
            vectors = await self._embed_within_deadline(batch, purpose)
            self._cache.put_many(zip(batch, vectors, strict=True), purpose)
            found.update(zip(batch, vectors, strict=True))
        return [found[text] for text in texts]

    def _require_loaded(self, text_count: int, purpose: EmbeddingPurpose) -> None:
        if purpose == "write" and (text_count > MAX_WRITTEN_TEXTS or not is_loaded()):
            if self.on_deferred is not None:
                self.on_deferred()
            raise VectorsLaterError("the vectors follow")
        if purpose == "search" and self.on_deferred is not None and not is_loaded():
            raise ModelUnavailableError(f"the embedder {self.identity} is being loaded: ask again in a second")

    async def _embed_within_deadline(self, batch: list[str], purpose: str) -> list[array[float]]:
        if self._prepare is not None:
            await self._prepare()
        try:
            with redact_user_text(batch), self._meter.question("embedding") as question:
                async with time_limit(self._deadline):
                    vectors = await self._pool.run(self._embed_batch, batch, purpose)
                if self._provider.name not in (OFFLINE, LOCAL):
                    question.estimate(batch)
                return vectors
        except TimeoutError as late:
            message = f"the embedder {self.identity} gave no answer within {self._deadline:g} s"
            raise ModelUnavailableError(message) from late

    def measure_dimensions(self) -> int:
        """Return the length of this embedder's vectors; asks it once when that is not known. Blocking."""
        if self._dimensions is None:
            self._embed_batch([_PROBE_TEXT], "add")
        assert self._dimensions is not None
        return self._dimensions

    def _embed_batch(self, texts: list[str], purpose: str) -> list[array[float]]:
        model = self._embedding_model()
        if self._provider.name == LOCAL and model.name != self._model:
            # Its vectors would be mixed with those of the model that was there at the start.
            message = f"the model in {self._provider.model} has changed since memory was started: restart it"
            raise ModelUnavailableError(message)
        if self._model is None:
            self._model = getattr(getattr(model, "config", None), "model", None)
        try:
            raw = _raw_vectors(model, texts, purpose)
        except (Exception, SystemExit) as error:  # Boundary: a provider may raise anything, and some exit.
            raise to_model_error(error, subject=f"the embedder {self.identity}") from error
        if len(raw) != len(texts):
            raise BadAnswerError(f"the embedder {self.identity} gave {len(raw)} vectors for {len(texts)} texts")
        # `_norm` handles values whose squares overflow, so a warning would be noise.
        with np.errstate(over="ignore", invalid="ignore"):
            return [array("d", self._normalize(vector).tobytes()) for vector in raw]

    def _normalize(self, raw: Any) -> NDArray[np.float64]:
        try:
            values = np.fromiter(raw, np.float64)
        except (TypeError, ValueError) as wrong:
            raise BadAnswerError(f"the embedder {self.identity} gave a {type(raw).__name__}, not a vector") from wrong
        norm = _norm(values)
        if not 0.0 < norm < math.inf:
            raise BadAnswerError(f"the embedder {self.identity} gave a vector that is empty, zero, NaN or infinite")
        if self._dimensions is None:
            self._dimensions = len(values)
        if len(values) != self._dimensions:
            raise BadAnswerError(
                f"the embedder {self.identity} gave a vector of {len(values)}: "
                f"set memory.embedder.embedding_dims to what the model gives"
            )
        return values / norm


def _norm(values: NDArray[np.float64]) -> float:
    squared_norm = float(values @ values)
    # Squares of very large and very small values overflow and underflow.
    return math.sqrt(squared_norm) if _MIN_SQUARED_NORM < squared_norm < math.inf else math.hypot(*values.tolist())


def _known_model(provider: Provider) -> str | None:
    """Return the model's name; a folder has none before its files are read, because its model may be replaced."""
    if provider.name == OFFLINE:
        return MODEL
    return None if provider.name == LOCAL else provider.model


def _known_dimensions(provider: Provider) -> int | None:
    """Return the dimensions that the configuration determines; mem0's defaults are not trusted."""
    if provider.name == OFFLINE:
        return DIMENSIONS
    given = provider.config.get("embedding_dims")
    if given is None and provider.name == GEMINI:
        given = provider.config.get("output_dimensionality") or DEFAULT_DIMENSIONS
    return int(given) if given else None


def _raw_vectors(model: Any, texts: list[str], purpose: str) -> list[Any]:
    """Ask for all texts at once if the provider can, otherwise one by one."""
    embed_batch = getattr(model, "embed_batch", None)
    if embed_batch is None or len(texts) == 1:
        return [model.embed(text, purpose) for text in texts]
    return list(embed_batch(texts, purpose))


class VectorCache:
    """The latest vectors of one embedder, separate for each purpose, so that texts added in bulk evict no questions.

    It contains no text. A vector's key is a hash of its text, keyed with a random secret that exists only in this
    process. So forgotten texts can neither be read from it nor guessed later.
    """

    def __init__(self, *, max_numbers: int = MAX_NUMBERS_PER_PURPOSE) -> None:
        """Keep at most `max_numbers` for each purpose."""
        self._max_numbers = max_numbers
        self._hash_key = secrets.token_bytes(32)
        self._entries: defaultdict[str, OrderedDict[bytes, bytes]] = defaultdict(OrderedDict)

    def get_many(self, texts: Iterable[str], purpose: str) -> dict[str, Vector]:
        """Return the cached vectors of these texts."""
        entries, found = self._entries[purpose], dict[str, Vector]()
        for text in texts:
            key = self._key(text)
            if key in entries:
                entries.move_to_end(key)
                found[text] = array("d", entries[key])
        return found

    def put_many(self, vectors: Iterable[tuple[str, Vector]], purpose: str) -> None:
        """Add vectors with their texts, and evict the least recently used."""
        entries = self._entries[purpose]
        for text, vector in vectors:
            key = self._key(text)
            # Bytes are immutable, and Python's own numbers take four times as much memory and time.
            entries[key] = array("d", vector).tobytes()
            entries.move_to_end(key)
            while entries and len(entries) * len(vector) > self._max_numbers:
                entries.popitem(last=False)

    def _key(self, text: str) -> bytes:
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=self._hash_key).digest()
