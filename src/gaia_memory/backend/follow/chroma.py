"""The store in Chroma, in a folder or on a server, over a collection of our own making."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from gaia_memory.backend.door import refuse_on_loop
from gaia_memory.backend.follow.folder import blank_unused, keep_private
from gaia_memory.backend.follow.payload import payload
from gaia_memory.backend.follow.store import EMBEDDER_KEY, Builder, Label, check_label, insert_all
from gaia_memory.models import StoredFact

HNSW = {"space": "cosine", "sync_threshold": 1_000_000, "batch_size": 100}
"""Chroma rewrites its index files in place after `sync_threshold` writes, and a process killed in the middle
leaves a folder that cannot be opened: the threshold is never reached, the log is replayed at an open."""

STORE_KEY = "gaia_store"


class ChromaStore:
    """A store in Chroma, in a folder or on a server, over a collection of our own making."""

    def __init__(self, memory: Any, client: Any, collection: Any, label: Label, *, folder: Path | None) -> None:
        """Write through `collection`, which `memory` reads; `folder` is where the files are, if they are ours."""
        self.memory = memory
        self._folder = folder
        self.label = label
        self._client = client
        self._collection = collection

    def write(self, facts: Sequence[StoredFact], gone: Collection[str]) -> list[str]:
        """Put `facts` and remove `gone`.

        What is there is removed first: Chroma would merge the old payload into the new one.
        """
        refuse_on_loop("writing the mem0 store")
        ids = [*(stored.fact.id for stored in facts), *gone]
        # Chroma refuses an empty list.
        if ids and (there := self._collection.get(ids=ids, include=[])["ids"]):
            self._collection.delete(ids=there)
        refused = insert_all(self._insert, facts, answers=self._collection.count)
        self._tidy()
        return refused

    def warm_up(self) -> None:
        """Load the index now: Chroma would at the first search, and that writes its files."""
        if self._folder is not None and (first := self._collection.get(limit=1, include=["embeddings"]))["ids"]:
            self._collection.query(query_embeddings=first["embeddings"], n_results=1, include=[])
            self._tidy()

    def close(self) -> None:
        """Close mem0 and the client: Chroma keeps one client a folder in the process until it is closed."""
        refuse_on_loop("closing the mem0 store")
        self._tidy()
        self.memory.close()
        _close(self._client)

    def _tidy(self) -> None:
        if self._folder is not None:
            blank_unused(self._folder)
            keep_private(self._folder)

    def _insert(self, facts: Sequence[StoredFact]) -> None:
        self._collection.upsert(
            ids=[stored.fact.id for stored in facts],
            embeddings=[list(stored.vector or ()) for stored in facts],
            metadatas=[payload(stored.fact, with_words=False) for stored in facts],
        )


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
    name = config.vector_store.config.collection_name
    return _over_chroma(backend, folder, client, name, label, fresh=fresh, embedded=True)


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
    return _over_chroma(backend, folder, client, where.collection_name, label, fresh=fresh, embedded=False)


def _over_chroma(
    backend: Builder, folder: Path, client: Any, name: str, label: Label, *, fresh: bool, embedded: bool
) -> ChromaStore:
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
        check_label(label, carried.get(STORE_KEY), carried.get(EMBEDDER_KEY))
        memory = backend.open_memory(folder, client=client)
        store = ChromaStore(memory, client, collection, label, folder=folder if embedded else None)
        store.warm_up()
        return store
    except BaseException:
        _close(client)
        raise


def _close(client: Any) -> None:
    """Close a client, and the connections that one to a server leaves open: its own and its administration's."""
    servers = [getattr(part, "_server", None) for part in (client, getattr(client, "_admin_client", None))]
    client.close()
    for server in servers:
        if (connections := getattr(server, "_session", None)) is not None:
            connections.close()
