"""Recovery along rows and noise: spin glasses of 64 columns with 128 true pairs.

Couplings are -1 and +1, or Gaussian. Training targets have noise at a ratio of the
variances of function and noise; all learners of an instance see the same rows. Printed
are means over instances: R2 on 2000 fresh rows without noise, precision and recall of
the terms where a learner has terms, the fraction of fresh targets with noise in its 90
% intervals where it has any, and seconds.

Ours are the defaults, and strategy="spike_slab" and "pursuit" with max_order=2. The
lasso, the adaptive lasso (two steps of LassoCV) and orthogonal matching pursuit get
explicit columns of all pairs, and so know the highest order; trees get the columns, and
so does the explainable boosting machine with its pairs, if `interpret` is installed.
The limit is that of state evolution from no information, which the script computes: the
R2 that the best polynomial algorithm known reaches on average on many columns, given
the true prior and noise (Krzakala et al., Statistical-physics-based reconstruction in
compressed sensing, Physical Review X 2, 2012).

--cells chooses rows of the grid by "couplings:rows:ratio", --learners some of them.
"""

import math
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import trapezoid
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, OrthogonalMatchingPursuitCV
from sklearn.preprocessing import PolynomialFeatures

from benchmarks.shared import common, results
from skmohn import MOHNRegressor
from skmohn.datasets import make_ising

SHAPE, N_PAIRS, N_TRUE = (8, 8), 2016, 128
N_TEST = 2000
ROWS = 200, 300, 400, 500, 600, 900
RATIOS = 1e4, 100.0, 10.0, 3.0
QUICK_CELLS = [("gaussian", 400, 10.0), ("pm1", 600, 10.0)]

ENDS = 0.05, 0.95


class Learned(NamedTuple):
    """Functions of rows that a learner found, and its terms, if it has any."""

    predict: Callable[[NDArray], NDArray]
    terms: set[tuple[int, ...]] | None = None
    quantiles: Callable[[NDArray, tuple[float, float]], NDArray] | None = None


class Instance:
    """Noisy training rows of a glass, and fresh rows with and without noise."""

    def __init__(self, couplings: str, n_rows: int, ratio: float, seed: int):
        data = make_ising(
            SHAPE,
            n_samples=n_rows + N_TEST,
            couplings=couplings,
            optimum=False,
            random_state=seed,
        )
        noise = math.sqrt(np.sum(np.square(data.weights)) / ratio)
        rng = np.random.default_rng(seed)
        self.X, self.test = data.X[:n_rows], data.X[n_rows:]
        self.y = data.y[:n_rows] + noise * rng.standard_normal(n_rows)
        self.function = data.y[n_rows:]
        self.noisy = self.function + noise * rng.standard_normal(N_TEST)
        self.terms = set(data.terms)


def fit_ours(data: Instance, **parameters: object) -> Learned:
    """Fit MOHNRegressor."""
    model = MOHNRegressor(random_state=0, **parameters).fit(data.X, data.y)
    quantiles = model.predict_quantiles if model.model_.has_posterior else None
    return Learned(model.predict, set(model.terms_), quantiles)


def fit_linear(data: Instance, model) -> Learned:
    """Fit a linear model on the explicit columns of all pairs."""
    products = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    model.fit(products.fit_transform(data.X), data.y)
    powers = products.powers_[np.flatnonzero(model.coef_)]
    terms = {tuple(np.flatnonzero(power).tolist()) for power in powers}
    return Learned(lambda X: model.predict(products.transform(X)), terms)


def fit_trees(data: Instance, model) -> Learned:
    """Fit trees on the columns as they are."""
    return Learned(model.fit(data.X, data.y).predict)


def fit_ebm(data: Instance) -> Learned:
    """Fit an explainable boosting machine, whose default is to have pairs."""
    ebm = import_module("interpret.glassbox").ExplainableBoostingRegressor
    return fit_trees(data, ebm(random_state=0, n_jobs=1))


class AdaptiveLasso:
    """LassoCV, then LassoCV of its columns times their weights (Zou 2006)."""

    def fit(self, X, y):
        first = LassoCV().fit(X, y).coef_
        if not first.any():
            self.coef_, self.mean = first, y.mean()
            return self
        second = LassoCV().fit(X * np.abs(first), y)
        self.coef_, self.mean = second.coef_ * np.abs(first), second.intercept_
        return self

    def predict(self, X):
        return X @ self.coef_ + self.mean


OURS = {
    "MOHN": fit_ours,
    "spike_slab": lambda data: fit_ours(data, strategy="spike_slab", max_order=2),
    "pursuit": lambda data: fit_ours(data, strategy="pursuit", max_order=2),
}
PEERS = {
    "lasso": lambda data: fit_linear(data, LassoCV()),
    "adaptive": lambda data: fit_linear(data, AdaptiveLasso()),
    "OMP": lambda data: fit_linear(data, OrthogonalMatchingPursuitCV()),
    "forest": lambda data: fit_trees(data, RandomForestRegressor(random_state=0)),
    "boosting": lambda data: fit_trees(
        data, HistGradientBoostingRegressor(random_state=0)
    ),
}
if find_spec("interpret"):
    PEERS["EBM"] = fit_ebm


def least_square_error(couplings: str, noise: float) -> float:
    """Mean square by which the best estimate of a weight with noise is off.

    A weight is one of the true pairs' with their fraction of all pairs, else zero.

    Parameters
    ----------
    couplings : {"pm1", "gaussian"}
    noise : float
        Variance.
    """
    share, deviation = N_TRUE / N_PAIRS, math.sqrt(noise)
    # The densities of zeros are narrow where there is little noise.
    near = deviation * np.linspace(-8.0, 8.0, 4001)
    far = np.linspace(-6.0, 6.0, 4001)
    around = [near, near + 1.0, near - 1.0, far]
    r = np.unique(np.concatenate(around))
    zero = (1.0 - share) * norm.pdf(r, 0.0, deviation)
    if couplings == "pm1":
        plus, minus = (
            0.5 * share * norm.pdf(r, side, deviation) for side in (1.0, -1.0)
        )
        total = zero + plus + minus
        first, second = plus - minus, plus + minus
    else:
        slab = share * norm.pdf(r, 0.0, math.sqrt(1.0 + noise))
        total, mean = zero + slab, r / (1.0 + noise)
        first, second = slab * mean, slab * (mean**2 + noise / (1.0 + noise))
    lost = second - first**2 / np.maximum(total, 1e-300)
    return float(trapezoid(lost, r))


def limit(couplings: str, n_rows: int, ratio: float) -> float:
    """R2 of state evolution from no information, of weights with variance 1."""
    noise, error = N_TRUE / ratio, N_TRUE / N_PAIRS
    for _ in range(2000):
        before = error
        error = least_square_error(couplings, (noise + N_PAIRS * before) / n_rows)
        if abs(error - before) < 1e-9 * before:
            break
    return 1.0 - N_PAIRS * error / N_TRUE


def sparse_reference(
    learn: Callable[[Instance], Learned], data: Instance
) -> list[float]:
    """R2, precision, recall, coverage (NaN without any) and seconds of one learner."""
    seconds, learned = common.timed(learn, data)
    error = np.mean((learned.predict(data.test) - data.function) ** 2)
    found = [1.0 - float(error) / float(np.var(data.function)), *3 * [math.nan]]
    if learned.terms is not None:
        hits = len(learned.terms & data.terms)
        found[1:3] = hits / max(len(learned.terms), 1), hits / len(data.terms)
    if learned.quantiles is not None:
        low, high = learned.quantiles(data.test, ENDS).T
        found[3] = float(np.mean((low <= data.noisy) & (data.noisy <= high)))
    return [*found, seconds]


def read_cell(text: str) -> tuple[str, int, float]:
    """A row of the grid, such as "pm1:600:10"."""
    couplings, n_rows, ratio = text.split(":")
    return couplings, int(n_rows), float(ratio)


def add_options(parser) -> None:
    """Add the choice of cells and of learners."""
    parser.add_argument("--cells", nargs="+", type=read_cell, metavar="CELL")
    parser.add_argument("--learners", nargs="+", choices=OURS | PEERS)


def main() -> None:
    """Print a row for each cell and learner."""
    options = common.parse_options(
        __doc__, instances=5, quick_instances=1, add_arguments=add_options
    )
    warnings.simplefilter("ignore", ConvergenceWarning)
    common.warm_up()
    if "EBM" not in PEERS:
        results.leave_out("EBM: interpret is not installed")
    cells = options.cells or (
        QUICK_CELLS
        if options.quick
        else [(c, n, r) for c in ("gaussian", "pm1") for n in ROWS for r in RATIOS]
    )
    learners = OURS | PEERS
    learners = {name: learners[name] for name in options.learners or learners}
    table = common.Table(
        "Spin glasses 8x8, 128 of 2016 pairs",
        "couplings rows ratio limit learner n R2 lowest precision recall held seconds",
    )
    for cell in cells:
        problems = [Instance(*cell, options.seed + i) for i in range(options.instances)]
        highest = limit(*cell)
        for name, learn in learners.items():
            found = [sparse_reference(learn, data) for data in problems]
            score, *others = map(fmean, zip(*found, strict=True))
            row = score, min(each[0] for each in found), *others
            table.row(*cell, highest, name, len(problems), *row)
    table.close()


if __name__ == "__main__":
    results.record(main)
