"""Ridge regression by its evidence, the robust member of "auto", against oracles."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import false_discovery_control, multivariate_normal, norm
from scipy.stats import t as student
from sklearn.linear_model import Ridge

from skmohn import MOHNRegressor
from skmohn.mohn._models import PRIOR
from skmohn.mohn._spike_slab.fit import fit_additive
from skmohn.mohn._strategies import _is_robust as is_robust
from skmohn.mohn._strategies import _is_shared as is_shared
from skmohn.mohn._table.rows import EncodedRows
from skmohn.mohn._table.target import Logarithm, Unchanged
from skmohn.optimize import minimize


def rows_of(X):
    return EncodedRows(X, np.empty((len(X), 0), dtype=int))


def make_table(n_rows, n_columns, explained, seed=0):
    """Rows of numbers and a sum of columns with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n_rows, n_columns)) ** 3
    f = X @ rng.standard_normal(n_columns)
    f *= math.sqrt(explained) / f.std()
    noise = math.sqrt(1.0 - explained) * rng.standard_normal(n_rows)
    return X, 5.0 + 3.0 * (f + noise), 5.0 + 3.0 * f


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize(("n_rows", "n_columns"), [(60, 5), (40, 50)])
def test_it_is_ridge_regression_on_standardized_columns(n_rows, n_columns):
    X, y, _ = make_table(n_rows, n_columns, 0.5)
    model = fit_additive(X, y, None)
    penalty = model.noise_variance * model.posterior.precision
    ridge = Ridge(alpha=penalty).fit(standardized(X), y)
    assert_allclose(model.predictive_mean(rows_of(X)), ridge.predict(standardized(X)))
    T = np.random.default_rng(1).uniform(-1.0, 1.0, (7, n_columns))
    expected = ridge.predict((T - X.mean(axis=0)) / X.std(axis=0))
    assert_allclose(model.predictive_mean(rows_of(T)), expected)


def log_density(X, y, share, total):
    """Log density of targets, of whose variance a function explains a proportion."""
    columns = standardized(X)
    covariance = share * columns @ columns.T / X.shape[1]
    covariance += (1.0 - share) * np.eye(len(y))
    standard = (y - y.mean()) / y.std()
    # The constant has a variance of its own beside the most likely total of the others.
    covariance = total * covariance + PRIOR.constant_variance
    value = multivariate_normal(np.zeros(len(y)), covariance).logpdf(standard)
    return value - len(y) * math.log(y.std())


def test_evidence_is_the_density_of_the_targets():
    X, y, _ = make_table(30, 4, 0.6)
    model = fit_additive(X, y, None)
    total = model.noise_variance + len(X.T) / model.posterior.precision
    share = 1.0 - model.noise_variance / total
    expected = log_density(X, y, share, total)
    assert model.log_evidence() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("explained", [0.3, 0.02])
def test_any_share_of_the_variance_is_as_probable_a_priori(explained):
    """If there is one at all, for which odds are three to one."""
    X, y, _ = make_table(30, 4, explained)
    model = fit_additive(X, y, None)
    columns, standard = standardized(X), (y - y.mean()) / y.std()

    def relative(share):
        covariance = share * columns @ columns.T / 4 + (1.0 - share) * np.eye(30)
        square = standard @ np.linalg.solve(covariance, standard)
        # One direction is that of the constant.
        _, volume = np.linalg.slogdet(covariance)
        volume -= math.log(1.0 - share)
        return -0.5 * (volume + 29 * math.log(square / 29) + 29)

    total = model.noise_variance + 4 / model.posterior.precision
    share = 1.0 - model.noise_variance / total
    at_mean = relative(share)
    mass, _ = quad(lambda s: math.exp(relative(s) - at_mean), 0.0, 1.0)
    first, _ = quad(lambda s: s * math.exp(relative(s) - at_mean), 0.0, 1.0)
    of_nothing = math.exp(relative(0.0) - at_mean)
    assert share == pytest.approx(first / (mass + of_nothing / 3.0), abs=1e-3)
    # The level of the target costs what it costs a model without columns.
    level = -0.5 * (1.0 + math.log(total)) ** 2 - 0.5 * math.log1p(0.5 * 29)
    assert model.log_occam_factor == pytest.approx(math.log(mass) + level, abs=1e-3)


def test_weights_count_rows():
    X, y, _ = make_table(40, 5, 0.5)
    counts = np.random.default_rng(0).integers(1, 4, 40)
    often = fit_additive(np.repeat(X, counts, axis=0), np.repeat(y, counts), None)
    weighed = fit_additive(X, y, counts.astype(float))
    assert_allclose(
        weighed.predictive_mean(rows_of(X)), often.predictive_mean(rows_of(X))
    )
    assert weighed.log_evidence() == pytest.approx(often.log_evidence())
    assert weighed.description_length() == pytest.approx(often.description_length())


@pytest.mark.parametrize("n_columns", [8, 30])
def test_weights_whose_sign_is_sure_are_listed(n_columns):
    X, y, _ = make_table(80, n_columns, 0.5)
    model = fit_additive(X, y, None)
    graph, errors = model.significant_terms()
    means = model.posterior.mean[:-1]
    stds = np.sqrt(model.posterior.variances()[:-1])
    # Least squares, all other weights under their prior.
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    found, precision = [], model.posterior.precision
    for j in range(n_columns):
        others = np.delete(Z, j, axis=1)
        noise = model.noise_variance * np.eye(80) + others @ others.T / precision
        solved = np.linalg.solve(noise, Z[:, j])
        target = (y - y.mean()) / y.std()
        found.append(solved @ target / np.sqrt(solved @ Z[:, j]))
    values = np.linalg.eigvalsh(Z @ Z.T)
    fitted = np.sum(values / (values + model.noise_variance * precision)) + 80 / (
        80 + model.noise_variance
    )
    df = 80.0 - fitted + 2.0
    p_values = 2.0 * student.sf(np.abs(found), df)
    listed = [j for (j,) in graph.terms]
    assert 0 < len(listed) < n_columns
    kept = false_discovery_control(p_values) <= 0.05
    assert_array_equal(np.flatnonzero(kept), listed)
    assert_allclose(errors, [model.weight_posterior(term)[1] for term in graph.terms])
    probability, _ = model.relevance()
    assert_allclose(probability, 1.0 - 2.0 * norm.sf(np.abs(means) / stds))


def test_noise_lists_nothing():
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(60):
        X, y = rng.choice([-1.0, 1.0], (50, 10)), rng.standard_normal(50)
        found += bool(fit_additive(X, y, None).significant_terms()[0].terms)
    # One in twenty, or fewer: more than seven of 60 are so in one of 50 trials.
    assert found <= 7


def test_further_rows_are_conditioned_on_exactly():
    X, y, _ = make_table(60, 5, 0.5)
    first = fit_additive(X[:40], y[:40], None)
    after = first.update(rows_of(X[40:]), y[40:], None, None)
    columns = first.candidates.columns(X).T
    penalty = first.noise_variance * first.posterior.precision
    target = (y - first.y_mean) / first.y_std
    # The constant is a column as well, with the inverse of its variance as a penalty.
    design = np.column_stack([columns, np.ones(60)])
    own = np.diag(
        [*np.full(5, penalty), first.noise_variance / PRIOR.constant_variance]
    )
    weights = np.linalg.solve(design.T @ design + own, design.T @ target)
    assert_allclose(
        after.predictive_mean(rows_of(X)),
        first.y_mean + first.y_std * (design @ weights),
    )


def test_on_a_scale_it_is_ridge_regression_there():
    X, y, _ = make_table(60, 5, 0.5)
    y = np.exp(y)
    plain, model = (
        fit_additive(X, target, None, scale)
        for target, scale in ((np.log(y), Unchanged()), (y, Logarithm()))
    )
    assert_allclose(model.latent_mean(rows_of(X)), plain.latent_mean(rows_of(X)))
    # The density of y is that of its logarithm over y.
    slope = np.log(y).sum()
    assert model.log_evidence() == pytest.approx(plain.log_evidence() - slope)
    assert model.description_length() == pytest.approx(
        plain.description_length() + slope
    )
    variance = plain.y_std**2 * (
        plain.latent_variance(rows_of(X)) + plain.noise_variance
    )
    mean = np.exp(plain.latent_mean(rows_of(X)) + 0.5 * variance)
    assert_allclose(model.predictive_mean(rows_of(X), clip=False), mean)
    assert_allclose(model.predictive_mean(rows_of(X)), np.clip(mean, y.min(), y.max()))


def test_on_a_scale_further_rows_are_conditioned_on_exactly():
    X, y, _ = make_table(60, 5, 0.5)
    first = fit_additive(X[:40], np.exp(y[:40]), None, Logarithm())
    plain = fit_additive(X[:40], y[:40], None)
    after = first.update(rows_of(X[40:]), np.exp(y[40:]), None, None)
    known = plain.update(rows_of(X[40:]), y[40:], None, None)
    assert_allclose(after.latent_mean(rows_of(X)), known.latent_mean(rows_of(X)))
    assert after.log_evidence() == pytest.approx(known.log_evidence() - y.sum())
    assert (after.y_min, after.y_max) == (np.exp(y).min(), np.exp(y).max())


# ------------------------------------------------------------------------- in "auto"


@pytest.mark.slow_cases(r"0\.3")
@pytest.mark.parametrize("explained", [0.3, 0.0])
def test_a_skewed_target_is_predicted_on_its_scale(explained):
    X, y, _ = make_table(100, 8, explained, seed=1)
    model = MOHNRegressor(random_state=0).fit(X, np.exp(0.4 * y))
    assert model.history_[-1]["chosen"] == "additive"
    assert not isinstance(model.target_transform_, Unchanged)
    # A long tail alone is nothing that is significant.
    stands_out = not model.stopping_reason_.startswith("nothing is significant")
    assert stands_out == bool(explained)
    if not stands_out:
        assert model.terms_ == []
    found = minimize(model)
    # The median of predictions is searched.
    (median,) = model.predict_quantiles(found.x[None], [0.5])[0]
    assert found.fun == pytest.approx(max(median, model.model_.y_min))
    T = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 8))
    assert median <= model.predict_quantiles(T, [0.5]).min()


@pytest.mark.parametrize(
    ("other", "nothing", "chosen", "expected"),
    [
        (102.0, 104.0, "gp", True),
        # Another one is a little shorter, or clearly.
        (97.5, 104.0, "gp", True),
        (96.5, 104.0, "gp", False),
        # Nothing is.
        (101.0, 97.5, "nothing", True),
        (101.0, 96.5, "nothing", False),
        # Signals are weak, or not.
        (98.0, 139.0, "gp", True),
        (98.0, 141.0, "gp", False),
    ],
)
def test_it_is_chosen_unless_another_is_clearly_shorter(
    other, nothing, chosen, expected
):
    lengths = {"additive": 100.0, "gp": other, "nothing": nothing}
    assert is_robust(lengths, chosen, 3.0) is expected


@pytest.mark.parametrize(
    ("spike_slab", "additive", "n_rows", "expected"),
    [
        # Single inputs explain as much, or clearly less, or nothing.
        (99.0, 99.5, 100, False),
        (99.0, 103.5, 100, True),
        (99.0, 100.5, 100, True),
        (96.0, 99.5, 100, True),
        (100.5, 106.0, 100, False),
        (96.0, 99.5, 99, False),
    ],
)
def test_products_of_weak_signals_must_explain_clearly_more(
    spike_slab, additive, n_rows, expected
):
    lengths = {"spike_slab": spike_slab, "additive": additive, "nothing": 100.0}
    assert is_shared(lengths, n_rows) is expected


def test_where_it_was_not_fitted_it_is_not_chosen():
    assert not is_robust({"gp": 10.0, "nothing": 20.0}, "gp", 3.0)


@pytest.mark.slow
def test_weak_signals_of_many_columns_are_predicted_as_ridge_does():
    X, y, f = make_table(1200, 50, 0.2)
    T, target = X[200:], f[200:]
    model = MOHNRegressor(random_state=0).fit(X[:200], y[:200])
    assert model.history_[-1]["chosen"] == "additive"
    assert "ridge regression on 50 columns" in model.stopping_reason_
    scale, center = X[:200].std(axis=0), X[:200].mean(axis=0)
    best = max(
        np.corrcoef(
            Ridge(alpha=alpha)
            .fit((X[:200] - center) / scale, y[:200])
            .predict((T - center) / scale),
            target,
        )[0, 1]
        for alpha in np.logspace(0, 4, 9)
    )
    assert np.corrcoef(model.predict(T), target)[0, 1] > best - 0.02
    mean, std = model.predict(T, return_std=True)
    assert np.mean(np.abs(mean - target) < 3.0 * std) > 0.98
    assert model.terms_table().shape[0] == len(model.terms_)


def test_what_does_not_stand_out_lists_nothing():
    rng = np.random.default_rng(79)
    X, y = rng.choice([-1.0, 1.0], (60, 6)), rng.standard_normal(60)
    # One weight of six in sixty rows is significant by chance.
    assert fit_additive(X, y, None).significant_terms()[0].terms
    model = MOHNRegressor(random_state=0).fit(X, y)
    assert model.history_[-1]["chosen"] == "additive"
    assert model.stopping_reason_.startswith("nothing is significant")
    assert model.terms_ == []


def test_noise_has_a_scale_however_much_shorter_its_mean():
    rng = np.random.default_rng(0)
    X, y = rng.choice([-1.0, 1.0], (200, 6)), np.exp(rng.standard_normal(200))
    model = MOHNRegressor(random_state=0).fit(X, y)
    last = model.history_[-1]
    nothing = last["description_length_nothing"]
    assert last["description_length_additive"] > nothing + 3.0
    assert last["chosen"] == "additive"
    assert not isinstance(model.target_transform_, Unchanged)
    # A normal interval would reach below zero by more than the median is above.
    assert model.predict_quantiles(X, [0.05]).min() > -0.5


def test_interactions_are_not_given_up_for_it():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (200, 10))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.standard_normal(200)
    model = MOHNRegressor(random_state=0).fit(X, y)
    assert model.history_[-1]["chosen"] != "additive"
    assert {(0, 1), (2,)} <= set(model.terms_)
