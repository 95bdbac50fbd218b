"""Coordinates of an ascent: changes of hyperparameters by a standard deviation."""

# Columns with many categories or levels have tens of thousands of hyperparameters, so
# that no square matrix of them is made.

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array


@dataclass(frozen=True)
class Steps:
    """Square matrix: sparse, plus a product of narrow matrices."""

    # Its columns are the coordinates. The last one alone moves the noise.

    few: csr_array  # (n_logs, n_logs)
    left: np.ndarray  # (n_logs, rank)
    right: np.ndarray  # (n_logs, rank)

    @classmethod
    def plain(cls, few: csr_array) -> Self:
        """Steps of a sparse matrix."""
        none = np.empty((len(few.indptr) - 1, 0))
        return cls(few, none, none)

    @property
    def of_noise(self) -> float:
        """Change of the noise by the last coordinate."""
        return self.few[-1, -1] + self.left[-1] @ self.right[-1]

    def __matmul__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Changes of the logarithms, of coordinates (n_logs,) or (n_logs, n)."""
        return self.few @ x + self.left @ (self.right.T @ x)

    def gather(self, slope: NDArray[np.float64]) -> NDArray[np.float64]:
        """Slopes along the coordinates, from those of the logarithms, (n_logs,)."""
        return slope @ self.few + (slope @ self.left) @ self.right.T

    def scaled(self, factor: float) -> "Steps":
        """Each step longer by a factor."""
        return Steps(self.few * factor, self.left * factor, self.right)

    def along(
        self, directions: NDArray[np.float64], change: NDArray[np.float64]
    ) -> "Steps":
        """Change the lengths of steps along some orthonormal directions alone."""
        more = self @ (directions @ (change - np.eye(len(change))))
        return self._plus(more, directions)._mirrored()

    def toarray(self) -> NDArray[np.float64]:
        """All numbers, ndarray of shape (n_logs, n_logs)."""
        return self.few.toarray() + self.left @ self.right.T

    def _plus(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> "Steps":
        left, right = np.hstack([self.left, left]), np.hstack([self.right, right])
        return Steps(self.few, left, right)

    def _mirrored(self) -> "Steps":
        """Mirrored such that the last coordinate alone moves the noise."""
        axis = self.gather(np.eye(1, len(self.left), len(self.left) - 1)[0])
        axis[-1] += np.linalg.norm(axis)
        fall = self @ axis * (-2.0 / (axis @ axis))
        mirrored = self._plus(fall[:, None], axis[:, None])
        signs = np.ones(len(axis))
        signs[-1] = -1.0
        few, right = mirrored.few @ diags_array(signs), mirrored.right * signs[:, None]
        return Steps(csr_array(few), mirrored.left, right)
