"""How sure a discovery is: which terms come back when rows are drawn again."""

import math
from itertools import combinations
from numbers import Integral

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, validate_params
from sklearn.utils.parallel import Parallel, delayed

from skmohn._core._fitting import gather_warnings, warn_caller
from skmohn.mohn import MOHNRegressor
from skmohn.mohn._show import to_frame
from skmohn.mohn._table.coding import NUMERIC, InputCoding
from skmohn.mohn._table.columns import read_table

# Rows that are different in a large bootstrap sample.
_SHARE = 1.0 - math.exp(-1.0)


@validate_params(
    {
        "model": [MOHNRegressor],
        "X": ["array-like", "sparse matrix"],
        "y": ["array-like"],
        "n_resamples": [Interval(Integral, 1, None, closed="left")],
        "replace": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=False,
)
def selection_stability(
    model, X, y, *, n_resamples=50, replace=False, n_jobs=None, random_state=None
):
    """Refit on rows drawn at random and count how often each term is selected.

    A term that is there because of a few rows is missing from many refits; one that the
    data really support comes back in nearly all of them.

    Parameters
    ----------
    model : MOHNRegressor
        The parameters of the refits; it need not be fitted and is left as it is.

    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to draw from.

    y : array-like of shape (n_samples,)
        Target values.

    n_resamples : int, default=50
        Number of refits. The standard error of a frequency of a half is 0.07 with 50.

    replace : bool, default=False
        Whether rows are drawn with replacement, as many as there are: the bootstrap,
        after which `sd` is the standard error of a weight. Rows that come twice have
        the same noise twice, which a search takes for structure, so that false terms
        are far more frequent ([1]_). Without replacement 63.2 % of the rows are drawn,
        as many as are different in a bootstrap sample.

    n_jobs : int, default=None
        Refits at once, by joblib. The result does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Draws the rows, and the `random_state` of each refit.

    Returns
    -------
    DataFrame, or dict of lists without pandas
        A row for each term that was selected in any refit, the most frequent first:
        ``term`` (named as in :meth:`~skmohn.MOHNRegressor.structure_table`), ``order``,
        ``frequency`` (the share of the refits that have it, with a weight that is not
        0), ``mean`` and ``sd`` of its weight over those refits, the latter NaN for a
        single one. Weights are for columns coded as in a fit on all rows; levels of
        numeric columns are drawn anew in each refit, and are other terms when they
        differ.

    Warns
    -----
    ConvergenceWarning
        When refits ended before they were done; it says how many.

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
    seeds = check_random_state(random_state).randint(2**31, size=int(n_resamples))
    reader = clone(model)
    table, _ = read_table(reader, X, y, reset=True)
    ends = InputCoding.learn(table)
    refits = Parallel(n_jobs=n_jobs)(
        delayed(_refit)(model, X, y, replace, ends, seed) for seed in seeds.tolist()
    )
    n_early = sum(ended_early for _, ended_early in refits)
    if n_early:
        warn_caller(
            f"{n_early} of {n_resamples} refits ended before they were done; they "
            "count with the best model they found. Fit the model itself to see why",
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
    return to_frame(dict(zip(titles, plain, strict=True)))


def _deviation(values):
    return np.std(values, ddof=1) if len(values) > 1 else np.nan


def _draw(n_rows, replace, random):
    """How often each row is drawn."""
    if replace:
        return np.bincount(random.randint(n_rows, size=n_rows), minlength=n_rows)
    counts = np.zeros(n_rows)
    counts[random.permutation(n_rows)[: math.ceil(_SHARE * n_rows)]] = 1.0
    return counts


def _refit(model, X, y, replace, ends, seed):
    """Names, orders and weights of the terms of one refit, and if it ended early."""
    random = np.random.RandomState(seed)
    counts = _draw(len(y), replace, random)
    refit = clone(model).set_params(random_state=random.randint(2**31))
    with gather_warnings() as gathered:
        refit.fit(X, y, sample_weight=counts)
    is_late = [isinstance(warning, ConvergenceWarning) for warning in gathered]
    for warning, late in zip(gathered, is_late, strict=True):
        if not late:
            warn_caller(warning)
    vocabulary = refit.vocabulary_
    names = dict(zip(vocabulary.labels, vocabulary.names, strict=True))
    weights = [
        (" x ".join(names[label] for label in term), len(term), weight)
        for term, weight in _recode(refit, ends).items()
        if weight
    ]
    return weights, any(is_late)


def _recode(refit, ends):
    """Weights of a refit's terms for columns coded by other ends.

    A numeric column may have another range in a refit, where it is coded as
    ``slope * x + shift``; a product of such columns is a sum over its subsets.
    """
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
