"""Learning rules against scikit-learn, numpy and plain loops."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Lasso
from support import multiply_columns

from skmohn.mohn._design.design import DenseDesign, PackedDesign
from skmohn.mohn._sparse.linear_solvers import (
    delta_rule,
    first_estimate,
    lasso,
    moments,
    ols,
)

SETS = [(0,), (2,), (0, 1), (1, 3), (0, 2, 4), (1, 2, 3, 4), (0, 1, 2, 3, 4)]


def signs(rng, n_samples, n_features=5):
    return rng.choice([-1.0, 1.0], (n_samples, n_features))


def problem(kind, n_samples=203, seed=0):
    """Return a design, its sets, their columns as numbers, a target and weights."""
    rng = np.random.default_rng(seed)
    sets, weights = list(SETS), None
    inputs = signs(rng, n_samples)
    if kind == "weighted":
        weights = rng.integers(0, 4, n_samples) * rng.uniform(0.5, 1.0, n_samples)
    elif kind == "fractional":
        inputs = rng.uniform(-1.0, 1.0, inputs.shape)
        weights = rng.uniform(size=n_samples)
    elif kind == "correlated":
        for i in range(1, 5):
            same = rng.uniform(size=n_samples) < 0.8
            inputs[same, i] = inputs[same, 0]
    elif kind == "duplicated":
        inputs[:, 3] = inputs[:, 2]
        sets += [(3,), (2, 3)]
    columns = multiply_columns(inputs, sets)
    y = columns @ np.linspace(-1.0, 2.0, len(sets)) + rng.standard_normal(n_samples) + 5
    packed = weights is None
    design = PackedDesign(inputs) if packed else DenseDesign(inputs, weights)
    return design, sets, columns, y, weights


KINDS = ["plain", "weighted", "fractional", "correlated", "duplicated"]


# ------------------------------------------------------------------------ moments


@pytest.mark.parametrize("kind", KINDS)
def test_moments_are_those_of_centered_columns(kind):
    design, sets, columns, y, weights = problem(kind)
    found = moments(design, design.columns(sets), y)
    weights = np.ones(len(y)) if weights is None else weights
    means = np.average(columns, axis=0, weights=weights)
    centered, target = columns - means, y - np.average(y, weights=weights)
    assert_allclose(found.means, means, atol=1e-14)
    assert_allclose(found.gram, (centered.T * weights) @ centered, atol=1e-10)
    assert_allclose(found.projection, centered.T @ (weights * target), atol=1e-10)
    assert_allclose(found.target_square, weights @ target**2)
    coef = np.linspace(0.1, 0.7, len(sets))
    error = y - found.intercept(coef) - columns @ coef
    assert weights @ error == pytest.approx(0.0, abs=1e-9)
    assert found.residual_square(coef) == pytest.approx(weights @ error**2)


@pytest.mark.parametrize("kind", KINDS)
def test_moments_grow_and_shrink(kind):
    design, sets, _, y, _ = problem(kind)
    columns = design.columns(sets)
    whole = moments(design, columns, y)
    grown = moments(design, columns[:3], y).extend(design, columns[:3], columns[3:], y)
    for part, expected in zip(grown, whole, strict=True):
        assert_allclose(part, expected, atol=1e-12)
    keep = np.array([0, 2, 5])
    for part, expected in zip(
        whole.select(keep), moments(design, columns[keep], y), strict=True
    ):
        assert_allclose(part, expected, atol=1e-12)


# -------------------------------------------------------------------------- lasso


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 0.7])
def test_lasso_is_scikit_learns(kind, alpha):
    design, sets, columns, y, weights = problem(kind)
    found = lasso(moments(design, design.columns(sets), y), alpha, tol=1e-13)
    peer = Lasso(alpha=alpha, tol=1e-12, max_iter=100_000)
    peer.fit(columns, y, sample_weight=weights)
    assert_allclose(
        columns @ found.coef + found.intercept, peer.predict(columns), atol=1e-8
    )
    assert np.abs(found.coef).sum() == pytest.approx(np.abs(peer.coef_).sum(), abs=1e-8)
    if kind != "duplicated":
        assert_allclose(found.coef, peer.coef_, atol=1e-8)
        assert found.intercept == pytest.approx(peer.intercept_, abs=1e-8)


def test_lasso_with_more_columns_than_samples_is_scikit_learns():
    rng = np.random.default_rng(3)
    inputs = signs(rng, 100, 20)
    sets = list(itertools.combinations(range(20), 2))
    columns = multiply_columns(inputs, sets)
    y = columns[:, :9].sum(axis=1) + 0.1 * rng.standard_normal(100)
    design = PackedDesign(inputs)
    found = lasso(moments(design, design.columns(sets), y), 0.05, tol=1e-13)
    peer = Lasso(alpha=0.05, tol=1e-12, max_iter=100_000).fit(columns, y)
    assert_allclose(found.coef, peer.coef_, atol=1e-8)
    assert_array_equal(found.coef != 0.0, peer.coef_ != 0.0)


def test_lasso_warm_start_gives_the_same_sooner():
    design, sets, _, y, _ = problem("correlated")
    found = moments(design, design.columns(sets), y)
    cold = lasso(found, 0.1, tol=1e-12)
    again = lasso(found, 0.1, coef=cold.coef, tol=1e-12)
    near = lasso(found, 0.1, coef=cold.coef + 1e-3, tol=1e-12)
    assert again.n_iter == 0
    assert near.n_iter < cold.n_iter
    assert_allclose(near.coef, cold.coef, atol=1e-10)


def test_lasso_reports_whether_it_is_at_the_minimum():
    design, sets, columns, y, _ = problem("correlated")
    found = moments(design, design.columns(sets), y)

    def objective(fit):
        error = y - columns @ fit.coef - fit.intercept
        return error @ error / (2 * len(y)) + 0.1 * np.abs(fit.coef).sum()

    best = lasso(found, 0.1, tol=1e-13)
    early = lasso(found, 0.1, max_iter=2)
    gain = objective(early) - objective(best)
    assert early.n_iter == 2
    assert gain > 1e-6
    assert early.violation > 1e-4
    assert best.violation <= 1e-13


def test_lasso_leaves_constant_columns_alone():
    rng = np.random.default_rng(0)
    inputs = signs(rng, 50)
    inputs[:, 1] = -1.0
    design = PackedDesign(inputs)
    y = inputs[:, 0] + 3.0
    found = lasso(moments(design, design.columns([(1,), (0,)]), y), 1e-9, tol=1e-14)
    assert_allclose(found.coef, [0.0, 1.0], atol=1e-8)


# -------------------------------------------------------------------- least squares


def weighted_lstsq(columns, y, weights):
    root = np.sqrt(np.ones(len(y)) if weights is None else weights)
    full = np.column_stack([np.ones(len(y)), columns])
    coef, _, rank, _ = np.linalg.lstsq(full * root[:, None], y * root)
    return full @ coef, coef, rank - 1


@pytest.mark.parametrize("kind", KINDS)
def test_ols_is_numpys_least_squares(kind):
    design, sets, columns, y, weights = problem(kind)
    found = ols(moments(design, design.columns(sets), y))
    expected, coef, rank = weighted_lstsq(columns, y, weights)
    assert found.rank == rank
    assert_allclose(columns @ found.coef + found.intercept, expected, atol=1e-10)
    if kind != "duplicated":
        assert_allclose(np.append(found.intercept, found.coef), coef, atol=1e-10)


def test_ols_gives_aliased_and_constant_columns_zero():
    design, sets, _, y, _ = problem("duplicated")
    found = ols(moments(design, design.columns(sets), y))
    # (3,) repeats (2,), and (2, 3) is constant.
    assert (found.coef == 0.0).sum() == len(sets) - found.rank == 2
    assert found.coef[sets.index((2, 3))] == 0.0
    assert 0.0 in (found.coef[sets.index((2,))], found.coef[sets.index((3,))])


@pytest.mark.parametrize("kind", KINDS)
def test_ols_in_order_keeps_the_first_of_those_that_say_the_same(kind):
    design, sets, columns, y, weights = problem(kind)
    found = ols(moments(design, design.columns(sets), y), in_order=True)
    expected, _, rank = weighted_lstsq(columns, y, weights)
    assert found.rank == rank
    assert_allclose(columns @ found.coef + found.intercept, expected, atol=1e-10)
    full = np.column_stack([np.ones(len(y)), columns])
    ranks = [np.linalg.matrix_rank(full[:, : j + 1]) for j in range(full.shape[1])]
    assert_array_equal(found.coef != 0.0, np.diff(ranks) == 1)


def test_ols_with_more_columns_than_samples_interpolates():
    rng = np.random.default_rng(1)
    inputs = signs(rng, 20)
    sets = [s for o in range(1, 6) for s in itertools.combinations(range(5), o)]
    y = np.unique(inputs, axis=0, return_inverse=True)[1].astype(float)
    design = PackedDesign(inputs)
    found = ols(moments(design, design.columns(sets), y))
    assert found.rank == len(np.unique(inputs, axis=0)) - 1
    fitted = multiply_columns(inputs, sets) @ found.coef + found.intercept
    assert_allclose(fitted, y, atol=1e-10)


def test_ols_without_columns_is_the_mean():
    design, _, _, y, weights = problem("weighted")
    found = ols(moments(design, design.columns([]), y))
    assert found.rank == 0
    assert found.intercept == pytest.approx(np.average(y, weights=weights))


# ------------------------------------------------------------------- first estimate


def test_first_estimate_is_half_the_difference_of_the_means():
    design, sets, columns, y, weights = problem("weighted")
    expected = [
        0.5
        * (
            np.average(y[u > 0], weights=weights[u > 0])
            - np.average(y[u < 0], weights=weights[u < 0])
        )
        for u in columns.T
    ]
    found = first_estimate(moments(design, design.columns(sets), y))
    assert_allclose(found, expected, atol=1e-12)


def test_first_estimate_of_a_constant_column_is_zero():
    design = PackedDesign(np.ones((9, 2)))
    found = first_estimate(moments(design, design.columns([(0,)]), np.arange(9.0)))
    assert_array_equal(found, [0.0])


# ----------------------------------------------------------------------- delta rule


def plain_delta(inputs, y, sets, coef, intercept, rate, orders, weights):
    coef, rmse = list(coef), []
    for order in orders:
        squares = 0.0
        for d in order:
            products = [np.prod(inputs[d, list(members)]) for members in sets]
            error = y[d] - intercept - sum(np.multiply(coef, products))
            squares += weights[d] * error**2
            intercept += rate * weights[d] * error
            coef = [
                w + rate * weights[d] * error * u
                for w, u in zip(coef, products, strict=True)
            ]
        rmse.append(np.sqrt(squares / sum(weights)))
    return coef, intercept, rmse


@pytest.mark.parametrize("shuffled", [False, True])
def test_delta_rule_is_the_plain_loop(shuffled):
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, -0.3, 0.0, 1.0], (30, 5))
    y, weights = rng.standard_normal(30), rng.uniform(size=30)
    start = rng.standard_normal(len(SETS))
    orders = [np.arange(30)] * 3
    if shuffled:
        rows, replay = np.arange(30), np.random.default_rng(7)
        orders = [replay.shuffle(rows) or rows.copy() for _ in range(3)]
    expected = plain_delta(inputs, y, SETS, start, 0.5, 0.05, orders, weights)
    found = delta_rule(
        inputs,
        y,
        SETS,
        start,
        0.5,
        learning_rate=0.05,
        n_epochs=3,
        rng=np.random.default_rng(7) if shuffled else None,
        sample_weight=weights,
    )
    for part, other in zip(found, expected, strict=True):
        assert_allclose(part, other, rtol=1e-12)


@pytest.mark.parametrize(
    ("weights", "n_epochs", "atol"),
    [(None, 30, 1e-8), (np.where(np.arange(100) % 10 == 0, 9.0, 1.0), 100, 1e-6)],
    ids=["equal", "weighted"],
)
def test_delta_rule_converges_to_the_exact_weights(weights, n_epochs, atol):
    rng = np.random.default_rng(0)
    inputs = signs(rng, 100)
    coef = np.linspace(-1.0, 2.0, len(SETS))
    y = multiply_columns(inputs, SETS) @ coef + 4.0
    start, options = np.zeros(len(SETS)), {"n_epochs": n_epochs, "rng": rng}
    found = delta_rule(inputs, y, SETS, start, 0.0, **options, sample_weight=weights)
    assert_allclose(found.coef, coef, atol=atol)
    assert found.intercept == pytest.approx(4.0)
    assert found.rmse[-1] < 1e-6 * found.rmse[0]
    assert_array_equal(start, 0.0)


def test_delta_rule_says_that_it_diverged():
    rng = np.random.default_rng(0)
    inputs, y = signs(rng, 1000), rng.standard_normal(1000)
    with pytest.raises(ValueError, match=r"diverged in epoch 2.*0\.25"):
        delta_rule(inputs, y, SETS, np.zeros(7), 0.0, learning_rate=0.5, n_epochs=5)
