"""How near the vectors of a scope are to a question: by the cosine, and by what tells them from each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_SAMPLE_VECTORS = 1000
"""Vectors, evenly out of a scope, that show how far all of them spread in each direction."""

REGULARIZATION = 0.01
"""The spread that halves what a direction counts; those of all directions add up to 1 at most."""

CONJUGATE_GRADIENT_STEPS = 8
"""Steps of conjugate gradients, after which the first facts do not change any more."""

_MIN_LENGTH = 1e-4
"""Lengths below this may be the rounding of floats."""


@dataclass(frozen=True, slots=True)
class VectorMatrix:
    """Vectors of length one as rows, their mean, and how far each is from it."""

    rows: NDArray[np.float32]
    mean: NDArray[np.float32]
    mean_distances: NDArray[np.float32]

    def cosines(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine of each to a question of length one."""
        return np.asarray(self.rows @ query)

    def whitened_cosines(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return how near each is to a question of length one by what tells them apart, from -1 to 1.

        They are cosines seen from the mean, in which a direction counts the less the farther all spread in it. That a
        fact is about Maria, or work, says little where half of them are: so it is with common words.
        """
        whitened_query = self._precision_times(query - self.mean)
        length = np.linalg.norm(whitened_query)
        if length < _MIN_LENGTH:
            return np.zeros_like(self.mean_distances)
        similarities = self.rows @ whitened_query - self.mean @ whitened_query
        return np.divide(
            similarities,
            self.mean_distances * length,
            out=np.zeros_like(similarities),
            where=self.mean_distances > _MIN_LENGTH,
        )

    def _precision_times(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the product of `query` and the inverse of covariance + SPREAD, by conjugate gradients.

        No matrix is inverted, which would take seconds where vectors are long and a scope changes often.
        """
        sample = self.rows[:: -(-len(self.rows) // MAX_SAMPLE_VECTORS)]
        sample_mean = sample.mean(axis=0)
        solution, direction, residual = np.zeros_like(query), query, query
        for _ in range(CONJUGATE_GRADIENT_STEPS):
            residual_norm = residual @ residual
            if residual_norm < _MIN_LENGTH**2:
                break
            covariance_direction = (sample @ direction - sample_mean @ direction) @ sample / len(
                sample
            ) + REGULARIZATION * direction
            step_size = residual_norm / (direction @ covariance_direction)
            solution, residual = solution + step_size * direction, residual - step_size * covariance_direction
            direction = residual + (residual @ residual) / residual_norm * direction
        return solution


def build_vector_matrix(rows: NDArray[np.float32]) -> VectorMatrix:
    """Return rows of any length as vectors of length one; what is no vector is like nothing."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=np.isfinite(lengths) & (lengths > 0))
    mean = unit.mean(axis=0)
    return VectorMatrix(unit, mean, np.linalg.norm(unit - mean, axis=1))
