"""How near the vectors of a scope are to a question: by the cosine, and by what tells them from each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAMPLE = 1000
"""Vectors, evenly out of a scope, that show how far all of them spread in each direction."""

SPREAD = 0.01
"""The spread that halves what a direction counts; those of all directions add up to 1 at most."""

STEPS = 8
"""Steps of conjugate gradients, after which the first facts do not change any more."""

_NOWHERE = 1e-4
"""Lengths below this may be the rounding of floats."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of length one as rows, their mean, and how far each is from it."""

    rows: NDArray[np.float32]
    mean: NDArray[np.float32]
    apart: NDArray[np.float32]

    def cosines(self, asked: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine of each to a question of length one."""
        return np.asarray(self.rows @ asked)

    def contrasts(self, asked: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return how near each is to a question of length one by what tells them apart, from -1 to 1.

        They are cosines seen from the mean, in which a direction counts the less the farther all spread in it. That a
        fact is about Maria, or work, says little where half of them are: so it is with common words.
        """
        turned = self._turned(asked - self.mean)
        length = np.linalg.norm(turned)
        if length < _NOWHERE:
            return np.zeros_like(self.apart)
        nears = self.rows @ turned - self.mean @ turned
        return np.divide(nears, self.apart * length, out=np.zeros_like(nears), where=self.apart > _NOWHERE)

    def _turned(self, asked: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the product of `asked` and the inverse of covariance + SPREAD, by conjugate gradients.

        No matrix is inverted, which would take seconds where vectors are long and a scope changes often.
        """
        some = self.rows[:: -(-len(self.rows) // SAMPLE)]
        middle = some.mean(axis=0)
        turned, step, left = np.zeros_like(asked), asked, asked
        for _ in range(STEPS):
            before = left @ left
            if before < _NOWHERE**2:
                break
            across = (some @ step - middle @ step) @ some / len(some) + SPREAD * step
            share = before / (step @ across)
            turned, left = turned + share * step, left - share * across
            step = left + (left @ left) / before * step
        return turned


def vectors_of(rows: NDArray[np.float32]) -> Vectors:
    """Return rows of any length as vectors of length one; what is no vector is like nothing."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=np.isfinite(lengths) & (lengths > 0))
    mean = unit.mean(axis=0)
    return Vectors(unit, mean, np.linalg.norm(unit - mean, axis=1))
