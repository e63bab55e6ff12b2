"""What is true now after a life told in any order: `python tests/benchmarks/truth.py`.

A generated life of three years: statements that change, move back, are taken back, or hold until a day. They are
learned one by one in shuffled order, with a scripted model that judges without a mistake: once without keys, and once
with the key of its slot for each statement, so that it is asked about the first of each slot alone. Compared with an
oracle that walks through the life in its own order: what is shown as current, what each day was true, and what each day
was known to be true.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gaia_memory.config.sections.memory_section import MemoryConfig
from gaia_memory.database.sql_engine import open_database
from gaia_memory.facts import FactStore
from gaia_memory.facts.history.timeline import load_timeline
from gaia_memory.models import Draft, NewFact, Scope, StatementTime, holds
from gaia_memory.recall.pipeline import Recall
from gaia_memory.testing import FakeClock, ScriptedEmbedder
from gaia_memory.truth.plan import apply_plan
from gaia_memory.truth.reconciler import Reconciler
from support.oracles.slot_life import Said, value_at

FIRST_DAY = datetime(2023, 1, 1, tzinfo=UTC)
LEARNED_FROM = datetime(2026, 1, 1, tzinfo=UTC)
MINUTES = 3 * 365 * 24 * 60
"""Three years, in whose minutes statements are said."""

SCOPE = Scope("gaia", "ada")
PROBED_TIMES = 200
_LINE = re.compile(r"^\[(\d+)\] \S+ (.*)$", re.MULTILINE)
_NO_LONGER = "no longer "
_PLACES = (
    *("Athens", "Berlin", "Bern", "Bonn", "Cairo", "Dakar", "Delhi", "Doha", "Dublin", "Genoa", "Ghent", "Graz"),
    *("Hanoi", "Kyoto", "Lagos", "Leeds", "Lima", "Lisbon", "London", "Lyon", "Madrid", "Milan", "Nice", "Oslo"),
    *("Paris", "Perth", "Porto", "Prague", "Quito", "Riga", "Rome", "Seoul", "Sofia", "Tokyo", "Tunis", "Turin"),
)


@dataclass(frozen=True)
class Figures:
    """What a run found; `outdated` and `ended` count wrongly shown and wrongly ended facts, `differences` answers."""

    statements: int
    outdated: int
    ended: int
    lost: int
    as_of: int
    known_at: int
    differences: int


class PerfectModel:
    """A language model that ends exactly what a statement contradicts."""

    identity = "scripted/perfect/1"
    is_offline = False

    async def complete(self, prompt: str, *, system: str = "", options: object = None) -> str:
        """Answer a reconciling question."""
        known, new = (dict(_LINE.findall(part)) for part in prompt.split("</EXISTING_FACTS>"))
        decisions = []
        for number, text in new.items():
            existing = [int(each) for each, other in known.items() if contradicts(text, other)]
            decisions.append({"fact": int(number), "action": "UPDATE" if existing else "ADD", "existing": existing})
        return json.dumps({"decisions": decisions})


def contradicts(text: str, other: str) -> bool:
    """Return whether one statement makes another untrue: another value of its slot, or taking back the same."""
    if _NO_LONGER in text or _NO_LONGER in other:
        return text.replace(_NO_LONGER, "") == other.replace(_NO_LONGER, "") and text != other
    return text != other and text.rsplit(" ", 1)[0] == other.rsplit(" ", 1)[0]


def generate_life(chance: random.Random, size: int) -> list[Said]:
    """Return a life of `size` statements: in 2,000 are 300 changes, 60 moves back, 60 retractions and 100 ends."""
    changes, returns, retractions = size * 300 // 2_000, size * 60 // 2_000, size * 60 // 2_000
    minutes = sorted(chance.sample(range(MINUTES), size))
    slots = [_slot(number) for number in range(size - changes - returns - retractions)]
    changing = slots[: max(2, len(slots) // 6)]
    kinds = ["first"] * len(slots) + ["change"] * changes + ["return"] * returns + ["retraction"] * retractions
    chance.shuffle(kinds)
    said: dict[str, list[str]] = {}
    waiting = list(slots)
    life: list[Said] = []
    for minute, kind in zip(minutes, kinds, strict=True):
        known = [slot for slot in changing if slot in said]
        if kind == "first" or not known:
            slot = waiting.pop(0) if waiting else chance.choice(known)
            value = chance.choice(_PLACES)
        else:
            slot = chance.choice(known)
            now = value_at(life, slot, minute)
            others = [each for each in said[slot] if each != now]
            value = chance.choice(others) if kind == "return" and others else f"{slot} {chance.choice(_PLACES)}"
            if kind == "retraction":
                value = now or said[slot][-1]
            value = value.rsplit(" ", 1)[1]
        text = f"{slot} {value}"
        said.setdefault(slot, []).append(text)
        life.append(Said(float(minute), slot, text, kind == "retraction" and bool(known)))
    return life


def _slot(number: int) -> str:
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    first, second = divmod(number, len(syllables))
    name = f"{syllables[first]}{syllables[second]}{syllables[-1 - first]}".title()
    return f"User books the {name} {name[2:]}{name[:2].lower()}dor tour with"


def text_of(said: Said) -> str:
    """Return the sentence of a statement."""
    if not said.is_retraction:
        return said.value
    return said.value.replace(" books ", f" {_NO_LONGER}books ")


def last_value_at(said: Iterable[Said], slot: str, minute: float) -> str | None:
    """Return the value of a keyed slot at a time: taking back any value says that there is none."""
    last = max(
        (each for each in said if each.slot == slot and each.day <= minute), key=lambda each: each.day, default=None
    )
    return None if last is None or last.is_retraction else last.value


def key_of(slot: str) -> str:
    """Return the key of a slot."""
    return f"user/{slot}"


def time_of(minute: float) -> datetime:
    """Return when something was said."""
    return FIRST_DAY + timedelta(minutes=minute)


def noted_at(number: int) -> datetime:
    """Return when the statement in this place of the shuffled order was learned."""
    return LEARNED_FROM + timedelta(minutes=number)


async def measure(folder: Path, size: int, *, is_keyed: bool, seed: int = 1) -> Figures:
    """Learn a life in shuffled order and compare every answer with the oracle."""
    chance = random.Random(seed)
    life = await asyncio.to_thread(generate_life, chance, size)
    learned = chance.sample(life, len(life))
    ends = {
        said.value: said.day + chance.randint(1, 200_000)
        for said in chance.sample(
            [each for each in life if sum(other.slot == each.slot for other in life) == 1], size // 20
        )
    }
    database, facts, clock = (
        await open_database(f"sqlite+aiosqlite:///{folder / 'memory.db'}", home=folder),
        FactStore(),
        FakeClock(),
    )
    models: Any = SimpleNamespace(embedder=ScriptedEmbedder(), language_model=PerfectModel(), reranker=None)
    settings = MemoryConfig()
    recall = Recall(database, facts, models, clock, lambda: settings)
    reconciler = Reconciler(database, facts, recall, models, lambda: settings, clock)
    try:
        for number, said in enumerate(learned):
            until = ends.get(said.value)
            key = key_of(said.slot) if is_keyed else None
            fact = NewFact(text_of(said), said_at=time_of(said.day), key=key, valid_until=until and time_of(until))
            draft = Draft(fact=fact, source="conversation", app="gaia")
            plan = await reconciler.plan(SCOPE, [draft], app="gaia")
            async with database.transaction() as tx:
                await apply_plan(facts, tx, SCOPE, plan, now=noted_at(number))
        return await _compare(database, facts, learned, ends, chance, last_value_at if is_keyed else value_at)
    finally:
        await database.close()


async def _compare(
    database: Any,
    facts: FactStore,
    learned: Sequence[Said],
    ends: dict[str, float],
    chance: random.Random,
    true_at: Callable[[Iterable[Said], str, float], str | None],
) -> Figures:
    async with database.read_transaction() as tx:
        past = await facts.history.past(tx, SCOPE)
        current = await facts.history.stored(
            tx, SCOPE, [fact.id for fact in await facts.facts(tx, SCOPE, all_stored=True)]
        )
        timeline = await load_timeline(tx, SCOPE, [*past, *current])
    ids = {each.fact.text: fact_id for fact_id, each in (past | current).items()}
    by_slot: dict[str, list[Said]] = {}
    place = {said: number for number, said in enumerate(learned)}
    for said in learned:
        by_slot.setdefault(said.slot, []).append(said)
    texts = {said.value: said.slot for said in learned if not said.is_retraction}
    final = {text: true_at(by_slot[slot], slot, MINUTES) == text for text, slot in texts.items()}
    differences = 0
    probes = [(chance.uniform(0, MINUTES), len(learned)) for _ in range(PROBED_TIMES)]
    probes += [(chance.uniform(0, MINUTES), chance.randrange(1, len(learned))) for _ in range(PROBED_TIMES)]
    for minute, known in probes:
        for text in chance.sample(sorted(texts), min(100, len(texts))):
            said_by_then = [each for each in by_slot[texts[text]] if place[each] < known]
            is_valid = minute < ends.get(text, MINUTES * 2)
            expected = is_valid and true_at(said_by_then, texts[text], minute) == text
            until = ends.get(text)
            fact_id = ids.get(text, "")
            answer = holds(
                [StatementTime(*each) for each in timeline.sayings.get(fact_id, ())],
                timeline.ending_times(fact_id),
                valid_until=until and time_of(until).timestamp(),
                at=time_of(minute).timestamp(),
                known_at=noted_at(known - 1).timestamp(),
            )
            differences += answer != expected
    return Figures(
        statements=len(learned),
        outdated=sum(ids.get(text) in current and not is_current for text, is_current in final.items()),
        ended=sum(ids.get(text) in past and is_current for text, is_current in final.items()),
        lost=sum(text not in ids for text in texts),
        as_of=PROBED_TIMES,
        known_at=PROBED_TIMES,
        differences=differences,
    )


def report(kind: str, figures: Figures) -> str:
    """Return a run as a row of a table."""
    cells = (kind, figures.statements, figures.outdated, figures.ended, figures.lost, figures.differences)
    return "| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells) + " |"


def main(arguments: Iterable[str] | None = None) -> int:
    """Print the figures; exit with 1 if any answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statements", type=int, default=2_000)
    given = parser.parse_args(None if arguments is None else list(arguments))
    found: dict[str, Figures] = {}
    for kind, is_keyed in (("without keys", False), ("with keys", True)):
        with tempfile.TemporaryDirectory() as folder:
            found[kind] = asyncio.run(measure(Path(folder), given.statements, is_keyed=is_keyed))
    print("| run | statements | outdated shown as current | wrongly ended | lost | wrong answers |")  # noqa: T201
    print("|---|---|---|---|---|---|")  # noqa: T201
    for kind, figures in found.items():
        print(report(kind, figures))  # noqa: T201
    return int(any(each.outdated or each.ended or each.lost or each.differences for each in found.values()))


if __name__ == "__main__":
    sys.exit(main())
