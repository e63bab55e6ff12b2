"""The store in another of mem0's engines, written through mem0's own adapter."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from gaia_memory.backend.event_loop_guard import refuse_on_loop
from gaia_memory.backend.mem0_store.payload import payload
from gaia_memory.backend.mem0_store.store import EMBEDDER_KEY, Builder, Held, Label, check_label, insert_all
from gaia_memory.backend.mem0_store.store_ids import is_own
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.models import StoredFact

MARKER_USER = "gaia-store"
"""Owner of the row that carries a store's id where a store has no metadata. No partition is spelled like it:
each holds a colon or is a digest."""

_MARKER_ID = str(uuid.uuid5(uuid.NAMESPACE_URL, "gaia-memory/store"))


class ServerStore:
    """A store in another of mem0's engines, written through mem0's own adapter."""

    def __init__(self, memory: Any, label: Label) -> None:
        """Write through `memory.vector_store`."""
        self.memory = memory
        self.label = label
        self.unproven: Held | None = None
        self.aside: list[str] = []

    def write(self, facts: Sequence[StoredFact], gone: Collection[str]) -> list[str]:
        """Put `facts`, each after a delete, and remove `gone`: not every adapter's insert replaces a row."""
        refuse_on_loop("writing the mem0 store")
        for fact_id in [*(stored.fact.id for stored in facts), *gone]:
            self.memory.vector_store.delete(vector_id=fact_id)
        return insert_all(self._insert, facts, answers=self.carried)

    def begin(self) -> None:
        """Empty the store and put its label into it, as a row of nobody's.

        Raises:
            MemoryUnavailable: another database or a plain mem0 has filled it; mem0 knows no way to set that aside.
        """
        vectors = self.memory.vector_store
        if not is_own(self.carried()[0], self.label.store_id) and self._is_filled():
            raise MemoryUnavailable(
                "the mem0 store holds what this memory has not written",
                remedy="name another collection under memory.vector_store, or empty this one yourself",
            )
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

    def is_in_place(self) -> bool:
        """Say whether it still carries its label."""
        refuse_on_loop("looking for the mem0 store")
        return self.carried()[0] == self.label.store_id

    def close(self) -> None:
        """Close mem0 and, where its adapter has one, the client."""
        refuse_on_loop("closing the mem0 store")
        self.memory.close()
        close = getattr(getattr(self.memory.vector_store, "client", None), "close", None)
        if callable(close):
            close()

    def _is_filled(self) -> bool:
        listed = self.memory.vector_store.list(top_k=2)
        rows = listed[0] if listed and isinstance(listed[0], list | tuple) else listed
        return any(str(row.id) != _MARKER_ID for row in rows or [])

    def _insert(self, facts: Sequence[StoredFact]) -> None:
        self.memory.vector_store.insert(
            vectors=[list(stored.vector or ()) for stored in facts],
            ids=[stored.fact.id for stored in facts],
            payloads=[payload(stored.fact, with_words=True) for stored in facts],
        )


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
        check_label(label, *store.carried())
    except BaseException:
        store.close()
        raise
    return store
