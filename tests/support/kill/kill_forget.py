"""A process that forgets, and may kill itself at one of the steps; `forget_and_kill_at` runs it."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Mapping
from typing import Any

from gaia_memory import open_memory
from gaia_memory.backend.mem0_store import follower
from support.kill.kill_harness import TIMEOUT_SECONDS, _preload_forkserver
from support.kill.kill_process import _redirect_output
from support.kill.kill_steps import KillPoint, StepKiller

FACTS_PER_BATCH = 50
"""Facts written at once; in a store of several times as many, a kill leaves a part unwritten."""


def forget_and_kill_at(kill_point: KillPoint | None, home: str, settings: Mapping[str, Any], mode: str) -> bool:
    """Forget in a child process; return whether it was killed at `kill_point`."""
    _preload_forkserver()
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=_run_process, args=(kill_point, home, dict(settings), mode))
    process.start()
    process.join(TIMEOUT_SECONDS)
    if process.exitcode is None:
        process.kill()
    assert process.exitcode in (0, -signal.SIGKILL), f"it ended with {process.exitcode}"
    return process.exitcode != 0


def _run_process(kill_point: KillPoint | None, home: str, settings: dict[str, Any], mode: str) -> None:
    _redirect_output(os.path.join(home, os.pardir, "forgets.log"))
    follower.BATCH_FACTS = FACTS_PER_BATCH
    asyncio.run(_forget(kill_point, home, settings, mode))


async def _forget(kill_point: KillPoint | None, home: str, settings: dict[str, Any], mode: str) -> None:
    async with open_memory(settings, home=home) as gaia:
        await gaia.memory.settled()
        if kill_point is not None:
            StepKiller(kill_point).instrument()
        ann = gaia.scope("ann")
        if mode == "one by one":
            for fact in await gaia.memory.facts(ann):
                await gaia.memory.forget(ann, fact_id=fact.id)
        elif mode == "conversation":
            await gaia.memory.forget(ann, session_id="gone")
        else:
            await gaia.memory.forget(ann)
        await gaia.memory.settled()
