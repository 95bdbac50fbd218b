"""Targets on a scale of their own: oracles are scipy, scikit-learn and logarithms."""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid
from scipy.optimize import approx_fprime
from scipy.stats import lognorm
from sklearn.preprocessing import PowerTransformer

from skmohn import GPOptions, MOHNClassifier, MOHNRegressor
from skmohn._core._powers import YeoJohnson
from skmohn._core._units import power_of_two_scale
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.marginal_likelihood import index_of_rows, join_equal_rows
from skmohn.mohn._gp.model import fit_gp
from skmohn.mohn._gp.transform_selection import _Part, choose_scale
from skmohn.mohn._table.rows import Categorical, EncodedRows, standardize
from skmohn.mohn._table.target import Logarithm, Unchanged, moments
from skmohn.optimize import maximize


def skewed(n_rows=150, seed=0, noise=0.3):
    """Columns, and a positive target that is a product of factors and of noise."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n_rows, 5))
    function = X[:, 0] + 0.5 * X[:, 1] * X[:, 2]
    return X, np.exp(function + noise * rng.standard_normal(n_rows))


def curved(n_rows, seed=0):
    """The same function of numbers."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 4))
    function = X[:, 0] + 0.5 * X[:, 1] * X[:, 2]
    return X, np.exp(function + 0.3 * rng.standard_normal(n_rows))


def fitted(X, y, transform="auto", **data):
    control = GPOptions(target_transform=transform)
    return MOHNRegressor("gp", gp_options=control, random_state=0).fit(X, y, **data)


# --------------------------------------------------------------------- the scales


@cache
def fitted_peer():
    return PowerTransformer(standardize=False).fit(np.arange(5.0)[:, None])


@given(
    st.integers(0, 20).map(lambda tenths: tenths / 10.0),
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=9),
    st.floats(-10.0, 10.0),
    st.floats(0.1, 10.0),
)
def test_yeo_johnson_is_that_of_scikit_learn(power, values, center, scale):
    """Forward and back."""
    y = np.array(values)
    transform = YeoJohnson(power, center, scale)
    peer = fitted_peer()
    peer.lambdas_ = np.array([power])
    standard = (y - center) / scale
    theirs = peer.transform(standard[:, None])[:, 0]
    found = transform.forward(y)
    assert_allclose(found, center + scale * theirs, rtol=1e-9, atol=1e-9)
    assert_allclose(transform.inverse(found), y, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "transform",
    [
        Unchanged(),
        Logarithm(),
        *(YeoJohnson(p, 1.5, 0.7) for p in (0.0, 0.6, 1.0, 2.0)),
    ],
)
def test_slopes_are_finite_differences(transform):
    """The density of a target needs them."""
    for y in (0.3, 1.2, 1.8, 4.0):
        (slope,) = approx_fprime(np.array([y]), lambda v: transform.forward(v)[0], 1e-7)
        assert_allclose(transform.log_slope(np.array([y])), np.log(slope), atol=1e-5)
        assert_allclose(transform.inverse(transform.forward(np.array([y]))), y)


def test_a_power_of_one_changes_nothing():
    """And any power keeps the unit of the target at its center."""
    y = np.linspace(-3.0, 8.0, 12)
    assert_allclose(YeoJohnson(1.0, 2.0, 3.0).forward(y), y, atol=1e-12)
    assert_allclose(YeoJohnson(0.3, 2.0, 3.0).forward(np.array([2.0])), 2.0)
    assert_allclose(YeoJohnson(0.3, 2.0, 3.0).log_slope(np.array([2.0])), 0.0)


def test_moments_of_the_lognormal_distribution():
    """Those of scipy."""
    mean, std = np.array([0.2, -1.0]), np.array([0.4, 0.7])
    found = moments(Logarithm(), mean, std)
    expected = lognorm(std, scale=np.exp(mean))
    assert_allclose(found[0], expected.mean(), rtol=1e-9)
    assert_allclose(found[1], expected.std(), rtol=1e-5)


def test_moments_beyond_all_numbers_are_infinite():
    """Instead of a warning or no number."""
    mean, std = moments(Logarithm(), np.array([700.0]), np.array([100.0]))
    assert mean == std == np.inf


# --------------------------------------------------------------- fits on a scale


def test_log_is_a_fit_of_logarithms():
    """Evidence, quantiles, weights and draws are those of logarithms."""
    X, y = skewed()
    model, peer = fitted(X, y, "log"), fitted(X, np.log(y), None)
    assert model.terms_ == peer.terms_
    assert_allclose(model.weights_, peer.weights_)
    assert_allclose(model.noise_std_, peer.noise_std_)
    evidence = peer.log_marginal_likelihood_ - np.log(y).sum()
    assert_allclose(model.log_marginal_likelihood_, evidence)
    assert_allclose(model.predict_quantiles(X), np.exp(peer.predict_quantiles(X)))
    assert_allclose(model.sample_y(X, 3), np.exp(peer.sample_y(X, 3)))
    mean, std = peer.predict(X, return_std=True)
    expected = lognorm(std, scale=np.exp(mean))
    found, spread = model.predict(X, return_std=True)
    assert_allclose(found, np.minimum(expected.mean(), y.max()), rtol=1e-8)
    assert_allclose(spread, expected.std(), rtol=1e-4)
    assert_allclose(model.log_density(X, y), expected.logpdf(y))


@pytest.mark.slow
def test_auto_finds_the_logarithm_and_predicts_better():
    """Of a product of factors, which is no sum."""
    X, y = curved(200)
    T, t = curved(1000, seed=1)
    model, plain = fitted(X, y), fitted(X, y, None)
    assert isinstance(model.target_transform_, Logarithm)
    assert model.log_density(T, t).mean() > plain.log_density(T, t).mean() + 0.3
    assert model.score(T, t) > plain.score(T, t) + 0.05
    assert "logarithm" in model.stopping_reason_
    default = MOHNRegressor(random_state=0).fit(X, y)
    assert_allclose(default.predict(T), model.predict(T))


def test_auto_shortens_the_tail_that_is_long():
    """A power below 1 for the upper one, above 1 for the lower."""
    X, y = skewed()
    shifted = fitted(X, y - 100.0)
    assert shifted.target_transform_.power < 0.5
    mirrored = fitted(X, -y)
    assert mirrored.target_transform_.power > 1.5
    assert_allclose(mirrored.predict(X), -fitted(X, y - 100.0).predict(X) - 100.0)


def test_auto_leaves_a_normal_target_alone():
    """With any unit."""
    X, y = skewed(seed=2)
    for unit in (1e-12, 1.0, 1e12):
        model = fitted(X, unit * np.log(y))
        assert model.target_transform_ == Unchanged()


def test_the_unit_of_the_target_makes_no_difference():
    """Nor does its origin, but for logarithms."""
    X, y = skewed()
    model, other = fitted(X, y - 50.0), fitted(X, 1e6 * y + 3e7)
    assert other.target_transform_.power == model.target_transform_.power
    expected = 1e6 * (model.predict(X) + 50.0) + 3e7
    assert_allclose(other.predict(X), expected, rtol=1e-6)


def test_few_distinct_targets_stay_as_they_are():
    """They have no density: another scale would only move differences between them."""
    X, y = skewed()
    grades = np.digitize(y, np.quantile(y, [0.6, 0.8, 0.9, 0.95])) ** 3.0
    assert fitted(X, grades).target_transform_ == Unchanged()
    # But as one wishes.
    assert isinstance(fitted(X, grades, "yeo-johnson").target_transform_, YeoJohnson)


def test_equal_targets_say_nothing():
    """All of them, or those of the rows that are asked."""
    X = np.random.default_rng(0).standard_normal((500, 2))
    model = MOHNRegressor().fit(X, np.full(500, 7.0))
    assert model.target_transform_ == Unchanged()
    assert_allclose(model.predict(X[:2]), 7.0)
    rare = np.zeros(500)
    asked = np.random.default_rng(0).permutation(500)[:400]
    others = np.setdiff1d(np.arange(500), asked)
    # In the order of the distinct rows, by which they are drawn.
    rare[np.lexsort(X.T[::-1])[others[:12]]] = np.arange(12.0)
    rows = EncodedRows(X, np.empty((500, 0), dtype=int))
    assert choose_scale("auto", rows, (), 0, rare, None, 0).transform == Unchanged()


def test_repeats_and_weights_find_the_same_scale():
    """A sample of weight 3 is three samples."""
    X, y = skewed(80)
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    once = fitted(X, y, sample_weight=weight)
    often = fitted(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert once.target_transform_ == often.target_transform_
    assert_allclose(once.predict(X), often.predict(X), rtol=1e-6)
    assert_allclose(
        once.log_marginal_likelihood_, often.log_marginal_likelihood_, rtol=1e-8
    )


# ------------------------------------------------------------ the rule of choice


def at_once(X, y):
    """All samples as one part, and the posterior of the target as it is."""
    rows = EncodedRows(X, np.empty((len(X), 0), dtype=int))
    part = _Part.draw(rows, y, None, 0)
    return part, part.learn(Unchanged(), ()).posterior, rows


def test_scales_are_judged_by_the_joint_density():
    """By the covariance of all samples, written out; a factor is the best."""
    X, y = skewed(60)
    part, posterior, rows = at_once(X, y)
    prior = posterior.covariance.prior
    K = posterior.covariance.between(rows, rows) + prior.noise_variance * np.eye(len(y))
    inverse, level = np.linalg.inv(K), -0.5 * np.linalg.slogdet(K)[1]
    trials = [Unchanged(), Logarithm(), YeoJohnson(0.4, y.mean(), y.std())]
    expected = []
    for trial in trials:
        standard, _, scale = standardize(trial.forward(y))
        spread = standard @ inverse @ standard / len(y)
        value = level - len(y) * (0.5 * np.log(spread) + np.log(scale))
        expected.append(value + trial.log_slope(y).sum())
    found, _ = part.evaluate(trials, posterior)
    constant = found[0] - expected[0]
    assert_allclose(found, np.array(expected) + constant, rtol=1e-9)
    # A constant that other hyperparameters do not change.
    noisier = prior._replace(noise_variance=3.0 * prior.noise_variance)
    again = replace(posterior.covariance, prior=noisier)
    K += 2.0 * prior.noise_variance * np.eye(len(y))
    standard = standardize(y)[0]
    spread = standard @ np.linalg.solve(K, standard) / len(y)
    expected = -0.5 * np.linalg.slogdet(K)[1]
    expected -= len(y) * (0.5 * np.log(spread) + np.log(y.std()))
    other = ExactPosterior.condition(again, posterior.sample)
    (value,), _ = part.evaluate([Unchanged()], other)
    assert_allclose(value, expected + constant, rtol=1e-9)


def test_errors_are_those_of_left_out_rows():
    """Of refits without them, with the same hyperparameters."""
    X, y = skewed(32)
    part, posterior, rows = at_once(X, y)
    covariance = posterior.covariance
    trial = YeoJohnson(0.3, y.mean(), y.std())
    standard, center, scale = standardize(trial.forward(y))
    _, (error,) = part.evaluate([trial], posterior)
    spread = ExactPosterior.condition(covariance, join_equal_rows(rows, standard))
    noise = covariance.prior.noise_variance
    sample = spread.sample
    n = len(y)
    K = covariance.between(rows, rows) + noise * np.eye(n)
    factor = standard @ np.linalg.solve(K, standard) / n
    squares = []
    for i in range(len(sample)):
        others = np.delete(np.arange(len(sample)), i)
        without = ExactPosterior.condition(covariance, sample.take(others))
        at = sample.rows.take([i])
        variance = without.latent_variance(at) + noise / sample.weight[i]
        mean, _ = moments(
            trial,
            center + scale * without.latent_mean(at),
            scale * np.sqrt(factor * variance),
        )
        own = y[index_of_rows(rows) == i]
        squares += [(own.mean() - np.clip(mean[0], y.min(), y.max())) ** 2] * len(own)
    unit = power_of_two_scale(
        [y[index_of_rows(rows) == i].mean() for i in range(len(sample))]
    )
    expected = np.mean(squares) / unit**2
    assert_allclose(error, expected, rtol=1e-9)


def test_the_best_power_is_taken():
    """Of those from 0 to 2 in tenths."""
    X, y = skewed(60)
    y = y - 7.0
    part, posterior, rows = at_once(X, y)
    powers = np.linspace(0.0, 2.0, 21)
    trials = [YeoJohnson(power, y.mean(), y.std()) for power in powers]
    found = part.evaluate(trials, posterior)[0]
    best = choose_scale("yeo-johnson", rows, (), 0, y, None, 0)
    assert best.transform.power == powers[np.argmax(found)] < 1.0


@pytest.mark.slow
def test_lines_on_a_scale_take_the_place_of_levels():
    """A product of exponential functions is a sum on the scale of logarithms."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    y = np.exp(X @ [1.0, 0.5, -0.5] + 0.1 * rng.standard_normal(150))
    model, plain = fitted(X, y), fitted(X, y, None)
    assert plain.coding_.thresholds
    assert not model.coding_.thresholds
    assert isinstance(model.target_transform_, Logarithm)


def test_nothing_is_asked_where_nothing_is_open(monkeypatch):
    """That would take time."""
    monkeypatch.setattr(_Part, "learn", None)
    X, y = skewed(60)
    rows = EncodedRows(X, np.empty((len(X), 0), dtype=int))
    for wanted, targets in (
        (None, y),
        ("log", y),
        ("auto", np.tile(np.arange(9.0), 7)[:60]),
    ):
        found = choose_scale(wanted, rows, (), 0, targets, None, 0)
        assert not found.has_levels
        assert isinstance(found.transform, Logarithm) == (wanted == "log")


def test_a_scale_that_costs_accuracy_is_not_taken():
    """Where its evidence is higher, but held-out rows are further off."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.uniform(0, 10, 200), rng.integers(0, 2, 200)])
    step = (X[:, 0] > 4) & (X[:, 0] < 7)
    y = 2.0 * step + 1.5 * step * X[:, 1] + 0.05 * rng.standard_normal(200)
    assert fitted(X, y).target_transform_ == Unchanged()
    shortened = fitted(X, y, "yeo-johnson")
    assert shortened.target_transform_.power == 0.0
    plain = fitted(X, y, None)
    assert shortened.log_marginal_likelihood_ > plain.log_marginal_likelihood_ + 20.0


# -------------------------------------------------------------- reading and asking


def test_densities_integrate_to_one_and_quantiles_split_them():
    """Of a fitted Yeo-Johnson scale."""
    X, y = skewed()
    model = fitted(X, y - 100.0)
    grid = np.linspace(-101.5, -60.0, 20001)
    density = np.exp(model.log_density(np.tile(X[:1], (len(grid), 1)), grid))
    assert_allclose(trapezoid(density, grid), 1.0, atol=1e-3)
    low, median, high = model.predict_quantiles(X[:1])[0]
    for end, share in ((low, 0.05), (median, 0.5), (high, 0.95)):
        below = grid <= end
        assert_allclose(trapezoid(density[below], grid[below]), share, atol=3e-3)
    mean, std = model.predict(X[:1], return_std=True)
    assert_allclose(trapezoid(density * grid, grid), mean, rtol=1e-3)
    spread = trapezoid(density * (grid - mean) ** 2, grid)
    assert_allclose(np.sqrt(spread), std, rtol=2e-2)
    draws = model.sample_y(X[:1], 4000)
    assert_allclose(draws.mean(), mean, rtol=2e-3)


def test_contributions_add_up_to_the_transformed_median():
    """Since those of a mean have no simple sum."""
    X, y = skewed()
    for model in (fitted(X, y), fitted(X, y - 100.0)):
        table = model.explain(X[0])
        (median,) = model.predict_quantiles(X[:1], 0.5)[0]
        total = np.sum(table["contribution"])
        assert_allclose(model.target_transform_.inverse(total), median)
        assert "(clip)" not in list(table["term"])


def test_the_optimum_is_that_of_the_median():
    """A scale rises: it moves no optimum of the function on it."""
    X, y = skewed()
    model = fitted(X, y)
    found = maximize(model)
    cube = np.array(np.meshgrid(*[[-1.0, 1.0]] * 5)).reshape(5, -1).T
    medians = model.predict_quantiles(cube, [0.5])[:, 0]
    assert_allclose(found.fun, min(medians.max(), y.max()))
    assert_allclose(model.predict_quantiles(found.x[None], 0.5), medians.max())


def test_further_samples_are_put_on_the_scale():
    """Order and batches make no difference."""
    X, y = skewed()
    model = fitted(X[:100], y[:100], "log").partial_fit(X[100:], y[100:])
    peer = fitted(X[:100], np.log(y[:100]), None).partial_fit(X[100:], np.log(y[100:]))
    assert_allclose(model.predict_quantiles(X), np.exp(peer.predict_quantiles(X)))
    evidence = peer.log_marginal_likelihood_ - np.log(y).sum()
    assert_allclose(model.log_marginal_likelihood_, evidence)
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.predict(X), model.predict(X))


def test_gaps_are_spread_on_the_scale():
    """An unknown input of a positive target leaves it positive."""
    X, y = skewed()
    model = fitted(X, y, "log")
    row = X[:1].copy()
    row[0, 0] = np.nan
    low, _, high = model.predict_quantiles(row)[0]
    known = model.predict_quantiles(X[:1])[0]
    assert 0.0 < low < known[0] or high > known[2]
    assert high / low > 2.0 * known[2] / known[0]
    mean = model.predict(row)
    both = np.repeat(X[:1], 2, axis=0)
    both[:, 0] = -1.0, 1.0
    assert_allclose(mean, model.predict(both).mean(), rtol=0.15)


def test_quantiles_without_a_transform_are_normal():
    """Mean and standard deviation."""
    X, y = skewed()
    model = fitted(X, np.log(y), None)
    _, std = model.predict(X, return_std=True)
    unclipped = model.set_params(gp_options__clip=False).predict(X)
    found = model.predict_quantiles(X, [0.15865525393145707, 0.5])
    assert_allclose(found, np.column_stack([unclipped - std, unclipped]))


def test_an_exact_model_is_certain():
    """Its density is infinite where it is right and nowhere else."""
    X, y = skewed(noise=0.0)
    model = MOHNRegressor().fit(X, np.log(y))
    assert model.noise_std_ == 0.0
    right = model.predict(X[:2])
    assert_allclose(model.predict_quantiles(X[:2], 0.9)[:, 0], right)
    assert model.log_density(X[:2], right + np.arange(2.0)).tolist() == [
        np.inf,
        -np.inf,
    ]


# ----------------------------------------------------------------- several targets


def test_a_target_with_another_scale_shares_nothing():
    """Others do; each is as when it is fitted alone on that scale."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (150, 5))
    function = X[:, 0] + 0.5 * X[:, 1] * X[:, 2]
    noise = 0.3 * rng.standard_normal((150, 3))
    Y = (function[:, None] + noise) * [1.0, 2.0, 1.0]
    Y[:, 2] = np.exp(Y[:, 2])
    model = fitted(X, Y)
    assert [str(scale) for scale in model.target_transform_][:2] == ["Unchanged()"] * 2
    assert isinstance(model.target_transform_[2], Logarithm)
    assert model.shared_targets_ == [0, 1]
    alone = fitted(X, Y[:, 2])
    assert_allclose(model.predict(X)[:, 2], alone.predict(X))
    quantiles = model.predict_quantiles(X, [0.1, 0.9])
    assert quantiles.shape == (150, 3, 2)
    assert_allclose(quantiles[:, 2], alone.predict_quantiles(X, [0.1, 0.9]))
    density = model.log_density(X, Y)
    assert density.shape == (150, 3)
    assert_allclose(density[:, 2], alone.log_density(X, Y[:, 2]))
    with pytest.raises(ValueError, match="y has 2 columns"):
        model.log_density(X, Y[:, :2])


def test_targets_may_share_on_logarithms():
    """Positive ones, when that is asked for."""
    X, y = skewed()
    Y = np.column_stack([y, 3.0 * y**2])
    model, peer = fitted(X, Y, "log"), fitted(X, np.log(Y), None)
    assert model.shared_targets_ == peer.shared_targets_ == [0, 1]
    assert_allclose(model.weights_, peer.weights_)
    evidence = peer.log_marginal_likelihood_ - np.log(Y).sum()
    assert_allclose(model.log_marginal_likelihood_, evidence)
    assert fitted(X, Y, "yeo-johnson").shared_targets_ == []
    with pytest.raises(ValueError, match="not positive"):
        fitted(X, Y - 2.0, "log")


# ----------------------------------------------------------------------- bad input


def test_logarithms_want_positive_targets():
    """In `fit` and later; what was fitted stays."""
    X, y = skewed()
    with pytest.raises(ValueError, match=r'not positive.*use "yeo-johnson"'):
        fitted(X, y - 2.0, "log")
    model = fitted(X, y, "log")
    before = model.predict(X)
    with pytest.raises(ValueError, match="not positive"):
        model.partial_fit(X[:2], [1.0, -1.0])
    assert np.array_equal(model.predict(X), before)
    # A density of what cannot be.
    assert model.log_density(X[:2], [0.0, -1.0]).tolist() == [-np.inf, -np.inf]


@pytest.mark.slow_cases("wrong[46]")
@pytest.mark.parametrize("wrong", [0.0, 1.0, [0.5, 1.5], [[0.5]], [], "half", [np.nan]])
def test_quantiles_are_shares(wrong):
    """Between 0 and 1."""
    X, y = skewed()
    model = fitted(X, y)
    with pytest.raises(ValueError, match=r"quantiles|could not convert|0 sample"):
        model.predict_quantiles(X, wrong)


def test_transforms_concern_numbers():
    """A classifier refuses the option; unknown ones are refused by name."""
    X, y = skewed()
    control = GPOptions(target_transform="log")
    with pytest.raises(ValueError, match="target_transform='log'"):
        MOHNClassifier("gp", gp_options=control).fit(X, y > 1.0)
    with pytest.raises(ValueError, match="target_transform"):
        fitted(X, y, "square root")


def test_errors_of_many_rows_decide(monkeypatch):
    """Of 400 of them, from which is learned, a few have most of the error."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 2))
    y = np.exp(X[:, 0] + 0.3 * rng.standard_normal(2000))
    rows = EncodedRows(np.clip(X / 4.0, -1.0, 1.0), np.empty((2000, 0), dtype=int))
    asked, compared = [], []
    learn, error = _Part.learn, _Part.error
    monkeypatch.setattr(
        _Part, "learn", lambda *args, **kw: asked.append(args[0]) or learn(*args, **kw)
    )
    monkeypatch.setattr(
        _Part, "error", lambda *args: compared.append(args[0]) or error(*args)
    )
    assert isinstance(
        choose_scale("auto", rows, (), 0, y, None, 0).transform, Logarithm
    )
    assert {len(part.y) for part in asked} == {400}
    assert {len(part.y) for part in compared} == {1600}


@pytest.mark.parametrize(
    ("loss", "share", "of_refits", "gain", "is_taken"),
    [
        (1.02, 0.11, 1.01, 9.0, True),
        (1.04, 0.11, 0.89, 9.0, True),
        (1.04, 0.11, 0.91, 9.0, False),
        (1.04, 0.09, 0.89, 0.0, False),
        # It gains much of likelihood.
        (1.04, 0.11, 0.99, 0.0, True),
        (1.04, 0.11, 1.01, 0.0, False),
    ],
)
def test_a_scale_must_not_cost_accuracy(
    loss, share, of_refits, gain, is_taken, monkeypatch, replace_constants
):
    """More than three percent, unless few rows count and refits gain a tenth."""
    module = "skmohn.mohn._gp.transform_selection"
    replace_constants(module, min_gain_by_sample=gain)
    X, y = skewed(60)
    rows = EncodedRows(X, np.empty((60, 0), dtype=int))

    def be(value):
        return lambda part, t, *_: value ** (not isinstance(t.transform, Unchanged))

    monkeypatch.setattr(_Part, "error", be(loss))
    monkeypatch.setattr(_Part, "largest_fraction", lambda part: share)
    monkeypatch.setattr(_Part, "error_of_refits", be(of_refits))
    found = choose_scale("auto", rows, (), 0, y, None, 0).transform
    assert isinstance(found, Unchanged) is not is_taken


@pytest.mark.parametrize("transform", [Unchanged(), Logarithm()])
def test_errors_of_refits_are_those_of_models_of_the_other_folds(transform):
    X, y = skewed(60)
    rows = EncodedRows(X, np.empty((60, 0), dtype=int))
    part = _Part.draw(rows, y, None, 0)
    found = part.error_of_refits(part.learn(transform, ()))
    place = index_of_rows(rows)
    folds = np.random.default_rng(0).permutation(place.max() + 1) % 3
    squares = []
    for fold in range(3):
        test = folds[place] == fold
        model = fit_gp(
            rows.take(~test),
            y[~test],
            transform=transform,
            noise="constant",
            strong_terms=False,
        )
        # Neither clipped as far, nor in doubt of its hyperparameters.
        low, high = y[~test].min(), y[~test].max()
        model = replace(model, y_min=low, y_max=high, hyperparameter_uncertainty=None)
        squares += [*(y[test] - model.predictive_mean(rows.take(test))) ** 2]
    expected = np.mean(squares) / power_of_two_scale(y) ** 2
    assert found == pytest.approx(expected, rel=1e-6)


def test_means_of_a_scale_are_those_of_one_level_of_noise():
    """The logarithm of the noise is known too badly to be in an exponential."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (300, 3))
    noise = np.where(X[:, 1] > 0.0, 1.0, 0.1)
    y = np.exp(X[:, 0] + noise * rng.standard_normal(300))
    control = GPOptions(target_transform="log")
    model = MOHNRegressor("gp", gp_options=control).fit(X, y).model_
    assert model.noise_map is not None
    rows = EncodedRows(X, np.empty((300, 0), dtype=int))
    std = model.y_std * np.sqrt(model.latent_variance(rows) + model.noise_variance)
    expected, _ = moments(model.transform, model.latent_mean(rows), std)
    assert_allclose(model.predictive_mean(rows, clip=False), expected)
    # Widths are those of the map.
    low, high = model.quantiles(rows, np.array([0.05, 0.95])).T
    ratio = np.log(high / low)
    is_noisy = X[:, 1] > 0.0
    assert np.median(ratio[is_noisy]) > 3.0 * np.median(ratio[~is_noisy])


@pytest.mark.slow
def test_one_extreme_target_does_not_hide_that_others_are_skewed():
    """It is explained by lines of columns that have nothing to do with it."""
    rng = np.random.default_rng(1000)
    X = rng.standard_normal((3000, 20))
    f = X @ rng.standard_normal(20)
    y = np.exp(0.5 * f / f.std() + rng.standard_normal(3000))
    taken = 0
    # Of the last draw, left-out errors of the logarithm are larger by 3 %.
    for seed in range(5):
        some = np.random.default_rng(seed).permutation(3000)[:100]
        model = MOHNRegressor("gp", random_state=0).fit(X[some], y[some])
        taken += isinstance(model.target_transform_, Logarithm)
    assert taken == 5


def test_an_unknown_number_is_a_middle_one_without_levels():
    """Samples that only levels tell apart are at one row of lines."""
    rng = np.random.default_rng(0)
    places = rng.integers(0, 5, (200, 2))
    inputs, levels = places / 2.0 - 1.0, np.where(rng.random((200, 2)) < 0.3, 5, places)
    inputs[levels == 5] = 0.0
    y = rng.standard_normal(200) + inputs.sum(axis=1)
    rows, alphabets = (
        EncodedRows(inputs, levels),
        (Categorical(5, True), Categorical(5, True)),
    )
    part = _Part.draw(rows, y, None, 0)
    lines = _Part.draw(EncodedRows(inputs, levels[:, :0]), y, None, 0)
    trial = part.learn(Unchanged(), ())
    assert trial.evidence == lines.learn(Unchanged(), ()).evidence
    assert trial.evidence != part.learn(Unchanged(), alphabets).evidence
    X = np.where(levels == 5, np.nan, places)
    assert MOHNRegressor(random_state=0).fit(X, y).score(X, y) > 0.2


def test_hyperparameters_of_wide_tables_are_learned_from_fewer_rows():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(500)

    def n_drawn(n_columns, n_rows=None):
        X = rng.choice([-1.0, 1.0], (500, n_columns))
        rows = EncodedRows(X, np.empty((500, 0), dtype=int))
        return len(_Part.draw(rows, y, None, 0, n_rows).rows)

    assert n_drawn(20) == n_drawn(250) == 400
    assert n_drawn(1000) == 200
    assert n_drawn(6000) == 100
    assert n_drawn(1000, 450) == 450
