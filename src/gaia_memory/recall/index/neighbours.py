"""The neighbours of a fact in its conversation, and how much of its words also counts for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_TURNS_APART = 3
"""Turns before and after a fact that count as its context."""

WORD_WEIGHT_BY_DISTANCE = {-3: 0.1, -2: 0.25, -1: 0.5, 0: 0.3, 1: 0.3, 2: 0.15}
"""Weight of the words of a turn at this distance: the previous turn, which a fact answers, counts most."""

ANSWERED_QUESTION_WEIGHT = 0.8
"""Weight of the words of the previous turn if it ends with a question mark, in any script."""

_WEIGHT_BY_OFFSET = np.array(
    [WORD_WEIGHT_BY_DISTANCE.get(apart, 0.0) for apart in range(-MAX_TURNS_APART, MAX_TURNS_APART + 1)]
)


@dataclass(frozen=True, eq=False)
class NeighbourGraph:
    """The neighbours of each fact: those of fact n are in `targets` from `starts[n]` to the next start.

    `word_weights` is the share of the words of fact n that counts for each neighbour, `vector_weights` that of its
    vector score.
    """

    starts: NDArray[np.int32]
    targets: NDArray[np.int32]
    word_weights: NDArray[np.float32]
    vector_weights: NDArray[np.float32]

    def find_edges(self, indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all edges from these facts: the position of the fact in `indices`, and the index of the edge."""
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
    """Return the graph of facts sorted by conversation and turn; `context_weights` scale both ends of an edge."""
    before, after, distances = _neighbour_pairs(conversations, turns)
    # Each pair in both directions; the offset is that of the source, seen from the target.
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
    """Return all pairs of facts at most `MAX_TURNS_APART` turns apart; the facts are sorted by turn."""
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
