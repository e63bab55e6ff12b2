"""mem0's parts for OpenAI, and for the many servers that speak its interface without being it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gaia_memory.backend.providers import openrouter
from gaia_memory.config.openai_server import (
    MISSING_KEY_MESSAGE,
    OWN_SERVER_RETRIES,
    OWN_SERVER_TIMEOUT_SECONDS,
    api_key,
)
from gaia_memory.config.openai_server import base_url as server_of
from gaia_memory.errors import BadAnswerError, ModelUnavailableError

LLM_SECONDS = 60.0
EMBEDDER_SECONDS = 20.0
SELF_HOSTED_EMBEDDER_SECONDS = 40.0
"""A server of one's own may have to load the model first."""

MAX_RETRIES = 2
MAX_TOKENS = 4096
"""mem0's own 2,000 cut a long list of facts in the middle."""

_OPENAI_BASE_URL = "https://api.openai.com/v1"
_OPENAI_PACKAGE = "openai"
_REFUSED_STATUSES = frozenset({400, 422})
_BASE_URL_HINT = "check the base URL, which usually ends in /v1"


def openai_llm(config: Mapping[str, Any]) -> Any:
    """Return mem0's OpenAI model, made patient and strict.

    A server that is named needs no key, and is asked whatever `OPENROUTER_API_KEY` is there for.

    Raises:
        ModelUnavailableError: there is neither a key nor a server.
    """
    from mem0.configs.llms.openai import OpenAIConfig
    from mem0.llms.openai import OpenAILLM

    key, server = _key_and_server(config)
    is_redirected = openrouter.is_redirect_active()
    if is_redirected and openrouter.is_allowed(config, has_alternative=bool(key)):
        return make_strict(OpenAILLM(OpenAIConfig(**{"max_tokens": MAX_TOKENS, **config})), is_self_hosted=False)
    if not key:
        raise ModelUnavailableError(MISSING_KEY_MESSAGE)
    llm = OpenAILLM(OpenAIConfig(**{"max_tokens": MAX_TOKENS, **config, "api_key": key}))
    if is_redirected:
        openrouter.restore_openai_client(llm, key=key, base_url=server or _OPENAI_BASE_URL)
    return make_strict(llm, is_self_hosted=bool(server))


def openai_embedder(config: Mapping[str, Any]) -> Any:
    """Return mem0's OpenAI embedder, made patient, and content with servers that refuse the parameter `dimensions`.

    Raises:
        ModelUnavailableError: there is neither a key nor a server.
    """
    from mem0.configs.embeddings.base import BaseEmbedderConfig
    from mem0.embeddings.openai import OpenAIEmbedding

    key, server = _key_and_server(config)
    if not key:
        raise ModelUnavailableError(MISSING_KEY_MESSAGE)
    embedder = OpenAIEmbedding(BaseEmbedderConfig(**{**config, "api_key": key}))
    _set_timeouts(embedder, SELF_HOSTED_EMBEDDER_SECONDS if server else EMBEDDER_SECONDS, is_self_hosted=bool(server))
    embedder.embed_batch = partial(_embed_with_fallback, embedder, embedder.embed_batch)
    embedder.embed = lambda text, purpose="add": embedder.embed_batch([text], purpose)[0]
    return embedder


def uses_openai_client(component: Any) -> bool:
    """Say whether a part of mem0 asks through OpenAI's client, as those for vLLM, DeepSeek or Azure do."""
    return type(getattr(component, "client", None)).__module__.partition(".")[0] == _OPENAI_PACKAGE


def make_strict(llm: Any, *, is_self_hosted: bool) -> Any:
    """Return a model of mem0's over OpenAI's client, changed in place.

    It gives up in time, asks without `response_format` where the server refuses that, and raises for an answer that
    is cut, blocked or none.
    """
    _set_timeouts(llm, OWN_SERVER_TIMEOUT_SECONDS if is_self_hosted else LLM_SECONDS, is_self_hosted=is_self_hosted)
    llm.generate_response = _ResponseFormatFallback(llm.generate_response)
    llm._parse_response = partial(_parse_checked, llm._parse_response)
    return llm


def _key_and_server(config: Mapping[str, Any]) -> tuple[str, str]:
    base_url = config.get("openai_base_url")
    return str(config.get("api_key") or api_key(os.environ, configured=base_url)), server_of(
        os.environ, configured=base_url
    )


def _set_timeouts(component: Any, timeout_seconds: float, *, is_self_hosted: bool) -> None:
    component.client = component.client.with_options(
        timeout=timeout_seconds, max_retries=OWN_SERVER_RETRIES if is_self_hosted else MAX_RETRIES
    )


class _ResponseFormatFallback:
    """Asks again without `response_format` when it was refused, and from then on at once.

    LM Studio takes no `json_object`, and other servers depend on how they were started. The prompt asks for JSON
    anyway, and the answer is checked.
    """

    def __init__(self, generate: Callable[..., Any]) -> None:
        self._generate = generate
        self._is_refused = False

    def __call__(self, messages: Sequence[Mapping[str, str]], response_format: Any = None, **options: Any) -> Any:
        from openai import APIStatusError

        if response_format is None or self._is_refused:
            return self._generate(messages=messages, **options)
        try:
            return self._generate(messages=messages, response_format=response_format, **options)
        except APIStatusError as error:
            if error.status_code not in _REFUSED_STATUSES:
                raise
        answer = self._generate(messages=messages, **options)
        self._is_refused = True
        return answer


def _parse_checked(parse: Callable[[Any, Any], Any], response: Any, tools: Any) -> Any:
    """Return what mem0 reads from an answer that is whole.

    Raises:
        BadAnswerError: it was cut or blocked.
        ModelUnavailableError: it is no answer of a model.
    """
    choices = getattr(response, "choices", None)
    if not choices:
        raise ModelUnavailableError(
            f"the server answered with no choice of a model{_error_suffix(response)}; {_BASE_URL_HINT}"
        )
    reason = choices[0].finish_reason
    if reason == "length":
        raise BadAnswerError("the model's answer was cut: raise `memory.llm.max_tokens`, or the server's context")
    if reason == "content_filter":
        raise BadAnswerError("the model's answer was blocked (content_filter)")
    return parse(response, tools)


def _error_suffix(response: Any) -> str:
    """Return the error that some servers send with status 200."""
    error = getattr(response, "error", None)
    return f": {error}" if isinstance(error, str) else ""


def _embed_with_fallback(
    embedder: Any, embed_batch: Callable[[list[str], str], Any], texts: Sequence[str], purpose: str = "add"
) -> Any:
    """Return a vector a text; without `dimensions` from the first time on that it was refused."""
    from openai import APIStatusError

    try:
        return embed_batch(list(texts), purpose)
    except APIStatusError as error:
        if error.status_code not in _REFUSED_STATUSES or not embedder._pass_dimensions_to_api:
            raise
    except (AttributeError, TypeError) as error:
        raise ModelUnavailableError(f"the server's answer holds no vectors; {_BASE_URL_HINT}") from error
    embedder._pass_dimensions_to_api = False
    try:
        return embed_batch(list(texts), purpose)
    except APIStatusError:
        embedder._pass_dimensions_to_api = True
        raise
