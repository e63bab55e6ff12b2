"""The cost of a turn in a long session: `python tests/benchmarks/long_sessions.py [--json OUT]`.

Whole turns (`run_async` with a model that answers at once) in the same sessions of one database, through our Runner,
through ADK's Runner without our plugins, and through ADK's Runner with them, by turns, so that a busy moment meets
all. Then how much of each prompt a cache could take from the turn before.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
from google.adk.runners import Runner
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.genai import types
from pydantic import PrivateAttr

from gaia_memory import MemoryPlugin, SessionWindowPlugin, open_memory
from support.hosts.session_history import conversation_events, sentences, store_session

APP, USER = "gaia", "ada"
EVENT_COUNTS = (500, 1_000, 5_000, 20_000)
GAIA_RUNNER, ADK_RUNNER, ADK_RUNNER_WITH_PLUGINS = "our Runner", "ADK's Runner", "ADK's Runner with our plugins"
STEPPED_WINDOW, NO_WINDOW, CONTEXT_FILTER = "our window (30)", "no window", "ContextFilterPlugin(20)"
_PREFIX_EVENTS = 160
_WARM_UP_TURNS = 2


class InstantLlm(BaseLlm):
    """Answers every message at once; keeps the last prompt as text if `is_watched`."""

    is_watched: bool = False
    _prompt: str = PrivateAttr(default="")
    _turn: int = PrivateAttr(default=0)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self._turn += 1
        if self.is_watched:
            self._prompt = _prompt_text(llm_request)
        text = f"Reply {self._turn}: {sentences(self._turn, 600)}"
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


def _prompt_text(request: LlmRequest) -> str:
    """Return a prompt in the order in which the model reads it."""
    config = request.config.model_dump(mode="json", exclude_none=True, include={"system_instruction", "tools"})
    contents = [content.model_dump(mode="json", exclude_none=True) for content in request.contents]
    return json.dumps([config.get("system_instruction"), config.get("tools"), contents], ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds per turn in a session of `events` events; `first` is the first turn that a Runner ran in it."""

    events: int
    side: str
    first: float
    median: float
    p95: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """The share of each turn's prompt that is a prefix shared with the previous prompt."""

    side: str
    shares: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The average over the turns."""
        return statistics.fmean(self.shares)


class RunnerBenchmark:
    """The three Runners over the sessions of one home directory."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.url = f"sqlite+aiosqlite:///{home}/sessions.db"
        self.model = InstantLlm(model="answering")
        self._runners: dict[str, Runner] = {}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[RunnerBenchmark]:
        """Open memory in the home, and close it with all Runners."""
        settings = {"app": APP, "home": str(self._home)}
        async with AsyncExitStack() as stack:
            gaia = await stack.enter_async_context(open_memory(settings, model=self.model))
            service = DatabaseSessionService(self.url)
            stack.push_async_callback(service.close)
            agent = _agent(self.model)
            self._runners[GAIA_RUNNER] = gaia.runner(agent)
            others = {
                ADK_RUNNER: [],
                ADK_RUNNER_WITH_PLUGINS: [SessionWindowPlugin(config=settings), MemoryPlugin(config=settings)],
                NO_WINDOW: [],
                CONTEXT_FILTER: [ContextFilterPlugin(num_invocations_to_keep=20)],
            }
            for side, plugins in others.items():
                runner = self._runners[side] = _adk_runner(_agent(self.model), plugins, service)
                stack.push_async_callback(runner.close)
            self._runners[STEPPED_WINDOW] = self._runners[GAIA_RUNNER]
            yield self

    async def turn(self, side: str, session_id: str, n: int) -> float:
        """Return the duration of one turn in seconds."""
        message = types.Content(role="user", parts=[types.Part(text=f"Message {n}: {sentences(n, 300)}")])
        started = time.perf_counter()
        async for _ in self._runners[side].run_async(user_id=USER, session_id=session_id, new_message=message):
            pass
        return time.perf_counter() - started

    async def prompt(self, side: str, session_id: str, n: int) -> str:
        """Return the prompt of one turn as text."""
        self.model.is_watched = True
        await self.turn(side, session_id, n)
        self.model.is_watched = False
        return self.model._prompt


def look_up(topic: str) -> dict[str, str]:
    """Look something up."""
    return {"found": topic}


def _agent(model: BaseLlm) -> LlmAgent:
    return LlmAgent(name="assistant", model=model, instruction="Help the person you talk to.", tools=[look_up])


def _adk_runner(agent: LlmAgent, plugins: list[BasePlugin], service: DatabaseSessionService) -> Runner:
    return Runner(app=App(name=APP, root_agent=agent, plugins=plugins), session_service=service)


Tell = Callable[[str], None]
"""Called once before each turn with what is measured."""


async def measure_times(home: Path, sizes: Sequence[int], turns: int, tell: Tell) -> list[Timing]:
    """Return the durations of turns in sessions of these sizes, for each side."""
    sides = (GAIA_RUNNER, ADK_RUNNER, ADK_RUNNER_WITH_PLUGINS)
    bench, found = RunnerBenchmark(home), []
    for size in sizes:
        await store_session(bench.url, app=APP, user=USER, session_id=f"{size}", events=conversation_events(size))
    await store_session(bench.url, app=APP, user=USER, session_id="warm", events=[])
    async with bench.open():
        for n in range(_WARM_UP_TURNS):
            for side in sides:
                await bench.turn(side, "warm", n)
        for size in sizes:
            seconds: dict[str, list[float]] = {side: [] for side in sides}
            for n in range(turns + 1):
                for side in sides:
                    tell(f"{size} events, {side}")
                    seconds[side].append(await bench.turn(side, f"{size}", n))
            found += [_timing(size, side, seconds[side]) for side in sides]
    return found


def _timing(events: int, side: str, seconds: Sequence[float]) -> Timing:
    first, *others = seconds
    p95 = statistics.quantiles(others, n=20, method="inclusive")[-1] if len(others) > 1 else others[0]
    return Timing(events=events, side=side, first=first, median=statistics.median(others), p95=p95)


async def measure_prefixes(
    home: Path, turns: int, tell: Tell, *, sides: Sequence[str] = (STEPPED_WINDOW, NO_WINDOW, CONTEXT_FILTER)
) -> list[Prefix]:
    """Return how much of each prompt repeats the previous one, in sessions longer than the window."""
    bench, found = RunnerBenchmark(home), []
    for side in sides:
        await store_session(bench.url, app=APP, user=USER, session_id=side, events=conversation_events(_PREFIX_EVENTS))
    async with bench.open():
        for side in sides:
            before, shares = await bench.prompt(side, side, 0), []
            for n in range(1, turns + 1):
                tell(f"prefix, {side}")
                now = await bench.prompt(side, side, n)
                shares.append(common_prefix_length(before, now) / len(now))
                before = now
            found.append(Prefix(side=side, shares=tuple(shares)))
    return found


def common_prefix_length(before: str, now: str) -> int:
    """Return the length of the common prefix of two texts."""
    return next((at for at, (one, other) in enumerate(zip(before, now, strict=False)) if one != other), len(before))


def ratio(timings: Sequence[Timing], events: int, *, of: str = ADK_RUNNER, to: str = GAIA_RUNNER) -> float:
    """Return how many times longer a turn takes on one side than on the other."""
    medians = {timing.side: timing.median for timing in timings if timing.events == events}
    return medians[of] / medians[to]


def tables(timings: Sequence[Timing], prefixes: Sequence[Prefix]) -> str:
    """Return the figures as Markdown tables."""
    lines = [
        "| events | a turn through | median | p95 | first turn | against ours |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {timing.events:,} | {timing.side} | {timing.median * 1000:.0f} ms | {timing.p95 * 1000:.0f} ms "
        f"| {timing.first * 1000:.0f} ms | {ratio(timings, timing.events, of=timing.side):.1f} times |"
        for timing in timings
    ]
    lines += ["", "| replay | reusable share of the prompt |", "|---|---|"]
    lines += [f"| {prefix.side} | {prefix.mean:.1%} |" for prefix in prefixes]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables, and write the figures to a file if one is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--events", type=int, nargs="+", default=EVENT_COUNTS, metavar="N", help=f"sizes ({EVENT_COUNTS})"
    )
    parser.add_argument("--repetitions", type=int, default=20, metavar="N", help="turns a size and side (20)")
    parser.add_argument("--turns", type=int, default=60, metavar="N", help="turns for the prefix (60)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures to this file")
    options = parser.parse_args(arguments)
    tell = _progress(3 * len(options.events) * (options.repetitions + 1) + 3 * options.turns)
    with tempfile.TemporaryDirectory() as times, tempfile.TemporaryDirectory() as prompts:
        timings = asyncio.run(measure_times(Path(times), options.events, options.repetitions, tell))
        prefixes = asyncio.run(measure_prefixes(Path(prompts), options.turns, tell))
    sys.stderr.write("\n")
    sys.stdout.write(tables(timings, prefixes) + "\n")
    if options.json:
        options.json.write_text(json.dumps(_figures(timings, prefixes), indent=2) + "\n", encoding="utf-8")
    return 0


def _figures(timings: Sequence[Timing], prefixes: Sequence[Prefix]) -> dict[str, object]:
    return {
        "machine": {"cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()},
        "times": [asdict(timing) for timing in timings],
        "ratios": {size: ratio(timings, size) for size in dict.fromkeys(timing.events for timing in timings)},
        "prefixes": {prefix.side: prefix.mean for prefix in prefixes},
        "shares": {prefix.side: prefix.shares for prefix in prefixes},
    }


def _progress(total: int) -> Tell:
    done = 0

    def tell(what: str) -> None:
        nonlocal done
        done += 1
        bar = "█" * (20 * done // total)
        sys.stderr.write(f"\r{bar:<20} {done}/{total} {what:<50}")
        sys.stderr.flush()

    return tell


if __name__ == "__main__":
    # It warns of every answer that tells no token counts.
    logging.getLogger("google_adk").setLevel(logging.ERROR)
    raise SystemExit(main())
