"""Stability selection: which terms come back when rows are resampled."""

import math
from collections.abc import Sequence
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skmohn._core._categories import read_table
from skmohn._core._fitting import gather_warnings, table_is_read, warn_caller
from skmohn._core._long import say_when_long
from skmohn._core._optional import import_optional
from skmohn._core._sklearn import N_JOBS, Interval, validate_params
from skmohn._core._types import TableLike
from skmohn.mohn import MOHNRegressor
from skmohn.mohn._engine import NUMERIC, InputCoding

# Rows that are different in a large bootstrap sample.
_FRACTION = 1.0 - math.exp(-1.0)


@validate_params(
    {
        "model": [MOHNRegressor],
        "X": ["array-like", "sparse matrix"],
        "y": ["array-like"],
        "n_resamples": [Interval(Integral, 1, None, closed="left")],
        "replace": ["boolean"],
        "n_jobs": [*N_JOBS],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=False,
)
def selection_stability(
    model: MOHNRegressor,
    X: TableLike,
    y: ArrayLike,
    *,
    n_resamples: int = 50,
    replace: bool = False,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Any:
    """Refit on resampled rows and count how often each term is selected.

    Terms that depend on a few rows are missing from many refits; terms that the data
    support recur in nearly all.

    Parameters
    ----------
    model : MOHNRegressor
        Estimator to clone and refit; it need not be fitted.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to draw from.
    y : array-like of shape (n_samples,)
        Target values.
    n_resamples : int, default=50
        Number of refits. With 50, a frequency of a half has a standard error of 0.07.
    replace : bool, default=False
        Whether to draw as many rows as there are, with replacement: the bootstrap,
        where `sd` estimates the standard error of a weight. But duplicated rows
        duplicate their noise, which a search mistakes for structure, so that false
        terms are far more frequent ([1]_). Without replacement, 63.2 % of the rows are
        drawn, as many as are distinct in a bootstrap sample.
    n_jobs : int, default=None
        Number of refits to run in parallel. It does not affect the result.
    random_state : int, RandomState instance or None, default=None
        Seed for the rows and for each refit.

    Returns
    -------
    DataFrame
        A row for each term selected in any refit, the most frequent first: ``term`` (as
        in :meth:`~skmohn.MOHNRegressor.terms_table`), ``order``, ``frequency``
        (fraction of refits with a nonzero weight), ``mean`` and ``sd`` of the weight
        over those refits (NaN for a single one). Columns are coded as in a fit on all
        rows; levels of numeric columns are chosen anew in each refit and are different
        terms if they differ.

    Raises
    ------
    ImportError
        If pandas is not installed: it comes with the extra ``frames``.

    Warns
    -----
    ConvergenceWarning
        If refits ended early, with their number.

    References
    ----------
    .. [1] De Bin, R., Janitza, S., Sauerbrei, W. and Boulesteix, A.-L. (2016).
       Subsampling versus bootstrapping in resampling-based model selection for
       multivariable regression. Biometrics 72.

    Examples
    --------
    >>> from skmohn import MOHNRegressor
    >>> from skmohn.datasets import make_sparse_walsh
    >>> from skmohn.inspection import selection_stability
    >>> data = make_sparse_walsh(
    ...     8, {1: 2, 2: 1}, weight_distribution="uniform", snr=20, random_state=0
    ... )
    >>> model = MOHNRegressor("pursuit")
    >>> table = selection_stability(
    ...     model, data.X, data.y, n_resamples=10, random_state=0
    ... )
    >>> list(table["frequency"][:3])
    [1.0, 1.0, 1.0]
    """
    # Needed at the end: the refits take long.
    pandas = import_optional("pandas", "selection_stability")
    seeds = check_random_state(random_state).randint(2**31, size=int(n_resamples))
    reader: Any = clone(model)
    # A column of targets is one target.
    table, y = read_table(reader, X, y, reset=True)
    ends = InputCoding.learn(table)
    with say_when_long("selection_stability", "lower n_resamples to save time"):
        refits: Any = Parallel(n_jobs=n_jobs)(
            delayed(_refit)(model, X, y, replace, ends, seed) for seed in seeds.tolist()
        )
    n_early = sum(ended_early for _, ended_early in refits)
    if n_early:
        warn_caller(
            f"{n_early} of {n_resamples} refits ended early and count with the best "
            "model that they found; fit the model itself to see why",
            ConvergenceWarning,
        )
    found = {}
    for weights, _ in refits:
        for name, order, weight in weights:
            found.setdefault((name, order), []).append(weight)
    rows = [
        (name, order, len(own) / n_resamples, np.mean(own), _deviation(own))
        for (name, order), own in found.items()
    ]
    rows.sort(key=lambda row: (-row[2], -abs(row[3]), row[0]))
    columns = list(zip(*rows, strict=True)) or [[]] * 5
    titles = "term", "order", "frequency", "mean", "sd"
    plain = (np.array(column).tolist() for column in columns)
    return pandas.DataFrame(dict(zip(titles, plain, strict=True)))


def _deviation(values: Sequence[float]) -> float:
    return np.std(values, ddof=1) if len(values) > 1 else np.nan


def _draw(n_rows: int, replace: bool, random: np.random.RandomState) -> NDArray:
    """Numbers of times that rows are drawn."""
    if replace:
        return np.bincount(random.randint(n_rows, size=n_rows), minlength=n_rows)
    counts = np.zeros(n_rows)
    counts[random.permutation(n_rows)[: math.ceil(_FRACTION * n_rows)]] = 1.0
    return counts


def _refit(
    model: MOHNRegressor,
    X: TableLike,
    y: NDArray,
    replace: bool,
    ends: InputCoding,
    seed: int,
) -> tuple[list[tuple[str, int, float]], bool]:
    """Names, orders and weights of the terms of one refit, and if it ended early."""
    random = np.random.RandomState(seed)
    counts = _draw(len(y), replace, random)
    refit: Any = clone(model)
    refit.set_params(random_state=random.randint(2**31))
    with gather_warnings() as gathered, table_is_read():
        refit.fit(X, y, sample_weight=counts)
    is_late = [isinstance(warning, ConvergenceWarning) for warning in gathered]
    for warning, late in zip(gathered, is_late, strict=True):
        if not late:
            warn_caller(warning)
    vocabulary = refit.term_names_
    recoded = _recode(refit, ends)
    names = vocabulary.name_terms(vocabulary.indices(recoded))
    weights = [
        (name, len(term), weight)
        for name, (term, weight) in zip(names, recoded.items(), strict=True)
        if weight
    ]
    return weights, any(is_late)


def _recode(refit: MOHNRegressor, ends: InputCoding) -> dict[tuple, float]:
    """Weights of a refit's terms for columns coded by other ends."""
    # A numeric column may have another range in a refit, where it is coded as ``slope *
    # x + shift``; a product of such columns is a sum over its subsets.
    weights = dict(zip(refit.terms_, refit.weights_.tolist(), strict=True))
    own = refit.coding_
    # A column that is constant in a refit is in none of its terms.
    numeric = (ends.kind == NUMERIC) & (own.high > own.low)
    width = np.where(numeric, own.high - own.low, 1.0)
    slope = np.where(numeric, (ends.high - ends.low) / width, 1.0)
    shift = np.where(numeric, (ends.low + ends.high - own.low - own.high) / width, 0.0)
    recoded = dict.fromkeys(weights, 0.0)
    for term, weight in weights.items():
        columns = [i for i in term if not isinstance(i, tuple) and numeric[i]]
        for n_left_out in range(len(columns) + 1):
            for left_out in combinations(columns, n_left_out):
                rest = tuple(i for i in term if i not in left_out)
                if rest in recoded:
                    kept = [i for i in columns if i not in left_out]
                    factor = np.prod(slope[kept]) * np.prod(shift[list(left_out)])
                    recoded[rest] += weight * float(factor)
    return recoded
