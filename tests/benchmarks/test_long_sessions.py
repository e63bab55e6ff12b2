"""The benchmark of long sessions runs, and its claims hold at a size that is quick to measure."""

from __future__ import annotations

import asyncio
import gc
import json
import tracemalloc
from pathlib import Path

import pytest

from benchmarks import long_sessions
from benchmarks.long_sessions import (
    APP,
    CONTEXT_FILTER,
    GAIA_RUNNER,
    NO_WINDOW,
    STEPPED_WINDOW,
    USER,
    RunnerBenchmark,
    measure_prefixes,
)
from support.hosts.session_history import conversation_events, store_session

EVENTS = 2_000
LEAST = 4.0
"""How many times faster a turn is there at least; measured are 13 on a machine at rest."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_turn_in_a_long_session_is_several_times_faster_than_with_adk_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ratio of medians of one run is checked, and written to a table and a file.

    The figures beside ours are what they should be: all is repeated without a window, and next to nothing where a
    window moves every turn.
    """
    figures = tmp_path / "long.json"
    sizes = ["--events", "200", str(EVENTS), "--repetitions", "4", "--turns", "5"]

    assert long_sessions.main([*sizes, "--json", str(figures)]) == 0

    told = json.loads(figures.read_text(encoding="utf-8"))
    medians = {(time["events"], time["side"]): time["median"] for time in told["times"]}
    assert told["ratios"][str(EVENTS)] >= LEAST
    assert medians[EVENTS, GAIA_RUNNER] <= 3 * medians[200, GAIA_RUNNER]
    assert told["prefixes"][NO_WINDOW] > 0.95
    assert told["prefixes"][CONTEXT_FILTER] < 0.2
    assert f"| {EVENTS:,} | {GAIA_RUNNER} |" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_most_of_each_prompt_repeats_the_previous_one(tmp_path: Path) -> None:
    """This is the average over 60 turns; the window moves in six of them."""
    [stepped] = asyncio.run(measure_prefixes(tmp_path, 60, lambda _: None, sides=[STEPPED_WINDOW]))

    assert stepped.mean >= 0.85
    assert sum(share < 0.5 for share in stepped.shares) == 6


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_turn_in_a_long_session_leaks_almost_no_memory(tmp_path: Path) -> None:
    """The growth per turn does not depend on the length of the session."""
    bench = RunnerBenchmark(tmp_path)
    await store_session(bench.url, app=APP, user=USER, session_id="long", events=conversation_events(EVENTS))
    async with bench.open():
        for n in range(10):
            await bench.turn(GAIA_RUNNER, "long", n)
        tracemalloc.start()
        try:
            grown = []
            for batch in range(3):
                gc.collect()
                grown.append(tracemalloc.get_traced_memory()[0])
                for n in range(10):
                    await bench.turn(GAIA_RUNNER, "long", 10 + 10 * batch + n)
        finally:
            tracemalloc.stop()

    a_turn = (grown[2] - grown[1]) / 10
    assert a_turn < 20_000
