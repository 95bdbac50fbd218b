"""One Cholesky factor for several targets of the same rows and hyperparameters."""

# Each target has a posterior of its own, with the methods of any other. What depends on
# the rows alone (covariances with new rows, variances, factors of further rows) is
# computed once for all of them within :func:`remember`.

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from skmohn.mohn._gp.cholesky import CholeskyFactor
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.marginal_likelihood import AggregatedData
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._table.rows import EncodedRows, row_blocks

# What has been computed for other targets, in this thread; None outside of `remember`.
_KNOWN: ContextVar[dict[Any, Any] | None] = ContextVar("_KNOWN", default=None)
_T = TypeVar("_T")


@contextmanager
def remember() -> Iterator[None]:
    """Cache, within the context, what several targets share."""
    token = _KNOWN.set({})
    try:
        yield
    finally:
        _KNOWN.reset(token)


def _recall(key: tuple[Any, ...], compute: Callable[[], _T]) -> _T:
    known = _KNOWN.get()
    if known is None:
        return compute()
    if key not in known:
        known[key] = compute()
    return known[key]


def _digest(*arrays: NDArray) -> bytes:
    """Key that distinguishes arrays."""
    state = blake2b()
    for array in arrays:
        state.update(f"{array.dtype.str}{array.shape}".encode())
        state.update(np.ascontiguousarray(array).tobytes())
    return state.digest()


class SharedFactor:
    """Covariance of rows that several targets share, and its Cholesky factor."""

    def __init__(
        self,
        covariance: Covariance,
        sample: AggregatedData,  # its rows and noise are those of all targets
        lower: CholeskyFactor | None = None,  # None: computed at first use
    ) -> None:
        self.covariance = covariance
        # The targets are not part of it.
        self.sample = replace(sample, target=np.zeros(len(sample)))
        self.alphas = []  # (n_rows,); inverse covariance times each target
        if lower is not None:
            self.lower = lower

    @cached_property
    def lower(self) -> CholeskyFactor:
        """Cholesky factor."""
        return ExactPosterior.condition(self.covariance, self.sample).factor

    @cached_property
    def precisions(self) -> NDArray[np.float64]:
        """Inverse variances of the targets given all others."""
        return ExactPosterior._solve(
            self.covariance, self.sample, self.lower
        ).precisions

    def __getstate__(self) -> dict[str, Any]:
        """Leave the factor, which is made again; see `ExactPosterior`."""
        made = "lower", "precisions"
        return {name: part for name, part in vars(self).items() if name not in made}

    def condition(self, sample: AggregatedData) -> TargetPosterior:
        """Posterior of one more target."""
        own = ExactPosterior._solve(self.covariance, sample, self.lower)
        self.alphas.append(own.alpha)
        index = len(self.alphas) - 1
        return TargetPosterior(self.covariance, sample, own.alpha, self, index)

    def means(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Posterior means of all targets, ndarray of shape (n_rows, n_targets)."""
        alphas = np.stack(self.alphas, axis=1)
        means = np.empty((len(rows), alphas.shape[1]))
        for part in row_blocks(len(rows)):
            cross = self.covariance.between(rows.take(part), self.sample.rows)
            means[part] = cross @ alphas
        return means


@dataclass(frozen=True)
class TargetPosterior(ExactPosterior):
    """Posterior of one target, whose factor is shared with others."""

    shared: SharedFactor
    index: int  # of the target

    @cached_property
    def factor(self) -> CholeskyFactor:
        """Shared Cholesky factor."""
        return self.shared.lower

    @cached_property
    def precisions(self) -> NDArray[np.float64]:
        """Precisions, those of all that share the factor."""
        return self.shared.precisions

    def latent_mean(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Posterior mean of the function at rows."""
        if _KNOWN.get() is None:
            return super().latent_mean(rows)
        shared = self.shared
        known = _digest(rows.inputs, rows.categories), len(shared.alphas)
        means = _recall(("means", shared, *known), lambda: shared.means(rows))
        return means[:, self.index].copy()

    def latent_variance(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Posterior variance of the function at rows."""
        key = "variance", self.shared, _digest(rows.inputs, rows.categories)
        return _recall(key, lambda: ExactPosterior.latent_variance(self, rows)).copy()

    def update(self, more: AggregatedData) -> TargetPosterior:
        """Condition on a further sample, with those targets that have the same one."""
        noise = more.noise(self.covariance.prior)
        rows = more.rows
        key = "update", self.shared, _digest(rows.inputs, rows.categories, noise)

        def extend() -> SharedFactor:
            posterior = ExactPosterior.update(self, more)
            return SharedFactor(self.covariance, posterior.sample, posterior.factor)

        return _recall(key, extend).condition(self.sample.join(more))
