"""The named steps of learning and following, in a process that may end itself at one of them."""

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
from gaia_memory.backend.mem0_store.chroma.folders import StoreFolders
from gaia_memory.backend.mem0_store.locations import FolderPlace
from gaia_memory.database import sql_engine
from gaia_memory.database.sql_engine import SqlDatabase
from gaia_memory.facts import SqlFacts, SqlOutbox
from gaia_memory.ledger import SqlLedger

LEARNING = ("claimed", "read", "extractor asked", "extractor answered", "embedded", "written", "committed")
"""In this order; at "written" the transaction is not committed yet."""

CLEARING = ("clearing", "session cleared", "cleared")
"""At "session cleared" the ledger does not know it yet."""

FOLLOWING = ("store begun", "store named", "applied", "row removed")
"""The first two: a new store is there and, after that, is the one the database names."""

FORGETTING = ("facts deleted", "forgotten")
"""At the first the transaction is not committed yet."""

ERASING = ("folders removed", "store begun", "store named", "index written", "scrubbed", "crossing off", "crossed off")
"""What a forget leaves to the background, besides `FOLLOWING`; at "crossing off" it is not committed yet."""

learns: ContextVar[bool] = ContextVar("learns", default=False)
"""Set in the task that sweeps: facts that are added beside it are embedded, too."""


@dataclass(frozen=True)
class Stop:
    """Where a process ends itself: at a step, when it is reached for the `nth` time."""

    step: str
    nth: int = 1


class Steps:
    """Counts the steps of this process and kills it, as `kill -9` would, at the one that is named."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._count: Counter[str] = Counter()
        self._lock = threading.Lock()

    def reached(self, step: str) -> None:
        """Count a step."""
        with self._lock:
            self._count[step] += 1
            if step == self._stop.step and self._count[step] == self._stop.nth:
                os.kill(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        """Let the parts of this process tell their steps."""
        self._watch_transactions()
        _before(Mem0Extractor, "extract", lambda: self.reached("extractor asked"))
        _after(Mem0Extractor, "extract", lambda _: self.reached("extractor answered"))
        _after(Mem0Embedder, "embed", lambda _: self.reached("embedded") if learns.get() else None)
        _after(SessionTranscript, "read", lambda talk: self.reached("read") if talk is not None else None)
        _after(SessionTranscript, "clear", lambda done: self.reached("session cleared") if done else None)
        _after_blocking(ChromaStore, "write", lambda _: self.reached("applied"))
        _after_blocking(StoreFolders, "remove_all", lambda _: self.reached("folders removed"))
        _after_blocking(FolderPlace, "begin", lambda _: self.reached("store begun"))
        for delete in ("delete", "delete_all"):
            _after(SqlFacts, delete, lambda _: self.reached("facts deleted"))
        _after(SqlDatabase, "scrub", lambda _: self.reached("scrubbed"))
        _after(SqlOutbox, "erased", lambda _: self.reached("crossing off"))
        _before(sql_engine, "truncate_wal", lambda: self.reached("index written"))

    def _watch_transactions(self) -> None:
        """Tell what a transaction did once it is committed."""
        done: ContextVar[list[str] | None] = ContextVar("done", default=None)
        transaction = SqlDatabase.transaction

        @asynccontextmanager
        async def watched(database: SqlDatabase) -> AsyncIterator[Any]:
            steps: list[str] = []
            done.set(steps)
            async with transaction(database) as tx:
                yield tx
                if "committed" in steps:
                    self.reached("written")
            for step in steps:
                self.reached(step)

        def note(step: str, *, unless: Callable[[Any], bool] = lambda result: False) -> Callable[[Any], None]:
            def noted(result: Any) -> None:
                steps = done.get()
                if steps is not None and not unless(result):
                    steps.append(step)

            return noted

        SqlDatabase.transaction = watched  # type: ignore[method-assign]
        _after(SqlLedger, "claim", note("claimed", unless=lambda row: row is None))
        _after(SqlLedger, "advance", note("committed", unless=lambda moved: not moved))
        _after(SqlLedger, "begin_clearing", note("clearing", unless=lambda begun: not begun))
        _after(SqlLedger, "end_clearing", note("cleared"))
        _after(SqlOutbox, "renew", note("store named"))
        _after(SqlOutbox, "done", note("row removed", unless=lambda count: not count))
        _after(SqlFacts, "write", note("facts written"))
        _after(SqlOutbox, "note_erasure", note("forgotten"))
        _after(SqlOutbox, "erased", note("crossed off"))


def _before(owner: Any, name: str, tell: Callable[[], None]) -> None:
    real = getattr(owner, name)

    @wraps(real)
    async def told(*args: Any, **kwargs: Any) -> Any:
        tell()
        return await real(*args, **kwargs)

    setattr(owner, name, told)


def _after(owner: type, name: str, tell: Callable[[Any], None]) -> None:
    real = getattr(owner, name)

    @wraps(real)
    async def told(*args: Any, **kwargs: Any) -> Any:
        result = await real(*args, **kwargs)
        tell(result)
        return result

    setattr(owner, name, told)


def _after_blocking(owner: type, name: str, tell: Callable[[Any], None]) -> None:
    real = getattr(owner, name)

    @wraps(real)
    def told(*args: Any, **kwargs: Any) -> Any:
        result = real(*args, **kwargs)
        tell(result)
        return result

    setattr(owner, name, told)
