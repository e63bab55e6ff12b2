"""What stands beside a fact in its conversation, and how much of its words it lends to that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

REACH = 3
"""Turns on either side of a fact that count as its context."""

LENT = {-3: 0.1, -2: 0.25, -1: 0.5, 0: 0.3, 1: 0.3, 2: 0.15}
"""What of the words of a turn so far away also counts for a fact: most from the turn it answers."""

AFTER_A_QUESTION = 0.8
"""What the turn before lends when it ends with a question mark, in whatever script."""

_LENT = np.array([LENT.get(apart, 0.0) for apart in range(-REACH, REACH + 1)])


@dataclass(frozen=True, eq=False)
class Links:
    """The facts beside each fact: those of fact n stand in `to` from `starts[n]` to the next.

    `lent` is what each of them is lent of the words of fact n, `likeness` of its vector.
    """

    starts: NDArray[np.int32]
    to: NDArray[np.int32]
    lent: NDArray[np.float32]
    likeness: NDArray[np.float32]

    def from_facts(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all links from these facts: the number of each fact among them, and the place of the link."""
        lengths = self.starts[places + 1] - self.starts[places]
        number = np.repeat(np.arange(len(places)), lengths)
        before = np.cumsum(lengths) - lengths
        return number, np.arange(len(number)) + np.repeat(self.starts[places] - before, lengths)


def links_of(
    talks: NDArray[np.int64], turns: NDArray[np.int64], need: NDArray[np.float64], asks: NDArray[np.bool_]
) -> Links:
    """Return the links between facts in the order of their conversations, by how much each needs and lends context."""
    before, after, apart = _near(talks, turns)
    # Each pair both ways: where the fact that lends stands, seen from the other one.
    lends, takes = np.concatenate([before, after]), np.concatenate([after, before])
    away = np.concatenate([-apart, apart])
    order = np.argsort(lends, kind="stable")
    lends, takes, away = lends[order], takes[order], away[order]
    likeness = _LENT[away + REACH] * need[lends] * need[takes]
    answered = np.where((away == -1) & asks[lends], AFTER_A_QUESTION / LENT[-1], 1.0)
    starts = np.zeros(len(talks) + 1, dtype=np.int32)
    np.cumsum(np.bincount(lends, minlength=len(talks)), out=starts[1:])
    return Links(starts, takes, (likeness * answered).astype(np.float32), likeness.astype(np.float32))


def _near(
    talks: NDArray[np.int64], turns: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Return every two facts that stand up to `REACH` turns apart: as they are in order, the nearest come next."""
    found = []
    for step in range(1, len(turns)):
        apart = turns[step:] - turns[:-step]
        here = np.flatnonzero((talks[:-step] == talks[step:]) & (apart <= REACH)).astype(np.int32)
        if not len(here):
            break
        found.append((here, here + np.int32(step), apart[here]))
    if not found:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
    before, after, apart = (np.concatenate(each) for each in zip(*found, strict=True))
    return before, after, apart
