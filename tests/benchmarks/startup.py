"""The cost of starting, compared with what a host pays anyway: `python tests/benchmarks/startup.py [--json OUT]`.

Times are seconds inside the process; memory is what it holds resident when that is over. Each figure is the median over
fresh processes, ours and the other one by turns, so that a busy moment meets both.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

HEAVY_MODULES = ("google.adk", "google.genai", "mem0", "chromadb", "sqlalchemy")

_IMPORT = """
import sys, time
started = time.perf_counter()
{statement}
seconds = time.perf_counter() - started
"""

_HELP = """
import sys, time
started = time.perf_counter()
sys.argv = ["gaia", "--help"]
from gaia_memory.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
seconds = time.perf_counter() - started
"""

_AGENT = """
import asyncio, pathlib, sys, tempfile, time
started = time.perf_counter()
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import DatabaseSessionService
from google.genai import types

class Echo(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="Hello.")]))

agent = LlmAgent(name="assistant", model=Echo(model="echo"), instruction="Help the user.")
message = types.Content(role="user", parts=[types.Part(text="Hi")])

async def turn(runner):
    said = [event async for event in runner.run_async(user_id="ada", session_id="s1", new_message=message)]
    assert said[-1].content.parts[0].text == "Hello."
    return time.perf_counter() - started
"""

_OURS = """
async def first_turn(home):
    from gaia_memory import open_memory
    async with open_memory(None, home=home) as gaia:
        return await turn(gaia.runner(agent))
"""

_ADK_ONLY = """
async def first_turn(home):
    service = DatabaseSessionService(f"sqlite+aiosqlite:///{home}/sessions.db")
    runner = Runner(app=App(name="gaia", root_agent=agent), session_service=service, auto_create_session=True)
    seconds = await turn(runner)
    await runner.close()
    await service.close()
    return seconds
"""

_RUN_FIRST_TURN = """
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
    seconds = asyncio.run(first_turn(home))
"""

_MEMORY_ALONE = """
import asyncio, sys, tempfile, time
started = time.perf_counter()

async def first_turn(home):
    from gaia_memory import NewFact, open_memory
    async with open_memory(None, home=home) as gaia:
        ada = gaia.scope("ada")
        await gaia.memory.add(ada, [NewFact("Ada lives in Berlin.")])
        [hit] = await gaia.memory.recall(ada, "Where does Ada live?")
        await gaia.memory.settled()
        return time.perf_counter() - started
"""

_STORE_ALONE = """
import os, sys, tempfile, time
os.environ.update(ANONYMIZED_TELEMETRY="False", MEM0_TELEMETRY="False")
started = time.perf_counter()
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
    import chromadb
    client = chromadb.PersistentClient(home)
    from mem0 import Memory
    seconds = time.perf_counter() - started
"""

_REPORT = """
import psutil
loaded = [name for name in {heavy!r} if name in sys.modules]
sys.stderr.write("MEASURED %r %d %s" % (seconds, psutil.Process().memory_info().rss, " ".join(loaded)))
"""


@dataclass(frozen=True, slots=True)
class Case:
    """One figure: our code, and what it is compared with."""

    name: str
    against: str
    ours: str
    theirs: str


def _imports(name: str, against: str) -> Case:
    return Case(name, against, _IMPORT.format(statement=name), _IMPORT.format(statement=against))


CASES = (
    _imports("import gaia_memory", "import google.adk"),
    _imports("from gaia_memory import MemoryPlugin, open_memory", "from google.adk.runners import Runner"),
    Case("gaia --help", "import typer", _HELP, _IMPORT.format(statement="import typer")),
    Case(
        "open_memory to its first turn",
        "a bare Runner to its first turn",
        _AGENT + _OURS + _RUN_FIRST_TURN,
        _AGENT + _ADK_ONLY + _RUN_FIRST_TURN,
    ),
    Case(
        "a fact, a recall, and the mem0 store in step",
        "mem0 and Chroma imported",
        _MEMORY_ALONE + _RUN_FIRST_TURN,
        _STORE_ALONE,
    ),
)


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """One process: its seconds, its final resident bytes, and the heavy modules it loaded."""

    seconds: float
    resident: int
    loaded: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """A measured figure: medians in seconds and bytes, and the heavy modules that ours loaded."""

    name: str
    against: str
    ours: float
    theirs: float
    ratio: float
    ours_resident: float
    theirs_resident: float
    loaded: tuple[str, ...]


def measure(case: Case, repetitions: int, *, done: int = 0, total: int = 0) -> ComparisonRow:
    """Run both sides alternately and return their medians."""
    ours, theirs = [], []
    for repetition in range(repetitions):
        _progress(case.name, done + repetition, total)
        ours.append(_run(case.ours))
        theirs.append(_run(case.theirs))
    our_median, their_median = (statistics.median(side.seconds for side in sides) for sides in (ours, theirs))
    loaded = {name for side in ours for name in side.loaded}
    return ComparisonRow(
        name=case.name,
        against=case.against,
        ours=our_median,
        theirs=their_median,
        ratio=our_median / their_median,
        ours_resident=statistics.median(side.resident for side in ours),
        theirs_resident=statistics.median(side.resident for side in theirs),
        loaded=tuple(name for name in HEAVY_MODULES if name in loaded),
    )


def table(rows: Sequence[ComparisonRow]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| what | median | memory | against | median | memory | ratio |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        ours = f"{row.name} | {row.ours * 1000:.0f} ms | {row.ours_resident / 1e6:.0f} MB"
        theirs = f"{row.against} | {row.theirs * 1000:.0f} ms | {row.theirs_resident / 1e6:.0f} MB"
        lines.append(f"| {ours} | {theirs} | {row.ratio:.2f} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and write the figures to a file if one is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures to this file")
    parser.add_argument("--repetitions", type=int, default=9, metavar="N", help="processes a figure and side (9)")
    options = parser.parse_args(arguments)
    total = len(CASES) * options.repetitions
    rows = [
        measure(case, options.repetitions, done=number * options.repetitions, total=total)
        for number, case in enumerate(CASES)
    ]
    _progress("done", total, total)
    sys.stdout.write(table(rows) + "\n")
    if options.json:
        machine = {"cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()}
        figures = {"machine": machine, "repetitions": options.repetitions, "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


def _run(code: str) -> ProcessResult:
    """Run code in a fresh interpreter without keys and return what it reported."""
    with tempfile.TemporaryDirectory() as home:
        environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        environment |= {"HOME": home, "GAIA_HOME": home}
        command = [sys.executable, "-c", code + _REPORT.format(heavy=HEAVY_MODULES)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    report = done.stderr.rpartition("MEASURED ")[2].split()
    if done.returncode or not report:
        raise RuntimeError(f"the measured program failed:\n{done.stderr}")
    return ProcessResult(float(report[0]), int(report[1]), tuple(report[2:]))


def _progress(what: str, done: int, total: int) -> None:
    sys.stderr.write(f"\r{time.strftime('%H:%M:%S')} {done}/{total} {what:<40}" + ("\n" if done == total else ""))
    sys.stderr.flush()


if __name__ == "__main__":
    raise SystemExit(main())
