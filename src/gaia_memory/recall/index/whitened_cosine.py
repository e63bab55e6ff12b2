"""Similarity of the vectors of a scope to a question: the cosine, and the cosine after whitening."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_SAMPLE_VECTORS = 1000
"""Vectors, evenly sampled from a scope, from which the covariance is estimated."""

REGULARIZATION = 0.01
"""Variance at which a direction counts half; the variances of all directions add up to 1 at most."""

CONJUGATE_GRADIENT_STEPS = 8
"""Steps of conjugate gradients, after which the order of the first facts is stable."""

_MIN_LENGTH = 1e-4
"""Lengths below this may be rounding errors."""

_ignores_unused_lanes = np.errstate(invalid="ignore")
"""Some kernels of OpenBLAS set the flag for an invalid value in lanes of a register that they do not use, so that NumPy
warns about a product of finite vectors (numpy/numpy#13173, #24067). The rows are finite, and so must be the query."""


@dataclass(frozen=True, slots=True)
class VectorMatrix:
    """Unit vectors as rows, their mean, and the distance of each from the mean."""

    rows: NDArray[np.float32]
    mean: NDArray[np.float32]
    mean_distances: NDArray[np.float32]

    @_ignores_unused_lanes
    def cosines(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine of each row to a unit vector."""
        return np.asarray(self.rows @ query)

    @_ignores_unused_lanes
    def whitened_cosines(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the whitened cosine of each row to a unit vector, from -1 to 1.

        It is the cosine after subtracting the mean, in which directions of great variance count less. That a fact is
        about Maria says little if half of the facts are, as with a frequent word.
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
        """Return the product of `query` and the inverse of covariance + REGULARIZATION, by conjugate gradients.

        Inverting the matrix would take seconds for long vectors.
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
    """Return rows of any length as unit vectors; a row that is zero or not finite becomes zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=np.isfinite(lengths) & (lengths > 0))
    mean = unit.mean(axis=0)
    return VectorMatrix(unit, mean, np.linalg.norm(unit - mean, axis=1))
