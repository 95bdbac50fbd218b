"""Input coding: what becomes -1 and +1, what is scaled, what is ignored."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmohn._core import _rows
from skmohn.mohn._table.coding import CONSTANT, NUMERIC, TWO_VALUED, InputCoding
from skmohn.mohn._table.rows import Categorical, EncodedRows

TABLE = np.array(
    [
        [0.0, -1.0, 3.5, 1.0, 7.0, np.nan, np.nan],
        [1.0, 1.0, -2.1, 2.0, 7.0, np.nan, 4.0],
        [1.0, -1.0, -2.1, 4.0, 7.0, np.nan, 9.0],
        [0.0, 1.0, np.nan, 5.0, 7.0, np.nan, 4.0],
    ]
)


def test_kinds_and_ends_of_columns():
    coding = InputCoding.learn(TABLE)
    assert coding.kind.tolist() == [
        TWO_VALUED,
        TWO_VALUED,
        TWO_VALUED,
        NUMERIC,
        CONSTANT,
        CONSTANT,
        TWO_VALUED,
    ]
    assert_array_equal(coding.low, [0.0, -1.0, -2.1, 1.0, 7.0, np.nan, 4.0])
    assert_array_equal(coding.high, [1.0, 1.0, 3.5, 5.0, 7.0, np.nan, 9.0])
    assert_array_equal(coding.usable, [0, 1, 2, 3, 6])


def test_encoded_table():
    assert_array_equal(
        InputCoding.learn(TABLE).encode(TABLE).inputs,
        [
            [-1.0, -1.0, 1.0, -1.0, 0.0],
            [1.0, 1.0, -1.0, -0.5, -1.0],
            [1.0, -1.0, -1.0, 0.5, 1.0],
            [-1.0, 1.0, 0.0, 1.0, -1.0],
        ],
    )


@pytest.mark.parametrize("seed", range(20))
def test_ends_are_coded_without_rounding_error(seed):
    rng = np.random.default_rng(seed)
    ends = rng.standard_normal((2, 50)) * 10.0 ** rng.integers(-8, 9, 50)
    X = ends[rng.integers(2, size=(40, 50)), np.arange(50)]
    X[:2] = ends
    inputs = InputCoding.learn(X).encode(X).inputs
    assert_array_equal(np.abs(inputs), 1.0)
    assert_array_equal(inputs > 0, ends.max(axis=0) == X)


def test_decode_gives_the_values_back():
    coding = InputCoding.learn(TABLE)
    assert [coding.decode(2, sign) for sign in (-1, 1)] == [-2.1, 3.5]
    assert [coding.decode(3, sign) for sign in (-1, 1)] == [1.0, 5.0]


def test_further_value_is_mapped_on_the_line_with_one_warning():
    coding = InputCoding.learn(TABLE)
    new = TABLE.copy()
    new[1, 0] = 0.25
    new[2, 1] = 3.0
    with pytest.warns(UserWarning, match="column 0 has 0.25; column 1 has 3") as caught:
        inputs = coding.encode(new).inputs
    assert len(caught) == 1
    assert inputs[1, 0] == -0.5
    assert inputs[2, 1] == 3.0


def test_warning_uses_names():
    coding = InputCoding.learn(TABLE)
    new = TABLE.copy()
    new[0, 6] = 5.0
    with pytest.warns(UserWarning, match="column 'g' has 5"):
        coding.encode(new, names=list("abcdefg"))


def test_numeric_and_constant_columns_take_further_values_silently():
    coding = InputCoding.learn(TABLE)
    new = TABLE.copy()
    new[0, 3] = 9.0
    new[0, 4] = -1.0
    assert coding.encode(new).inputs[0, 3] == 3.0


@pytest.mark.parametrize("value", [1e17, -1e308, 1.7e308])
def test_value_that_leaves_nothing_of_its_columns_range_is_refused(value):
    coding = InputCoding.learn(np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 4.0]]))
    words = r"'b' has .*e\+.*too far from its range in fit, 1 to 4"
    with pytest.raises(ValueError, match=words):
        coding.encode(np.array([[0.0, 2.0], [1.0, value]]), names=["a", "b"])
    # As far as that a value may be, and an unknown one is nowhere.
    near = coding.encode(np.array([[0.0, 1e15], [1.0, np.nan]])).inputs
    assert_array_equal(near[:, 1], [(1e15 - 2.5) / 1.5, 0.0])


def test_levels_of_numeric_columns():
    X = np.column_stack([np.arange(12.0), np.tile([0.0, 1.0], 6), [2, 3, 7] * 4])
    X[3, 0] = np.nan
    coding = InputCoding.learn(X, max_levels=4)
    assert coding.categoricals == ((0,), (2,))
    assert coding.alphabets == (Categorical(4, True), Categorical(3, True))
    assert [alphabet.n_steps for alphabet in coding.alphabets] == [3, 2]
    assert_array_equal(coding.usable, [0, 1, 2])
    categories = coding.encode(X).categories
    # The unknown one has the number after the last.
    assert_array_equal(categories[:, 0], [0, 0, 0, 4, 1, 1, 2, 2, 2, 3, 3, 3])
    assert_array_equal(categories[:, 1], [0, 1, 2] * 4)
    beyond = coding.encode(np.array([[-50.0, 0, 1], [99.0, 1, 4.99]])).categories
    assert_array_equal(beyond, [[0, 0], [3, 1]])
    assert InputCoding.learn(X).categoricals == ()


def test_ends_of_levels():
    day = 86400.0
    X = np.column_stack(
        [
            [0.5, 1.5, 2.5, 3.5],  # thresholds at 2
            [-4, -1, 2, 7],  # at 0.5
            [-1, 0, 2, 3],  # at 1, which belongs above
            [day, 2 * day, 9 * day, 10 * day],  # at 5.5 days
            [1e17, 2e17, 3e17, 4e17],
        ]
    )
    coding = InputCoding.learn(X, max_levels=2)
    below = np.nextafter(2.0, 0.0)
    assert_array_equal(coding.level_ends(0), [0.5, below, 2.0, 3.5])
    assert_array_equal(coding.level_ends(1), [-4, 0, 1, 7])
    assert not np.signbit(coding.level_ends(1)[1])
    assert_array_equal(coding.level_ends(2), [-1, 0, 1, 3])
    assert_array_equal(coding.level_ends(3), day * np.array([1, 5, 6, 10]))
    assert coding.units == {1: 1.0, 2: 1.0, 3: day, 4: 1.0}
    for column in range(5):
        ends = coding.level_ends(column)
        rows = np.tile(X[:1], (4, 1))
        rows[:, column] = ends
        assert_array_equal(coding.encode(rows).categories[:, column], [0, 0, 1, 1])


def test_rows_know_which_inputs_are_unknown():
    X = np.array([[0.0, 0.0], [1.0, np.nan], [2.0, 1.0]])
    coding = InputCoding.learn(X)
    rows = coding.encode(X)
    assert_array_equal(rows.inputs, [[-1, -1], [0, 0], [1, 1]])
    assert_array_equal(rows.unknown, [[False, False], [False, True], [False, False]])
    known = coding.encode(X[[0, 2]])
    assert known.unknown is None
    assert not known.mask().any()
    assert_array_equal(rows.take([1]).unknown, [[False, True]])
    joined = known.join(rows)
    assert_array_equal(joined.inputs, np.vstack([known.inputs, rows.inputs]))
    assert_array_equal(joined.unknown, np.vstack([known.mask(), rows.unknown]))
    assert known.join(known).unknown is None


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool"])
def test_bytes_are_coded_as_numbers_are(dtype, replace_constants):
    replace_constants(_rows, max_values=20)
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(50, 7)).astype(dtype)
    X[:, 3] = 1
    expected = InputCoding.learn(X.astype(float))
    coding = InputCoding.learn(X)
    for name in ("kind", "low", "high"):
        assert_array_equal(getattr(coding, name), getattr(expected, name))
    inputs = expected.encode(X.astype(float)).inputs
    assert inputs.dtype == np.float64
    packed = coding.encode(X, as_bytes=True)
    assert packed.inputs.dtype == np.int8
    assert packed.unknown is None
    assert_array_equal(packed.inputs, inputs)


def test_only_signs_are_bytes(replace_constants):
    replace_constants(_rows, max_values=4)
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, np.nan], [0.0, 1.0]])
    coding = InputCoding.learn(X)
    # The first gap or further value comes late.
    found = coding.encode(X, as_bytes=True)
    assert found.inputs.dtype == np.float64
    assert_array_equal(found.inputs, [[-1, 1], [1, -1], [-1, -1], [1, 0], [-1, 1]])
    assert_array_equal(found.unknown, np.isnan(X))
    X[3, 1] = 0.5
    with pytest.warns(UserWarning, match="not seen in fit"):
        found = coding.encode(X, as_bytes=True)
    assert_array_equal(found.inputs[3], [1, 0])
    assert found.unknown is None
    numeric = InputCoding.learn(X)
    assert numeric.encode(X[:3], as_bytes=True).inputs.dtype == np.float64


def test_learning_changes_nothing():
    before = TABLE.copy()
    InputCoding.learn(TABLE).encode(TABLE)
    assert_array_equal(TABLE, before)


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-170, 1e160, 4e307])
def test_ranges_as_wide_as_floats_go(size):
    X = np.array([[-4.0, 0.0], [4.0, 4.0], [0.0, 1.0]]) * size
    inputs = InputCoding.learn(X).encode(X).inputs
    assert_allclose(inputs, [[-1.0, -1.0], [1.0, 1.0], [0.0, -0.5]])


@pytest.mark.parametrize("wild", [1e12, -1e300])
def test_levels_beside_a_wild_number_are_as_many(wild):
    X = np.random.default_rng(0).normal(size=(100, 1))
    X[7] = wild
    coding = InputCoding.learn(X, max_levels=16)
    assert not coding.settings
    assert coding.alphabets == (Categorical(16, is_ordered=True),)


FILL = 9.97e36
FILLED = np.array([0.0, 1.0, 0.5, 2.0, FILL, 1.0, -FILL, 0.0])[:, None]


@pytest.mark.parametrize("max_levels", [1, 3])
def test_fills_count_as_the_nearer_end(max_levels):
    X = np.hstack([FILLED, FILLED, np.arange(8.0)[:, None]])
    X[:, 1][X[:, 1] == 0.5] = 0.0
    X[:, 1][X[:, 1] == 2.0] = 1.0
    before = X.copy()
    coding = InputCoding.learn(X, max_levels=max_levels)
    assert coding.kind.tolist() == [NUMERIC, TWO_VALUED, NUMERIC]
    assert coding.low.tolist() == [0.0, 0.0, 0.0]
    assert coding.high.tolist() == [2.0, 1.0, 7.0]
    rows = coding.encode(X)
    assert_array_equal(rows.inputs[:, 0], [-1, 0, -0.5, 1, 1, 0, -1, -1])
    assert_array_equal(rows.inputs[:, 1], [-1, 1, -1, 1, 1, 1, -1, -1])
    assert_array_equal(X, before)
    # Further numbers are on the line; what is farther than anything seen is refused.
    further = np.array([[4.0, 1.0, 14.0]])
    assert_array_equal(coding.encode(further).inputs, [[3.0, 1.0, 3.0]])
    for far in ([10 * FILL, 0.0, 0.0], [0.0, 0.0, FILL]):
        with pytest.raises(ValueError, match="too far from its range"):
            coding.encode(np.array([far]))


LONE = np.append(np.arange(19.0), 90.0)[:, None]


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_lone_value_far_off_counts_as_the_nearer_end(sign):
    X = np.hstack([sign * LONE, np.append(np.tile([0.0, 1.0], 9), [7.0, 0.0])[:, None]])
    before = X.copy()
    coding = InputCoding.learn(X, max_levels=4)
    assert coding.kind.tolist() == [NUMERIC, TWO_VALUED]
    assert sorted([coding.low[0], coding.high[0]]) == sorted([0.0, sign * 18.0])
    assert (coding.low[1], coding.high[1]) == (0.0, 1.0)
    rows = coding.encode(X)
    assert_array_equal(rows.inputs[-1], [sign, -1.0])
    assert_array_equal(rows.inputs[-2], [sign, 1.0])
    assert_array_equal(X, before)
    # What is nearer is on the line; what is farther counts as the end, too.
    near = coding.encode(np.array([[sign * 69.0, 0.0]])).inputs[0, 0]
    np.testing.assert_allclose(near, sign * 20.0 / 3.0)
    for far in (69.1, 90.0, 1e9):
        found = coding.encode(np.array([[sign * far, 1e9]])).inputs
        assert_array_equal(found, [[sign, 1.0]])


@pytest.mark.parametrize(
    "values",
    [
        np.append(np.arange(19.0), 69.0),  # not far enough
        np.append(np.arange(19.0), [90.0, 90.0]),  # not alone
        np.append(np.arange(8.0), 90.0),  # of few rows
        2.0 ** np.arange(20),  # settings chosen on a scale of powers
        10.0 ** np.append(np.arange(11.0), 0.0),
    ],
)
def test_values_that_may_be_meant_stay(values):
    coding = InputCoding.learn(values[:, None], max_levels=4)
    assert not coding.far
    assert coding.high[0] == values.max()


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_value_far_off_by_logarithms_counts_as_the_nearer_end(sign):
    # But for two at the top, the others end at 4 ** 17, and their median is 4 ** 10:
    # from 4 ** 25 on, a value is as far beyond 4 ** 18 by logarithms.
    X = sign * 4.0 ** np.append(np.arange(19.0), 31.0)[:, None]
    coding = InputCoding.learn(X, max_levels=4)
    assert sorted([coding.low[0], coding.high[0]]) == sorted([sign, sign * 4.0**18])
    assert_array_equal(coding.encode(X).inputs[-2:], [[sign], [sign]])
    for exponent in (24.9, 25.1):
        found = coding.encode(np.array([[sign * 4.0**exponent]])).inputs[0, 0]
        assert (abs(found) > 1.0) == (exponent < 25.0)


def test_in_coded_columns_no_value_is_far_off():
    X = np.append(np.linspace(-1.0, -0.9, 19), 1.0)[:, None]
    coding = InputCoding.learn(X, is_coded=True)
    assert not coding.far
    assert InputCoding.learn(X).far
    assert coding.high[0] == 1.0


def test_rows_that_a_fit_leaves_out_are_admitted():
    X = np.arange(8.0)[:, None]
    coding = InputCoding.learn(X)
    admitted = coding.admit(np.array([[FILL], [9.0], [np.nan]]))
    rows = admitted.encode(np.array([[FILL], [7.0], [14.0]]))
    assert_array_equal(rows.inputs[:, 0], [1.0, 1.0, 3.0])
    assert coding.admit(X) is coding
    # What fit has seen stays known, and from where on it is far off.
    coding = InputCoding.learn(LONE)
    admitted = coding.admit(np.array([[-FILL]]))
    rows = admitted.encode(np.array([[-FILL], [90.0], [1e9]]))
    assert_array_equal(rows.inputs[:, 0], [-1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="too far"):
        coding.encode(np.array([[FILL]]))


def test_plain_alphabets_are_those_without_levels():
    X = np.random.default_rng(0).integers(0, 5, (40, 3)).astype(float)
    coding = InputCoding.learn(X, {0: 5}, max_levels=4)
    assert len(coding.alphabets) == 3
    assert coding.plain_alphabets == coding.without_levels().alphabets
    assert coding.plain_alphabets == coding.alphabets[:1]
    assert coding.has_numeric
    assert not InputCoding.learn(X % 2.0).has_numeric


def test_stored_categories_take_a_byte():
    categories = np.random.default_rng(0).integers(0, 9, (500, 6))
    for group in (None, np.arange(500) // 2):
        rows = EncodedRows(np.empty((500, 0)), categories, group=group)
        stored = pickle.dumps(rows)
        assert len(stored) < 500 * 6 + (0 if group is None else 500 * 1) + 700
        again = pickle.loads(stored)
        assert again.categories.dtype == categories.dtype
        assert_array_equal(again.categories, categories)
        assert group is None or np.array_equal(again.group, group)


def test_levels_are_those_of_a_sorted_search():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).round(2)
    X[:, 1] = rng.integers(0, 9, 300)
    coding = InputCoding.learn(X, max_levels=12)
    edges = [coding.thresholds[j] for j in range(3)]
    assert len({len(part) for part in edges}) > 1
    rows = np.vstack([X, *(np.full(3, part[0]) for part in edges), np.full(3, np.nan)])
    expected = [
        np.append(part, np.nan).searchsorted(column, "right")
        for part, column in zip(edges, rows.T, strict=True)
    ]
    for table in (rows, np.asfortranarray(rows)):
        assert_array_equal(coding.encode(table).categories.T, expected)
