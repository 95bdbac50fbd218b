"""Names of inputs and categories: columns, categories and levels of the table."""

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmohn._core._categories import Categories
from skmohn._core._names import find_column, index_names, name_columns, unique_names
from skmohn._core._types import Term
from skmohn._core._validation import is_integer
from skmohn.mohn._table.coding import CATEGORIES, NUMERIC, InputCoding
from skmohn.mohn._table.rows import sizes_of
from skmohn.mohn._table.variables import (
    Marginals,
    Variable,
    make_categorical,
    make_input,
    make_levels,
)

# Between the members of a product.
_TIMES = " x "


class TermNames:
    """Names and numbers of inputs, then of each category of each categorical."""

    def __init__(
        self,
        coding: InputCoding,
        # Of the categorical columns, and of the others their kind.
        categories: Categories,
        columns: Sequence[str] | None,  # column names of the table; None for x0, x1, ..
    ) -> None:
        known = categories.known()
        self.categories = categories
        self._given = columns
        self.index = index_names(columns)  # columns by the names that the user passed
        names = unique_names(name_columns(columns, len(coding.kind)))
        inputs = coding.usable.tolist()
        self.alphabets = coding.alphabets  # of each categorical
        # Whether a categorical is more than the levels of an input.
        self.has_categories = len(coding.categoricals) > len(coding.thresholds)
        self.n_categoricals = len(inputs) + len(coding.categoricals)
        # Entries of `terms_`: a column, or a column and category.
        self.labels: list[Any] = list(inputs)
        # Unique: what is made of a column and a category is not another column's name.
        self.names = [names[j] for j in inputs]
        self.n_features = len(coding.kind)  # columns of the table
        # By column, the categories that are -1 and +1.
        self.two_categories: dict[int, list[Any]] = {}
        for index, j in enumerate(inputs):
            if j in known:
                ends = [int(coding.low[j]), int(coding.high[j])]
                self.two_categories[j] = known[j][ends].tolist()
                self.names[index] += f"={self.two_categories[j][1]}"
        variances = np.where(coding.kind[inputs] == NUMERIC, 1 / 3, 1.0).tolist()
        for members, (size, *_) in zip(
            coding.categoricals, self.alphabets, strict=True
        ):
            variances += [1.0 / size] * size
            j = members[0]
            if j in coding.thresholds:
                self.labels += [(j, level) for level in range(size)]
                self.names += _name_levels(names[j], coding.thresholds[j])
            elif coding.kind[j] == CATEGORIES:
                self.labels += [(j, category) for category in known[j].tolist()]
                self.names += [f"{names[j]}={category}" for category in known[j]]
            else:
                self.labels += members
                self.names += [names[j] for j in members]
        is_made = [
            isinstance(i, tuple) or i in self.two_categories for i in self.labels
        ]
        made = np.flatnonzero(is_made).tolist()
        unique = unique_names([self.names[m] for m in made], names)
        for m, name in zip(made, unique, strict=True):
            self.names[m] = name
        # (n_members,); what each adds over uniform inputs: 1 for two values, 1/3 for a
        # range, and for one of L categories 1/L of the square of the function there.
        self.variances = np.array(variances)
        self._coding = coding
        groups = [1] * len(inputs) + sizes_of(self.alphabets)
        # (n_members,), int; categories of one categorical share a number.
        self.groups = np.repeat(np.arange(len(groups)), groups)

    def __repr__(self) -> str:
        return f"<TermNames of {self.describe() or 'nothing'}>"

    @property
    def column_names(self) -> list[str]:
        """Names of all columns; x0, x1, ... where the user gave them none."""
        return name_columns(self._given, self.n_features)

    def without_levels(self) -> "TermNames":
        """Names without the levels of numeric columns."""
        return TermNames(self._coding.without_levels(), self.categories, self._given)

    def describe(self) -> str:
        """Count the inputs and categoricals, in words."""
        n_ordered = sum(alphabet.is_ordered for alphabet in self.alphabets)
        n_unordered = len(self.alphabets) - n_ordered
        n_inputs = self.n_categoricals - len(self.alphabets)
        kinds = [f"{n_inputs} inputs"] if n_inputs else []
        if n_ordered:
            kinds[0] += f", {n_ordered} of them with levels,"
        if n_unordered:
            kinds.append(f"{n_unordered} categorical columns")
        return " and ".join(kinds)

    def uniform_variances(self, terms: Sequence[Term]) -> NDArray[np.float64]:
        """Factor of a squared weight in the variance over uniform inputs."""
        return np.array([np.prod(self.variances[list(term)]) for term in terms])

    def variables(self) -> list[Variable]:
        """Inputs and categoricals as variables, each alone, as weights see them."""
        n_inputs = self.n_categoricals - len(self.alphabets)
        spreads = self.variances[:n_inputs].tolist()
        inputs = [make_input(i, spread) for i, spread in enumerate(spreads)]
        return inputs + [
            make_categorical(k, alphabet.size)
            for k, alphabet in enumerate(self.alphabets)
        ]

    def variable_columns(self) -> list[tuple[int, ...]]:
        """Columns of each of `variables`; a one-hot group has several."""
        inputs = self._coding.usable.tolist()
        return [*((j,) for j in inputs), *self._coding.categoricals]

    def distribute_others(
        self,
        terms: Sequence[Term],
        parts: NDArray[np.float64],
        contributions: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Contributions of columns by weights that are not listed."""
        # A weight's contribution is shared equally by what it connects. That of a
        # one-hot group is that of its first column. `parts` are contributions of the
        # listed weights, `contributions` by all weights, of inputs, then of
        # categoricals.
        others = contributions.copy()
        for term, part in zip(terms, parts.tolist(), strict=True):
            others[self.groups[list(term)]] -= part / len(term)
        columns = np.array([own[0] for own in self.variable_columns()], dtype=int)
        return np.bincount(columns, others, minlength=self.n_features)

    def columns(
        self, marginals: Marginals | None = None
    ) -> tuple[list[Variable], list[tuple[int, ...]]]:
        """Variables of the table, where levels belong to an input; their columns."""
        # Without marginals they are distributed evenly, over their range or categories.
        coding, found, removed = self._coding, self.variables(), set()
        inputs, columns = coding.usable.tolist(), self.variable_columns()
        for k, (j, *_) in enumerate(coding.categoricals):
            if j in coding.thresholds:
                i = inputs.index(j)
                found[i] = make_levels(i, k, coding.coded_thresholds(j))
                removed.add(len(inputs) + k)
        kept = [index for index in range(len(found)) if index not in removed]
        variables = [found[p] for p in kept]
        if marginals is not None:
            variables = [marginals.variable(variable) for variable in variables]
        return variables, [columns[p] for p in kept]

    def by_column(self, indices: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sobol indices of variables as those of columns."""
        found = np.zeros(self.n_features)
        for columns, index in zip(self.columns()[1], indices, strict=True):
            found[list(columns)] = index
        return found

    def indices(self, terms: Iterable[tuple[Any, ...]]) -> list[tuple[int, ...]]:
        """Members of sets, from their labels in `terms_`."""
        index = {label: m for m, label in enumerate(self.labels)}
        return [tuple(index[label] for label in term) for term in terms]

    def label(self, term: Term) -> tuple[Any, ...]:
        """Labels of the members of a set, as in `terms_`."""
        return tuple(self.labels[m] for m in term)

    def name_terms(self, terms: Sequence[Sequence[int]]) -> list[str]:
        """Unique names of different sets of members, such as ``"dose x sex=male"``."""
        # A product does not have the name of a member, nor that of a product of others.
        factors = [f"({name})" if _TIMES in name else name for name in self.names]
        products = [
            _TIMES.join(factors[m] for m in term) for term in terms if len(term) > 1
        ]
        made = iter(unique_names(products, self.names))
        return [next(made) if len(term) > 1 else self.names[term[0]] for term in terms]

    def count(self, order: int) -> int:
        """Number of sets of one order; none has two categories of a categorical."""
        counts = [1] + [0] * order
        for size in np.bincount(self.groups).tolist():
            for k in range(order, 0, -1):
                counts[k] += size * counts[k - 1]
        return counts[order]

    def find(self, term: Any, parameter: str = "term") -> tuple[int, Term]:
        """Find the members that a user names, and their sign."""
        # -1 where an odd number of them is the first of two categories.
        sign, found = 1, []
        if not np.iterable(term) and not is_integer(term):
            raise TypeError(
                f"{parameter} must be a feature or a list of features, got {term!r}"
            )
        is_single = isinstance(term, str) or is_integer(term)
        members: Any = (term,) if is_single else term
        for given in members:
            is_pair = isinstance(given, tuple | list) and len(given) == 2
            column, category = given if is_pair else (given, None)
            parts: tuple[Any, Any] = column, category
            if not all(isinstance(part, Hashable) for part in parts):
                raise TypeError(
                    f"{parameter} has {given!r}, which is neither a feature nor a pair "
                    "(feature, category)"
                )
            column = find_column(column, self.index, self.n_features, parameter)
            if column is None:
                raise ValueError(
                    f"{parameter} has {given!r}, which is not a feature: use "
                    f"indices from 0 to {self.n_features - 1} or column names"
                )
            label = (column, category) if is_pair else column
            if is_pair and category in self.two_categories.get(column, ()):
                sign *= -1 if category == self.two_categories[column][0] else 1
                label = column
            if label not in self.labels:
                why = self._lack(column)
                raise ValueError(f"{parameter} has {given!r}, which {why}")
            found.append(self.labels.index(label))
        groups = self.groups[found]
        if len(np.unique(groups)) < len(found):
            raise ValueError(f"{parameter} has {term!r}, which repeats a feature")
        return sign, tuple(sorted(found))

    def _lack(self, column: int) -> str:
        """Why a column has no weight in the way it was given."""
        categories = [
            label[1]
            for label in self.labels
            if isinstance(label, tuple) and label[0] == column
        ]
        categories = categories or self.two_categories.get(column, [])
        if categories:
            return f"is not one of its categories: use pairs with one of {categories}"
        if column in self.labels:
            return "has no categories: use the column alone"
        return "was constant in fit and has no weight"


def _name_levels(name: str, thresholds: NDArray[np.float64]) -> list[str]:
    """Call the levels of a numeric column by their ends; the lower one belongs."""
    # So many digits that they differ, as of seconds since 1970.
    ends: list[str] = []
    for digits in range(6, 18):
        ends = [f"{threshold:.{digits}g}" for threshold in thresholds]
        if len(set(ends)) == len(ends):
            break
    between = [f"{low} <= {name} < {high}" for low, high in pairwise(ends)]
    return [f"{name} < {ends[0]}", *between, f"{name} >= {ends[-1]}"]


def find_sets(
    terms: Sequence[tuple[int | str, ...]],
    n_features: int,
    index: dict[str, list[int]],
    max_order: int | None = None,
) -> list[Term]:
    """Sorted tuples of the columns that sets of indices or names are made of."""
    found = []
    for given in terms:
        term = []
        for member in given:
            column = find_column(member, index, n_features, "terms")
            if column is None:
                raise ValueError(
                    f"terms has {given!r}, but {member!r} is not a feature: use "
                    f"indices from 0 to {n_features - 1} or column names"
                )
            term.append(column)
        found.append(tuple(sorted(term)))
    for term in found:
        if len(set(term)) < len(term):
            raise ValueError(f"terms has {term}, which repeats a feature")
    require_sets(found, found, max_order)
    return found


def require_sets(
    terms: Sequence[Term], called: Sequence[object], max_order: int | None = None
) -> None:
    """Refuse sets that no model can have."""
    seen = set()
    for term, name in zip(terms, called, strict=True):
        if not term:
            raise ValueError("terms has an empty set; the constant is always included")
        if max_order is not None and len(term) > max_order:
            raise ValueError(
                f"terms has {name!r}, which is above max_order={max_order}"
            )
        if term in seen:
            raise ValueError(f"terms has {name!r} more than once")
        seen.add(term)


def to_inputs(terms: Sequence[Term], usable: NDArray[np.intp]) -> list[Term]:
    """Rewrite feature indices as input indices; leave out terms with unusable ones."""
    position = {int(feature): j for j, feature in enumerate(usable)}
    return [
        tuple(position[i] for i in term)
        for term in terms
        if all(i in position for i in term)
    ]
