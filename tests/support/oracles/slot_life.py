"""A life in which one value takes the place of another, told by walking through what was said in its order."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Said:
    """What was said on a day: that a slot has a value, or that it has not any longer."""

    day: float
    slot: str
    value: str
    is_retraction: bool = False


def random_life(chance: random.Random, *, slots: int, statements: int) -> list[Said]:
    """Return statements about a few slots, each on a day of its own, of which some come back or are taken back."""
    life: list[Said] = []
    for day in chance.sample(range(statements * 3), statements):
        slot = f"slot {chance.randrange(slots)}"
        life.append(Said(float(day), slot, f"{slot} is {chance.choice('ABCD')}", chance.random() < 0.15))
    return life


def value_at(said: Iterable[Said], slot: str, day: float) -> str | None:
    """Return the value of a slot on a day, None if it has none."""
    value: str | None = None
    for each in sorted(said, key=lambda each: each.day):
        if each.slot != slot or each.day > day:
            continue
        if not each.is_retraction:
            value = each.value
        elif value == each.value:
            value = None
    return value
