"""Whether mem0 can work with a configuration, found out before it is put in force."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gaia_memory.backend.builder import Backend

if TYPE_CHECKING:
    from gaia_memory.config.schema import GaiaConfig

USUAL_PROVIDERS = frozenset({"auto", "offline"})
"""Providers that need no check with mem0 before memory is opened."""


async def check_providers(config: GaiaConfig, *, before: GaiaConfig | None = None) -> None:
    """Check the providers with mem0, where other than the usual ones are named: importing mem0 takes a second.

    A model that is another one than `before` is checked whichever it is: mem0 is loaded by then.

    Raises:
        ConfigError: a provider or one of its keys is unknown, or lacks a package; all are listed.
    """
    memory = config.memory
    if not memory.enabled:
        return
    named = {memory.llm.provider, memory.embedder.provider}
    is_usual = named <= USUAL_PROVIDERS and memory.vector_store.provider == "chroma"
    if not is_usual or (before is not None and memory.llm != before.memory.llm):
        await asyncio.to_thread(Backend(config).load)
