"""Models that can be searched: names and coding of their variables."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skmohn._core._categories import Categories, to_number
from skmohn._core._names import find_column
from skmohn._core._options import control_of
from skmohn._core._times import from_seconds, seconds
from skmohn._core._tuned import tuned
from skmohn._core._validation import input_dtype, is_integer
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn import MOHNClassifier, MOHNRegressor
from skmohn.mohn._engine import (
    CATEGORIES,
    NUMERIC,
    ONE_HOT,
    InputCoding,
    SparseClassModel,
    read_polynomial,
    require_regressor,
)
from skmohn.optimize._product_sums import DiscreteProductSum, GPMean


@dataclass(frozen=True)
class ModelConstants:
    """Limits of memory."""

    # A product of k variables that are 0 or 1 has 2^k terms over -1 and +1.
    max_terms: int = tuned(10**7, "cost")
    max_index: int = tuned(10**8, "cost")


_LIMITS = ModelConstants()

# Names or values in a message.
_N_LISTED: Final = 8


@dataclass(frozen=True)
class Columns:
    """Columns of a user's table: names, and possible values."""

    # Inside, all values are numbers, as :meth:`Categories.encode` writes them.

    names: tuple | range  # one for each column
    # (n_columns,); numbers that are coded as -1; NaN when none is known.
    low: np.ndarray
    high: np.ndarray  # (n_columns,); numbers that are coded as +1
    is_range: np.ndarray  # (n_columns,), bool; numbers in between are allowed
    dtype: np.dtype  # of the user's table; float64 where columns differ
    # Meaning of the numbers; None where they are the user's values.
    categories: Categories | None = None
    # By column, where there are more than two.
    n_categories: dict = field(default_factory=dict)

    def find(self, name: Any, index: dict[Any, list[int]]) -> int:
        """Index of a column by its name or its index."""
        if not isinstance(name, bool):
            column = find_column(name, index, len(self.names), "fixed")
            if column is not None:
                return column
        known = ", ".join(repr(known) for known in self.names[:_N_LISTED])
        more = ", ..." if len(self.names) > _N_LISTED else ""
        raise ValueError(
            f"fixed has {name!r}, which is neither a name nor an index of one of the "
            f"{len(self.names)} variables ({known}{more})"
        )

    def read(self, j: int, value: Any, parameter: str) -> float:
        """Number of a value of column ``j``; refuse impossible values."""
        low, high = float(self.low[j]), float(self.high[j])
        if self.categories is None:
            number = to_number(value)
        else:
            number = self.categories.number(j, value)
        is_known = not np.isnan(number)
        if is_integer(value) and is_known and j not in self.n_categories:
            # Floats would take it for its neighbor.
            is_known = int(number) == value
            number = number if is_known else np.nan
        if number in (low, high) or (is_known and j in self.n_categories):
            return number
        if np.isnan(low) and not is_known and isinstance(value, float):
            return number  # a column of which no value is known
        if self.is_range[j] and low < number < high:
            return number
        is_huge = is_integer(value) and abs(value) > sys.float_info.max
        shown = "of an integer beyond any float" if is_huge else repr(value)
        raise ValueError(
            f"{parameter} gives variable {self.names[j]!r} the value {shown}; the "
            f"model takes {self._allowed(j)}"
        )

    def _allowed(self, j: int) -> str:
        """Values of a column, in words."""
        if j in self.n_categories:
            numbers = np.arange(self.n_categories[j])
        else:
            numbers = np.unique([self.low[j], self.high[j]])
        table = np.tile(self.low, (len(numbers), 1))
        table[:, j] = numbers
        *others, last = map(_in_words, self.write(table)[:, j].tolist())
        if self.is_range[j]:
            return f"from {others[0]} to {last}"
        if len(others) > _N_LISTED:
            others[_N_LISTED:] = ["..."]
        return f"{', '.join(others)} or {last}" if others else f"only {last}"

    def code(self, j: int, number: float) -> float:
        """Position of a number on the line from -1 to +1."""
        low, high = self.low[j], self.high[j]
        return ((number - low) - (high - number)) / (high - low)

    def write(self, table: NDArray[np.float64]) -> NDArray:
        """Convert a table of numbers to the user's values."""
        # They have the user's dtype, or float64 if that cannot hold them; they are
        # objects where some are no numbers.
        if self.categories is not None:
            values = self.categories.decode(table)
            if not {type(value) for value in values.flat} <= {bool, int, float}:
                return values
            table = values.astype(float)
            # Integers above 2**53 may be categories.
            if np.any((values != table) & ~np.isnan(table)):
                return values
        own = table.astype(self.dtype)
        return own if np.array_equal(own, table, equal_nan=True) else table


def _in_words(value: object) -> str:
    """Value in a message."""
    if isinstance(value, float):
        return f"{value:g}"
    return repr(value) if isinstance(value, str) else str(value)


@dataclass(frozen=True)
class Model:
    """Function of variables that are each in one of some states."""

    # A WalshPolynomial is one of the codes; its variables have two states.
    graph: WalshPolynomial | GPMean
    columns: Columns  # of the user's table
    # (n_columns,), int; variable of each column: one-hot columns share one.
    owner: np.ndarray
    # (n_columns,), int; number of the state in which a one-hot column is 1; -1 for
    # other columns.
    category: np.ndarray
    sizes: np.ndarray  # (n_variables,), int; number of states of each
    # (n_states,); values of the states of one variable after the other in a table of
    # numbers; of one-hot columns the number of the category.
    numbers: np.ndarray
    # (n_states,); positions of states on the line from -1 to +1: the first of two at
    # -1.
    codes: np.ndarray

    @classmethod
    def of(
        cls,
        graph: WalshPolynomial | GPMean,
        columns: Columns,
        owner: NDArray[np.integer],
        category: NDArray[np.integer],
        states: Sequence[Any],
    ) -> Self:
        """Make one of a list of the numbers of each variable's states."""
        sizes = np.array([len(own) for own in states], dtype=int)
        codes = np.ones(sizes.sum())
        codes[np.cumsum(sizes) - sizes] = -1.0
        numbers = np.concatenate([*states, []])
        return cls(graph, columns, owner, category, sizes, numbers, codes)

    @cached_property
    def first(self) -> NDArray[np.integer]:
        """First state of each variable."""
        return np.cumsum(self.sizes) - self.sizes

    def hold(self, numbers: Mapping[int, float]) -> Self:
        """Restrict the model to states in which some columns have given numbers."""
        # Refuses numbers that leave no state of a variable.
        if not numbers:
            return self
        own, codes = self.numbers.copy(), self.codes.copy()
        is_kept = np.ones(len(own), dtype=bool)
        for j, number in numbers.items():
            first, size = self.first[self.owner[j]], self.sizes[self.owner[j]]
            states = slice(first, first + size)
            seen = own[states]
            if self.category[j] >= 0:
                seen = (seen == self.category[j]).astype(float)
            fits = (seen == number) | np.isnan(seen)  # a column of unknown values
            if not fits.any():  # in between
                own[first], codes[first] = number, self.columns.code(j, number)
                fits[0] = True
            is_kept[states] &= fits
        sizes = np.add.reduceat(is_kept.astype(int), self.first)
        self._require_one(sizes > 0, "fixed")
        return replace(self, sizes=sizes, numbers=own[is_kept], codes=codes[is_kept])

    def nearest(self, numbers: NDArray[np.float64]) -> NDArray[np.integer]:
        """State of each variable that is nearest to the numbers of the columns."""
        # Refuses one-hot columns that are not 0 but for one 1.
        is_plain, is_hot = self.category < 0, (self.category >= 0) & (numbers == 1.0)
        n_hot = np.bincount(self.owner[is_plain | is_hot], minlength=len(self.sizes))
        self._require_one(n_hot == 1, "x0")
        wanted = np.empty(len(self.sizes))
        wanted[self.owner[is_plain]] = numbers[is_plain]
        wanted[self.owner[is_hot]] = self.category[is_hot]
        with np.errstate(over="ignore"):
            distance = np.abs(self.numbers - np.repeat(wanted, self.sizes))
        distance[np.isnan(distance)] = 0.0
        variables = np.repeat(np.arange(len(self.sizes)), self.sizes)
        # Of two that are as near the last.
        order = np.lexsort((-np.arange(len(distance)), distance, variables))
        return order[self.first] - self.first

    def _require_one(self, is_one: NDArray[np.bool_], parameter: str) -> None:
        """Refuse one-hot columns that do not have exactly one 1."""
        if not is_one.all():
            group = np.flatnonzero(self.owner == np.argmin(is_one))
            names = [self.columns.names[j] for j in group]
            raise ValueError(
                f"{parameter} must allow a 1 in one of the one-hot columns {names}, "
                "and 0 in all others"
            )

    def table(self, points: NDArray[np.integer]) -> NDArray[np.float64]:
        """Table of numbers at rows of states."""
        numbers = self.numbers[self.first + points][:, self.owner]
        return np.where(self.category < 0, numbers, numbers == self.category)

    def write(self, points: NDArray[np.integer]) -> NDArray:
        """User's values at rows of states."""
        return self.columns.write(self.table(points))

    @cached_property
    def function(self) -> WalshPolynomial | DiscreteProductSum:
        """DiscreteProductSum of states, or a WalshPolynomial of codes."""
        if isinstance(self.graph, WalshPolynomial):
            return self.graph
        points = np.minimum(np.arange(self.sizes.max())[:, None], self.sizes - 1)
        return self.graph.at(self.table(points), self.owner, self.sizes)

    def predict(self, points: NDArray[np.integer]) -> NDArray[np.float64]:
        """Values at rows of states."""
        is_coded = isinstance(self.graph, WalshPolynomial)
        return self.function.predict(
            self.codes[self.first + points] if is_coded else points
        )


def read_model(model: Any) -> Model:
    """Make a searchable model of an object, or refuse it."""
    if isinstance(model, MOHNRegressor):
        read = _read_regressor(model)
    elif isinstance(model, MOHNClassifier):
        read = _read_classifier(model)
    elif isinstance(model, WalshPolynomial):
        read = _two_valued(model, range(model.n_variables), (-1, 1))
    elif _is_from_dimod(model):
        read = _read_dimod(model)
    elif isinstance(model, Mapping):
        graph, names = _read_terms(model)
        read = _two_valued(graph, names, (-1, 1))
    else:
        raise TypeError(
            "model must be a fitted MOHNRegressor or MOHNClassifier, a dict from "
            "tuples of variables to weights, or dimod's BinaryPolynomial or "
            "BinaryQuadraticModel, got "
            f"{type(model).__name__}; from a Pipeline or a search, pass the fitted step"
        )
    graph = read.graph
    if not (np.isfinite(graph.weights).all() and np.isfinite(graph.intercept)):
        raise ValueError("model has weights that are not finite")
    with np.errstate(over="ignore"):
        largest = np.abs(graph.weights).sum() + abs(graph.intercept)
    if not np.isfinite(largest):
        raise ValueError(
            "model has weights whose sum exceeds the largest float, 1.8e308: divide "
            "all of them by the same number"
        )
    return read


def _read_regressor(model: MOHNRegressor) -> Model:
    require_regressor(model, "model")
    coding, categories = model.coding_, model.term_names_.categories
    graph = read_polynomial(model)
    if graph is not None:
        return _read_listed(model, graph, categories, "predict")
    dense: Any = model.model_
    bounds = -np.inf, np.inf
    if control_of(model, "gp_options").clip:
        bounds = dense.y_min, dense.y_max
    graph = GPMean(dense.to_product_sum(), coding, bounds, dense.transform)
    columns = _columns_of(model, categories)
    return Model.of(graph, columns, *_states_of(coding, categories.kinds))


def _read_classifier(model: MOHNClassifier) -> Model:
    """Log-odds of the second of two classes, if they are a sum of products."""
    check_is_fitted(model)
    if len(model.classes_) != 2:
        raise ValueError(
            f"model has {len(model.classes_)} classes, but only the log-odds of the "
            "second of two can be searched: fit it on y == label for the class that "
            "you look for"
        )
    if not isinstance(model.model_, SparseClassModel):
        raise ValueError(
            "model averages log-odds that are not a sum of products, or has more "
            'products than can be listed: fit MOHNClassifier with strategy="logistic"'
        )
    if not all(is_integer(i) for term in model.terms_ for i in term):
        raise ValueError(
            "model has products of columns with more than two categories, which cannot "
            "be searched: fit it on columns of OneHotEncoder, and hold those of other "
            "categories at 0 by fixed"
        )
    graph = WalshPolynomial.sort(
        model.terms_, model.weights_[0], float(model.intercept_[0])
    )
    categories = model.term_names_.categories
    return _read_listed(model, graph, categories, "decision_function")


def _read_listed(
    model: Any, graph: WalshPolynomial, categories: Categories, method: str
) -> Model:
    """Polynomial, which has the lines of numeric columns alone."""
    columns = _columns_of(model, categories)
    read = Model.of(graph, columns, *_states_of(model.coding_, None))
    _require_terms_only(model, read, method)
    return read


def _columns_of(model: Any, categories: Categories) -> Columns:
    """Columns of the table that an estimator was fitted on."""
    coding = model.coding_
    return Columns(
        tuple(getattr(model, "feature_names_in_", range(model.n_features_in_))),
        coding.low,
        np.where(coding.is_constant, coding.low, coding.high),
        coding.kind == NUMERIC,
        input_dtype(model),
        categories if categories.of_text or categories.kinds else None,
        {
            j: alphabet.size
            for (j, *_), alphabet in zip(
                coding.categoricals, coding.alphabets, strict=True
            )
            if coding.kind[j] == CATEGORIES
        },
    )


def _states_of(
    coding: InputCoding, kinds: Mapping[int, str] | None
) -> tuple[NDArray[np.integer], NDArray[np.integer], list[Any]]:
    """Variable of each column, its category there, and the states of variables."""
    # Between these states a model is linear: it is largest and smallest at some of
    # them. `kinds` are those of columns, see `Categories`; None for a model without
    # levels.
    n_columns = len(coding.kind)
    owner, category = np.arange(n_columns), np.full(n_columns, -1)
    ends = zip(coding.low.tolist(), coding.high.tolist(), strict=True)
    is_constant = coding.is_constant.tolist()
    states: dict[int, Any] = {
        j: own[:1] if is_constant[j] else own for j, own in enumerate(ends)
    }
    for group, (size, *_) in zip(coding.categoricals, coding.alphabets, strict=True):
        first, *others = group
        if first in coding.thresholds:
            if kinds is not None:
                states[first] = _level_ends(coding, first, kinds.get(first, ""))
            continue
        states[first] = np.arange(size)
        if coding.kind[first] == ONE_HOT:
            owner[others], category[list(group)] = first, np.arange(size)
            for other in others:
                del states[other]
    return np.unique(owner, return_inverse=True)[1], category, list(states.values())


def _level_ends(coding: InputCoding, j: int, kind: str) -> NDArray[np.float64]:
    """Ends of the levels of a column; of one of times those that can be written."""
    ends = coding.level_ends(j)
    if not kind.endswith("64"):
        return ends
    before = from_seconds(ends, kind)
    tick: Any = np.datetime_data(before.dtype)[0]
    after = before + np.timedelta64(1, tick)
    before, after = (seconds(times[:, None], 0) for times in (before, after))
    levels, level = (
        np.searchsorted(coding.thresholds[j], numbers, side="right")
        for numbers in (ends, before)
    )
    return np.unique(np.where((level == levels) & (before >= ends[0]), before, after))


def _require_terms_only(model: Any, read: Model, method: str) -> None:
    """Refuse an estimator that is more than its listed terms."""
    graph = read.graph
    ends = np.array([np.zeros(len(read.sizes), dtype=int), read.sizes - 1])
    # Without names of columns: scikit-learn would warn that the ends have none.
    nameless = copy(model)
    vars(nameless).pop("feature_names_in_", None)
    predicted = getattr(nameless, method)(read.write(ends))
    scale = np.abs(graph.weights).sum() + abs(graph.intercept) + 1.0
    values = read.predict(ends)
    if not np.allclose(values, predicted, rtol=0.0, atol=1e-6 * scale):
        raise ValueError(
            "model predicts something other than the sum of its terms_, but only that "
            "sum can be searched: fit with a strategy that lists all its weights"
        )


def _two_valued(
    graph: WalshPolynomial, names: tuple | range, values: tuple[int, int]
) -> Model:
    n_variables = len(names)
    ends = np.tile(np.array(values, dtype=float), (n_variables, 1))
    is_range = np.zeros(n_variables, dtype=bool)
    low, high = ends.T
    columns = Columns(names, low, high, is_range, np.dtype(np.int8))
    return Model(
        graph,
        columns,
        np.arange(n_variables),
        np.full(n_variables, -1),
        np.full(n_variables, 2),
        ends.ravel(),
        np.tile([-1.0, 1.0], n_variables),
    )


def _is_from_dimod(model: Any) -> bool:
    """Whether it is one of dimod's models, for which dimod must be loaded."""
    dimod = sys.modules.get("dimod")
    if dimod is None:
        return False
    return isinstance(model, dimod.BinaryPolynomial | dimod.BinaryQuadraticModel)


def _read_dimod(model: Any) -> Model:
    values = (-1, 1) if model.vartype.name == "SPIN" else (0, 1)
    if hasattr(model, "quadratic"):
        variables = list(model.variables)
        spin = model.change_vartype("SPIN", inplace=False)
        weights: Any = {(): spin.offset}
        weights.update(((i,), bias) for i, bias in spin.linear.items())
        weights.update(spin.quadratic.items())
    else:
        variables = _sorted(model.variables)
        n_terms = sum(2 ** len(term) for term in model)
        if values == (0, 1) and n_terms > _LIMITS.max_terms:
            raise ValueError(
                f"model has products of 0/1 variables that expand to {n_terms:,} terms "
                f"over -1/+1, more than {_LIMITS.max_terms:,}"
            )
        weights = model.to_spin(copy=True)
    return _two_valued(*_read_terms(weights, tuple(variables)), values)


def _read_terms(
    weights: Mapping[Any, Any], names: tuple | range | None = None
) -> tuple[WalshPolynomial, tuple | range]:
    """WalshPolynomial and names of a mapping from sets of labels to weights."""
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
    index = names if isinstance(names, range) else {k: i for i, k in enumerate(names)}
    summed = {}
    for term, weight in weights.items():
        key = tuple(sorted(int(index[label]) for label in term))
        summed[key] = summed.get(key, 0.0) + _read_weight(term, weight)
    graph = WalshPolynomial.sort(list(summed), list(summed.values()), 0.0)
    return graph, names


def _read_weight(term: object, weight: Any) -> float:
    """Weight of a term as a float."""
    try:
        return float(weight)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"model has the weight {weight!r} for the term {term!r}, which is not a "
            "float"
        ) from None


def _names_of(labels: Iterable[Any]) -> tuple | range:
    """Variables 0, 1, ... up to the largest if all are indices, else the labels."""
    if not all(isinstance(label, Integral) and int(label) >= 0 for label in labels):
        return tuple(_sorted(labels))
    largest = max(labels, default=-1)
    if largest >= _LIMITS.max_index:
        raise ValueError(
            f"model has the variable {largest}, but integers must be indices from 0: "
            "use strings as names"
        )
    return range(int(largest) + 1)


def _sorted(labels: Iterable[Any]) -> list[Any]:
    """Labels in an order that does not depend on their hashes."""
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=repr)
