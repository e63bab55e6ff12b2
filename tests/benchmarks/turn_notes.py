"""What memory adds to a turn: `python tests/benchmarks/turn_notes.py [--turns N] [--people N]`.

Processor and elapsed time of whole turns (`run_async` with a model that answers at once) of one person: with the notes
and all tools, and without notes and with the basic tools, by turns. Then how much of each request to Gemini repeats
the one before, and how long a look for what is due takes among the facts of many people.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from google.adk.agents.llm_agent import LlmAgent
from google.adk.runners import Runner
from google.genai import types

from benchmarks.long_sessions import InstantLlm, common_prefix_length
from gaia_memory import NewFact, open_memory
from support.servers.fake_gemini import FakeGemini, Request, call

USER = "ada"
FACTS = 1_000
EXTENDED: dict[str, Any] = {"tail_tokens": 300, "tools": "extended"}
BASIC: dict[str, Any] = {"tail_tokens": 0, "tools": "basic"}
"""The settings of the two sides."""

DUE_FACTS_PER_PERSON = 10
_WARM_UP_TURNS = 3
_LOOKS = 50


CLOCKS = {"processor": time.process_time, "elapsed": time.perf_counter}


async def measure(home: Path, turns: int, due_facts: int) -> dict[str, tuple[float, float]]:
    """Return by each clock the median seconds of a turn with the basic tools alone, and of what notes and tools add."""
    runners: list[Runner] = []
    seconds: list[list[list[float]]] = [[], []]
    async with AsyncExitStack() as stack:
        for name, memory in (("extended", EXTENDED), ("basic", BASIC)):
            settings = {"memory": {**memory, "time_zone": "Europe/Berlin"}, "sessions": {"background_sweep": False}}
            model = InstantLlm(model="answering")
            gaia = await stack.enter_async_context(open_memory(settings, home=home / name, model=model))
            soon = datetime.now(UTC) + timedelta(hours=1)
            facts = [NewFact(f"fact number {n}") for n in range(FACTS - due_facts)]
            facts += [NewFact(f"task number {n}", due_at=soon + timedelta(hours=n)) for n in range(due_facts)]
            await gaia.memory.add(gaia.scope(USER), facts)
            await gaia.memory.settled()
            runners.append(gaia.runner(LlmAgent(name="assistant", model=model, instruction="Help.")))
        for n in range(turns + _WARM_UP_TURNS):
            for runner, its_seconds in zip(runners, seconds, strict=True):
                started = [clock() for clock in CLOCKS.values()]
                message = types.Content(role="user", parts=[types.Part(text=f"Message {n}")])
                async for _ in runner.run_async(user_id=USER, session_id="s", new_message=message):
                    pass
                if n >= _WARM_UP_TURNS:
                    its_seconds.append([clock() - start for clock, start in zip(CLOCKS.values(), started, strict=True)])
    extended, basic = (zip(*each, strict=True) for each in seconds)
    medians = {}
    for name, more, less in zip(CLOCKS, extended, basic, strict=True):
        added = statistics.median(with_notes - without for with_notes, without in zip(more, less, strict=True))
        medians[name] = (statistics.median(less), added)
    return medians


async def measure_prefix(home: Path, turns: int) -> list[float]:
    """Return the share of each request to Gemini, from the second on, that repeats the beginning of the one before.

    A conversation with a profile, due facts and a tool call every fourth turn.
    """
    with FakeGemini() as server, patch.dict(os.environ, server.environment):
        server.set_default("profile", "\n".join(f"- Likes tea of kind {n}" for n in range(15)))
        for n in range(turns):
            if n % 4 == 3:
                server.add("agent", call("load_memory", query=f"tea {n}"))
            server.add("agent", f"Here is what I think about question {n}. " * 5)
        settings = {"memory": {**EXTENDED, "time_zone": "Europe/Berlin"}, "sessions": {"background_sweep": False}}
        async with open_memory(settings, home=home, model="gemini-3.5-flash") as gaia:
            soon = datetime.now(UTC) + timedelta(hours=1)
            facts = [NewFact(f"Likes tea of kind {n}") for n in range(20)]
            facts += [NewFact(f"Task number {n}", due_at=soon + timedelta(hours=n)) for n in range(5)]
            await gaia.memory.add(gaia.scope(USER), facts)
            agent = LlmAgent(name="assistant", model=gaia.model, instruction="Help.")
            talk = gaia.conversation(agent, user_id=USER, channel="cli")
            for n in range(turns):
                await talk.send(f"Question {n}: what do you think about tea of kind {n}? " * 3)
        sent = [_as_prompt(request) for request in server.requests_of("agent")]
    return [common_prefix_length(before, now) / len(now) for before, now in pairwise(sent)]


def _as_prompt(request: Request) -> str:
    """Return all that a model reads of a request, in the order in which a cache compares it."""
    parts = (request.body.get(name) for name in ("tools", "systemInstruction", "contents"))
    return json.dumps(list(parts), ensure_ascii=False)


async def measure_looks(home: Path, people: int) -> tuple[float, float]:
    """Return the median processor seconds of looks for what is due for one of many people, and for what to announce."""
    settings = {"memory": {"time_zone": "Europe/Berlin"}, "sessions": {"background_sweep": False}}
    now = datetime.now(UTC)
    async with open_memory(settings, home=home, model="offline") as gaia:
        for person in range(people):
            due = [now + timedelta(hours=person % 100 + 1, minutes=n) for n in range(DUE_FACTS_PER_PERSON)]
            await gaia.memory.add(gaia.scope(f"p{person}"), [NewFact(f"task {at}", due_at=at) for at in due])
        announcer = gaia.memory.announcer(print)
        seconds: list[list[float]] = [[], []]
        for n in range(_LOOKS):
            started = time.process_time()
            assert len(await gaia.memory.due(gaia.scope(f"p{n * people // _LOOKS}"))) == DUE_FACTS_PER_PERSON
            between = time.process_time()
            assert await announcer.announce_due() == 0
            seconds[0].append(between - started)
            seconds[1].append(time.process_time() - between)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=100, metavar="N", help="turns a side (100)")
    parser.add_argument("--people", type=int, default=1_000, metavar="N", help="people with ten due facts each (1000)")
    options = parser.parse_args(arguments)
    sys.stdout.write(
        "| due facts | time | a turn with basic tools alone | notes and all tools add |\n|---|---|---|---|\n"
    )
    for due_facts in (0, 10):
        with tempfile.TemporaryDirectory() as home:
            medians = asyncio.run(measure(Path(home), options.turns, due_facts))
        for name, (plain, added) in medians.items():
            sys.stdout.write(f"| {due_facts} | {name} | {plain * 1000:.1f} ms | {added * 1000:.1f} ms |\n")
    with tempfile.TemporaryDirectory() as home:
        shares = asyncio.run(measure_prefix(Path(home), 20))
    sys.stdout.write(f"\nreusable prompt: {statistics.mean(shares):.1%}, at least {min(shares):.1%}\n")
    with tempfile.TemporaryDirectory() as home:
        one, all_new = asyncio.run(measure_looks(Path(home), options.people))
    sys.stdout.write(f"look for one person: {one * 1000:.1f} ms, for what to announce: {all_new * 1000:.1f} ms\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
