"""Open engines, shared by everything in the process that has the same configuration and event loop."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from gaia_memory.config.load import LoadedConfig
from gaia_memory.engine import Engine
from gaia_memory.ports import Clock, ProjectsProvider


@dataclass
class _Entry:
    loop: asyncio.AbstractEventLoop
    opening: asyncio.Task[Engine]
    references: int = 0


@dataclass
class _Registry:
    """Open engines by configuration and event loop."""

    entries: dict[tuple[str, int], _Entry] = field(default_factory=dict)
    registered: bool = False

    def entry(self, loaded: LoadedConfig, opener: Callable[[], asyncio.Task[Engine]]) -> _Entry:
        self._drop_dead()
        if not self.registered:
            atexit.register(self.abandon_all)
            self.registered = True
        loop = asyncio.get_running_loop()
        key = (loaded.identity, id(loop))
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = _Entry(loop, opener())
        return entry

    def drop(self, entry: _Entry) -> None:
        self.entries = {key: kept for key, kept in self.entries.items() if kept is not entry}

    def _drop_dead(self) -> None:
        """Let go of engines whose event loop was closed over them: their locks would outlive them."""
        for entry in [entry for entry in self.entries.values() if entry.loop.is_closed()]:
            self.drop(entry)
            _abandon(entry)

    def abandon_all(self) -> None:
        for entry in list(self.entries.values()):
            _abandon(entry)
        self.entries.clear()


_registry = _Registry()


async def acquire(
    loaded: LoadedConfig, *, clock: Clock | None = None, projects: ProjectsProvider | None = None
) -> Engine:
    """Return the running engine of a configuration, opened if it is not, and keep it open until `release`."""

    async def opened() -> Engine:
        engine = await Engine.open(loaded, clock=clock, projects=projects)
        engine.start()
        return engine

    entry = _registry.entry(loaded, lambda: asyncio.create_task(opened()))
    entry.references += 1
    try:
        return await asyncio.shield(entry.opening)
    except BaseException:
        entry.references -= 1
        if entry.opening.done():
            _registry.drop(entry)
        raise


async def release(engine: Engine) -> None:
    """Give an engine back; the last one closes it."""
    for entry in list(_registry.entries.values()):
        if entry.opening.done() and not entry.opening.cancelled() and entry.opening.result() is engine:
            entry.references -= 1
            if entry.references <= 0:
                _registry.drop(entry)
                await engine.close()
            return


async def borrow(loaded: LoadedConfig) -> Engine:
    """Return the running engine of a configuration without keeping it open."""
    engine = await acquire(loaded)
    for entry in _registry.entries.values():
        if entry.opening.done() and entry.opening.result() is engine:
            entry.references -= 1
    return engine


def _abandon(entry: _Entry) -> None:
    with suppress(asyncio.InvalidStateError, asyncio.CancelledError):
        entry.opening.result().abandon()
