"""Spaces: what is read, what is refused, and which points are drawn and near."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import LinearConstraint
from scipy.sparse import csr_array

from skmohn.optimize import _space
from skmohn.optimize._space import SPACE, Space, keys_of

# Makers of data frames.
LIBRARIES = [pd.DataFrame, pl.DataFrame, pa.table]
MANY = 30  # variables of 0 and 1 that are too many to be listed


def exactly(k, n):
    return LinearConstraint(np.ones((1, n)), k, k)


# ------------------------------------------------------------------------ what is read


@pytest.mark.parametrize(
    ("values", "expected", "is_ordered"),
    [
        ((2, 4), [2, 3, 4], True),
        ((np.int8(-1), np.int64(1)), [-1, 0, 1], True),
        ((3, 3), [3], True),
        ([1, 2.5, 7], [1, 2.5, 7], True),
        ([1, 3, 2], [1, 3, 2], False),
        ([False, True], [False, True], True),
        (["b", "a"], ["b", "a"], False),
        ([None, "x", 2.5, (1, 2)], [None, "x", 2.5, (1, 2)], False),
        (np.array(["u", "v"]), ["u", "v"], False),
        (np.array([0.5, 1.5], dtype=np.float32), [0.5, 1.5], True),
        (range(3), [0, 1, 2], True),
        ([1j, 2j], [1j, 2j], False),
        ([1, np.inf, 3], [1, np.inf, 3], False),
        ([1, 10**400], [1, 10**400], False),
    ],
    ids=str,
)
def test_values_of_a_variable(values, expected, is_ordered):
    (variable,) = Space({"a": values}).variables
    assert variable.values == expected
    assert variable.is_ordered == is_ordered
    assert not any(isinstance(value, np.generic) for value in variable.values)


@pytest.mark.parametrize(
    ("space", "error", "words"),
    [
        (0, ValueError, "at least 1 variable, got 0"),
        (-3, ValueError, "at least 1 variable"),
        (True, TypeError, "must be a number of variables, a mapping"),
        (2.5, TypeError, "must be a number of variables, a mapping"),
        (None, TypeError, "must be a number of variables, a mapping"),
        ("ab", TypeError, "must be a number of variables, a mapping"),
        (np.zeros((2, 2, 2)), TypeError, "a table of candidate points"),
        (np.zeros((0, 2)), TypeError, "a table of candidate points"),
        ([[1, 2], [3]], TypeError, "a table of candidate points"),
        ({}, ValueError, "at least one variable"),
        ({"a": []}, ValueError, "1 to 256 values for 'a', got none"),
        ({"a": (0, 10**30)}, ValueError, "1 to 256 values for 'a', got more"),
        ({"a": (1, 2, 3)}, ValueError, r"a tuple must be \(low, high\)"),
        ({"a": (1.0, 2.0)}, ValueError, r"a tuple must be \(low, high\)"),
        ({"a": (False, True)}, ValueError, r"a tuple must be \(low, high\)"),
        ({"a": (3, 2)}, ValueError, "low is above high"),
        ({"a": "xy"}, TypeError, "a list of values or a tuple"),
        ({"a": 3}, TypeError, "a list of values or a tuple"),
        ({"a": [1, True, 1.0]}, ValueError, "of 'a' that are equal, True and 1: keep"),
        ({"a": ["x", "x"]}, ValueError, "that are equal, 'x' and 'x'"),
        ({"a": [1.0, np.nan]}, ValueError, "nan among the values of 'a': leave it out"),
        ({"a": ["x", pd.NA]}, ValueError, "<NA> among the values of 'a'"),
        ({"a": [[1], [2]]}, TypeError, "of 'a' that cannot be hashed"),
        (np.array([[0, np.nan], [0, 1]]), ValueError, "nan among the values of 1"),
        (pd.DataFrame({"a": []}), ValueError, "1 to 256 values for 'a', got none"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "more than one col"),
        (pd.DataFrame({"a": [1.0, None]}), ValueError, "nan among the values of 'a'"),
        (pd.DataFrame({"a": [[1], [2]]}), TypeError, "of 'a' that cannot be hashed"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_spaces_that_make_no_sense(space, error, words):
    with pytest.raises(error, match=words):
        Space(space)


@pytest.mark.parametrize(
    "table",
    [
        np.array([[0, 1], [1, 0], [0, 1]]),
        np.array([[0.5, 1e-300], [1e150, 0.0]]),
        np.array([[False, True], [True, True]]),
        np.array([["a", "bcd"], ["b", "a"]]),
        np.array([["a", 1], ["b", 2], [None, (1, 2)]], dtype=object),
        np.array([["2020-01-01", "2021-01-01"]], dtype="datetime64[D]"),
    ],
    ids=lambda table: table.dtype.name,
)
def test_points_of_a_table_are_its_rows(table):
    table.flags.writeable = False
    space = Space(table)
    points = space.decode(space.listed)
    assert points.dtype == table.dtype
    assert sorted(map(repr, points)) == sorted({repr(row) for row in table})
    assert_array_equal(space.decode(space.encode(table)), table)


def test_numbers_beside_text_in_lists_stay_numbers():
    space = Space([[1, "a"], [2.5, "b"]])
    points = space.decode(space.listed).tolist()
    assert points == [[1, "a"], [2.5, "b"]]
    assert [variable.is_ordered for variable in space.variables] == [True, False]


@pytest.mark.parametrize("library", LIBRARIES)
def test_points_of_a_frame_are_dicts(library):
    frame = library({"a": [1, 2, 1], "b": ["x", "y", "y"]})
    space = Space(frame)
    points = space.decode(space.listed)
    assert points == [{"a": 1, "b": x} for x in "xy"] + [{"a": 2, "b": "y"}]
    assert all(type(point["a"]) is int for point in points)
    assert_array_equal(space.encode(frame), space.encode(points)[[0, 2, 1]])


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_of_told_frames_go_by_name(library):
    space = Space({"a": [1, 2], "b": ["x", "y"]})
    frame = library({"b": ["x"], "a": [2]})
    assert_array_equal(space.encode(frame), [[1, 0]])


@pytest.mark.parametrize(
    "points",
    [
        [[0, 1, 1]],
        [(False, True, True)],
        np.array([[0.0, 1.0, 1.0]]),
        np.array([[0, 1, 1]], dtype=np.uint8),
        np.array([[False, True, True]], dtype=object),
        iter([[0, np.float32(1), np.bool_(True)]]),
        [{2: 1, 1: 1, 0: 0}],
        pd.DataFrame([[1, 1, 0]], columns=[2, 1, 0]),
    ],
)
def test_forms_of_points(points):
    assert_array_equal(Space(3).encode(points), [[0, 1, 1]])


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([0, 1, 1], "points of 3 values each, but has the point 0"),
        ([[0, 1]], "points of 3 values each"),
        (np.zeros((1, 3, 1)), r"X has array\(\[0.\]\) for the variable 0"),
        ([[0, 1, 2]], "X has 2 for the variable 2, which must be one of 0, 1"),
        ([[0, 1, 0.5]], "X has 0.5 for the variable 2"),
        ([[0, 1, np.nan]], "X has nan for the variable 2"),
        ([[0, 1, [1]]], r"X has \[1\] for the variable 2"),
        ("011", "X must be a list of points, got '011': pass"),
        (None, "X must be a list of points, got None"),
        (3, "X must be a list of points"),
        ({0: 1, 1: 1, 2: 1}, r"X must be a list of points, .*: pass \[point\]"),
        ([{0: 1, 1: 1}], "points with the variables 0, 1, 2, got 0, 1"),
        ([{0: 1, 1: 1, 2: 1, 3: 1}], "with the variables 0, 1, 2, got 0, 1, 2, 3"),
    ],
)
def test_points_of_another_space(points, words):
    with pytest.raises(ValueError, match=words):
        Space(3).encode(points)


@pytest.mark.parametrize(
    "numbers", [np.linspace(0, 1, 11), np.logspace(-5, 5, 11), np.arange(-1, 1, 0.1)]
)
def test_numbers_that_differ_by_rounding_are_the_same(numbers):
    """As written by hand, they are others than those of numpy."""
    written = [round(number, 12) for number in numbers.tolist()]
    assert written != numbers.tolist()
    space = Space({"x": numbers, "y": ["a", "b"]}, fixed={"x": written[4]})
    assert space.fixed == {0: 4}
    states = space.encode([{"x": x, "y": "b"} for x in written])
    assert_array_equal(states[:, 0], np.arange(len(numbers)))
    for other in (written[4] + 1e-8 * (written[5] - written[4]), "0.3", 10**400, None):
        with pytest.raises(ValueError, match="for the variable 'x'"):
            space.encode([{"x": other, "y": "b"}])
    # Integers have no rounding.
    large = Space({"x": [2**60, 2**60 + 1000]})
    with pytest.raises(ValueError, match="for the variable 'x'"):
        large.encode([{"x": 2**60 + 1}])


# --------------------------------------------------------------- constraints and fixed


def test_columns_of_linear_constraints():
    """Numbers as such, two values as 0 and 1, a column for each of more values."""
    space = {"n": (2, 4), "two": ["u", "v"], "three": ["x", "y", "z"], "sizes": [8, 64]}
    A = np.array([[1.0, 10.0, 100.0, 200.0, 300.0, 1000.0]])
    for n, two, three, size in itertools.product(*[[2, 3, 4], "uv", "xyz", [8, 64]]):
        total = n + 10 * (two == "v") + 100 * (1 + "xyz".index(three)) + 1000 * size
        (point,) = Space(space, LinearConstraint(A, total, total)).decode(
            Space(space, LinearConstraint(A, total, total)).listed
        )
        assert point == {"n": n, "two": two, "three": three, "sizes": size}


@pytest.mark.parametrize(
    "constraints",
    [
        LinearConstraint(np.ones(4), 2, 2),
        LinearConstraint(csr_array(np.ones((1, 4))), 2, 2),
        [LinearConstraint(np.ones((1, 4)), 2), LinearConstraint(-np.ones((1, 4)), -2)],
        lambda point: point.sum() == 2,
        (c for c in [lambda point: point.sum() > 1, lambda point: point.sum() < 3]),
    ],
)
def test_forms_of_constraints(constraints):
    listed = Space(4, constraints).listed
    assert_array_equal(listed.sum(axis=1), 2)
    assert len(listed) == 6


def test_rounding_breaks_no_constraint():
    assert len(Space(3, LinearConstraint([[0.1, 0.2, 0.3]], 0.6, 0.6)).listed) == 1
    assert len(Space(3, LinearConstraint([[1e9, 1.0, -1.0]], 1, 2)).listed) == 1


@pytest.mark.parametrize(
    ("constraints", "error", "words"),
    [
        (exactly(2, 4), ValueError, "4 columns, but the space has 5: one for each"),
        (LinearConstraint(np.full((1, 5), np.nan)), ValueError, "not finite"),
        (LinearConstraint(np.ones((1, 5)), np.nan, 3), ValueError, "bound that is nan"),
        (
            exactly(6, 5),
            ValueError,
            "no point of space has the fixed values and satisf",
        ),
        (LinearConstraint(np.ones((1, 5)), 4, 3), ValueError, "no point of space"),
        (lambda x: False, ValueError, "no point of space"),
        *(
            (lambda x, kept=kept: kept, TypeError, "must return True or False")
            for kept in (0, 1, -1.0, 0.0, np.int64(1), np.nan, "yes", [True], {})
        ),
        (lambda x: None, TypeError, "must return True or False, .* returns None for"),
        (lambda x: x == 1, TypeError, r"must return True or False, .* array\("),
        ("a", TypeError, "must hold callables or scipy.optimize.LinearConstraint"),
        ([1], TypeError, "must hold callables"),
        (5, TypeError, "must be a callable, a scipy.optimize.LinearConstraint or a l"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_constraints_that_make_no_sense(constraints, error, words):
    with pytest.raises(error, match=words):
        Space(5, constraints)


def test_errors_of_a_predicate_are_raised():
    def broken(point):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        Space(5, broken)


def test_a_predicate_cannot_change_points():
    space = Space(3, lambda point: bool(point.fill(1)) or True)
    assert len(space.listed) == 8


@pytest.mark.parametrize(
    ("fixed", "error", "words"),
    [
        ([0], TypeError, "fixed must be a dict"),
        ({"c": 1}, ValueError, "fixed has 'c', which is not a variable: 'a', 'b'"),
        ({"a": 3}, ValueError, "fixed has 3 for the variable 'a', which must be one"),
        ({"a": [1]}, ValueError, r"fixed has \[1\] for the variable 'a'"),
        ({"a": 1, "b": "x"}, ValueError, "no point of space has the fixed values"),
    ],
)
def test_fixed_that_makes_no_sense(fixed, error, words):
    with pytest.raises(error, match=words):
        Space(
            {"a": [1, 2], "b": ["x", "y"]},
            lambda point: point != {"a": 1, "b": "x"},
            fixed,
        )


@pytest.mark.parametrize("value", [1, 1.0, True, np.int8(1), np.float64(1)])
def test_forms_of_fixed_values(value):
    space = Space(3, fixed={np.int64(1): value})
    assert_array_equal(np.unique(space.listed[:, 1]), [1])
    assert_array_equal(space.free, [0, 2])


def test_tables_keep_constraints_and_fixed_values():
    table = np.array(list(itertools.product([0, 1, 2], repeat=3)))
    space = Space(table, lambda point: point.sum() == 3, {0: 1})
    assert_array_equal(space.decode(space.listed), [[1, 0, 2], [1, 1, 1], [1, 2, 0]])
    with pytest.raises(ValueError, match="no point of space"):
        Space(table[:2], fixed={0: 0, 1: 0}, constraints=lambda point: point[2] > 1)


# ------------------------------------------------------------------- drawn points, near


def test_small_spaces_are_listed():
    listed = Space({"a": (0, 2), "b": ["x"], "c": ["u", "v"]}).listed
    assert_array_equal(listed, [[a, 0, c] for a in range(3) for c in range(2)])
    n = SPACE.max_enumerated.bit_length() - 1
    assert len(Space(n).listed) == SPACE.max_enumerated
    assert Space(n + 1).listed is None
    assert len(Space(n + 1, fixed={3: 1}).listed) == SPACE.max_enumerated


@pytest.mark.parametrize(
    "space",
    [
        Space(MANY, exactly(3, MANY)),
        Space(MANY, lambda point: point[:10].sum() == 1, {0: 0, MANY - 1: 1}),
        Space({i: ["a", "b", "c"] for i in range(10)}, lambda p: p[0] != "a"),
    ],
)
def test_drawn_points_and_neighbors_are_feasible(space):
    rng = np.random.default_rng(0)
    drawn = space.draw(30, rng, np.empty((0, space.n_variables), dtype=int))
    assert drawn.shape == (30, space.n_variables)
    assert space.is_feasible(drawn).all()
    assert len(set(keys_of(drawn))) > 20
    near = space.neighbors(drawn[0], rng)
    assert len(near) > 5
    assert space.is_feasible(near).all()
    assert_array_equal(np.isin(np.sum(near != drawn[0], axis=1), [1, 2]), True)
    assert len(set(keys_of(near))) == len(near)


def test_neighbors_differ_in_one_variable_each():
    space = Space({"a": (0, 40), "b": (0, 99), "c": ["x"], "d": ["u", "v", "w"]})
    state = np.array([7, 5, 0, 1])
    near = space.neighbors(state, np.random.default_rng(0))
    assert len(set(keys_of(near))) == len(near) == space.n_moves == 40 + 99 + 2
    assert_array_equal(np.sum(near != state, axis=1), 1)
    assert_array_equal(near[:, 2], 0)


def test_listed_points_are_near_one_another():
    table = np.array([[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 1]])
    space = Space(table)
    near = space.neighbors(np.array([0, 0, 0]), np.random.default_rng(0))
    assert_array_equal(near[0], [1, 0, 0])
    assert_array_equal(near[-1], [1, 1, 1])


def test_rare_points_are_walked_to_from_known_ones():
    """A predicate that hardly any point keeps, and one that does."""
    space = Space(MANY, lambda point: point[:28].sum() == 0)
    rng, known = np.random.default_rng(0), np.zeros((1, MANY), dtype=int)
    assert len(set(keys_of(space.draw(20, rng, known)))) == 4
    with pytest.raises(ValueError, match=r"none of 20,000 points drawn .* tell the"):
        Space(MANY, lambda point: point[:28].sum() == 0).draw(1, rng, known[:0])


def test_linear_constraints_are_solved_where_no_draw_keeps_them(replace_constants):
    space = Space(100, [exactly(5, 100), lambda point: point[0] == point[1]], {7: 1})
    drawn = space.draw(5, np.random.default_rng(0), np.empty((0, 100), dtype=int))
    assert space.is_feasible(drawn).all()
    space = Space(MANY, exactly(MANY + 1, MANY))
    with pytest.raises(
        ValueError, match="no point of space satisfies the linear const"
    ):
        space.draw(1, np.random.default_rng(0), np.empty((0, MANY), dtype=int))
    replace_constants(_space, max_linear_programs=3)
    space = Space(MANY, [exactly(3, MANY), lambda point: False])
    with pytest.raises(
        ValueError, match="none of the points drawn satisfies the constr"
    ):
        space.draw(1, np.random.default_rng(0), np.empty((0, MANY), dtype=int))


# ------------------------------------------------------------------------------- sets

ASKS = """
import numpy as np
from skmohn.optimize import BlackBoxOptimizer
space = {"a": {"w", "yy", "zzz", "q"}, "b": {"u", "v"}, "n": frozenset([8, 1, 4.5])}
print(BlackBoxOptimizer(space, random_state=0).ask(3))
sets = [frozenset(s) for s in ("ab", "bc", "d", "aef")]
table = np.empty((4, 2), dtype=object)
table[:, 0], table[:, 1] = sets, [None, "x", 2, "y"]
points = BlackBoxOptimizer(table, random_state=0).ask(4)
print([(sorted(s), v) for s, v in points])
"""


@pytest.mark.slow
def test_the_order_of_a_set_does_not_matter():
    """It differs from process to process."""
    asked = {
        subprocess.run(
            [sys.executable, "-c", ASKS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in "012"
    }
    assert len(asked) == 1


def test_sets_of_numbers_are_levels():
    (variable,) = Space({"n": {8, 1, 4.5}}).variables
    assert variable.values == [1, 4.5, 8]
    assert variable.is_ordered
    assert Space({"flag": {True, False}}).variables[0].values == [False, True]


@pytest.mark.parametrize("values", [{"a", None}, {1, "a"}, {("a", 1), ("b", 2)}])
def test_sets_that_have_no_order_are_refused(values):
    with pytest.raises(ValueError, match="set of values for 'v', which has no order"):
        Space({"v": values})


@pytest.mark.parametrize("X", [{(0, 1), (1, 1)}, [{0, 1}, {1}], [(0, 1), {0, 1}]])
def test_sets_of_points_are_refused(X):
    with pytest.raises(ValueError, match="X must have an order, but a set has none"):
        Space(2).encode(X)


# ------------------------------------------------------------ none, and what is masked


@pytest.mark.parametrize("frame", LIBRARIES)
def test_none_may_come_back_from_a_data_frame_as_what_it_writes_for_none(frame):
    """pandas has NaN, or NA, where points had None."""
    space = Space({"text": [None, "x"], "number": [None, 3, 5]})
    points = space.decode(np.array([[0, 0], [1, 2], [0, 1]]))
    table = {name: [point[name] for point in points] for name in points[0]}
    assert space.encode(frame(table)).tolist() == [[0, 0], [1, 2], [0, 1]]
    assert space.encode([{"text": pd.NA, "number": np.nan}]).tolist() == [[0, 0]]
    with pytest.raises(ValueError, match="X has nan for the variable 'n', which must"):
        Space({"n": [3, 5]}).encode([{"n": np.nan}])


def test_masked_values_are_no_candidates():
    table = np.ma.array([[1, 2], [3, 4]], mask=[[0, 0], [0, 1]])
    with pytest.raises(ValueError, match="space has nan among the values of 1"):
        Space(table)
