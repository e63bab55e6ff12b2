"""Stores in Chroma, in a folder or on a server, with a collection that we create."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from gaia_memory.backend.event_loop_guard import assert_off_event_loop
from gaia_memory.backend.mem0_store.chroma import flush_marker
from gaia_memory.backend.mem0_store.chroma.folders import restrict_permissions, zero_unused_index_files
from gaia_memory.backend.mem0_store.payload import build_payload
from gaia_memory.backend.mem0_store.store import (
    EMBEDDER_KEY,
    Mem0Builder,
    StoreContents,
    StoreLabel,
    insert_all,
    require_label,
)
from gaia_memory.backend.mem0_store.store_ids import QUARANTINE_SUFFIX, is_same_database
from gaia_memory.log import logger_for
from gaia_memory.models import StoredFact
from gaia_memory.telemetry import log_fields

log = logger_for(__name__)

HNSW_CONFIG = {"space": "cosine", "max_neighbors": 64, "sync_threshold": 1_000_000, "batch_size": 100}
"""Chroma rewrites its index files in place after `sync_threshold` writes, and a process killed in the middle leaves
unreadable files. A server never reaches the threshold; in a folder, `FlushMarker` guards the rewrite.

With the default of 16 neighbours the graph loses vectors that are close together: of 150 facts that differ in one
word, plain mem0 did not find 37 by their own text; with 32 it missed a few at times, with 64 none."""

STORE_KEY = "gaia_store"
VECTOR_TOLERANCE = 1e-6
"""Chroma normalizes each vector again, which rounds it."""


class ChromaStore:
    """A store in Chroma, in a folder or on a server, with a collection that we create."""

    def __init__(
        self, memory: Any, client: Any, collection: Any, label: StoreLabel, *, folder: Path | None, fresh: bool
    ) -> None:
        """Write to `collection`, from which `memory` reads; `folder` has the files of an embedded store."""
        self.memory = memory
        self._folder = folder
        self._flush_marker = None if folder is None else flush_marker.FlushMarker(folder, fresh=fresh)
        self.label = label
        self.unverified: StoreContents | None = None
        self.quarantined: list[str] = []
        self._client = client
        self._collection = collection

    def write(self, facts: Sequence[StoredFact], removed_ids: Collection[str]) -> list[str]:
        """Write `facts` and remove `removed_ids`; return the ids of facts that Chroma refuses.

        Existing rows are removed first, because Chroma merges the old payload into the new one.
        """
        assert_off_event_loop("writing the mem0 store")
        ids = [*(stored.fact.id for stored in facts), *removed_ids]
        # Chroma refuses an empty list.
        if ids and (existing_ids := self._collection.get(ids=ids, include=[])["ids"]):
            with self._guard_flush(len(existing_ids)):
                self._collection.delete(ids=existing_ids)
        refused = insert_all(self._insert, facts, check_alive=self._collection.count)
        self._secure_files()
        return refused

    def contains(self, facts: Sequence[StoredFact]) -> bool:
        """Return whether it contains all of `facts`, each with its payload and its vector."""
        assert_off_event_loop("comparing the mem0 store")
        found = self._collection.get(ids=[stored.fact.id for stored in facts], include=["metadatas", "embeddings"])
        payloads = dict(zip(found["ids"], found["metadatas"], strict=True))
        vectors = dict(zip(found["ids"], found["embeddings"], strict=True))
        if payloads != {stored.fact.id: build_payload(stored.fact, with_search_text=False) for stored in facts}:
            return False
        stored_vectors = np.asarray([vectors[stored.fact.id] for stored in facts])
        expected_vectors = np.asarray([stored.vector for stored in facts])
        return stored_vectors.shape == expected_vectors.shape and np.allclose(
            stored_vectors, expected_vectors, rtol=0, atol=VECTOR_TOLERANCE
        )

    def count(self) -> int:
        """Return the number of facts."""
        assert_off_event_loop("counting the mem0 store")
        return int(self._collection.count())

    def still_exists(self) -> bool:
        """Return whether the collection still exists: a server may restart with another folder."""
        assert_off_event_loop("looking for the mem0 store")
        return any(found.id == self._collection.id for found in self._client.list_collections())

    def warm_up(self) -> None:
        """Load the index: Chroma would do it at the first search, and that writes its files."""
        if self._folder is None:
            return
        with self._guard_flush(0):
            if (first := self._collection.get(limit=1, include=["embeddings"]))["ids"]:
                self._collection.query(query_embeddings=first["embeddings"], n_results=1, include=[])
        self._secure_files()

    def close(self) -> None:
        """Close mem0 and the client: Chroma keeps one client for each folder in the process until it is closed."""
        assert_off_event_loop("closing the mem0 store")
        self._secure_files()
        self.memory.close()
        _close(self._client)
        if self._flush_marker is not None:
            self._flush_marker.save_log_length()

    def _guard_flush(self, changes: int) -> AbstractContextManager[None]:
        return nullcontext() if self._flush_marker is None else self._flush_marker.guard_writes(changes)

    def _secure_files(self) -> None:
        if self._folder is not None:
            zero_unused_index_files(self._folder)
            restrict_permissions(self._folder)

    def _insert(self, facts: Sequence[StoredFact]) -> None:
        with self._guard_flush(len(facts)):
            self._collection.upsert(
                ids=[stored.fact.id for stored in facts],
                embeddings=[list(stored.vector or ()) for stored in facts],
                metadatas=[build_payload(stored.fact, with_search_text=False) for stored in facts],
            )


def open_folder(backend: Mem0Builder, folder: Path, label: StoreLabel, *, fresh: bool) -> ChromaStore:
    """Open the embedded Chroma store in `folder`; `fresh` creates its collection with `label`.

    Raises:
        LookupError: the folder has no collection of ours, or another label.
        Exception: Chroma or mem0 cannot open it.
    """
    assert_off_event_loop("opening the mem0 store")
    config = backend.mem0_config(folder)
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))
    name = config.vector_store.config.collection_name
    store = _open_collection(backend, folder, client, name, label, fresh=fresh, embedded=True)
    restrict_permissions(folder)
    return store


def open_chroma_server(backend: Mem0Builder, folder: Path, label: StoreLabel, *, fresh: bool) -> ChromaStore:
    """Open the store on a Chroma server; `fresh` recreates its collection, and quarantines one that is not ours.

    Raises:
        LookupError: the collection is missing or has another label.
        Exception: the server is unreachable.
    """
    assert_off_event_loop("opening the mem0 store")
    store_config = backend.mem0_config(folder).vector_store.config
    import chromadb
    from chromadb.config import Settings

    settings = Settings(anonymized_telemetry=False)
    if store_config.host:
        client = chromadb.HttpClient(host=store_config.host, port=store_config.port, settings=settings)
    else:
        client = chromadb.CloudClient(
            tenant=store_config.tenant, database="mem0", api_key=store_config.api_key, settings=settings
        )
    store = _open_collection(backend, folder, client, store_config.collection_name, label, fresh=fresh, embedded=False)
    if not fresh:
        # The server's folder may be an old copy with the same label.
        store.unverified = store
    store.quarantined = [
        f"collection {found!r}" for found in _quarantined_collections(client, store_config.collection_name, label)
    ]
    return store


def _open_collection(
    backend: Mem0Builder, folder: Path, client: Any, name: str, label: StoreLabel, *, fresh: bool, embedded: bool
) -> ChromaStore:
    """Build mem0 over our collection, before mem0 creates its own; close the client on a failure."""
    try:
        exists = name in {found.name for found in client.list_collections()}
        if fresh:
            if exists:
                _drop_or_quarantine(client, name, label)
            collection = client.create_collection(
                name,
                embedding_function=None,
                configuration={
                    "hnsw": HNSW_CONFIG | ({"sync_threshold": flush_marker.FLUSH_THRESHOLD_WRITES} if embedded else {})
                },
                metadata={STORE_KEY: label.store_id, EMBEDDER_KEY: label.embedder},
            )
        elif exists:
            collection = client.get_collection(name, embedding_function=None)
        else:
            raise LookupError(f"the store has no collection {name!r}")
        metadata = collection.metadata or {}
        require_label(label, metadata.get(STORE_KEY), metadata.get(EMBEDDER_KEY))
        memory = backend.open_memory(folder, client=client)
        store = ChromaStore(memory, client, collection, label, folder=folder if embedded else None, fresh=fresh)
        store.warm_up()
        return store
    except BaseException:
        _close(client)
        raise


def _drop_or_quarantine(client: Any, name: str, label: StoreLabel) -> None:
    """Remove the existing collection, or quarantine it if another database or plain mem0 has filled it."""
    existing = client.get_collection(name, embedding_function=None)
    owner_id = (existing.metadata or {}).get(STORE_KEY)
    if is_same_database(owner_id, label.store_id) or not existing.count():
        client.delete_collection(name)
        return
    quarantine_name = f"{name}{QUARANTINE_SUFFIX}-{owner_id or secrets.token_hex(4)}"
    existing.modify(name=quarantine_name)
    log.warning(
        "a collection of another database or of plain mem0 is quarantined: %s",
        quarantine_name,
        extra=log_fields("store.set_aside"),
    )


def _quarantined_collections(client: Any, name: str, label: StoreLabel) -> list[str]:
    """Return the quarantined collections, without those of this database, which are removed: it has their facts."""
    remaining = []
    for found in sorted(
        each.name for each in client.list_collections() if each.name.startswith(name + QUARANTINE_SUFFIX)
    ):
        if is_same_database(found.removeprefix(f"{name}{QUARANTINE_SUFFIX}-"), label.store_id):
            client.delete_collection(found)
        else:
            remaining.append(found)
    return remaining


def _close(client: Any) -> None:
    """Close a client and the HTTP sessions that it leaves open: its own and that of its administration client."""
    servers = [getattr(part, "_server", None) for part in (client, getattr(client, "_admin_client", None))]
    client.close()
    for server in servers:
        if (connections := getattr(server, "_session", None)) is not None:
            connections.close()
