"""What came back, counted: how often the right fact, how early, how much else, and what came in its place."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from gaia_memory.evaluation.question_file import Question

DEPTHS = (5, 10)
"""Up to which place a right fact counts."""


@dataclass(frozen=True, slots=True)
class FoundFact:
    """A fact that came back; `id` is that of the file of questions, if it has one there: one of `file_ids`."""

    id: str
    text: str
    file_ids: Collection[str] = ()

    def holds(self, expected: str) -> bool:
        """Return whether it has what is expected: the id, or one of the spellings between ` | `, in any case."""
        if expected == self.id or expected in self.file_ids:
            return expected == self.id
        return any(_folded(each) in _folded(self.text) for each in expected.split(" | "))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system returned by itself for a question, in `seconds`, and its `first_ten` facts when asked for ten."""

    question: Question
    hits: Sequence[FoundFact]
    first_ten: Sequence[FoundFact]
    seconds: float

    def is_right(self, fact: FoundFact) -> bool:
        """Return whether a fact has anything that is expected."""
        return any(map(fact.holds, self.question.expect))

    @property
    def place(self) -> int | None:
        """The place of the first right fact of ten, from 1 on."""
        return next((place for place, fact in enumerate(self.first_ten, 1) if self.is_right(fact)), None)


def summarize(answers: Sequence[Answer]) -> dict[str, float | None]:
    """Return the figures of one system, None where no question asks for it; latencies are in milliseconds.

    R@n is the share of what is expected among the first n facts, precision that of right facts among all that came by
    themselves; silence is the share of questions that should get nothing and got nothing, `current first` that of
    questions with an earlier value (`was`) whose current one came first.
    """
    asked = [each for each in answers if each.question.expect]
    seconds = sorted(each.seconds for each in answers)
    shares = {
        depth: [
            any(fact.holds(text) for fact in each.first_ten[:depth]) for each in asked for text in each.question.expect
        ]
        for depth in DEPTHS
    }
    counted = {
        "right first": [each.place == 1 for each in asked],
        **{f"R@{depth}": found for depth, found in shares.items()},
        "precision": [each.is_right(fact) for each in asked for fact in each.hits],
        "silence": [not each.hits for each in answers if each.question.nothing],
        "current first": [each.place == 1 for each in asked if each.question.was],
    }
    return {
        **{name: statistics.fmean(found) if found else None for name, found in counted.items()},
        "p50 ms": 1000 * statistics.median(seconds),
        "p95 ms": 1000 * seconds[math.ceil(0.95 * len(seconds)) - 1],
    }


def describe_wrong(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """Return the questions where another fact came first, or one where none should, with what came first."""
    return [
        {
            "question": each.question.ask,
            "expected": each.question.expect,
            "place": each.place,
            "first": came[0].text if (came := each.hits if each.question.nothing else each.first_ten) else None,
        }
        for each in answers
        if (each.hits if each.question.nothing else each.place != 1)
    ]
