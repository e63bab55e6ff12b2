"""What stands beside a fact in its conversation, and how much of its words it lends to that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_TURNS_APART = 3
"""Turns on either side of a fact that count as its context."""

WORD_WEIGHT_BY_DISTANCE = {-3: 0.1, -2: 0.25, -1: 0.5, 0: 0.3, 1: 0.3, 2: 0.15}
"""What of the words of a turn so far away also counts for a fact: most from the turn it answers."""

ANSWERED_QUESTION_WEIGHT = 0.8
"""What the turn before lends when it ends with a question mark, in whatever script."""

_WEIGHT_BY_OFFSET = np.array(
    [WORD_WEIGHT_BY_DISTANCE.get(apart, 0.0) for apart in range(-MAX_TURNS_APART, MAX_TURNS_APART + 1)]
)


@dataclass(frozen=True, eq=False)
class NeighbourGraph:
    """The facts beside each fact: those of fact n stand in `targets` from `starts[n]` to the next.

    `word_weights` is what each of them is lent of the words of fact n, `vector_weights` of its vector.
    """

    starts: NDArray[np.int32]
    targets: NDArray[np.int32]
    word_weights: NDArray[np.float32]
    vector_weights: NDArray[np.float32]

    def find_edges(self, indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all links from these facts: the number of each fact among them, and the place of the link."""
        lengths = self.starts[indices + 1] - self.starts[indices]
        source_numbers = np.repeat(np.arange(len(indices)), lengths)
        before = np.cumsum(lengths) - lengths
        return source_numbers, np.arange(len(source_numbers)) + np.repeat(self.starts[indices] - before, lengths)


def build_neighbour_graph(
    conversations: NDArray[np.int64],
    turns: NDArray[np.int64],
    context_weights: NDArray[np.float64],
    is_question: NDArray[np.bool_],
) -> NeighbourGraph:
    """Return the links between facts in the order of their conversations, by how much each needs and lends context."""
    before, after, distances = _neighbour_pairs(conversations, turns)
    # Each pair both ways: where the fact that lends stands, seen from the other one.
    sources, targets = np.concatenate([before, after]), np.concatenate([after, before])
    offsets = np.concatenate([-distances, distances])
    order = np.argsort(sources, kind="stable")
    sources, targets, offsets = sources[order], targets[order], offsets[order]
    vector_weights = _WEIGHT_BY_OFFSET[offsets + MAX_TURNS_APART] * context_weights[sources] * context_weights[targets]
    question_boost = np.where(
        (offsets == -1) & is_question[sources], ANSWERED_QUESTION_WEIGHT / WORD_WEIGHT_BY_DISTANCE[-1], 1.0
    )
    starts = np.zeros(len(conversations) + 1, dtype=np.int32)
    np.cumsum(np.bincount(sources, minlength=len(conversations)), out=starts[1:])
    return NeighbourGraph(
        starts, targets, (vector_weights * question_boost).astype(np.float32), vector_weights.astype(np.float32)
    )


def _neighbour_pairs(
    conversations: NDArray[np.int64], turns: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Return every two facts that stand up to `MAX_TURNS_APART` turns apart.

    As they are in order, the nearest come next.
    """
    pairs = []
    for step in range(1, len(turns)):
        distances = turns[step:] - turns[:-step]
        rows = np.flatnonzero((conversations[:-step] == conversations[step:]) & (distances <= MAX_TURNS_APART)).astype(
            np.int32
        )
        if not len(rows):
            break
        pairs.append((rows, rows + np.int32(step), distances[rows]))
    if not pairs:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
    before, after, distances = (np.concatenate(each) for each in zip(*pairs, strict=True))
    return before, after, distances
