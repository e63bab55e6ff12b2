"""A process in which workers act in threads, each thread in tasks, and the test's side of such processes."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import NewFact, open_memory
from support.concurrency.isolation_fuzz import (
    SHARED_FACTS,
    FuzzWorker,
    LeakDetectingLlm,
    LeakDetectingScript,
    LeakError,
    check_plain_mem0,
    owners_in,
    secret_fact,
)
from support.oracles.adversarial_ids import SCOPES
from support.storage import scripted_mem0

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia

PROCESSES, THREADS, TASKS = 2, 2, 3
_SCRIPT = "isolation"
_TIMEOUT_SECONDS = 900.0


class LeakLogHandler(logging.Handler):
    """Collects log lines above DEBUG that contain words of any user."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.line_count = 0
        self.leaked_lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Check the message, the other fields of the record, and its traceback."""
        self.line_count += 1
        line = f"{record.name}: {self.format(record)} {record.__dict__!r}"
        if owners_in(line):
            self.leaked_lines.append(line)


def fuzz_settings(home: Path, database: str | None) -> dict[str, Any]:
    """Return the configuration of one installation, whose models serve all users."""
    sessions: dict[str, Any] = {"coalesce_seconds": 0}
    if database is not None:
        sessions["database_url"] = database
    return {"home": str(home), "sessions": sessions, "memory": scripted_mem0.configuration(_SCRIPT)}


@asynccontextmanager
async def open_fuzz_memory(settings: Mapping[str, Any]) -> AsyncIterator[tuple[Gaia, LlmAgent]]:
    """Open memory with models that record their requests; fail at the end if a request mixes two users."""
    minds, agent = LeakDetectingScript(), LeakDetectingLlm()
    scripted_mem0.register(_SCRIPT, minds)
    async with open_memory(dict(settings), model=agent) as gaia:
        yield gaia, LlmAgent(name="assistant", model=agent, instruction="Help.")
    if minds.mixed_owners or agent.mixed_owners:
        raise LeakError(f"one question holds words of {minds.mixed_owners + agent.mixed_owners}")


async def seed_facts(gaia: Gaia) -> dict[int, str]:
    """Give every user a secret fact and the shared facts; return the ids of the secret facts."""
    ids: dict[int, str] = {}
    for number, scope in enumerate(SCOPES):
        kept = await gaia.memory.add(scope, [NewFact(secret_fact(number), session_id="treasures"), *SHARED_FACTS])
        ids[number] = kept[0].id
    return ids


async def run_workers(
    settings: Mapping[str, Any],
    ids: Mapping[int, str],
    operations: int,
    *,
    part: int = 0,
    parts: int = 1,
    tasks: int = 1,
) -> list[FuzzWorker]:
    """Run workers for a part of the users, with that many operations per task; return the workers."""
    async with open_fuzz_memory(settings) as (gaia, agent):
        crowds = [
            FuzzWorker(
                gaia, agent, name=f"{part}t{task}", seed=part * 100 + task, all_secret_ids=ids,
                own_secret_ids={
                    number: ids[number] for number in ids if number % (parts * tasks) == part * tasks + task
                },
            )
            for task in range(tasks)
        ]  # fmt: skip
        async with asyncio.TaskGroup() as task_group:
            for crowd in crowds:
                task_group.create_task(crowd.run_operations(operations))
        await gaia.sweep(force=True)
        for crowd in crowds:
            await crowd.check()
    return crowds


async def check_final_state(gaia: Gaia) -> None:
    """Check the content of the store, and that most users have facts."""
    await check_plain_mem0(gaia)
    known = [await gaia.memory.facts(scope) for scope in SCOPES]
    if sum(map(bool, known)) < len(SCOPES) // 2:
        raise LeakError("hardly anybody is known")


def run_in_processes(
    settings: Mapping[str, Any], ids: Mapping[int, str], operations: int
) -> tuple[Counter[str], Counter[str]]:
    """Run all workers in processes, threads and tasks at once; return the counts of operations and of calls.

    Raises:
        LeakError: a user saw, changed or received data of another.
    """
    share = -(-operations // (PROCESSES * THREADS * TASKS))
    order = {"settings": settings, "ids": ids, "operations": share}
    orders = [json.dumps({**order, "process": at}) for at in range(PROCESSES)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", __name__], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for _ in orders
    ]  # fmt: skip
    with ThreadPoolExecutor(PROCESSES) as pool:
        answers = list(pool.map(lambda process, order: process.communicate(order, _TIMEOUT_SECONDS), processes, orders))
    done: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    for process, (output, errors) in zip(processes, answers, strict=True):
        if process.returncode != 0:
            raise LeakError(f"a process ended with {process.returncode}: {errors[-6000:]}")
        if owners_in(output, errors):
            raise LeakError(f"a process tells {output[:1000]} {errors[:1000]}")
        answer = json.loads(output)
        done.update(answer["done"])
        calls.update(answer["calls"])
        if not answer["log lines"] or not answer["learned"]:
            raise LeakError("nothing is logged, or nothing learned: without that a process proves little")
    return done, calls


def _main() -> None:
    order = json.loads(sys.stdin.read())
    ids = {int(number): fact_id for number, fact_id in order["ids"].items()}
    leak_log = LeakLogHandler()
    logging.getLogger().addHandler(leak_log)
    logging.getLogger("gaia_memory").setLevel(logging.INFO)

    def thread(number: int) -> list[FuzzWorker]:
        part = order["process"] * THREADS + number
        parts = PROCESSES * THREADS
        return asyncio.run(
            run_workers(order["settings"], ids, order["operations"], part=part, parts=parts, tasks=TASKS)
        )

    with ThreadPoolExecutor(THREADS) as pool:
        crowds = [crowd for crowds in pool.map(thread, range(THREADS)) for crowd in crowds]
    if leak_log.leaked_lines:
        raise LeakError(f"the log holds words: {leak_log.leaked_lines[:3]}")
    counted: list[Counter[str]] = [
        sum((getattr(each, name) for each in crowds), Counter()) for name in ("done", "calls")
    ]
    learned = sum(len(crowd.learned) for crowd in crowds)
    answer = {"done": counted[0], "calls": counted[1], "learned": learned, "log lines": leak_log.line_count}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    _main()
