"""People whose ids look like one another's act all at once, and nobody sees, changes or tells what is another's."""

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
from support.databases import memory_url
from support.oracles.adversarial_ids import SCOPES, USERS

slow = (pytest.mark.slow, pytest.mark.timeout(900))


def test_the_people_are_many_and_all_different() -> None:
    """Fifty hostile ids at least, and no two people share a partition."""
    assert len(set(USERS)) == len(USERS) >= 50
    assert len({scope.partition for scope in SCOPES}) == len(SCOPES) > len(USERS)


@pytest.mark.acceptance("C01", "C02", "C03", "L12", "Q04", "P14", "R07")
@pytest.mark.parametrize("operations", [1_000, pytest.param(10_000, marks=slow)])
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_nobody_is_shown_what_is_anothers(kind: str, operations: int, tmp_path: Path) -> None:
    """Mixed operations in two processes, threads and tasks agree with who said what, in every place."""
    async with memory_url(kind, tmp_path) as url:
        database = None if kind == "sqlite" else url.render_as_string(hide_password=False)
        settings = fuzz_settings(tmp_path / "home", database)
        async with open_fuzz_memory(settings) as (gaia, _):
            ids = await seed_facts(gaia)

            done, calls = await asyncio.to_thread(run_in_processes, settings, ids, operations)

            assert calls.total() >= operations
            assert len(done) == len(OPERATION_WEIGHTS)
            await check_final_state(gaia)
