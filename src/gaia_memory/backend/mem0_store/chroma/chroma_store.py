"""Stores in Chroma, in a folder or on a server, with a collection that we create."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import override

from gaia_memory.backend.event_loop_guard import assert_off_event_loop
from gaia_memory.backend.mem0_store.payload import build_payload, is_own
from gaia_memory.backend.mem0_store.store import (
    EMBEDDER_KEY,
    FORMAT,
    FORMAT_KEY,
    SHARED_CHARACTERS,
    Mem0Builder,
    Mem0Store,
    StoreLabel,
    StoreRow,
    foreign_error,
    insert_all,
    is_same_database,
    require_label,
)
from gaia_memory.models import StoredFact

HNSW_CONFIG = {"space": "cosine", "max_neighbors": 64, "sync_threshold": 1_000_000, "batch_size": 100}
"""Chroma rewrites its index files in place after `sync_threshold` writes, and a process killed in the middle leaves
unreadable files. A server never reaches the threshold.

With the default of 16 neighbours the graph loses vectors that are close together: of 150 facts that differ in one
word, plain mem0 did not find 37 by their own text; with 32 it missed a few at times, with 64 none."""

FOLDER_SYNC_THRESHOLD = 2_000
"""The threshold in a folder, which is not opened again after a kill. Chroma reads its log of all writes since the last
rewrite at each write: without rewrites, each write of 100,000 facts would read half of them."""

_PAGE_ROWS = 1_000
_LAST_WRITES_SECONDS = 0.2
"""How long writes of other programs to a collection that has lost its name may take."""

STORE_KEY = "gaia_store"
ERASED_KEY = "gaia_erased"
_VECTOR_COUNT_BYTES = slice(20, 28)
"""Where the header of an index file has the number of its vectors."""


class ChromaStore(Mem0Store):
    """A store in Chroma, in a folder or on a server, with a collection that we create."""

    def __init__(self, client: Any, collection: Any, label: StoreLabel, folder: Path | None) -> None:
        """Write to `collection`; `folder` has the files of an embedded store."""
        self.label = label
        self.erased: Collection[int] = json.loads(collection.metadata.get(ERASED_KEY, "[]"))
        self._client = client
        self._collection = collection
        self._folder = folder

    @override
    def write(self, facts: Sequence[StoredFact], removed_ids: Collection[str]) -> list[str]:
        assert_off_event_loop("writing the mem0 store")
        ids = [*(stored.fact.id for stored in facts), *removed_ids]
        # Chroma merges an old payload into the new one, and it refuses an empty list.
        if ids and (existing_ids := self._collection.get(ids=ids, include=[])["ids"]):
            self._collection.delete(ids=existing_ids)
        refused = insert_all(self._insert, facts, check_alive=self._collection.count)
        self._secure_files()
        return refused

    @override
    def rows(self) -> list[StoreRow]:
        assert_off_event_loop("listing the mem0 store")
        return [StoreRow(row_id, payload or {}) for row_id, payload in _pages(self._collection)]

    @override
    def still_exists(self) -> bool:
        assert_off_event_loop("looking for the mem0 store")
        return any(found.id == self._collection.id for found in self._client.list_collections())

    def warm_up(self) -> None:
        """Load the index of a folder: Chroma would do it at the first search, and that writes its files."""
        if self._folder is not None:
            if (first := self._collection.get(limit=1, include=["embeddings"]))["ids"]:
                self._collection.query(query_embeddings=first["embeddings"], n_results=1, include=[])
            self._secure_files()

    @override
    def close(self) -> None:
        assert_off_event_loop("closing the mem0 store")
        self._secure_files()
        # Chroma keeps one client for each folder in the process until it is closed.
        _close(self._client)

    def _insert(self, facts: Sequence[StoredFact]) -> None:
        self._collection.upsert(
            ids=[stored.fact.id for stored in facts],
            embeddings=[list(stored.vector or ()) for stored in facts],
            metadatas=[build_payload(stored.fact, with_search_text=False) for stored in facts],
        )

    def _secure_files(self) -> None:
        if self._folder is not None:
            _zero_unused_index_files(self._folder)
            _restrict_permissions(self._folder)


def open_chroma(
    backend: Mem0Builder,
    folder: Path,
    label: StoreLabel,
    *,
    fresh: bool,
    erasures: Collection[int] = (),
    is_embedded: bool = False,
) -> ChromaStore:
    """Open the store in `folder` or on the configured server; `fresh` creates its collection, free of `erasures`.

    Raises:
        LookupError: the collection is missing or has another label.
        UnusableStoreError: another database or plain mem0 has filled the collection to be created.
        Exception: the server is unreachable, or Chroma or mem0 cannot open the folder.
    """
    assert_off_event_loop("opening the mem0 store")
    config = backend.store_config(folder)
    client = _connect(config, folder if is_embedded else None)
    name = config.collection_name
    try:
        exists = _finish_replacement(client, name, label)
        if fresh:
            hnsw = HNSW_CONFIG | ({"sync_threshold": FOLDER_SYNC_THRESHOLD} if is_embedded else {})
            if exists:
                _require_own(client, name, label)
            collection = _create(client, name, label, erasures, hnsw, exists=exists)
        elif exists:
            collection = client.get_collection(name, embedding_function=None)
        else:
            raise LookupError(f"the store has no collection {name!r}")
        require_label(label, collection.metadata or {}, id_key=STORE_KEY)
        store = ChromaStore(client, collection, label, folder if is_embedded else None)
        store.warm_up()
        return store
    except BaseException:
        _close(client)
        raise


def require_usable_chroma(backend: Mem0Builder, folder: Path, label: StoreLabel) -> None:
    """Return if the collection on the server may become this database's; see `StoreLocation.require_usable`."""
    config = backend.store_config(folder)
    client = _connect(config, None)
    try:
        if config.collection_name in {found.name for found in client.list_collections()}:
            _require_own(client, config.collection_name, label)
    finally:
        _close(client)


def _create(
    client: Any, name: str, label: StoreLabel, erasures: Collection[int], hnsw: Mapping[str, Any], *, exists: bool
) -> Any:
    """Create the collection; in place of one that `exists`, with the rows that other programs have written there.

    Raises:
        UnusableStoreError: these rows do not fit to the embedder; nothing is lost.
    """
    made_name, old_name = (_spare_name(name, label, "next") if exists else name), _spare_name(name, label, "old")
    if exists and made_name in {found.name for found in client.list_collections()}:
        client.delete_collection(made_name)
    metadata = {
        STORE_KEY: label.store_id,
        EMBEDDER_KEY: label.embedder,
        FORMAT_KEY: FORMAT,
        ERASED_KEY: json.dumps(sorted(erasures)),
    }
    configuration = {"hnsw": dict(hnsw)}
    collection = client.create_collection(
        made_name, embedding_function=None, configuration=configuration, metadata=metadata
    )
    if exists:
        old = client.get_collection(name, embedding_function=None)
        _carry_over(old, collection)
        old.modify(name=old_name)
        collection.modify(name=name)
        _drop_old(client, old_name, collection)
    return collection


def _finish_replacement(client: Any, name: str, label: StoreLabel) -> bool:
    """Return whether the collection exists, after finishing what a killed process has begun to put in its place."""
    names = {found.name for found in client.list_collections()}
    if name not in names and (made_name := _spare_name(name, label, "next")) in names:
        client.get_collection(made_name, embedding_function=None).modify(name=name)
        names.add(name)
    if name in names and (old_name := _spare_name(name, label, "old")) in names:
        _drop_old(client, old_name, client.get_collection(name, embedding_function=None))
    return name in names


def _spare_name(name: str, label: StoreLabel, kind: str) -> str:
    """Return the name of a collection that is being filled, or of the one whose place it takes: no other database's."""
    return f"{name}-{kind}-{label.store_id[:SHARED_CHARACTERS]}"


def _drop_old(client: Any, old_name: str, collection: Any) -> None:
    """Drop what `collection` has replaced, with the rows that programs which had it open have written since."""
    time.sleep(_LAST_WRITES_SECONDS)
    _carry_over(client.get_collection(old_name, embedding_function=None), collection)
    client.delete_collection(old_name)


def _connect(config: Any, folder: Path | None) -> Any:
    """Return a client of `folder`, or of the server that `config` names."""
    import chromadb
    from chromadb.config import Settings

    settings = Settings(anonymized_telemetry=False)
    if folder is not None:
        return chromadb.PersistentClient(path=str(folder), settings=settings)
    if config.host:
        return chromadb.HttpClient(host=config.host, port=config.port, settings=settings)
    return chromadb.CloudClient(tenant=config.tenant, database="mem0", api_key=config.api_key, settings=settings)


def _pages(collection: Any, include: Sequence[str] = ("metadatas",)) -> Iterator[tuple[Any, ...]]:
    """Yield the id of each row of a collection, with what is included."""
    start = 0
    while (found := collection.get(limit=_PAGE_ROWS, offset=start, include=list(include)))["ids"]:
        yield from zip(found["ids"], *(found[name] for name in include), strict=True)
        start += len(found["ids"])


def _carry_over(old: Any, new: Any) -> None:
    """Copy the rows of other programs; a collection of an earlier form has none that can be told from ours.

    Raises:
        UnusableStoreError: their vectors do not fit to the embedder; nothing is lost.
    """
    if (old.metadata or {}).get(FORMAT_KEY) != FORMAT:
        return
    theirs = [row for row in _pages(old, ("embeddings", "metadatas")) if not is_own(row[0], row[2] or {})]
    if theirs and (old.metadata or {}).get(EMBEDDER_KEY) != new.metadata[EMBEDDER_KEY]:
        raise foreign_error(old.name, f"{len(theirs)} rows of other programs would be lost")
    for start in range(0, len(theirs), _PAGE_ROWS):
        ids, embeddings, metadatas = zip(*theirs[start : start + _PAGE_ROWS], strict=True)
        new.upsert(ids=list(ids), embeddings=list(embeddings), metadatas=list(metadatas))


def _require_own(client: Any, name: str, label: StoreLabel) -> None:
    """Return if the existing collection is empty or of this database.

    Raises:
        UnusableStoreError: another database or plain mem0 has filled it.
    """
    existing = client.get_collection(name, embedding_function=None)
    if not is_same_database((existing.metadata or {}).get(STORE_KEY), label.store_id) and existing.count():
        raise foreign_error(name)


def _close(client: Any) -> None:
    """Close a client and the HTTP sessions that it leaves open: its own and that of its administration client."""
    servers = [getattr(part, "_server", None) for part in (client, getattr(client, "_admin_client", None))]
    client.close()
    for server in servers:
        if (connections := getattr(server, "_session", None)) is not None:
            connections.close()


def _zero_unused_index_files(folder: Path) -> None:
    """Overwrite the files of empty indexes in `folder` with zeros.

    Chroma writes an empty index from uninitialized memory, so any text of the process, even a forgotten one, could end
    up in the file. An index with vectors is left alone.
    """
    for header in folder.glob("*/header.bin"):
        if (header.parent / "index_metadata.pickle").exists() or any(header.read_bytes()[_VECTOR_COUNT_BYTES]):
            continue
        for name in ("data_level0.bin", "length.bin"):
            path = header.with_name(name)
            if path.is_file() and any(path.read_bytes()):
                with path.open("r+b") as file:
                    file.write(bytes(path.stat().st_size))


def _restrict_permissions(folder: Path) -> None:
    """Remove the permissions of other users from the files of `folder`: Chroma follows the process's umask."""
    for path in folder.rglob("*"):
        # Chroma may remove a file in between.
        with contextlib.suppress(FileNotFoundError):
            path.chmod(0o700 if path.is_dir() else 0o600)
