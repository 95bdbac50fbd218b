"""Rubin's rules: estimates and intervals from several imputations of a table."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.stats import t as student_t
from sklearn.base import clone
from sklearn.utils import check_random_state, check_scalar, resample

from skmohn._core._optional import import_optional
from skmohn._core._sklearn import is_pandas_na, safe_indexing
from skmohn._core._types import TableLike, check_array
from skmohn._core._units import binary_units

# Estimates of a completed table, and their variances.
Analysis = Callable[[Any], tuple[ArrayLike, ArrayLike]]
_CATEGORIES = str, bytes, bool, np.bool_


@dataclass(frozen=True)
class CombinedEstimates:
    """Estimates of several imputations, combined by Rubin's rules.

    The result of :func:`combine_estimates`.

    Parameters
    ----------
    estimates : ndarray of shape (n_estimates,)
        Means over the imputations.
    standard_errors : ndarray of shape (n_estimates,)
        Roots of the total variances: within, plus ``1 + 1 / n_imputations`` times
        between.
    within_variance : ndarray of shape (n_estimates,)
        Mean of the variances: the uncertainty within completed tables.
    between_variance : ndarray of shape (n_estimates,)
        Variance of the estimates over the imputations: the uncertainty due to missing
        values.
    degrees_of_freedom : ndarray of shape (n_estimates,)
        Of Student's t, by Barnard and Rubin.
    missing_information : ndarray of shape (n_estimates,)
        Fraction of the information that missing values cost.
    n_imputations : int
        Number of imputations.

    Examples
    --------
    >>> from skmohn.inspection import combine_estimates
    >>> combined = combine_estimates([1.1, 0.9, 1.3], [0.04, 0.05, 0.03])
    >>> combined.estimates.round(3), combined.degrees_of_freedom.round(3)
    (array([1.1]), array([6.125]))
    """

    estimates: np.ndarray
    standard_errors: np.ndarray
    within_variance: np.ndarray
    between_variance: np.ndarray
    degrees_of_freedom: np.ndarray
    missing_information: np.ndarray
    n_imputations: int

    def confidence_interval(
        self, level: float = 0.95
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compute confidence intervals.

        Parameters
        ----------
        level : float, default=0.95
            Probability that an interval contains the true value.

        Returns
        -------
        ndarray of shape (n_estimates,)
            The low ends.
        ndarray of shape (n_estimates,)
            The high ends.
        """
        check_scalar(
            level, "level", Real, min_val=0, max_val=1, include_boundaries="neither"
        )
        reach = student_t.ppf(0.5 + level / 2.0, self.degrees_of_freedom)
        reach = reach * self.standard_errors
        return self.estimates - reach, self.estimates + reach

    def p_values(self, null: float = 0.0) -> NDArray[np.float64]:
        """Test each estimate against a value, two-sided.

        Parameters
        ----------
        null : float, default=0.0
            The value.

        Returns
        -------
        ndarray of shape (n_estimates,)
            Probabilities of estimates as far off by chance.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.abs(self.estimates - null) / self.standard_errors
        # An estimate without an error that is the value itself is no farther off.
        ratio = np.where(self.estimates == null, 0.0, ratio)
        return 2.0 * student_t.sf(ratio, self.degrees_of_freedom)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, with one row per estimate.

        Returns
        -------
        DataFrame
            ``estimate``, ``standard_error``, ``ci_low`` and ``ci_high`` (95 %),
            ``p_value`` (against 0), ``degrees_of_freedom``, ``missing_information``.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        """
        low, high = self.confidence_interval()
        columns = {
            "estimate": self.estimates,
            "standard_error": self.standard_errors,
            "ci_low": low,
            "ci_high": high,
            "p_value": self.p_values(),
            "degrees_of_freedom": self.degrees_of_freedom,
            "missing_information": self.missing_information,
        }
        return import_optional("pandas", "to_frame").DataFrame(columns)


def combine_estimates(
    estimates: ArrayLike, variances: ArrayLike, *, complete_df: float | None = None
) -> CombinedEstimates:
    """Combine estimates from several imputations of a table, by Rubin's rules [1]_.

    Parameters
    ----------
    estimates : array-like of shape (n_imputations, n_estimates)
        The estimates from each completed table; of shape (n_imputations,) for a single
        one.
    variances : array-like of the same shape
        Squares of their standard errors.
    complete_df : float, default=None
        Degrees of freedom if nothing were missing, such as rows minus coefficients of a
        regression [2]_; None for many.

    Returns
    -------
    CombinedEstimates
        Estimates, standard errors, intervals and p-values.

    References
    ----------
    .. [1] Rubin, D. B. (1987). Multiple imputation for nonresponse in surveys.
    .. [2] Barnard, J. and Rubin, D. B. (1999). Small-sample degrees of freedom with
       multiple imputation. Biometrika 86(4).

    Examples
    --------
    >>> from skmohn.inspection import combine_estimates
    >>> combined = combine_estimates([1.1, 0.9, 1.3], [0.04, 0.05, 0.03])
    >>> combined.standard_errors.round(3)
    array([0.306])
    """
    read = {"ensure_2d": False, "dtype": np.float64, "ensure_min_samples": 2}
    found, squares = (
        check_array(np.asarray(values), input_name=name, **read)
        for name, values in (("estimates", estimates), ("variances", variances))
    )
    if found.shape != squares.shape or np.any(squares < 0.0):
        raise ValueError(
            "variances must be at least 0, one for each of the estimates of shape "
            f"{found.shape}, got shape {squares.shape}"
        )
    if complete_df is not None:
        check_scalar(
            complete_df, "complete_df", Real, min_val=0, include_boundaries="neither"
        )
    m = len(found)
    found, squares = found.reshape(m, -1), squares.reshape(m, -1)
    # In units in which squares are within range.
    units = np.maximum(binary_units(found), binary_units(np.sqrt(squares)))
    found, squares = found / units, squares / units / units
    within, between = squares.mean(axis=0), found.var(axis=0, ddof=1)
    hidden = (1.0 + 1.0 / m) * between
    total = within + hidden
    with np.errstate(divide="ignore", invalid="ignore"):
        fraction = np.where(total > 0.0, hidden / total, 0.0)
        df = (m - 1.0) / fraction**2
        if complete_df is not None:
            # Barnard and Rubin (1999), equation 3.
            observed = (complete_df + 1.0) / (complete_df + 3.0) * complete_df
            observed = observed * (1.0 - fraction)
            df = 1.0 / (1.0 / df + 1.0 / observed)
    # With r = fraction / (1 - fraction), (r + 2 / (df + 3)) / (r + 1).
    missing = fraction + (1.0 - fraction) * 2.0 / (df + 3.0)
    missing = np.where(between > 0.0, missing, 0.0)
    means, errors = units * found.mean(axis=0), units * np.sqrt(total)
    with np.errstate(over="ignore"):
        within, between = units * (units * within), units * (units * between)
    return CombinedEstimates(means, errors, within, between, df, missing, m)


def analyze_imputations(
    analysis: Analysis,
    imputer: Any,
    X: TableLike,
    *,
    n_imputations: int = 10,
    bootstrap: bool = True,
    complete_df: float | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> CombinedEstimates:
    """Impute a table several times, analyze each, and combine the estimates.

    Parameters
    ----------
    analysis : callable
        Takes a completed table, as `imputer` returns it, and returns estimates and
        their variances, numbers or arrays of shape (n_estimates,).
    imputer : estimator
        Unfitted, with ``sample_posterior=True``, or a pipeline with such a step:
        missing values must be drawn, as means ignore their uncertainty. For instance,
        :class:`~skmohn.EnergyNetImputer`.
    X : table of shape (n_samples, n_features)
        Rows with missing values.
    n_imputations : int, default=10
        Number of imputations, and of fits of the imputer.
    bootstrap : bool, default=True
        Whether each fit is to rows drawn with replacement, so that the estimates
        include the uncertainty of the imputer; otherwise intervals are too narrow.
    complete_df : float, default=None
        As in :func:`combine_estimates`.
    random_state : int, RandomState instance or None, default=None
        Seed of the imputers and of the rows.

    Returns
    -------
    CombinedEstimates
        Estimates, standard errors, intervals and p-values.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    >>> from sklearn.impute import IterativeImputer
    >>> from skmohn.inspection import analyze_imputations
    >>> rng = np.random.default_rng(0)
    >>> X = rng.multivariate_normal([0, 1], [[1, 0.8], [0.8, 1]], 200)
    >>> X[X[:, 0] > 0.5, 1] = np.nan
    >>> mean = lambda table: (table[:, 1].mean(), table[:, 1].var() / len(table))
    >>> imputer = IterativeImputer(sample_posterior=True)
    >>> combined = analyze_imputations(mean, imputer, X, random_state=0)
    >>> low, high = combined.confidence_interval()
    >>> bool(low[0] < 1.0 < high[0])
    True
    """
    check_scalar(n_imputations, "n_imputations", Integral, min_val=2)
    if not any(_parameters(imputer, "sample_posterior").values()):
        raise ValueError(
            f"imputer is {imputer!r}, which does not draw missing values: set "
            "sample_posterior=True, as in EnergyNetImputer"
        )
    random_state = check_random_state(random_state)
    categories = _categories_of_rows(X) if bootstrap else []
    results = []
    for _ in range(n_imputations):
        seed = random_state.randint(2**31 - 1)
        rows: Any = _draw_rows(X, categories, random_state) if bootstrap else X
        own: Any = clone(imputer)
        seeds = dict.fromkeys(_parameters(own, "random_state"), seed)
        fitted = own.set_params(**seeds).fit(rows)
        results.append(analysis(fitted.transform(X)))
    estimates, variances = zip(*results, strict=True)
    return combine_estimates(estimates, variances, complete_df=complete_df)


def _parameters(imputer: Any, name: str) -> dict[str, Any]:
    """Parameter of this name, or those of the steps if the imputer has none."""
    if hasattr(imputer, name):
        return {name: getattr(imputer, name)}
    parts = imputer.get_params()
    return {key: parts[key] for key in parts if key.endswith(f"__{name}")}


def _categories_of_rows(X: TableLike) -> list[NDArray[np.intp]]:
    """Number of the category of each row, a list of columns; -1 where it is missing."""
    # All numbers of a column that has no type of categories are one.
    if issparse(X):
        return []
    dtypes = getattr(X, "dtypes", ())
    found = []
    for j, column in enumerate(np.asarray(X, dtype=object).T):
        is_known = ~np.array([_is_missing(value) for value in column], dtype=bool)
        names = list(column[is_known])
        if j >= len(dtypes) or not hasattr(list(dtypes)[j], "categories"):
            names = [each if isinstance(each, _CATEGORIES) else None for each in names]
        numbers = {name: k for k, name in enumerate(dict.fromkeys(names))}
        found.append(np.full(len(column), -1))
        found[-1][is_known] = [numbers[name] for name in names]
    return found


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA."""
    return value is None or is_pandas_na(value) or bool(value != value)


def _draw_rows(
    X: TableLike,
    categories: list[NDArray[np.intp]],
    random_state: np.random.RandomState,
) -> Any:
    """Rows drawn with replacement, and one for each category that these lack."""
    # An imputer knows the categories that it was fitted on alone, and refuses others.
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    drawn = resample(np.arange(n_rows), random_state=random_state)
    lacking: set[int] = set()
    for column in categories:
        others = np.where(np.isin(column, column[drawn]), -1, column)
        first = np.unique(others, return_index=True)[1]
        lacking.update(i for i in first.tolist() if others[i] >= 0)
    return safe_indexing(X, np.append(drawn, sorted(lacking)).astype(np.intp))
