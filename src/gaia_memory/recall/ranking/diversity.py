"""Keeps several wordings of one thing from filling an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.recall.index.columns import NONE
from gaia_memory.recall.index.fact_columns import Shelf
from gaia_memory.recall.ranking.rank import Placed

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOOKED_AT = 50
"""How many of the best facts change places; what comes behind them stays there."""

ALIKE = 0.8
"""Likeness from which on two facts say the same in other words; talk of one thing stays below it."""


def diversified(ranked: Sequence[Placed], shelf: Shelf, weight: float) -> list[Placed]:
    """Return the facts with the first of them chosen one by one, each by its total less its likeness to those chosen.

    That is maximal marginal relevance (Carbonell and Goldstein, 1998), of near duplicates alone: the likeness of two
    facts is the cosine of their words and who said them, from 0 at `ALIKE` to 1, and costs `weight` times the total.
    A word counts by how rare it is among these facts: "lives in Rome" and "lives in Oslo" are not alike where many say
    who lives where.
    """
    first = list(ranked[:LOOKED_AT])
    if not weight or len(first) < 2:
        return list(ranked)
    alike = _likeness(shelf, shelf.places_of([item.fact_id for item in first]))
    if not alike.any():
        return list(ranked)
    near = np.zeros(len(first))
    totals = np.array([item.total for item in first])
    chosen: list[Placed] = []
    rest = list(range(len(first)))
    while rest:
        best = max(rest, key=lambda place: (totals[place] * (1 - weight * near[place]), -place))
        rest.remove(best)
        chosen.append(_lowered(first[best], weight * float(near[best])))
        near = np.maximum(near, alike[best])
    return sorted([*chosen, *ranked[LOOKED_AT:]], key=lambda item: -item.total)


def _lowered(item: Placed, share: float) -> Placed:
    return replace(item, parts={**item.parts, "diversity": -share * item.total}) if share else item


def _likeness(shelf: Shelf, places: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how alike each two of these facts are, from 0 to 1; none is like itself."""
    held = shelf.words.taken(places)
    words, columns = np.unique(held.values, return_inverse=True)
    speakers = shelf.speakers.codes[places]
    names = len(words) + speakers
    there = np.zeros((len(places), len(words) + len(shelf.speakers.texts)))
    there[held.rows, columns] = 1.0
    spoken = speakers != NONE
    there[np.flatnonzero(spoken), names[spoken]] = 1.0
    known = there.sum(axis=0)
    there *= np.log(1 + (len(places) - known + 0.5) / (known + 0.5))
    lengths = np.linalg.norm(there, axis=1, keepdims=True)
    unit = there / np.where(lengths > 0, lengths, 1.0)
    alike = np.clip((unit @ unit.T - ALIKE) / (1 - ALIKE), 0.0, 1.0)
    np.fill_diagonal(alike, 0.0)
    return np.asarray(alike)
