"""What learning asks a model, beside mem0's `add`: `python tests/benchmarks/question_costs.py --data FILE`.

FILE is LoCoMo's file, published or reduced, as for `recall.py`. A scripted model extracts from each question the facts
that come from the turns in it, and decides that every fact is new. Ours learns each session at its end; mem0 is given
each turn, a message of both speakers, as its quick start shows. Four characters count as a token.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from google.adk.events.event import Event
from google.adk.sessions.session import Session
from google.genai import types

from benchmarks.recall_data import reduce_sample
from gaia_memory import open_memory
from gaia_memory.backend.builder import Backend
from gaia_memory.config.sources.load import load
from support.storage import scripted_mem0
from support.storage.plain_mem0 import plain_mem0

CHARACTERS_PER_TOKEN = 4
_MAX_QUESTIONS = 100_000

Talk = Mapping[str, Any]


@dataclass(frozen=True)
class Costs:
    """The questions and their tokens, for a number of turns."""

    turns: int
    questions: int
    tokens: float

    def row(self, name: str) -> str:
        """Return a row of a table: both for each turn."""
        return f"| {name} | {self.questions / self.turns:.2f} | {self.tokens / self.turns:,.0f} |"


def turns_of(session: Talk) -> list[list[Mapping[str, str]]]:
    """Return the messages of a session in pairs."""
    said = session["turns"]
    return [said[start : start + 2] for start in range(0, len(said), 2)]


def _extract(talk: Talk, prompt: str) -> str:
    """Answer with the facts that come from the turns which a question contains as new messages."""
    new = prompt.rpartition("## New Messages")[2].partition("## Observation Date")[0]
    texts = {turn["dia_id"]: turn["text"] for session in talk["sessions"] for turn in session["turns"]}
    asked = {place for place, text in texts.items() if text in new or json.dumps(text)[1:-1] in new}
    found = [fact["text"] for fact in talk["facts"] if not asked.isdisjoint(fact["from"])]
    return json.dumps({"memory": [{"id": str(number), "text": text} for number, text in enumerate(found)]})


def _script(name: str, talk: Talk) -> scripted_mem0.Mem0Script:
    script = scripted_mem0.Mem0Script()
    script.answers["extractor"].extend([partial(_extract, talk)] * _MAX_QUESTIONS)
    scripted_mem0.register(name, script)
    return script


def _costs(talk: Talk, script: scripted_mem0.Mem0Script, *kinds: scripted_mem0.Kind) -> Costs:
    prompts = [prompt for kind in kinds for prompt in script.prompts[kind]]
    turns = sum(len(turns_of(session)) for session in talk["sessions"])
    return Costs(turns, len(prompts), sum(map(len, prompts)) / CHARACTERS_PER_TOKEN)


async def ours(talk: Talk, folder: Path) -> tuple[Costs, Costs]:
    """Return the costs of extracting facts, and of comparing them with the known ones."""
    script = _script("ours", talk)
    async with open_memory({"memory": scripted_mem0.configuration("ours")}, home=folder) as gaia:
        for number, session in enumerate(talk["sessions"]):
            events = [
                Event(
                    author="user" if turn["speaker"] == talk["speakers"][0] else "assistant",
                    content=types.Content(
                        role="user" if turn["speaker"] == talk["speakers"][0] else "model",
                        parts=[types.Part(text=turn["text"])],
                    ),
                )
                for turn in session["turns"]
            ]
            learned = Session(id=f"session{number}", app_name=gaia.config.app, user_id="ada", events=events)
            await gaia.memory_service.add_session_to_memory(learned)
    return _costs(talk, script, "extractor"), _costs(talk, script, "reconciler")


async def mem0_add(talk: Talk, folder: Path) -> Costs:
    """Return the costs of mem0's `add` for each turn."""
    script = _script("mem0", talk)
    backend = Backend(load({"memory": scripted_mem0.configuration("mem0")}, home=folder).config)
    await backend.pools.store.run(backend.load)

    def add_all() -> None:
        with plain_mem0(backend.mem0_config(folder / "store")) as memory:
            memory.llm = backend.llm
            for session in talk["sessions"]:
                for turn in turns_of(session):
                    roles = ["user" if each["speaker"] == talk["speakers"][0] else "assistant" for each in turn]
                    messages = [{"role": role, "content": each["text"]} for role, each in zip(roles, turn, strict=True)]
                    memory.add(messages, user_id="ada")

    await backend.pools.store.run(add_all)
    await backend.close()
    return _costs(talk, script, "extractor", "reconciler")


async def measure(talk: Talk) -> dict[str, Costs]:
    """Return the costs of each."""
    with tempfile.TemporaryDirectory() as folder:
        extracting, comparing = await ours(talk, Path(folder) / "ours")
        theirs = await mem0_add(talk, Path(folder) / "theirs")
    return {"ours, extracting": extracting, "ours, comparing": comparing, "mem0's `add`": theirs}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the costs of the first conversation of a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo's file, published or reduced")
    given = parser.parse_args(arguments)
    try:
        data = json.loads(given.data.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        parser.error(f"--data: {given.data} cannot be read: {error}")
    talk = reduce_sample(data[0]) if "conversation" in data[0] else data[0]
    print("| | questions per turn | tokens per turn |\n|---|---|---|")  # noqa: T201
    for name, costs in asyncio.run(measure(talk)).items():
        print(costs.row(name))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
