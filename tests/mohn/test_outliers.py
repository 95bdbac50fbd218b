"""Outliers: the oracle is the fit of the same rows without them."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import cauchy, norm
from sklearn.model_selection import KFold

from skmohn import Genotypes, GPOptions, MOHNRegressor
from skmohn.mohn._models import FitResult
from skmohn.mohn._options import FitSettings
from skmohn.mohn._outliers import (
    Fit,
    _is_far_apart,
    _saved_by,
    _standardize,
    leave_outliers_out,
)
from skmohn.mohn._strategies import STRATEGIES
from skmohn.mohn._table.tails import Tails
from skmohn.mohn._table.target import Unchanged

LEAVE_OUT = ["auto", "pursuit", "gp", "spike_slab"]


def make_pairs(n_rows, noise=0.2, seed=0):
    """Bits, and a noisy function of three of them."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n_rows, 8))
    function = X[:, 0] * X[:, 1] + X[:, 2]
    return X, function + noise * rng.standard_normal(n_rows)


def without(X, y, *rows):
    keep = np.delete(np.arange(len(y)), rows)
    return X[keep], y[keep]


@pytest.mark.slow_cases(
    r"(?!(20\.0-(gp|spike_slab)|-1000000\.0-spike_slab|1e\+300-gp)$).*"
)
@pytest.mark.parametrize("strategy", LEAVE_OUT)
@pytest.mark.parametrize("wild", [20.0, -1e6, 1e300])
# scikit-learn 1.6 warns of folds without the wild one, in which all others are equal.
@pytest.mark.filterwarnings("ignore:Objective did not converge.*tolerance. 0.0")
def test_a_wild_target_moves_what_dropping_its_row_moves(strategy, wild):
    X, y = make_pairs(100)
    y[7] = wild
    model = MOHNRegressor(strategy, random_state=0).fit(X, y)
    assert_array_equal(np.flatnonzero(model.outliers_), [7])
    assert "left out as outliers: 1 of 100 targets" in model.stopping_reason_
    dropped = MOHNRegressor(strategy, random_state=0).fit(*without(X, y, 7))
    assert not dropped.outliers_.any()
    assert_array_equal(model.predict(X), dropped.predict(X))
    # What is told of other fits would say nothing of this one.
    assert model.n_iter_ == dropped.n_iter_
    for ours, theirs in zip(model.history_, dropped.history_, strict=True):
        assert {**ours, "seconds": 0.0} == {**theirs, "seconds": 0.0}


def test_wild_targets_hide_others():
    X, y = make_pairs(100)
    y[[7, 30, 31]] = 1e6, 1e3, -8.0
    model = MOHNRegressor("gp", random_state=0).fit(X, y)
    assert_array_equal(np.flatnonzero(model.outliers_), [7, 30, 31])


def test_functions_without_noise_are_exact_but_for_wild_targets():
    X, y = make_pairs(100, noise=0.0)
    y[[3, 90]] = 50.0, -70.0
    model = MOHNRegressor(random_state=0).fit(X, y)
    assert model.terms_ == [(2,), (0, 1)]
    assert_allclose(model.weights_, 1.0)
    assert_array_equal(np.flatnonzero(model.outliers_), [3, 90])


@pytest.mark.slow_cases("spike_slab")
@pytest.mark.parametrize("strategy", ["pursuit", "spike_slab"])
def test_normal_noise_has_no_outliers(strategy):
    for seed in range(20):
        X, y = make_pairs(50, noise=1.0, seed=seed)
        assert not MOHNRegressor(strategy, random_state=0).fit(X, y).outliers_.any()


@pytest.mark.slow
def test_skewed_targets_have_no_outliers():
    """On their own scale, the largest are 20 standard deviations away."""
    X, y = make_pairs(300, noise=1.0)
    y = np.exp(1.5 * y)
    model = MOHNRegressor("gp", random_state=0).fit(X, y)
    assert not model.outliers_.any()


def test_outliers_may_be_kept():
    X, y = make_pairs(100)
    y[7] = 1e3
    model = MOHNRegressor("spike_slab", outliers="keep", random_state=0).fit(X, y)
    assert not model.outliers_.any()
    assert model.noise_std_ > 50.0
    with pytest.raises(ValueError, match="outliers"):
        MOHNRegressor(outliers="drop").fit(X, y)


@pytest.mark.parametrize("strategy", ["full", "given", "msda"])
def test_strategies_of_others_keep_all(strategy):
    X, y = make_pairs(100)
    y[7] = 1e3
    terms = [(0,), (0, 1)] if strategy == "given" else None
    model = MOHNRegressor(strategy, max_order=2, terms=terms, max_iter=20)
    assert not model.fit(X, y).outliers_.any()


def test_more_than_a_tenth_are_a_distribution():
    X, y = make_pairs(100)
    y[:9] += 30.0
    model = MOHNRegressor("spike_slab", random_state=0)
    assert_array_equal(np.flatnonzero(model.fit(X, y).outliers_), np.arange(9))
    y[9:11] += 30.0
    assert not model.fit(X, y).outliers_.any()


def test_rare_values_of_few_are_no_outliers():
    """A density would gain by ties without end."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (200, 6))
    counts = rng.poisson(0.15, 200).astype(float)
    model = MOHNRegressor("spike_slab", random_state=0)
    assert counts.max() > 1.0
    assert not model.fit(X, counts).outliers_.any()
    counts[5] = 400.0
    assert_array_equal(np.flatnonzero(model.fit(X, counts).outliers_), [5])


def test_tails_of_few_values_are_no_outliers():
    """The largest is no farther from the others than these from one another."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (200, 6))
    counts = rng.permutation(np.repeat([0, 1, 2, 3, 4, 5, 7], [100, 78, 6, 6, 4, 3, 3]))
    model = MOHNRegressor("spike_slab", random_state=0).fit(X, counts)
    assert not model.outliers_.any()


def test_values_are_beyond_a_gap_that_exceeds_the_range_of_others():
    y = np.array([0.0, 1.0, 2.0, 3.0, 6.0])
    assert not _is_far_apart(y, 1).any()
    y[-1] = 6.1
    assert_array_equal(_is_far_apart(y, 2), y > 6.0)
    y[0] = -3.1
    assert_array_equal(_is_far_apart(y, 2), np.abs(y - 1.5) > 4.0)
    assert not _is_far_apart(np.array([0.0, 0.0, 0.0, 1.0]), 1).any()


def test_nats_saved_are_those_of_normal_and_cauchy_densities():
    apart = np.array([0.5, -1.0, 1.5, -0.2, 40.0])
    far = np.abs(apart) > 5.0
    std, rest = (np.sqrt(np.mean(part**2)) for part in (apart, apart[~far]))
    before = norm.logpdf(apart, scale=std).sum()
    after = norm.logpdf(apart[~far], scale=rest).sum()
    after += cauchy.logpdf(apart[far], scale=rest).sum()
    # One of five, of a probability that may be anything.
    after += np.log(quad(lambda p: p * (1.0 - p) ** 4, 0.0, 1.0)[0])
    assert_allclose(_saved_by(far, apart, np.ones(5)), after - before)
    assert _saved_by(far & False, apart, np.ones(5)) == 0.0


def test_what_is_left_out_is_described():
    """The length of all is that of the others, and of outliers' Cauchy density."""
    X, y = make_pairs(60)
    y[7] = 12.0
    model = MOHNRegressor("spike_slab", random_state=0).fit(*without(X, y, 7))
    asked = STRATEGIES["spike_slab"], FitSettings.of(model)
    targets, _ = model._read(*asked, (X, y, None, None, None, None), {})
    outliers = np.arange(60) == 7
    samples = targets.read(without=outliers)
    assert_array_equal(samples.row_index, np.delete(np.arange(60), 7))
    graph, errors = model.model_.significant_terms()
    std, fitted = model.noise_std_, model.model_
    solution = FitResult.of_weights(graph, errors, std, "", [], model=fitted)
    fit = Fit(samples, solution)
    mean, std = model.predict(X[outliers], return_std=True)
    density = cauchy.logpdf((12.0 - mean) / std) - np.log(std)
    which = np.log(quad(lambda p: p * (1.0 - p) ** 59, 0.0, 1.0)[0])
    assert_allclose(targets.length_of(outliers, fit), -float(density[0]) - which)


class Sure:
    """A model that reproduces all targets, so that none can be left out."""

    transform = Unchanged()

    def __init__(self, y):
        self.y = y

    def fitted_mean(self, rows):
        return self.y

    def left_out_distances(self, rows, y, weight, chosen, with_equals):
        return np.zeros(len(chosen)), np.zeros(len(chosen))


@pytest.mark.parametrize("has_planes", [True, False])
def test_rows_that_terms_reproduce_are_as_far_as_from_the_median(has_planes):
    rng = np.random.default_rng(0)
    counts, y = rng.integers(0, 3, (60, 4)), rng.standard_normal(60)
    y[9] = 50.0
    X = Genotypes.from_counts(counts) if has_planes else counts.astype(float)
    model = MOHNRegressor("pursuit", random_state=0)
    asked = STRATEGIES["pursuit"], FitSettings.of(model)
    targets, _ = model._read(*asked, (X, y, None, None, None, None), {})
    fit = Fit(targets.read(), None)
    vars(fit)["model"] = Sure(y)
    assert fit.has_planes == has_planes
    assert targets.distances(fit)[9] == pytest.approx(_standardize(y)[9])


@pytest.mark.parametrize(("length", "is_kept"), [(84.9, True), (85.1, False)])
def test_fits_without_outliers_save_five_nats(length, is_kept):
    """Beside the length of the outliers, 10 nats."""
    outliers = np.arange(4) == 2
    first, second = (
        SimpleNamespace(
            model=SimpleNamespace(release=lambda: None),
            solution=SimpleNamespace(is_stopped=False),
            length=lambda n=n: n,
            has_planes=False,
        )
        for n in (100.0, length)
    )
    targets = SimpleNamespace(
        y=np.zeros(4),
        far_off=lambda fit, known: outliers,
        read=lambda without: outliers,
        length_of=lambda outliers, fit: 10.0,
        on_skewed_scales=lambda fit: (),
    )
    fit, found = leave_outliers_out(first, lambda samples: second, targets)
    assert fit is (second if is_kept else first)
    assert_array_equal(found, outliers & is_kept)


@pytest.mark.parametrize(("has_planes", "n_fits"), [(False, 2), (True, 3)])
def test_outliers_that_are_found_again_need_no_fit(has_planes, n_fits):
    """But where fits are too large to be kept."""
    masks, solved = np.eye(2, dtype=bool), []

    def solve(samples):
        solved.append(samples)
        return SimpleNamespace(
            model=SimpleNamespace(release=lambda: None),
            solution=SimpleNamespace(is_stopped=False),
            length=lambda: 100.0 - 50.0 * len(solved),
            has_planes=has_planes,
        )

    targets = SimpleNamespace(
        y=np.zeros(2),
        far_off=lambda fit, known: masks[int(known[0])],
        read=lambda without: without,
        length_of=lambda outliers, fit: 10.0,
        on_skewed_scales=lambda fit: (),
    )
    first = solve(None)
    solved.clear()
    fit, found = leave_outliers_out(first, solve, targets)
    assert fit is not first
    assert_array_equal(found, masks[0])
    assert_array_equal(solved, masks[[0, 1, 0]][:n_fits])


@pytest.mark.slow_cases("pursuit")
@pytest.mark.parametrize("strategy", ["pursuit", "gp"])
def test_weights_count_repeated_rows(strategy):
    """Also of the outliers."""
    X, y = make_pairs(80)
    y[[7, 8]] = 30.0, -30.0
    counts = np.resize([1, 2, 0], 80)
    once = MOHNRegressor(strategy, random_state=0).fit(X, y, sample_weight=counts)
    again = np.repeat(np.arange(80), counts)
    often = MOHNRegressor(strategy, random_state=0).fit(X[again], y[again])
    # Row 8 has weight 0.
    assert_array_equal(np.flatnonzero(once.outliers_), [7])
    assert_array_equal(often.outliers_, once.outliers_[again])


@pytest.mark.parametrize("strategy", ["auto", "gp", "spike_slab"])
def test_rows_of_a_rare_setting_support_each_other(strategy):
    rng = np.random.default_rng(0)
    X = (np.arange(80) < 5)[:, None].astype(float)
    y = 4.0 * X[:, 0] + 0.01 * rng.standard_normal(80)
    X[75:] = np.nan
    model = MOHNRegressor(strategy, random_state=0).fit(X, y)
    assert not model.outliers_.any()
    assert_allclose(model.predict([[0.0], [1.0]]), [0.0, 4.0], atol=0.4)


def test_precise_targets_are_outliers_sooner():
    X, y = make_pairs(100, noise=1.0)
    y[7] += 9.0
    weight = np.ones(100)
    found = []
    for precision in (0.1, 3.0):
        weight[7] = precision
        model = MOHNRegressor("spike_slab", random_state=0)
        found.append(model.fit(X, y, sample_weight=weight).outliers_[7])
    assert found == [False, True]


def test_unknown_numbers_hide_no_outliers():
    """What a missing value leaves open is part of the spread of its row."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (150, 4))
    y = 5.0 * X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(150)
    X[:12, 0] = np.nan
    model = MOHNRegressor("gp", random_state=0)
    assert not model.fit(X, y).outliers_.any()
    y[[3, 50]] += 60.0
    assert_array_equal(np.flatnonzero(model.fit(X, y).outliers_), [3, 50])


def test_held_out_targets_may_be_outliers():
    X, y = make_pairs(120)
    y[:4] = 1e4
    model = MOHNRegressor("pursuit", early_stopping=True, random_state=0).fit(X, y)
    assert_array_equal(np.flatnonzero(model.outliers_), np.arange(4))
    assert (0, 1) in model.terms_


def test_folds_may_come_once():
    X, y = make_pairs(100)
    y[7] = 1e4
    model = MOHNRegressor("pursuit", cv=KFold(4).split(X), random_state=0).fit(X, y)
    assert_array_equal(np.flatnonzero(model.outliers_), [7])


def test_each_target_has_its_own_outliers():
    X, y = make_pairs(100)
    targets = np.column_stack([y, y[::-1] + X[:, 3]])
    clean = MOHNRegressor("gp", random_state=0).fit(X, targets).predict(X)
    targets[5, 1] = 1e5
    model = MOHNRegressor("gp", random_state=0).fit(X, targets)
    assert_array_equal(np.argwhere(model.outliers_), [[5, 1]])
    assert np.abs(model.predict(X) - clean).max() < 0.3


def test_genotypes_have_outliers():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (150, 6))
    y = 1.0 * counts[:, 4] + 0.3 * rng.standard_normal(150)
    y[9] = 500.0
    model = MOHNRegressor("pursuit", random_state=0)
    model.fit(Genotypes.from_counts(counts), y)
    assert_array_equal(np.flatnonzero(model.outliers_), [9])
    assert (4,) in model.terms_


def test_targets_outside_of_the_scale_are_far_on_their_own():
    """The scale is the logarithm of the others."""
    X, y = make_pairs(60)
    y = np.exp(y)
    control = GPOptions(target_transform="log")
    model = MOHNRegressor("gp", gp_options=control, random_state=0).fit(X, y)
    y[4] = -4.0
    asked = STRATEGIES["gp"], FitSettings.of(model)
    targets, _ = model._read(*asked, (X, y, None, None, None, None), {})
    outliers = np.arange(60) == 4
    known = *model.model_.significant_terms(), 1.0
    solution = FitResult.of_weights(*known, "", [], model=model.model_)
    fit = Fit(targets.read(without=outliers), solution)
    apart, log_unit = targets.predict(outliers, fit)
    mean, std = model.predict(X[outliers], return_std=True)
    assert_allclose(apart, (-4.0 - mean) / std)
    assert_allclose(log_unit, np.log(std))


def test_tails_with_outliers_are_a_mixture():
    tails = Tails(scale=0.9, outliers=0.02)
    away = np.linspace(-20.0, 20.0, 9)
    mixed = 0.98 * norm.pdf(away, scale=0.9) + 0.02 * cauchy.pdf(away)
    assert_allclose(np.exp(tails.log_density(away)), mixed)
    quantiles = tails.quantiles([0.001, 0.05, 0.5, 0.95])
    shares = 0.98 * norm.cdf(quantiles, scale=0.9) + 0.02 * cauchy.cdf(quantiles)
    assert_allclose(shares, [0.001, 0.05, 0.5, 0.95])
    drawn = tails.draw(np.random.default_rng(0), 40_000)
    assert_allclose(
        np.quantile(drawn, [0.05, 0.95]), quantiles[[1, 3]] * [1, 1], atol=0.05
    )
    assert np.mean(np.abs(drawn) > 10.0) == pytest.approx(
        0.04 * cauchy.sf(10.0), abs=5e-4
    )


def test_densities_of_outliers_stay_finite():
    X, y = make_pairs(100)
    y[7] = 1e6
    model = MOHNRegressor("gp", random_state=0).fit(X, y)
    density = model.log_density(X, y)
    assert density[7] == density.min()
    assert -60.0 < density[7] < -25.0
    share = model.model_.residual_distribution.outliers
    # Their probability has the posterior mean of Laplace's rule.
    assert share == pytest.approx(2.0 / 102.0)


@pytest.mark.parametrize("rest", [0.0, 5e-324, 1e-310, 1e-200])
def test_distances_are_finite_however_small_the_others_are(rest):
    values = np.append(rest * np.tile([-1.0, 1.0], 20), [3.0, -2.0])
    apart = _standardize(values)
    assert np.isfinite(apart).all()
    assert_array_equal(np.abs(apart) == np.abs(apart).max(), np.abs(values) > 1.0)


def test_distances_are_the_same_in_every_unit():
    values = np.random.default_rng(0).normal(size=40)
    expected = _standardize(values)
    for unit in (2.0**1010, 2.0**-1010):
        assert_array_equal(_standardize(values * unit), expected)
    assert_allclose(_standardize(values * 1e-310), expected, rtol=1e-9)


def test_outliers_beside_exact_rows_save_a_finite_number_of_nats():
    apart = np.append(np.zeros(40), [1e150, -1e150])
    saved = _saved_by(apart != 0.0, apart, np.ones(42))
    assert np.isfinite(saved)
    assert saved > 1000.0


def test_outliers_that_a_fit_reproduces_save_nothing():
    far = np.arange(42) > 39
    assert _saved_by(far, np.zeros(42), np.ones(42)) < 0.0
