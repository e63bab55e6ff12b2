"""The mem0 stores a follower writes: opened, written and closed on a worker thread, never on the event loop."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gaia_memory.backend.door import refuse_on_loop
from gaia_memory.backend.payload import payload
from gaia_memory.models import StoredFact

HNSW = {"space": "cosine", "sync_threshold": 1_000_000, "batch_size": 100}
"""Chroma rewrites its index files in place after `sync_threshold` writes, and a process killed in the middle
leaves a folder that cannot be opened: the threshold is never reached, the log is replayed at an open."""

STORE_KEY = "gaia_store"
EMBEDDER_KEY = "gaia_embedder"
MARKER_USER = "gaia-store"
"""Owner of the row that carries a store's id where a store has no metadata. No partition is spelled like it:
each holds a colon or is a digest."""

_MARKER_ID = str(uuid.uuid5(uuid.NAMESPACE_URL, "gaia-memory/store"))
_REFUSALS = ("InvalidArgumentError", "UnexpectedResponse")


@dataclass(frozen=True, slots=True)
class Label:
    """What a store carries: its id, and the embedder whose vectors it holds."""

    store_id: str
    embedder: str

    @property
    def dimensions(self) -> int:
        """Length of the store's vectors, the last part of the embedder's identity."""
        last = self.embedder.rpartition("/")[2]
        return int(last) if last.isdigit() else 1


class Builder(Protocol):
    """What builds mem0 from the configuration."""

    def mem0_config(self, store_path: Path) -> Any:
        """Return mem0's configuration, importing mem0 as it should be."""
        ...

    def open_memory(self, store_path: Path, *, client: Any = None) -> Any:
        """Return a `mem0.Memory` over the store in `store_path`."""
        ...


class Mem0Store(Protocol):
    """One open store. Every method blocks."""

    memory: Any
    """The `mem0.Memory` over it, valid until `close`."""

    label: Label

    def write(self, facts: Sequence[StoredFact], gone: Collection[str]) -> list[str]:
        """Put `facts` as they are and remove `gone`; return the ids of facts the store refuses to hold.

        Raises:
            Exception: the store cannot be written; writing again later is harmless.
        """
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


class ChromaStore:
    """A store in Chroma, in a folder or on a server, over a collection of our own making."""

    def __init__(self, memory: Any, client: Any, collection: Any, label: Label) -> None:
        """Write through `collection`, which `memory` reads."""
        self.memory = memory
        self.label = label
        self._client = client
        self._collection = collection

    def write(self, facts: Sequence[StoredFact], gone: Collection[str]) -> list[str]:
        """Put `facts` and remove `gone`.

        What is there is removed first: Chroma would merge the old payload into the new one.
        """
        refuse_on_loop("writing the mem0 store")
        ids = [stored.fact.id for stored in facts]
        if there := self._collection.get(ids=[*ids, *gone], include=[])["ids"]:
            self._collection.delete(ids=there)
        return _insert_all(self._insert, facts)

    def close(self) -> None:
        """Close mem0 and the client: Chroma keeps one client a folder in the process until it is closed."""
        refuse_on_loop("closing the mem0 store")
        self.memory.close()
        self._client.close()

    def _insert(self, facts: Sequence[StoredFact]) -> None:
        self._collection.upsert(
            ids=[stored.fact.id for stored in facts],
            embeddings=[list(stored.vector or ()) for stored in facts],
            metadatas=[payload(stored.fact, with_words=False) for stored in facts],
        )


class ServerStore:
    """A store in another of mem0's engines, written through mem0's own adapter."""

    def __init__(self, memory: Any, label: Label) -> None:
        """Write through `memory.vector_store`."""
        self.memory = memory
        self.label = label

    def write(self, facts: Sequence[StoredFact], gone: Collection[str]) -> list[str]:
        """Put `facts`, each after a delete, and remove `gone`: not every adapter's insert replaces a row."""
        refuse_on_loop("writing the mem0 store")
        for fact_id in [*(stored.fact.id for stored in facts), *gone]:
            self.memory.vector_store.delete(vector_id=fact_id)
        return _insert_all(self._insert, facts)

    def begin(self) -> None:
        """Empty the store and put its label into it, as a row of nobody's."""
        vectors = self.memory.vector_store
        vectors.reset()
        size = getattr(self.memory.config.vector_store.config, "embedding_model_dims", None) or self.label.dimensions
        vectors.insert(
            vectors=[[1.0] + [0.0] * (size - 1)],
            ids=[_MARKER_ID],
            payloads=[{"data": self.label.store_id, "user_id": MARKER_USER, EMBEDDER_KEY: self.label.embedder}],
        )

    def carried(self) -> tuple[object, object]:
        """Return the id and the embedder the store carries, or two Nones."""
        row = self.memory.vector_store.get(vector_id=_MARKER_ID)
        found = (getattr(row, "payload", None) or {}) if row else {}
        return found.get("data"), found.get(EMBEDDER_KEY)

    def close(self) -> None:
        """Close mem0 and, where its adapter has one, the client."""
        refuse_on_loop("closing the mem0 store")
        self.memory.close()
        close = getattr(getattr(self.memory.vector_store, "client", None), "close", None)
        if callable(close):
            close()

    def _insert(self, facts: Sequence[StoredFact]) -> None:
        self.memory.vector_store.insert(
            vectors=[list(stored.vector or ()) for stored in facts],
            ids=[stored.fact.id for stored in facts],
            payloads=[payload(stored.fact, with_words=True) for stored in facts],
        )


def _insert_all(insert: Any, facts: Sequence[StoredFact]) -> list[str]:
    """Insert `facts` at once or, when one is refused, one by one; return the ids of those refused."""
    if not facts:
        return []
    try:
        insert(facts)
    except Exception as error:
        if not _is_refusal(error):
            raise
    else:
        return []
    refused = []
    for stored in facts:
        try:
            insert([stored])
        except Exception as error:
            if not _is_refusal(error):
                raise
            refused.append(stored.fact.id)
    return refused


def _is_refusal(error: Exception) -> bool:
    """Say whether a store objects to what is written, rather than being unable to write."""
    return isinstance(error, ValueError | TypeError | OverflowError) or type(error).__name__ in _REFUSALS


def open_folder(backend: Builder, folder: Path, label: Label, *, fresh: bool) -> ChromaStore:
    """Open the embedded Chroma store in `folder`; `fresh` makes its collection, under `label`.

    Raises:
        LookupError: the folder holds no collection of ours, or carries another label.
        Exception: Chroma or mem0 cannot open it.
    """
    refuse_on_loop("opening the mem0 store")
    config = backend.mem0_config(folder)
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))
    return _over_chroma(backend, folder, client, config.vector_store.config.collection_name, label, fresh=fresh)


def open_chroma_server(backend: Builder, folder: Path, label: Label, *, fresh: bool) -> ChromaStore:
    """Open the store on a Chroma server; `fresh` empties its collection first.

    Raises:
        LookupError: the collection is not there or carries another label.
        Exception: the server cannot be reached.
    """
    refuse_on_loop("opening the mem0 store")
    where = backend.mem0_config(folder).vector_store.config
    import chromadb
    from chromadb.config import Settings

    settings = Settings(anonymized_telemetry=False)
    if where.host:
        client = chromadb.HttpClient(host=where.host, port=where.port, settings=settings)
    else:
        client = chromadb.CloudClient(tenant=where.tenant, database="mem0", api_key=where.api_key, settings=settings)
    return _over_chroma(backend, folder, client, where.collection_name, label, fresh=fresh)


def open_server(backend: Builder, folder: Path, label: Label, *, fresh: bool) -> ServerStore:
    """Open a store of another kind through mem0's adapter; `fresh` empties it first.

    Raises:
        LookupError: the store carries no label or another.
        Exception: the store cannot be reached.
    """
    refuse_on_loop("opening the mem0 store")
    store = ServerStore(backend.open_memory(folder), label)
    try:
        if fresh:
            store.begin()
        _check_label(label, *store.carried())
    except BaseException:
        store.close()
        raise
    return store


def _over_chroma(backend: Builder, folder: Path, client: Any, name: str, label: Label, *, fresh: bool) -> ChromaStore:
    """Build mem0 over a collection that is there before mem0 would make one; close the client on a failure."""
    try:
        there = name in {found.name for found in client.list_collections()}
        if fresh:
            if there:
                client.delete_collection(name)
            collection = client.create_collection(
                name,
                embedding_function=None,
                configuration={"hnsw": HNSW},
                metadata={STORE_KEY: label.store_id, EMBEDDER_KEY: label.embedder},
            )
        elif there:
            collection = client.get_collection(name, embedding_function=None)
        else:
            raise LookupError(f"the store holds no collection {name!r}")
        carried = collection.metadata or {}
        _check_label(label, carried.get(STORE_KEY), carried.get(EMBEDDER_KEY))
        return ChromaStore(backend.open_memory(folder, client=client), client, collection, label)
    except BaseException:
        client.close()
        raise


def _check_label(label: Label, store_id: object, embedder: object) -> None:
    if store_id != label.store_id or not same_embedder(label.embedder, str(embedder)):
        raise LookupError(
            f"the store carries {store_id!r} of {embedder!r}, not {label.store_id!r} of {label.embedder!r}"
        )


def same_embedder(one: str, other: str) -> bool:
    """Say whether two identities, `provider/model/dimensions`, name one embedder.

    Dimensions and model that are not known yet (`?`, `default`) match any.
    """
    if one == other:
        return True
    provider, _, rest = one.partition("/")
    other_provider, _, other_rest = other.partition("/")
    model, _, size = rest.rpartition("/")
    other_model, _, other_size = other_rest.rpartition("/")
    return (
        provider == other_provider
        and "?" in (size, other_size)
        and (model == other_model or "default" in (model, other_model))
    )
