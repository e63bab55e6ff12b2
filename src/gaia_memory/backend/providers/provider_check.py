"""Checks whether mem0 supports a configuration before it takes effect."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gaia_memory.backend.builder import Backend
from gaia_memory.backend.providers import resolve_provider
from gaia_memory.backend.providers.reranker import NO_RERANKER
from gaia_memory.config.api_keys import missing_key_variable
from gaia_memory.errors import ConfigError
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.config.schema import GaiaConfig

UNCHECKED_PROVIDERS = frozenset({"auto", "offline"})
"""Providers that need no check by mem0 before memory is opened; the keys given for one are checked."""


async def check_providers(
    config: GaiaConfig, *, previous: GaiaConfig | None = None, backend: Backend | None = None
) -> None:
    """Check the providers with mem0, except the default ones, because importing mem0 takes a second.

    A model that differs from `previous` is always checked, because mem0 is then loaded. A new embedder must have its
    key, because its choice is permanent. `backend`, if given, is the one that will use `config`; it then also learns
    the identity of the embedder `local`.

    Raises:
        ConfigError: a provider or one of its keys is unknown, or a package is missing; the error lists all problems.
    """
    memory = config.memory
    if not memory.enabled:
        return
    if previous is not None and memory.embedder != previous.memory.embedder:
        _require_key(config)
    is_unchecked = memory.llm.provider in {*UNCHECKED_PROVIDERS, resolve_provider.AGENT}
    is_unchecked = is_unchecked and memory.embedder.provider in UNCHECKED_PROVIDERS
    has_keys = any(each.config and each.provider != resolve_provider.AUTO for each in (memory.llm, memory.embedder))
    is_unchecked = is_unchecked and not has_keys
    is_unchecked = is_unchecked and memory.vector_store.provider in {"chroma", resolve_provider.NO_STORE}
    is_unchecked = is_unchecked and not (
        memory.vector_store.provider == resolve_provider.NO_STORE and memory.vector_store.config
    )
    is_unchecked = is_unchecked and memory.reranker.provider == NO_RERANKER
    if not is_unchecked or (previous is not None and memory.llm != previous.memory.llm):
        await run_in_thread((backend or Backend(config)).load)


def _require_key(config: GaiaConfig) -> None:
    embedder = resolve_provider.resolve_embedder(config, os.environ)
    if missing := missing_key_variable(embedder.name, embedder.config, os.environ):
        problem = f"memory.embedder.provider: {embedder.name!r} needs a key; set {missing} where memory is started"
        raise ConfigError([problem])
