"""A process that talks, learns and adds facts until it is done or killed: `work`, run by `support.kills`."""

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
from gaia_memory.ledger.tables import conversations
from support.kill_steps import Steps, Stop, learns

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia

ASKED, ASKED_ALSO = signal.SIGUSR1, signal.SIGUSR2
"""Signals at which a process writes into its log where its threads and its tasks are."""

BULK = "bulk"
"""The person whose facts are added beside."""

_SETTINGS = ("GAIA_", "GOOGLE_", "GEMINI_", "OPENAI_")
_ALL = 1_000_000

Tell = Callable[..., None]


@dataclass(frozen=True)
class Order:
    """What a process does: it says `(user, channel, text)` first, then learns while it adds `adds`."""

    home: str
    settings: Mapping[str, Any]
    environ: Mapping[str, str]
    says: tuple[tuple[str, str, str], ...] = ()
    adds: tuple[str, ...] = ()
    batch: int = 100
    stop: Stop | None = None
    learns: bool = True
    looks: tuple[str, ...] = ()
    """People whose facts are listed by mem0 in the end."""


def work(order: Order, log: str, pipe: Connection) -> None:
    """Do what is ordered and tell it: `("said", text)`, `("working",)`, `("added", texts)`, `("quiet", listed)`."""
    _redirect(log)
    for name in [name for name in os.environ if name.startswith(_SETTINGS)]:
        del os.environ[name]
    os.environ.update(order.environ)
    faulthandler.register(ASKED, all_threads=True)
    if order.stop is not None:
        Steps(order.stop).watch()
    asyncio.run(_work(order, lambda *what: pipe.send(what)))


async def _work(order: Order, tell: Tell) -> None:
    tell("begun")
    asyncio.get_running_loop().add_signal_handler(ASKED_ALSO, _tell_tasks)
    async with open_memory(dict(order.settings), home=order.home) as gaia:
        agent = LlmAgent(name="assistant", model=gaia.model, instruction="Help.")
        for user, channel, text in order.says:
            await gaia.conversation(agent, user_id=user, channel=channel).send(text)
            tell("said", text)
        tell("working")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_add(gaia, order, tell))
            if order.learns:
                tasks.create_task(_learn(gaia))
        await gaia.memory.settled()
        tell("quiet", {user: await _listed(gaia, user) for user in order.looks})


async def _add(gaia: Gaia, order: Order, tell: Tell) -> None:
    for start in range(0, len(order.adds), order.batch):
        batch = order.adds[start : start + order.batch]
        if order.batch == 1:
            await gaia.memory.remember(gaia.scope(BULK), batch[0])
        else:
            await gaia.memory.add(gaia.scope(BULK), [NewFact(text) for text in batch])
        tell("added", batch)


async def _learn(gaia: Gaia) -> None:
    """Sweep until nothing is left to learn or to clear, whoever does it."""
    learns.set(True)
    while await undone(gaia):
        report = await gaia.sweep(force=True)
        if not report.consolidated:
            await asyncio.sleep(0.05)


async def undone(gaia: Gaia) -> int:
    """Return how many conversations hold something to learn or to clear."""
    count = select(func.count()).where(conversations.c.turn_no > conversations.c.done_turn_no)
    async with gaia.memory.database.reading() as tx:
        return int((await tx.execute(count)).scalar_one())


async def _listed(gaia: Gaia, user: str) -> dict[str, str] | None:
    """Return what plain mem0 holds of a person, by id; None where another process has the store."""
    if not gaia._engine.follower.owned:
        return None
    filters = {"user_id": gaia.scope(user).partition}
    found = await asyncio.to_thread(gaia.mem0.get_all, filters=filters, top_k=_ALL)
    return {row["id"]: row["memory"] for row in found["results"]}


def _tell_tasks() -> None:
    for task in asyncio.all_tasks():
        task.print_stack(file=sys.stderr)


def _redirect(log: str) -> None:
    """Write what is told to a file: the test may be over when this process tells it."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(descriptor, stream.fileno())
