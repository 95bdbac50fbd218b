"""Posteriors of all weights for classes: additive ones, and with spikes and slabs."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.linalg import null_space
from scipy.special import expit, log_softmax, ndtr, ndtri
from scipy.stats import norm
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures
from support import traced_memory

from skmohn import MOHNClassifier
from skmohn.datasets import make_ising
from skmohn.mohn._sparse import ridge_logistic
from skmohn.mohn._sparse.classes import LogisticModel
from skmohn.mohn._sparse.ridge_logistic import RidgeLogistic, fit_ridge_logistic
from skmohn.mohn._spike_slab.prior import SpikeSlab
from skmohn.mohn._spike_slab.probit import ProbitSample, tilt
from skmohn.mohn._table.left_out import leave_groups_out, leave_observations_out

SPREADS = ridge_logistic._SPREADS
AT_ONE = (SPREADS == 1.0).astype(float)


def labeled(n_rows=60, n_inputs=4, seed=0):
    """Numbers, and labels of which the first two inputs say something."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_inputs))
    score = 1.5 * X[:, 0] - X[:, 1] + rng.logistic(size=n_rows)
    return X, score > 0.3


def test_rounding_errors_of_inputs_change_no_column():
    """Runs that end on their way would end elsewhere."""
    rng = np.random.default_rng(2)
    X, success = labeled()
    noisy = X * (1.0 + 1e-15 * rng.choice([-1.0, 1.0], X.shape))
    assert np.any(noisy != X)
    one = np.ones(len(X))
    samples = [ProbitSample.of(table, one, one, None, 2) for table in (X, noisy)]
    assert_array_equal(samples[0].columns, samples[1].columns)
    models = [sample.learn(success) for sample in samples]
    assert_array_equal(models[0].weights, models[1].weights)


# ---------------------------------------------------------------------------- left out


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_what_a_normal_posterior_says_without_rows(seed):
    rng = np.random.default_rng(seed)
    columns, target = rng.standard_normal((12, 3)), rng.standard_normal(12)
    precision = rng.uniform(0.5, 3.0, 12)

    def condition(rows):
        gram = (columns[rows].T * precision[rows]) @ columns[rows] + np.eye(3)
        weights = np.linalg.solve(gram, columns[rows].T @ (precision * target)[rows])
        return weights, np.linalg.inv(gram)

    every = np.arange(12)
    weights, covariance = condition(every)
    mean = columns @ weights
    of_rows = columns @ covariance @ columns.T
    pull = precision * (mean - target)
    alone = leave_observations_out(mean, np.diag(of_rows), precision, -pull)
    group = rng.integers(0, 4, 12)
    together = leave_groups_out(
        mean, lambda some: of_rows[np.ix_(some, some)], precision, -pull, group
    )
    for k in range(12):
        without, _ = condition(np.delete(every, k))
        assert alone[k] == pytest.approx(columns[k] @ without)
        others, _ = condition(np.flatnonzero(group != group[k]))
        assert together[k] == pytest.approx(columns[k] @ others)


# ---------------------------------------------------------------------------- additive


def fit_two(X, y, *rest, **options):
    """The output of two classes."""
    (found,) = fit_ridge_logistic(X, y[None], *rest, **options)
    return found


def test_categories_are_one_column():
    """Two inputs for two categories, or copies of a column, are that column."""
    X, y = labeled()
    one = np.ones(len(y))
    flag = np.where(np.arange(len(y)) % 3, 1.0, -1.0)
    alone = fit_two(np.column_stack([X, flag]), y, one, one)
    both = fit_two(np.column_stack([X, flag, -flag]), y, one, one, sizes=[2])
    assert_allclose(both.mass, alone.mass)
    assert_allclose(both.left_out, alone.left_out)
    assert_allclose(both.weights[:-2], alone.weights[:-1])
    assert_allclose(both.weights[-2] - both.weights[-1], alone.weights[-1])
    # A category that does not occur counts for nothing.
    absent = np.column_stack([X, flag, -flag, -one])
    found = fit_two(absent, y, one, one, sizes=[3])
    assert_allclose(found.left_out, alone.left_out)


def test_many_categories_of_noise_cost_little():
    rng = np.random.default_rng(0)
    x, name = rng.normal(size=(2, 750)).T, rng.integers(0, 60, 750)
    X = pd.DataFrame({"x": x[:, 0], "z": x[:, 1], "name": [f"n{k}" for k in name]})
    y = x[:, 0] + 0.5 * rng.normal(size=750) > 0
    train, test = slice(0, 150), slice(150, 750)
    model = MOHNClassifier(handle_unknown="missing", random_state=0)
    proba = model.fit(X[train], y[train]).predict_proba(X[test])
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["name"]), remainder="passthrough"
    )
    grid = GridSearchCV(
        LogisticRegression(), {"C": np.logspace(-3, 2, 6)}, scoring="neg_log_loss"
    )
    logistic = make_pipeline(columns, grid).fit(X[train], y[train])
    expected = log_loss(y[test], logistic.predict_proba(X[test]))
    assert log_loss(y[test], proba) < expected + 0.005


def several(n=60):
    """Rows of four classes, and a mask of each class."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 5))
    label = np.argmax(X @ rng.standard_normal((5, 4)) + rng.gumbel(size=(n, 4)), axis=1)
    return X + 2.0, label, np.eye(4, dtype=bool)[label].T


def softmax_regression(X):
    """The same by scikit-learn, on standardized columns, which are returned, too."""
    model = LogisticRegression(C=1.0 / X.shape[1], tol=1e-10, max_iter=5000)
    return model, (X - X.mean(axis=0)) / X.std(axis=0)


def fit_both():
    """Classes and one softmax for them, by us and by scikit-learn."""
    X, label, successes = several()
    one = np.ones(len(X))
    found = fit_ridge_logistic(X, successes, one, one, mass=AT_ONE)
    model, Z = softmax_regression(X)
    return X, label, found, model.fit(Z, label), Z


def centered(latent):
    """Log probabilities up to a constant, as they are compared."""
    return np.asarray(latent) - np.mean(latent, axis=0)


def test_classes_have_one_softmax():
    X, _, found, model, _ = fit_both()
    weights = np.array([output.weights for output in found])
    assert_allclose(weights, model.coef_ / X.std(axis=0), atol=1e-5)
    constants = [output.constant for output in found]
    assert_allclose(constants, -weights @ X.mean(axis=0))


def test_a_softmax_of_two_classes_is_logistic():
    # Log odds are a difference, whose prior variance is the sum of two quarters.
    X, y = labeled()
    one = np.ones(len(y))
    half = np.roll(AT_ONE, -1)
    assert SPREADS[half > 0.0] == 0.5
    model, Z = softmax_regression(X)
    model.set_params(C=model.C / 2.0).fit(Z, y)
    both = fit_ridge_logistic(X, np.array([~y, y]), one, one, mass=half)
    log_odds = both[1].weights - both[0].weights
    assert_allclose(log_odds, model.coef_[0] / X.std(axis=0), rtol=1e-4)


def test_evidence_of_a_softmax_of_two_classes_is_logistic(monkeypatch):
    X, y = labeled()
    one = np.ones(len(y))
    both = fit_ridge_logistic(X, np.array([~y, y]), one, one)
    monkeypatch.setattr(ridge_logistic, "_SPREADS", np.sqrt(2.0) * SPREADS)
    assert_allclose(both[0].mass, fit_two(X, y, one, one).mass, atol=1e-8)
    assert both[0].mass is both[1].mass


def test_left_out_observations_and_groups_of_classes():
    X, label, successes = several()
    one, groups = np.ones(len(X)), np.arange(len(X)) // 3
    model, Z = softmax_regression(X)
    constants = model.fit(Z, label).intercept_
    singles = np.arange(len(X))
    for members, group in ((singles, None), (singles, singles), (groups, groups)):
        outputs = fit_ridge_logistic(X, successes, one, one, group, mass=AT_ONE)
        left_out = centered([output.left_out for output in outputs])
        for k in range(0, len(X), 7):
            kept = members != members[k]
            exact = model.fit(Z[kept], label[kept]).decision_function(Z[[k]])[0]
            assert_allclose(left_out[:, k], centered(exact - constants), atol=0.06)


def test_standard_deviations_of_classes_are_those_of_differences():
    # By numbers alone: the curvature along weights that add up to zero.
    X, label, found, model, Z = fit_both()
    mode = np.column_stack([model.coef_, model.intercept_])
    basis = np.kron(null_space(np.ones((1, 4))), np.eye(6))

    def height(step):
        own = mode + (basis @ step).reshape(4, 6)
        scores = Z @ own[:, :5].T + own[:, 5]
        fit = log_softmax(scores, axis=1)[np.arange(len(X)), label].sum()
        return fit - 0.5 * 5 * np.square(own[:, :5]).sum()

    size, units = 1e-3, np.eye(18)
    curvature = [
        [
            sum(
                s * t * height(size * (s * u + t * v)) for s in (-1, 1) for t in (-1, 1)
            )
            for u in units
        ]
        for v in units
    ]
    covariance = basis @ np.linalg.inv(-np.array(curvature) / (4 * size**2)) @ basis.T
    stds = np.sqrt(np.diag(covariance)).reshape(4, 6)[:, :5] / X.std(axis=0)
    assert_allclose([output.stds for output in found], stds, rtol=1e-3)


def test_one_spread_is_penalized_logistic_regression():
    X, y = labeled()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    found = fit_two(X, y, weight, weight, mass=AT_ONE)
    means = np.average(X, axis=0, weights=weight)
    scales = np.sqrt(np.average((X - means) ** 2, axis=0, weights=weight))
    model = LogisticRegression(C=1.0 / X.shape[1], tol=1e-10, max_iter=1000)
    model.fit((X - means) / scales, y, sample_weight=weight)
    assert_allclose(found.weights, model.coef_[0] / scales, rtol=1e-4)
    assert found.constant == pytest.approx(-found.weights @ means)


def test_evidence_of_the_spreads():
    X, y = (part[:40] for part in labeled())
    X = X[:, :1]
    one = np.ones(len(y))
    found = fit_two(X, y, one, one)
    z = (X[:, 0] - X[:, 0].mean()) / X[:, 0].std()
    sign = np.where(y, 1.0, -1.0)
    constants = np.linspace(-4.0, 4.0, 161)

    def density(slope, spread):
        scores = sign * (slope * z + constants[:, None])
        chance = np.exp(-np.logaddexp(0.0, -scores).sum(axis=1))
        return chance.sum() * norm.pdf(slope, 0.0, spread)

    evidence = [
        quad(density, -8.0 * s, 8.0 * s, args=(s,), points=[1.0], limit=200)[0]
        for s in SPREADS
    ]
    assert_allclose(found.mass, evidence / np.sum(evidence), atol=0.02)
    assert found.is_likely.tolist() == [True]


def test_left_out_observations_and_groups():
    X, y = labeled()
    one = np.ones(len(y))
    groups = np.arange(len(y)) // 3
    alone = fit_two(X, y, one, one, mass=AT_ONE)
    together = fit_two(X, y, one, one, groups, mass=AT_ONE)
    single = fit_two(X, y, one, one, np.arange(len(y)), mass=AT_ONE)
    assert_allclose(single.left_out, alone.left_out)
    scales = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / scales
    model = LogisticRegression(C=1.0 / X.shape[1], tol=1e-10, max_iter=1000)
    whole = model.fit(Z, y).intercept_[0]
    for found, members in ((alone, np.arange(len(y))), (together, groups)):
        for k in range(0, len(y), 7):
            kept = members != members[k]
            model.fit(Z[kept], y[kept])
            exact = model.decision_function(Z[[k]])[0] - whole
            assert found.left_out[k] == pytest.approx(exact, abs=0.05)


def test_repeats_of_rows_are_weights():
    X, y = labeled(30)
    twice = fit_two(X, y, np.full(30, 2.0), np.ones(30))
    repeated = fit_two(*(np.repeat(a, 2, axis=0) for a in (X, y)), *np.ones((2, 60)))
    assert_allclose(twice.weights, repeated.weights, rtol=1e-6)
    assert_allclose(twice.left_out, repeated.left_out[::2], rtol=1e-6)


def test_likely_weights_pass_a_test_of_all():
    weights = np.zeros(20)
    weights[:3] = 2.5, 3.5, -3.5
    found = RidgeLogistic(weights, np.ones(20), 0.0, np.zeros(5), AT_ONE)
    assert np.flatnonzero(found.is_likely).tolist() == [1, 2]


def test_constant_columns_have_no_weight():
    X, y = labeled()
    one = np.ones(len(y))
    wider = np.column_stack([X[:, :2], np.full(len(y), 3.0), X[:, 2:]])
    found = fit_two(wider, y, one, one)
    alone = fit_two(X, y, one, one)
    assert found.weights[2] == 0.0
    assert_allclose(np.delete(found.weights, 2), alone.weights)


# --------------------------------------------------------------------- spikes and slabs


@pytest.mark.parametrize(("sign", "mean", "variance"), [(1, -0.7, 2.0), (-1, 3.0, 0.4)])
def test_moments_given_a_class(sign, mean, variance):
    def moment(power):
        return quad(
            lambda z: z**power * ndtr(sign * z) * norm.pdf(z, mean, variance**0.5),
            mean - 12 * variance**0.5,
            mean + 12 * variance**0.5,
        )[0]

    chance, first, second = map(moment, range(3))
    found = tilt(np.array([[sign]]), np.array([[mean]]), np.array([variance]))
    expected = np.log(chance), first / chance, second / chance - (first / chance) ** 2
    assert_allclose(np.ravel(found), expected, rtol=1e-6)


def draw_posterior(columns, success, inclusion, variance, n_sweeps=1500):
    """Means and inclusions by an exact Gibbs sampler (Albert and Chib, JASA 1993)."""
    rng = np.random.default_rng(0)
    n_weights, n_rows = columns.shape
    weights, constant = np.zeros(n_weights), 0.0
    precision = np.einsum("jr,jr->j", columns, columns) + 1.0 / variance
    sums, included = np.zeros((2, n_weights))
    for sweep in range(-n_sweeps // 10, n_sweeps):
        mean = weights @ columns + constant
        below, chance = ndtr(-mean), rng.random(n_rows)
        chance = np.where(success, below + chance * (1.0 - below), chance * below)
        left = mean + ndtri(np.clip(chance, 1e-15, 1.0 - 1e-15))
        constant = rng.normal((left - weights @ columns).mean(), n_rows**-0.5)
        left -= constant + weights @ columns
        for j, column in enumerate(columns):
            left += weights[j] * column
            center = column @ left / precision[j]
            odds = np.log(inclusion / (1.0 - inclusion))
            odds += 0.5 * (center**2 * precision[j] - np.log(variance * precision[j]))
            is_in = rng.random() < expit(odds)
            weights[j] = rng.normal(center, precision[j] ** -0.5) if is_in else 0.0
            left -= weights[j] * column
            included[j] += is_in * (sweep >= 0)
        sums += weights * (sweep >= 0)
    return sums / n_sweeps, included / n_sweeps


def test_posterior_against_exact_draws():
    rng = np.random.default_rng(0)
    X, one = rng.choice([-1.0, 1.0], (100, 12)), np.ones(100)
    score = X[:, :4] @ [1.0, -1.0, 0.7, -0.4] + 0.3
    success = score + rng.standard_normal(100) > 0.0
    sample = ProbitSample.of(X, one, one, None, 1)
    found = sample.learn(success, (SpikeSlab(*np.array([[0.2], [0.7], [0.0]])),))
    means, included = draw_posterior(sample.columns, success, 0.2, 0.7)
    assert_allclose(found.weights * X.std(axis=0), means, atol=0.06)
    assert_allclose(found.inclusion, included, atol=0.08)


def glass(n_rows, seed=0, strength=4.0, shape=(4, 4)):
    """Rows of a spin glass, whose pairs are neighbors, and labels by its odds."""
    data = make_ising(shape, n_samples=n_rows, couplings="gaussian", random_state=seed)
    score = strength * data.y / np.std(data.y)
    return data.X, np.random.default_rng(seed).random(n_rows) < expit(score), data


def test_pairs_are_found_and_what_is_left_out_is_predicted():
    X, y, data = glass(400)
    one = np.ones(len(y))
    found = ProbitSample.of(X, one, one, None, 2).learn(y)
    listed = {found.terms[j] for j in np.flatnonzero(found.is_likely)}
    assert len(listed) >= 10
    assert len(listed & set(data.terms)) / len(listed) > 0.7
    # Without a row: by a fit to the others with the same priors.
    for k in range(0, 400, 100):
        kept = np.arange(400) != k
        other = ProbitSample.of(X[kept], one[kept], one[kept], None, 2)
        without = other.learn(y[kept], found.priors)
        values = np.array([X[k][list(term)].prod() for term in without.terms])
        exact = values @ without.weights + without.constant
        assert found.left_out[k] == pytest.approx(exact, abs=0.2)


def test_the_constant_is_left_out_too():
    X, y = labeled(20)
    success, one = y | (np.arange(20) < 10), np.ones(20)
    nothing = SpikeSlab(*np.array([[0.5], [1e-6], [0.0]]))
    found = ProbitSample.of(X, one, one, None, 1).learn(success, (nothing,))
    assert np.all(found.left_out[success] < -0.01)
    assert np.all(found.left_out[~success] > 0.05)


def test_groups_of_one_and_repeats_of_rows():
    X, y, _ = glass(120)
    one = np.ones(120)
    alone = ProbitSample.of(X, one, one, None, 2).learn(y)
    single = ProbitSample.of(X, one, one, np.arange(120), 2).learn(y)
    assert_allclose(single.left_out, alone.left_out, atol=1e-8)
    twice = ProbitSample.of(X, 2.0 * one, one, None, 2).learn(y)
    both = np.ones(240)
    repeated = ProbitSample.of(np.repeat(X, 2, axis=0), both, both, None, 2)
    repeated = repeated.learn(np.repeat(y, 2))
    assert_allclose(twice.weights, repeated.weights, atol=2e-3)
    assert_allclose(twice.left_out, repeated.left_out[::2], atol=2e-2)


# ---------------------------------------------------------------------------- the
# ensemble


def cross_entropy(chance, score):
    """Expected log loss where the odds are known."""
    truth, chance = expit(score), np.clip(chance, 1e-12, 1.0 - 1e-12)
    return -np.mean(truth * np.log(chance) + (1.0 - truth) * np.log1p(-chance))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_pairs_from_few_rows_are_predicted_better_than_by_the_lasso(seed):
    X, y, data = glass(2300, seed, shape=(6, 6))
    score = 4.0 * data.y / np.std(data.y)
    pairs = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    # Newer releases of scikit-learn have another name for it.
    has_ratio = LogisticRegression().penalty == "deprecated"
    model = LogisticRegression(
        solver="liblinear", **({"l1_ratio": 1.0} if has_ratio else {"penalty": "l1"})
    )
    lasso = GridSearchCV(model, {"C": np.logspace(-2, 2, 9)}, scoring="neg_log_loss")
    lasso.fit(pairs.fit_transform(X[:600]), y[:600])
    theirs = lasso.predict_proba(pairs.transform(X[600:]))[:, 1]
    ours = MOHNClassifier(random_state=0).fit(X[:600], y[:600]).predict_proba(X[600:])
    losses = [cross_entropy(p, score[600:]) for p in (ours[:, 1], theirs)]
    assert losses[0] < losses[1]


def test_terms_and_explanations_of_spikes_and_slabs():
    X, y, data = glass(300, strength=8.0)
    model = MOHNClassifier(random_state=0).fit(X, y)
    assert model.ensemble_weights_["spike and slab"] > 0.5
    assert model.model_.shown.name == "spike and slab"
    assert len(set(model.terms_) & set(data.terms)) / len(model.terms_) > 0.8
    table = model.explain(X[:1])
    odds = model.decision_function(X[:1])[0]
    odds = odds if model.predict(X[:1])[0] else -odds
    assert table["contribution"].sum() == pytest.approx(odds)
    assert table["term"].str.startswith("(other weights of ").any()
    assert_allclose(model.feature_importances_ > 0.0, True)


def test_three_classes_with_categories():
    rng = np.random.default_rng(0)
    site = rng.choice(list("abc"), 120)
    dose = rng.uniform(size=120)
    y = np.digitize(dose + (site == "b") + 0.3 * rng.standard_normal(120), [0.5, 1.0])
    X = np.column_stack([site.astype(object), dose])
    model = MOHNClassifier(random_state=0).fit(X, y)
    assert {"additive", "spike and slab"} <= set(model.ensemble_weights_)
    assert np.mean(model.predict(X) == y) > 0.6
    table = model.explain(X[:1])
    own = model.decision_function(X[:1])[0]
    assert table["contribution"].sum() == pytest.approx(own.max())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_members_are_calibrated_to_the_frequencies(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 3)), rng.integers(0, 10, 120)
    y = np.digitize(y, [1, 3][: n_classes - 1])
    model = MOHNClassifier(random_state=0).fit(X, y)
    for member in model.model_.members:
        if member.name in ("additive", "spike and slab"):
            chances = np.exp(member.log_proba(model._to_rows(X))).mean(axis=0)
            assert_allclose(chances, np.bincount(y) / 120, atol=0.02)


def test_the_additive_member_counts_before_any_row_is_seen():
    X = np.random.default_rng(0).standard_normal((4, 3))
    model = MOHNClassifier(random_state=0).fit(X, [0, 1, 0, 1])
    others = [
        share for name, share in model.ensemble_weights_.items() if name != "additive"
    ]
    assert model.ensemble_weights_["additive"] > 2.0 * max(others)


def test_products_of_many_rows_take_no_more_memory_than_their_table():
    rng, terms = np.random.default_rng(0), list(combinations(range(40), 2))
    whole = LogisticModel(terms, rng.normal(size=(1, 780)), np.ones(1), C=1.0)
    many = rng.choice([-1.0, 1.0], (20_000, 40))
    with traced_memory() as peak:
        log_odds = whole.log_odds(many)
        most = peak()
    assert most < 2 * many.nbytes
    pairs = np.transpose([many[-5:, i] * many[-5:, j] for i, j in terms])
    assert_allclose(log_odds[-5:, 1], pairs @ whole.weights[0] + 1.0)
