"""Reads the store of another mem0 program: its rows and their vectors. It changes nothing there."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaia_memory.backend.mem0_import import load_mem0
from gaia_memory.backend.providers import resolve_provider, sentence_encoder
from gaia_memory.backend.providers.resolve_provider import Provider
from gaia_memory.backend.providers.swappable_llm import close_client
from gaia_memory.backend.thread_pools import WorkerPool
from gaia_memory.config.sections.provider_section import REMOTE_STORE_KEYS
from gaia_memory.errors import ConfigError, InvalidInputError, MemoryUnavailable
from gaia_memory.redaction.credentials import mask_credentials

COPY_FOLDER = "mem0-copy"
_ALL_ROWS = 10**8
"""mem0's adapters list no pages."""

_CHROMA, _QDRANT, _FAISS, _PGVECTOR = "chroma", "qdrant", "faiss", "pgvector"
_STORE_FILES = {_CHROMA: "chroma.sqlite3", _QDRANT: "meta.json", _FAISS: "{collection_name}.faiss"}
"""A file of each embedded store, without which its adapter would make a new one."""

_MEM0_MODELS = {
    resolve_provider.OPENAI: resolve_provider.DEFAULT_OPENAI_EMBEDDER,
    resolve_provider.GEMINI: "models/gemini-embedding-001",
    resolve_provider.OFFLINE: sentence_encoder.MODEL,
}
"""The embedders of a configuration that names no model."""


@dataclass(frozen=True, slots=True)
class ForeignStore:
    """An open store of mem0's. Its calls run in one thread, because Qdrant's folder belongs to the one that opened it.

    `embedder` is the provider and the model of its vectors.
    """

    store: Provider
    adapter: Any
    embedder: str
    pool: WorkerPool

    async def rows(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the id and the payload of each row.

        Raises:
            InvalidInputError: no row is one of mem0's.
            MemoryUnavailable: the store cannot be read.
        """
        return await self.pool.run(self._read_rows)

    def _read_rows(self) -> list[tuple[str, Mapping[str, Any]]]:
        with _named_errors(self.store):
            listed = self.adapter.list(top_k=_ALL_ROWS)
        listed = listed[0] if listed and isinstance(listed[0], list | tuple) else listed
        rows = [(str(row.id), row.payload or {}) for row in listed or ()]
        if not any("data" in payload for _, payload in rows):
            found, name = f"{len(rows)} rows and none of mem0's", self.store.config["collection_name"]
            raise InvalidInputError(f"vector_store.config.collection_name is {name!r}, which has {found}: name mem0's")
        return rows

    async def vectors(self, ids: Sequence[str], identity: str) -> Mapping[str, Sequence[float]]:
        """Return the vectors of rows that the embedder `identity` made; none if the engine keeps them to itself."""
        model, _, dimensions = identity.replace("/models/", "/").rpartition("/")
        found = await self.pool.run(self._read_vectors, list(ids)) if model == self.embedder else {}
        return {each: vector for each, vector in found.items() if dimensions in ("?", str(len(vector)))}

    def _read_vectors(self, ids: list[str]) -> Mapping[str, Sequence[float]]:
        adapter = self.adapter
        try:
            if self.store.name == _CHROMA:
                found = adapter.collection.get(ids=ids, include=["embeddings"])
                return dict(zip(found["ids"], found["embeddings"], strict=True))
            if self.store.name == _QDRANT:
                points = adapter.client.retrieve(adapter.collection_name, ids, with_payload=False, with_vectors=True)
                # One for keywords may stand beside the one without a name.
                named = {str(each.id): each.vector for each in points}
                return {each: vector[""] if isinstance(vector, dict) else vector for each, vector in named.items()}
            if self.store.name == _FAISS:
                places = {row_id: place for place, row_id in adapter.index_to_id.items()}
                return {each: adapter.index.reconstruct(places[each]) for each in ids if each in places}
        except Exception:  # A damaged index may raise anything; its facts are embedded like those without a vector.
            return {}
        return {}


@asynccontextmanager
async def open_foreign_store(config: Mapping[str, Any], folder: Path) -> AsyncIterator[ForeignStore]:
    """Open the store that mem0's own configuration names; what it leaves out has mem0's defaults.

    Opening changes the files of an embedded Chroma, and those of FAISS where mem0 1.0 wrote them: they are copied into
    `folder` for the time. mem0 writes its own files there, too.

    Raises:
        ConfigError: the configuration is wrong, or a package is missing; it names key, value and fix.
        MemoryUnavailable: the store is missing, locked or cannot be read.
    """
    pool, copy = WorkerPool("gaia-foreign-store", 1, join_at_exit=True), folder / COPY_FOLDER
    try:
        opened = await pool.run(_open, config, folder, copy, pool)
        try:
            yield opened
        finally:
            await pool.run(close_client, opened.adapter)
    finally:
        await pool.run(shutil.rmtree, copy, ignore_errors=True)
        await pool.close()


def _open(config: Mapping[str, Any], folder: Path, copy: Path, pool: WorkerPool) -> ForeignStore:
    store, embedder = _part(config, "vector_store", _QDRANT), _part(config, "embedder", resolve_provider.OPENAI)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    load_mem0(folder)
    from mem0.utils.factory import VectorStoreFactory, load_class
    from mem0.vector_stores.configs import VectorStoreConfig

    classes, fields = VectorStoreFactory.provider_to_class, resolve_provider.store_fields
    problems = resolve_provider.find_unknown("vector_store", store, classes, fields)
    if problems := problems or resolve_provider.missing_store_package(store, section="vector_store"):
        raise ConfigError(problems, source="mem0's configuration")
    with _named_errors(store):
        settings = VectorStoreConfig(provider=store.name, config=dict(store.config)).config.model_dump()
    store, adapter_class = Provider(store.name, settings), load_class(classes[store.name])
    is_remote = any(settings.get(key) for key in REMOTE_STORE_KEYS)
    if store.name in _STORE_FILES and not is_remote:
        file = Path(str(settings["path"]), _STORE_FILES[store.name].format_map(settings))
        if not file.is_file():
            remedy = "name the `path` and the `collection_name` of a store that mem0 made"
            raise MemoryUnavailable(f"vector_store.config: there is no {file}", remedy=remedy)
        if store.name != _QDRANT:
            _copy(file.parent, copy)
            settings = {**settings, "path": str(copy)}
    is_remote_chroma = store.name == _CHROMA and is_remote
    if is_remote_chroma or store.name in (_QDRANT, _PGVECTOR):
        # These make a missing collection as they are opened.
        adapter_class = type("ReadOnly", (adapter_class,), {"create_col": lambda *_, **__: None})
    with _named_errors(store):
        adapter = adapter_class(**settings)
        if is_remote_chroma:
            adapter.collection = adapter.client.get_collection(adapter.collection_name)
    model = embedder.model or _MEM0_MODELS.get(embedder.name, "")
    return ForeignStore(store, adapter, f"{embedder.name}/{model.removeprefix('models/')}", pool)


def _part(config: Mapping[str, Any], name: str, default: str) -> Provider:
    part = config.get(name) or {}
    if isinstance(part, Mapping) and isinstance(options := part.get("config") or {}, Mapping):
        return Provider(str(part.get("provider", default)), options)
    fix = "pass mem0's form, `provider` with a name and `config` with its options"
    raise ConfigError([f"{name}: {part!r} is no such mapping; {fix}"], source="mem0's configuration")


def _copy(source: Path, copy: Path) -> None:
    def stamps() -> list[tuple[str, int, int]]:
        return [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(source.rglob("*"))]

    with _named_errors(Provider("embedded", {"path": source})):
        before = stamps()
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir(mode=0o700, parents=True)
        shutil.copytree(source, copy, dirs_exist_ok=True)
        if stamps() != before:
            raise OSError("it was written meanwhile")


@contextmanager
def _named_errors(store: Provider) -> Iterator[None]:
    """Name the store in what its engine raises, without the credentials that an address may have."""
    try:
        yield
    except Exception as error:  # Each engine has errors of its own.
        # pydantic quotes every value, keys among them.
        reasons = [each["msg"] for each in error.errors()] if hasattr(error, "errors") else [str(error)]
        place = next((store.config[key] for key in ("url", "host", "path") if store.config.get(key)), "its place")
        reason = mask_credentials("; ".join(filter(None, reasons)) or type(error).__name__)
        remedy = "check vector_store.config, and stop the programs that use an embedded store"
        raise MemoryUnavailable(
            f"the {store.name} store in {place} cannot be read ({reason})", remedy=remedy
        ) from error
