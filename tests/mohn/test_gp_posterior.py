"""Posteriors against scikit-learn and against regression on all 2^n weights."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    WhiteKernel,
)

from skmohn._core._walsh import walsh_transform
from skmohn.mohn._gp.covariance_function import Prior
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.hypercube import WalshPosterior, vertices
from skmohn.mohn._gp.marginal_likelihood import Evidence, join_equal_rows
from skmohn.mohn._gp.nystroem import NystroemPosterior
from skmohn.mohn._gp.weight_prior import Covariance, parity
from skmohn.mohn._table.rows import EncodedRows

EXACT = {
    "cholesky": ExactPosterior.condition,
    "hadamard": WalshPosterior.condition,
    # Inducing rows at all data rows leave nothing unexplained.
    "nystroem": lambda covariance, sample: NystroemPosterior.condition(
        covariance, sample, len(sample)
    ),
}
any_route = pytest.mark.parametrize("route", EXACT)


def plain(inputs):
    return EncodedRows(np.asarray(inputs, float), np.empty((len(inputs), 0), dtype=int))


def cube(n):
    return np.array(list(itertools.product([1.0, -1.0], repeat=n)))[:, ::-1]


def make_problem(n=6, n_rows=25, seed=0):
    """A prior, a sample with different noise in each row, and rows to predict."""
    rng = np.random.default_rng(seed)
    prior = Prior(rng.uniform(0.1, 0.8, n), np.empty(0), 1.3, 0.5, 0.1)
    covariance = Covariance(prior, terms=((0, 1, 2),), variances=(0.6,))
    rows = plain(rng.choice([-1.0, 1.0], (n_rows, n)))
    weight = rng.integers(1, 4, n_rows).astype(float)
    sample = join_equal_rows(rows, rng.standard_normal(n_rows), weight)
    return covariance, sample, plain(rng.choice([-1.0, 1.0], (9, n)))


def explicit(covariance, sample, n):
    """Bayesian linear regression on all weights: sets, mean, covariance."""
    sets = [t for k in range(n + 1) for t in itertools.combinations(range(n), k)]
    U = np.stack([parity(sample.rows.inputs, term) for term in sets], 1)
    precision = 1.0 / sample.noise(covariance.prior)
    inverse = np.diag([1.0 / covariance.of_weight(term) for term in sets])
    spread = np.linalg.inv(inverse + U.T * precision @ U)
    return sets, spread @ (U.T @ (precision * sample.target)), spread


# --------------------------------------------------------------------- scikit-learn


def test_equals_gaussian_process_with_rbf_kernel():
    rng = np.random.default_rng(0)
    X, T = (rng.choice([-1.0, 1.0], (size, 8)) for size in (60, 20))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.standard_normal(60)
    rates = rng.uniform(0.05, 0.6, 8)
    kernel = (
        ConstantKernel(1.7) * RBF(rates**-0.5) + ConstantKernel(1.0) + WhiteKernel(0.09)
    )
    peer = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0).fit(X, y)
    prior = Prior(rates, np.empty(0), 1.7, 0.0, 0.09)
    sample = join_equal_rows(plain(X), y)
    ours = ExactPosterior.condition(Covariance(prior), sample)
    mean, std = peer.predict(T, return_std=True)
    assert_allclose(ours.latent_mean(plain(T)), mean, atol=1e-8)
    assert_allclose(np.sqrt(ours.latent_variance(plain(T)) + 0.09), std, atol=1e-8)
    value, slope = peer.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    assert ours.log_evidence() == pytest.approx(value, abs=1e-8)
    # At `linear` 0 nothing else differs; length scales are rates to the power -1/2.
    found = Evidence(sample).value_and_slope(prior)
    assert found[0] == pytest.approx(value, abs=1e-8)
    assert_allclose(found[1][:8], -0.5 * slope[1:9], atol=1e-8)
    assert_allclose(found[1][[8, 10]], slope[[0, 10]], atol=1e-8)


def test_equals_gaussian_process_with_a_linear_part():
    rng = np.random.default_rng(1)
    X, T = (rng.choice([-1.0, 1.0], (size, 5)) for size in (30, 20))
    y = rng.standard_normal(30)
    kernel = (
        ConstantKernel(0.8) * RBF(0.4**-0.5)
        + ConstantKernel(0.5 * np.tanh(0.4)) * DotProduct(0.0, "fixed")
        + ConstantKernel(1.0)
        + WhiteKernel(0.2)
    )
    peer = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0).fit(X, y)
    prior = Prior(np.full(5, 0.4), np.empty(0), 0.8, 0.5, 0.2)
    ours = ExactPosterior.condition(Covariance(prior), join_equal_rows(plain(X), y))
    mean, std = peer.predict(T, return_std=True)
    assert_allclose(ours.latent_mean(plain(T)), mean, atol=1e-8)
    assert_allclose(np.sqrt(ours.latent_variance(plain(T)) + 0.2), std, atol=1e-8)
    assert ours.log_evidence() == pytest.approx(peer.log_marginal_likelihood())


# ------------------------------------------------------------------ all 2^n weights


@any_route
@pytest.mark.parametrize("n", [2, 6, 9])
def test_posterior_is_regression_on_all_weights(route, n):
    covariance, sample, rows = make_problem(max(n, 3))
    n = max(n, 3)
    sets, mean, spread = explicit(covariance, sample, n)
    posterior = EXACT[route](covariance, sample)
    U = np.stack([parity(rows.inputs, term) for term in sets], 1)
    assert_allclose(posterior.latent_mean(rows), U @ mean, atol=1e-7)
    assert_allclose(
        posterior.latent_variance(rows),
        np.einsum("ij,jk,ik->i", U, spread, U),
        rtol=1e-4 if route == "hadamard" else 1e-6,
    )
    if route == "cholesky":
        assert_allclose(
            posterior.fitted(), posterior.latent_mean(sample.rows), atol=1e-9
        )
    for j in (0, 1, n, n + 1, len(sets) - 1):
        (found,), (variance,) = posterior.weights_of([sets[j]])
        assert found == pytest.approx(mean[j], abs=1e-7)
        assert variance == pytest.approx(spread[j, j], rel=1e-6)
    means, variances = posterior.weights_of(sets[:20])
    assert_allclose(means, mean[:20], atol=1e-7)
    assert_allclose(variances, np.diagonal(spread)[:20], rtol=1e-6)
    if route == "cholesky":
        assert_array_equal(posterior.means_of(sets[:20]), means)
    support, alpha = posterior.dual_coefficients()
    assert_allclose(
        covariance.with_weight(support, (0, 1)) @ alpha,
        means[sets.index((0, 1))],
        atol=1e-7,
    )


@any_route
def test_unknown_inputs_are_averages_over_the_cube(route):
    n = 6
    covariance, sample, _ = make_problem(n)
    posterior = EXACT[route](covariance, sample)
    full = plain(cube(n))
    values = posterior.latent_mean(full)
    schemas = np.array(
        [
            [0, 1, 0, 0, -1, 1],
            [0, 0, 0, 0, 0, 0],
            [1, 0, 1, 1, 1, 1],
            [-1, 1, -1, 1, 1, 1],
            [0, 0, 0, 0, 0, -1],
        ]
    )
    expected = [
        values[np.all((row == 0) | (full.inputs == row), axis=1)].mean()
        for row in schemas
    ]
    assert_allclose(posterior.latent_mean(plain(schemas)), expected, atol=1e-8)
    # The variance of an average takes the covariance of what is averaged.
    exact = EXACT["cholesky"](covariance, sample)
    assert_allclose(
        posterior.latent_variance(plain(schemas)),
        exact.latent_variance(plain(schemas)),
        rtol=1e-4 if route == "hadamard" else 1e-6,
    )


@any_route
def test_evidence_is_the_density_of_the_targets(route):
    covariance, sample, _ = make_problem()
    K = covariance.between(sample.rows, sample.rows)
    K += np.diag(sample.noise(covariance.prior))
    expected = multivariate_normal(cov=K).logpdf(sample.target)
    expected += sample.log_density_of_rest(covariance.prior)
    found = EXACT[route](covariance, sample).log_evidence()
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow_cases("hadamard")
@any_route
def test_draws_have_the_posterior_moments(route):
    covariance, sample, rows = make_problem()
    posterior = EXACT[route](covariance, sample)
    sets, mean, spread = explicit(covariance, sample, 6)
    U = np.stack([parity(rows.inputs, term) for term in sets], 1)
    draws = posterior.sample_latent(rows, 4000, np.random.default_rng(0))
    assert draws.shape == (len(rows), 4000)
    expected = U @ spread @ U.T
    error = np.sqrt(np.diagonal(expected).max() / 4000)
    assert_allclose(draws.mean(axis=1), U @ mean, atol=5 * error)
    assert_allclose(np.cov(draws), expected, atol=0.1 * expected.max())


# --------------------------------------------------------------------------- update


@any_route
def test_order_of_updates_is_irrelevant(route):
    covariance, sample, rows = make_problem(n_rows=40)
    parts = [sample.take(slice(start, start + 10)) for start in (0, 10, 20)]
    whole = EXACT["cholesky"](covariance, sample.take(slice(0, 30)))
    for order in itertools.permutations(range(3)):
        if route == "nystroem" and order[0] != 0:
            continue
        posterior = EXACT[route](covariance, parts[order[0]])
        if route == "nystroem":
            # Its inducing rows stay: start with all of them.
            posterior = NystroemPosterior.condition(covariance, sample, len(sample))
            whole = posterior.update(parts[1]).update(parts[2])
        posterior = posterior.update(parts[order[1]]).update(parts[order[2]])
        assert_allclose(posterior.latent_mean(rows), whole.latent_mean(rows), atol=1e-7)
        assert_allclose(
            posterior.latent_variance(rows), whole.latent_variance(rows), rtol=1e-4
        )
        found, _ = posterior.weights_of([(1, 2)])
        assert_allclose(found, whole.weights_of([(1, 2)])[0], atol=1e-8)
        assert posterior.log_evidence() == pytest.approx(whole.log_evidence(), abs=1e-4)


@pytest.mark.parametrize("route", ["cholesky", "hadamard"])
def test_rows_that_are_there_already_may_be_added(route):
    covariance, sample, rows = make_problem()
    again = join_equal_rows(sample.rows, sample.target + 0.5)
    both = sample.join(again).join_equal()
    whole = EXACT["cholesky"](covariance, both)
    updated = EXACT[route](covariance, sample).update(again)
    assert_allclose(updated.latent_mean(rows), whole.latent_mean(rows), atol=1e-7)
    assert updated.log_evidence() == pytest.approx(whole.log_evidence(), abs=1e-4)


# --------------------------------------------------------------------------- routes


def test_vertices_are_numbered_as_the_transform_expects():
    assert_allclose(vertices(cube(4)), np.arange(16))


@pytest.mark.slow
def test_walsh_route_equals_cholesky_where_weights_are_left_out():
    """More weights than are treated exactly: conjugate gradients have work to do."""
    rng = np.random.default_rng(0)
    n = 13
    prior = Prior(rng.uniform(0.05, 0.5, n), np.empty(0), 1.0, 0.3, 0.05)
    at = rng.permutation(1 << n)[:600]
    rows = plain(1.0 - 2.0 * ((at[:, None] >> np.arange(n)) & 1))
    w = np.sqrt(Covariance(prior).all_weights()) * rng.standard_normal(1 << n)
    y = walsh_transform(w)[at] + 0.2 * rng.standard_normal(600)
    sample = join_equal_rows(rows, y)
    exact = ExactPosterior.condition(Covariance(prior), sample)
    walsh = WalshPosterior.condition(Covariance(prior), sample)
    assert 3 < walsh.n_iter < 100
    fresh = plain(rng.choice([-1.0, 1.0], (50, n)))
    assert_allclose(walsh.latent_mean(fresh), exact.latent_mean(fresh), atol=1e-7)
    assert_allclose(
        walsh.latent_variance(fresh), exact.latent_variance(fresh), rtol=2e-3
    )
    assert walsh.log_evidence() == pytest.approx(exact.log_evidence(), abs=5)
    pairs = list(itertools.combinations(range(n), 2))
    ours, expected = walsh.weights_of(pairs), exact.weights_of(pairs)
    assert_allclose(ours[0], expected[0], atol=1e-7)
    assert_allclose(ours[1], expected[1], rtol=0.02)


def test_nystroem_bounds_the_evidence_and_nears_it():
    covariance, sample, _ = make_problem(n=9, n_rows=120)
    exact = ExactPosterior.condition(covariance, sample)
    last = -np.inf
    for n_inducing in (10, 40, 80, len(sample)):
        posterior = NystroemPosterior.condition(covariance, sample, n_inducing)
        assert last - 1 < posterior.log_evidence() <= exact.log_evidence() + 1e-5
        last = posterior.log_evidence()
    assert last == pytest.approx(exact.log_evidence(), abs=1e-5)


def test_all_rows_as_inducing_ones_are_exact():
    covariance, sample, _ = make_problem(n=9, n_rows=120)
    exact = ExactPosterior.condition(covariance, sample)
    through = NystroemPosterior.condition(covariance, sample, len(sample))
    fresh = plain(np.random.default_rng(3).uniform(-1.0, 1.0, (20, 9)))
    assert_allclose(through.latent_mean(fresh), exact.latent_mean(fresh), atol=1e-6)
    assert_allclose(
        through.latent_variance(fresh), exact.latent_variance(fresh), atol=1e-6
    )


def test_what_inducing_rows_know_is_stored_once():
    covariance, sample, _ = make_problem(n=9, n_rows=120)
    posterior = NystroemPosterior.condition(covariance, sample, 60)
    stored = pickle.dumps(posterior)
    # Half a matrix, and the rows.
    assert len(stored) < 8 * 60 * (61 / 2 + 9 + 1) + 3000
    fresh = plain(np.random.default_rng(3).uniform(-1.0, 1.0, (20, 9)))
    for again in (pickle.loads(stored), copy.deepcopy(posterior)):
        assert_array_equal(again.latent_mean(fresh), posterior.latent_mean(fresh))
        assert_array_equal(
            again.latent_variance(fresh), posterior.latent_variance(fresh)
        )
        more = sample.take(np.arange(9))
        one, other = again.update(more), posterior.update(more)
        assert_array_equal(one.latent_mean(fresh), other.latent_mean(fresh))


def test_left_out_rows_are_predicted_by_the_others():
    covariance, sample, _ = make_problem()
    residual, variance = ExactPosterior.condition(covariance, sample).leave_one_out()
    for d in range(len(sample)):
        others = np.delete(np.arange(len(sample)), d)
        posterior = ExactPosterior.condition(covariance, sample.take(others))
        row = sample.rows.take([d])
        assert residual[d] == pytest.approx(
            sample.target[d] - posterior.latent_mean(row)[0], abs=1e-9
        )
        own = sample.noise(covariance.prior)[d]
        assert variance[d] == pytest.approx(posterior.latent_variance(row)[0] + own)
