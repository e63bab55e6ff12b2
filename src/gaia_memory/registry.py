"""Open engines, shared by everything in the process that has the same configuration and event loop."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Callable
from dataclasses import dataclass, field

from gaia_memory.config.load import LoadedConfig
from gaia_memory.engine import Engine
from gaia_memory.ports import Clock, ProjectsProvider


@dataclass
class _Entry:
    loop: asyncio.AbstractEventLoop
    opening: asyncio.Task[Engine]
    references: int = 0

    @property
    def engine(self) -> Engine | None:
        """The open engine; None while it is being opened and where that failed."""
        opening = self.opening
        is_open = opening.done() and not opening.cancelled() and opening.exception() is None
        return opening.result() if is_open else None


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
            entry.opening.add_done_callback(lambda _: self._drop_failed(entry))
        return entry

    def entry_of(self, engine: Engine) -> _Entry | None:
        return next((entry for entry in list(self.entries.values()) if entry.engine is engine), None)

    def drop(self, entry: _Entry) -> None:
        self.entries = {key: kept for key, kept in self.entries.items() if kept is not entry}

    def _drop_failed(self, entry: _Entry) -> None:
        if entry.engine is None:
            self.drop(entry)

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
        await _give_back(entry)
        raise


async def release(engine: Engine) -> None:
    """Give an engine back; the last one closes it."""
    entry = _registry.entry_of(engine)
    if entry is not None:
        await _give_back(entry)


async def borrow(loaded: LoadedConfig) -> Engine:
    """Return the running engine of a configuration without keeping it open."""
    engine = await acquire(loaded)
    entry = _registry.entry_of(engine)
    if entry is not None:
        entry.references -= 1
    return engine


async def _give_back(entry: _Entry) -> None:
    """Take a reference away; without any, the engine is closed, or no longer opened."""
    entry.references -= 1
    if entry.references > 0:
        return
    _registry.drop(entry)
    if entry.engine is not None:
        await entry.engine.close()
    else:
        entry.opening.cancel()


def _abandon(entry: _Entry) -> None:
    if entry.engine is not None:
        entry.engine.abandon()
