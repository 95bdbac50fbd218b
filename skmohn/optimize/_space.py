"""Domain of a black box: variables with few values each, and constraints."""

# Inside, a point is a row of integers, its *states*: the index of each variable's
# value among its values.

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from skmohn._core._categories import as_table
from skmohn._core._meanings import listed
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike
from skmohn._core._validation import refuse_set, to_numpy
from skmohn.mohn._engine import Categorical, EncodedRows


@dataclass(frozen=True)
class SpaceConstants:
    """Search of feasible points."""

    # Spaces of at most so many points are listed, so that nothing has to be searched.
    max_enumerated: int = tuned(4096, "cost")
    # Points drawn to find feasible ones before walking from a known one.
    max_drawn: int = tuned(20_000, "cost")
    n_drawn_per_block: int = tuned(1000, "cost")
    # Steps of a walk between two feasible points.
    n_steps_per_variable: int = tuned(4, "benchmarks/ablation.py")
    # Changes of two variables that are tried beside those of one, where there are
    # constraints: one alone may be impossible.
    n_pair_changes: int = tuned(256, "benchmarks/ablation.py")
    # Linear programs, each with costs of its own, until one ends where all predicates
    # hold.
    max_linear_programs: int = tuned(100, "cost")
    # Slack of linear constraints, relative to what is summed up, and of numbers, to the
    # distance of the next one.
    slack: float = tuned(1e-9, "rounding")


SPACE = SpaceConstants()
# Scipy has no types; those that checkers guess of its defaults are wrong.
_Bounds: Any = Bounds
_Linear: Any = LinearConstraint
# As users pass them, see `BlackBoxOptimizer`, and points as they get them.
SpaceLike: TypeAlias = int | Mapping[Any, Any] | TableLike
ConstraintsLike: TypeAlias = (
    Callable[[Any], Any]
    | LinearConstraint
    | Iterable[Callable[[Any], Any] | LinearConstraint]
    | None
)
Points: TypeAlias = list[dict[Any, Any]] | NDArray


class _LinearSums(NamedTuple):
    """Linear constraints as sums over the states of the variables."""

    sums: list[NDArray[np.float64]]  # by variable, (n_states, n_constraints)
    low: NDArray[np.float64]  # (n_constraints,)
    high: NDArray[np.float64]


class Space:
    """Points of a black box; made of the arguments of `BlackBoxOptimizer`."""

    def __init__(
        self,
        space: SpaceLike,
        constraints: ConstraintsLike = None,
        fixed: Mapping | None = None,
    ) -> None:
        table, self._dtype = None, int
        if isinstance(space, Integral) and not isinstance(space, bool | np.bool_):
            if space < 1:
                raise ValueError(f"space must be at least 1 variable, got {space}")
            self.variables = [Variable(i, [0, 1], True) for i in range(int(space))]
            self.names_points = False
        elif isinstance(space, Mapping):
            self.variables = read_variables(space)
            self.names_points = True
        else:
            self.variables, table, self._dtype = read_table(space)
            self.names_points = self._dtype is None
        if not self.variables:
            raise ValueError("space must have at least one variable, got none")
        self.sizes = np.array([len(variable.values) for variable in self.variables])
        self._states_of_values = [
            index_values(variable.values) for variable in self.variables
        ]
        self._index = {variable.name: i for i, variable in enumerate(self.variables)}
        self._linear, self._predicates = self._read_constraints(constraints)
        self.fixed = self._read_fixed(fixed)
        varies = self.sizes > 1
        varies[list(self.fixed)] = False
        self.free = np.flatnonzero(varies)
        self.two_valued = self.free[self.sizes[self.free] == 2]
        self.many_valued = self.free[self.sizes[self.free] > 2]
        self.alphabets = tuple(
            Categorical(int(self.sizes[i]), self.variables[i].is_ordered)
            for i in self.many_valued
        )
        self.n_moves = int(np.sum(self.sizes[self.free] - 1))
        self._keys = None if table is None else set(keys_of(table))
        self.listed = self._list(table)
        self._max_drawn = SPACE.max_drawn

    # ------------------------------------------------------------------- the points

    @property
    def n_variables(self) -> int:
        """Number of variables, fixed ones included."""
        return len(self.variables)

    @property
    def is_binary(self) -> bool:
        """Whether every variable has two values."""
        return bool(np.all(self.sizes == 2))

    @property
    def is_constrained(self) -> bool:
        """Whether some points are excluded."""
        return bool(self._linear or self._predicates or self.is_table)

    @property
    def is_table(self) -> bool:
        """Whether the user has listed all points there are."""
        return self._keys is not None

    def decode(self, states: NDArray[np.integer]) -> Points:
        """Points as the user has them: an array, or a list of dicts."""
        if self.names_points:
            return [
                {
                    variable.name: variable.values[state]
                    for variable, state in zip(self.variables, row, strict=True)
                }
                for row in states.tolist()
            ]
        points = np.empty(states.shape, dtype=self._dtype)
        for i, variable in enumerate(self.variables):
            values = np.fromiter(variable.values, dtype=self._dtype)
            points[:, i] = values[states[:, i]]
        return points

    def encode(self, points: Any) -> NDArray[np.integer]:
        """States of points; refuse variables and values that are not of the space."""
        if hasattr(points, "columns"):  # a data frame
            names, columns = columns_of(points, "X")
            points = [
                dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)
            ]
        refuse_set(points, "X")
        if not isinstance(points, Mapping | Iterator):
            points = to_numpy(points)
        if isinstance(points, Mapping | str) or not np.iterable(points):
            raise ValueError(
                f"X must be a list of points, got {points!r}: pass [point] for a "
                "single one"
            )
        rows = [self._encode_point(point) for point in points]
        return np.array(rows, dtype=np.int64).reshape(len(rows), self.n_variables)

    def _encode_point(self, point: Any) -> list[int]:
        if isinstance(point, Mapping):
            missing = [v.name for v in self.variables if v.name not in point]
            if missing or len(point) > self.n_variables:
                known = [v.name for v in self.variables]
                raise ValueError(
                    f"X must have points with the variables {in_short(known)}, got "
                    f"{in_short(list(point))}"
                )
            values = [point[variable.name] for variable in self.variables]
        else:
            refuse_set(point, "a point of X")
            if not isinstance(point, Iterator):
                point = to_numpy(point)
            values = list(point) if np.iterable(point) else None
            if values is None or len(values) != self.n_variables:
                raise ValueError(
                    f"X must be a list of points of {self.n_variables} values each, "
                    f"but has the point {point!r}"
                )
        return [self._state(i, value, "X") for i, value in enumerate(values)]

    def _state(self, i: int, value: Any, source: str) -> int:
        if isinstance(value, np.generic):
            value = value.item()
        states = self._states_of_values[i]
        try:
            return states[value]
        except (KeyError, TypeError):
            if None in states and _is_missing(value):  # data frames have NaN for None
                return states[None]
            variable = self.variables[i]
            if (state := variable.rounded(value)) is not None:
                return state
            raise ValueError(
                f"{source} has {value!r} for the variable {variable.name!r}, which "
                f"must be one of {in_short(variable.values)}"
            ) from None

    # -------------------------------------------------------------- the constraints

    def _read_constraints(
        self, constraints: ConstraintsLike
    ) -> tuple[list[_LinearSums], list[Callable[[Any], Any]]]:
        """Linear constraints as sums by state, and predicates."""
        linear, predicates = [], []
        if constraints is None:
            return linear, predicates
        if callable(constraints) or isinstance(constraints, LinearConstraint):
            constraints = [constraints]
        if not isinstance(constraints, Iterable):
            raise TypeError(
                "constraints must be a callable, a scipy.optimize.LinearConstraint or "
                f"a list of these, got {constraints!r}"
            )
        for constraint in constraints:
            if isinstance(constraint, LinearConstraint):
                linear.append(self._read_linear(constraint))
            elif callable(constraint):
                predicates.append(constraint)
            else:
                raise TypeError(
                    "constraints must hold callables or scipy.optimize.LinearConstraint"
                    f", got {constraint!r}"
                )
        return linear, predicates

    def _read_linear(self, constraint: LinearConstraint) -> _LinearSums:
        columns = [variable.columns() for variable in self.variables]
        widths = [column.shape[1] for column in columns]
        A = constraint.A.toarray() if hasattr(constraint.A, "toarray") else constraint.A
        A = np.atleast_2d(np.asarray(A, dtype=float))
        if A.shape[1] != sum(widths):
            raise ValueError(
                f"constraints has a matrix of {A.shape[1]} columns, but the space has "
                f"{sum(widths)}: one for each number or variable of two values, and "
                "one for each value of other variables"
            )
        if not np.isfinite(A).all():
            raise ValueError("constraints has a matrix that is not finite")
        if np.isnan(constraint.lb).any() or np.isnan(constraint.ub).any():
            raise ValueError(
                "constraints has a bound that is nan: pass -inf or inf for none"
            )
        parts = np.split(A, np.cumsum(widths)[:-1], axis=1)
        sums = [column @ part.T for column, part in zip(columns, parts, strict=True)]
        low = np.broadcast_to(constraint.lb, len(A))
        high = np.broadcast_to(constraint.ub, len(A))
        return _LinearSums(sums, low, high)

    def _read_fixed(self, fixed: Mapping | None) -> dict[int, int]:
        """States of the variables that keep one."""
        states = {}
        if not isinstance(fixed, Mapping | None):
            raise TypeError(
                f"fixed must be a dict of variables and their values, got {fixed!r}"
            )
        for name, value in (fixed or {}).items():
            if name not in self._index:
                raise ValueError(
                    f"fixed has {name!r}, which is not a variable: "
                    f"{in_short([variable.name for variable in self.variables])}"
                )
            i = self._index[name]
            states[i] = self._state(i, value, "fixed")
        return states

    def is_feasible(self, states: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether points satisfy the constraints and have the fixed values."""
        feasible = np.ones(len(states), dtype=bool)
        for i, state in self.fixed.items():
            feasible &= states[:, i] == state
        for sums, low, high in self._linear:
            parts = [part[states[:, i]] for i, part in enumerate(sums)]
            total, slack = sum(parts), SPACE.slack * sum(map(np.abs, parts))
            is_kept = (total >= low - slack) & (total <= high + slack)
            feasible &= np.all(is_kept, axis=1)
        if self._keys is not None:
            feasible &= np.array(
                [key in self._keys for key in keys_of(states)], dtype=bool
            )
        for predicate in self._predicates:
            at = np.flatnonzero(feasible)
            points = self.decode(states[at])
            feasible[at] = [_is_kept(predicate, point) for point in points]
        return feasible

    @property
    def n_points(self) -> float:
        """Number of points, at most, as a float."""
        if self.listed is not None:
            return float(len(self.listed))
        return self._n_combinations()

    def _n_combinations(self) -> float:
        return float(np.prod(self.sizes[self.free], dtype=float))

    def _list(self, table: NDArray[np.integer] | None) -> NDArray[np.integer] | None:
        """All feasible points, where there are few or the user has listed them."""
        if table is None:
            if self._n_combinations() > SPACE.max_enumerated:
                return None
            sizes = np.ones_like(self.sizes)
            sizes[self.free] = self.sizes[self.free]
            table = (
                np.indices(tuple(sizes.tolist())).reshape(self.n_variables, -1).T.copy()
            )
            table[:, list(self.fixed)] = list(self.fixed.values())
        states = np.unique(table, axis=0)
        states = states[self.is_feasible(states)]
        if not len(states):
            raise ValueError(
                "no point of space has the fixed values and satisfies the constraints"
            )
        return states

    # ------------------------------------------------------------ drawing, neighbors

    def draw(
        self, n: int, rng: np.random.Generator, known: NDArray[np.integer]
    ) -> NDArray[np.integer]:
        """Draw feasible points, uniformly but for walks."""
        # Where hardly any point is feasible, they are ends of walks that begin at a
        # known feasible one: each step changes one variable or two, if the constraints
        # allow it.
        if self.listed is not None:
            return self.listed[rng.integers(len(self.listed), size=n)]
        found = self._draw_any(n, rng)
        if len(found) < n:
            starts = np.concatenate([found, known])
            if not len(starts):
                starts = self._solve(rng)
            starts = starts[rng.integers(len(starts), size=n - len(found))]
            found = np.concatenate([found, self._walk(starts, rng)])
        return found

    def _draw_any(self, n: int, rng: np.random.Generator) -> NDArray[np.integer]:
        """Draw points anywhere and keep the feasible ones: n, unless they are rare."""
        found, n_found, n_drawn = [], 0, 0
        # Few at first, because constraints may take their time.
        at_once = n
        while n_found < n and n_drawn < self._max_drawn:
            states = rng.integers(self.sizes, size=(at_once, self.n_variables))
            states[:, list(self.fixed)] = list(self.fixed.values())
            found.append(states[self.is_feasible(states)])
            n_found, n_drawn = n_found + len(found[-1]), n_drawn + at_once
            at_once = min(2 * at_once, SPACE.n_drawn_per_block)
        if n_found < n:
            self._max_drawn = SPACE.n_drawn_per_block
        return np.concatenate(found)[:n]

    def _walk(
        self, states: NDArray[np.integer], rng: np.random.Generator
    ) -> NDArray[np.integer]:
        """Change points step by step, as far as they stay feasible."""
        states = states.copy()
        for _ in range(SPACE.n_steps_per_variable * len(self.free)):
            steps = self._change(states.copy(), rng)
            feasible = self.is_feasible(steps)
            states[feasible] = steps[feasible]
        return states

    def _change(
        self, states: NDArray[np.integer], rng: np.random.Generator
    ) -> NDArray[np.integer]:
        """Change one variable of each point, or two."""
        rows = np.arange(len(states))
        n_changed = min(2, len(self.free))
        for which in range(n_changed):
            at = self.free[rng.integers(len(self.free), size=len(states))]
            by = rng.integers(1, self.sizes[at])
            if which:
                by = np.where(rng.random(len(states)) < 0.5, by, 0)
            states[rows, at] = (states[rows, at] + by) % self.sizes[at]
        return states

    def _solve(self, rng: np.random.Generator) -> NDArray[np.integer]:
        """Point that satisfies the linear constraints, with costs drawn at random."""
        if not self._linear:
            raise ValueError(
                f"none of {SPACE.max_drawn:,} points drawn satisfies the constraints: "
                "tell the optimizer of one that does, or write them as LinearConstraint"
            )
        first = np.concatenate([[0], np.cumsum(self.sizes)])
        one_each = np.zeros((self.n_variables, first[-1]))
        for i in range(self.n_variables):
            one_each[i, first[i] : first[i + 1]] = 1.0
        low, high = np.zeros(first[-1]), np.ones(first[-1])
        for i, state in self.fixed.items():
            low[first[i] + state] = 1.0
        for _ in range(SPACE.max_linear_programs if self._predicates else 1):
            found = milp(
                rng.standard_normal(first[-1]),
                integrality=np.ones(first[-1]),
                bounds=_Bounds(low, high),
                constraints=[
                    _Linear(one_each, 1, 1),
                    *(
                        _Linear(np.concatenate(sums).T, *ends)
                        for sums, *ends in self._linear
                    ),
                ],
            )
            if found.x is None:
                raise ValueError("no point of space satisfies the linear constraints")
            parts = np.split(found.x, first[1:-1])
            states = np.array([[int(np.argmax(part)) for part in parts]])
            if self.is_feasible(states)[0]:
                return states
        raise ValueError(
            "none of the points drawn satisfies the constraints: tell the optimizer of "
            "one that does"
        )

    def neighbors(
        self, state: NDArray[np.integer], rng: np.random.Generator
    ) -> NDArray[np.integer]:
        """Feasible points near one, which is not among them, in random order."""
        # Those that differ in one variable; where there are constraints, some that
        # differ in two as well, or the nearest of the points that are listed.
        if self.listed is not None and self.is_constrained:
            order = rng.permutation(len(self.listed))
            distances = np.sum(self.listed[order] != state, axis=1)
            nearest = order[np.argsort(distances, kind="stable")]
            return self.listed[nearest[1 : 2 * self.n_moves + 1]]
        at = np.repeat(self.free, self.sizes[self.free] - 1)
        by = np.concatenate([np.arange(1, self.sizes[i]) for i in self.free])
        order = rng.permutation(len(at))
        at, by = at[order], by[order]
        states = np.tile(state, (len(at), 1))
        rows = np.arange(len(at))
        states[rows, at] = (states[rows, at] + by) % self.sizes[at]
        if self.is_constrained:
            pairs = self._change(np.tile(state, (SPACE.n_pair_changes, 1)), rng)
            pairs = pairs[np.any(pairs != state, axis=1)]
            states = np.unique(np.concatenate([states, pairs]), axis=0)
            states = states[rng.permutation(len(states))]
            states = states[self.is_feasible(states)]
        return states

    # -------------------------------------------------------------------- as a table

    def rows(self, states: NDArray[np.integer]) -> EncodedRows:
        """Points as inputs of -1 and +1, and categories."""
        inputs = 2.0 * states[:, self.two_valued] - 1.0
        return EncodedRows(inputs, states[:, self.many_valued])


def keys_of(states: NDArray[np.integer]) -> list[bytes]:
    """Keys of points: their states as bytes."""
    states = np.ascontiguousarray(states, dtype=np.int64)
    return [row.tobytes() for row in states]


def _is_kept(predicate: Callable[[Any], Any], point: Any) -> bool:
    """Whether a predicate keeps a point; refuse what is not a truth value."""
    kept = predicate(point)
    if not isinstance(kept, bool | np.bool_):
        raise TypeError(
            f"constraints must return True or False, but {predicate!r} returns "
            f"{kept!r} for {point!r}: return a comparison, such as g(point) <= 0"
        )
    return bool(kept)


@dataclass(frozen=True)
class VariableConstants:
    """Values of variables."""

    # Values of one variable: each has its own part in the covariance.
    max_values: int = tuned(256, "cost")


VARIABLES = VariableConstants()


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

    def rounded(self, value: object) -> int | None:
        """Index of the number that a value differs from by rounding, if any."""
        # As 0.3 does from 0.1 + 0.2: by nothing beside the distance of the next number.
        if len(self.values) < 2 or not all(map(_is_number, [value, *self.values])):
            return None
        distances = [abs(number - value) for number in self.values]
        first, second = sorted(range(len(distances)), key=distances.__getitem__)[:2]
        is_near = distances[first] < SPACE.slack * distances[second]
        return first if is_near else None

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
        values = range(low, min(high, low + VARIABLES.max_values) + 1)
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
    if not 1 <= len(values) <= VARIABLES.max_values:
        raise ValueError(
            f"space must have 1 to {VARIABLES.max_values} values for {name!r}, got "
            f"{'more' if len(values) > VARIABLES.max_values else 'none'}"
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
            table: Any = np.asarray(to_numpy(as_table(space)))
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
    frame = to_numpy(frame)
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
