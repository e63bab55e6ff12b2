"""The named steps of learning and following, in a process that may kill itself at one of them."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import Any

from gaia_memory.adk.sessions.transcript import SessionTranscript
from gaia_memory.backend.embedder import Mem0Embedder
from gaia_memory.backend.extractor import Mem0Extractor
from gaia_memory.backend.mem0_store.chroma.chroma_store import ChromaStore
from gaia_memory.backend.mem0_store.chroma.folders import EmbeddedLocation
from gaia_memory.database import sql_engine
from gaia_memory.database.sql_engine import Database
from gaia_memory.facts import FactStore, Outbox
from gaia_memory.facts.reconciling.comparisons import Comparisons
from gaia_memory.facts.write_facts import FactWriter
from gaia_memory.ledger import Ledger
from gaia_memory.truth.by_model import model_reconciler

LEARNING_STEPS = ("claimed", "read", "extractor asked", "extractor answered", "embedded", "written", "committed")
"""In this order; at "written" the transaction is not committed yet."""

RECONCILING_STEPS = ("reconciler asked", "reconciler answered", "settling", "settled")
"""At "settling" the transaction that takes a fact off the queue is not committed yet."""

CLEARING_STEPS = ("clearing", "session cleared", "cleared")
"""At "session cleared" the ledger does not record it yet."""

FOLLOWING_STEPS = ("store begun", "store named", "applied", "row removed")
"""First the new store exists, then the database names it."""

is_learning_task: ContextVar[bool] = ContextVar("learns", default=False)
"""Set in the task that sweeps, because facts added at the same time are embedded too."""


@dataclass(frozen=True)
class KillPoint:
    """Where a process kills itself: when it reaches a step for the `nth` time."""

    step: str
    nth: int = 1


class StepKiller:
    """Counts the steps of this process and kills it, like `kill -9`, at the kill point."""

    def __init__(self, kill_point: KillPoint) -> None:
        self._kill_point = kill_point
        self._count: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count_step(self, step: str) -> None:
        """Count a step."""
        with self._lock:
            self._count[step] += 1
            if step == self._kill_point.step and self._count[step] == self._kill_point.nth:
                os.kill(os.getpid(), signal.SIGKILL)

    def instrument(self) -> None:
        """Make the parts of this process report their steps."""
        self._instrument_transactions()
        _call_before(Mem0Extractor, "extract", lambda: self.count_step("extractor asked"))
        _call_after(Mem0Extractor, "extract", lambda _: self.count_step("extractor answered"))
        _call_before(model_reconciler, "ask_model", lambda: self.count_step("reconciler asked"))
        _call_after(model_reconciler, "ask_model", lambda _: self.count_step("reconciler answered"))
        _call_after(Mem0Embedder, "embed", lambda _: self.count_step("embedded") if is_learning_task.get() else None)
        _call_after(SessionTranscript, "read", lambda talk: self.count_step("read") if talk is not None else None)
        _call_after(SessionTranscript, "clear", lambda done: self.count_step("session cleared") if done else None)
        _call_after_blocking(ChromaStore, "write", lambda _: self.count_step("applied"))
        _call_after_blocking(EmbeddedLocation, "_link", lambda _: self.count_step("folder linked"))
        _call_after_blocking(EmbeddedLocation, "create", lambda _: self.count_step("store begun"))
        for delete in ("delete", "delete_all"):
            _call_after(FactStore, delete, lambda _: self.count_step("facts deleted"))
        _call_after(Database, "scrub", lambda _: self.count_step("scrubbed"))
        _call_after(Outbox, "finish_erasures", lambda _: self.count_step("crossing off"))
        _call_before(sql_engine, "truncate_wal", lambda: self.count_step("index written"))

    def _instrument_transactions(self) -> None:
        """Report the steps of a transaction once it is committed."""
        current_steps: ContextVar[list[str] | None] = ContextVar("done", default=None)
        transaction = Database.transaction

        @asynccontextmanager
        async def watched(database: Database) -> AsyncIterator[Any]:
            steps: list[str] = []
            current_steps.set(steps)
            async with transaction(database) as tx:
                yield tx
                if "committed" in steps:
                    self.count_step("written")
                if "settled" in steps:
                    self.count_step("settling")
            for step in steps:
                self.count_step(step)

        def note(step: str, *, unless: Callable[[Any], bool] = lambda result: False) -> Callable[[Any], None]:
            def noted(result: Any) -> None:
                steps = current_steps.get()
                if steps is not None and not unless(result):
                    steps.append(step)

            return noted

        Database.transaction = watched  # type: ignore[method-assign]
        _call_after(Ledger, "claim", note("claimed", unless=lambda row: row is None))
        _call_after(Ledger, "advance_watermark", note("committed", unless=lambda moved: not moved))
        _call_after(Ledger, "begin_clearing", note("clearing", unless=lambda begun: not begun))
        _call_after(Ledger, "end_clearing", note("cleared"))
        _call_after(Outbox, "reset_store", note("store named"))
        _call_after(Outbox, "acknowledge", note("row removed", unless=lambda count: not count))
        _call_after(FactWriter, "write", note("facts written"))
        _call_after(Comparisons, "drop_undecided", note("settled"))
        _call_after(Outbox, "record_erasure", note("forgotten"))
        _call_after(Outbox, "finish_erasures", note("crossed off"))


def _call_before(owner: Any, name: str, callback: Callable[[], None]) -> None:
    real = getattr(owner, name)

    @wraps(real)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        callback()
        return await real(*args, **kwargs)

    setattr(owner, name, wrapper)


def _call_after(owner: Any, name: str, callback: Callable[[Any], None]) -> None:
    real = getattr(owner, name)

    @wraps(real)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = await real(*args, **kwargs)
        callback(result)
        return result

    setattr(owner, name, wrapper)


def _call_after_blocking(owner: type, name: str, callback: Callable[[Any], None]) -> None:
    real = getattr(owner, name)

    @wraps(real)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = real(*args, **kwargs)
        callback(result)
        return result

    setattr(owner, name, wrapper)
