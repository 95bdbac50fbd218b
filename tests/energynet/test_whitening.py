"""Uncorrelated coordinates: densities and draws, beside scipy and quadrature."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import kstest, multivariate_normal, norm, spearmanr
from scipy.stats import yeojohnson as scipy_yeojohnson
from sklearn.base import clone
from sklearn.covariance import oas
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.preprocessing import PowerTransformer

from skmohn import EnergyNetImputer, EnergyNetTransformer
from skmohn._core._powers import YeoJohnson
from skmohn.energynet import _conditional, _whitening
from skmohn.energynet._conditional import _spread_uniforms
from skmohn.energynet._whitening import (
    ImportanceSamples,
    Whitening,
    _by_other_rows,
    _log_densities,
    _moments,
    _oracle,
)

NAN = np.nan
UNITS = np.array([1.0, 1e150, 1e-200])


def correlated(n=500, seed=0):
    """Three numbers that vary together; the last is skewed."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    parts = [common, common + 0.3 * rng.normal(size=n), -common + rng.normal(size=n)]
    parts[2] = np.exp(0.7 * parts[2])
    return np.column_stack(parts)


X = correlated()
WHITENING = Whitening.learn(X, np.arange(3), 0)


@pytest.mark.parametrize("wild", [1e3, -1e150, 1e300])
def test_a_wild_number_says_nothing_of_other_rows(wild):
    """Moments and powers are those of its nearest neighbor in its place."""
    table, near = X.copy(), X.copy()
    table[7, 0] = wild
    others = np.delete(X[:, 0], 7)
    near[7, 0] = others.max() if wild > 0.0 else others.min()
    found, expected = (Whitening.learn(rows, np.arange(3), 0) for rows in (table, near))
    assert_allclose(found.powers.power, expected.powers.power)
    rest = np.delete(np.arange(len(X)), 7)
    # Of standard deviation 1, by powers that are found to half of the digits.
    assert_allclose(found.forward(X[rest]), expected.forward(X[rest]), atol=1e-7)


def net(**parameters):
    options = {
        "n_components": 4,
        "n_final_epochs": 60,
        "whiten": True,
        "random_state": 0,
    }
    return EnergyNetTransformer(**(options | parameters))


@pytest.fixture(scope="module")
def fitted():
    return net(n_final_epochs=200).fit(X)


# ---------------------------------------------------------------------- coordinates


def test_powers_are_those_of_scipy():
    values = np.linspace(-5, 5, 21)
    center, scale = np.array([0.5, -1.0, 2.0]), np.array([1.0, 2.0, 0.3])
    powers = YeoJohnson(np.array([0.0, 0.7, 2.0]), center, scale)
    found = powers.forward(np.tile(values[:, None], 3))
    for j, power in enumerate(powers.power):
        standard = (values - center[j]) / scale[j]
        expected = center[j] + scale[j] * scipy_yeojohnson(standard, power)
        assert_allclose(found[:, j], expected, rtol=1e-12)
    assert_allclose(powers.inverse(found)[:, 1], values, atol=1e-12)


def test_coordinates_are_uncorrelated_and_nearest_to_the_columns():
    Z = WHITENING.forward(X)
    assert_allclose(Z.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(np.cov(Z.T, bias=True), np.eye(3), atol=0.02)
    powers = PowerTransformer().fit_transform(X)
    assert np.all(np.diag(np.corrcoef(Z.T, powers.T)[:3, 3:]) > 0.7)
    # As a rotation of principal components is, by the same variances.
    components = PCA(whiten=True).fit_transform(powers)
    rotation = np.linalg.lstsq(components, Z, rcond=None)[0]
    assert_allclose(rotation @ rotation.T, np.eye(3), atol=0.15)


@given(st.integers(0, 1000), st.sampled_from([0.0, 3.0, -1e3]))
@settings(max_examples=settings.default.max_examples // 10)
def test_values_come_back_in_units_of_any_size(seed, offset):
    table = (correlated(60, seed) + offset) * UNITS
    whitening = Whitening.learn(table, np.arange(3), seed)
    Z = whitening.forward(table)
    assert np.all(np.isfinite(Z))
    assert_allclose(whitening.inverse(Z), table, rtol=1e-6)


def test_slopes_are_those_of_finite_differences():
    row, step = X[7], 1e-6
    J = [
        (WHITENING.forward(row[None] + e) - WHITENING.forward(row[None] - e))[0]
        for e in step * np.eye(3)
    ]
    expected = np.linalg.slogdet(np.array(J) / (2 * step)).logabsdet
    assert WHITENING.log_slope(row[None])[0] == pytest.approx(expected, abs=1e-6)


def test_other_columns_stay():
    table = np.column_stack([np.arange(500.0), X])
    whitening = Whitening.learn(table, np.array([1, 3]), 0)
    assert_array_equal(whitening.forward(table)[:, [0, 2]], table[:, [0, 2]])
    assert_array_equal(whitening.inverse(table)[:, [0, 2]], table[:, [0, 2]])


def test_noise_is_left_as_it_is():
    """Correlations by chance are shrunk away."""
    noise = np.random.default_rng(0).normal(size=(60, 20))
    whitening = Whitening.learn(noise, np.arange(20), 0)
    apart = whitening.correlation - np.diag(np.diag(whitening.correlation))
    assert np.abs(apart).max() < 0.1
    duplicated = Whitening.learn(X[:, [0, 0]] + [0.0, 1.0], np.arange(2), 0)
    assert duplicated.correlation[0, 1] > 0.999


def test_correlations_are_learned_from_rows_with_missing_values():
    table, rng = correlated(3000, 1), np.random.default_rng(0)
    table[:, 2] = np.log(table[:, 2])
    whole = table.copy()
    complete = Whitening.learn(table, np.arange(3), 0).correlation
    # Where the first is large the second is unknown: complete rows are no sample.
    table[table[:, 0] > 0.5, 1] = NAN
    table[rng.random(3000) < 0.3, 2] = NAN
    whitening = Whitening.learn(table, np.arange(3), 0)
    found = whitening.correlation
    rows = ~np.isnan(table).any(axis=1)
    naive = np.corrcoef(table[rows].T)
    assert_allclose(found, complete, atol=0.06)
    assert np.abs(naive - complete).max() > 0.1
    # Nor are the values that are known a sample of the second.
    powers = whitening.forward(whole) @ whitening.root
    assert_allclose(powers.mean(axis=0), 0.0, atol=0.25)
    assert abs(np.nanmean(table[:, 1]) - whole[:, 1].mean()) > 0.3


def far_from_expected(Z, correlation):
    """The distance from what the others of a row say that 90 % of numbers are within,
    by the regression of each column on the others."""
    found = []
    for j in range(Z.shape[1]):
        others = np.delete(np.arange(Z.shape[1]), j)
        across = correlation[j, others]
        slopes = np.linalg.solve(correlation[np.ix_(others, others)], across)
        spread = np.sqrt(correlation[j, j] - across @ slopes)
        found.append(np.abs(Z[:, j] - Z[:, others] @ slopes) / spread)
    return np.quantile(found, 0.9)


@pytest.mark.slow_cases("0.2")
@pytest.mark.parametrize("unknown", [0.0, 0.2])
def test_stretch_is_how_much_further_apart_other_rows_are(unknown):
    """Of few rows and many columns; nothing of many rows."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(15, 15))
    table, others = (rng.normal(size=(n, 15)) @ mixing for n in (120, 5000))
    known = np.where(rng.random(table.shape) < unknown, NAN, table)
    found = Whitening.learn(known, np.arange(15), 0)
    own, other = (
        far_from_expected(found.forward(rows) @ found.root, found.correlation)
        for rows in (table, others)
    )
    assert other / own > 1.05
    assert found.stretch == pytest.approx(other / own, abs=0.1)
    assert Whitening.learn(others[:, :4], np.arange(4), 0).stretch < 1.01


def test_rows_are_spread_and_draws_are_as_far_apart():
    coordinates = WHITENING.forward(WHITENING.spread(X))
    assert WHITENING.stretch >= 1.0
    assert_allclose(coordinates, WHITENING.stretch * WHITENING.forward(X), atol=1e-8)
    noise = np.random.default_rng(0).standard_normal((5, 1, 3))
    row = np.array([[NAN, NAN, NAN]])
    (near, log_near), (far, log_far) = (
        WHITENING.draw(row, noise, stretch) for stretch in (1.0, 2.0)
    )
    # Without known numbers all are expected at 0.
    assert_allclose(
        WHITENING.forward(far[:, 0]), 2.0 * WHITENING.forward(near[:, 0]), atol=1e-8
    )
    slopes = [WHITENING.log_slope(table[:, 0]) for table in (near, far)]
    expected = log_near[:, 0] - slopes[0] - 3 * np.log(2.0) + slopes[1]
    assert_allclose(log_far[:, 0], expected, atol=1e-8)


def test_completions_are_right_in_the_mean():
    """Of powers, which are normal; each draw comes with its opposite."""
    row = X[:1].copy()
    row[0, :2] = NAN
    drawn = ImportanceSamples.of(WHITENING, row, 10, 0).table
    Z = WHITENING.forward(drawn) @ WHITENING.root
    R = WHITENING.correlation
    assert_allclose(Z.mean(axis=0)[:2], R[:2, 2] / R[2, 2] * Z[0, 2], atol=1e-8)
    assert len(np.unique(drawn[:, 0])) == 10
    assert len(ImportanceSamples.of(WHITENING, row, 5, 0).table) == 5


def test_draws_are_those_of_the_normal_distribution():
    rows = X[:2].copy()
    rows[0, 1] = NAN
    rows[1, :2] = NAN
    noise = np.random.default_rng(0).standard_normal((4000, 1, 3))
    tables, log_density = WHITENING.draw(rows, noise)
    assert_array_equal(tables[:, 0, [0, 2]], np.tile(X[0, [0, 2]], (4000, 1)))
    normal = multivariate_normal(np.zeros(3), WHITENING.correlation)

    def log_normal(values):
        Z = WHITENING.forward(values) @ WHITENING.root
        return normal.logpdf(Z) + WHITENING.log_slope(values) - log_volume

    # Densities of coordinates are those of powers, less their volume.
    log_volume = -np.linalg.slogdet(WHITENING.root).logabsdet
    ratio = log_normal(tables[:, 0]) - log_density[:, 0]
    assert_allclose(ratio, ratio[0], atol=1e-8)
    ratio = log_normal(tables[:, 1]) - log_density[:, 1]
    assert_allclose(ratio, ratio[0], atol=1e-8)
    # One that is known alone has the density of its power.
    z = (WHITENING.powers.forward(X[1] / WHITENING.unit) - WHITENING.mean)[2]
    marginal = norm.logpdf(z / WHITENING.std[2]) - np.log(WHITENING.std[2])
    slope = WHITENING.powers.log_slope(X[1] / WHITENING.unit)[2]
    marginal += slope - np.log(WHITENING.unit[2])
    assert ratio[0] == pytest.approx(marginal, abs=1e-8)


# ------------------------------------------------------------------------ densities


def test_density_sums_to_one(fitted):
    """By draws from a wider distribution, whose density scipy knows."""
    rng = np.random.default_rng(0)
    log_last = np.log(X[:, 2])
    logs = np.column_stack([X[:, :2], log_last])
    wide = multivariate_normal(logs.mean(axis=0), 2.0 * np.cov(logs.T), seed=rng)
    drawn = wide.rvs(20_000)
    table = np.column_stack([drawn[:, :2], np.exp(drawn[:, 2])])
    log_ratio = fitted.score_samples(table) + drawn[:, 2] - wide.logpdf(drawn)
    # Of a normal power, some is where no logarithm is.
    outside = np.mean(fitted.sample(4000, 50, random_state=0)[:, 2] <= 0.0)
    found = np.exp(logsumexp(log_ratio)) / len(drawn) + outside
    assert found == pytest.approx(1.0, abs=0.02)


def test_density_is_far_better_where_columns_vary_together():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(600, 1)) + 0.05 * rng.normal(size=(600, 4))
    train, test = table[:400], table[400:]
    scores = {
        whiten: net(n_components=None, whiten=whiten).fit(train).score(test)
        for whiten in (False, True)
    }
    truth = multivariate_normal(np.zeros(4), 1.0 + 0.05**2 * np.eye(4))
    best = truth.logpdf(test).mean()
    assert best - 0.7 < scores[True] < best + 0.1
    assert scores[True] > scores[False] + 2.0


def test_density_of_another_unit(fitted):
    other = net(n_final_epochs=200).fit(X * 1024.0)
    found = other.score_samples(X * 1024.0) + 3 * np.log(1024.0)
    assert_allclose(found, fitted.score_samples(X), atol=1e-4)


def test_outliers_are_unlikely_and_finite(fitted):
    far = np.array([[1e3, -1e3, 1.0], [1e300, 0.0, 1.0], [-1e300, 1e300, 1e300]])
    found = fitted.score_samples(far)
    assert np.all(found < fitted.score_samples(X).min())
    assert np.all(np.isfinite(found))


# ----------------------------------------------------------------- missing values


def integral(fitted, row, j):
    """Log-density of a row without column j, and the mean of that, by quadrature."""
    grid = np.linspace(-4, 4, 4001) if j < 2 else np.linspace(1e-3, 30, 8001)
    table = np.repeat(row[None], len(grid), axis=0)
    table[:, j] = grid
    log_density = fitted.score_samples(table)
    step = grid[1] - grid[0]
    total = logsumexp(log_density) + np.log(step)
    return total, np.exp(log_density - total) @ grid * step


@pytest.mark.parametrize("j", [0, 1, 2])
def test_missing_values_are_integrated_out(fitted, j):
    rows = X[:8].copy()
    rows[:, j] = NAN
    expected, means = zip(*(integral(fitted, row, j) for row in X[:8]), strict=True)
    assert_allclose(fitted.score_samples(rows), expected, atol=0.25)
    error = fitted.score_samples(rows) - expected
    assert abs(error.mean()) < 0.1
    spread = X[:, j].std()
    assert_allclose(
        fitted.impute(rows)[:, j] / spread, np.divide(means, spread), atol=0.15
    )


def test_what_is_said_of_a_row_does_not_depend_on_the_others(fitted):
    rows = X[:6].copy()
    rows[::2, 1] = NAN
    rows[4] = NAN
    for answer in (fitted.score_samples, fitted.impute, fitted.transform):
        together = answer(rows)
        assert np.all(np.isfinite(together))
        for k in range(6):
            assert_allclose(answer(rows[k : k + 1])[0], together[k], rtol=1e-6)


def test_draws_follow_the_density(fitted):
    row = X[:1].copy()
    row[0, 1] = NAN
    drawn = np.array([t[0, 1] for t in fitted.impute(row, n_draws=60, random_state=0)])
    table = np.repeat(X[:1], 4001, axis=0)
    table[:, 1] = np.linspace(-4, 4, 4001)
    density = np.exp(fitted.score_samples(table))
    cdf = np.cumsum(density) / density.sum()
    assert kstest(np.interp(drawn, table[:, 1], cdf), "uniform").pvalue > 1e-3
    mode = fitted.impute(row, strategy="mode")[0, 1]
    assert np.interp(mode, table[:, 1], density) > 0.7 * density.max()


@pytest.mark.slow_cases("0.2")
@pytest.mark.parametrize("unknown", [0.0, 0.2])
def test_intervals_of_draws_hold_what_they_say(unknown):
    """Though columns are many for so few rows."""
    rng = np.random.default_rng(1)
    mixing = rng.normal(size=(12, 12))
    train, new = (rng.normal(size=(n, 12)) @ mixing for n in (120, 200))
    train[rng.random(train.shape) < unknown] = NAN
    missing = rng.random(new.shape) < 0.2
    model = net(n_components=1, n_final_epochs=20).fit(train)
    draws = model.impute(np.where(missing, NAN, new), n_draws=60, random_state=0)
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    held = ((low <= new) & (new <= high))[missing].mean()
    assert 0.85 <= held <= 0.95


def test_draws_repeat_no_more_than_they_must():
    grid = _spread_uniforms((3, 7), np.random.default_rng(0))
    assert_array_equal(
        np.sort(np.floor(grid * 7), axis=1), np.tile(np.arange(7), (3, 1))
    )
    assert len(np.unique(np.floor(grid * 7)[:, 0])) > 1


@pytest.mark.parametrize(
    ("n_hidden", "n_draws", "expected"),
    [(2, 1, 100), (2, 20, 100), (2, 21, 105), (14, 21, 100), (14, 120, 120)],
)
def test_draws_are_chosen_from_five_times_as_many_and_at_least_a_hundred(
    monkeypatch, n_hidden, n_draws, expected
):
    """But of no more than there are draws where each is weighed by annealing."""
    asked, weighed = [], _conditional.importance_sample

    def counted(rbm, coding, X, seed, n_completions):
        asked.append(n_completions)
        return weighed(rbm, coding, X, seed, n_completions)

    monkeypatch.setattr(_conditional, "importance_sample", counted)
    table = np.column_stack([X[:100, :2], X[:100, 0] > 0.0])
    options = {"categorical_features": [2], "n_final_epochs": 1}
    model = net(n_components=n_hidden, **options).fit(table)
    model.impute([[NAN, 0.5, NAN]], n_draws=n_draws, random_state=0)
    model.impute([[NAN, 0.5, 1.0]], n_draws=n_draws, random_state=0)
    assert asked == [expected, max(100, 5 * n_draws)]


def test_missing_values_of_categories_and_numbers_together():
    """Both unknown is the sum over the categories, each with the number unknown."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 400)
    table = np.column_stack([X[:400, :2] + kind[:, None], kind])
    model = net(categorical_features=[2], n_final_epochs=100).fit(table)
    rows = table[:5].copy()
    rows[:, 0] = NAN
    every = []
    for c in range(3):
        rows[:, 2] = c
        every.append(model.score_samples(rows))
    rows[:, 2] = NAN
    assert_allclose(model.score_samples(rows), logsumexp(every, axis=0), atol=1e-6)
    filled = model.impute(rows)
    # Here no number is unknown.
    rows[:, 0] = table[:5, 0]
    of_kinds = [
        model.score_samples(np.where(np.isnan(rows), c, rows)) for c in range(3)
    ]
    assert_allclose(model.score_samples(rows), logsumexp(of_kinds, axis=0), atol=1e-6)
    assert set(filled[:, 2]) <= {0, 1, 2}
    assert_array_equal(filled[:, 1], rows[:, 1])
    for drawn in model.impute(rows, n_draws=3, random_state=0):
        assert not np.isnan(np.asarray(drawn, float)).any()


def test_fit_with_missing_values_comes_near_to_that_of_all_values():
    rng, new = np.random.default_rng(0), correlated(400, 5)
    holes = X.copy()
    holes[rng.random(X.shape) < 0.2] = NAN
    complete, model = net().fit(X), net().fit(holes)
    assert model.score(new) > complete.score(new) - 0.25
    again = net().fit(holes[::-1])
    assert_array_equal(again.weights_[0], model.weights_[0])
    weights = np.arange(500) % 3
    weighted = net().fit(holes, sample_weight=weights)
    repeated = net().fit(holes.repeat(weights, axis=0))
    assert_array_equal(weighted.weights_[0], repeated.weights_[0])


@pytest.mark.slow
def test_imputer_whitens_by_itself():
    rng, new = np.random.default_rng(0), correlated(300, 6)
    holes = np.where(rng.random(new.shape) < 0.2, NAN, new)
    missing = np.isnan(holes)

    def error(imputer):
        found = imputer.fit(X).transform(holes)
        return np.mean(((found - new) / X.std(axis=0))[missing] ** 2)

    ours = error(EnergyNetImputer(random_state=0))
    raw = EnergyNetImputer(
        EnergyNetTransformer(n_final_epochs=60, max_layers=1), random_state=0
    )
    assert ours < 0.9 * error(raw)
    assert ours < 0.7 * error(SimpleImputer())


# ------------------------------------------------------------------------ estimator


def test_few_values_and_one_in_most_samples_stay():
    often = np.where(np.arange(500) % 20 < 11, 0.0, X[:, 0])
    table = np.column_stack([X, np.arange(500) % 8, often])
    coding = net().fit(table).coding_
    assert_array_equal(np.sort(coding.whitening.columns), [0, 1, 2])
    alone = net().fit(table[:, [0, 3]])
    assert alone.coding_.whitening is None
    assert net(coding="auto").fit(X > 0).coding_.whitening is None


def test_samples_look_like_the_data(fitted):
    drawn = fitted.sample(800, random_state=0)
    found, expected = (spearmanr(table).statistic for table in (drawn, X))
    assert_allclose(found, expected, atol=0.1)
    again = fitted.inverse_transform(fitted.transform(X))
    assert again.shape == X.shape
    assert np.all(np.isfinite(again))


def test_later_calls_and_copies(fitted):
    rows = X[:50].copy()
    rows[::3, 0] = NAN
    same = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(same.score_samples(rows), fitted.score_samples(rows))
    model = net().fit(X)
    before = model.coding_
    model.partial_fit(rows)
    assert model.coding_ is before
    assert clone(model).whiten


@pytest.mark.parametrize("coding", ["minmax", "probability"])
def test_codings_without_levels_are_refused(coding):
    with pytest.raises(ValueError, match=f"whiten=True needs levels.*{coding}"):
        net(coding=coding).fit(np.abs(np.tanh(X)))


@pytest.mark.parametrize("unknown", [0.0, 0.1])
def test_other_units_move_densities_by_their_logarithms_alone(unknown):
    rng = np.random.default_rng(0)
    table = np.where(rng.random(X.shape) < unknown, NAN, X)[:200]
    factor, zero = np.array([2.54, 1e-3, 1.8]), np.array([0.0, 5.0, 32.0])
    other = factor * table + zero
    expected, found = (net().fit(t).score_samples(t) for t in (table, other))
    expected -= ~np.isnan(table) @ np.log(factor)
    assert_allclose(found, expected, atol=1e-6)


def test_numbers_of_half_the_digits_say_the_same():
    """Also where missing values are filled at first."""
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, NAN, X)[:100]
    found = (
        net(n_final_epochs=5).fit(holes),
        net(n_final_epochs=5).fit(holes.astype(np.float32)),
    )
    scores = [model.score_samples(holes) for model in found]
    assert_allclose(scores[1], scores[0], atol=1e-4)


def test_few_rows_and_many_columns():
    wide = np.random.default_rng(0).normal(size=(30, 60))
    model = net().fit(wide)
    assert np.isfinite(model.score(wide))
    few = net(n_bins=2).fit(X[:4])
    assert np.isfinite(few.score(X))


@pytest.mark.slow
def test_rows_with_missing_values_of_both_kinds_are_answered_alone():
    """Categories are unknown beside whitened numbers; sums are estimated."""
    table = np.column_stack([X[:, :2], X[:, :2] > 0.0])
    model = net(n_components=14, n_final_epochs=20, categorical_features=[2, 3]).fit(
        table
    )
    rows = table[:6].copy()
    rows[:, [0, 2]] = NAN
    together = model.transform(rows)
    for k in range(len(rows)):
        assert_allclose(model.transform(rows[[k]])[0], together[k], rtol=1e-6)


def test_weights_and_draws_of_completions():
    rows = X[:3].copy()
    rows[1, 0] = NAN
    drawn = ImportanceSamples.of(WHITENING, rows, 5, 0)
    assert_array_equal(drawn.rows, [0, 1, 1, 1, 1, 1, 2])
    gains = np.log([1.0, 1.0, 2.0, 3.0, 4.0, 0.0 + 1e-300, 1.0])
    weights = drawn.normalized_weights(gains + drawn.log_density)
    assert_allclose(weights, [1, 0.1, 0.2, 0.3, 0.4, 0, 1], atol=1e-12)
    assert_allclose(
        drawn.log_means(gains + drawn.log_density)[1], np.log(2.0), atol=1e-12
    )
    rng = np.random.default_rng(0)
    chosen = np.array([drawn.chosen(weights, rng.random(3)) for _ in range(4000)])
    assert_array_equal(chosen[:, [0, 2]], np.tile([0, 6], (4000, 1)))
    counts = np.bincount(chosen[:, 1], minlength=6)[1:6] / 4000
    assert_allclose(counts, [0.1, 0.2, 0.3, 0.4, 0.0], atol=0.03)
    assert drawn.largest(gains)[1] == 4


def test_completions_spread_by_inflation():
    """Not by how much rows say of themselves."""
    row = np.array([[NAN, NAN, NAN]])
    wider = replace(WHITENING, inflation=2.0, stretch=5.0)
    drawn = [ImportanceSamples.of(w, row, 20, 0).table for w in (WHITENING, wider)]
    near, far = map(WHITENING.forward, drawn)
    assert_allclose(far, 2.0 / WHITENING.inflation * near, atol=1e-8)


def test_no_few_draws_outweigh_the_others():
    """A likelihood ratio over many columns is mostly noise."""
    row = X[:1].copy()
    row[0, 0] = NAN
    drawn = ImportanceSamples.of(WHITENING, row, 100, 0)
    gains = 50.0 * np.random.default_rng(0).standard_normal(100)
    weights = drawn.normalized_weights(gains + drawn.log_density)
    assert 1.0 / np.sum(weights**2) == pytest.approx(30.0, rel=1e-3)
    assert_array_equal(np.argsort(weights), np.argsort(gains))
    # Tempered: all logarithms are smaller by one factor.
    powers = np.diff(np.log(weights)) / np.diff(gains)
    assert 0.0 < powers[0] < 1.0
    assert_allclose(powers, powers[0])
    # Where enough of them count, they count as they are.
    small = drawn.normalized_weights(0.1 * gains / 50.0 + drawn.log_density)
    assert_allclose(np.log(small[1] / small[0]), 0.1 * (gains[1] - gains[0]) / 50.0)


# ----------------------------------------------------- more columns than rows


def wide(n_factors=1, noise=1.0, shape=(30, 60), seed=0):
    """Numbers with a few common factors, and the same with a tenth unknown."""
    rng = np.random.default_rng(seed)
    whole = noise * rng.normal(size=shape)
    whole += rng.normal(size=(shape[0], n_factors)) @ np.ones((n_factors, shape[1]))
    missing = rng.random(shape) < 0.1
    return whole, np.where(missing, NAN, whole)


def rmse(filled, whole, holes):
    return np.sqrt(np.mean((filled - whole)[np.isnan(holes)] ** 2))


@pytest.mark.slow
@pytest.mark.parametrize("n_factors", [0, 1])
def test_more_columns_than_rows_are_filled_no_worse_than_by_means(n_factors):
    whole, holes = wide(n_factors, shape=(20, 30))
    filled = EnergyNetImputer(random_state=0).fit_transform(holes)
    by_means = SimpleImputer().fit_transform(holes)
    # Of independent columns chance is left.
    most = {0: 1.05, 1: 0.85}[n_factors]
    assert rmse(filled, whole, holes) < most * rmse(by_means, whole, holes)


def fill_few(whole, holes, seed=0):
    """By correlations alone, since fewer rows than columns teach no RBM more."""
    layers = EnergyNetTransformer(n_components=1, whiten=True, n_final_epochs=1)
    return EnergyNetImputer(layers, random_state=seed).fit(whole).transform(holes)


@pytest.mark.slow_cases("shape1")
@pytest.mark.parametrize("shape", [(8, 30), (10, 60)])
def test_noise_of_few_rows_is_filled_as_by_means(shape):
    """Even where a column has no more values than levels."""
    whole, holes = wide(0, shape=shape)
    filled = fill_few(holes, holes)
    by_means = SimpleImputer().fit_transform(holes)
    assert rmse(filled, whole, holes) < 1.01 * rmse(by_means, whole, holes)


@pytest.mark.slow_cases("shape1")
@pytest.mark.parametrize("shape", [(8, 30), (12, 40)])
def test_factors_of_few_rows_are_found(shape):
    n_rows = shape[0]
    whole, _ = wide(2, noise=0.5, shape=(n_rows + 40, shape[1]), seed=1)
    whole[:, ::2] *= -1.0
    missing = np.random.default_rng(0).random(whole[n_rows:].shape) < 0.2
    holes = np.where(missing, NAN, whole[n_rows:])
    filled = fill_few(whole[:n_rows], holes)
    by_means = SimpleImputer().fit(whole[:n_rows]).transform(holes)
    found, means = (rmse(x, whole[n_rows:], holes) for x in (filled, by_means))
    assert found < 0.7 * means


def test_few_rows_of_few_values_are_no_measurements():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(8, 5))
    table[:, 1] = np.arange(8) % 4 + 2.0
    table[:, 2] = rng.permutation(8) // 6 + 2.0
    # Rounded measurements repeat now and then.
    table[:2, 3] = table[0, 3]
    columns = net().fit(table).coding_.whitening.columns
    assert_array_equal(np.sort(columns), [0, 3, 4])


@pytest.mark.parametrize("n_rows", [4, 8, 15])
def test_columns_are_independent_unless_rows_say_otherwise(n_rows):
    Z = np.random.default_rng(0).normal(size=(n_rows, 10))
    _, _, correlation, *_ = _moments(Z, np.random.default_rng(0))
    assert_array_equal(correlation, np.eye(10))


def judge(Z):
    return _by_other_rows(Z, KFold(5))


def test_correlations_are_judged_around_the_means_of_the_rows_they_are_of():
    Z = np.random.default_rng(0).normal(size=(60, 4)) @ (np.eye(4) + 0.3)
    assert_allclose(judge(Z + 10.0), judge(Z))


def test_what_is_gained_is_over_independent_columns(replace_constants):
    replace_constants(_whitening, shrinkages=(0.5, 1.0))
    common = np.random.default_rng(0).normal(size=(60, 1))
    Z = common + np.random.default_rng(1).normal(size=(60, 4))
    assert judge(Z)[0] == 0.5


def test_inflation_is_by_standard_deviations():
    Z = np.random.default_rng(0).normal(size=(1000, 3))
    assert judge(Z)[2] < 1.05
    # Tails beyond a normal distribution of the same variance.
    far = np.where(np.arange(1000) % 7 == 0, 3.0, 0.1)[:, None] * Z
    apart = np.quantile(np.abs(far / far.std(axis=0)), 0.9) / norm.ppf(0.95)
    assert judge(far / far.std(axis=0))[2] == pytest.approx(max(apart, 1.0), abs=0.05)


def test_of_many_rows_some_tell_correlations(monkeypatch, replace_constants):
    """Fewer of those with missing values, which take longer."""
    replace_constants(_whitening, max_rows=50)
    replace_constants(_whitening, max_rows_missing=20)
    taken = []

    def covariance(Z):
        taken.append(len(Z))
        return np.zeros(Z.shape[1]), np.eye(Z.shape[1])

    monkeypatch.setattr(_whitening, "_covariance", covariance)
    Z = np.random.default_rng(0).normal(size=(80, 3))
    _moments(Z, np.random.default_rng(0))
    assert taken == [50, *5 * [40]]
    Z[:, 0][::3] = NAN
    _moments(Z, np.random.default_rng(0))
    assert taken[6:] == [20, *5 * [16]]


@pytest.mark.slow
def test_correlations_of_few_rows_are_not_taken_for_true():
    _, independent = wide(0)
    whitening = Whitening.learn(independent, np.arange(60), 0)
    assert np.abs(whitening.correlation - np.eye(60)).max() < 0.1
    _, dependent = wide(1)
    whitening = Whitening.learn(dependent, np.arange(60), 0)
    off = whitening.correlation[~np.eye(60, dtype=bool)]
    assert 0.2 < off.mean() < 0.7
    # What these rows say of one another is surer than what they say of others.
    assert whitening.stretch > 2.0
    assert 1.0 <= whitening.inflation < 1.5
    assert whitening.min_effective == 1.0
    assert WHITENING.min_effective == 0.3


def test_shrinkage_and_inflation_are_those_of_other_rows():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((40, 5))
    covariance = 0.5 * np.eye(5) + 0.5
    holes = np.where(rng.random(Z.shape) < 0.2, NAN, Z)
    known = ~np.isnan(holes)
    expected = sum(
        multivariate_normal(cov=covariance[np.ix_(k, k)]).logpdf(row[k])
        for row, k in zip(holes, known, strict=True)
        if k.any()
    )
    found = _log_densities(holes, covariance)
    assert found.sum() == pytest.approx(expected)
    # Each row has its own.
    assert_allclose(_log_densities(holes[::-1], covariance), found[::-1])
    # scikit-learn's, of complete rows.
    _, shrinkage = oas(Z, assume_centered=True)
    assert _oracle(Z.T @ Z / 40, 40) == pytest.approx(shrinkage)
    assert _oracle(np.eye(5), 40) == 1.0
    # Of two columns by the variances along and across, in equation 23 of its source.
    assert _oracle(np.diag([5.0, 1.0]), 40) == pytest.approx(2 * 6**2 / (40 * 4**2))
    # scikit-learn leaves out what is small of many columns.
    Z = rng.standard_normal((40, 100)) + rng.standard_normal((40, 1))
    _, shrinkage = oas(Z, assume_centered=True)
    assert 0.01 < shrinkage < 0.9
    assert _oracle(Z.T @ Z / 40, 40) == pytest.approx(shrinkage, rel=0.02)


def test_covariances_with_missing_values_are_settled_in_few_steps(
    monkeypatch, replace_constants
):
    found = []
    replace_constants(_whitening, max_iter=1000)
    monkeypatch.setattr(_whitening, "_oracle", lambda *_: found.append(0) or 0.0)
    holes = np.random.default_rng(0).normal(size=(100, 3))
    holes[::10, 0] = NAN
    _whitening._covariance(holes)
    assert 1 < len(found) < 20


@pytest.mark.parametrize(
    "options", [{}, {"strategy": "mode"}, {"sample_posterior": True}]
)
@pytest.mark.parametrize("whiten", [True, False])
def test_imputed_numbers_are_within_the_range_that_was_seen(options, whiten):
    """Also those of a row that is far out, and of skewed columns."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=200)
    table = np.exp(np.column_stack([common, common, common]))
    table *= np.exp(0.1 * rng.normal(size=table.shape))
    layers = net(n_final_epochs=20) if whiten else net(n_final_epochs=20, whiten=False)
    imputer = EnergyNetImputer(layers, random_state=0, **options).fit(table)
    rows = np.column_stack([np.full(50, NAN), *2 * [np.linspace(50.0, 1e4, 50)]])
    filled = imputer.transform(rows)
    assert filled[:, 0].max() <= table[:, 0].max()
    assert filled[:, 0].min() >= table[:, 0].min()
    assert not whiten or filled[:, 0].max() > 0.5 * table[:, 0].max()
    assert_array_equal(filled[:, 1:], rows[:, 1:])
