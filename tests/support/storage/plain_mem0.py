"""Plain mem0 over the store of a memory, opened as another program opens it: anew for each look."""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gaia_memory.adk.gaia import Gaia
from gaia_memory.backend.mem0_store.chroma import chroma_store
from gaia_memory.backend.providers.swappable_llm import close_client
from gaia_memory.models import Scope

_ALL = 100_000


def open_mem0(config: Mapping[str, Any]) -> Any:
    """Return `mem0.Memory` over a store. Blocking.

    Its language model is never asked. mem0 refuses a scripted embedder by its name, so that one is put in afterwards.
    """
    from mem0 import Memory
    from mem0.utils.factory import EmbedderFactory

    import gaia_memory.mem0_providers  # noqa: F401 - it registers the offline embedder

    options = copy.deepcopy(dict(config)) | {"llm": {"provider": "lmstudio"}}
    embedder = options["embedder"]
    if is_scripted := embedder["provider"] == "scripted":
        options["embedder"] = {"provider": "offline"}
    if embedder["provider"] == "openai" and not os.environ.get("OPENAI_API_KEY"):
        # A program on mem0 sets some key, also for a server that needs none.
        options["embedder"] = {**embedder, "config": {**embedder["config"], "api_key": "no-key"}}
    Path(options["history_db_path"]).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    memory = Memory.from_config(options)
    if is_scripted:
        memory.embedding_model = EmbedderFactory.create("scripted", embedder["config"], None)
    return memory


@contextmanager
def plain_mem0(config: Mapping[str, Any]) -> Iterator[Any]:
    """Open `mem0.Memory` over a store, and close it with its client. Blocking."""
    memory = open_mem0(config)
    try:
        yield memory
    finally:
        memory.close()
        if type(memory.vector_store).__name__ == "ChromaDB":
            # Its client leaves its HTTP sessions open.
            chroma_store._close(memory.vector_store.client)
        for part in (memory.vector_store, memory.embedding_model, memory.llm):
            close_client(part)


def list_rows(config: Mapping[str, Any], scope: Scope) -> list[dict[str, Any]]:
    """Return a scope's facts as plain mem0 lists them. Blocking."""
    with plain_mem0(config) as memory:
        rows: list[dict[str, Any]] = memory.get_all(filters={"user_id": scope.mem0_user_id}, top_k=_ALL)["results"]
    return rows


def list_facts(config: Mapping[str, Any], scope: Scope) -> dict[str, str]:
    """Return id and text of a scope's facts in plain mem0. Blocking."""
    return {row["id"]: row["memory"] for row in list_rows(config, scope)}


def find_facts(config: Mapping[str, Any], scope: Scope, query: str, *, limit: int = 5) -> list[str]:
    """Return the texts that plain mem0 finds for a query. Blocking."""
    with plain_mem0(config) as memory:
        found = memory.search(query, filters={"user_id": scope.mem0_user_id}, top_k=limit, threshold=0.0)
    return [row["memory"] for row in found["results"]]


async def mem0_facts(gaia: Gaia, user: str | Scope) -> dict[str, str]:
    """Return id and text of a user's facts in plain mem0."""
    scope = user if isinstance(user, Scope) else gaia.scope(user)
    return await asyncio.to_thread(list_facts, gaia.mem0_config(), scope)
