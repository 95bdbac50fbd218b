"""Variables with few values: as users write them, and as tables list them."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skmohn._core._meanings import listed
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike


@dataclass(frozen=True)
class VariableConstants:
    """Values of variables."""

    # Values of one variable: each has its own part in the covariance.
    max_values: int = tuned(256, "cost")


_VARIABLES = VariableConstants()


class Variable(NamedTuple):
    """Argument of the black box."""

    name: object
    values: list  # possible values, two or more
    is_ordered: bool  # whether neighbors in `values` are similar

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers that count as themselves in constraints."""
        may_be = self.is_ordered or len(self.values) == 2
        return may_be and all(map(_is_number, self.values))

    def columns(self) -> NDArray[np.float64]:
        """Values in linear constraints, shape (n_values, n_columns)."""
        if self.is_number:
            return np.array(self.values, dtype=float)[:, None]
        if len(self.values) == 2:
            return np.array([[0.0], [1.0]])
        return np.eye(len(self.values))


def read_variables(space: Mapping[Any, Any]) -> list[Variable]:
    """Variables of a mapping of names to values."""
    columns = [(name, _list_values(name, values)) for name, values in space.items()]
    _refuse_unhashable(columns)
    return [_read_variable(name, values) for name, values in columns]


def _list_values(name: object, values: Any) -> list[Any]:
    """Possible values of a variable, as a list."""
    if isinstance(values, tuple):
        if len(values) != 2 or not all(
            isinstance(end, Integral) and not isinstance(end, bool) for end in values
        ):
            raise ValueError(
                f"space has {values!r} for {name!r}: a tuple must be (low, high), two "
                "integers; pass other values as a list"
            )
        low, high = map(int, values)
        if low > high:
            raise ValueError(f"space has {values!r} for {name!r}: low is above high")
        values = range(low, min(high, low + _VARIABLES.max_values) + 1)
    elif isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(
            f"space must have a list of values or a tuple (low, high) for {name!r}, "
            f"got {values!r}"
        )
    if isinstance(values, set | frozenset):
        values = _sort(name, values)
    return [v.item() if isinstance(v, np.generic) else v for v in values]


def _read_variable(name: object, values: list[Any]) -> Variable:
    """Variable of values that can be hashed, if they are fit for it."""
    index = index_values(values)
    for i, value in enumerate(values):
        if _is_missing(value):
            raise ValueError(
                f"space has {value!r} among the values of {name!r}: leave it out, or "
                "give that case a name of its own"
            )
        if index[value] != i:
            raise ValueError(
                f"space has values of {name!r} that are equal, {value!r} and "
                f"{values[index[value]]!r}: keep one of them"
            )
    if not 1 <= len(values) <= _VARIABLES.max_values:
        raise ValueError(
            f"space must have 1 to {_VARIABLES.max_values} values for {name!r}, got "
            f"{'more' if len(values) > _VARIABLES.max_values else 'none'}"
        )
    return Variable(name, values, _is_increasing(values))


def _sort(name: object, values: AbstractSet[Any]) -> list[Any]:
    """Values of a set in an order of their own: that of a set differs by process."""
    if all(map(_is_number, values)) or all(isinstance(v, str) for v in values):
        return sorted(values)
    raise ValueError(
        f"space has a set of values for {name!r}, which has no order: pass a list"
    )


def _is_increasing(values: Sequence[Any]) -> bool:
    """Whether values are numbers from low to high."""
    return all(map(_is_number, values)) and all(a < b for a, b in pairwise(values))


def _is_number(value: object) -> bool:
    """Whether a value is a finite real number."""
    try:
        return isinstance(value, Real) and math.isfinite(value)
    except OverflowError:  # an integer that no float can be
        return False


def _is_missing(value: Any) -> bool:
    """Whether a value is NaN or NA, which is not equal to itself."""
    try:
        return bool(value != value)
    except TypeError:
        return True


def read_table(
    space: TableLike,
) -> tuple[list[Variable], NDArray[np.integer], np.dtype | None]:
    """Variables and states of a table of candidates, and the dtype of its points."""
    # None for points that are dicts, those of a data frame.
    dtype = None
    if hasattr(space, "columns"):
        names, columns = columns_of(space, "space")
    else:
        try:
            table: Any = np.asarray(space)
        except ValueError:  # rows of several lengths
            table = np.empty(0)
        if table.ndim != 2 or not table.size:
            raise TypeError(
                "space must be a number of variables, a mapping of names to values, or "
                f"a table of candidate points, got {space!r}"
            )
        names, columns, dtype = range(table.shape[1]), table.T.tolist(), table.dtype
    _refuse_unhashable(zip(names, columns, strict=True))
    variables, states = [], []
    for name, values in zip(names, columns, strict=True):
        try:
            distinct = sorted(dict.fromkeys(values))
        except TypeError:  # the order of the rows; that of a set differs by process
            distinct = list(dict.fromkeys(values))
        variables.append(_read_variable(name, distinct))
        index = index_values(distinct)
        states.append([index[value] for value in values])
    return variables, np.array(states, dtype=np.int64).T, dtype


def _refuse_unhashable(columns: Iterable[tuple[object, Iterable[Any]]]) -> None:
    """Name all variables with values that cannot be hashed: equal ones are sought."""
    bad = [repr(name) for name, values in columns if not all(map(_is_hashed, values))]
    if bad:
        raise TypeError(
            f"space has values of {listed(bad)} that cannot be hashed, such as lists: "
            "pass tuples, or names that stand for them"
        )


def _is_hashed(value: object) -> bool:
    """Whether a value can be hashed; a tuple can if all that is in it can."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def columns_of(frame: Any, source: str) -> tuple[list[Any], list[list[Any]]]:
    """Names of the columns of a data frame, and their values."""
    names = list(frame.columns)
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"{source} has more than one column {repeated[0]!r}")
    return names, [np.asarray(frame[name], dtype=object).tolist() for name in names]


def index_values(values: Iterable[Any]) -> dict[Any, int]:
    index = {}
    for i, value in enumerate(values):
        index.setdefault(value, i)
    return index


def in_short(values: Sequence[object]) -> str:
    shown = ", ".join(map(repr, values[:8]))
    return shown if len(values) <= 8 else f"{shown}, ..."
