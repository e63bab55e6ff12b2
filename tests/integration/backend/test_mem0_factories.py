"""Models and embedders come from mem0's factories."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.backend.providers.provider_factory import make_embedder, make_llm
from gaia_memory.backend.providers.resolve_provider import Provider

LLMS: dict[str, Mapping[str, Any]] = {
    "gemini": {"model": "gemini-x"},
    "openai": {"model": "gpt-x"},
    "ollama": {"model": "llama-x"},
    "vllm": {"model": "x", "vllm_base_url": "http://127.0.0.1:9/v1", "api_key": "none"},
    "lmstudio": {"model": "x"},
}
EMBEDDERS: dict[str, Mapping[str, Any]] = {
    "gemini": {"model": "models/x"},
    "openai": {"model": "x"},
    "lmstudio": {"model": "x"},
}


@pytest.mark.acceptance("B05")
def test_each_model_and_embedder_is_built_by_mem0s_factories(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is added are time-outs, retries, JSON modes and counts of tokens, on the object that mem0 made."""
    from mem0.utils.factory import EmbedderFactory, LlmFactory

    monkeypatch.setenv("GEMINI_API_KEY", "no-real-key")
    monkeypatch.setenv("OPENAI_API_KEY", "no-real-key")
    made: list[str] = []
    for factory in (LlmFactory, EmbedderFactory):
        create = factory.create

        def noted(name: str, *arguments: Any, _create: Any = create, **options: Any) -> Any:
            made.append(name)
            return _create(name, *arguments, **options)

        monkeypatch.setattr(factory, "create", noted)
    parts = [make_llm(Provider(name, config)) for name, config in LLMS.items()]
    parts += [make_embedder(Provider(name, config)) for name, config in EMBEDDERS.items()]
    for part in parts:
        part.client.close() if hasattr(part.client, "close") else None

    assert made == [*LLMS, *EMBEDDERS]
    assert {type(part).__module__.partition(".")[0] for part in parts} == {"mem0"}
