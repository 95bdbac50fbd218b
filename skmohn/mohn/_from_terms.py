"""Models made of known weights, and known weights made of models."""

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skmohn._core._names import index_names
from skmohn._core._sklearn import Interval, validate_parameter_constraints
from skmohn._core._validation import is_integer, read_names, read_vector, require_memory
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn._spike_slab.model import SpikeSlabModel
from skmohn.mohn._table.coding import TWO_VALUED, InputCoding
from skmohn.mohn._table.term_names import find_sets

_CONSTRAINTS = {
    "n_features": [Interval(Integral, 1, None, closed="left"), None],
    "intercept": [Real],
}


def read_known(
    terms: Sequence[tuple[int | str, ...]],
    weights: ArrayLike,
    intercept: float,
    n_features: int | None,
    feature_names: Iterable[str] | None,
    low: ArrayLike,
    high: ArrayLike,
) -> tuple[WalshPolynomial, InputCoding, NDArray[np.object_] | None]:
    """Check the arguments of `MOHNRegressor.from_terms`."""
    given = {"n_features": n_features, "intercept": intercept}
    validate_parameter_constraints(_CONSTRAINTS, given, "from_terms")
    feature_names = _read_names(feature_names)
    n_features = _count(terms, n_features, feature_names)
    require_memory(
        100.0 * n_features,
        f"A model of {n_features:,} columns",
        "number columns from 0, or name them",
    )
    known = find_sets(terms, n_features, index_names(feature_names))
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
    graph = WalshPolynomial.sort(known, weights, intercept)
    return graph, _coding(low, high, n_features), feature_names


def _read_names(feature_names: Iterable[str] | None) -> NDArray[np.object_] | None:
    """Names of columns as an array, or None."""
    if feature_names is None:
        return None
    names = read_names(feature_names, "feature_names", of="column")
    return np.array(names, dtype=object)


def _count(
    terms: Sequence[tuple[int | str, ...]],
    n_features: int | None,
    feature_names: NDArray[np.object_] | None,
) -> int:
    """Number of features."""
    if feature_names is not None:
        if n_features not in (None, len(feature_names)):
            raise ValueError(
                f"n_features={n_features}, but feature_names has {len(feature_names)}"
            )
        return len(feature_names)
    if n_features is not None:
        return n_features
    indices = (int(i) for term in terms for i in term if is_integer(i))
    n_features = max(indices, default=-1) + 1
    if not (n_features or terms):
        raise ValueError("without terms, pass n_features or feature_names")
    return n_features


def _coding(low: ArrayLike, high: ArrayLike, n_features: int) -> InputCoding:
    """Coding with these two values in each column."""
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
    lowest, highest = ends
    is_finite = np.isfinite(ends).all()
    if not (is_finite and np.all(lowest < highest)):
        raise ValueError("low must be finite and below high in every column")
    return InputCoding(np.full(n_features, TWO_VALUED, dtype="<U10"), lowest, highest)


def read_polynomial(model: Any) -> WalshPolynomial | None:
    """All weights of a fitted model, as a polynomial in its columns."""
    # None where there are more weights than can be listed, as of a Gaussian process.
    # Refused where it was fitted to genotypes: -1 and +1 are none of their counts.
    if getattr(model, "_variants", None) is not None:
        raise ValueError(
            "model was fitted to Genotypes, whose columns are counts minus their "
            'means, not -1 and +1: fit strategy="given" to a table of the columns in '
            "terms_, such as X[:, columns].counts()"
        )
    if model.model_.is_sparse:
        return WalshPolynomial(
            tuple(model.terms_), model.weights_, float(model.intercept_)
        )
    if isinstance(model.model_, SpikeSlabModel) and not model.model_.is_transformed:
        graph, label = model.model_.polynomial, model.term_names_.label
        return WalshPolynomial(
            tuple(map(label, graph.terms)), graph.weights, graph.intercept
        )
    return None
