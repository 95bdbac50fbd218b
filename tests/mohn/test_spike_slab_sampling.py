"""Sampling of weights whose columns are collinear, and which weights are listed."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from skmohn import MOHNRegressor
from skmohn.mohn._models import LISTING
from skmohn.mohn._spike_slab import fit, sampling
from skmohn.mohn._spike_slab.fit import STARTS, fit_spike_slab
from skmohn.mohn._spike_slab.model import find_discoveries
from skmohn.mohn._spike_slab.sampling import (
    Chain,
    choose_sampled,
    count_rounds,
    find_collinear,
    sample_weights,
    side_priors,
)
from skmohn.mohn._spike_slab.sampling_kernels import walk

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
    logs, means, squares = [], [], []
    for kind in kinds:
        used = columns[kind != 0]
        left = target - center * kind[kind != 0] @ used
        K = noise * np.eye(12) + variance * used.T @ used
        solved = np.linalg.solve(K, left)
        log = -0.5 * (left @ solved + np.linalg.slogdet(K)[1])
        n_in = len(used)
        log += n_in * np.log(0.5 * inclusion) + (5 - n_in) * np.log1p(-inclusion)
        logs.append(log)
        mean, square = np.zeros((2, 5))
        mean[kind != 0] = center * kind[kind != 0] + variance * used @ solved
        covariance = variance * np.eye(n_in)
        covariance -= variance**2 * used @ np.linalg.solve(K, used.T)
        square[kind != 0] = np.diag(covariance)
        means.append(mean)
        squares.append(square + mean**2)
    probability = softmax(logs)
    of_each = np.tile(
        [[np.log(inclusion / (1 - inclusion))], [variance], [center]], (1, 5)
    )
    chain = Chain(columns, target, np.zeros(5))
    n_kept = np.zeros(5)
    for _ in range(400):
        chain.walk(noise, of_each, rng)
        n_kept += chain.sides != 0.0
    found, mean, square = chain.sums[:3] / chain.sums[3]
    assert_allclose(found, probability @ (kinds != 0), atol=0.01)
    assert_allclose(mean, probability @ np.array(means), atol=0.01)
    assert_allclose(square, probability @ np.array(squares), atol=0.01)
    # Rounds end at states as likely as they are, not as often as they are left.
    assert_allclose(n_kept / 400, probability @ (kinds != 0), atol=0.08)


@pytest.mark.parametrize(("noise", "atol"), [(0.4, 1e-9), (1e-6, 1e-5)])
def test_steps_keep_the_posterior_of_the_weights_that_are_not_zero(noise, atol):
    rng = np.random.default_rng(2)
    columns, n_steps = rng.standard_normal((8, 15)), 60
    columns[7], columns[6] = columns[:3].sum(axis=0), columns[5]
    moment, gram = columns @ columns[0] + 0.1 * columns[5, 0], columns @ columns.T
    priors = side_priors(np.tile([[-0.5], [0.3], [0.0]], (1, 8)))
    precision, data = np.diag(gram) / noise + 1.0 / 0.3, moment / noise
    active, lower = np.zeros(8, np.int64), np.zeros((8, 8))
    variance, mean, sides, sums = (
        np.zeros(8),
        np.zeros(8),
        np.zeros(8),
        np.zeros((4, 8)),
    )
    n_seen = set()
    for _ in range(n_steps):
        state = precision, data, active, np.count_nonzero(sides), lower, variance, mean
        draws = rng.random((1, 2))
        walk(gram, noise, priors, *state, sides, draws, sums, sides.copy())
        used = active[: np.count_nonzero(sides)]
        n_seen.add(len(used))
        assert sorted(used) == list(np.flatnonzero(sides))
        K = gram[np.ix_(used, used)] / noise + np.eye(len(used)) / 0.3
        root = lower[: len(used), : len(used)]
        assert_allclose(root @ root.T, K, rtol=1e-9, atol=1e-9 * K.max())
        assert_allclose(root, np.tril(root), atol=1e-12 * root.max())
        assert_allclose(
            variance[: len(used)], np.diag(np.linalg.inv(K)), rtol=1e-3, atol=atol
        )
        by_hand = np.linalg.solve(K, moment[used] / noise)
        assert_allclose(mean[: len(used)], by_hand, atol=atol)
        out = np.flatnonzero(sides == 0.0)
        toward = gram[np.ix_(out, used)] / noise
        others = gram[out, out] / noise + 1.0 / 0.3
        others -= np.einsum("ja,ja->j", np.linalg.solve(K, toward.T).T, toward)
        assert_allclose(precision[out], others, rtol=1e-7, atol=atol)
    assert len(n_seen) > 2


def test_the_likeliest_and_their_collinear_columns_are_sampled(replace_constants):
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((6, 50))
    columns[5] = columns[0] + 0.1 * columns[5]
    inclusion = np.array([0.9, 0.1, 0.2, 0.3, 0.05, 0.0])
    is_collinear = find_collinear(SimpleNamespace(columns=columns), inclusion)
    assert_array_equal(np.flatnonzero(is_collinear), [5])
    replace_constants(sampling, max_sampled=3)
    assert_array_equal(choose_sampled(inclusion, is_collinear), [0, 3, 5])


def test_rounds_are_as_many_as_the_work_allows():
    inclusion = np.array([1.0, 1.0, 0.0, 0.0])
    most = count_rounds(inclusion, np.inf)
    some = [count_rounds(inclusion, work) for work in (1e5, 1e6, 2e6, 1e9)]
    assert some[0] == 0 < some[1] < some[2] < some[3] == most


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
    assert not is_sampled(*near_copies(), max_work=1.0)


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
