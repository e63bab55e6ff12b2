"""Scaling compared with mem0 and Chroma as mem0 ships it: `python tests/benchmarks/scale.py [--json OUT]`.

For each size in one store over many users, and for one user alone: how fast facts are written word for word until they
are on disk and found, how long a search takes, and what the process holds in memory. Both sides hold the same texts
with the same embedder (ours, offline), each in a process of its own, in Chroma in a folder. mem0's `add(infer=False)`
takes tens of milliseconds a fact: its rate is that of a sample into an empty store, and the rest goes in bulk through
its vector store's own `insert`. Then how long the event loop stands still while facts are added in the background.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psutil
from rich.console import Console
from rich.progress import Progress

FACT_COUNTS = (1_000, 10_000, 100_000)
USER_COUNT = 100
SINGLE_USER_SIZES = (1_000, 10_000, 100_000)
STALL_FACTS = 10_000
SEARCH_COUNT = 200
SAMPLE_SIZE = 200
MAX_RESULTS = 10
TICK_SECONDS = 0.002
"""Seconds between looks at the clock while the event loop is watched."""

OBSERVE_AFTER_SECONDS = 10.0
"""Seconds for which it is watched once the facts are on disk, while Chroma is filled beside it."""

OURS, MEM0 = "gaia", "mem0"
_OFFLINE = {"provider": "offline"}
_SETTINGS = {"memory": {"llm": _OFFLINE, "embedder": _OFFLINE}}
_FACTS_PER_BATCH = 500
_NAMES = "Maria Jonas Aisha Pavel Lena Omar Nadia Felix Ruth Tomas Ines Karim Olga Hugo Mina Samuel Vera Iris Noah Zoe"
_VERBS = "bought sold painted repaired lost found borrowed baked cleaned photographed described collected drew planted"
_CITIES = "Porto Kyoto Oslo Lagos Quito Turin Riga Cork Perth Basel Ghent Split Bergen Tunis Davos Izmir Leeds Malmo"
_NOUNS = (
    "bicycle guitar kettle lamp notebook jacket camera puzzle teapot violin ladder blanket carpet mirror drone tent"
    " compass scarf tripod kayak easel telescope clock vase candle drum backpack hammock sofa toaster"
)
_SYLLABLES = [
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ha",
    "ki",
    "lo",
    "mu",
    "ne",
    "pa",
    "qui",
    "ro",
    "su",
    "ta",
    "vi",
    "wo",
    "xe",
    "ya",
    "zu",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """The results of one side at one size: facts per second, milliseconds, bytes of the process."""

    side: str
    facts: int
    users: int
    written: float
    p50: float
    p95: float
    rss: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """How late the event loop woke up, in milliseconds, and how often it was checked."""

    while_: str
    ticks: int
    p50: float
    p99: float
    worst: float


def fact_texts(count: int, user: int) -> list[str]:
    """Return distinct sentences of a user, with words from frequent to rare, as in conversations."""
    chance = random.Random(user)
    pick = [part.split() for part in (_NAMES, _VERBS, _NOUNS, _CITIES)]
    return [
        "{} {} a {} in {}, {} {} {}".format(
            *(chance.choice(words) for words in pick), *_rare_words(chance, 2), f"{number:x}"
        )
        for number in range(count)
    ]


def _rare_words(chance: random.Random, count: int) -> list[str]:
    """Return about ten thousand words, rarer towards the end."""
    numbers = [min(int(chance.paretovariate(0.5)), 10_000) for _ in range(count)]
    base = len(_SYLLABLES)
    return [_SYLLABLES[n % base] + _SYLLABLES[n // base % base] + _SYLLABLES[n // base**2 % base] for n in numbers]


def query_texts(texts: Sequence[str], count: int, user: int) -> list[str]:
    """Return questions that facts of a user answer, in their words."""
    chance = random.Random(user + 1_000_000)
    found = []
    for text in (chance.choice(texts) for _ in range(count)):
        name, did, _, thing, _, where, rare, *_ = text.replace(",", "").split()
        shapes = (f"What did {name} do with the {thing}?", f"Who {did} something in {where}?", f"{thing} {rare}")
        found.append(chance.choice(shapes))
    return found


async def measure_ours(folder: Path, facts: int, users: int, searches: int, tell: Callable[[int], None]) -> Figure:
    """Fill ours, search, and wait until Chroma contains everything as well."""
    from gaia_memory import NewFact, open_memory

    async with open_memory(_SETTINGS, home=folder) as gaia:
        memory, each = gaia.memory, facts // users
        await memory.settled()
        seconds = 0.0
        for user in range(users):
            new = [NewFact(text, session_id=f"s{n // 20}", seq=n % 20) for n, text in enumerate(fact_texts(each, user))]
            begun = time.perf_counter()
            written = await memory.add(gaia.scope(f"user-{user}"), new)
            seconds += time.perf_counter() - begun
            tell(len(written))
        await memory.settled()
        times = []
        for user, question in _questions(each, users, searches):
            begun = time.perf_counter()
            hits = await memory.recall(gaia.scope(f"user-{user}"), question, limit=MAX_RESULTS)
            times.append(time.perf_counter() - begun)
            _require(hits, question)
        return _figure(OURS, facts, users, facts / seconds, times)


def measure_mem0(folder: Path, facts: int, users: int, searches: int, tell: Callable[[int], None]) -> Figure:
    """Fill mem0 over a collection that it created itself, and search."""
    from gaia_memory.backend.builder import Backend
    from gaia_memory.config.sources.load import load
    from support.storage.plain_mem0 import open_mem0

    backend = Backend(load(_SETTINGS, home=folder).config, environ={})
    backend.load()
    each = facts // users
    sampled = open_mem0(backend.mem0_config(folder / "sample"))
    begun = time.perf_counter()
    for text in fact_texts(SAMPLE_SIZE, 0):
        sampled.add(text, user_id="user-0", infer=False)
    seconds = time.perf_counter() - begun
    sampled.close()
    memory = open_mem0(backend.mem0_config(folder / "store"))
    for user in range(users):
        texts = fact_texts(each, user)
        for start in range(0, each, _FACTS_PER_BATCH):
            page = texts[start : start + _FACTS_PER_BATCH]
            memory.vector_store.insert(
                vectors=memory.embedding_model.embed_batch(page, "add"),
                ids=[f"{user}-{start + place}" for place in range(len(page))],
                payloads=[{"data": text, "user_id": f"user-{user}", "hash": f"{hash(text):x}"} for text in page],
            )
            tell(len(page))
    times = []
    for user, question in _questions(each, users, searches):
        begun = time.perf_counter()
        found = memory.search(question, filters={"user_id": f"user-{user}"}, top_k=MAX_RESULTS)["results"]
        times.append(time.perf_counter() - begun)
        _require(found, question)
    figure = _figure(MEM0, facts, users, SAMPLE_SIZE / seconds, times)
    memory.close()
    return figure


def _questions(each: int, users: int, searches: int) -> list[tuple[int, str]]:
    """Return users and their questions, taking turns."""
    turns: dict[int, int] = {}
    for number in range(searches):
        turns[number % users] = turns.get(number % users, 0) + 1
    asking = {user: query_texts(fact_texts(each, user), count, user) for user, count in turns.items()}
    return [(number % users, asking[number % users].pop()) for number in range(searches)]


def _require(found: Sequence[Any], question: str) -> None:
    if not found:
        raise RuntimeError(f"nothing was found for {question!r}")


def _figure(side: str, facts: int, users: int, rate: float, times: Sequence[float]) -> Figure:
    # What is loaded at the first searches is paid once; the rest is what a search costs.
    ordered = sorted(times[len(times) // 10 :])
    return Figure(
        side=side,
        facts=facts,
        users=users,
        written=rate,
        p50=1000 * statistics.median(ordered),
        p95=1000 * ordered[int(0.95 * (len(ordered) - 1))],
        rss=psutil.Process().memory_info().rss,
    )


async def measure_stall(folder: Path, facts: int, tell: Callable[[int], None]) -> list[Stall]:
    """Watch the event loop while facts are added in the background, and then while Chroma is filled."""
    from gaia_memory import NewFact, open_memory

    async with open_memory(_SETTINGS, home=folder) as gaia:
        await gaia.memory.settled()
        new, scope = [NewFact(text) for text in fact_texts(facts, 0)], gaia.scope("user-0")
        nothing = await _measure_stall_during(asyncio.sleep(3.0), "nothing happens")
        adding = await _measure_stall_during(gaia.memory.add(scope, new), f"{facts:,} facts are added")
        tell(facts)
        following = await _measure_stall_during(asyncio.sleep(OBSERVE_AFTER_SECONDS), "Chroma is filled beside it")
        return [nothing, adding, following]


async def _measure_stall_during(work: Any, name: str) -> Stall:
    late: list[float] = []

    async def watch() -> None:
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(TICK_SECONDS)
            late.append(1000 * (time.perf_counter() - begun - TICK_SECONDS))

    ticker = asyncio.create_task(watch())
    await asyncio.sleep(0)
    await work
    await asyncio.sleep(2 * TICK_SECONDS)
    ticker.cancel()
    late.sort()
    return Stall(
        while_=name,
        ticks=len(late),
        p50=statistics.median(late),
        p99=late[int(0.99 * (len(late) - 1))],
        worst=late[-1],
    )


def table(figures: Sequence[Figure]) -> str:
    """Return a Markdown table of ours next to mem0's at each size; ratios are ours over mem0's."""
    rows = [
        "| facts | users | written a second, ours | mem0 | ratio | search p50, ours | p95 | mem0 p50 | p95 | p50 ratio "
        "| RSS, ours | mem0 | ratio |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    sides = {(figure.side, figure.facts, figure.users): figure for figure in figures}
    for ours in (figure for figure in figures if figure.side == OURS):
        theirs = sides[MEM0, ours.facts, ours.users]
        rows.append(
            f"| {ours.facts:,} | {ours.users:,} | {ours.written:,.0f} | {theirs.written:,.0f} "
            f"| {ours.written / theirs.written:.0f} | {ours.p50:.1f} ms | {ours.p95:.1f} ms "
            f"| {theirs.p50:.1f} ms | {theirs.p95:.1f} ms | {ours.p50 / theirs.p50:.2f} "
            f"| {ours.rss >> 20:,} MB | {theirs.rss >> 20:,} MB | {ours.rss / theirs.rss:.2f} |"
        )
    return "\n".join(rows)


def stalls_table(stalls: Sequence[Stall]) -> str:
    """Return the delays of the event loop as a Markdown table."""
    rows = ["| while | looks | p50 | p99 | worst |", "|---|---|---|---|---|"]
    rows += [
        f"| {stall.while_} | {stall.ticks:,} | {stall.p50:.1f} ms | {stall.p99:.1f} ms | {stall.worst:.1f} ms |"
        for stall in stalls
    ]
    return "\n".join(rows)


def _measured(side: str, facts: int, users: int, searches: int, advance: Callable[[int], None]) -> Any:
    """Measure in a separate process and folder; return what the process prints."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        environment |= {"HOME": home, "GAIA_HOME": home, "MEM0_DIR": f"{home}/mem0", "MEM0_TELEMETRY": "False"}
        environment |= {"ANONYMIZED_TELEMETRY": "False"}
        numbers = [str(number) for number in (facts, users, searches)]
        command = [sys.executable, str(Path(__file__).resolve()), "--alone", side, *numbers, home]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            told = None
            for line in process.stdout:
                if line.startswith("DONE "):
                    advance(int(line.split()[1]))
                elif line.startswith("{"):
                    told = json.loads(line)
    if process.returncode or told is None:
        raise RuntimeError(f"measuring {side} with {facts} facts failed: what it said stands above")
    return told["measured"]


def _measure_in_subprocess(side: str, facts: int, users: int, searches: int, home: str) -> None:
    def tell(done: int) -> None:
        sys.stdout.write(f"DONE {done}\n")
        sys.stdout.flush()

    folder = Path(home) / side
    measured: Any
    if side == MEM0:
        measured = asdict(measure_mem0(folder, facts, users, searches, tell))
    elif side == OURS:
        measured = asdict(asyncio.run(measure_ours(folder, facts, users, searches, tell)))
    else:
        measured = [asdict(stall) for stall in asyncio.run(measure_stall(folder, facts, tell))]
    sys.stdout.write("\n" + json.dumps({"measured": measured}) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables, and write a file if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=FACT_COUNTS, help="facts in one store over many users")
    parser.add_argument("--users", type=int, default=USER_COUNT, help="how many users those are of")
    parser.add_argument("--one-user", type=int, nargs="*", default=SINGLE_USER_SIZES, help="facts of one user alone")
    parser.add_argument(
        "--stalled-by", type=int, default=STALL_FACTS, help="facts added while the event loop is watched"
    )
    parser.add_argument("--searches", type=int, default=SEARCH_COUNT, help="searches a figure")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures here")
    parser.add_argument("--alone", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.alone:
        side, facts, users, searches, home = given.alone
        _measure_in_subprocess(side, int(facts), int(users), int(searches), home)
        return 0
    cases = [(size, given.users) for size in given.sizes] + [(size, 1) for size in given.one_user]
    figures = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        total = 2 * sum(size for size, _ in cases) + given.stalled_by
        task = progress.add_task("scale", total=total)

        def advance(done: int) -> None:
            progress.advance(task, done)

        for size, users in cases:
            for side in (OURS, MEM0):
                progress.update(task, description=f"{side}, {size:,} facts of {users:,}")
                figures.append(Figure(**_measured(side, size, users, given.searches, advance)))
        progress.update(task, description="the event loop")
        stalls = [Stall(**each) for each in _measured("stall", given.stalled_by, 1, 0, advance)]
    sys.stdout.write(f"{table(figures)}\n\n{stalls_table(stalls)}\n")
    if given.json:
        machine = {"cores": os.cpu_count(), "load": os.getloadavg(), "python": platform.python_version()}
        found = {"machine": machine, "figures": [*map(asdict, figures)], "stalls": [*map(asdict, stalls)]}
        given.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
