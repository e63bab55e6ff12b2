"""The store in Chroma, in a folder or on a server, over a collection of our own making."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from gaia_memory.backend.event_loop_guard import refuse_on_loop
from gaia_memory.backend.mem0_store.chroma import flush_marker
from gaia_memory.backend.mem0_store.chroma.folders import blank_unused, keep_private
from gaia_memory.backend.mem0_store.payload import payload
from gaia_memory.backend.mem0_store.store import EMBEDDER_KEY, Builder, Held, Label, check_label, insert_all
from gaia_memory.backend.mem0_store.store_ids import ASIDE, is_own
from gaia_memory.log import logger_for
from gaia_memory.models import StoredFact
from gaia_memory.telemetry import about

log = logger_for(__name__)

HNSW = {"space": "cosine", "max_neighbors": 64, "sync_threshold": 1_000_000, "batch_size": 100}
"""Chroma rewrites its index files in place after `sync_threshold` writes, and a process killed in the middle leaves
files that cannot be opened. On a server, which nobody here looks after, that is never; in a folder `Flushes` guards it.

With the default of 16 neighbours, vectors that lie close together are lost from the graph: of 150 facts that
differ in one word, plain mem0 did not find 37 by their own text; with 32 a few at times, with 64 none."""

STORE_KEY = "gaia_store"
NEAR = 1e-6
"""Chroma makes each vector as long as 1 once more, which rounds it."""


class ChromaStore:
    """A store in Chroma, in a folder or on a server, over a collection of our own making."""

    def __init__(
        self, memory: Any, client: Any, collection: Any, label: Label, *, folder: Path | None, fresh: bool
    ) -> None:
        """Write through `collection`, which `memory` reads; `folder` is where the files are, if they are ours."""
        self.memory = memory
        self._folder = folder
        self._flushes = None if folder is None else flush_marker.Flushes(folder, fresh=fresh)
        self.label = label
        self.unproven: Held | None = None
        self.aside: list[str] = []
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
            with self._writing(len(there)):
                self._collection.delete(ids=there)
        refused = insert_all(self._insert, facts, answers=self._collection.count)
        self._tidy()
        return refused

    def holds(self, facts: Sequence[StoredFact]) -> bool:
        """Say whether it holds all of `facts`, each with its payload and its vector."""
        refuse_on_loop("comparing the mem0 store")
        found = self._collection.get(ids=[stored.fact.id for stored in facts], include=["metadatas", "embeddings"])
        payloads = dict(zip(found["ids"], found["metadatas"], strict=True))
        vectors = dict(zip(found["ids"], found["embeddings"], strict=True))
        if payloads != {stored.fact.id: payload(stored.fact, with_words=False) for stored in facts}:
            return False
        held = np.asarray([vectors[stored.fact.id] for stored in facts])
        wanted = np.asarray([stored.vector for stored in facts])
        return held.shape == wanted.shape and np.allclose(held, wanted, rtol=0, atol=NEAR)

    def count(self) -> int:
        """Return how many facts it holds."""
        refuse_on_loop("counting the mem0 store")
        return int(self._collection.count())

    def is_in_place(self) -> bool:
        """Say whether the collection is still there: a server may come back with another folder."""
        refuse_on_loop("looking for the mem0 store")
        return any(found.id == self._collection.id for found in self._client.list_collections())

    def warm_up(self) -> None:
        """Load the index now: Chroma would at the first search, and that writes its files."""
        if self._folder is None:
            return
        with self._writing(0):
            if (first := self._collection.get(limit=1, include=["embeddings"]))["ids"]:
                self._collection.query(query_embeddings=first["embeddings"], n_results=1, include=[])
        self._tidy()

    def close(self) -> None:
        """Close mem0 and the client: Chroma keeps one client a folder in the process until it is closed."""
        refuse_on_loop("closing the mem0 store")
        self._tidy()
        self.memory.close()
        _close(self._client)
        if self._flushes is not None:
            self._flushes.closed()

    def _writing(self, changes: int) -> AbstractContextManager[None]:
        return nullcontext() if self._flushes is None else self._flushes.during(changes)

    def _tidy(self) -> None:
        if self._folder is not None:
            blank_unused(self._folder)
            keep_private(self._folder)

    def _insert(self, facts: Sequence[StoredFact]) -> None:
        with self._writing(len(facts)):
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
    store = _over_chroma(backend, folder, client, name, label, fresh=fresh, embedded=True)
    keep_private(folder)
    return store


def open_chroma_server(backend: Builder, folder: Path, label: Label, *, fresh: bool) -> ChromaStore:
    """Open the store on a Chroma server; `fresh` begins its collection anew, and sets aside what is not ours.

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
    store = _over_chroma(backend, folder, client, where.collection_name, label, fresh=fresh, embedded=False)
    if not fresh:
        # Its folder may be a copy of some days ago, under the same label.
        store.unproven = store
    store.aside = [f"collection {found!r}" for found in _aside(client, where.collection_name, label)]
    return store


def _over_chroma(
    backend: Builder, folder: Path, client: Any, name: str, label: Label, *, fresh: bool, embedded: bool
) -> ChromaStore:
    """Build mem0 over a collection that is there before mem0 would make one; close the client on a failure."""
    try:
        there = name in {found.name for found in client.list_collections()}
        if fresh:
            if there:
                _make_room(client, name, label)
            collection = client.create_collection(
                name,
                embedding_function=None,
                configuration={"hnsw": HNSW | ({"sync_threshold": flush_marker.AFTER} if embedded else {})},
                metadata={STORE_KEY: label.store_id, EMBEDDER_KEY: label.embedder},
            )
        elif there:
            collection = client.get_collection(name, embedding_function=None)
        else:
            raise LookupError(f"the store holds no collection {name!r}")
        carried = collection.metadata or {}
        check_label(label, carried.get(STORE_KEY), carried.get(EMBEDDER_KEY))
        memory = backend.open_memory(folder, client=client)
        store = ChromaStore(memory, client, collection, label, folder=folder if embedded else None, fresh=fresh)
        store.warm_up()
        return store
    except BaseException:
        _close(client)
        raise


def _make_room(client: Any, name: str, label: Label) -> None:
    """Remove the collection that is there; what another database or a plain mem0 has filled is set aside."""
    there = client.get_collection(name, embedding_function=None)
    found = (there.metadata or {}).get(STORE_KEY)
    if is_own(found, label.store_id) or not there.count():
        client.delete_collection(name)
        return
    kept = f"{name}{ASIDE}-{found or secrets.token_hex(4)}"
    there.modify(name=kept)
    log.warning("a collection that something else filled is set aside: %s", kept, extra=about("store.set_aside"))


def _aside(client: Any, name: str, label: Label) -> list[str]:
    """Return the collections that were set aside; those of this database, which has all that they held, are removed."""
    left = []
    for found in sorted(each.name for each in client.list_collections() if each.name.startswith(name + ASIDE)):
        if is_own(found.removeprefix(f"{name}{ASIDE}-"), label.store_id):
            client.delete_collection(found)
        else:
            left.append(found)
    return left


def _close(client: Any) -> None:
    """Close a client, and the connections that one to a server leaves open: its own and its administration's."""
    servers = [getattr(part, "_server", None) for part in (client, getattr(client, "_admin_client", None))]
    client.close()
    for server in servers:
        if (connections := getattr(server, "_session", None)) is not None:
            connections.close()
