"""Worker threads for blocking calls: a bounded pool each for models, embedder, reranker, store and imports.

With separate pools, slow extractions cannot delay a search. The threads are daemons, so a provider that hangs without a
time-out cannot keep the process from ending.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

from gaia_memory.errors import MemoryClosedError
from gaia_memory.threads import call_for_task

P = ParamSpec("P")
T = TypeVar("T")

MODEL_THREADS = 16
EMBEDDER_THREADS = 8
STORE_THREADS = 2
RERANKER_THREADS = 2
IMPORT_THREADS = 1
EXIT_WAIT_SECONDS = 5.0
"""How long the exit of the process waits for a call to the store."""

CLOSE_GRACE_SECONDS = 3.0
"""How long a close waits for running calls; the daemon threads end with the process."""

_pools_joined_at_exit: weakref.WeakSet[WorkerPool] = weakref.WeakSet()


@atexit.register
def _join_pools_at_exit() -> None:
    deadline = time.monotonic() + EXIT_WAIT_SECONDS
    for pool in list(_pools_joined_at_exit):
        pool.join(deadline)


class WorkerPool:
    """At most `size` threads, started on demand and shared by any number of event loops."""

    def __init__(self, name: str, size: int, *, join_at_exit: bool = False) -> None:
        """Start no thread yet; `name` is the prefix of their names.

        With `join_at_exit` the exit of the process waits for running calls. A daemon thread that is stopped inside a
        C++ or Rust library would abort the process.
        """
        self._name = name
        self._size = size
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._idle: deque[None] = deque()
        self._threads: list[threading.Thread] = []
        self._closed = False
        if join_at_exit:
            _pools_joined_at_exit.add(self)

    async def run(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return or raise the result of `call`, without blocking the event loop.

        A call cancelled before a thread is free is not made. One cancelled later runs to its end, and its result is
        dropped.

        Raises:
            MemoryClosedError: the pool is closed.
        """
        return await asyncio.wrap_future(self.submit(call, *args, **kwargs))

    def submit(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Start `call` without waiting for it, as `run` does."""
        if self._closed:
            raise MemoryClosedError
        future: Future[T] = Future()
        context = contextvars.copy_context()
        self._jobs.put(lambda: _resolve(future, lambda: context.run(call, *args, **kwargs)))
        self._ensure_thread()
        return future

    async def close(self, *, grace: float = CLOSE_GRACE_SECONDS) -> None:
        """Take no more work and wait up to `grace` seconds for running calls."""
        self.shut_down()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace
        # Joining a thread would block the loop, and the end of a thread has no event to wait for.
        while loop.time() < deadline and any(thread.is_alive() for thread in self._threads):  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    def shut_down(self) -> None:
        """Take no more work, and let each thread end after its current call."""
        self._closed = True
        for _ in self._threads:
            self._jobs.put(None)

    def join(self, deadline: float) -> None:
        """Take no more work and wait for the threads until `deadline` on the monotonic clock, without an event loop."""
        self.shut_down()
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _ensure_thread(self) -> None:
        # Popping a deque is atomic, so the event loop needs no lock.
        try:
            self._idle.pop()
        except IndexError:
            if len(self._threads) < self._size:
                name = f"{self._name}-{len(self._threads)}"
                thread = threading.Thread(target=self._run_jobs, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()

    def _run_jobs(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                self._idle.append(None)
                job = self._jobs.get()
            if job is None:
                return
            job()
            # Drop the job before waiting for the next one: it contains a user's text.
            del job


def _resolve(future: Future[Any], call: Callable[[], Any]) -> None:
    """Make the call, unless it was cancelled, and hand over its result."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call_for_task(call))
    except Exception as error:  # Any error belongs to the waiting caller.
        future.set_exception(error)


@dataclass(frozen=True, slots=True)
class WorkerPools:
    """The five pools of a backend."""

    model: WorkerPool = field(default_factory=lambda: WorkerPool("gaia-model", MODEL_THREADS))
    embedder: WorkerPool = field(default_factory=lambda: WorkerPool("gaia-embedder", EMBEDDER_THREADS))
    store: WorkerPool = field(default_factory=lambda: WorkerPool("gaia-store", STORE_THREADS, join_at_exit=True))
    reranker: WorkerPool = field(default_factory=lambda: WorkerPool("gaia-reranker", RERANKER_THREADS))
    imports: WorkerPool = field(default_factory=lambda: WorkerPool("gaia-imports", IMPORT_THREADS))

    async def close(self, *, grace: float = CLOSE_GRACE_SECONDS) -> None:
        """Close all five at once."""
        await asyncio.gather(*(pool.close(grace=grace) for pool in self._pools))

    def shut_down(self) -> None:
        """Take no more work in any pool."""
        for pool in self._pools:
            pool.shut_down()

    @property
    def _pools(self) -> tuple[WorkerPool, ...]:
        return (self.model, self.embedder, self.store, self.reranker, self.imports)
