"""Stores in mem0's engines other than Chroma, written through mem0's adapters."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import override

from gaia_memory.backend.event_loop_guard import assert_off_event_loop
from gaia_memory.backend.mem0_store.payload import build_payload
from gaia_memory.backend.mem0_store.store import (
    EMBEDDER_KEY,
    FOREIGN_REASON,
    FOREIGN_REMEDY,
    Mem0Builder,
    Mem0Store,
    StoreLabel,
    insert_all,
    is_same_database,
    require_label,
)
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.models import StoredFact

MARKER_USER = "gaia-store"
"""Owner of the row with a store's id, for engines without metadata. It equals no partition: each of those contains a
colon or is a digest."""

_WRITES_KEY, _REFUSED = "gaia_mem0_writes", "refused"
"""Marks a store whose `gaia.mem0` has never written."""

_MARKER_ID = str(uuid.uuid5(uuid.NAMESPACE_URL, "gaia-memory/store"))


class AdapterStore(Mem0Store):
    """A store in an engine of mem0's other than Chroma, written through its adapter."""

    def __init__(self, memory: Any, label: StoreLabel) -> None:
        """Write through `memory.vector_store`."""
        self.memory = memory
        self.label = label
        self.erased: Collection[int] = ()

    @override
    def write(self, facts: Sequence[StoredFact], removed_ids: Collection[str]) -> list[str]:
        assert_off_event_loop("writing the mem0 store")
        # Not every adapter's insert replaces a row.
        for fact_id in [*(stored.fact.id for stored in facts), *removed_ids]:
            self.memory.vector_store.delete(vector_id=fact_id)
        return insert_all(self._insert, facts, check_alive=self.read_label)

    def create(self) -> None:
        """Empty the store and write its label as a row without a user.

        Raises:
            MemoryUnavailable: another database or plain mem0 has filled it.
        """
        vectors = self.memory.vector_store
        if not is_same_database(self.read_label()[0], self.label.store_id) and self._has_facts():
            raise MemoryUnavailable(FOREIGN_REASON, remedy=FOREIGN_REMEDY)
        vectors.reset()
        size = getattr(self.memory.config.vector_store.config, "embedding_model_dims", None) or self.label.dimensions
        vectors.insert(
            vectors=[[1.0] + [0.0] * (size - 1)],
            ids=[_MARKER_ID],
            payloads=[
                {
                    "data": self.label.store_id,
                    "user_id": MARKER_USER,
                    EMBEDDER_KEY: self.label.embedder,
                    _WRITES_KEY: _REFUSED,
                }
            ],
        )

    def read_label(self) -> tuple[object, object]:
        """Return the id and the embedder of the store, or two Nones."""
        marker = self._read_marker()
        return marker.get("data"), marker.get(EMBEDDER_KEY)

    def require_facts_only(self) -> None:
        """Return if only this package has written the store.

        Raises:
            LookupError: an earlier version made it, whose `gaia.mem0` may have added rows that no forget would find.
        """
        if self._read_marker().get(_WRITES_KEY) != _REFUSED:
            raise LookupError("the store was made when gaia.mem0 accepted writes")

    @override
    def still_exists(self) -> bool:
        assert_off_event_loop("looking for the mem0 store")
        return self.read_label()[0] == self.label.store_id

    @override
    def close(self) -> None:
        assert_off_event_loop("closing the mem0 store")
        self.memory.close()
        close = getattr(getattr(self.memory.vector_store, "client", None), "close", None)
        if callable(close):
            close()

    def _read_marker(self) -> dict[str, Any]:
        row = self.memory.vector_store.get(vector_id=_MARKER_ID)
        return (getattr(row, "payload", None) or {}) if row else {}

    def _has_facts(self) -> bool:
        listed = self.memory.vector_store.list(top_k=2)
        rows = listed[0] if listed and isinstance(listed[0], list | tuple) else listed
        return any(str(row.id) != _MARKER_ID for row in rows or [])

    def _insert(self, facts: Sequence[StoredFact]) -> None:
        self.memory.vector_store.insert(
            vectors=[list(stored.vector or ()) for stored in facts],
            ids=[stored.fact.id for stored in facts],
            payloads=[build_payload(stored.fact, with_search_text=True) for stored in facts],
        )


def open_adapter_store(
    backend: Mem0Builder, folder: Path, label: StoreLabel, *, fresh: bool, erasures: Collection[int] = ()
) -> AdapterStore:
    """Open a store through mem0's adapter; `fresh` empties it first. `erasures` are not noted: rows are deleted.

    Raises:
        LookupError: the store has another label, or none, or may have rows that are no facts.
        Exception: the store is unreachable.
    """
    assert_off_event_loop("opening the mem0 store")
    store = AdapterStore(backend.open_memory(folder), label)
    try:
        if fresh:
            store.create()
        require_label(label, *store.read_label())
        store.require_facts_only()
    except BaseException:
        store.close()
        raise
    return store
