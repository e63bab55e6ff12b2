"""Whether mem0 can work with a configuration, found out before it is put in force."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from gaia_memory.backend.builder import Backend
from gaia_memory.backend.providers import provider_specs
from gaia_memory.backend.providers.reranker import NONE
from gaia_memory.config.api_keys import missing_key
from gaia_memory.errors import ConfigError

if TYPE_CHECKING:
    from gaia_memory.config.schema import GaiaConfig

USUAL_PROVIDERS = frozenset({"auto", "offline"})
"""Providers that need no check with mem0 before memory is opened."""


async def check_providers(
    config: GaiaConfig, *, before: GaiaConfig | None = None, backend: Backend | None = None
) -> None:
    """Check the providers with mem0, where other than the usual ones are named: importing mem0 takes a second.

    A model that is another one than `before` is checked whichever it is: mem0 is loaded by then. Another embedder
    must have its key: it is chosen for good. `backend` is the one that is going to work on `config`, if there is one:
    it then knows the model of the embedder `local` without another look.

    Raises:
        ConfigError: a provider or one of its keys is unknown, or lacks a package; all are listed.
    """
    memory = config.memory
    if not memory.enabled:
        return
    named = {memory.llm.provider, memory.embedder.provider}
    if before is not None and memory.embedder != before.memory.embedder:
        _require_key(config)
    is_usual = named <= USUAL_PROVIDERS and memory.vector_store.provider == "chroma"
    is_usual = is_usual and memory.reranker.provider == NONE
    if not is_usual or (before is not None and memory.llm != before.memory.llm):
        await asyncio.to_thread((backend or Backend(config)).load)


def _require_key(config: GaiaConfig) -> None:
    embedder = provider_specs.embedder(config, os.environ)
    if missing := missing_key(embedder.name, embedder.config, os.environ):
        problem = f"memory.embedder.provider: {embedder.name!r} needs a key; set {missing} where memory is started"
        raise ConfigError([problem])
