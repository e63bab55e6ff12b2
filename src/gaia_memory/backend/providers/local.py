"""The embedder `local`: a small neural model on this machine, read from a folder only."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gaia_memory.errors import ConfigError

CONFIG_KEYS = frozenset({"model"})
"""The keys that the provider accepts."""

MAX_BATCH_TEXTS = 16
"""Texts in one call of the model: a question waits for no more than these."""

_PACKAGE = "sentence_transformers"
_REMEDY = (
    "name the folder of a sentence-transformers model on this machine, with its config.json, tokenizer and weights; "
    "nothing is downloaded"
)
_MISSING_PACKAGE = "'local' needs a package that is not installed: pip install 'gaia-memory[local]'"
_FINGERPRINT_PATTERNS = (
    "*config*.json",
    "modules.json",
    "tokenizer*",
    "vocab*",
    "merges.txt",
    "*tokens*.json",
    "*.model",
)
"""Files that affect the vectors, in addition to the weights."""

_WEIGHT_PATTERNS = ("*.safetensors", "pytorch_model*.bin")
"""In order of precedence when a folder has both."""

_SAMPLE_COUNT = 64
_SAMPLE_BYTES = 65_536


def problems(model: str | None, *, part: str = "memory.embedder") -> list[str]:
    """Return one line for each problem of the model in the folder `model`, used as `part`. Blocking."""
    found = [] if find_spec(_PACKAGE) else [f"{part}.provider: {_MISSING_PACKAGE}"]
    if not model:
        return [*found, f"{part}.model: is missing: {_REMEDY}"]
    folder = Path(model)
    try:
        if not folder.is_dir():
            found.append(f"{part}.model: {model!r} is no folder: {_REMEDY}")
        elif not _is_model(folder):
            found.append(f"{part}.model: {model!r} holds no model: {_REMEDY}")
        else:
            fingerprint_model(folder)
    except (OSError, ValueError) as error:
        found.append(f"{part}.model: {model!r} cannot be read ({_error_text(error)}): {_REMEDY}")
    return found


def fingerprint_model(folder: Path) -> str:
    """Return a hash of the files that identify the model in a folder, a few megabytes at most. Blocking.

    It does not depend on the folder's path, and changes with the configuration, the tokenizer or the weights. Of the
    weights, it reads the size and evenly spaced samples, because training changes nearly all of them.

    Raises:
        OSError: a file is unreadable.
        ValueError: a JSON file is malformed.
    """
    digest = blake2b(digest_size=8)
    for number, module in enumerate(_module_folders(folder)):
        for file in _fingerprinted_files(module):
            digest.update(f"{number}/{file.name}/{file.stat().st_size}\n".encode())
            _hash_samples(file, digest.update)
    return digest.hexdigest()


class LocalEmbedder:
    """An embedder with mem0's interface, over a sentence-transformers model in a folder.

    Its constructor loads the model, which takes seconds. Questions and texts are encoded differently if the model
    supports it. The model ignores the end of a text that is too long.
    """

    def __init__(self, config: Any) -> None:
        """Take mem0's `BaseEmbedderConfig`, whose `model` is the folder.

        Raises:
            ConfigError: the folder has no model, or sentence-transformers is not installed.
        """
        if found := problems(config.model):
            raise ConfigError(found)
        self.config = config
        self.name = fingerprint_model(Path(config.model))
        self._model = load_model(config.model)
        self._queue_lock, self._encode_lock = threading.Lock(), threading.Lock()

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector of `text`, of length 1; `memory_action` is `search` for a question."""
        return self.embed_batch([text], memory_action or "add")[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """Return one vector for each text."""
        encode = self._model.encode_query if memory_action == "search" else self._model.encode_document
        vectors: list[list[float]] = []
        for start in range(0, len(texts), MAX_BATCH_TEXTS):
            # One call at a time uses all threads; parallel calls would slow each other down. The queue lets a question
            # in between two batches of a long list.
            with self._queue_lock:
                self._encode_lock.acquire()
            try:
                batch = list(texts[start : start + MAX_BATCH_TEXTS])
                encoded = encode(batch, batch_size=MAX_BATCH_TEXTS, normalize_embeddings=True, show_progress_bar=False)
            finally:
                self._encode_lock.release()
            vectors += encoded.tolist()
        return vectors


def load_model(folder: str, class_name: str = "SentenceTransformer") -> Any:
    """Load a sentence-transformers model of the class `class_name` from a folder. Blocking, for seconds."""
    is_first_import = "torch" not in sys.modules and "OMP_NUM_THREADS" not in os.environ
    import sentence_transformers
    import torch
    from transformers.utils import logging

    if is_first_import:
        # The host has not set a number of threads: leave one processor to the event loop.
        torch.set_num_threads(max(1, (os.cpu_count() or 2) - 1))
    is_progress_bar_enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        return getattr(sentence_transformers, class_name)(folder, local_files_only=True)
    finally:
        if is_progress_bar_enabled:
            logging.enable_progress_bar()


def _is_model(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("modules.json", "config.json")) and any(
        _weight_files(part) for part in _module_folders(folder)
    )


def _module_folders(folder: Path) -> list[Path]:
    """Return the folders of a model's modules in order; the folder itself when it has none."""
    file = folder / "modules.json"
    entries = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
    if not isinstance(entries, list):
        return [folder]
    folders = []
    for each in entries:
        path = each.get("path") if isinstance(each, Mapping) else None
        if not isinstance(path, str):
            raise ValueError("modules.json lists a part without a path")
        folders.append(folder / path)
    return folders if folder in folders else [folder, *folders]


def _fingerprinted_files(part: Path) -> Iterator[Path]:
    if not part.is_dir():
        return
    candidates = (file for file in part.iterdir() if any(fnmatch(file.name, form) for form in _FINGERPRINT_PATTERNS))
    yield from sorted(file for file in candidates if file.is_file() and file.name != "data_config.json")
    yield from _weight_files(part)


def _weight_files(part: Path) -> list[Path]:
    for pattern in _WEIGHT_PATTERNS:
        if found := sorted(file for file in part.glob(pattern) if file.is_file()):
            return found
    return []


def _hash_samples(file: Path, update: Any) -> None:
    size = file.stat().st_size
    with file.open("rb") as stream:
        step = max(_SAMPLE_BYTES, size // _SAMPLE_COUNT)
        for start in sorted({*range(0, size, step), max(0, size - _SAMPLE_BYTES)}):
            stream.seek(start)
            update(stream.read(_SAMPLE_BYTES))


def _error_text(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
