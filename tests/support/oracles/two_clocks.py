"""What holds at a time as known at another, worked out by walking along the time line step by step."""

from __future__ import annotations

import random
from dataclasses import dataclass

BEGINNING = -1_000.0


@dataclass(frozen=True)
class History:
    """One fact: (said at or None, noted at), (ended at, noted at, undone at or None), and its validity."""

    sayings: list[tuple[float | None, float]]
    endings: list[tuple[float, float, float | None]]
    valid_from: float | None = None
    valid_until: float | None = None


def random_history(chance: random.Random) -> History:
    """Return a history on days 0 to 12; equal times are frequent."""

    def time() -> float:
        return float(chance.randint(0, 12))

    said = [None if chance.random() < 0.15 else time() for _ in range(chance.randint(1, 4))]
    endings: list[tuple[float, float, float | None]] = []
    for _ in range(chance.randint(0, 3)):
        noted = time()
        endings.append((time(), noted, max(noted, time()) if chance.random() < 0.3 else None))
    start = time() if chance.random() < 0.25 else None
    end = (start or 0.0) + chance.randint(1, 8) if chance.random() < 0.25 else None
    return History([(moment, time()) for moment in said], endings, start, end)


def expected_to_hold(history: History, at: float, known_at: float) -> bool:
    """Return whether the fact holds at `at`, by what was known at `known_at`."""
    if history.valid_from is not None and at < history.valid_from:
        return False
    if history.valid_until is not None and not at < history.valid_until:
        return False
    news: list[tuple[float, int]] = []
    known_sayings = [said for said, noted in history.sayings if not noted > known_at]
    if known_sayings and history.valid_from is not None:
        news.append((min([history.valid_from, *(BEGINNING if said is None else said for said in known_sayings)]), 0))
    news += [(BEGINNING if said is None else said, 0) for said in known_sayings]
    for ended, noted, undone in history.endings:
        is_known = not noted > known_at
        is_undone = undone is not None and not undone > known_at
        if is_known and not is_undone:
            news.append((ended, 1))
    state = False
    # At the same moment the ending is the last word.
    for moment, kind in sorted(news):
        if moment > at:
            break
        state = kind == 0
    return state
