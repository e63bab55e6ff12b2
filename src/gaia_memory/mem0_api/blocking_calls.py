"""mem0's blocking calls, from any thread: they run on an event loop of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import wraps
from typing import Any

from gaia_memory.config.sources.load import LoadedConfig
from gaia_memory.engine_registry import open_engine
from gaia_memory.errors import MemoryClosedError
from gaia_memory.mem0_api.async_calls import AsyncMem0


def _blocking(call: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    @wraps(call)
    def run(self: Mem0, *args: Any, **kwargs: Any) -> Any:
        return self._run(lambda calls: call(calls, *args, **kwargs))

    return run


class Mem0:
    """The calls of mem0's `Memory`, over the facts of a configuration; they block until they are done.

    They may be called on the thread of an event loop, which then stands still: there, prefer `gaia.amem0`. They open
    memory a second time, for their own loop, so a model that only the agent's process has is not theirs.
    """

    def __init__(self, loaded: LoadedConfig) -> None:
        """Open nothing yet."""
        self._loaded = loaded
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stack: AsyncExitStack | None = None
        self._calls: AsyncMem0 | None = None
        self._is_closed = False

    add = _blocking(AsyncMem0.add)
    search = _blocking(AsyncMem0.search)
    get = _blocking(AsyncMem0.get)
    get_all = _blocking(AsyncMem0.get_all)
    update = _blocking(AsyncMem0.update)
    delete = _blocking(AsyncMem0.delete)
    delete_all = _blocking(AsyncMem0.delete_all)
    history = _blocking(AsyncMem0.history)
    reset = _blocking(AsyncMem0.reset)

    def close(self) -> None:
        """Close the memory that these calls have opened."""
        with self._lock:
            self._is_closed = True
            loop, stack = self._loop, self._stack
            if loop is not None and stack is not None:
                asyncio.run_coroutine_threadsafe(stack.aclose(), loop).result()
                loop.call_soon_threadsafe(loop.stop)

    def _run(self, call: Callable[[AsyncMem0], Awaitable[Any]]) -> Any:
        with self._lock:
            if self._is_closed:
                raise MemoryClosedError
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._serve, args=[self._loop], name="gaia-mem0", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(self._answer(call), self._loop).result()

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.run_forever()
        loop.close()

    async def _answer(self, call: Callable[[AsyncMem0], Awaitable[Any]]) -> Any:
        if self._calls is None:
            stack = AsyncExitStack()
            self._calls = AsyncMem0(await stack.enter_async_context(open_engine(self._loaded)))
            self._stack = stack
        return await call(self._calls)
