"""Association scans: p-values of all columns, and of all pairs of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from skmohn._core._categories import column_names
from skmohn._core._units import power_of_two_scale
from skmohn.mohn._design.design import make_design
from skmohn.mohn._genotypes import Genotypes, encode, read_inputs
from skmohn.mohn._regressor import MOHNRegressor
from skmohn.mohn._reports import to_frame
from skmohn.mohn._sparse.active_set import ActiveSet
from skmohn.mohn._sparse.significance import p_values_of_further, scan_with


def require_regressor(model: object, parameter: str) -> None:
    """Refuse all but a regressor fitted to one target."""
    if not isinstance(model, MOHNRegressor):
        raise TypeError(
            f"{parameter} must be a MOHNRegressor, got {type(model).__name__}; from a "
            "Pipeline or a search, pass the fitted step, such as pipeline[-1]"
        )
    check_is_fitted(model)
    if hasattr(model, "estimators_"):
        raise ValueError(
            f"{parameter} has {len(model.estimators_)} targets, and this takes one: "
            f"pass {parameter}.estimators_[k]"
        )


@dataclass(frozen=True)
class AssociationScan:
    """Result of :func:`association_scan`: p-values of columns and of pairs.

    Parameters
    ----------
    names : list of str of length n_columns
        Names of the columns.
    columns : ndarray of shape (n_columns,)
        Their p-values; NaN for columns that do not vary, or have more than two
        categories.
    pairs : ndarray of shape (n_pairs, 2), int
        The most significant pairs, by column, the first ones first.
    pair_p_values : ndarray of shape (n_pairs,)
        Their p-values.
    n_tested : int
        Number of all pairs; 0 if none were tested.
    terms : list of tuples of int
        Main effects and pairs of the estimator.
    term_p_values : ndarray of shape (n_terms,)
        Their p-values, tested like all others.
    columns_left : ndarray of shape (n_columns,) or None, default=None
        The same as `columns` for the residual of the estimator's terms, by least
        squares; None if it has no list of terms.
    pairs_left : ndarray of shape (n_pairs_left,) or None, default=None
        The same for the most significant pairs of this residual.

    Examples
    --------
    >>> import numpy as np
    >>> from skmohn.mohn import AssociationScan
    >>> scan = AssociationScan(
    ...     ["a", "b"],
    ...     np.array([0.3, 0.02]),
    ...     np.array([[0, 1]]),
    ...     np.array([0.001]),
    ...     n_tested=1,
    ...     terms=[],
    ...     term_p_values=np.array([]),
    ... )
    >>> scan.to_frame()
        term  order  p_value
    0  a x b      2    0.001
    1      b      1    0.020
    2      a      1    0.300
    """

    names: list[str]
    columns: NDArray[np.float64]
    pairs: NDArray[np.intp]
    pair_p_values: NDArray[np.float64]
    n_tested: int
    terms: list[tuple[int, ...]]
    term_p_values: NDArray[np.float64]
    columns_left: NDArray[np.float64] | None = None
    pairs_left: NDArray[np.float64] | None = None

    def to_frame(self) -> Any:
        """List columns and the most significant pairs as a DataFrame.

        Returns
        -------
        DataFrame
            ``term``, ``order`` and ``p_value``, not corrected for the number of tests;
            the smallest first. Columns without a p-value come last.

        Raises
        ------
        ImportError
            If pandas is not installed: it comes with the extra ``frames``.
        """
        pairs = [
            " x ".join(self.names[j] for j in pair) for pair in self.pairs.tolist()
        ]
        p_values = np.append(self.columns, self.pair_p_values)
        order = np.argsort(p_values, kind="stable").tolist()
        labels = [*self.names, *pairs]
        table = {
            "term": [labels[i] for i in order],
            "order": [1 + (i >= len(self.names)) for i in order],
            "p_value": p_values[order].tolist(),
        }
        return to_frame(table, "to_frame")


def association_scan(
    estimator: MOHNRegressor,
    X: ArrayLike | Genotypes,
    y: ArrayLike,
    *,
    n_jobs: int | None = None,
) -> AssociationScan:
    """Test all columns, and all pairs of them, for an association with a target.

    Each is tested separately, by Student's t of its correlation with the target, or
    given the `terms` that are always in the model of the estimator, if any; and again
    given all terms of the estimator. One pass over all pairs serves both. If residuals
    are clearly not normal, p-values of rare columns are larger, as in
    :meth:`MOHNRegressor.significance_table`.

    Parameters
    ----------
    estimator : MOHNRegressor
        Fitted estimator: it encodes the columns. Pairs are not tested if its
        `max_order` is 1.
    X : {array-like, Genotypes} of shape (n_samples, n_columns)
        Rows, such as those of `fit`. p-values of terms found on the same rows are too
        small.
    y : array-like of shape (n_samples,)
        Their target values.
    n_jobs : int, default=None
        Number of parts of the pairs that are compared in parallel.

    Returns
    -------
    AssociationScan
        With p-values that are not corrected for the number of tests.

    Raises
    ------
    TypeError
        If the estimator is not a MOHNRegressor.
    ValueError
        If it has several targets, X is not as in its fit, or nothing varies.

    See Also
    --------
    skmohn.inspection.ManhattanDisplay : Draws columns and pairs along the table.
    skmohn.inspection.QQDisplay : Compares p-values with those by chance.

    Examples
    --------
    >>> from skmohn import MOHNRegressor
    >>> from skmohn.datasets import make_gwas
    >>> from skmohn.mohn import association_scan
    >>> data = make_gwas(
    ...     200, 500, n_pairs=1, n_main_effects=1, pair_variance=0.2, random_state=0
    ... )
    >>> model = MOHNRegressor("pursuit", max_order=2, selection="ebic")
    >>> scan = association_scan(model.fit(data.X, data.y), data.X, data.y)
    >>> tuple(scan.pairs[0].tolist()) in data.terms
    True
    """
    null, usable = _null_model(estimator, X, y)
    models, has_pairs = [null], estimator.max_order != 1
    if estimator.model_.is_sparse and estimator.terms_:
        terms = estimator.term_names_.indices(estimator.terms_)
        models.append(ActiveSet.of(null.design, null.y, terms))
    scan, *left = scan_with(models, has_pairs=has_pairs, n_jobs=n_jobs)
    index = {column: i for i, column in enumerate(usable.tolist())}
    terms = [
        term
        for term in estimator.terms_
        if len(term) <= 1 + has_pairs and all(label in index for label in term)
    ]
    inputs = [tuple(index[label] for label in term) for term in terms]
    n_columns, term_names = estimator.n_features_in_, estimator.term_names_
    names = dict(zip(term_names.labels, term_names.names, strict=True))
    return AssociationScan(
        names=[names.get(j, name) for j, name in enumerate(column_names(estimator))],
        columns=_by_column(scan.singles, usable, n_columns),
        pairs=usable[scan.pairs],
        pair_p_values=scan.of_pairs,
        n_tested=scan.n_tried,
        terms=terms,
        term_p_values=_p_values(null, inputs),
        columns_left=_by_column(left[0].singles, usable, n_columns) if left else None,
        pairs_left=left[0].of_pairs if left else None,
    )


def _null_model(
    estimator: MOHNRegressor, X: Any, y: Any
) -> tuple[ActiveSet, NDArray[np.intp]]:
    """Model of the mean and of terms that are always there; columns of its inputs."""
    require_regressor(estimator, "estimator")
    X, y = read_inputs(estimator, X, y)
    coding = estimator.coding_
    names = getattr(estimator, "feature_names_in_", None)
    rows = encode(coding, X, names)
    if not len(coding.usable):
        raise ValueError("X has no column that varies in fit: there is nothing to test")
    if not np.ptp(y):
        raise ValueError("y does not vary: there is nothing to test")
    # Squares of tiny and of huge numbers would be lost.
    y = y / power_of_two_scale(y)
    return ActiveSet(
        make_design(rows.inputs), y, estimator._fixed_terms()
    ), coding.usable


def _p_values(null: ActiveSet, terms: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
    """p-values of terms of one column or two, in their order."""
    found = np.full(len(terms), np.nan)
    for order in (1, 2):
        of_order = [k for k, term in enumerate(terms) if len(term) == order]
        sets = np.array([terms[k] for k in of_order], dtype=np.int32)
        found[of_order] = p_values_of_further(null, sets.reshape(-1, order))
    return found


def _by_column(
    p_values: NDArray[np.float64], usable: NDArray[np.intp], n_columns: int
) -> NDArray[np.float64]:
    """p-values of all columns, of which some are inputs; NaN for the others."""
    found = np.full(n_columns, np.nan)
    found[usable] = p_values
    return found
