"""Whether mem0 can work with a configuration, found out before it is put in force."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from gaia_memory.backend.builder import Backend
from gaia_memory.backend.providers import provider_specs
from gaia_memory.backend.providers.reranker import NO_RERANKER
from gaia_memory.config.api_keys import missing_key_variable
from gaia_memory.errors import ConfigError

if TYPE_CHECKING:
    from gaia_memory.config.schema import GaiaConfig

UNCHECKED_PROVIDERS = frozenset({"auto", "offline"})
"""Providers that need no check with mem0 before memory is opened."""


async def check_providers(
    config: GaiaConfig, *, previous: GaiaConfig | None = None, backend: Backend | None = None
) -> None:
    """Check the providers with mem0, where other than the usual ones are named: importing mem0 takes a second.

    A model that is another one than `previous` is checked whichever it is: mem0 is loaded by then. Another embedder
    must have its key: it is chosen for good. `backend` is the one that is going to work on `config`, if there is one:
    it then knows the model of the embedder `local` without another look.

    Raises:
        ConfigError: a provider or one of its keys is unknown, or lacks a package; all are listed.
    """
    memory = config.memory
    if not memory.enabled:
        return
    provider_names = {memory.llm.provider, memory.embedder.provider}
    if previous is not None and memory.embedder != previous.memory.embedder:
        _require_key(config)
    is_unchecked = provider_names <= UNCHECKED_PROVIDERS and memory.vector_store.provider == "chroma"
    is_unchecked = is_unchecked and memory.reranker.provider == NO_RERANKER
    if not is_unchecked or (previous is not None and memory.llm != previous.memory.llm):
        await asyncio.to_thread((backend or Backend(config)).load)


def _require_key(config: GaiaConfig) -> None:
    embedder = provider_specs.resolve_embedder(config, os.environ)
    if missing := missing_key_variable(embedder.name, embedder.config, os.environ):
        problem = f"memory.embedder.provider: {embedder.name!r} needs a key; set {missing} where memory is started"
        raise ConfigError([problem])
