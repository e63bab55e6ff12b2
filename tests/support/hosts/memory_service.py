"""A memory service over an engine that a test opened, without background jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.engine import Engine
from gaia_memory.engine_registry import EngineSource


def service_over(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Mem0MemoryService:
    """Return a service that uses `engine` instead of opening its own."""

    @asynccontextmanager
    async def use_engine(_: EngineSource) -> AsyncIterator[Engine]:
        yield engine

    service = Mem0MemoryService(config=engine.loaded)
    monkeypatch.setattr(EngineSource, "use_engine", use_engine)
    return service
