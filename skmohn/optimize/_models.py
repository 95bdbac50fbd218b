"""What may be searched, and how its variables are called and coded."""

import sys
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmohn._core._control import control_of
from skmohn._core._validation import input_dtype, is_whole
from skmohn.mohn import MOHNRegressor
from skmohn.mohn._table.coding import CONSTANT, NUMERIC
from skmohn.mohn._walsh.hypergraph import Hypergraph
from skmohn.optimize._dense import ProductSum

# A product of k variables that are 0 or 1 has 2^k terms over -1 and +1.
_MOST_TERMS = 10**7
_LARGEST_INDEX = 10**8


@dataclass(frozen=True)
class Model:
    """A function of -1/+1 codes, and what its user calls and writes them.

    Attributes
    ----------
    graph : Hypergraph or ProductSum
        Over the codes; variables count from 0.

    names : sequence of hashables
        One for each variable.

    low, high : ndarrays of shape (n_variables,)
        The values that are coded as -1 and +1. NaN when none is known.

    is_range : ndarray of shape (n_variables,), bool
        Whether values in between are allowed; two-valued otherwise.

    dtype : dtype
        Of the user's values.
    """

    graph: Hypergraph | ProductSum
    names: tuple | range
    low: np.ndarray
    high: np.ndarray
    is_range: np.ndarray
    dtype: np.dtype

    @property
    def n_variables(self):
        """How many variables there are, those without a weight included."""
        return len(self.names)

    def find(self, name, index):
        """The place of a variable called by its name or its index."""
        if name in index and not isinstance(name, bool):
            return index[name]
        if is_whole(name) and 0 <= name < self.n_variables:
            return int(name)
        known = ", ".join(repr(known) for known in self.names[:8])
        more = ", ..." if self.n_variables > 8 else ""
        raise ValueError(
            f"fixed has {name!r}, which is neither a name nor an index of one of the "
            f"{self.n_variables} variables ({known}{more})"
        )

    def encode(self, i, value, parameter):
        """Code of one value of variable ``i``, in [-1, 1].

        Raises
        ------
        ValueError
            If the variable cannot have it.
        """
        low, high = float(self.low[i]), float(self.high[i])
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = np.nan
        if number in (low, high):
            return -1.0 if number == low else 1.0
        if np.isnan(low) and np.isnan(number) and isinstance(value, float):
            return -1.0  # a column of which no value is known
        if self.is_range[i] and low < number < high:
            return ((number - low) - (high - number)) / (high - low)
        if low == high or np.isnan(low):
            allowed = f"only {low:g}"
        elif self.is_range[i]:
            allowed = f"from {low:g} to {high:g}"
        else:
            allowed = f"{low:g} or {high:g}"
        raise ValueError(
            f"{parameter} gives variable {self.names[i]!r} the value {value!r}; the "
            f"model knows {allowed}"
        )

    def decode(self, codes, constants):
        """The user's values of rows of -1/+1 codes.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, n_variables)

        constants : dict of int to float
            Values of the variables that were fixed.

        Returns
        -------
        values : ndarray of shape (n_rows, n_variables)
            Of the user's dtype, or float64 if that cannot hold them.
        """
        values = np.where(codes < 0, self.low, self.high)
        values[:, list(constants)] = list(constants.values())
        own = values.astype(self.dtype)
        return own if np.array_equal(own, values, equal_nan=True) else values


def read_model(model):
    """Make a model of whatever may be searched.

    Parameters
    ----------
    model : MOHNRegressor, Hypergraph, Mapping, BinaryPolynomial, BinaryQuadraticModel

    Returns
    -------
    model : Model

    Raises
    ------
    TypeError
        If it is something else.

    ValueError
        If a term or a weight makes no sense.
    """
    if isinstance(model, MOHNRegressor):
        read = _read_regressor(model)
    elif isinstance(model, Hypergraph):
        read = _two_valued(model, range(model.n_variables), (-1, 1))
    elif _is_from_dimod(model):
        read = _read_dimod(model)
    elif isinstance(model, Mapping):
        graph, names = _read_terms(model)
        read = _two_valued(graph, names, (-1, 1))
    else:
        raise TypeError(
            "model must be a fitted MOHNRegressor, a dict from tuples of variables to "
            "weights, or dimod's BinaryPolynomial or BinaryQuadraticModel, got "
            f"{type(model).__name__}; from a Pipeline or a search, pass the fitted step"
        )
    graph = read.graph
    if not (np.isfinite(graph.coef).all() and np.isfinite(graph.intercept)):
        raise ValueError("model has weights that are not finite")
    with np.errstate(over="ignore"):
        largest = np.abs(graph.coef).sum() + abs(graph.intercept)
    if not np.isfinite(largest):
        raise ValueError(
            "model has weights whose sum exceeds the largest float, 1.8e308: divide "
            "all of them by the same number"
        )
    return read


def _read_regressor(model):
    check_is_fitted(model)
    coding = model.coding_
    is_constant = coding.kind == CONSTANT
    _refuse_categories(model)
    if not model.model_.is_listed:
        dense, bounds = model.model_, (-np.inf, np.inf)
        if control_of(model, "dense_control").clip:
            bounds = dense.low, dense.high
        graph = ProductSum.of(
            dense.products(), coding.usable, model.n_features_in_, bounds
        )
    else:
        graph = Hypergraph(tuple(model.terms_), model.weights_, float(model.intercept_))
        _require_terms_only(model, graph)
    return Model(
        graph,
        tuple(getattr(model, "feature_names_in_", range(model.n_features_in_))),
        coding.low,
        np.where(is_constant, coding.low, coding.high),
        coding.kind == NUMERIC,
        input_dtype(model),
    )


def _refuse_categories(model):
    """Refuse an estimator with columns that are not a line."""
    if model.is_categorical_.any() or model.one_hot_groups_:
        raise ValueError(
            "model has categorical columns, but only numeric columns can be "
            "searched: encode the categories as numbers before the fit"
        )
    if not model.model_.is_listed and model.coding_.thresholds:
        raise ValueError(
            "model has levels of numeric columns, but only their two ends can be "
            'searched: fit with dense_control__numeric="multilinear"'
        )


def _require_terms_only(model, graph):
    """Refuse an estimator that is more than its listed terms."""
    coding = model.coding_
    ends = np.array([coding.low, coding.high])
    # Without names of columns, of which scikit-learn would say that the ends lack them.
    nameless = copy(model)
    vars(nameless).pop("feature_names_in_", None)
    predicted = nameless.predict(ends)
    codes = np.tile([[-1.0], [1.0]], len(coding.kind))
    scale = np.abs(graph.coef).sum() + abs(graph.intercept) + 1.0
    if not np.allclose(graph.predict(codes), predicted, rtol=0.0, atol=1e-6 * scale):
        raise ValueError(
            "model predicts something else than the sum of its terms_, but only that "
            "sum can be searched: fit with a strategy that lists all its weights"
        )


def _two_valued(graph, names, values):
    low, high = (np.full(len(names), value, dtype=float) for value in values)
    return Model(
        graph, names, low, high, np.zeros(len(names), dtype=bool), np.dtype(np.int8)
    )


def _is_from_dimod(model):
    """Whether it is one of dimod's models; nobody has one without dimod."""
    dimod = sys.modules.get("dimod")
    if dimod is None:
        return False
    return isinstance(model, dimod.BinaryPolynomial | dimod.BinaryQuadraticModel)


def _read_dimod(model):
    values = (-1, 1) if model.vartype.name == "SPIN" else (0, 1)
    if hasattr(model, "quadratic"):
        variables = list(model.variables)
        spin = model.change_vartype("SPIN", inplace=False)
        weights = {(): spin.offset}
        weights.update(((i,), bias) for i, bias in spin.linear.items())
        weights.update(spin.quadratic.items())
    else:
        variables = _sorted(model.variables)
        n_terms = sum(2 ** len(term) for term in model)
        if values == (0, 1) and n_terms > _MOST_TERMS:
            raise ValueError(
                f"model has products of 0/1 variables that expand to {n_terms:,} terms "
                f"over -1/+1, more than {_MOST_TERMS:,}"
            )
        weights = model.to_spin(copy=True)
    return _two_valued(_read_terms(weights, variables)[0], tuple(variables), values)


def _read_terms(weights, names=None):
    """Hypergraph and names of a mapping from sets of labels to weights."""
    for term in weights:
        if not isinstance(term, tuple | frozenset):
            raise TypeError(
                "model must have tuples or frozensets of variables as keys, such as "
                f"(0, 1) or ('a',), got {term!r}"
            )
        if len(set(term)) < len(term):
            raise ValueError(f"model has the term {term!r}, which repeats a variable")
    if names is None:
        names = _names_of({label for term in weights for label in term})
    place = names if isinstance(names, range) else {k: i for i, k in enumerate(names)}
    summed = {}
    for term, weight in weights.items():
        key = tuple(sorted(int(place[label]) for label in term))
        summed[key] = summed.get(key, 0.0) + float(weight)
    graph = Hypergraph.sort(list(summed), list(summed.values()), 0.0)
    return graph, names


def _names_of(labels):
    """Variables 0, 1, ... up to the largest if all are indices, else the labels."""
    if not all(isinstance(label, Integral) and label >= 0 for label in labels):
        return tuple(_sorted(labels))
    largest = max(labels, default=-1)
    if largest >= _LARGEST_INDEX:
        raise ValueError(
            f"model has the variable {largest}, but integers must be indices from 0: "
            "use strings as names"
        )
    return range(int(largest) + 1)


def _sorted(labels):
    """Labels in an order that does not depend on their hashes."""
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=repr)
