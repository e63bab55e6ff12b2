"""Users with similar ids act concurrently, and none sees, changes or reveals another's data."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from support.concurrency.isolation_fuzz import OPERATION_WEIGHTS
from support.concurrency.isolation_process import (
    check_final_state,
    fuzz_settings,
    open_fuzz_memory,
    run_in_processes,
    seed_facts,
)
from support.databases import memory_url, on_each_database

slow = (pytest.mark.slow, pytest.mark.timeout(900))


@pytest.mark.acceptance("C01", "C02", "C03", "L12", "Q04", "P14", "R07")
@pytest.mark.parametrize("operations", [300, pytest.param(10_000, marks=slow)])
@on_each_database
async def test_no_user_is_shown_another_users_data(kind: str, operations: int, tmp_path: Path) -> None:
    """Mixed operations in two processes, threads and tasks match the record of who said what, everywhere."""
    async with memory_url(kind, tmp_path) as url:
        database = None if kind == "sqlite" else url.render_as_string(hide_password=False)
        settings = fuzz_settings(tmp_path / "home", database)
        async with open_fuzz_memory(settings) as (gaia, _):
            ids = await seed_facts(gaia)

            done, calls = await asyncio.to_thread(run_in_processes, settings, ids, operations)

            assert calls.total() >= operations
            assert len(done) == len(OPERATION_WEIGHTS)
            await check_final_state(gaia)
