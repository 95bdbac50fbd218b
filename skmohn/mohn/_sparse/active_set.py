"""Least squares on a set of weights that grows and shrinks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from skmohn._core._tuned import tuned
from skmohn._core._types import Term, lapack
from skmohn.mohn._design.design import Design
from skmohn.mohn._sparse import solver_kernels as _learning_kernels
from skmohn.mohn._table.rows import rms


@dataclass(frozen=True)
class AliasConstants:
    """Columns that others span."""

    # A column whose part outside the span of the others is below this fraction of its
    # length is aliased: its weight is not identifiable.
    tolerance: float = tuned(1e-7, "rounding")


ALIASES = AliasConstants()


class ActiveSet:
    """Least squares on a set of weights, with Gram matrix and Cholesky factor."""

    # The constant is always the first weight, written as the empty set.

    def __init__(
        self,
        design: Design,
        y: NDArray[np.float64],  # (n_samples,)
        # Never dropped, except if aliased with the constant or with each other.
        always: Sequence[Term] = (),
    ) -> None:
        self.design = design
        self.y = y
        self.always = list(always)
        self.clear()

    @classmethod
    def of(cls, design: Design, y: NDArray[np.float64], terms: Sequence[Term]) -> Self:
        """Least squares on given terms without the aliased ones."""
        model = cls(design, y)
        if terms:
            model.add(terms)
            model.solve()
        return model

    def clear(self) -> None:
        """Drop all weights but the fixed ones."""
        self.terms: list[Term] = [()]
        self.columns: Any = self.design.columns([()])
        self.gram = np.array([[self.design.weight_sum]])
        self.target = self.design.project(self.columns, self.y)
        self.factor = np.sqrt(self.gram)
        # Number of weights that are never dropped: the constant and the first ones.
        self.n_fixed = 1 + self.add(self.always)
        self.solve()

    def __len__(self) -> int:
        return len(self.terms)

    def add(self, terms: Sequence[Term]) -> int:
        """Add the weights that are not aliased, by preference; return their number."""
        if not terms:
            return 0
        columns: Any = self.design.columns(terms)
        cross = self.design.gram(self.columns, columns)
        inner = self.design.gram(columns, columns)
        link = solve_triangular(self.factor, cross, lower=True, check_finite=False)
        factor, kept = _independent(inner - link.T @ link, self.design.weight_sum)
        if not kept.size:
            return 0
        cross, inner = cross[:, kept], inner[np.ix_(kept, kept)]
        self.gram = np.block([[self.gram, cross], [cross.T, inner]])
        corner = np.zeros_like(cross)
        self.factor = np.block([[self.factor, corner], [link[:, kept].T, factor]])
        columns = columns[kept]
        self.columns = np.concatenate([self.columns, columns])
        self.target = np.concatenate(
            [self.target, self.design.project(columns, self.y)]
        )
        self.terms = self.terms + [terms[j] for j in kept]
        return kept.size

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the weights where ``mask`` is False, except the fixed ones."""
        mask = mask.copy()
        mask[: self.n_fixed] = True
        self.terms = [
            term for term, stays in zip(self.terms, mask, strict=True) if stays
        ]
        self.columns = self.columns[mask]
        self.gram = self.gram[np.ix_(mask, mask)]
        self.target = self.target[mask]
        # Up to the first that goes, and left of it, the factor stays.
        first = int(np.argmin(np.append(mask, False)))
        factor = self.factor[np.ix_(mask, mask)]
        left = factor[first:, :first]
        rest = self.gram[first:, first:] - left @ left.T
        factor[first:, first:] = cholesky(rest, lower=True, check_finite=False)
        self.factor = factor

    def solve(self) -> None:
        """Set ``coef`` and ``residual`` to the least squares solution."""
        half = solve_triangular(
            self.factor, self.target, lower=True, check_finite=False
        )
        self.coef = solve_triangular(
            self.factor, half, lower=True, trans=1, check_finite=False
        )
        self.residual = self.y - self.design.combine(self.columns, self.coef)

    @property
    def rms(self) -> float:
        """Root mean square of the residual."""
        return rms(self.residual, self.design.weights)

    @property
    def noise(self) -> float:
        """Standard deviation of the noise, corrected for degrees of freedom."""
        spare = max(self.design.weight_sum - len(self), 1.0)
        return self.rms * np.sqrt(self.design.weight_sum / spare)

    def standard_errors(self, min_noise_std: float = 0.0) -> NDArray[np.float64]:
        """Standard errors of ``coef``, with noise of at least `min_noise_std`."""
        inverse, _ = lapack.dtrtri(self.factor, lower=1)
        noise = max(self.noise, min_noise_std)
        return noise * np.sqrt(np.einsum("ij,ij->j", inverse, inverse))


def _independent(
    gram: NDArray[np.float64], scale: float
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Cholesky factor of a well-conditioned part of ``gram`` and its indices."""
    # Of collinear columns the first is kept.
    # A batch without aliases, the usual case, factors in the given order.
    factor, info = lapack.dpotrf(gram, lower=1)
    if info == 0 and np.diag(factor).min() ** 2 > ALIASES.tolerance * scale:
        return np.tril(factor), np.arange(len(gram))
    factor, kept = np.zeros_like(gram), np.empty(len(gram), dtype=np.int64)
    rank = _learning_kernels.cholesky_in_order(
        gram, ALIASES.tolerance * scale, factor, kept
    )
    return factor[:rank, :rank], kept[:rank]
