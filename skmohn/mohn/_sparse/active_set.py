"""Least squares on a set of weights that grows and shrinks."""

import numpy as np
from scipy.linalg import cholesky, lapack, solve_triangular

from skmohn.mohn._sparse import solver_kernels as _learning_kernels

# A column whose part outside the span of the others is below this fraction of its
# length is aliased: its weight could not be told from theirs.
ALIAS_TOLERANCE = 1e-7


class ActiveSet:
    """The weights in the model, their Gram matrix and its Cholesky factor.

    The constant is always the first weight, written as the empty set.

    Parameters
    ----------
    design : PackedDesign or DenseDesign

    y : ndarray of shape (n_samples,)

    always : sequence of tuples of int, default=()
        Weights that stay, but for those that are aliased with the constant or with
        others of them.

    Attributes
    ----------
    n_fixed : int
        How many weights stay, which are the first; the constant is one of them.
    """

    def __init__(self, design, y, always=()):
        self.design = design
        self.y = y
        self.always = list(always)
        self.clear()

    @classmethod
    def of(cls, design, y, terms):
        """The least squares model with given terms, those that are aliased left out."""
        model = cls(design, y)
        if terms:
            model.add(terms)
            model.solve()
        return model

    def clear(self):
        """Keep only what always stays."""
        self.terms = [()]
        self.columns = self.design.columns([()])
        self.gram = np.array([[self.design.weight_sum]])
        self.target = self.design.project(self.columns, self.y)
        self.factor = np.sqrt(self.gram)
        self.n_fixed = 1 + self.add(self.always)
        self.solve()

    def __len__(self):
        return len(self.terms)

    def add(self, terms):
        """Add the weights that are not aliased with those already there.

        Parameters
        ----------
        terms : list of tuples of int
            New ones, the most wanted first.

        Returns
        -------
        n_added : int
        """
        if not terms:
            return 0
        columns = self.design.columns(terms)
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

    def keep(self, mask):
        """Drop the weights where ``mask`` is False and that do not always stay."""
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

    def solve(self):
        """Set ``coef`` and ``residual`` to the least squares solution."""
        half = solve_triangular(
            self.factor, self.target, lower=True, check_finite=False
        )
        self.coef = solve_triangular(
            self.factor, half, lower=True, trans=1, check_finite=False
        )
        self.residual = self.y - self.design.combine(self.columns, self.coef)

    @property
    def rms(self):
        """Root mean square of the residual."""
        weights = self.design.weights
        return float(np.sqrt(np.average(self.residual**2, weights=weights)))

    @property
    def noise(self):
        """Standard deviation of the noise, with the degrees of freedom used up."""
        spare = max(self.design.weight_sum - len(self), 1.0)
        return self.rms * np.sqrt(self.design.weight_sum / spare)

    def standard_errors(self, least_noise=0.0):
        """Standard errors of ``coef`` under independent noise of equal variance.

        Parameters
        ----------
        least_noise : float, default=0.0
            The noise has at least this standard deviation.
        """
        inverse, _ = lapack.dtrtri(self.factor, lower=1)
        noise = max(self.noise, least_noise)
        return noise * np.sqrt(np.einsum("ij,ij->j", inverse, inverse))


def _independent(gram, scale):
    """Cholesky factor of a well-conditioned part of ``gram`` and its indices.

    Of columns that say the same the first is in it.
    """
    # A batch with no aliases, the rule, factors as it is and keeps its order.
    factor, info = lapack.dpotrf(gram, lower=1)
    if info == 0 and np.diag(factor).min() ** 2 > ALIAS_TOLERANCE * scale:
        return np.tril(factor), np.arange(len(gram))
    factor, kept = np.zeros_like(gram), np.empty(len(gram), dtype=np.int64)
    rank = _learning_kernels.cholesky_in_order(
        gram, ALIAS_TOLERANCE * scale, factor, kept
    )
    return factor[:rank, :rank], kept[:rank]
