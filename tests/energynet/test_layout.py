"""The order and the signs of columns change nothing of what is learned."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmohn import EnergyNetImputer, EnergyNetTransformer
from skmohn.energynet import RBM, exact_log_partition
from skmohn.energynet._coding import UnitCoding
from skmohn.energynet._groups import Groups
from skmohn.energynet._layout import Layout, sort_categories, sort_columns

RNG = np.random.default_rng(0)


def make_table(n_rows=80, missing_fraction=0.0):
    """Three bits and three numbers, which depend on each other."""
    rng = np.random.default_rng(1)
    bits = (rng.random((n_rows, 3)) < [0.3, 0.45, 0.2]).astype(float)
    bits[:, 1] = np.where(rng.random(n_rows) < 0.8, bits[:, 0], bits[:, 1])
    numbers = rng.normal(size=(n_rows, 3))
    numbers[:, 1] += numbers[:, 0] + bits[:, 0]
    numbers[:, 2] = np.exp(numbers[:, 2])
    X = np.column_stack([bits, numbers])
    X[rng.random(X.shape) < missing_fraction] = np.nan
    return X


def turned(X, columns):
    """Bits with 0 and 1 exchanged, numbers with another sign."""
    X = X.copy()
    for j in columns:
        X[:, j] = 1.0 - X[:, j] if j < 3 else -X[:, j]
    return X


@pytest.mark.parametrize(
    "parameters",
    [
        {"growth": None, "n_components": 4},
        {"growth": None, "n_components": [4, 3], "whiten": False},
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param({"growth": "description_length"}, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("missing_fraction", [0.0, 0.1])
def test_order_and_sign_of_columns_change_no_density(parameters, missing_fraction):
    X = make_table(missing_fraction=missing_fraction)
    net = EnergyNetTransformer(n_final_epochs=3, random_state=0, **parameters)
    complete = ~np.isnan(X).any(axis=1)
    known = net.fit(X).score_samples(X[complete])
    order = np.array([4, 0, 5, 2, 1, 3])
    other = turned(X, [0, 1, 3, 5])[:, order]
    found = net.fit(other).score_samples(other[complete])
    # Biases of turned units are rounded sums.
    assert_allclose(found, known, atol=2e-5)


def test_samples_in_another_order_have_the_same_layout():
    X = make_table(missing_fraction=0.1)
    for table in (X, X[::-1], np.repeat(X, 2, axis=0)):
        order, sign = sort_columns(table, np.ones(6, bool))
        assert_array_equal(order, sort_columns(X, np.ones(6, bool))[0])
        assert_array_equal(sign, sort_columns(X, np.ones(6, bool))[1])


@pytest.mark.parametrize("shift", [1e3, -1e7, 1e9])
def test_columns_far_from_zero_are_sorted_as_near_it(shift):
    X, moved = make_table(200), make_table(200)
    # Column 3 is symmetric, and 4 follows from others: all of their moments count.
    moved[:, 3:] += shift
    is_number = np.ones(6, bool)
    assert_array_equal(sort_columns(moved, is_number)[0], sort_columns(X, is_number)[0])
    assert_array_equal(sort_columns(moved, is_number)[1], sort_columns(X, is_number)[1])
    codes = np.column_stack([np.tile([0.0, 1.0], 100), moved])
    near = np.column_stack([codes[:, :1], X])
    for found, expected in zip(
        sort_categories(codes, {0: 2}).values(),
        sort_categories(near, {0: 2}).values(),
        strict=True,
    ):
        assert_array_equal(found, expected)


@pytest.mark.parametrize("whiten", [False, True])
def test_densities_do_not_depend_on_the_units(whiten):
    X = make_table()
    net = EnergyNetTransformer(None, 4, whiten=whiten, n_final_epochs=3, random_state=0)
    known = net.fit(X).score_samples(X)
    other = X.copy()
    # Deviations from 10 MHz as frequencies, and days since 1970 as seconds.
    other[:, 3] += 1e7
    other[:, 4] = 86_400.0 * (other[:, 4] + 19_000.0)
    found = net.fit(other).score_samples(other) + np.log(86_400.0)
    assert_allclose(found, known, atol=1e-4)


def test_columns_that_nothing_tells_apart_stay():
    states = np.array(np.meshgrid([0.0, 1.0], [0.0, 1.0], [0.0, 1.0])).reshape(3, -1).T
    order, sign = sort_columns(states, np.ones(3, bool))
    assert_array_equal(order, [0, 1, 2])
    assert_array_equal(sign, [1.0, 1.0, 1.0])
    wider = np.column_stack([states, np.full(8, 0.1), np.full(8, -7.0)])
    order, sign = sort_columns(wider, np.ones(5, bool))
    assert_array_equal(order, [3, 4, 0, 1, 2])
    assert_array_equal(sign, 1.0)


def test_skewness_gives_columns_their_sign():
    """Of symmetric ones their part in rows that are far out."""
    far = np.array([[-3.0, 9.0], [3.0, 0.0], [-1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    symmetric, skewed = far.T
    for X, expected in ((skewed, [1.0]), (-skewed, [-1.0]), (symmetric, [1.0])):
        _, sign = sort_columns(X[:, None], np.ones(1, bool))
        assert_array_equal(sign, expected)
    for factor in (1.0, -1.0):
        X = np.column_stack([factor * symmetric, skewed])
        assert_array_equal(sort_columns(X, np.ones(2, bool))[1], [-factor, 1.0])


def test_names_of_categories_do_not_count():
    codes = RNG.choice(4, 60, p=[0.5, 0.3, 0.15, 0.05]).astype(float)
    X = np.column_stack([codes, make_table(60)])
    is_number = np.arange(7) > 0
    other = X.copy()
    other[:, 0] = np.array([2.0, 0.0, 3.0, 1.0])[codes.astype(int)]
    for found, expected in zip(
        sort_columns(other, is_number), sort_columns(X, is_number), strict=True
    ):
        assert_array_equal(found, expected)


def make_layout():
    """A bit, four levels, a constant, three categories; the levels are turned."""
    sizes, is_ordered = np.array([1, 3, 0, 2]), np.array([True, True, True, False])
    order, sign = np.array([3, 2, 1, 0]), np.array([1.0, -1.0, 1.0, 1.0])
    groups = Groups(sizes[sizes > 0], is_ordered[sizes > 0])
    return Layout.of(sizes, is_ordered, order, sign), groups


def test_units_there_and_back():
    layout, groups = make_layout()
    assert_array_equal(layout.groups.sizes, [2, 3, 1])
    assert_array_equal(layout.groups.is_ordered, [False, True, True])
    # The second of four levels is the third from the other end.
    units = np.array([[1.0, 1.0, 0.0, 0.0, 0.0, 1.0]], np.float32)
    arranged = layout.arrange(units.copy())
    assert_array_equal(arranged, [[0.0, 1.0, 1.0, 1.0, 0.0, 1.0]])
    assert_array_equal(layout.restore(arranged), units)
    assert groups.n_units == 6


def test_rbms_say_the_same_of_the_same_units():
    layout, groups = make_layout()
    rbm = RBM(RNG.normal(size=(3, 6)), RNG.normal(size=3), RNG.normal(size=6), groups)
    arranged = layout.arrange_rbm(rbm)
    back = layout.restore_rbm(arranged, groups)
    assert_allclose(back.weights, rbm.weights)
    assert_allclose(back.hidden_bias, rbm.hidden_bias, atol=1e-5)
    assert_allclose(back.visible_bias, rbm.visible_bias)
    units = np.array(
        [[1, 1, 0, 0, 0, 1], [0, 1, 1, 1, 0, 0], [1, 0, 0, 0, 1, 0]], float
    )
    there = layout.arrange(units.copy())
    found, known = (exact_log_partition(rbm).value for rbm in (arranged, rbm))
    assert found - layout.log_volume(arranged) == pytest.approx(known, abs=1e-5)
    assert_allclose(
        arranged.free_energy(there) + found, rbm.free_energy(units) + known, atol=1e-4
    )
    assert_allclose(
        arranged.hidden_probabilities(there), rbm.hidden_probabilities(units), atol=1e-5
    )


def test_levels_have_no_sign():
    """As many values in each, though values at a threshold belong above it."""
    values = np.exp(np.random.default_rng(3).normal(size=(53, 1)))
    coding, other = (
        UnitCoding.learn(sign * values, "thermometer", 8) for sign in (1.0, -1.0)
    )
    assert_allclose(other.thresholds[0], -coding.thresholds[0][::-1])
    assert_array_equal(other.encode(-values), 1.0 - coding.encode(values)[:, ::-1])


def test_training_goes_on_where_it_was():
    """Further epochs of an RBM whose units were turned meanwhile."""
    X = make_table()
    net = EnergyNetTransformer(
        None, 4, n_final_epochs=2, random_state=0, warm_start=True
    )
    for _ in range(2):
        net.fit(X)
    other = EnergyNetTransformer(
        None, 4, n_final_epochs=2, random_state=0, warm_start=True
    )
    for _ in range(2):
        other.fit(turned(X, [0, 1, 2, 3, 4, 5]))
    found = other.score_samples(turned(X, [0, 1, 2, 3, 4, 5]))
    assert_allclose(found, net.score_samples(X), atol=1e-4)


def balanced_categories(n=90):
    """Two columns of equally frequent categories, and two of numbers."""
    rng = np.random.default_rng(0)
    three = rng.permutation(np.repeat([0, 1, 2], n // 3))
    two = rng.permutation(np.repeat([0, 1], n // 2))
    a = three + rng.normal(size=n)
    b = 2.0 * two + (three == 1) + rng.normal(size=n)
    return np.column_stack([three, a, two, b]).astype(float)


NAMES = [("abc", "xy"), ("cab", "yx"), ("bca", "xy")]


def named(X, names):
    three, two = (np.array(list(of), dtype=object) for of in names)
    table = X.astype(object)
    table[:, 0], table[:, 2] = three[X[:, 0].astype(int)], two[X[:, 2].astype(int)]
    return table


@pytest.mark.parametrize("whiten", [False, True])
def test_names_of_equally_frequent_categories_change_no_density(whiten):
    net = EnergyNetTransformer(
        n_components=4, n_final_epochs=5, whiten=whiten, random_state=0
    )
    X = balanced_categories()
    first, *others = (
        net.set_params(categorical_features=[0, 2])
        .fit(named(X, names))
        .score_samples(named(X, names))
        for names in NAMES
    )
    for found in others:
        assert_allclose(found, first, atol=1e-5)


def test_names_of_equally_frequent_categories_change_no_imputed_number():
    layers = EnergyNetTransformer(
        n_components=4,
        n_final_epochs=5,
        whiten=True,
        categorical_features=[0, 2],
        random_state=0,
    )
    X = balanced_categories()
    X[::5, 1] = np.nan
    first, *others = (
        EnergyNetImputer(layers).fit_transform(named(X, names))[:, 1].astype(float)
        for names in NAMES
    )
    for found in others:
        assert_allclose(found, first, atol=1e-5)


def test_categories_are_told_apart_by_what_else_their_rows_hold():
    X = balanced_categories()
    known = sort_categories(X, {0: 3, 2: 2})
    # Other names, rows in another order, other columns, other signs and units.
    names = np.array([2, 0, 1])
    other = X.copy()
    other[:, 0] = names[X[:, 0].astype(int)]
    other = (other * [1.0, -1000.0, 1.0, 1.0])[::-1, [3, 0, 1, 2]]
    found = sort_categories(other, {1: 3, 3: 2})
    assert_array_equal(found[1], names[known[0]])
    assert_array_equal(found[3], known[2])
    # The more frequent comes first, whatever its rows hold.
    counts = np.repeat([0.0, 1.0, 2.0], [3, 5, 4])[:, None]
    assert_array_equal(sort_categories(counts, {0: 3})[0], [1, 2, 0])


def test_categories_are_told_apart_by_those_they_go_with():
    """Without numbers, and with all categories of a column equally frequent."""
    first = np.repeat([0, 1, 2, 3], 8)
    # With two, four and six of the others; the last two are alike.
    last = np.repeat([2, 3, 4, 5, 6, 7], [1, 1, 1, 1, 2, 2])
    second = np.concatenate(
        [np.repeat([0, 1], 4), np.repeat([2, 3, 4, 5], 2), last, last]
    )
    names = np.array([3, 1, 0, 2])
    X = np.column_stack([first, second]).astype(float)
    other = np.column_stack([names[first], second]).astype(float)
    known = sort_categories(X, {0: 4, 1: 8})[0]
    found = sort_categories(other, {0: 4, 1: 8})[0]
    assert_array_equal(known[:2], [0, 1])
    assert_array_equal(found[:2], names[[0, 1]])
