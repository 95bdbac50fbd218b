"""Posteriors of all weights for classes, with spikes and slabs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import expit, ndtr, ndtri
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import PolynomialFeatures

from skmohn import MOHNClassifier
from skmohn.datasets import make_ising
from skmohn.mohn._spike_slab.prior import SpikeSlab
from skmohn.mohn._spike_slab.probit import ProbitSample, tilt
from skmohn.mohn._table.left_out import leave_groups_out, leave_observations_out


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
    assert "spike and slab" in model.ensemble_weights_
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
        if member.name == "spike and slab":
            chances = np.exp(member.log_proba(model._to_rows(X))).mean(axis=0)
            assert_allclose(chances, np.bincount(y) / 120, atol=0.02)
