"""Measured functions of two-valued inputs, and the learners that MOHN stands beside.

Configurable systems: performance of every option setting that was measured (x264,
SQLite, Apache; SPLConqueror group). Proteins: every variant between two parents
(Poelwijk et al. 2019, fluorescence; Phillips et al. 2021, CR6261 binding to H1).

The tables are read from the folder named by the environment variable SKMOHN_DATA, else
from shared/data next to the repository. Inputs are coded as -1 and +1 for all learners.
"""

import warnings
from functools import cache
from importlib import import_module

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LassoCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from benchmarks.shared import common, results
from skmohn import MOHNRegressor

FILES = {
    "Poelwijk": "poelwijk2019_fluorescence.csv",
    "CR6261-H1": "phillips2021_cr6261_h1.csv",
    "x264": "config_x264.csv",
    "Apache": "config_apache.csv",
    "SQLite": "config_sqlite.csv",
}
# What a learner may cost: columns of products for the lasso, and entries of the tensor
# from which the Gaussian process computes a gradient (8 bytes each).
MAX_PRODUCTS = 1000
MAX_GRADIENT_ENTRIES = 15e6
# 90 % of a normal distribution.
SPREAD_90 = 1.6449


@cache
def read_measured(name):
    """Return inputs and target; None, with a printed line, without the table."""
    path = common.find_data(FILES[name])
    if path is None:
        return None
    values = np.loadtxt(path, delimiter=",", skiprows=1)
    return 2 * values[:, :-1] - 1, values[:, -1]


def splits(name, n_train, n_splits, seed):
    """Yield the seed, training and test inputs, training and test targets."""
    X, y = read_measured(name)
    for i in range(seed, seed + n_splits):
        yield i, *train_test_split(X, y, train_size=n_train, random_state=i)


def ours():
    """All weights under the product prior, other parameters at their defaults."""
    return MOHNRegressor(strategy="gp")


def _forest(shape, seed):
    return RandomForestRegressor(random_state=seed)


def _boosting(shape, seed):
    return HistGradientBoostingRegressor(random_state=seed)


def _lightgbm(shape, seed):
    lightgbm = import_module("lightgbm")
    return lightgbm.LGBMRegressor(
        n_estimators=300, min_child_samples=5, n_jobs=1, verbose=-1, random_state=seed
    )


def _lasso(degree, shape, seed):
    # Powers of two-valued columns are copies, hence interactions only.
    expand = PolynomialFeatures(degree, interaction_only=True, include_bias=False)
    if expand.fit(np.zeros((1, shape[1]))).n_output_features_ > MAX_PRODUCTS:
        return None
    return make_pipeline(expand, LassoCV())


def _pairs(shape, seed):
    return _lasso(2, shape, seed)


def _triples(shape, seed):
    return _lasso(3, shape, seed)


def _ebm(shape, seed):
    glassbox = import_module("interpret.glassbox")
    return glassbox.ExplainableBoostingRegressor(n_jobs=1, random_state=seed)


def _gaussian_process(shape, seed):
    n_rows, n_inputs = shape
    if n_rows**2 * n_inputs > MAX_GRADIENT_ENTRIES:
        return None
    return gaussian_process(n_inputs)


def gaussian_process(n_inputs):
    """Return the peer with one length scale for each input, started as ours is."""
    # On -1 and +1, exp(-(x - z)^2 / 2 l^2) is exp(a x z) but for a factor: l^-2 = a.
    lengths = np.full(n_inputs, np.sqrt(n_inputs))
    kernel = ConstantKernel() * RBF(lengths, (1e-2, 1e4))
    kernel += WhiteKernel(0.1, (1e-6, 1e1))
    return GaussianProcessRegressor(kernel, normalize_y=True)


PEERS = {
    "forest": _forest,
    "boosting": _boosting,
    "LightGBM": _lightgbm,
    "pairs": _pairs,
    "triples": _triples,
    "GP": _gaussian_process,
    "EBM": _ebm,
}
EXPLANATION = """\
Peers, inputs of -1 and +1: forest and boosting (HistGradientBoosting) with default
parameters; LightGBM, 300 trees and leaves of 5; LassoCV on all pairs and all triples;
GP, scikit-learn's with one length scale for each input; EBM, InterpretML's with
interactions. A dash: more than this script waits for, or not asked for.
"""


def begin(description, *, peers=None):
    """Read the options, compile the kernels and choose the peers.

    Parameters
    ----------
    description : str
        Of the script.
    peers : list of str, default=None
        Names of those shown if the options name none; None for all, which are then
        explained, too.

    Returns
    -------
    options : argparse.Namespace
    peers : list of str
        Those that are installed.
    """
    options = common.parse_options(
        description, instances=10, quick_instances=2, add_arguments=add_arguments
    )
    common.warm_up()
    if peers is None:
        print(EXPLANATION)
    found = installed((peers or PEERS) if options.peers is None else options.peers)
    if options.quick and "EBM" in found:
        found.remove("EBM")
    return options, found


def installed(names):
    """Return the peers that are installed, and name those that are not."""
    found = []
    for name in names:
        try:
            PEERS[name]((10, 2), 0)
        except ImportError as error:
            results.leave_out(f"{name}: {error.name} is not installed")
        else:
            found.append(name)
    return found


def add_arguments(parser):
    """Add the options by which a part of a long table is computed."""
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=list(FILES))
    parser.add_argument("--peers", nargs="*", metavar="NAME", choices=list(PEERS))


def scored(learner, split, score):
    """Fit and return the score and the seconds of the fit; NaN where not affordable."""
    if learner is None:
        return np.nan, np.nan
    _, X_train, X_test, y_train, y_test = split
    with warnings.catch_warnings():
        # Gaussian processes warn that a length scale is at its bound, LightGBM that
        # arrays have no column names.
        warnings.simplefilter("ignore")
        seconds = common.timed_fit(learner, X_train, y_train)
        return score(y_test, learner.predict(X_test)), seconds


def compare(data, make_ours, peers, score):
    """Score ours and the peers on the same splits.

    Parameters
    ----------
    data : iterable
        From `splits`.
    make_ours : callable
        Returns an unfitted estimator.
    peers : list of str
    score : callable
        Of the true and the predicted targets.

    Returns
    -------
    scores, seconds : dict of ndarray of shape (n_splits,)
        Ours by the name "ours".
    coverage : float
        Fraction of the test targets in our 90 % intervals.
    """
    names = ["ours", *peers]
    scores, seconds = ({name: [] for name in names} for _ in range(2))
    coverage = []
    for split in data:
        seed, X_train, X_test, _, y_test = split
        model = make_ours()
        for name in names:
            learner = model if name == "ours" else PEERS[name](X_train.shape, seed)
            for values, value in zip(
                (scores, seconds), scored(learner, split, score), strict=True
            ):
                values[name].append(value)
        mean, std = model.predict(X_test, return_std=True)
        coverage.append(np.mean(np.abs(y_test - mean) < SPREAD_90 * std))
    arrays = ({k: np.array(v) for k, v in part.items()} for part in (scores, seconds))
    return *arrays, float(np.mean(coverage))


def gain_over_best(scores, larger_is_better=True):
    """Compare ours with the peer that is best on the mean, split by split.

    Returns
    -------
    name : str or None
        None without peers.
    gain, error : float
        Mean difference, positive when ours is better, and its standard error.
    """
    sign = 1 if larger_is_better else -1
    means = {
        name: sign * values.mean()
        for name, values in scores.items()
        if name != "ours" and not np.isnan(values).any()
    }
    if not means:
        return None, np.nan, np.nan
    best = max(means, key=means.get)
    gains = sign * (scores["ours"] - scores[best])
    n = len(gains)
    return best, gains.mean(), gains.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan


def is_no_worse(gain, error):
    """Whether ours is the best, or within a standard error of it; NaN: alone."""
    return not gain < -np.nan_to_num(error)


def seconds_line(seconds):
    """Print the median seconds of a fit by each learner."""
    medians = {name: np.median(values) for name, values in seconds.items()}
    parts = [f"{name} {value:.3g}" for name, value in medians.items() if value >= 0]
    return "seconds: " + ", ".join(parts)
