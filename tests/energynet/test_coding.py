"""Columns as visible units, and back."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler

from skmohn.energynet._coding import UnitCoding

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(200, 3))


def learn(X, coding="auto", n_bins=8, names=None):
    return UnitCoding.learn(np.asarray(X, float), coding, n_bins, names)


def gray(shape):
    """Numbers from 0 to 1, most of which are at the ends."""
    return np.clip(0.5 + 1.5 * RNG.normal(size=shape), 0, 1)


def test_a_wild_number_is_no_mean_of_its_level():
    X = NORMAL.copy()
    X[7, 0] = 1e6
    found = learn(X, "thermometer")
    levels = found.levels[0]
    others = np.sort(NORMAL[np.arange(200) != 7, 0])
    assert levels[-1] < others[-1]
    # Where it is alone, it is the level.
    assert learn(X[:8], "thermometer").levels[0][-1] == 1e6


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_value_that_most_of_a_level_have_is_drawn_as_often(sign):
    rng = np.random.default_rng(0)
    X = sign * np.where(rng.random(2000) < 0.4, 0.0, rng.exponential(size=2000))
    coding = learn(X[:, None], "thermometer")
    units = coding.encode(X[:, None])
    drawn = coding.draw(units, rng)[:, 0]
    assert (drawn == 0.0).mean() == pytest.approx((X == 0.0).mean(), abs=0.02)
    others = drawn[drawn != 0.0]
    assert len(np.unique(others)) == len(others)
    assert others.mean() == pytest.approx(X[X != 0.0].mean(), rel=0.05)
    # Levels of measurements alone are drawn from their density, as before.
    (most,) = np.flatnonzero(coding.atom_fractions[0])
    assert coding.atoms[0][most] == 0.0


def test_bits_and_probabilities_stay_as_they_are():
    likely = gray(50)
    X = np.column_stack([RNG.integers(2, size=50), likely, np.zeros(50)])
    for coding in ("auto", "probability"):
        found = learn(X, coding)
        assert_array_equal(found.encode(X), X.astype(np.float32))
        assert_allclose(found.decode(found.encode(X)), X, atol=1e-7)


def test_auto_asks_each_column():
    likely = gray(50)
    X = np.column_stack([likely, RNG.normal(size=50), RNG.integers(3, size=50)])
    found = learn(X)
    assert found.kind.tolist() == ["probability", "thermometer", "thermometer"]
    assert found.n_units.tolist() == [1, 7, 2]
    assert found.encode(X).shape == (50, 10)


def test_levels_of_a_thermometer_are_scikit_learns_bins():
    found = learn(NORMAL, "thermometer")
    bins = KBinsDiscretizer(8, encode="ordinal", subsample=None).fit_transform(NORMAL)
    levels = found.encode(NORMAL).reshape(200, 3, 7).sum(axis=2)
    assert_array_equal(levels, bins)
    # A unit is only on if those of the lower thresholds are.
    assert np.all(np.diff(found.encode(NORMAL).reshape(200, 3, 7), axis=2) <= 0)


def test_thermometer_decodes_to_the_mean_of_its_level():
    found = learn(NORMAL, "thermometer")
    decoded = found.decode(found.encode(NORMAL))
    for j in range(3):
        for value in np.unique(decoded[:, j]):
            members = NORMAL[decoded[:, j] == value, j]
            assert value == pytest.approx(members.mean())
    half = found.decode(np.full((1, 21), 0.5))
    assert_allclose(half[0], [(lv[0] + lv[-1]) / 2 for lv in found.levels])


@pytest.mark.parametrize("values", [[-1, 1], [0, 0, 0, 5], [1, 2, 3, 3, 3, 3, 3, 3]])
def test_few_values_keep_a_level_each(values):
    X = np.array(values, float)[:, None]
    found = learn(X, "thermometer")
    assert found.n_units == len(np.unique(X)) - 1
    assert_allclose(found.decode(found.encode(X)), X)


def test_single_values_come_back_to_the_last_digit():
    """Means of many copies of them do not."""
    values = np.array([-0.044641636506989144, 0.050680118739818, 0.1, 1 / 3])
    column = np.repeat(values, [29, 31, 37, 41])
    assert np.any(
        [np.sum(column[column == v]) / np.sum(column == v) != v for v in values]
    )
    coding = UnitCoding.learn(column[:, None], "thermometer", 8)
    units = coding.encode(column[:, None])
    assert_array_equal(coding.decode(units)[:, 0], column)
    drawn = coding.draw(units, np.random.default_rng(0))
    assert_array_equal(drawn[:, 0], column)


def test_values_that_are_mostly_zero_keep_levels():
    X = np.where(RNG.random((500, 1)) < 0.9, 0.0, RNG.exponential(100, (500, 1)))
    assert learn(X).n_units == 7


def test_minmax_is_scikit_learns():
    found = learn(NORMAL, "minmax")
    scaler = MinMaxScaler(clip=True).fit(NORMAL)
    more = np.vstack([NORMAL, 100 * NORMAL])
    assert_allclose(found.encode(more), scaler.transform(more), atol=1e-6)
    assert_allclose(found.decode(found.encode(NORMAL)), NORMAL, atol=1e-6)


def test_values_beyond_those_seen_are_taken_for_the_ends():
    X = np.column_stack([gray(50), RNG.normal(size=50)])
    found = learn(X)
    far = found.encode([[9.0, 9.0], [-9.0, -9.0]] * np.ones((2, 2)))
    assert_array_equal(far, np.repeat([[1.0], [0.0]], 8, axis=1))


def test_constant_columns():
    X = np.column_stack([NORMAL[:, 0], np.full(200, 7.0)])
    for coding, n_units in (("thermometer", 0), ("minmax", 1), ("auto", 0)):
        found = learn(X, coding)
        assert found.n_units[1] == n_units
        assert_allclose(found.decode(found.encode(X))[:, 1], 7.0)
    with pytest.raises(ValueError, match="no column of X varies"):
        learn(np.full((5, 2), 7.0))


def test_numbers_that_are_no_probabilities_are_refused():
    with pytest.raises(ValueError, match=r"column 0 has .* and 2 more columns"):
        learn(NORMAL, "probability")
    found = learn(RNG.random((5, 2)), "probability")
    with pytest.raises(ValueError, match=r"column 'b' has 1\.5; use coding="):
        found.encode(np.array([[0.5, 1.5]]), ["a", "b"])


@given(
    st.lists(st.floats(-1e100, 1e100), min_size=2, max_size=40).filter(
        lambda values: len(set(values)) > 1
    ),
    st.integers(2, 10),
)
# The three largest are so far off that means take them for the fourth.
@example([0.0, 0.0, 0.0, 2.0, 5e76, 4e80, 5e81], 4)
def test_codes_are_monotone_and_decoding_too(values, n_bins):
    X = np.sort(np.array(values))[:, None]
    found = learn(X, "thermometer", n_bins)
    units = found.encode(X)
    assert 1 <= found.n_units <= n_bins - 1
    assert np.all(np.diff(units.sum(axis=1)) >= 0)
    decoded = found.decode(units)
    scale = np.abs(X).max()
    assert np.all(np.diff(decoded[:, 0]) >= -1e-9 * scale)
    assert X[0] - 1e-9 * scale <= decoded[0]
    assert decoded[-1] <= X[-1] + 1e-9 * scale


# -------------------------------------------------------------------------- densities


@pytest.mark.parametrize("n_bins", [2, 3, 8])
@pytest.mark.parametrize(
    "values", [NORMAL[:, 0], RNG.exponential(size=200), RNG.integers(5, size=200) / 7]
)
def test_density_of_each_level_has_a_mass_of_one(values, n_bins):
    X = 100 + 30 * values[:, None]
    found = learn(X, "thermometer", n_bins)
    span = np.ptp(X)
    grid = np.linspace(X.min() - 6 * span, X.max() + 6 * span, 400_001)[:, None]
    level = found.encode(grid).sum(axis=1).astype(int)
    mass = np.bincount(level, np.exp(found.log_density(grid)))
    assert len(mass) == found.n_units[0] + 1
    assert_allclose(mass * (grid[1] - grid[0]), 1, rtol=5e-3)


def test_density_beyond_the_ends_has_the_mean_of_what_is_there():
    found = learn(NORMAL, "thermometer")
    edges = found.thresholds[0]
    for k, (edge, beyond) in enumerate(
        ((edges[0], NORMAL[:, 0] < edges[0]), (edges[-1], NORMAL[:, 0] >= edges[-1]))
    ):
        scale = np.abs(NORMAL[beyond, 0].mean() - edge)
        far = edge + (5 if k else -5) * scale
        row = np.array([[far, NORMAL[0, 1], NORMAL[0, 2]]])
        near = row.copy()
        near[0, 0] = edge + (1e-9 if k else -1e-9)
        fallen = found.log_density(near) - found.log_density(row)
        assert fallen == pytest.approx(5, abs=1e-6)


def test_values_far_outside_of_bits_and_ranges_are_unlikely():
    X = np.column_stack([RNG.integers(2, size=50), np.full(50, 3.0)]).astype(float)
    found = learn(X)
    rows = np.array([[0, 3], [1, 3], [9, 3], [-4, 3], [np.nan, 3], [1, 77]])
    assert_allclose(found.log_density(rows), [0, 0, -8, -4, 0, 0])
    scaled = learn(NORMAL, "minmax")
    assert_allclose(scaled.log_density(NORMAL), 0)
    low, high = NORMAL.min(axis=0), NORMAL.max(axis=0)
    assert scaled.log_density((high + 2 * (high - low))[None]) == pytest.approx(-6)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_density_of_numbers_of_any_size(scale):
    found, plain = learn(NORMAL * scale), learn(NORMAL)
    shift = 3 * np.log(scale)
    assert_allclose(
        found.log_density(NORMAL * scale), plain.log_density(NORMAL) - shift, rtol=1e-9
    )


@pytest.mark.parametrize("coding", ["minmax", "thermometer"])
@pytest.mark.parametrize("size", [1e-310, 5e-324, 1.7e308])
def test_range_of_any_size(coding, size):
    X = np.linspace(-1, 1, 9)[:, None] * size
    plain = learn(X / size, coding, n_bins=3)
    found = learn(X, coding, n_bins=3)
    if size > 5e-324:
        assert_allclose(found.encode(X), plain.encode(X / size), atol=1e-6)
        decoded = found.decode(found.encode(X)) / size
        assert_allclose(decoded, plain.decode(plain.encode(X / size)), atol=1e-6)
    far = np.array([[-1.7e308], [1.7e308], [0.0]])
    for rows in (X, far):
        assert np.isfinite(found.log_density(rows)).all()
    assert np.all(found.log_density(far) <= found.log_density(X).max())


def test_outlier_beside_a_narrow_range_is_far_and_no_more():
    X = np.append(np.linspace(0, 1, 20), 1e308)[:, None]
    for coding in ("minmax", "thermometer"):
        found = learn(X, coding)
        assert np.isfinite(found.log_density(np.vstack([X, -X, 1e-9 * X]))).all()
        assert np.isfinite(found.decode(found.encode(X))).all()


# ------------------------------------------------------------------- what "auto" takes


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_iris])
def test_scaled_measurements_are_no_bits(load):
    X = load().data
    scaled = MinMaxScaler().fit_transform(X)
    found, plain = learn(scaled), learn(X, "thermometer")
    assert set(found.kind) == {"thermometer"}
    assert_array_equal(found.encode(scaled), plain.encode(X))
    for rows in (scaled[::2], scaled[1::2]):
        assert set(learn(rows).kind) == {"thermometer"}


@pytest.mark.parametrize("n_rows", [60, 1797])
def test_gray_levels_of_digits_are_as_good_as_bits(n_rows):
    """Of the first sixty, more than half of the levels lie between."""
    X = load_digits().data[:n_rows] / 16
    assert set(learn(X).kind) == {"probability"}


def test_measured_numbers_are_no_bits_even_near_the_ends():
    uniform = RNG.random((300, 4))
    assert set(learn(uniform).kind) == {"thermometer"}
    assert set(learn(RNG.beta(0.4, 0.4, (300, 4))).kind) == {"thermometer"}
    modes = RNG.choice([0.1, 0.9], (300, 4)) + 0.03 * RNG.normal(size=(300, 4))
    assert set(learn(np.clip(modes, 0, 1)).kind) == {"thermometer"}
    wine = MinMaxScaler().fit_transform(load_wine().data)
    assert set(learn(wine).kind) == {"thermometer"}
    assert set(learn(gray((300, 4))).kind) == {"probability"}
    bits = RNG.integers(2, size=(300, 2))
    mixed = learn(np.column_stack([uniform, bits]))
    assert mixed.kind.tolist() == ["thermometer"] * 4 + ["probability"] * 2


def test_grey_levels_of_drawings_are_taken_for_bits():
    X = load_digits().data / 16
    for rows in (X, X[::2], X[:200]):
        assert set(learn(rows).kind) == {"probability"}


def test_fractions_that_are_whitened_are_measurements():
    """Not chances of bits, which an imputation would draw."""
    rng = np.random.default_rng(0)
    fraction = np.where(rng.random(200) < 0.5, 0.0, rng.uniform(0.5, 0.8, 200))
    X = np.column_stack([fraction, rng.normal(size=200), rng.random(200) < 0.5])
    kinds = [
        UnitCoding.learn(X, "auto", 8, whiten=whiten).kind.tolist()
        for whiten in (None, 0)
    ]
    assert kinds[0] == ["probability", "thermometer", "probability"]
    assert kinds[1] == ["thermometer", "thermometer", "probability"]


@pytest.mark.parametrize("whiten", [None, 0])
def test_no_number_leaves_the_range_that_was_seen(whiten):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0.2, 0.7, 50), rng.normal(size=50), np.ones(50)])
    coding = UnitCoding.learn(X, "auto", 8, whiten=whiten)
    far = np.array([[-9.0, -9.0, -9.0], [9.0, 9.0, 9.0]])
    assert_array_equal(coding.within_range(far), [X.min(axis=0), X.max(axis=0)])
