"""A process that chats, learns and adds facts until it ends or is killed: `run_worker` (see `kill_harness`)."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from google.adk.agents.llm_agent import LlmAgent
from sqlalchemy import func, select

from gaia_memory import NewFact, open_memory
from gaia_memory.backend.mem0_store import follower
from gaia_memory.ledger.tables import conversations
from support.kill.kill_steps import KillPoint, StepKiller, is_learning_task
from support.storage.plain_mem0 import mem0_facts

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia

DUMP_THREADS_SIGNAL, DUMP_TASKS_SIGNAL = signal.SIGUSR1, signal.SIGUSR2
"""Signals at which a process logs the stacks of its threads and of its tasks."""

BULK_USER = "bulk"
"""The user whose facts are added while the process learns."""

_CLEARED_PREFIXES = ("GAIA_", "GOOGLE_", "GEMINI_", "OPENAI_")
_ALL_FACTS_LIMIT = 1_000_000
_BACKGROUND_SECONDS = 30.0

Report = Callable[..., None]


@dataclass(frozen=True)
class WorkOrder:
    """The work of a process: it sends each `(user, channel, text)`, then learns while it adds `bulk_facts`."""

    home: str
    settings: Mapping[str, Any]
    environ: Mapping[str, str]
    messages: tuple[tuple[str, str, str], ...] = ()
    bulk_facts: tuple[str, ...] = ()
    batch_size: int = 100
    kill_point: KillPoint | None = None
    is_learning: bool = True
    listed_users: tuple[str, ...] = ()
    """Users whose facts mem0 lists at the end."""


def run_worker(order: WorkOrder, log: str, pipe: Connection) -> None:
    """Do the work and report it: `("said", text)`, `("working",)`, `("added", texts)`, `("quiet", listed)`."""
    _redirect_output(log)
    for name in [name for name in os.environ if name.startswith(_CLEARED_PREFIXES)]:
        del os.environ[name]
    os.environ.update(order.environ)
    faulthandler.register(DUMP_THREADS_SIGNAL, all_threads=True)
    # The store is opened at once, so that a kill meets it as it meets the databases.
    follower.START_DELAY_SECONDS = 0.0
    if order.kill_point is not None:
        StepKiller(order.kill_point).instrument()
    asyncio.run(_run_order(order, lambda *what: pipe.send(what)))


async def _run_order(order: WorkOrder, report: Report) -> None:
    report("begun")
    asyncio.get_running_loop().add_signal_handler(DUMP_TASKS_SIGNAL, _dump_tasks)
    async with open_memory(dict(order.settings), home=order.home) as gaia:
        agent = LlmAgent(name="assistant", model=gaia.model, instruction="Help.")
        for user, channel, text in order.messages:
            await gaia.conversation(agent, user_id=user, channel=channel).send(text)
            report("said", text)
        report("working")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_add(gaia, order, report))
            if order.is_learning:
                tasks.create_task(_learn(gaia))
        await gaia.memory.settled()
        if order.kill_point is not None and not order.is_learning:
            # What learns in the background reaches the step by then.
            await asyncio.sleep(_BACKGROUND_SECONDS)
        report("quiet", {user: await _mem0_facts(gaia, user) for user in order.listed_users})


async def _add(gaia: Gaia, order: WorkOrder, report: Report) -> None:
    for start in range(0, len(order.bulk_facts), order.batch_size):
        batch = order.bulk_facts[start : start + order.batch_size]
        if order.batch_size == 1:
            await gaia.memory.remember(gaia.scope(BULK_USER), batch[0])
        else:
            await gaia.memory.add(gaia.scope(BULK_USER), [NewFact(text) for text in batch])
        report("added", batch)


async def _learn(gaia: Gaia) -> None:
    """Sweep until no process has anything left to learn or to clear."""
    is_learning_task.set(True)
    while await count_undone(gaia):
        report = await gaia.sweep(force=True)
        if not report.consolidated:
            await asyncio.sleep(0.05)


async def count_undone(gaia: Gaia) -> int:
    """Return the number of conversations with something to learn or to clear."""
    count = select(func.count()).where(conversations.c.turn_no > conversations.c.done_turn_no)
    async with gaia.memory.stores.database.read_transaction() as tx:
        return int((await tx.execute(count)).scalar_one())


async def _mem0_facts(gaia: Gaia, user: str) -> dict[str, str] | None:
    """Return a user's facts in plain mem0, by id; None if another process owns the store."""
    if not gaia._engine.follower.is_owner:
        return None
    return await mem0_facts(gaia, user)


def _dump_tasks() -> None:
    for task in asyncio.all_tasks():
        task.print_stack(file=sys.stderr)


def _redirect_output(log: str) -> None:
    """Redirect output to a file: the test may be over when this process writes."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(descriptor, stream.fileno())
