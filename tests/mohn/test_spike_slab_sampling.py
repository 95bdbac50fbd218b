"""Sampling of weights whose columns are collinear, and which weights are listed."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from skmohn import MOHNRegressor
from skmohn.mohn._models import LISTING
from skmohn.mohn._spike_slab import fit
from skmohn.mohn._spike_slab.fit import STARTS, fit_spike_slab
from skmohn.mohn._spike_slab.model import find_discoveries
from skmohn.mohn._spike_slab.sampling import sample_weights
from skmohn.mohn._spike_slab.sampling_kernels import exchange, sweep

CENTERED = [start for start in STARTS if start.is_centered]


def near_copies(n_rows=100, noise=1.0):
    """A column that matters, one that differs from it in one row, and three more."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (n_rows, 5))
    X[:, 1] = X[:, 0]
    X[0, 1] = 0.0
    return X, X[:, 0] + noise * rng.standard_normal(n_rows)


def test_few_of_the_listed_are_expected_to_be_zero():
    inclusion = np.array([0.4, 0.99, 0.94, 0.96, 1.0])
    # Of 0, 0.01, 0.04 and 0.06, over one to four: 0.0000, 0.0050, 0.0167 and 0.0275.
    assert_array_equal(find_discoveries(inclusion), [False, True, False, True, True])
    assert not find_discoveries(np.array([0.97, 0.6])).any()
    assert find_discoveries(np.array([1.0 - 0.99 * LISTING.max_mean_exclusion])).all()
    assert find_discoveries(np.empty(0)).shape == (0,)


def test_certain_weights_make_no_room_for_those_likelier_zero():
    inclusion = np.append(np.ones(200), [0.6, 0.4])
    assert_array_equal(find_discoveries(inclusion)[-2:], [True, False])


@pytest.mark.parametrize("center", [0.0, 0.6])
def test_sampled_weights_are_those_of_all_kinds(center):
    """Two pairs of collinear columns, and the posterior by enumeration."""
    rng = np.random.default_rng(1)
    columns = rng.standard_normal((5, 12))
    columns[1] = columns[0] + 0.2 * columns[1]
    columns[3] = 0.3 * columns[3] - columns[2]
    target = 0.5 * columns[0] - 0.4 * columns[3] + 0.7 * rng.standard_normal(12)
    noise, inclusion, variance = 0.5, 0.3, 0.2
    kinds = np.array(list(itertools.product((0, 1, -1), repeat=5)))
    logs, means = [], []
    for kind in kinds:
        used = columns[kind != 0]
        left = target - center * kind[kind != 0] @ used
        K = noise * np.eye(12) + variance * used.T @ used
        solved = np.linalg.solve(K, left)
        log = -0.5 * (left @ solved + np.linalg.slogdet(K)[1])
        n_in = len(used)
        log += n_in * np.log(0.5 * inclusion) + (5 - n_in) * np.log1p(-inclusion)
        logs.append(log)
        mean = np.zeros(5)
        mean[kind != 0] = center * kind[kind != 0] + variance * used @ solved
        means.append(mean)
    probability = softmax(logs)
    priors = np.tile([[np.log(inclusion / (1 - inclusion))], [variance], [center]], 5)
    squares = np.einsum("jr,jr->j", columns, columns)
    pairs = np.array([[0, 1], [2, 3]])
    products = np.einsum("er,er->e", columns[pairs[:, 0]], columns[pairs[:, 1]])
    residual, weights, sides = target.copy(), np.zeros(5), np.zeros(5)
    sums, n_sweeps = np.zeros((3, 5)), 4000
    state = residual, weights, sides
    for _ in range(n_sweeps):
        uniform, normal = rng.random((2, 7)), rng.standard_normal(7)
        draws = uniform[:, :5], normal[:5]
        sweep(columns, squares, noise, priors, *draws, *state, sums)
        draws = uniform[:, 5:], normal[5:]
        exchange(columns, squares, pairs, products, noise, priors, *draws, *state)
    found, mean, square = sums / n_sweeps
    assert_allclose(found, probability @ (kinds != 0), atol=0.03)
    assert_allclose(mean, probability @ np.array(means), atol=0.03)
    assert np.all(square >= mean**2)
    assert_allclose(residual, target - weights @ columns, atol=1e-9)


def test_exchanges_alone_draw_which_of_two_columns_it_is():
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((2, 12))
    columns[1] = columns[0] + 0.3 * columns[1]
    target, noise, variance = columns.sum(axis=0), 2.0, np.array([0.2, 0.5])
    logs = []
    for column, power in zip(columns, variance, strict=True):
        K = noise * np.eye(12) + power * np.outer(column, column)
        log_det = np.linalg.slogdet(K)[1]
        logs.append(-0.5 * (target @ np.linalg.solve(K, target) + log_det))
    # Odds of one to two before.
    probability = softmax(np.add(logs, np.log([1.0, 2.0])))
    priors = np.array([np.log([0.1, 0.2]), variance, np.zeros(2)])
    squares, pairs = np.einsum("jr,jr->j", columns, columns), np.array([[0, 1]])
    weights, sides, n_in = np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.zeros(2)
    residual = target - weights @ columns
    for _ in range(4000):
        exchange(
            columns,
            squares,
            pairs,
            columns[[0]] @ columns[1],
            noise,
            priors,
            rng.random((2, 1)),
            rng.standard_normal(1),
            residual,
            weights,
            sides,
        )
        n_in += sides != 0.0
    assert 0.1 < probability[0] < 0.9
    assert_allclose(n_in / 4000, probability, atol=0.03)
    assert_allclose(residual, target - weights @ columns, atol=1e-9)


def test_collinear_columns_share_their_inclusion():
    X, y = near_copies()
    model = fit_spike_slab(X, y, None, 1, CENTERED)
    inclusion = model.beliefs[0]
    assert inclusion[0] + inclusion[1] == pytest.approx(1.0, abs=0.15)
    assert 0.15 < inclusion[0] < 0.85
    assert not model.significant_terms()[0].terms
    # The mean is that of the samples, and predicts as either would.
    assert model.posterior.mean[:2].sum() == pytest.approx(1.0 / model.y_std, rel=0.1)
    assert model.posterior.mean[0] == pytest.approx(
        inclusion[0] / inclusion[1] * model.posterior.mean[1], rel=0.3
    )


def test_even_columns_are_not_sampled_nor_are_many(monkeypatch):
    def is_sampled(X, y, **limit):
        sampled = []

        def sample_anyway(*data):
            sampled.append(data)
            return sample_weights(*data)

        monkeypatch.setattr(fit, "sample_weights", sample_anyway)
        fit_spike_slab(X, y, None, 1, CENTERED, **limit)
        return bool(sampled)

    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (100, 5))
    assert not is_sampled(X, X[:, 0] + 0.5 * rng.standard_normal(100))
    assert is_sampled(*near_copies())
    assert not is_sampled(*near_copies(), most_work=1.0)


def test_samples_are_those_of_the_seed_and_hold_until_further_rows():
    X, y = near_copies(200)
    model, same, other = (
        MOHNRegressor("spike_slab", max_order=1, random_state=seed).fit(
            X[:150], y[:150]
        )
        for seed in (0, 0, 1)
    )
    assert_array_equal(model.predict(X), same.predict(X))
    assert_allclose(model.predict(X), other.predict(X), atol=0.1)
    assert not np.array_equal(model.predict(X), other.predict(X))
    model.partial_fit(X[150:], y[150:])
    assert model.model_.marginals is None
    assert np.all(np.isfinite(model.relevance_))


def test_whole_weights_are_repeated_rows_where_weights_are_sampled():
    X, y = near_copies()
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    weighted = fit_spike_slab(X, y, weight.astype(float), 1, CENTERED)
    X, y = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    repeated = fit_spike_slab(X, y, None, 1, CENTERED)
    assert_allclose(weighted.beliefs, repeated.beliefs, atol=0.02)


def test_the_expected_false_terms_are_told():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (100, 5))
    y = X[:, 0] + 0.5 * rng.standard_normal(100)
    model = MOHNRegressor("spike_slab").fit(X, y)
    assert "1 of them are listed, at most 2.5% expected to be false" in (
        model.stopping_reason_
    )
