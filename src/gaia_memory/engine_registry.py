"""Shares open engines within the process, one for each configuration and event loop, and finds that of a part."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from contextvars import Context
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources.load import LoadedConfig, load, locate
from gaia_memory.database.os_errors import os_errors_translated
from gaia_memory.errors import GaiaMemoryError, MemoryUnavailable
from gaia_memory.log import logger_for
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.engine import Engine
    from gaia_memory.ports import Clock, ProjectsProvider

logger = logger_for(__name__)

ACTIVE_CALLS_TIMEOUT_SECONDS = 2.0
"""How long closing waits for calls that still use the engine."""

BACKGROUND_START_DELAY_SECONDS = 1.0
"""How long background work waits after a part of a foreign Runner opened the engine.

The event loop of a `Runner.run` often ends sooner, and would have loaded mem0 and Chroma for nothing.
"""

RELEASE_TIMEOUT_SECONDS = 1.0
"""How long a part waits for the engine to close, which continues in the background.

A request may be waiting, and ADK allows a plugin 5 s.
"""

ConfigSource = LoadedConfig | GaiaConfig | Mapping[str, Any] | str | Path

_Key = tuple[str, int]


class _Entry:
    """One engine and the `holders` that keep it open. A task opens it, and closes it when the event loop ends.

    Except for `abandon`, only code in its event loop may use it.
    """

    def __init__(
        self, key: _Key, opener: Callable[[], Awaitable[Engine]], unregister: Callable[[_Entry], object]
    ) -> None:
        self.key = key
        self.loop = asyncio.get_running_loop()
        self.holders: set[object] = set()
        self._calls = 0
        self._engine_future: asyncio.Future[Engine] = self.loop.create_future()
        self._close_requested = asyncio.Event()
        self._idle = asyncio.Event()
        self._unregister = unregister
        # An empty context: shared work must not inherit the trace of the turn that happened to open the engine.
        self._lifecycle_task = self.loop.create_task(self._run_lifecycle(opener), name="gaia-engine", context=Context())
        self._lifecycle_task.add_done_callback(_consume_exception)

    @property
    def engine(self) -> Engine | None:
        """The open engine; None while it is opening and if that failed."""
        future = self._engine_future
        is_open = future.done() and not future.cancelled() and future.exception() is None
        return future.result() if is_open else None

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Engine]:
        """Wait for the engine to open and yield it; raise the error if that failed."""
        self._calls += 1
        self._idle.clear()
        try:
            yield await asyncio.shield(self._engine_future)
        finally:
            self._calls -= 1
            if not self._calls:
                self._idle.set()

    async def acquire(self, holder: object) -> Engine:
        """Return the engine, which stays open until its holder has released it."""
        try:
            async with self.use() as engine:
                self.holders.add(holder)
                return engine
        except BaseException:
            await self.release(holder)
            raise

    async def release(self, holder: object) -> None:
        """Drop a holder. After the last one the engine closes; an opening that a call waits for goes on."""
        self.holders.discard(holder)
        if self.holders or (self.engine is None and self._calls):
            return
        self._unregister(self)
        self._close_requested.set()
        if self.engine is None:
            self._lifecycle_task.cancel()
        else:
            # Cancelling the wait does not stop the close.
            await asyncio.shield(self._lifecycle_task)

    def abandon(self) -> None:
        """Release files and locks without the event loop, which is closed; any thread may call this."""
        for task in asyncio.all_tasks(self.loop):
            if task.get_name().startswith("gaia-"):
                # The loop was closed while the task ran; suppress the warning at its collection.
                task._log_destroy_pending = False  # type: ignore[attr-defined]
        if self.engine is not None:
            self.engine.abandon()

    async def _run_lifecycle(self, opener: Callable[[], Awaitable[Engine]]) -> None:
        try:
            engine = await opener()
        except BaseException as error:
            self._unregister(self)
            if isinstance(error, asyncio.CancelledError):
                self._engine_future.cancel()
            else:
                self._engine_future.set_exception(error)
                self._engine_future.exception()
            raise
        self._engine_future.set_result(engine)
        # `asyncio.run` cancels all tasks before it closes the loop: the last chance to close cleanly.
        with suppress(asyncio.CancelledError):
            await self._close_requested.wait()
        self._unregister(self)
        if self._calls:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._idle.wait(), ACTIVE_CALLS_TIMEOUT_SECONDS)
        try:
            await engine.close()
        except asyncio.CancelledError:
            # The event loop ends during the close: release the rest without it.
            await run_in_thread(engine.abandon)


def _consume_exception(task: asyncio.Task[None]) -> None:
    """Mark the error as retrieved: every waiter got it, and without a waiter there is no one to report it to."""
    if not task.cancelled():
        task.exception()


@dataclass
class _Registry:
    """Open engines by configuration and event loop. Each loop adds and removes only its own entries."""

    entries: dict[_Key, _Entry] = field(default_factory=dict)
    reported_messages: set[str] = field(default_factory=set)
    is_atexit_registered: bool = False

    def get_or_create(self, loaded: LoadedConfig, **parts: Any) -> _Entry:
        """Return the entry of a configuration in the running loop; create it, with `parts`, if there is none."""
        self._abandon_closed_loops()
        if not self.is_atexit_registered:
            atexit.register(self.abandon_all)
            self.is_atexit_registered = True
        key = (loaded.identity, id(asyncio.get_running_loop()))
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = _Entry(key, lambda: self._open(loaded, parts), self._remove)
        return entry

    def held_by(self, holder: object) -> list[_Entry]:
        """Return the entries that a holder keeps open, of every event loop."""
        return [entry for entry in list(self.entries.values()) if holder in entry.holders]

    def abandon_all(self) -> None:
        for entry in list(self.entries.values()):
            entry.abandon()
        self.entries.clear()

    async def _open(self, loaded: LoadedConfig, parts: Mapping[str, Any]) -> Engine:
        engine = await (await run_in_thread(_load_engine_class)).open(loaded, **parts)
        engine.start(delay_seconds=BACKGROUND_START_DELAY_SECONDS)
        self.reported_messages.clear()
        return engine

    def _remove(self, entry: _Entry) -> bool:
        """Remove an entry; return False if it was removed before."""
        if self.entries.get(entry.key) is not entry:
            return False
        return self.entries.pop(entry.key, None) is entry

    def _abandon_closed_loops(self) -> None:
        """Abandon engines whose event loop was closed, because their locks would stay.

        This runs in threads: a store that is writing takes seconds, and the caller is in the middle of a turn.
        """
        for entry in list(self.entries.values()):
            if entry.loop.is_closed() and self._remove(entry):
                threading.Thread(target=entry.abandon, name="gaia-abandon", daemon=True).start()


_registry = _Registry()


def _load_engine_class() -> type[Engine]:
    """Import the engine, which takes most of a second: never on the event loop, and not before memory is opened."""
    from gaia_memory.engine import Engine

    return Engine


@asynccontextmanager
async def open_engine(
    loaded: LoadedConfig, *, clock: Clock | None = None, projects: ProjectsProvider | None = None
) -> AsyncIterator[Engine]:
    """Yield the engine of a configuration and keep it open meanwhile; the last holder closes it.

    Its background work starts after a delay, or when its `start` is called.
    """
    entry, holder = _registry.get_or_create(loaded, clock=clock, projects=projects), object()
    engine = await entry.acquire(holder)
    try:
        yield engine
    finally:
        await entry.release(holder)


class EngineSource:
    """Finds, opens and shares the engine of one part, which is its holder.

    The configuration is the argument, else `GAIA_CONFIG`, else `$GAIA_HOME/gaia.yaml`, else the defaults. `is_named` is
    true with an argument. The constructor does no I/O and needs no event loop.
    """

    def __init__(self, config: ConfigSource | None = None) -> None:
        self._loaded = config if isinstance(config, LoadedConfig) else None
        self._config = None if isinstance(config, LoadedConfig) else config
        self.is_named = config is not None
        self._parent: EngineSource | None = None

    async def inherit_config(self, other: EngineSource) -> None:
        """Use the configuration of another part, unless this one names its own.

        Raises:
            ConfigError: the other part's configuration is missing or invalid.
            MemoryUnavailable: this part already uses a different configuration.
        """
        if self.is_named or other is self or other is self._parent:
            return
        if self._parent is None and self._loaded is None:
            self._parent = other
        elif (await other.load_config()).identity != (await self.load_config()).identity:
            with _log_open_failure():
                raise MemoryUnavailable(
                    "one plugin is in two Runners whose memory services have different configurations",
                    remedy="create a plugin for each Runner",
                )

    async def names_missing_file(self) -> bool:
        """Return True if the argument names a file that never existed while this part was in use."""
        if self._loaded is not None or not isinstance(self._config, str | Path):
            return False
        path = self._config
        return not await run_in_thread(lambda: Path(path).expanduser().exists())

    async def load_config(self) -> LoadedConfig:
        """Return the configuration of the open engine, or the one that would be opened.

        Raises:
            ConfigError: it is missing or invalid.
        """
        if self._parent is not None:
            return await self._parent.load_config()
        if self._loaded is None:
            source = self._config
            with _log_open_failure():
                self._loaded = await run_in_thread(lambda: load(locate() if source is None else source))
        elif not is_open(self._loaded):
            from gaia_memory.engine_probe import load_newest

            # The file may have changed while the engine was closed.
            self._loaded = await load_newest(self._loaded)
        return self._loaded

    @asynccontextmanager
    async def use_engine(self, *, reload_config: bool = True) -> AsyncIterator[Engine]:
        """Yield the open engine for one call: it stays open meanwhile, and is not kept open afterwards.

        With `reload_config`, the newest valid version of the configuration is in force.
        """
        loaded = await self.load_config()
        async with AsyncExitStack() as stack:
            with _log_open_failure():
                engine = await stack.enter_async_context(_registry.get_or_create(loaded).use())
            if reload_config:
                await engine.reload_config()
            yield engine

    async def engine(self) -> Engine:
        """Return the open engine without keeping it open."""
        async with self.use_engine() as engine:
            return engine

    async def acquire(self) -> Engine:
        """Return this event loop's engine and keep it open until `release`.

        The newest valid version of the configuration is in force.
        """
        engine = self.acquired_engine
        if engine is None:
            with _log_open_failure():
                engine = await _registry.get_or_create(await self.load_config()).acquire(self)
        await engine.reload_config()
        return engine

    @property
    def acquired_engine(self) -> Engine | None:
        """This event loop's engine, if it was acquired."""
        loop = asyncio.get_running_loop()
        return next((entry.engine for entry in _registry.held_by(self) if entry.loop is loop), None)

    async def release(self) -> None:
        """Release the acquired engines of every event loop; return within seconds, even if one is still closing."""
        for entry in _registry.held_by(self):
            if entry.loop is asyncio.get_running_loop():
                closing = asyncio.ensure_future(entry.release(self))
                await asyncio.wait({closing}, timeout=RELEASE_TIMEOUT_SECONDS)
                if closing.done():
                    closing.result()
            elif entry.loop.is_running():
                asyncio.run_coroutine_threadsafe(entry.release(self), entry.loop)


def is_open(loaded: LoadedConfig) -> bool:
    """Return whether the engine of a configuration is open or opening in the running loop."""
    return (loaded.identity, id(asyncio.get_running_loop())) in _registry.entries


@contextmanager
def _log_open_failure() -> Iterator[None]:
    """Log a failure to open memory once, and mark the error as logged: each part repeats it at each turn."""
    try:
        with os_errors_translated():
            yield
    except GaiaMemoryError as error:
        if not error.is_logged and str(error) not in _registry.reported_messages:
            _registry.reported_messages.add(str(error))
            logger.error("memory cannot be opened: %s", error)
        error.is_logged = True
        raise
