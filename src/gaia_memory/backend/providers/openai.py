"""mem0's parts for OpenAI and for servers that offer the same interface."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from tenacity import Retrying

from gaia_memory import model_calls
from gaia_memory.backend.providers.resolve_provider import OPENAI
from gaia_memory.config.api_keys import MISSING_OPENAI_KEY, MISSING_OPENAI_KEY_REMEDY, openai_api_key, openai_base_url
from gaia_memory.errors import ModelUnavailableError
from gaia_memory.model_calls import CallLimits, require_complete, retry_policy
from gaia_memory.telemetry.token_usage import report_tokens

MAX_TOKENS = 4096
"""mem0's default of 2,000 cuts a long list of facts in the middle."""

_OPENAI_BASE_URL = "https://api.openai.com/v1"
_OPENAI_PACKAGE = "openai"
_LM_STUDIO_CLASS = "LMStudioLLM"
_JSON_MODE = {"type": "json_object"}
_REFUSED_STATUSES = frozenset({400, 422})
_BASE_URL_HINT = "check the base URL, which usually ends in /v1"


def openai_llm(config: Mapping[str, Any]) -> Any:
    """Return mem0's OpenAI model with time-outs and checked answers.

    A configured server needs no key. `OPENROUTER_API_KEY` never redirects the calls, as it does in plain mem0.

    Raises:
        ModelUnavailableError: there is neither a key nor a server.
    """
    from mem0.utils.factory import LlmFactory
    from openai import OpenAI

    key, server = _key_and_server(config)
    llm = LlmFactory.create(OPENAI, {"max_tokens": MAX_TOKENS, **config, "api_key": key})
    llm.client.close()
    llm.client = OpenAI(api_key=key, base_url=server or _OPENAI_BASE_URL)
    return limit_openai_calls(llm, model_calls.OWN_SERVER_LEARNING if server else model_calls.LEARNING)


def openai_embedder(config: Mapping[str, Any]) -> Any:
    """Return mem0's OpenAI embedder with time-outs; it also works with servers that refuse `dimensions`.

    Raises:
        ModelUnavailableError: there is neither a key nor a server.
    """
    from mem0.utils.factory import EmbedderFactory

    key, server = _key_and_server(config)
    embedder = EmbedderFactory.create(OPENAI, {**config, "api_key": key}, None)
    _set_limits(embedder, model_calls.OWN_SERVER_EMBEDDING if server else model_calls.EMBEDDING)
    endpoint = embedder.client.embeddings
    endpoint.create = _CheckedEndpoint(endpoint.create, optional={"dimensions": None}, check=_require_vectors)
    return embedder


def uses_openai_client(component: Any) -> bool:
    """Return whether a mem0 part calls OpenAI's client, as those for vLLM, DeepSeek and Azure do."""
    return type(getattr(component, "client", None)).__module__.partition(".")[0] == _OPENAI_PACKAGE


def limit_openai_calls(llm: Any, limits: CallLimits) -> Any:
    """Give a mem0 model over OpenAI's client time-outs, retries and checked answers, in place, and return it.

    The client's own retries would ask again after a time-out, while a small server still works on the first answer.
    mem0's model for LM Studio asks for JSON where nobody wants it, which that server refuses.
    """
    _set_limits(llm, replace(limits, max_attempts=1))
    endpoint = llm.client.chat.completions
    optional = {"response_format": _JSON_MODE} if type(llm).__name__ == _LM_STUDIO_CLASS else {}
    create = partial(Retrying(**retry_policy(limits)), endpoint.create)
    endpoint.create = _CheckedEndpoint(create, optional=optional, check=_require_choice)
    return llm


def _key_and_server(config: Mapping[str, Any]) -> tuple[str, str]:
    configured = config.get("openai_base_url")
    key = config.get("api_key") or openai_api_key(os.environ, configured=configured)
    if not key:
        raise ModelUnavailableError(f"{MISSING_OPENAI_KEY}: {MISSING_OPENAI_KEY_REMEDY}")
    return str(key), openai_base_url(os.environ, configured=configured)


def _set_limits(component: Any, limits: CallLimits) -> None:
    component.client = component.client.with_options(
        timeout=limits.timeout_seconds, max_retries=limits.max_attempts - 1
    )


class _CheckedEndpoint:
    """An endpoint of OpenAI's client that checks answers and omits a parameter that the server has refused once.

    `optional` has the name of the parameter, if there is one, with the value that may be omitted, None for any.
    """

    def __init__(
        self, create: Callable[..., Any], *, optional: Mapping[str, Any], check: Callable[[Any], None]
    ) -> None:
        self._create = create
        self._optional = optional
        self._check = check
        self._is_refused = False

    def __call__(self, **parameters: Any) -> Any:
        response = self._ask(parameters)
        _report_tokens(getattr(response, "usage", None))
        self._check(response)
        return response

    def _ask(self, parameters: Mapping[str, Any]) -> Any:
        from openai import APIStatusError

        reduced = {name: value for name, value in parameters.items() if not self._is_optional(name, value)}
        if self._is_refused or len(reduced) == len(parameters):
            return self._create(**reduced)
        try:
            return self._create(**parameters)
        except APIStatusError as error:
            if error.status_code not in _REFUSED_STATUSES:
                raise
        response = self._create(**reduced)
        self._is_refused = True
        return response

    def _is_optional(self, name: str, value: Any) -> bool:
        return name in self._optional and self._optional[name] in (None, value)


def _report_tokens(usage: Any) -> None:
    details = getattr(usage, "prompt_tokens_details", None)
    report_tokens(
        given=getattr(usage, "prompt_tokens", 0),
        got=getattr(usage, "completion_tokens", 0),
        cached=getattr(details, "cached_tokens", 0),
    )


def _require_choice(response: Any) -> None:
    choices = getattr(response, "choices", None)
    if not choices:
        # Some servers send an error with status 200.
        error = getattr(response, "error", None)
        suffix = f": {error}" if isinstance(error, str) else ""
        raise ModelUnavailableError(f"the server answered with no choice of a model{suffix}; {_BASE_URL_HINT}")
    require_complete(choices[0].finish_reason, text=choices[0].message.content)


def _require_vectors(response: Any) -> None:
    if not getattr(response, "data", None):
        raise ModelUnavailableError(f"the server's answer holds no vectors; {_BASE_URL_HINT}")
