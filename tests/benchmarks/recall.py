"""How many of the relevant turns recall finds: `python tests/benchmarks/recall.py --data FILE --shape turns`.

FILE is LoCoMo's public file as published (`data/locomo10.json` of snap-research/locomo), or the same reduced to
conversations with `sessions` of `turns`, `qa` and `facts`: `tests/benchmarks/test_recall.py` shows one. Shape `turns`
makes each line one memory ("Name: text"), `facts` each sentence that was extracted from a session. The shapes `mixed`
and `mixed-bare` are long messages of our own and need no file; `mixed` puts who speaks before each. Ours, with each
stage off in turn, is measured beside mem0 with Chroma, the memory services of ADK, and plain BM25 (SQLite FTS5,
porter), over the same texts, with the same embedder, in one run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.progress import Progress

from benchmarks.recall_baselines import BASELINES, MAX_RESULTS, Fill, FilledSystem, Search
from benchmarks.recall_data import LOCOMO_SHAPES, MIXED_SHAPES, Conversation, UnknownFormError, load_conversations
from gaia_memory import NewFact, Scope, open_memory
from gaia_memory.config.sections.recall_section import RecallWeights

OURS = "gaia"
VECTORS_ONLY = f"{OURS}, vectors alone"
RECALL_DEPTHS = (5, 10, MAX_RESULTS)
WEIGHTS: dict[str, float] = RecallWeights().model_dump()
_ZERO_WEIGHTS = dict.fromkeys(WEIGHTS, 0.0)

Tell = Callable[[str], None]


@dataclass(slots=True)
class Figures:
    """The results of one system: one number per question, by conversation, and memories written per second."""

    rate: float | None = None
    shares: dict[str, dict[int, list[float]]] = field(default_factory=dict)
    firsts: list[bool] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, talk: str, found: Sequence[set[str]], evidence: set[str], seconds: float) -> None:
        """Count one question."""
        shares = self.shares.setdefault(talk, {depth: [] for depth in RECALL_DEPTHS})
        for depth in RECALL_DEPTHS:
            shares[depth].append(len(set().union(*found[:depth]) & evidence) / len(evidence))
        self.firsts.append(bool(found) and bool(found[0] & evidence))
        hits = [bool(each & evidence) for each in found[:10]]
        ideal = sum(1 / math.log2(place + 2) for place in range(min(len(evidence), 10)))
        self.gains.append(min(1.0, sum(hit / math.log2(place + 2) for place, hit in enumerate(hits)) / ideal))
        self.seconds.append(seconds)

    def at(self, depth: int) -> list[float]:
        """Return the share of evidence found for each question."""
        return [share for shares in self.shares.values() for share in shares[depth]]

    def by_conversation(self) -> dict[str, float]:
        """Return R@10 of each conversation."""
        return {talk: statistics.fmean(shares[10]) for talk, shares in self.shares.items()}

    def summary(self) -> dict[str, float | None]:
        """Return means over the questions, latencies in milliseconds, and memories per second."""
        ordered = sorted(self.seconds)
        return {
            "first": statistics.fmean(self.firsts),
            **{f"R@{depth}": statistics.fmean(self.at(depth)) for depth in RECALL_DEPTHS},
            "any@10": statistics.fmean(share > 0 for share in self.at(10)),
            "all@10": statistics.fmean(share == 1 for share in self.at(10)),
            "nDCG@10": statistics.fmean(self.gains),
            "p50 ms": 1000 * statistics.median(ordered),
            "p95 ms": 1000 * ordered[int(0.95 * (len(ordered) - 1))],
            "written/s": self.rate,
        }


class GaiaSystem:
    """Our memory in a folder: filled once, then queried with any weights."""

    def __init__(self, talks: Sequence[Conversation], embedder: Mapping[str, Any], folder: Path) -> None:
        self._talks, self._embedder, self._folder = talks, embedder, folder
        self._turns_by_fact: dict[str, dict[str, set[str]]] = {}
        self._rate = 0.0

    async def fill(self) -> None:
        """Write every conversation and wait for the follower of the mem0 store, so that nothing else runs later."""
        seconds = 0.0
        async with open_memory(self._settings({}), home=self._folder) as gaia:
            await gaia.memory.add(gaia.scope("warm up"), [NewFact("The embedder is loaded with this.")])
            for talk in self._talks:
                begun = time.perf_counter()
                facts = await gaia.memory.add(gaia.scope(talk.name), [fact for fact, _ in talk.memories])
                seconds += time.perf_counter() - begun
                held = self._turns_by_fact.setdefault(talk.name, {})
                for fact, (_, turns) in zip(facts, talk.memories, strict=True):
                    held[fact.id] = held.get(fact.id, set()) | turns
            await gaia.memory.settled()
        self._rate = sum(len(talk.memories) for talk in self._talks) / seconds

    @asynccontextmanager
    async def weighted(self, weights: Mapping[str, float]) -> AsyncIterator[FilledSystem]:
        """Open what `fill` wrote with these weights instead of the defaults.

        The rate is in memories a second until they are on disk and found.
        """
        async with open_memory(self._settings(weights), home=self._folder) as gaia:
            searches = {talk.name: self._search(gaia.memory, gaia.scope(talk.name)) for talk in self._talks}
            yield FilledSystem(searches=searches, rate=self._rate)

    def _settings(self, weights: Mapping[str, float]) -> dict[str, Any]:
        offline = {"provider": "offline"}
        recall = {"weights": dict(weights)} if weights else {}
        return {"model": "offline", "memory": {"llm": offline, "embedder": dict(self._embedder), "recall": recall}}

    def _search(self, memory: Any, scope: Scope) -> Search:
        held = self._turns_by_fact[scope.user]

        async def search(question: str) -> list[set[str]]:
            return [held[hit.fact.id] for hit in await memory.recall(scope, question, limit=MAX_RESULTS)]

        return search


async def measure(
    talks: Sequence[Conversation],
    systems: Iterable[str],
    embedder: Mapping[str, Any],
    *,
    ablation: bool,
    weights: Mapping[str, float],
    tell: Tell,
    baselines: Mapping[str, tuple[str, Fill]] = BASELINES,
) -> dict[str, Figures]:
    """Measure every system in its own folder."""
    figures: dict[str, Figures] = {}
    for system in systems:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            if system == OURS:
                ours = GaiaSystem(talks, embedder, Path(folder))
                tell(OURS)
                await ours.fill()
                for name, chosen in _variants(weights, ablation=ablation, vectors=embedder["provider"] != "offline"):
                    tell(name)
                    async with ours.weighted(chosen) as filled:
                        figures[name] = await _ask_all(talks, filled)
            else:
                name, fill = baselines[system]
                tell(name)
                async with fill(talks, embedder, Path(folder)) as filled:
                    figures[name] = await _ask_all(talks, filled)
    return figures


def _variants(
    weights: Mapping[str, float], *, ablation: bool, vectors: bool
) -> Iterable[tuple[str, Mapping[str, float]]]:
    yield OURS, weights
    if ablation:
        # Without an embedder that knows meanings the vectors add nothing to what the words find.
        stages = [stage for stage in WEIGHTS if stage != "vectors" or vectors]
        yield from ((f"{OURS}, no {stage}", {**weights, stage: 0.0}) for stage in stages)
        yield VECTORS_ONLY, {**_ZERO_WEIGHTS, "vectors": 1.0}


async def _ask_all(talks: Sequence[Conversation], filled: FilledSystem) -> Figures:
    figures = Figures(filled.rate)
    for talk in talks:
        search = filled.searches[talk.name]
        if talk.questions:
            # What is loaded at the first search is paid once.
            await search(talk.questions[0][0])
        for question, evidence in talk.questions:
            begun = time.perf_counter()
            found = await search(question)
            figures.add(talk.name, found, evidence, time.perf_counter() - begun)
    return figures


def table(told: Mapping[str, Mapping[str, float | None]]) -> str:
    """Return the figures as a Markdown table."""
    names = list(next(iter(told.values())))
    rows = [f"| system | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    rows += [
        f"| {system} | {' | '.join(_cell(name, figures[name]) for name in names)} |" for system, figures in told.items()
    ]
    return "\n".join(rows)


def _cell(name: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.1f}" if name.endswith("ms") else f"{value:,.0f}" if name.endswith("/s") else f"{value:.3f}"


def embedder_of(given: str) -> dict[str, str]:
    """Return the section `memory.embedder` for `offline` or `PROVIDER:MODEL`."""
    provider, _, model = given.partition(":")
    return {"provider": provider, "model": model} if model else {"provider": provider}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, and write files if requested."""
    parser = _parser()
    given = parser.parse_args(arguments)
    systems = given.systems.split(",")
    if unknown := sorted(set(systems) - {OURS, *BASELINES}):
        parser.error(f"--systems: {', '.join(unknown)} is unknown: choose from {', '.join([OURS, *BASELINES])}")
    if strange := sorted(set(given.weights) - set(WEIGHTS)):
        parser.error(f"--weight: {', '.join(strange)} is unknown: choose from {', '.join(WEIGHTS)}")
    if given.json is not None and not given.json.absolute().parent.is_dir():
        parser.error(f"--json: {given.json.parent} is no folder: make it first")
    try:
        talks = load_conversations(given.data, given.shape)
    except UnknownFormError as error:
        parser.error(str(error))
    os.environ.update({"MEM0_TELEMETRY": "False", "ANONYMIZED_TELEMETRY": "False"})
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("recall", total=_steps(given, systems))

        def tell(name: str) -> None:
            progress.update(task, advance=1, description=name)

        figures = asyncio.run(
            measure(
                talks,
                systems,
                embedder_of(given.embedder),
                ablation=given.ablation,
                weights=given.weights,
                tell=tell,
            )
        )
    _report(given, talks, figures)
    return 0


def _steps(given: argparse.Namespace, systems: Sequence[str]) -> int:
    ours = 2 + given.ablation * (len(WEIGHTS) + 1)
    return len(systems) - 1 + ours if OURS in systems else len(systems)


def _report(
    given: argparse.Namespace,
    talks: Sequence[Conversation],
    figures: Mapping[str, Figures],
) -> None:
    told = {system: each.summary() for system, each in figures.items()}
    questions, memories = (
        sum(len(each) for each in (getattr(talk, what) for talk in talks)) for what in _COUNT_COLUMNS
    )
    heading = f"{given.shape}: {questions} questions over {memories:,} memories, embedder {given.embedder}"
    print(f"{heading}\n\n{table(told)}")  # noqa: T201
    result = {
        "shape": given.shape,
        "embedder": given.embedder.partition(":")[0],
        "questions": questions,
        "memories": memories,
        "systems": told,
        "conversations": {system: each.by_conversation() for system, each in figures.items()},
    }
    if given.json:
        given.json.write_text(json.dumps(result, indent=2), encoding="utf-8")


_COUNT_COLUMNS = ("questions", "memories")


def _weight(given: str) -> tuple[str, float]:
    name, _, value = given.partition("=")
    return name, float(value)


class _Weights(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, *_: Any) -> None:
        name, value = values
        setattr(namespace, self.dest, {**getattr(namespace, self.dest), name: value})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, help="LoCoMo's file; the mixed shapes need none")
    parser.add_argument("--shape", choices=[*LOCOMO_SHAPES, *MIXED_SHAPES], default="turns")
    parser.add_argument("--systems", default=",".join([OURS, *BASELINES]), help="separated by commas; default: all")
    parser.add_argument("--embedder", default="offline", help="offline, local:FOLDER, or any PROVIDER:MODEL")
    parser.add_argument("--ablation", action=argparse.BooleanOptionalAction, default=True, help="each stage off, too")
    parser.add_argument(
        "--weight",
        dest="weights",
        type=_weight,
        action=_Weights,
        default={},
        metavar="STAGE=NUMBER",
        help="another weight of a stage; may be given several times",
    )
    parser.add_argument("--json", type=Path, help="write the figures here")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
