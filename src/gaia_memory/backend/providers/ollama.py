"""mem0's parts for Ollama, with time-outs, room for the prompt, and without downloads."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from gaia_memory.errors import BadAnswerError

LLM_SECONDS = 190.0
EMBEDDER_SECONDS = 40.0
"""Ollama may have to load the model first, and be slow to read mem0's prompt of 8,000 tokens."""

MAX_TOKENS = 4096
CONTEXT_TOKENS = 16_384
"""mem0's prompt, the talk and the answer. Ollama gives a model 4,096 on most machines and cuts what is longer
without a word, instructions first."""

CONTEXT_VARIABLE = "OLLAMA_CONTEXT_LENGTH"
"""Ollama's own variable for the same."""


def ollama_llm(config: Mapping[str, Any]) -> Any:
    """Return mem0's Ollama model, which is given room for the prompt and raises for an answer that was cut."""
    from mem0.configs.llms.ollama import OllamaConfig
    from mem0.llms.ollama import OllamaLLM

    llm = OllamaLLM(OllamaConfig(**{"max_tokens": MAX_TOKENS, **config}))
    llm.client = _create_client(llm, LLM_SECONDS)
    llm.client.chat = partial(_chat_with_context_size, llm.client.chat)
    llm._parse_response = partial(_parse_checked, llm._parse_response)
    return llm


def ollama_embedder(config: Mapping[str, Any]) -> Any:
    """Return mem0's Ollama embedder, which uses a model that is there.

    mem0's own asks Ollama to download a model that is missing, gigabytes inside the first search.
    """
    from mem0.configs.embeddings.base import BaseEmbedderConfig
    from mem0.embeddings.ollama import OllamaEmbedding

    embedder_class = type(OllamaEmbedding.__name__, (OllamaEmbedding,), {"_ensure_model_exists": lambda _: None})
    embedder = embedder_class(BaseEmbedderConfig(**config))
    embedder.client = _create_client(embedder, EMBEDDER_SECONDS)
    return embedder


def _create_client(component: Any, timeout_seconds: float) -> Any:
    """Return a client like the one of `component`, which it closes: that one waits for ever."""
    host = component.config.ollama_base_url
    component.client.close()
    return type(component.client)(host=host, timeout=timeout_seconds)


def _chat_with_context_size(chat: Callable[..., Any], *, options: Mapping[str, Any], **arguments: Any) -> Any:
    configured = os.environ.get(CONTEXT_VARIABLE, "")
    tokens = int(configured) if configured.isdigit() else CONTEXT_TOKENS
    return chat(options={"num_ctx": tokens, **options}, **arguments)


def _parse_checked(parse: Callable[[Any, Any], Any], response: Any, tools: Any) -> Any:
    if response.done_reason == "length":
        raise BadAnswerError("the model's answer was cut: raise `memory.llm.max_tokens`")
    return parse(response, tools)
