"""mem0's parts for Ollama, with time-outs, a large enough context, and without downloads."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from gaia_memory import model_calls
from gaia_memory.model_calls import CallLimits, require_complete
from gaia_memory.telemetry.token_usage import report_tokens

OLLAMA = "ollama"
MAX_TOKENS = 4096
CONTEXT_TOKENS = 16_384
"""Room for mem0's prompt, the conversation and the answer. Ollama's default on most machines is 4,096, and it silently
cuts off the beginning of a longer prompt, where the instructions are."""

CONTEXT_VARIABLE = "OLLAMA_CONTEXT_LENGTH"
"""Ollama's own variable for the same setting."""


def ollama_llm(config: Mapping[str, Any]) -> Any:
    """Return mem0's Ollama model with room for the prompt; it raises for an answer that was cut off."""
    from mem0.utils.factory import LlmFactory

    llm: Any = LlmFactory.create(OLLAMA, {"max_tokens": MAX_TOKENS, **config})
    llm.generate_response = partial(_with_schema, llm)
    llm.client = _create_client(llm, model_calls.OWN_SERVER_LEARNING)
    llm.client.chat = partial(_chat_completely, llm.client.chat)
    return llm


def _with_schema(llm: Any, messages: Sequence[Mapping[str, str]], response_format: Any = None, **arguments: Any) -> Any:
    """Ask with a schema, in place of the JSON mode that mem0's model knows alone."""
    generate, schema = type(llm).generate_response, (response_format or {}).get("json_schema")
    if schema is None:
        return generate(llm, messages, response_format, **arguments)
    asking = copy.copy(llm)
    asking.client = SimpleNamespace(chat=partial(llm.client.chat, format=schema["schema"]))
    return generate(asking, messages, **arguments)


def ollama_embedder(config: Mapping[str, Any]) -> Any:
    """Return mem0's Ollama embedder, which only uses a model that is already there.

    mem0's own downloads a missing model, gigabytes inside the first search.
    """
    from mem0.configs.embeddings.base import BaseEmbedderConfig
    from mem0.embeddings.ollama import OllamaEmbedding

    embedder_class = type(OllamaEmbedding.__name__, (OllamaEmbedding,), {"_ensure_model_exists": lambda _: None})
    embedder = embedder_class(BaseEmbedderConfig(**config))
    embedder.client = _create_client(embedder, model_calls.OWN_SERVER_EMBEDDING)
    embedder.client.embed = partial(_embed_counted, embedder.client.embed)
    return embedder


def _create_client(component: Any, limits: CallLimits) -> Any:
    """Return a client with a time-out in place of the client of `component`, which is closed."""
    host = component.config.ollama_base_url
    component.client.close()
    return type(component.client)(host=host, timeout=limits.timeout_seconds)


def _chat_completely(chat: Callable[..., Any], *, options: Mapping[str, Any], **arguments: Any) -> Any:
    configured = os.environ.get(CONTEXT_VARIABLE, "")
    tokens = int(configured) if configured.isdigit() else CONTEXT_TOKENS
    response = chat(options={"num_ctx": tokens, **options}, **arguments)
    report_tokens(given=response.prompt_eval_count, got=response.eval_count)
    require_complete(response.done_reason, text=response.message.content)
    return response


def _embed_counted(embed: Callable[..., Any], **arguments: Any) -> Any:
    response = embed(**arguments)
    report_tokens(given=response.prompt_eval_count)
    return response
