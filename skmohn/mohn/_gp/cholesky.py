"""Cholesky factor of a covariance, in panels: without the half that is zero."""

# LAPACK's packed factors (`pftrf`) are made in one call, within which nothing is
# reported, and cannot be extended.

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, get_blas_funcs, solve_triangular

from skmohn._core._fitting import one_blas_thread, tick
from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn._core._types import lapack


@dataclass(frozen=True)
class PanelConstants:
    """Panels of a Cholesky factor."""

    # Rows up to which a single one is fastest.
    max_rows_single: int = tuned(2000, "cost")
    # Columns of each of several. Of 10,000 rows one takes about a second.
    n_columns: int = tuned(1000, "cost")


_PANELS = PanelConstants()


def panel_slices(n_rows: int) -> Iterator[slice]:
    """Yield the columns of each panel of a matrix of so many rows."""
    is_one = n_rows <= _PANELS.max_rows_single
    return equal_slices(n_rows, max(n_rows, 1) if is_one else _PANELS.n_columns)


class Panel(NamedTuple):
    """Some columns of a lower triangle, from the diagonal on."""

    corner: np.ndarray  # (n_columns, n_columns); lower triangle
    below: np.ndarray  # (n_rows_below, n_columns); what is below


@dataclass(frozen=True)
class CholeskyFactor:
    """Lower triangle L of a matrix ``L L'``."""

    panels: tuple[Panel, ...]

    # With more threads a factor that is made again would differ in its last bits.
    @classmethod
    @one_blas_thread
    def factorize(
        cls, n_rows: int, columns: Callable[[slice], NDArray[np.floating]]
    ) -> Self:
        """Factorize a matrix whose columns come panel by panel. O(n_rows^3)."""
        # `columns` returns some columns from the diagonal on, (n_rows - start, stop -
        # start) and C-contiguous, which are overwritten.
        panels: list[Panel] = []
        for part in panel_slices(n_rows):
            tick()
            own = columns(part)
            for panel in panels:
                tick()
                _subtract_product(own, panel.below[-len(own) :])
            panels.append(_factorize_panel(own))
        return cls(tuple(panels))

    def __len__(self) -> int:
        return sum(len(panel.corner) for panel in self.panels)

    @property
    def is_single(self) -> bool:
        """Whether it is in single precision."""
        return self.panels[0].corner.dtype == np.float32

    def half_log_determinant(self) -> float:
        """Sum of the logarithms of the diagonal."""
        diagonals = [np.diagonal(panel.corner) for panel in self.panels]
        return float(np.sum(np.log(np.concatenate(diagonals, dtype=np.float64))))

    def whiten(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """``L^-1 columns``."""
        if len(self.panels) == 1:
            corner = self.panels[0].corner
            return solve_triangular(corner, columns, lower=True, check_finite=False)
        return self._forward(np.array(columns, dtype=np.float64), list(self._indexed()))

    def solve(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """``(L L')^-1 columns``."""
        if len(self.panels) == 1:
            corner = self.panels[0].corner
            return cho_solve((corner, True), columns, check_finite=False)
        solved = self.whiten(columns)
        for part, (corner, below) in reversed(list(self._indexed())):
            solved[part] -= below.T @ solved[part.stop :].astype(below.dtype)
            own = solved[part].astype(corner.dtype)
            solved[part] = solve_triangular(
                corner, own, lower=True, trans=1, check_finite=False
            )
        return solved

    def inverse_diagonal(self) -> NDArray[np.float64]:
        """Diagonal of ``(L L')^-1``. O(n_rows^3)."""
        squares = [
            np.einsum("ij,ij->j", own, own, dtype=np.float64)
            for own in self._inverse_panels()
        ]
        return np.concatenate(squares)

    def inverse(self) -> NDArray[np.float64]:
        """``L^-1``, with its zeros. O(n_rows^3)."""
        panels = list(self._inverse_panels())
        if len(panels) == 1:
            return panels[0]
        inverse = np.zeros((len(self), len(self)))
        for (part, _), own in zip(self._indexed(), panels, strict=True):
            inverse[part.start :, part] = own
        return inverse

    def extend(
        self, link: NDArray[np.float64], corner: NDArray[np.float64]
    ) -> "CholeskyFactor":
        """Append rows: `link` is ``L^-1`` times their covariances with those before."""
        # `corner` is the covariance between them, less ``link' link``.
        dtype = self.panels[0].corner.dtype
        lower = cholesky(corner, lower=True, check_finite=False).astype(dtype)
        *panels, last = (
            Panel(panel.corner, np.vstack([panel.below, link[part].T], dtype=dtype))
            for part, panel in self._indexed()
        )
        n_old = len(last.corner)
        if n_old + len(lower) <= _PANELS.n_columns:
            joined = np.zeros((n_old + len(lower),) * 2, dtype, order="F")
            joined[:n_old, :n_old] = last.corner
            joined[n_old:, :n_old] = last.below
            joined[n_old:, n_old:] = lower
            lower = joined
        else:
            panels.append(last)
        below = np.empty((0, len(lower)), dtype)
        return CholeskyFactor((*panels, Panel(lower, below)))

    def _indexed(self) -> Iterator[tuple[slice, Panel]]:
        """Panels with the indices of their columns."""
        start = 0
        for panel in self.panels:
            stop = start + len(panel.corner)
            yield slice(start, stop), panel
            start = stop

    def _forward(
        self, solved: NDArray[np.float64], panels: list[tuple[slice, Panel]]
    ) -> NDArray[np.float64]:
        """Substitute forward through some panels, in place."""
        for part, (corner, below) in panels:
            tick()
            own = solved[part].astype(corner.dtype, copy=False)
            own = solve_triangular(corner, own, lower=True, check_finite=False)
            solved[part] = own
            solved[part.stop :] -= below @ own
        return solved

    def _inverse_panels(self) -> Iterator[NDArray[np.float64]]:
        """Panels of the inverse, each from the diagonal on."""
        panels = list(self._indexed())
        for j, (part, panel) in enumerate(panels):
            tick()
            own, _ = lapack.dtrtri(panel.corner, lower=1)
            if len(panel.below):
                rest = np.zeros((len(self), len(own)))
                rest[part.stop :] = -(panel.below @ own.astype(panel.below.dtype))
                rest = self._forward(rest, panels[j + 1 :])
                own = np.vstack([own, rest[part.stop :]])
            yield own


def _subtract_product(own: NDArray[Any], left: NDArray[Any]) -> None:
    """``own - left left[:n_columns]'``, in place."""
    (gemm,) = get_blas_funcs(("gemm",), (own,))
    gemm(
        -1.0,
        left[: own.shape[1]].T,
        left.T,
        beta=1.0,
        c=own.T,
        trans_a=1,
        overwrite_c=1,
    )


def _factorize_panel(own: NDArray[Any]) -> Panel:
    """Factorize columns that those before have been subtracted from, in place."""
    corner, below = np.split(own, [own.shape[1]])
    # The transpose of a symmetric matrix, in LAPACK's order, is factored in place.
    lower = cholesky(corner.T, lower=True, overwrite_a=True, check_finite=False)
    (trsm,) = get_blas_funcs(("trsm",), (own,))
    trsm(1.0, lower, below.T, lower=1, overwrite_b=1)
    return Panel(lower, below)
