"""A turn of another version beside one of this: `python tests/benchmarks/two_versions.py SRC [--turns N]`.

`SRC` is the folder `src` of a checkout of the other version (`git worktree add`), which runs with the packages of this
one. Whole turns (`run_async` with a model that answers at once) of one person with a thousand facts, in a process each,
by turns: so both meet the same load.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from google.adk.agents.llm_agent import LlmAgent
from google.genai import types

from benchmarks.long_sessions import InstantLlm
from gaia_memory import NewFact, open_memory
from support.checkout import PACKAGE

FACTS = 1_000
CLOCKS = {"processor": time.process_time, "elapsed": time.perf_counter}
_WARM_UP_TURNS = 3
_TURN_OPTION = "--answer-turns"


async def answer_turns(home: Path, due_facts: int) -> None:
    """Run a turn for each line of the standard input, and print the seconds that it took by each clock."""
    model = InstantLlm(model="answering")
    async with open_memory({"sessions": {"background_sweep": False}}, home=home, model=model) as gaia:
        soon = datetime.now(UTC) + timedelta(hours=1)
        facts = [NewFact(f"fact number {n}") for n in range(FACTS - due_facts)]
        facts += [NewFact(f"task number {n}", due_at=soon + timedelta(hours=n)) for n in range(due_facts)]
        await gaia.memory.add(gaia.scope("ada"), facts)
        await gaia.memory.settled()
        runner = gaia.runner(LlmAgent(name="assistant", model=model, instruction="Help."))
        for line in sys.stdin:
            message = types.UserContent(f"Message {line}")
            started = [clock() for clock in CLOCKS.values()]
            async for _ in runner.run_async(user_id="ada", session_id="s", new_message=message):
                pass
            took = [clock() - start for clock, start in zip(CLOCKS.values(), started, strict=True)]
            sys.stdout.write(" ".join(map(str, took)) + "\n")
            sys.stdout.flush()


def measure(other: Path, turns: int, due_facts: int) -> dict[str, tuple[float, float, float]]:
    """Return by each clock the median seconds of a turn of the other version and of this, and of what this one adds."""
    seconds: list[list[list[float]]] = [[], []]
    command = [sys.executable, __file__, str(due_facts), _TURN_OPTION]
    processes = [
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": str(source)},
        )
        for source in (other, PACKAGE.parent)
    ]
    for n in range(turns + _WARM_UP_TURNS):
        for process, its_seconds in zip(processes, seconds, strict=True):
            assert process.stdin is not None
            assert process.stdout is not None
            print(n, file=process.stdin, flush=True)
            its_seconds.append([float(each) for each in process.stdout.readline().split()])
    for process in processes:
        process.communicate()
    before, now = (zip(*each[_WARM_UP_TURNS:], strict=True) for each in seconds)
    medians = {}
    for name, old, new in zip(CLOCKS, before, now, strict=True):
        added = statistics.median(more - less for more, less in zip(new, old, strict=True))
        medians[name] = (statistics.median(old), statistics.median(new), added)
    return medians


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", metavar="SRC", help="the folder src of the other version")
    parser.add_argument("--turns", type=int, default=150, metavar="N", help="turns a side (150)")
    parser.add_argument(_TURN_OPTION, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.answer_turns:
        with tempfile.TemporaryDirectory() as home:
            asyncio.run(answer_turns(Path(home), int(options.source)))
        return 0
    sys.stdout.write("| due facts | time | the other version | this one | added |\n|---|---|---|---|---|\n")
    for due_facts in (0, 10):
        for name, medians in measure(Path(options.source), options.turns, due_facts).items():
            cells = " | ".join(f"{each * 1000:.1f} ms" for each in medians)
            sys.stdout.write(f"| {due_facts} | {name} | {cells} |\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
