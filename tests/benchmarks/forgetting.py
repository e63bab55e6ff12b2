"""The cost of forgetting a user, compared with mem0's own `delete_all`: `python tests/benchmarks/forgetting.py`.

Both hold the same facts of that person and of another one, with the same vectors, in Chroma in a folder. The time of
`Memory.forget` is until nothing shows them and the database holds them no more; what mem0 leaves in its files stays
there, and our rewriting of ours, which goes on in the background, is told beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gaia_memory import NewFact, open_memory
from gaia_memory.backend.builder import Backend
from gaia_memory.backend.mem0_store.payload import build_payload
from gaia_memory.config.sources.load import load
from gaia_memory.models import Fact
from support.storage.plain_mem0 import open_mem0

OFFLINE = {"provider": "offline"}
SETTINGS = {"memory": {"llm": OFFLINE, "embedder": OFFLINE}}
DEFAULT_FACTS = 10_000
_FACTS_PER_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Seconds to forget a number of facts: ours, mem0's, and ours until no file contains them."""

    facts: int
    others: int
    ours: float
    theirs: float
    erased: float

    @property
    def ratio(self) -> float:
        """The time mem0 takes, as a multiple of ours."""
        return self.theirs / self.ours


async def measure(folder: Path, facts: int, others: int, report: Callable[[str], None]) -> Figure:
    """Fill both, then forget one user in each, one after the other.

    Raises:
        RuntimeError: one did not forget all of it.
    """
    async with open_memory(SETTINGS, home=folder / "ours") as gaia:
        memory, ann = gaia.memory, gaia.scope("ann")
        report(f"filling with {facts:,} facts and {others:,} of others")
        mine = await memory.add(ann, [NewFact(f"Ann likes tea number {number}") for number in range(facts)])
        rest = await memory.add(gaia.scope("ben"), [NewFact(f"Ben took trip {number}") for number in range(others)])
        vectors = await gaia._engine.backend.embedder.embed([fact.text for fact in [*mine, *rest]], purpose="add")
        await memory.settled()
        theirs = await asyncio.to_thread(_fill_mem0, folder / "theirs", [*mine, *rest], vectors)
        report("forgetting")
        started = time.perf_counter()
        receipt = await memory.forget(ann)
        ours = time.perf_counter() - started
        left = await memory.facts(ann)
        await memory.settled()
        erased = time.perf_counter() - started
        if receipt.count != facts or left:
            raise RuntimeError(f"{facts} facts were to be forgotten, and {receipt.count} were")
    seconds = await asyncio.to_thread(_forget_by_mem0, theirs, ann.partition)
    return Figure(facts=facts, others=others, ours=ours, theirs=seconds, erased=erased)


def _fill_mem0(folder: Path, facts: Sequence[Fact], vectors: Sequence[Any]) -> Any:
    """Return a plain mem0 in its own folder that contains `facts`, written in bulk."""
    backend = Backend(load(SETTINGS, home=folder).config, environ={})
    backend.load()
    memory = open_mem0(backend.mem0_config(folder / "store"))
    for start in range(0, len(facts), _FACTS_PER_BATCH):
        page = facts[start : start + _FACTS_PER_BATCH]
        memory.vector_store.insert(
            vectors=[list(vector) for vector in vectors[start : start + _FACTS_PER_BATCH]],
            ids=[fact.id for fact in page],
            payloads=[build_payload(fact, with_search_text=True) for fact in page],
        )
    return memory


def _forget_by_mem0(memory: Any, user: str) -> float:
    started = time.perf_counter()
    memory.delete_all(user_id=user)
    seconds = time.perf_counter() - started
    left = memory.get_all(filters={"user_id": user}, top_k=10)["results"]
    memory.close()
    if left:
        raise RuntimeError("mem0 did not delete all")
    return seconds


def table(figure: Figure) -> str:
    """Return the figure as a Markdown table."""
    return "\n".join(
        [
            "| facts | others | `Memory.forget` | mem0's `delete_all` | ratio | until no file holds them |",
            "|---|---|---|---|---|---|",
            f"| {figure.facts:,} | {figure.others:,} | {figure.ours * 1000:.0f} ms | {figure.theirs:.1f} s "
            f"| {figure.ratio:.0f} | {figure.erased:.1f} s |",
        ]
    )


def _report_progress(said: str) -> None:
    sys.stderr.write(said + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and write the figures to a file if one is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=DEFAULT_FACTS)
    parser.add_argument("--others", type=int, default=DEFAULT_FACTS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        figure = asyncio.run(measure(Path(folder), options.facts, options.others, _report_progress))
    sys.stdout.write(table(figure) + "\n")
    if options.json:
        options.json.write_text(json.dumps(asdict(figure) | {"ratio": figure.ratio}, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
