"""Stores in mem0's engines other than Chroma, written through mem0's adapters."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import override

from gaia_memory.backend.event_loop_guard import assert_off_event_loop
from gaia_memory.backend.mem0_store.payload import build_payload, is_own
from gaia_memory.backend.mem0_store.store import (
    EMBEDDER_KEY,
    FORMAT,
    FORMAT_KEY,
    Mem0Builder,
    Mem0Store,
    StoreLabel,
    StoreRow,
    foreign_error,
    insert_all,
    is_same_database,
    require_label,
    require_writable,
)
from gaia_memory.config.sections.provider_section import REMOTE_STORE_KEYS
from gaia_memory.errors import UnusableStoreError
from gaia_memory.models import StoredFact

MARKER_USER = "%gaia-store"
"""Owner of the row with a store's id, for engines without metadata. No user's id in the store begins like this."""

ID_KEY = "data"
_ALL_ROWS = 10**8
"""mem0's adapters list no pages."""

_MARKER_ID = str(uuid.uuid5(uuid.NAMESPACE_URL, "gaia-memory/store"))


class AdapterStore(Mem0Store):
    """A store in an engine of mem0's other than Chroma, written through its adapter."""

    def __init__(self, vectors: Any, label: StoreLabel, dimensions: int) -> None:
        """Write through `vectors`, mem0's adapter; its vectors have `dimensions` numbers."""
        self._vectors = vectors
        self._dimensions = dimensions
        self.label = label
        self.erased: Collection[int] = ()

    @override
    def write(self, facts: Sequence[StoredFact], removed_ids: Collection[str]) -> list[str]:
        assert_off_event_loop("writing the mem0 store")
        # Not every adapter's insert replaces a row.
        for fact_id in [*(stored.fact.id for stored in facts), *removed_ids]:
            self._vectors.delete(vector_id=fact_id)
        return insert_all(self._insert, facts, check_alive=self._read_marker)

    def create(self) -> None:
        """Empty the store and write its label as a row without a user.

        Raises:
            UnusableStoreError: another database or plain mem0 has filled it, or vectors of another length are there.
        """
        theirs = [row for row in self.rows() if not is_own(row.id, row.payload)]
        if theirs and self._read_marker().get(FORMAT_KEY) == FORMAT:
            raise foreign_error(self._collection, f"{len(theirs)} rows of other programs would be lost")
        self.require_own()
        self._vectors.reset()
        marker = {ID_KEY: self.label.store_id, "user_id": MARKER_USER, EMBEDDER_KEY: self.label.embedder}
        self._vectors.insert(
            vectors=[[1.0] + [0.0] * (self._dimensions - 1)],
            ids=[_MARKER_ID],
            payloads=[marker | {FORMAT_KEY: FORMAT}],
        )

    def require_own(self) -> None:
        """Return if the collection is this database's, or an empty one for vectors of this length.

        Raises:
            UnusableStoreError: it is another's.
        """
        if is_same_database(self._read_marker().get(ID_KEY), self.label.store_id):
            return
        if any(str(row.id) != _MARKER_ID for row in self._list(2)):
            raise foreign_error(self._collection)
        # Qdrant's adapter tells the length.
        vectors = getattr(getattr(getattr(self._vectors.col_info(), "config", None), "params", None), "vectors", None)
        if (size := getattr(vectors, "size", self._dimensions)) != self._dimensions:
            found = f"its vectors have {size} numbers, and those of {self.label.embedder} have {self._dimensions}"
            raise foreign_error(self._collection, found)

    @property
    def _collection(self) -> object:
        return getattr(self._vectors, "collection_name", None)

    def require_label(self) -> None:
        """Return if the store has the label.

        Raises:
            LookupError: it has another label, or none.
        """
        require_label(self.label, self._read_marker(), id_key=ID_KEY)

    @override
    def rows(self) -> list[StoreRow]:
        assert_off_event_loop("listing the mem0 store")
        return [StoreRow(str(row.id), row.payload or {}) for row in self._list(_ALL_ROWS) if str(row.id) != _MARKER_ID]

    @override
    def still_exists(self) -> bool:
        assert_off_event_loop("looking for the mem0 store")
        return self._read_marker().get(ID_KEY) == self.label.store_id

    @override
    def close(self) -> None:
        assert_off_event_loop("closing the mem0 store")
        close = getattr(getattr(self._vectors, "client", None), "close", None)
        if callable(close):
            close()

    def _read_marker(self) -> dict[str, Any]:
        row = self._vectors.get(vector_id=_MARKER_ID)
        return (getattr(row, "payload", None) or {}) if row else {}

    def _list(self, limit: int) -> Sequence[Any]:
        listed = self._vectors.list(top_k=limit)
        return (listed[0] if listed and isinstance(listed[0], list | tuple) else listed) or []

    def _insert(self, facts: Sequence[StoredFact]) -> None:
        self._vectors.insert(
            vectors=[list(stored.vector or ()) for stored in facts],
            ids=[stored.fact.id for stored in facts],
            payloads=[build_payload(stored.fact, with_search_text=True) for stored in facts],
        )


def open_adapter_store(
    backend: Mem0Builder, folder: Path, label: StoreLabel, *, fresh: bool, erasures: Collection[int] = ()
) -> AdapterStore:
    """Open a store through mem0's adapter; `fresh` empties it first. `erasures` are not noted: rows are deleted.

    Raises:
        LookupError: the store has another label, or none.
        Exception: the store is unreachable.
    """
    assert_off_event_loop("opening the mem0 store")
    config = backend.store_config(folder)
    store = AdapterStore(backend.create_vector_store(config), label, _read_dimensions(config, label))
    try:
        if fresh:
            store.create()
        store.require_label()
    except BaseException:
        store.close()
        raise
    return store


def require_usable_adapter(backend: Mem0Builder, folder: Path, label: StoreLabel) -> None:
    """Return if the store that is there now may become this database's; see `StoreLocation.require_usable`."""
    config = backend.store_config(folder)
    dimensions = _read_dimensions(config, label)
    is_remote = any(backend.store_provider.config.get(key) for key in REMOTE_STORE_KEYS)
    if not is_remote and (path := getattr(config, "path", None)):
        require_writable(Path(path))
        if not any(Path(path).glob("*")):
            return
    backend.require_store_package()
    from mem0.utils.factory import VectorStoreFactory, load_class

    adapter_class = load_class(VectorStoreFactory.provider_to_class[backend.store_provider.name])
    # The adapters make a missing collection as they are opened.
    reader = type("ReadOnly", (adapter_class,), {"create_col": lambda *_, **__: None})(**config.model_dump())
    store = AdapterStore(reader, label, dimensions)
    try:
        store.require_own()
    finally:
        store.close()


def _read_dimensions(config: Any, label: StoreLabel) -> int:
    """Return the length of the store's vectors.

    Raises:
        UnusableStoreError: the configuration has another one than the embedder.
    """
    wanted, key = getattr(config, "embedding_model_dims", None), "memory.vector_store.embedding_model_dims"
    if wanted and label.dimensions not in (1, wanted):
        reason = f"{key} is {wanted}, but the vectors of {label.embedder} have {label.dimensions} numbers"
        raise UnusableStoreError(reason, remedy="leave the key out")
    return int(wanted or label.dimensions)
