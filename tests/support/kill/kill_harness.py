"""Processes that are killed while they learn, and the data they leave: every turn is a fact or still in its session.

Each turn names a bird of its own. The model's answer lists the birds of the request, in words that differ for each
request, so a turn that is learned twice leaves two facts.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from http.server import BaseHTTPRequestHandler
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sqlalchemy import inspect
from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncEngine

from gaia_memory.backend.builder import Backend
from gaia_memory.backend.mem0_store.vector_stores import resolve_location
from gaia_memory.config.sources.load import load
from gaia_memory.database.sql_engine import open_engine
from gaia_memory.ledger import Ledger
from support.kill.kill_process import BULK_USER, DUMP_TASKS_SIGNAL, DUMP_THREADS_SIGNAL, WorkOrder, run_worker
from support.kill.kill_steps import KillPoint
from support.servers.fake_gemini import Answer, FakeGemini, Kind, _kind, facts
from support.servers.gemini_answers import Body
from support.storage.plain_mem0 import plain_mem0

USERS = ("ada", "ben", "cleo")
BIRD_PATTERN = re.compile(r"bird b\d{5}")
TIMEOUT_SECONDS = 300.0
"""Time for a process to finish or be killed."""

_NEW_MESSAGES_PATTERN = re.compile(r"## New Messages\n(.*?)\n## Observation Date", re.DOTALL)
_ALL_FACTS_LIMIT = 1_000_000

Messages = tuple[tuple[str, str, str], ...]


class KillingGemini(FakeGemini):
    """A model that learns birds and may kill the process that calls it."""

    def __init__(self) -> None:
        super().__init__()
        self.bird_counts: Counter[str] = Counter()
        self.delay_seconds = 0.0
        self._kill_plan: tuple[Kind, int, str, Callable[[], None]] | None = None
        self._count: Counter[Kind] = Counter()
        self.set_default("extractor", self._learn)
        self.set_default("profile", "- Watches birds")

    def kill_on_request(self, kind: Kind, nth: int, when: str, kill: Callable[[], None]) -> None:
        """Call `kill` when the `nth` request of a kind from now on is "asked" or has been "answered"."""
        self._count.clear()
        self._kill_plan = (kind, nth, when, kill)

    def _learn(self, body: Body) -> Answer:
        """Answer with one fact per bird in the new messages."""
        said = "\n".join(part.get("text", "") for content in body["contents"] for part in content["parts"])
        section = _NEW_MESSAGES_PATTERN.search(said)
        birds = list(dict.fromkeys(BIRD_PATTERN.findall(section[1]))) if section else []
        with self._scripts.lock:
            self.bird_counts.update(birds)
            number = len(self.requests_of("extractor"))
        time.sleep(self.delay_seconds)
        return facts(*(f"User saw {bird}, as answer {number} says" for bird in birds))

    def _answer(self, handler: BaseHTTPRequestHandler, model: str, method: str, body: Body) -> None:
        due = self._kill_moment(_kind(method, body))
        if due == "asked":
            self._kill()
        super()._answer(handler, model, method, body)
        if due == "answered":
            handler.wfile.flush()
            self._kill()

    def _kill_moment(self, kind: Kind) -> str | None:
        with self._scripts.lock:
            self._count[kind] += 1
            if self._kill_plan is None or self._kill_plan[:2] != (kind, self._count[kind]):
                return None
            return self._kill_plan[2]

    def _kill(self) -> None:
        assert self._kill_plan is not None
        self._kill_plan[3]()
        self._kill_plan = None


@dataclass
class Worker:
    """A running process and its reports."""

    process: BaseProcess
    pipe: Connection
    log: Path
    order: WorkOrder
    kill_after: float | None = None
    """Seconds between its report `kill_timer_event` and the kill."""

    kill_timer_event: str = "working"
    was_killed: bool = False
    """Whether the process ended by `kill -9`."""

    kill_at: float | None = None
    mem0_facts: dict[str, dict[str, str] | None] | None = None
    is_open: bool = True


@dataclass
class DatabaseContents:
    """The content of the databases."""

    birds: Counter[tuple[str, str]]
    sources: Counter[tuple[str, str]]
    """The number of facts and of their sources, by user and bird."""

    bulk: Counter[str]
    visible: set[tuple[str, str]]
    """The birds that a session still contains, by user."""

    events: int
    store: str
    pending: set[str]
    undone_count: int
    texts: dict[str, dict[str, str]]
    """All facts of each user by id."""


@dataclass
class Installation:
    """One installation in a folder, with every message sent and fact added in it."""

    folder: Path
    gemini: KillingGemini
    settings: dict[str, Any] = field(default_factory=dict)
    home: Path = field(init=False)
    rng: random.Random = field(default_factory=lambda: random.Random(1))
    method: str = "forkserver"
    sent: set[tuple[str, str]] = field(default_factory=set)
    """Turns that were answered, by user and bird."""

    added: set[str] = field(default_factory=set)
    kill_count: int = 0
    _bird_count: int = 0
    _bulk_count: int = 0
    _worker_count: int = 0

    def __post_init__(self) -> None:
        self.home = self.folder / "home"
        self.folder.mkdir(parents=True, exist_ok=True)

    def new_messages(self, conversations: int, turns: int = 1, *, length: int = 0, prefix: str = "c") -> Messages:
        """Return that many turns in each of that many conversations, each turn with a new bird."""
        messages = []
        for number in range(conversations):
            user, channel = USERS[number % len(USERS)], f"{prefix}{number}"
            messages += [(user, channel, self._new_message(length)) for _ in range(turns)]
        return tuple(messages)

    def _new_message(self, length: int = 0) -> str:
        self._bird_count += 1
        return f"Today I saw bird b{self._bird_count:05d}. {'a' * length}"

    def new_bulk_facts(self, count: int) -> tuple[str, ...]:
        """Return that many new facts for `BULK_USER`."""
        first, self._bulk_count = self._bulk_count, self._bulk_count + count
        return tuple(f"Bulk fact number {number} of the import" for number in range(first, first + count))

    def start(
        self,
        messages: Messages = (),
        bulk_facts: tuple[str, ...] = (),
        *,
        kill_point: KillPoint | None = None,
        kill_after: float | None = None,
        kill_timer_event: str = "working",
        home: Path | None = None,
        is_learning: bool = True,
        listed_users: tuple[str, ...] = (),
        batch_size: int = 100,
    ) -> Worker:
        """Start a process, killed if `kill_point` or `kill_after` is given."""
        context = self._context()
        self._worker_count += 1
        log = self.folder / f"worker-{self._worker_count}.log"
        ours, theirs = context.Pipe(duplex=False)
        home_path, environ = str(home or self.home), self.gemini.environment
        order = WorkOrder(
            home_path,
            self.settings,
            environ,
            messages,
            bulk_facts,
            batch_size,
            kill_point=kill_point,
            is_learning=is_learning,
            listed_users=listed_users,
        )
        process = context.Process(target=run_worker, args=(order, str(log), theirs))
        process.start()
        theirs.close()
        return Worker(process, ours, log, order, kill_after, kill_timer_event)

    def wait_for_workers(self, *workers: Worker, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        """Wait until each process is done or killed, and kill those that are due."""
        deadline = time.monotonic() + timeout_seconds
        while running := [worker for worker in workers if worker.is_open]:
            now = time.monotonic()
            due = [worker.kill_at for worker in running if worker.kill_at is not None]
            for pipe in wait([worker.pipe for worker in running], max(0.0, min([*due, now + 1.0]) - now)):
                self._receive(next(worker for worker in running if worker.pipe is pipe))
            for worker in running:
                if worker.kill_at is not None and time.monotonic() >= worker.kill_at:
                    worker.kill_at = None
                    worker.process.kill()
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"not done after {timeout_seconds:g} s: {[_dump_and_kill(worker) for worker in running]}"
                )
        for worker in workers:
            self._reap(worker)

    def run(self, *args: Any, **kwargs: Any) -> Worker:
        """Start one process and wait for its end."""
        worker = self.start(*args, **kwargs)
        self.wait_for_workers(worker)
        return worker

    @property
    def has_databases(self) -> bool:
        """Whether a process has created the tables of both databases."""
        return asyncio.run(self._has_tables())

    def read_databases(self) -> DatabaseContents:
        """Return the current content of the databases."""
        return asyncio.run(self._read_databases())

    def check(self) -> DatabaseContents:
        """Check that no accepted turn or fact is lost or duplicated; valid at any time."""
        seen = self.read_databases()
        missing = {turn for turn in self.sent if turn not in seen.birds and turn not in seen.visible}
        assert not missing, f"cleared before they were learned: {sorted(missing)}"
        assert not _duplicates(seen.birds), f"learned twice: {_duplicates(seen.birds)}"
        assert not _duplicates(seen.sources), f"noted twice: {_duplicates(seen.sources)}"
        assert not self.added - set(seen.bulk), f"not kept: {sorted(self.added - set(seen.bulk))[:5]}"
        assert not _duplicates(seen.bulk)
        return seen

    def finish(self, *, home: Path | None = None, keeps_sessions: bool = False) -> DatabaseContents:
        """Sweep to the end in one process; check that each turn is one fact, its session cleared, mem0 up to date."""
        # A turn that was killed before its session existed waits for a day, or until the person writes again.
        waiting = (session.partition(":") for session in sorted(self.read_databases().pending))
        again = tuple((user, channel, self._new_message()) for user, _, channel in waiting)
        worker = self.run(again, home=home, listed_users=(*USERS, BULK_USER))
        seen = self.check()
        lost = sorted(turn for turn in self.sent if not seen.birds[turn])
        assert not lost, f"lost: {lost}"
        assert all(seen.sources[turn] == 1 for turn in self.sent)
        assert (seen.pending, seen.undone_count) == (set(), 0)
        if not keeps_sessions:
            assert not self.sent & seen.visible, "learned and not cleared"
        assert worker.mem0_facts is not None
        for user, listed in worker.mem0_facts.items():
            assert listed == seen.texts.get(user, {}), f"mem0 holds other facts of {user} than the database"
        return seen

    def check_plain_mem0(self, seen: DatabaseContents, home: Path | None = None) -> None:
        """Check that `mem0.Memory`, opened on the store without us, lists the same facts and finds them."""
        look = partial(_read_plain_mem0, str(home or self.home), self.settings, self.gemini.environment)
        with self._context().Pool(1) as pool:
            listed, found = pool.apply_async(look, (sorted(seen.texts),)).get(TIMEOUT_SECONDS)
        assert listed == seen.texts
        for user, texts in seen.texts.items():
            assert found[user] in texts.values()

    def _context(self) -> Any:
        if self.method == "forkserver":
            _preload_forkserver()
        return multiprocessing.get_context(self.method)

    def _receive(self, worker: Worker) -> None:
        try:
            what, *more = worker.pipe.recv()
        except (EOFError, OSError):
            worker.is_open = False
            return
        if what == worker.kill_timer_event and worker.kill_after is not None:
            worker.kill_at = time.monotonic() + worker.kill_after
        if what == "said":
            [text] = more
            user = next(user for user, _, said in worker.order.messages if said == text)
            self.sent.add((user, BIRD_PATTERN.findall(text)[0]))
        elif what == "added":
            self.added.update(more[0])
        elif what == "quiet":
            [worker.mem0_facts] = more

    def _reap(self, worker: Worker) -> None:
        worker.process.join(20)
        worker.pipe.close()
        worker.was_killed = worker.process.exitcode == -signal.SIGKILL
        if worker.was_killed:
            self.kill_count += 1
        elif worker.process.exitcode != 0 or worker.mem0_facts is None:
            raise AssertionError(f"it ended with {worker.process.exitcode}: {worker.log.read_text()[-6000:]}")
        worker.process.close()

    @asynccontextmanager
    async def _databases(self) -> AsyncIterator[tuple[AsyncEngine, AsyncEngine]]:
        config = load(dict(self.settings), home=self.home).config
        engines = open_engine(config.memory_url), open_engine(config.sessions_url)
        try:
            yield engines
        finally:
            for engine in engines:
                await engine.dispose()

    async def _has_tables(self) -> bool:
        if not self.home.is_dir():
            return False
        async with self._databases() as databases:
            for database, table in zip(databases, ("gaia_outbox", "events"), strict=True):
                async with database.connect() as connection:
                    if not await connection.run_sync(lambda tx, name=table: inspect(tx).has_table(name)):
                        return False
        return True

    async def _read_databases(self) -> DatabaseContents:
        async with self._databases() as (memory, sessions):
            async with memory.connect() as tx:
                rows = (await tx.execute(sql(_FACTS))).all()
                store = (await tx.execute(sql("SELECT store_id FROM gaia_store"))).scalar_one()
                undone = (await tx.execute(sql(_UNDONE))).scalar_one()
                pending = {waiting.key.session for waiting in await Ledger().pending(tx, user=None, app=None)}
            async with sessions.connect() as tx:
                is_made = await tx.run_sync(lambda plain: inspect(plain).has_table("events"))
                events = (await tx.execute(sql(_EVENTS))).all() if is_made else []
        return _contents_of(rows, events, store, pending, undone)


@cache
def _preload_forkserver() -> None:
    """Start the process to fork from, with everything imported: starting Python for each kill takes seconds."""
    forkserver.set_forkserver_preload(["support.kill.kill_preload", "pytest"])
    before = os.environ.get("PYTHONPATH")
    # It does not inherit this process's import path.
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


_FACTS = """
SELECT gaia_scopes.user_id, gaia_facts.id, gaia_facts.text,
  (SELECT count(*) FROM gaia_fact_sources WHERE fact_id = gaia_facts.id) FROM gaia_facts
JOIN gaia_scopes ON gaia_scopes.partition = gaia_facts.partition
"""
_UNDONE = "SELECT count(*) FROM gaia_conversations WHERE turn_no > done_turn_no"
_EVENTS = "SELECT user_id, session_id, event_data FROM events ORDER BY timestamp"


def _contents_of(
    rows: Iterable[Any], events: Iterable[Any], store: str, pending: set[str], undone: int
) -> DatabaseContents:
    seen = DatabaseContents(Counter(), Counter(), Counter(), set(), 0, store, pending, undone, {})
    for user_id, fact_id, said, sources in rows:
        user = unquote(user_id)
        seen.texts.setdefault(user, {})[fact_id] = said
        for bird in BIRD_PATTERN.findall(said):
            seen.birds[user, bird] += 1
            seen.sources[user, bird] += sources
        if user == BULK_USER:
            seen.bulk[said] += 1
    shown: dict[tuple[str, str], set[str]] = {}
    for user, session, data in events:
        seen.events += 1
        event = json.loads(data) if isinstance(data, str) else data
        if (event.get("actions") or {}).get("rewind_before_invocation_id"):
            shown[user, session] = set()
        shown.setdefault((user, session), set()).update(BIRD_PATTERN.findall(json.dumps(event.get("content") or {})))
    seen.visible = {(user, bird) for (user, _), birds in shown.items() for bird in birds}
    return seen


def _dump_and_kill(worker: Worker) -> str:
    """Have a process dump its stacks, and kill it."""
    for number in (DUMP_TASKS_SIGNAL, DUMP_THREADS_SIGNAL):
        os.kill(worker.process.pid or 0, number)
        time.sleep(0.5)
    worker.process.kill()
    return f"{worker.order.kill_point}, {worker.mem0_facts is not None}: {worker.log.read_text()[-20_000:]}"


def _duplicates(found: Counter[Any]) -> list[Any]:
    return sorted(each for each, count in found.items() if count > 1)


def _read_plain_mem0(
    home: str, settings: dict[str, Any], environ: dict[str, str], users: list[str]
) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Open the store of a home with plain mem0; return the facts that it lists and finds for each user."""
    os.environ.update(environ)
    config = load(settings, home=home).config
    backend = Backend(config)
    listed, found = {}, {}
    with plain_mem0(backend.mem0_config(resolve_location(backend, config.home)[0].address)) as memory:
        for user in users:
            filters = {"user_id": f"{config.app}:{user}"}
            rows = memory.get_all(filters=filters, top_k=_ALL_FACTS_LIMIT)["results"]
            listed[user] = {row["id"]: row["memory"] for row in rows}
            found[user] = memory.search(rows[-1]["memory"], filters=filters, top_k=3)["results"][0]["memory"]
    return listed, found
