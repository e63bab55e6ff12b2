"""The cost of a sweep by number of known conversations: `python tests/benchmarks/known_conversations.py`.

Ten conversations are due each time, and are learned, of 1,000 and of 100,000 that are known: those others learned and
cleared, not quiet yet, parked, put off, of other apps, talked in or at work. The sizes take turns, so that a busy
moment meets both. PostgreSQL is the server of the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gaia_memory.config.sources.load import load
from gaia_memory.engine import Engine
from gaia_memory.models import EventPosition, Message, Scope, SessionKey, TranscriptSlice, Turn
from gaia_memory.testing import FakeClock
from support.databases import memory_url
from support.storage.populated_ledger import APP, DUE_COUNT, NOW, POPULATIONS, make_due_again, populate_ledger

CONVERSATION_COUNTS = (1_000, 100_000)
DATABASES = ("sqlite", "postgresql")
_REPETITIONS = 20


class OneTurnTranscript:
    """A transcript in which every conversation has one short new turn each time it is read."""

    clear_method: Literal["delete", "rewind"] = "delete"
    is_complete = True

    def __init__(self) -> None:
        self._reads = 0

    async def sessions(self, *, since: float | None = None) -> dict[SessionKey, float]:
        """Return nothing: the conversations are known from the ledger."""
        return {}

    async def read(self, key: SessionKey, *, after: EventPosition | None, turns_before: int) -> TranscriptSlice | None:
        """Return one turn after the watermark."""
        self._reads += 1
        ended = EventPosition(NOW - 86_400.0 + self._reads, f"event {self._reads}")
        said_at = datetime.fromtimestamp(ended.timestamp, UTC)
        words = Message(role="user", text="I drink tea.", said_at=said_at, event_id=ended.event_id, speaker="user")

        async def turns() -> AsyncIterator[Turn]:
            yield Turn(seq=turns_before + 1, messages=(words,), end=ended)

        return TranscriptSlice(key=key, turns=_ReplayableTurns(turns), end=ended, host_session=None)

    async def clear(self, conversation: TranscriptSlice, *, how: Literal["delete", "rewind"]) -> bool:
        """Clear nothing."""
        return True


class _ReplayableTurns:
    """Turns that can be iterated more than once."""

    def __init__(self, turns: Callable[[], AsyncIterator[Turn]]) -> None:
        self._turns = turns

    def __aiter__(self) -> AsyncIterator[Turn]:
        return self._turns()


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Medians in seconds for one number of conversations: a sweep that learns ten, a due query and a status."""

    database: str
    mix: str
    known: int
    sweep: float
    look: float
    status: float


class Measurement:
    """One size: an engine over a database with that many known conversations."""

    def __init__(self, engine: Engine, known: int) -> None:
        self.known = known
        self._engine = engine
        self.sweeps: list[float] = []
        self.due_queries: list[float] = []
        self.status_calls: list[float] = []

    async def measure_once(self) -> None:
        """Measure each operation once."""
        engine = self._engine
        await make_due_again(engine.database)
        self.due_queries.append(await _fastest_seconds(self._look))
        self.status_calls.append(await _fastest_seconds(self._status))
        started = time.perf_counter()
        report = await engine.sweep()
        self.sweeps.append(time.perf_counter() - started)
        if report.consolidated != DUE_COUNT:
            raise RuntimeError(f"{DUE_COUNT} conversations were due, and learned were {report}")

    async def _look(self) -> None:
        async with self._engine.database.transaction() as tx:
            await self._engine.ledger.expire(tx, now=NOW)
        async with self._engine.database.read_transaction() as tx:
            await self._engine.ledger.due(tx, quiet_since=NOW - 1800, limit=DUE_COUNT, apps=[APP])

    async def _status(self) -> None:
        await self._engine.memory.status(Scope(APP, "person 7"))


async def _fastest_seconds(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(_REPETITIONS):
        started = time.perf_counter()
        await work()  # type: ignore[misc]
        seconds.append(time.perf_counter() - started)
    return min(seconds)


Report = Callable[[str], None]


async def measure(
    home: Path, database: str, mix: str, sizes: Sequence[int], rounds: int, report: Report
) -> list[Figure]:
    """Return the figures of one mix on one kind of database, for each number of known conversations."""
    async with AsyncExitStack() as stack:
        sides = []
        for known in sizes:
            report(f"{database}, {known:,} {mix}: filling")
            folder = home / f"{database} {mix} {known}"
            folder.mkdir()
            url = await stack.enter_async_context(memory_url(database, folder))
            address = url.render_as_string(hide_password=False)
            settings = {
                "app": APP,
                "memory": {
                    "llm": {"provider": "offline"},
                    "embedder": {"provider": "offline"},
                    "database_url": address,
                },
                "sessions": {"clear": "keep"},
            }
            clock = FakeClock(datetime.fromtimestamp(NOW, UTC))
            engine = await Engine.open(await asyncio.to_thread(load, settings, home=folder), clock=clock)
            stack.push_async_callback(engine.close)
            engine.attach_transcript(APP, OneTurnTranscript())
            await populate_ledger(engine.database, mix, known)
            sides.append(Measurement(engine, known))
        for number in range(rounds + 1):
            for side in sides:
                report(f"{database}, {side.known:,} {mix}")
                await side.measure_once()
                if number == 0:
                    # The first one imports, and fills caches.
                    for seconds in (side.sweeps, side.due_queries, side.status_calls):
                        seconds.clear()
    return [
        Figure(
            database=database,
            mix=mix,
            known=side.known,
            sweep=statistics.median(side.sweeps),
            look=statistics.median(side.due_queries),
            status=statistics.median(side.status_calls),
        )
        for side in sides
    ]


def ratios(figures: Sequence[Figure]) -> dict[tuple[str, str], dict[str, float]]:
    """Return how many times longer each operation takes with the most conversations than with the fewest."""
    found = {}
    for database, mix in dict.fromkeys((figure.database, figure.mix) for figure in figures):
        own = [figure for figure in figures if (figure.database, figure.mix) == (database, mix)]
        smallest, largest = min(own, key=lambda one: one.known), max(own, key=lambda one: one.known)
        found[database, mix] = {
            "sweep": largest.sweep / smallest.sweep,
            "look": largest.look / smallest.look,
            "status": largest.status / smallest.status,
        }
    return found


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as a Markdown table."""
    smallest, largest = min(figure.known for figure in figures), max(figure.known for figure in figures)
    lines = [
        f"| the others are | database | a sweep, {smallest:,} known | {largest:,} known | ratio | a status: ratio |",
        "|---|---|---|---|---|---|",
    ]
    for (database, mix), ratio in ratios(figures).items():
        sweeps = {one.known: one.sweep for one in figures if (one.database, one.mix) == (database, mix)}
        name = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}[database]
        lines.append(
            f"| {mix} | {name} | {sweeps[smallest] * 1000:.0f} ms | {sweeps[largest] * 1000:.0f} ms "
            f"| {ratio['sweep']:.2f} | {ratio['status']:.2f} |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and write the figures to a file if one is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--known", type=int, nargs="+", default=CONVERSATION_COUNTS, metavar="N", help=f"sizes ({CONVERSATION_COUNTS})"
    )
    parser.add_argument("--mixes", nargs="+", default=list(POPULATIONS), choices=list(POPULATIONS), metavar="MIX")
    parser.add_argument("--databases", nargs="+", default=DATABASES, choices=DATABASES)
    parser.add_argument("--repetitions", type=int, default=9, metavar="N", help="sweeps of each size (9)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures to this file")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as home:
        figures = asyncio.run(_measure_all(Path(home), options))
    sys.stderr.write("\n")
    sys.stdout.write(table(figures) + "\n")
    if options.json:
        rows = [asdict(figure) for figure in figures]
        options.json.write_text(json.dumps({"figures": rows}, indent=2) + "\n", encoding="utf-8")
    return 0


async def _measure_all(home: Path, options: argparse.Namespace) -> list[Figure]:
    found: list[Figure] = []
    for database in options.databases:
        for mix in options.mixes:
            found += await measure(home, database, mix, options.known, options.repetitions, _report_progress)
    return found


def _report_progress(what: str) -> None:
    sys.stderr.write(f"\r{what:<80}")
    sys.stderr.flush()


if __name__ == "__main__":
    logging.getLogger("gaia_memory").setLevel(logging.ERROR)
    raise SystemExit(main())
