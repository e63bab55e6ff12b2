"""Makes a store through plain mem0, of 2.2 or 1.0, with nothing of ours but the embedder: `… provider folder [more]`.

`tests/integration/cli/mem0_1_0_stores.zip` has the stores that it made with mem0ai 1.0.11, chromadb 1.5.9,
qdrant-client 1.20.0 and faiss-cpu 1.15.1. They are data, because both versions cannot be installed together, and 1.0
changes no more: `pip install 'mem0ai==1.0.*' chromadb faiss-cpu`, then this program once for each provider.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import uuid
from pathlib import Path
from typing import Any

EMBEDDER = Path(__file__).parents[3] / "src/gaia_memory/backend/providers/sentence_encoder.py"
FACTS: list[tuple[str, dict[str, Any]]] = [
    ("Lives in Haifa", {"user_id": "ada", "agent_id": "helper", "run_id": "r1", "metadata": {"category": "home"}}),
    ("Is allergic to nuts", {"user_id": "ada", "metadata": {"level": 5}}),
    ("Plays chess", {"user_id": "ada"}),
    ("Likes tea", {"user_id": "ben@example.com", "run_id": "r2"}),
    ("Answers in French", {"agent_id": "helper"}),
]
"""What is added; then the first is updated and the third deleted."""

MOVED = "Lives in Berlin"


def mem0_config(provider: str, folder: Path) -> dict[str, Any]:
    """Return mem0's configuration of a store in `folder`; with it, both models are built without a key."""
    store = {"collection_name": "mem0", "path": str(folder)}
    sizes = {"embedding_model_dims": 512} if provider != "chroma" else {}
    on_disk = {"on_disk": True} if provider == "qdrant" else {}
    return {
        "vector_store": {"provider": provider, "config": {**store, **sizes, **on_disk}},
        "llm": {"provider": "lmstudio", "config": {}},
        "embedder": {"provider": "lmstudio", "config": {}},
        "history_db_path": str(folder.with_name("history.db")),
    }


def make(provider: str, folder: Path, more: int) -> None:
    """Fill a new store and print the ids; `more` facts of one user are added at once."""
    os.environ |= {
        "MEM0_TELEMETRY": "False",
        "MEM0_DIR": str(folder.with_name("mem0")),
        "ANONYMIZED_TELEMETRY": "False",
    }
    from mem0 import Memory

    spec = importlib.util.spec_from_file_location("sentence_encoder", EMBEDDER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    memory = Memory.from_config(mem0_config(provider, folder))
    memory.embedding_model = module.SentenceEncoder()
    added = [memory.add(text, infer=False, **owner)["results"][0]["id"] for text, owner in FACTS]
    memory.update(added[0], MOVED)
    memory.delete(added[2])
    texts = [f"Has read book {number}" for number in range(more)]
    if more:
        memory.vector_store.insert(
            vectors=memory.embedding_model.embed_batch(texts),
            ids=[str(uuid.UUID(int=number)) for number in range(more)],
            payloads=[{"data": text, "user_id": "cleo", "created_at": "2026-01-02T03:04:05+00:00"} for text in texts],
        )
    sys.stdout.write(json.dumps(added))


if __name__ == "__main__":
    make(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
