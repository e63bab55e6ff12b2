"""Reads the facts in the folder of a mem0 store without its database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gaia_memory.backend.event_loop_guard import assert_off_event_loop
from gaia_memory.backend.mem0_store.store import EMBEDDER_KEY
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.models import Vector

_BATCH_ROWS = 500

StoreRow = tuple[str, dict[str, Any], Vector, str]
"""The id of a fact, its payload as `build_payload` made it, its vector and the vector's embedder."""


def read_folder(folder: Path) -> list[StoreRow]:
    """Return every fact of an embedded Chroma that no process has open. Blocking.

    Raises:
        MemoryUnavailable: Chroma cannot read the folder.
    """
    assert_off_event_loop("reading a mem0 store")
    import chromadb
    from chromadb.config import Settings

    try:
        client = chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))
        try:
            return [row for each in client.list_collections() for row in _read_collection(each)]
        finally:
            client.close()
    except Exception as error:
        # Whatever Chroma raises about a damaged folder, it cannot be read.
        raise MemoryUnavailable(
            f"{folder} cannot be read ({type(error).__name__})", remedy="restore a backup with `gaia restore`"
        ) from error


def _read_collection(collection: Any) -> Iterator[StoreRow]:
    embedder = str((collection.metadata or {}).get(EMBEDDER_KEY, ""))
    for start in range(0, collection.count(), _BATCH_ROWS):
        page = collection.get(limit=_BATCH_ROWS, offset=start, include=["metadatas", "embeddings"])
        for fact_id, payload, vector in zip(page["ids"], page["metadatas"], page["embeddings"], strict=True):
            if payload and "data" in payload and "user_id" in payload:
                yield fact_id, dict(payload), tuple(float(number) for number in vector), embedder
