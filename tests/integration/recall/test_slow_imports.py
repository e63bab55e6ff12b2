"""A package that takes long to import costs time once, and no vectors."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import open_memory
from gaia_memory.backend.builder import Backend
from support.storage.scripted_backend import DIMENSIONS, PROVIDER, register_scripted_providers

BOUND_SECONDS = 1.0
IMPORT_SECONDS = 1.5 * BOUND_SECONDS
WITH_VECTORS_ALONE = {"seconds": BOUND_SECONDS, "weights": {"keywords": 0}}


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A host's embedder, of which a recall waits for `BOUND_SECONDS`."""
    register_scripted_providers(monkeypatch, "host")
    embedder = {"provider": PROVIDER, "model": "host", "embedding_dims": DIMENSIONS}
    return {"memory": {"llm": {"provider": "offline"}, "embedder": embedder, "recall": WITH_VECTORS_ALONE}}


def slow_down_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the next import of mem0 take longer than any bound of this file, for every thread that needs it."""
    load, lock, never = Backend.load, threading.Lock(), threading.Event()
    imported: list[str] = []

    def load_slowly(backend: Backend) -> Any:
        with lock:
            if not imported:
                never.wait(IMPORT_SECONDS)
                imported.append("mem0")
        return load(backend)

    monkeypatch.setattr(Backend, "load", load_slowly)


@pytest.mark.slow
async def test_a_search_waits_for_the_import_and_answers_with_vectors(
    tmp_path: Path, config: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The bound of recall starts when the embedder is ready to be called."""
    async with open_memory(config, home=tmp_path) as gaia:
        await gaia.memory.remember(gaia.scope("ada"), "likes tea")
    async with open_memory(config, home=tmp_path) as gaia:
        slow_down_import(monkeypatch)
        with caplog.at_level(logging.WARNING):
            [hit] = await gaia.memory.recall(gaia.scope("ada"), "tea")

    assert "vectors" in hit.why
    assert hit.missing == ()
    assert caplog.text == ""
