"""A process that forgets, and may end itself at one of the steps: run by `killed_at`."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Mapping
from typing import Any

from gaia_memory import open_memory
from gaia_memory.backend.mem0_store import throttle
from support.kill_process import _redirect
from support.kill_steps import Steps, Stop
from support.kills import LIMIT, _warm_up

BATCH = 50
"""Facts that are written at once: a store of several times as many is found half written."""


def killed_at(stop: Stop | None, home: str, settings: Mapping[str, Any], how: str) -> bool:
    """Forget in a process of its own; say whether it was killed, at `stop`, rather than done."""
    _warm_up()
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=_work, args=(stop, home, dict(settings), how))
    process.start()
    process.join(LIMIT)
    if process.exitcode is None:
        process.kill()
    assert process.exitcode in (0, -signal.SIGKILL), f"it ended with {process.exitcode}"
    return process.exitcode != 0


def _work(stop: Stop | None, home: str, settings: dict[str, Any], how: str) -> None:
    _redirect(os.path.join(home, os.pardir, "forgets.log"))
    throttle.REBUILD_BATCH = throttle.AWAITED_BATCH = BATCH
    asyncio.run(_forget(stop, home, settings, how))


async def _forget(stop: Stop | None, home: str, settings: dict[str, Any], how: str) -> None:
    async with open_memory(settings, home=home) as gaia:
        await gaia.memory.settled()
        if stop is not None:
            Steps(stop).watch()
        ann = gaia.scope("ann")
        if how == "one by one":
            for fact in await gaia.memory.facts(ann):
                await gaia.memory.forget(ann, fact_id=fact.id)
        elif how == "conversation":
            await gaia.memory.forget(ann, session_id="gone")
        else:
            await gaia.memory.forget(ann)
        await gaia.memory.settled()
