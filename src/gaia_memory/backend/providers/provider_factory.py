"""Builds mem0's language model and embedder for a provider, adapted where mem0's own would hang or download."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gaia_memory import model_calls
from gaia_memory.backend.providers.gemini import gemini_embedder, gemini_llm
from gaia_memory.backend.providers.ollama import ollama_embedder, ollama_llm
from gaia_memory.backend.providers.openai import limit_openai_calls, openai_embedder, openai_llm, uses_openai_client
from gaia_memory.backend.providers.resolve_provider import Provider


def make_llm(provider: Provider) -> Any:
    """Return mem0's language model object of a provider. Blocking."""
    from mem0.utils.factory import LlmFactory

    own_factory = _LLM_FACTORIES.get(LlmFactory.provider_to_class[provider.name][0])
    if own_factory is not None:
        return own_factory(provider.config)
    llm = LlmFactory.create(provider.name, dict(provider.config))
    return limit_openai_calls(llm, model_calls.OWN_SERVER_LEARNING) if uses_openai_client(llm) else llm


def make_embedder(provider: Provider) -> Any:
    """Return mem0's embedder object of a provider. Blocking."""
    from mem0.utils.factory import EmbedderFactory

    own_factory = _EMBEDDER_FACTORIES.get(EmbedderFactory.provider_to_class[provider.name])
    if own_factory is not None:
        return own_factory(provider.config)
    return EmbedderFactory.create(provider.name, dict(provider.config), None)


# By mem0's class: a host that registered its own class under the same name gets its own.
_LLM_FACTORIES: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "mem0.llms.gemini.GeminiLLM": gemini_llm,
    "mem0.llms.openai.OpenAILLM": openai_llm,
    "mem0.llms.ollama.OllamaLLM": ollama_llm,
}
_EMBEDDER_FACTORIES: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "mem0.embeddings.gemini.GoogleGenAIEmbedding": gemini_embedder,
    "mem0.embeddings.openai.OpenAIEmbedding": openai_embedder,
    "mem0.embeddings.ollama.OllamaEmbedding": ollama_embedder,
}
