"""mem0's parts for OpenAI, and for the many servers that speak its interface without being it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gaia_memory.backend.providers import openrouter
from gaia_memory.config.openai_server import OWN_RETRIES, OWN_SECONDS, WITHOUT_KEY, api_key
from gaia_memory.config.openai_server import server as server_of
from gaia_memory.errors import BadAnswerError, ModelUnavailableError

LLM_SECONDS = 60.0
EMBEDDER_SECONDS = 20.0
OWN_EMBEDDER_SECONDS = 40.0
"""A server of one's own may have to load the model first."""

RETRIES = 2
MAX_TOKENS = 4096
"""mem0's own 2,000 cut a long list of facts in the middle."""

_OPENAI = "https://api.openai.com/v1"
_SDK = "openai"
_REFUSED = frozenset({400, 422})
_ADDRESS = "check the base URL, which usually ends in /v1"


def openai_llm(config: Mapping[str, Any]) -> Any:
    """Return mem0's OpenAI model, made patient and strict.

    A server that is named needs no key, and is asked whatever `OPENROUTER_API_KEY` is there for.

    Raises:
        ModelUnavailableError: there is neither a key nor a server.
    """
    from mem0.configs.llms.openai import OpenAIConfig
    from mem0.llms.openai import OpenAILLM

    key, server = _key_and_server(config)
    redirected = openrouter.redirects()
    if redirected and openrouter.is_wanted(config, otherwise=bool(key)):
        return strict_llm(OpenAILLM(OpenAIConfig(**{"max_tokens": MAX_TOKENS, **config})), own=False)
    if not key:
        raise ModelUnavailableError(WITHOUT_KEY)
    llm = OpenAILLM(OpenAIConfig(**{"max_tokens": MAX_TOKENS, **config, "api_key": key}))
    if redirected:
        openrouter.point_back(llm, key=key, base_url=server or _OPENAI)
    return strict_llm(llm, own=bool(server))


def openai_embedder(config: Mapping[str, Any]) -> Any:
    """Return mem0's OpenAI embedder, made patient, and content with servers that refuse the parameter `dimensions`.

    Raises:
        ModelUnavailableError: there is neither a key nor a server.
    """
    from mem0.configs.embeddings.base import BaseEmbedderConfig
    from mem0.embeddings.openai import OpenAIEmbedding

    key, server = _key_and_server(config)
    if not key:
        raise ModelUnavailableError(WITHOUT_KEY)
    made = OpenAIEmbedding(BaseEmbedderConfig(**{**config, "api_key": key}))
    _be_patient(made, OWN_EMBEDDER_SECONDS if server else EMBEDDER_SECONDS, own=bool(server))
    made.embed_batch = partial(_vectors, made, made.embed_batch)
    made.embed = lambda text, purpose="add": made.embed_batch([text], purpose)[0]
    return made


def speaks_openai(made: Any) -> bool:
    """Say whether a part of mem0 asks through OpenAI's client, as those for vLLM, DeepSeek or Azure do."""
    return type(getattr(made, "client", None)).__module__.partition(".")[0] == _SDK


def strict_llm(llm: Any, *, own: bool) -> Any:
    """Return a model of mem0's over OpenAI's client, changed in place.

    It gives up in time, asks without `response_format` where the server refuses that, and raises for an answer that
    is cut, blocked or none.
    """
    _be_patient(llm, OWN_SECONDS if own else LLM_SECONDS, own=own)
    llm.generate_response = _WithoutFormat(llm.generate_response)
    llm._parse_response = partial(_read, llm._parse_response)
    return llm


def _key_and_server(config: Mapping[str, Any]) -> tuple[str, str]:
    named = config.get("openai_base_url")
    return str(config.get("api_key") or api_key(os.environ, named=named)), server_of(os.environ, named=named)


def _be_patient(made: Any, seconds: float, *, own: bool) -> None:
    made.client = made.client.with_options(timeout=seconds, max_retries=OWN_RETRIES if own else RETRIES)


class _WithoutFormat:
    """Asks again without `response_format` when it was refused, and from then on at once.

    LM Studio takes no `json_object`, and other servers depend on how they were started. The prompt asks for JSON
    anyway, and the answer is checked.
    """

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask
        self._refused = False

    def __call__(self, messages: Sequence[Mapping[str, str]], response_format: Any = None, **more: Any) -> Any:
        from openai import APIStatusError

        if response_format is None or self._refused:
            return self._ask(messages=messages, **more)
        try:
            return self._ask(messages=messages, response_format=response_format, **more)
        except APIStatusError as error:
            if error.status_code not in _REFUSED:
                raise
        answer = self._ask(messages=messages, **more)
        self._refused = True
        return answer


def _read(parse: Callable[[Any, Any], Any], response: Any, tools: Any) -> Any:
    """Return what mem0 reads from an answer that is whole.

    Raises:
        BadAnswerError: it was cut or blocked.
        ModelUnavailableError: it is no answer of a model.
    """
    choices = getattr(response, "choices", None)
    if not choices:
        raise ModelUnavailableError(f"the server answered with no choice of a model{_said(response)}; {_ADDRESS}")
    reason = choices[0].finish_reason
    if reason == "length":
        raise BadAnswerError("the model's answer was cut: raise `memory.llm.max_tokens`, or the server's context")
    if reason == "content_filter":
        raise BadAnswerError("the model's answer was blocked (content_filter)")
    return parse(response, tools)


def _said(response: Any) -> str:
    """Return the error that some servers send with status 200."""
    error = getattr(response, "error", None)
    return f": {error}" if isinstance(error, str) else ""


def _vectors(made: Any, ask: Callable[[list[str], str], Any], texts: Sequence[str], purpose: str = "add") -> Any:
    """Return a vector a text; without `dimensions` from the first time on that it was refused."""
    from openai import APIStatusError

    try:
        return ask(list(texts), purpose)
    except APIStatusError as error:
        if error.status_code not in _REFUSED or not made._pass_dimensions_to_api:
            raise
    except (AttributeError, TypeError) as error:
        raise ModelUnavailableError(f"the server's answer holds no vectors; {_ADDRESS}") from error
    made._pass_dimensions_to_api = False
    try:
        return ask(list(texts), purpose)
    except APIStatusError:
        made._pass_dimensions_to_api = True
        raise
