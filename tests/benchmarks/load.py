"""Many people at once, beside plain ADK: `python tests/benchmarks/load.py`.

Each person sends a message, all at the same moment, through one or several processes of one database: in one block with
memory, in the next through ADK's `Runner` and `DatabaseSessionService` alone, and so on, so that a busy moment meets
both. Before that, one person sends messages one after the other. The model answers after 50 ms in the same process, and
the store of mem0 is open. PostgreSQL is the server of the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gaia_memory import open_memory
from support.databases import memory_url

ARMS = ("plain", "gaia")
SETTINGS = ("sqlite 1", "sqlite 4", "postgresql 2", "postgresql 3", "postgresql 4")
MODEL_SECONDS = 0.05
TURNS_ALONE = 20
POSTGRES_CONNECTIONS, PLAIN_CONNECTIONS, MOST_CONNECTIONS = 96, 15, 30
"""Of all processes of both arms, as a server allows 100 by default; of a process of plain ADK, of one with memory."""

Send = Callable[[int], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Figure:
    """One arm of one repetition: turns, seconds of its blocks, the slowest of a hundred turns, processor and memory.

    `alone_ms` is what a turn takes without the model's time while nobody else sends a message.
    """

    setting: str
    arm: str
    turns: int
    seconds: float
    p99: float
    failed: int
    cpu_ms: float
    alone_ms: float
    megabytes: float

    @property
    def rate(self) -> float:
        """Turns per second."""
        return self.turns / self.seconds


def _agent() -> Any:
    from google.adk.agents import LlmAgent
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_response import LlmResponse
    from google.genai import types

    class Model(BaseLlm):
        """Answers after a while."""

        async def generate_content_async(
            self, llm_request: object, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            await asyncio.sleep(MODEL_SECONDS)
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="ok")]))

    return LlmAgent(name="helper", model=Model(model="late"), instruction="Help.")


@asynccontextmanager
async def _plain(url: str) -> AsyncIterator[Send]:
    from google.adk.runners import Runner
    from google.adk.sessions import DatabaseSessionService
    from google.genai import types

    sessions = DatabaseSessionService(db_url=url)
    runner = Runner(app_name="plain", agent=_agent(), session_service=sessions, auto_create_session=True)

    async def send(person: int) -> str:
        message, texts = types.Content(role="user", parts=[types.Part(text="I drink tea.")]), list[str]()
        async for event in runner.run_async(user_id=f"p{person}", session_id=f"s{person}", new_message=message):
            texts += [part.text or "" for part in (event.content.parts if event.content else None) or []]
        return "".join(texts)

    yield send
    await runner.close()


@asynccontextmanager
async def _gaia(home: str, url: str | None, processes: int = 1) -> AsyncIterator[Send]:
    sessions: dict[str, Any] = {"coalesce_seconds": 0, "background_sweep": False}
    sessions["server_connections"] = min(MOST_CONNECTIONS, POSTGRES_CONNECTIONS // processes - PLAIN_CONNECTIONS)
    config = {"home": home, "sessions": sessions | ({} if url is None else {"database_url": url})}
    agent = _agent()
    async with open_memory(config) as gaia:

        async def send(person: int) -> str:
            return (await gaia.conversation(agent, user_id=f"p{person}", channel="c").send("I drink tea.")).text

        await gaia.memory.remember(gaia.scope("somebody"), "Likes tea.")
        await gaia.memory.settled()
        yield send


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def _work(arm: str, home: str, url: str, people: range) -> None:
    """Send one message of each person whenever a line comes in, and print how that went."""
    logging.disable(logging.ERROR)
    process = psutil.Process()
    opened = _plain(url) if arm == "plain" else _gaia(home, None if url.startswith("sqlite") else url, people.step)
    async with opened as send:

        async def timed(person: int) -> tuple[float, bool]:
            started = time.monotonic()
            try:
                is_answered = await send(person) == "ok"
            except Exception:  # whatever ends a turn is a failed turn
                is_answered = False
            return time.monotonic() - started, is_answered

        alone = [(await timed(-1 - people.start))[0] for _ in range(TURNS_ALONE)]
        _say(str(1000 * (statistics.median(alone) - MODEL_SECONDS)))
        while await asyncio.to_thread(sys.stdin.readline):
            cpu, started = time.process_time(), time.monotonic()
            turns = await asyncio.gather(*map(timed, people))
            result = {"seconds": time.monotonic() - started, "cpu": time.process_time() - cpu, "turns": turns}
            _say(json.dumps(result | {"bytes": process.memory_info().rss}))


class _Arm:
    """The processes of one arm."""

    def __init__(self, arm: str, home: str, url: str, processes: int, users: int) -> None:
        self._command = [sys.executable, __file__, "--worker", arm, home, url]
        self._parts = [[str(part), str(processes), str(users)] for part in range(processes)]
        self._workers: list[subprocess.Popen[str]] = []
        self._alone_ms: list[float] = []
        self.blocks: list[list[dict[str, Any]]] = []

    def start(self) -> None:
        """Start the processes one after the other: two that create plain ADK's tables at once may both fail."""
        for part in self._parts:
            worker = subprocess.Popen([*self._command, *part], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self._workers.append(worker)
            assert worker.stdout is not None
            self._alone_ms.append(float(worker.stdout.readline()))

    def run_block(self) -> None:
        """Let every person send one message."""
        for worker in self._workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        self.blocks.append([json.loads(worker.stdout.readline()) for worker in self._workers if worker.stdout])

    def close(self) -> None:
        for worker in self._workers:
            worker.communicate()

    def figure(self, setting: str, arm: str) -> Figure:
        results = [result for block in self.blocks for result in block]
        turns = [turn for result in results for turn in result["turns"]]
        waits = sorted(wait for wait, _ in turns)
        return Figure(
            setting=setting,
            arm=arm,
            turns=len(turns),
            seconds=sum(max(result["seconds"] for result in block) for block in self.blocks),
            p99=waits[int(len(waits) * 0.99)],
            failed=sum(not is_answered for _, is_answered in turns),
            cpu_ms=1000 * sum(result["cpu"] for result in results) / len(turns),
            alone_ms=statistics.median(self._alone_ms),
            megabytes=max(result["bytes"] for result in results) / 1e6,
        )


async def measure(setting: str, *, users: int, turns: int) -> list[Figure]:
    """Return the figures of both arms in one run."""
    kind, processes = setting.split()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gaia-load-")))
        arms: dict[str, _Arm] = {}
        for arm in ARMS:
            url = await stack.enter_async_context(memory_url(kind, folder))
            address = url.render_as_string(hide_password=False)
            if kind == "sqlite":
                address = f"sqlite+aiosqlite:///{folder / 'plain.db'}"
            arms[arm] = _Arm(arm, str(folder / "home"), address, int(processes), users)
            stack.callback(arms[arm].close)
            await asyncio.to_thread(arms[arm].start)
        for number in range(turns):
            for arm in ARMS if number % 2 else reversed(ARMS):
                await asyncio.to_thread(arms[arm].run_block)
        return [arms[arm].figure(setting, arm) for arm in ARMS]


def table(figures: Sequence[Figure]) -> str:
    """Return the medians as Markdown; ratios are those within one repetition."""
    lines = [
        "| database, processes | turns/s | plain ADK | ratio | p99 | plain | ratio | failed | plain "
        "| CPU per turn | plain | turn alone | plain | memory | plain |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for setting in dict.fromkeys(figure.setting for figure in figures):
        of = {arm: [each for each in figures if (each.setting, each.arm) == (setting, arm)] for arm in ARMS}
        median = {arm: _medians(of[arm]) for arm in ARMS}
        pairs = list(zip(of["gaia"], of["plain"], strict=True))
        rate_ratio = statistics.median(ours.rate / plain.rate for ours, plain in pairs)
        p99_ratio = statistics.median(ours.p99 / plain.p99 for ours, plain in pairs)
        ours, plain = median["gaia"], median["plain"]
        lines.append(
            f"| {setting} | {ours['rate']:.1f} | {plain['rate']:.1f} | {rate_ratio:.2f} "
            f"| {ours['p99']:.1f} s | {plain['p99']:.1f} s | {p99_ratio:.2f} "
            f"| {_failures(of['gaia'])} | {_failures(of['plain'])} "
            f"| {ours['cpu_ms']:.0f} ms | {plain['cpu_ms']:.0f} ms "
            f"| {ours['alone_ms']:.0f} ms | {plain['alone_ms']:.0f} ms "
            f"| {ours['megabytes']:.0f} MB | {plain['megabytes']:.0f} MB |"
        )
    return "\n".join(lines)


def _medians(figures: Sequence[Figure]) -> dict[str, float]:
    names = ("rate", "p99", "cpu_ms", "alone_ms", "megabytes")
    return {name: statistics.median(getattr(figure, name) for figure in figures) for name in names}


def _failures(figures: Sequence[Figure]) -> str:
    return f"{sum(figure.failed for figure in figures)} of {sum(figure.turns for figure in figures)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--settings",
        nargs="+",
        default=SETTINGS,
        choices=SETTINGS,
        metavar="SETTING",
        help="databases and numbers of processes: " + ", ".join(f"'{each}'" for each in SETTINGS),
    )
    parser.add_argument("--users", type=int, default=200, help="people who send a message at once (200)")
    parser.add_argument("--turns", type=int, default=4, help="messages of each (4)")
    parser.add_argument("--repetitions", type=int, default=5, help="runs of everything, for the medians (5)")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args(arguments)
    figures: list[Figure] = []
    for _ in range(options.repetitions):
        for setting in options.settings:
            figures += asyncio.run(measure(setting, users=options.users, turns=options.turns))
            load = os.getloadavg()[0]
            rates = ", ".join(f"{each.arm} {each.rate:.1f}/s" for each in figures[-2:])
            sys.stderr.write(f"{setting}: {rates} (load {load:.0f})\n")
    _say(table(figures))
    if options.json:
        options.json.write_text(json.dumps({"figures": [asdict(figure) for figure in figures]}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker_arm, worker_home, worker_url, part, parts, users = sys.argv[2:]
        asyncio.run(_work(worker_arm, worker_home, worker_url, range(int(part), int(users), int(parts))))
    else:
        sys.exit(main())
