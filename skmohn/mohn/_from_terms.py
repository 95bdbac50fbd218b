"""Models made of known weights."""

from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, validate_parameter_constraints

from skmohn._core._fitting import History
from skmohn._core._validation import read_names, read_sets, read_vector
from skmohn.mohn._sparse.model import SparseModel
from skmohn.mohn._table.coding import TWO_VALUED, InputCoding
from skmohn.mohn._table.columns import Categories, repeated_name
from skmohn.mohn._task import given_terms
from skmohn.mohn._walsh.hypergraph import Hypergraph

_CONSTRAINTS = {
    "n_features": [Interval(Integral, 1, None, closed="left"), None],
    "intercept": [Real],
}


class FromTerms:
    """`from_terms` of the estimators."""

    @classmethod
    def from_terms(
        cls,
        terms,
        weights,
        *,
        intercept=0.0,
        n_features=None,
        feature_names=None,
        low: ArrayLike = -1.0,
        high: ArrayLike = 1.0,
    ) -> Self:
        """Make a fitted model of known weights, without data.

        Parameters
        ----------
        terms : sequence of sequences of int or str
            The features that each weight connects, as indices or names.

        weights : array-like of shape (n_terms,)
            The weights, for features coded as -1 and +1.

        intercept : float, default=0.0
            The constant.

        n_features : int, default=None
            None for as many as there are names or, without names, for one more than the
            largest index.

        feature_names : sequence of str, default=None
            Names of the columns.

        low, high : float or array-like of shape (n_features,), default=-1.0 and 1.0
            The values of each column that are coded as -1 and +1.

        Returns
        -------
        MOHNRegressor
            With ``strategy="given"`` and these terms; its standard errors and noise are
            0, as those of an exact recovery.

        Raises
        ------
        ValueError
            If a term holds an unknown feature, the same one twice or none, if terms or
            names repeat, if there is no feature, or if numbers do not fit together or
            are not finite.
        """
        terms = read_sets(terms, "terms")
        given = {"n_features": n_features, "intercept": intercept}
        validate_parameter_constraints(_CONSTRAINTS, given, "from_terms")
        feature_names = _read_names(feature_names)
        n_features = _count(terms, n_features, feature_names)
        model = cls(strategy="given", terms=terms)
        known = given_terms(model, n_features, feature_names)
        weights = read_vector(weights, "weights", ensure_all_finite=False)
        if len(weights) != len(known):
            raise ValueError(
                f"weights must have one weight for each of the {len(known)} terms, got "
                f"{len(weights)}"
            )
        with np.errstate(over="ignore"):
            largest = np.abs(weights).sum() + abs(intercept)
        if not np.isfinite(largest):
            raise ValueError(
                "weights and intercept must be finite, and so must the sum of their "
                f"absolute values, which is {largest}"
            )
        graph = Hypergraph.sort(known, weights, intercept)
        model.terms_, model.weights_ = list(graph.terms), graph.coef
        model.intercept_ = graph.intercept
        model.coding_ = _coding(low, high, n_features)
        model._categories = Categories({}, model.handle_unknown)
        model._weight_unit = 1.0
        model.model_ = SparseModel.certain(graph)
        model.standard_errors_ = np.zeros(len(weights))
        model.noise_ = 0.0
        model.stopping_reason_ = "none: made from known terms"
        model.search_coverage_ = []
        model.history_ = History()
        model.n_iter_ = 0
        model.n_features_in_ = n_features
        if feature_names is not None:
            model.feature_names_in_ = feature_names
        return model


def _read_names(feature_names):
    """Names of columns as an array, or None."""
    if feature_names is None:
        return None
    names = read_names(feature_names, "feature_names")
    repeated = repeated_name(names)
    if repeated is not None:
        raise ValueError(f"feature_names has {repeated!r} more than once")
    return np.array(names, dtype=object)


def _count(terms, n_features, feature_names):
    """How many features there are."""
    if feature_names is not None:
        if n_features not in (None, len(feature_names)):
            raise ValueError(
                f"n_features={n_features}, and feature_names has {len(feature_names)}"
            )
        return len(feature_names)
    if n_features is not None:
        return n_features
    indices = (int(i) for term in terms for i in term if isinstance(i, Integral))
    n_features = max(indices, default=-1) + 1
    if not (n_features or terms):
        raise ValueError(
            "without terms, say by n_features or feature_names which features there are"
        )
    return n_features


def _coding(low, high, n_features):
    """The coding with these two values in each column."""
    ends = []
    for name, values in (("low", low), ("high", high)):
        if not np.iterable(values):
            values = [values] * n_features
        values = read_vector(values, name, ensure_all_finite=False)
        if len(values) != n_features:
            raise ValueError(
                f"{name} must be a number or have shape ({n_features},), got "
                f"{values.shape}"
            )
        ends.append(values)
    low, high = ends
    if not (np.isfinite(low).all() and np.isfinite(high).all() and np.all(low < high)):
        raise ValueError("low must be finite and below high in every column")
    return InputCoding(np.full(n_features, TWO_VALUED, dtype="<U10"), low, high)
