"""Penalty of the weights, by how well simple models predict left-out targets."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeCV

from skmohn._core._copies import join_near_rows
from skmohn._core._fitting import one_blas_thread
from skmohn._core._rows import distinct_rows, number_rows
from skmohn._core._tuned import tuned
from skmohn._core._validation import as_counts
from skmohn.blm import _kernels as kernels
from skmohn.blm._network import DatasetProblem

# Of all weights from inputs by hidden units to an output that make a linear function,
# the least sum of squares is twice the length of its slopes (Srebro, Rennie and
# Jaakkola, "Maximum-margin matrix factorization", NeurIPS 2004, lemma 1): the penalty
# makes them shorter by `alpha` over the number of samples. Noise adds a vector of
# squared length: its variance, times inputs, over samples. Least squares shortened by
# that over their own length have the least error (James and Stein 1961).


@dataclass(frozen=True)
class PenaltyConstants:
    """Choice of the penalty."""

    # Where nothing says how much noise there is.
    default: float = tuned(3.0, "benchmarks/blm/baselines.py")
    # Multiples for real targets and for classes.
    of_reals: float = tuned(0.33, "benchmarks/blm/baselines.py")
    of_classes: float = tuned(0.14, "benchmarks/blm/baselines.py")
    # Least fractions of the variance that count as noise and as signal.
    min_noise: float = tuned(0.05, "benchmarks/blm/baselines.py")
    min_signal: float = tuned(0.01, "benchmarks/blm/baselines.py")
    # Widths of Gaussian kernels, as multiples of scikit-learn's "scale".
    gammas: tuple[float, ...] = tuned((0.125, 0.5, 2.0), "benchmarks/blm/baselines.py")
    # Samples beyond which more of them do not raise the penalty: what is noise to these
    # need not be to more.
    max_counted: int = tuned(1000, "benchmarks/blm/baselines.py")
    # Samples and basis functions of the simple models.
    max_samples: int = tuned(1000, "cost")
    n_components: int = tuned(200, "cost")
    # Inputs of samples that belong together differ by less, in standard deviations.
    resolution: float = tuned(1e-3, "benchmarks/blm/baselines.py")


_PENALTY = PenaltyConstants()
_ALPHAS = np.logspace(-4, 5, 19)
# Of the noise of logistic regression, on the scale of its linear function.
_LOGISTIC_VARIANCE = np.pi**2 / 3


@one_blas_thread
def choose_alpha(problem: DatasetProblem, *, are_classes: bool) -> float:
    """Penalty by the fraction of the variance that is noise, and by sizes."""
    weights = problem.sample_weight.astype(np.float64)
    X, input_unit = _standardize(problem.X, weights)
    targets, target_unit = _standardize(problem.y, weights)
    if problem.layout.recurrent or not (X.size and targets.size):
        return _PENALTY.default
    X = join_near_rows(X, number_rows(targets), are_classes)
    groups = _Groups.of(X, targets, weights).sample(_PENALTY.max_samples)
    noise = np.clip(groups.left_out_error(), _PENALTY.min_noise, 1.0)
    signal = max(1.0 - noise, _PENALTY.min_signal)
    n_samples, rank = as_counts(weights).sum(), groups.effective_rank()
    if len(problem.layout.sizes) == 2:
        # Without hidden units it is that of ridge regression, the variance of the noise
        # over that of the slopes.
        alpha = input_unit**2 * rank * noise / signal
        alpha /= _LOGISTIC_VARIANCE if are_classes else 1.0
    else:
        # Correlated inputs count by the geometric mean of their number and rank.
        n_counted = min(n_samples, _PENALTY.max_counted)
        n_inputs = np.sqrt(rank * X.shape[1])
        alpha = input_unit * noise * np.sqrt(n_counted * n_inputs / np.sqrt(signal))
        alpha *= _PENALTY.of_classes if are_classes else _PENALTY.of_reals * target_unit
    if problem.loss in (kernels.ABSOLUTE, kernels.PINBALL):
        # Its slopes do not shrink with the errors, of which the root is the size.
        alpha /= np.sqrt(noise)
    elif problem.loss == kernels.LOGISTIC_SQUARED:
        # Its slopes are at most a quarter of those of the cross-entropy.
        alpha /= 4.0
    # Penalties are over the sum of the weights, and losses may be means over outputs.
    is_mean = problem.loss != kernels.OWN_OF_ALL
    n_outputs = problem.divisor / problem.total_weight if is_mean else 1.0
    return float(alpha * problem.total_weight / (n_samples * n_outputs))


def _standardize(
    table: NDArray[np.floating], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Columns that vary, standardized, and the root mean square of their scales."""
    deviations = table - np.average(table, axis=0, weights=weights)
    stds = np.sqrt(np.average(deviations**2, axis=0, weights=weights))
    varies = stds > np.finfo(np.float32).eps * np.abs(table).max(axis=0)
    unit = np.linalg.norm(stds[varies]) / np.sqrt(max(np.count_nonzero(varies), 1))
    return deviations[:, varies] / stds[varies], float(unit)


class _Groups(NamedTuple):
    """Samples of about the same inputs, as one sample each."""

    X: NDArray[np.float64]  # (n_groups, n_inputs)
    targets: NDArray[np.float64]  # (n_groups, n_outputs); means
    weights: NDArray[np.float64]  # (n_groups,)
    variance: float  # of standardized targets within groups, mean of the outputs

    @classmethod
    def of(cls, X: NDArray, targets: NDArray, weights: NDArray) -> Self:
        """Group samples."""
        # Rows that belong together would predict each other's noise.
        rounded = np.rint(X / _PENALTY.resolution) + 0.0
        first, index = distinct_rows(rounded)
        sums = np.bincount(index, weights)
        means = [np.bincount(index, weights * target) / sums for target in targets.T]
        means = np.column_stack(means)
        squares = ((targets - means[index]) ** 2).mean(axis=1)
        return cls(X[first], means, sums, float(np.average(squares, weights=weights)))

    def sample(self, max_groups: int) -> Self:
        """Draw a subset; all if there are no more."""
        if len(self.X) <= max_groups:
            return self
        rng = np.random.default_rng(0)
        kept = rng.choice(len(self.X), max_groups, replace=False)
        X, targets, weights = self.X[kept], self.targets[kept], self.weights[kept]
        return self._replace(X=X, targets=targets, weights=weights)

    def left_out_error(self) -> float:
        """Mean squared error of the best of some models where its group is left out."""
        # A linear one, and some with Gaussian kernels.
        n_components, bases = min(_PENALTY.n_components, len(self.X)), [self.X]
        for gamma in _PENALTY.gammas:
            kernel = Nystroem(
                gamma=gamma / self.X.shape[1], n_components=n_components, random_state=0
            )
            bases.append(kernel.fit_transform(self.X))
        weights = self.weights / self.weights.mean()
        fits: list[Any] = [
            RidgeCV(_ALPHAS).fit(basis, self.targets, weights) for basis in bases
        ]
        return self.variance - max(fit.best_score_ for fit in fits)

    def effective_rank(self) -> float:
        """Number of equally large principal components that would be as many."""
        # Square of the sum of the eigenvalues over the sum of their squares.
        gram = self.X @ self.X.T
        return float(np.trace(gram) ** 2 / np.sum(gram**2))
