"""Shares open engines within the process: one for each configuration and event loop."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.engine import Engine
    from gaia_memory.ports import Clock, ProjectsProvider

ACTIVE_CALLS_TIMEOUT_SECONDS = 2.0
"""How long closing waits for calls that still use the engine."""

BACKGROUND_START_DELAY_SECONDS = 1.0
"""How long background work waits after a part of a foreign Runner opened the engine.

The event loop of a `Runner.run` often ends sooner, and would have loaded mem0 and Chroma for nothing.
"""

_Key = tuple[str, int]


class _Entry:
    """One engine and its users. A task opens it, and closes it after the last release or when the event loop ends.

    Except for `abandon`, only code in its event loop may use it.
    """

    def __init__(
        self, key: _Key, opener: Callable[[], Awaitable[Engine]], unregister: Callable[[_Entry], object]
    ) -> None:
        self.key = key
        self.loop = asyncio.get_running_loop()
        self.references = 0
        self.active_calls = 0
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

    async def wait_opened(self) -> Engine:
        """Wait for the engine to open and return it; raise the error if that failed."""
        return await asyncio.shield(self._engine_future)

    async def close(self) -> None:
        """Close the engine, or stop opening it, and wait for that. Cancelling the wait does not stop the close."""
        self._unregister(self)
        self._close_requested.set()
        if self.engine is None:
            self._lifecycle_task.cancel()
            return
        await asyncio.shield(self._lifecycle_task)

    def begin_call(self) -> None:
        """Count a call that uses the engine."""
        self.active_calls += 1
        self._idle.clear()

    def end_call(self) -> None:
        """Count the end of such a call."""
        self.active_calls -= 1
        if not self.active_calls:
            self._idle.set()

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
            self._set_exception(error)
            raise
        self._engine_future.set_result(engine)
        # `asyncio.run` cancels all tasks before it closes the loop: the last chance to close cleanly.
        with suppress(asyncio.CancelledError):
            await self._close_requested.wait()
        self._unregister(self)
        if self.active_calls:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._idle.wait(), ACTIVE_CALLS_TIMEOUT_SECONDS)
        try:
            await engine.close()
        except asyncio.CancelledError:
            # The event loop ends during the close: release the rest without it.
            await run_in_thread(engine.abandon)

    def _set_exception(self, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError):
            self._engine_future.cancel()
            return
        self._engine_future.set_exception(error)
        self._engine_future.exception()


@dataclass
class _Registry:
    """Open engines by configuration and event loop. Each loop adds and removes only its own entries."""

    entries: dict[_Key, _Entry] = field(default_factory=dict)
    reported_messages: set[str] = field(default_factory=set)
    is_atexit_registered: bool = False

    def get_or_create(self, loaded: LoadedConfig, opener: Callable[[], Awaitable[Engine]]) -> _Entry:
        """Return the entry of a configuration in the running loop; create it if there is none."""
        self._abandon_closed_loops()
        if not self.is_atexit_registered:
            atexit.register(self.abandon_all)
            self.is_atexit_registered = True
        key = (loaded.identity, id(asyncio.get_running_loop()))
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = _Entry(key, opener, self.remove)
        return entry

    def find_entry(self, engine: Engine) -> _Entry | None:
        return next((entry for entry in list(self.entries.values()) if entry.engine is engine), None)

    def remove(self, entry: _Entry) -> bool:
        """Remove an entry; return False if it was removed before."""
        if self.entries.get(entry.key) is not entry:
            return False
        return self.entries.pop(entry.key, None) is entry

    def _abandon_closed_loops(self) -> None:
        """Abandon engines whose event loop was closed, because their locks would stay.

        This runs in threads: a store that is writing takes seconds, and the caller is in the middle of a turn.
        """
        for entry in list(self.entries.values()):
            if entry.loop.is_closed() and self.remove(entry):
                threading.Thread(target=entry.abandon, name="gaia-abandon", daemon=True).start()

    def abandon_all(self) -> None:
        for entry in list(self.entries.values()):
            entry.abandon()
        self.entries.clear()


_registry = _Registry()


async def acquire(
    loaded: LoadedConfig, *, clock: Clock | None = None, projects: ProjectsProvider | None = None
) -> Engine:
    """Return the engine of a configuration, opened if necessary, and keep it open until `release`.

    Its background work starts after a delay, or when its `start` is called.
    """
    return await _acquire_reference(_entry_for(loaded, clock=clock, projects=projects))


async def release(engine: Engine) -> None:
    """Give an engine back. The last release closes it, after waiting a few seconds for running calls."""
    entry = _registry.find_entry(engine)
    if entry is not None:
        await _release_reference(entry)


def is_open(loaded: LoadedConfig) -> bool:
    """Return whether the engine of a configuration is open or opening in the running loop."""
    return (loaded.identity, id(asyncio.get_running_loop())) in _registry.entries


@asynccontextmanager
async def use(loaded: LoadedConfig) -> AsyncIterator[Engine]:
    """Yield the engine of a configuration for one call: it stays open meanwhile, and is not closed afterwards."""
    entry = _entry_for(loaded)
    entry.begin_call()
    try:
        yield await entry.wait_opened()
    finally:
        entry.end_call()


def _entry_for(loaded: LoadedConfig, *, clock: Clock | None = None, projects: ProjectsProvider | None = None) -> _Entry:
    async def open_engine() -> Engine:
        engine_class = await run_in_thread(_load_engine_class)
        engine = await engine_class.open(loaded, clock=clock, projects=projects)
        engine.start(delay_seconds=BACKGROUND_START_DELAY_SECONDS)
        _registry.reported_messages.clear()
        return engine

    return _registry.get_or_create(loaded, open_engine)


def _load_engine_class() -> type[Engine]:
    """Import the engine, which takes most of a second: never on the event loop, and not before memory is opened."""
    from gaia_memory.engine import Engine

    return Engine


def is_first_report(message: str) -> bool:
    """Return whether the message is new since an engine last opened: each part repeats it at each turn."""
    is_new = message not in _registry.reported_messages
    _registry.reported_messages.add(message)
    return is_new


async def _acquire_reference(entry: _Entry) -> Engine:
    entry.references += 1
    try:
        return await entry.wait_opened()
    except BaseException:
        await _release_reference(entry)
        raise


async def _release_reference(entry: _Entry) -> None:
    """Drop a reference. After the last one, close the engine; do not stop an opening that a call waits for."""
    entry.references -= 1
    if entry.references <= 0 and (entry.engine is not None or not entry.active_calls):
        await entry.close()


def _consume_exception(task: asyncio.Task[None]) -> None:
    """Mark the error as retrieved: every waiter got it, and without a waiter there is no one to report it to."""
    if not task.cancelled():
        task.exception()
