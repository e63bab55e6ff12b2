"""Which facts the rules end on real sentences: `python tests/benchmarks/rule_endings.py --data FILE`.

FILE is LoCoMo's file, published or reduced, as for `recall.py`. Every statement about a person is compared with the
earlier ones, and each ending is printed, to be read: of the facts that a model extracted, of what is learned without a
model, and of both as if one user had said them all, which contradict each other more.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.recall_data import reduce_sample
from gaia_memory.keyless.statements import find_statements
from gaia_memory.truth.reconcile_by_rule import RuleDecision, Statement, decide_by_rule

FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)

Talk = Mapping[str, Any]
Ending = tuple[str, RuleDecision, list[str]]


def told_facts(talk: Talk) -> dict[str, list[Statement]]:
    """Return the extracted facts about each person, in the order of the sessions."""
    facts: dict[str, list[Statement]] = {}
    for number, fact in enumerate(talk["facts"]):
        said_at = FIRST_DAY + timedelta(days=7 * fact["session"])
        statement = Statement(id=f"{number:05}", text=fact["text"], said_at=said_at, speaker=fact["about"])
        facts.setdefault(fact["about"], []).append(statement)
    return facts


def said_facts(talk: Talk) -> dict[str, list[Statement]]:
    """Return the statements in the messages of each person."""
    facts: dict[str, list[Statement]] = {}
    for session in talk["sessions"]:
        said_at = FIRST_DAY + timedelta(days=7 * session["session"])
        for speaker in talk["speakers"]:
            for turn in session["turns"]:
                for text in find_statements(turn["text"]) if turn["speaker"] == speaker else ():
                    known = facts.setdefault(speaker, [])
                    known.append(Statement(id=f"{len(known):05}", text=text, said_at=said_at))
    return facts


def as_one_user(groups: Iterable[Sequence[Statement]]) -> list[Statement]:
    """Return the statements of all groups, one after the other, as if one user had said them."""
    texts = [
        each.text.replace(each.speaker, "User") if each.speaker else each.text for group in groups for each in group
    ]
    return [
        Statement(id=f"{number:05}", text=text, said_at=FIRST_DAY + timedelta(hours=number))
        for number, text in enumerate(texts)
    ]


def list_endings(statements: Iterable[Statement]) -> Iterator[Ending]:
    """Yield each statement that ends or doubts earlier ones, with the decision and their texts."""
    current: dict[str, Statement] = {}
    for statement in sorted(statements, key=lambda each: (each.said_at, each.id)):
        decision = decide_by_rule(statement, current.values())
        if decision is not None:
            ids = (*decision.existing, *decision.in_doubt, *decision.outdated_by)
            yield statement.text, decision, [current[each].text for each in ids]
            if decision.action in ("UPDATE", "DELETE"):
                for each in decision.existing:
                    del current[each]
        if decision is None or decision.action in ("ADD", "UPDATE"):
            current[statement.id] = statement


def main(arguments: Sequence[str] | None = None) -> int:
    """Print every ending."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo's file, published or reduced")
    given = parser.parse_args(arguments)
    try:
        data = json.loads(given.data.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        parser.error(f"--data: {given.data} cannot be read: {error}")
    talks = [reduce_sample(each) if "conversation" in each else each for each in data]
    kinds = {
        "extracted facts": [facts for talk in talks for facts in told_facts(talk).values()],
        "messages": [facts for talk in talks for facts in said_facts(talk).values()],
    }
    kinds |= {f"{kind}, as if one user had said all": [as_one_user(people)] for kind, people in kinds.items()}
    for kind, people in kinds.items():
        endings = [ending for facts in people for ending in list_endings(facts)]
        print(f"{kind}: {sum(map(len, people))} statements, {len(endings)} decisions")  # noqa: T201
        for text, decision, texts in endings:
            print(f"  {decision.action} {decision.rule}: {text} | {texts}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
