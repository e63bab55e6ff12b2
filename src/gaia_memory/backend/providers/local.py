"""The embedder `local`: a small neural model on this machine, read from a folder and from nowhere else."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gaia_memory.errors import ConfigError

KEYS = frozenset({"model"})
"""What the provider takes."""

PIECE = 16
"""Texts that the model is given at once: what somebody asks meanwhile waits for no more than these."""

_PACKAGE = "sentence_transformers"
_FIX = (
    "name the folder of a sentence-transformers model on this machine, with its config.json, tokenizer and weights; "
    "nothing is downloaded"
)
_NO_PACKAGE = "'local' needs a package that is not installed: pip install 'gaia-memory[local]'"
_TELLING = ("*config*.json", "modules.json", "tokenizer*", "vocab*", "merges.txt", "*tokens*.json", "*.model")
"""Files, besides the weights, that have a say in the vectors; a README or a list of training data has none."""

_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
"""In the order in which one is taken where a folder holds both."""

_SAMPLES = 64
_SAMPLE_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Look:
    """What a folder says of its model, without loading it: a name made of its contents, and the vectors' length.

    The name is the same wherever the folder lies and whatever it is called, and another one as soon as configuration,
    tokenizer or weights differ. `dimensions` is None where the files do not settle it.
    """

    name: str
    dimensions: int | None


def problems(model: str | None, *, part: str = "memory.embedder") -> list[str]:
    """Return one line for each thing that keeps the model in the folder `model` from being used as `part`. Blocking."""
    found = [] if find_spec(_PACKAGE) else [f"{part}.provider: {_NO_PACKAGE}"]
    if not model:
        return [*found, f"{part}.model: is missing: {_FIX}"]
    folder = Path(model)
    try:
        if not folder.is_dir():
            found.append(f"{part}.model: {model!r} is no folder: {_FIX}")
        elif not _is_model(folder):
            found.append(f"{part}.model: {model!r} holds no model: {_FIX}")
        else:
            look(folder)
    except (OSError, ValueError) as error:
        found.append(f"{part}.model: {model!r} cannot be read ({_said(error)}): {_FIX}")
    return found


def look(folder: Path) -> Look:
    """Read what tells the model in a folder from any other, some megabytes at most. Blocking.

    Of the weights their size and samples from one end to the other are read: training moves nearly all of them.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file that should be JSON is none, or of another form.
    """
    digest = blake2b(digest_size=8)
    parts = _parts(folder)
    for number, part in enumerate(parts):
        for file in _files(part):
            digest.update(f"{number}/{file.name}/{file.stat().st_size}\n".encode())
            _sample(file, digest.update)
    return Look(digest.hexdigest(), _dimensions(parts))


class LocalEmbedder:
    """An embedder in the form mem0 uses, over a sentence-transformers model in a folder.

    Its constructor loads the model, which takes seconds. Questions and texts are told apart where the model does. Of
    a text that is longer than the model reads the rest has no say.
    """

    def __init__(self, config: Any) -> None:
        """Take mem0's `BaseEmbedderConfig`, whose `model` is the folder.

        Raises:
            ConfigError: there is no model in it, or sentence-transformers is not installed.
        """
        if found := problems(config.model):
            raise ConfigError(found)
        told = look(Path(config.model))
        config.embedding_dims = told.dimensions
        self.config = config
        self.name = told.name
        self._model = loaded(config.model)
        self._queue, self._at_work = threading.Lock(), threading.Lock()

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector of `text`, of length 1; `memory_action` is `search` for a question."""
        return self.embed_batch([text], memory_action or "add")[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """Return one vector a text."""
        encode = self._model.encode_query if memory_action == "search" else self._model.encode_document
        vectors: list[list[float]] = []
        for start in range(0, len(texts), PIECE):
            # One call at a time, each with all the threads it may take: several at once would only slow each other
            # down. Who waits stands in a queue, so that a question comes in between two pieces of a long list.
            with self._queue:
                self._at_work.acquire()
            try:
                piece = list(texts[start : start + PIECE])
                found = encode(piece, batch_size=PIECE, normalize_embeddings=True, show_progress_bar=False)
            finally:
                self._at_work.release()
            vectors += found.tolist()
        return vectors


def loaded(folder: str, kind: str = "SentenceTransformer") -> Any:
    """Return a model of sentence-transformers in a folder, by the class that it is of. Blocking, for seconds."""
    first = "torch" not in sys.modules and "OMP_NUM_THREADS" not in os.environ
    import sentence_transformers
    import torch
    from transformers.utils import logging

    if first:
        # Nobody else in this process has said how many: one processor is left to the event loop and to turns.
        torch.set_num_threads(max(1, (os.cpu_count() or 2) - 1))
    shows = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        return getattr(sentence_transformers, kind)(folder, local_files_only=True)
    finally:
        if shows:
            logging.enable_progress_bar()


def _is_model(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("modules.json", "config.json")) and any(
        _weights(part) for part in _parts(folder)
    )


def _parts(folder: Path) -> list[Path]:
    """Return the folders of a model's parts, in the order in which they work; itself where it has none."""
    listed = _json(folder / "modules.json")
    if not isinstance(listed, list):
        return [folder]
    parts = []
    for each in listed:
        path = each.get("path") if isinstance(each, Mapping) else None
        if not isinstance(path, str):
            raise ValueError("modules.json lists a part without a path")
        parts.append(folder / path)
    return parts if folder in parts else [folder, *parts]


def _files(part: Path) -> Iterator[Path]:
    if not part.is_dir():
        return
    named = (file for file in part.iterdir() if any(fnmatch(file.name, form) for form in _TELLING))
    yield from sorted(file for file in named if file.is_file() and file.name != "data_config.json")
    yield from _weights(part)


def _weights(part: Path) -> list[Path]:
    for form in _WEIGHTS:
        if found := sorted(file for file in part.glob(form) if file.is_file()):
            return found
    return []


def _sample(file: Path, take: Any) -> None:
    size = file.stat().st_size
    with file.open("rb") as opened:
        step = max(_SAMPLE_BYTES, size // _SAMPLES)
        for start in sorted({*range(0, size, step), max(0, size - _SAMPLE_BYTES)}):
            opened.seek(start)
            take(opened.read(_SAMPLE_BYTES))


def _dimensions(parts: Sequence[Path]) -> int | None:
    """Return the length of the vectors as the last part that sets one has it; None where that is not plain."""
    length: int | None = None
    for part in parts:
        config = _json(part / "config.json")
        if not isinstance(config, Mapping):
            continue
        ways = [name for name, value in config.items() if name.startswith("pooling_mode_") and value is True]
        if "out_features" in config:
            length = config["out_features"]
        elif "word_embedding_dimension" in config:
            # Several ways of pooling are joined into one longer vector.
            length = config["word_embedding_dimension"] * len(ways) if ways else None
        elif length is None:
            length = config.get("hidden_size")
    return length if isinstance(length, int) and length > 0 else None


def _json(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def _said(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
