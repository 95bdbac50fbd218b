"""The growing and shrinking least squares model against numpy."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support import multiply_columns

from skmohn.mohn._design.design import DenseDesign, PackedDesign
from skmohn.mohn._sparse.active_set import ActiveSet

SETS = [(0,), (3,), (0, 1), (1, 2), (2, 3, 4), (0, 1, 2, 3)]


def problem(kind="packed", n_samples=90, n_features=6, seed=0):
    """A design, its inputs, weights and a noisy target."""
    rng = np.random.default_rng(seed)
    inputs = rng.choice([-1.0, 1.0], (n_samples, n_features))
    weights = np.ones(n_samples)
    if kind == "packed":
        design = PackedDesign(inputs)
    else:
        weights = rng.integers(1, 5, n_samples).astype(float)
        inputs = inputs * rng.uniform(0.2, 1.0, inputs.shape)
        design = DenseDesign(inputs, weights)
    y = 3 + inputs[:, 0] - 2 * inputs[:, 1] * inputs[:, 2] + rng.normal(size=n_samples)
    return design, inputs, weights, y


def assert_is_least_squares(model, inputs, weights, y):
    """Check coefficients, residual, noise and standard errors by the textbook."""
    A = multiply_columns(inputs, model.terms)
    root = np.sqrt(weights)
    coef = np.linalg.lstsq(A * root[:, None], y * root)[0]
    residual = y - A @ coef
    assert_allclose(model.coef, coef, atol=1e-10)
    assert_allclose(model.residual, residual, atol=1e-10)
    square, n = weights @ residual**2, weights.sum()
    assert model.rms == pytest.approx(np.sqrt(square / n))
    noise = np.sqrt(square / (n - A.shape[1]))
    assert model.noise == pytest.approx(noise)
    covariance = noise**2 * np.linalg.inv(A.T @ (A * weights[:, None]))
    assert_allclose(model.standard_errors(), np.sqrt(np.diag(covariance)), rtol=1e-9)


@pytest.mark.parametrize("kind", ["packed", "gp"])
def test_begins_with_the_constant(kind):
    design, inputs, weights, y = problem(kind)
    model = ActiveSet(design, y)
    assert model.terms == [()]
    assert len(model) == 1
    assert model.coef[0] == pytest.approx(np.average(y, weights=weights))
    assert_is_least_squares(model, inputs, weights, y)


@pytest.mark.parametrize("kind", ["packed", "gp"])
def test_grows_and_shrinks(kind):
    design, inputs, weights, y = problem(kind)
    model = ActiveSet(design, y)
    assert model.add(SETS[:2]) == 2
    assert model.add(SETS[2:]) == 4
    model.solve()
    assert model.terms == [(), *SETS]
    assert_is_least_squares(model, inputs, weights, y)
    model.keep(np.array([False, True, False, True, True, False, True]))
    model.solve()
    # The constant stays, whatever the mask says.
    assert model.terms == [(), (0,), (0, 1), (1, 2), (0, 1, 2, 3)]
    assert_is_least_squares(model, inputs, weights, y)
    assert model.add([(5,), (3,)]) == 2
    model.solve()
    assert_is_least_squares(model, inputs, weights, y)
    model.clear()
    assert model.terms == [()]
    assert_is_least_squares(model, inputs, weights, y)


@pytest.mark.parametrize("gone", [[], [1], [6], [2, 5], [1, 2, 3, 4, 5, 6], [5, 6]])
def test_factor_is_that_of_what_stays(gone):
    design, _, _, y = problem("gp")
    model = ActiveSet(design, y)
    model.add(SETS)
    mask = ~np.isin(np.arange(7), gone)
    model.keep(mask)
    assert_allclose(model.factor, np.linalg.cholesky(model.gram), atol=1e-9)


def test_mask_is_not_changed():
    design, _, _, y = problem()
    model = ActiveSet.of(design, y, SETS)
    mask = np.zeros(len(model), dtype=bool)
    model.keep(mask)
    assert not mask.any()


@pytest.mark.parametrize("kind", ["packed", "gp"])
def test_order_of_adding_is_irrelevant(kind):
    design, _, _, y = problem(kind)
    known = ActiveSet.of(design, y, SETS)
    expected = dict(zip(known.terms, known.coef, strict=True))
    for order in itertools.islice(itertools.permutations(range(len(SETS))), 0, 720, 97):
        model = ActiveSet(design, y)
        for j in order:
            model.add([SETS[j]])
        model.solve()
        assert set(model.terms) == set(known.terms)
        assert_allclose(
            model.coef, [expected[term] for term in model.terms], atol=1e-10
        )


def aliased_problem():
    """Columns 4 and 5 repeat column 0, the second with its sign changed."""
    rng = np.random.default_rng(1)
    inputs = rng.choice([-1.0, 1.0], (60, 4))
    inputs = np.hstack([inputs, inputs[:, :1], -inputs[:, :1]])
    return PackedDesign(inputs), inputs, rng.normal(size=60)


def test_aliased_weights_are_left_out():
    design, inputs, y = aliased_problem()
    model = ActiveSet(design, y)
    assert model.add([(0,), (1,)]) == 2
    # Alone, in company, and as products that are constant or repeat another.
    assert model.add([(4,)]) == 0
    assert model.add([(5,), (2,), (0, 4)]) == 1
    assert model.add([(1, 4, 5)]) == 0
    model.solve()
    assert model.terms == [(), (0,), (1,), (2,)]
    assert_is_least_squares(model, inputs, np.ones(60), y)


def test_one_of_several_aliased_weights_is_kept():
    design, inputs, y = aliased_problem()
    model = ActiveSet(design, y)
    assert model.add([(0,), (4,), (5,), (3,), (2,)]) == 3
    model.solve()
    assert len({(0,), (4,), (5,)} & set(model.terms)) == 1
    assert_is_least_squares(model, inputs, np.ones(60), y)


def test_more_weights_than_samples():
    rng = np.random.default_rng(2)
    inputs = rng.choice([-1.0, 1.0], (12, 8))
    y = rng.normal(size=12)
    sets = [term for k in (1, 2) for term in itertools.combinations(range(8), k)]
    model = ActiveSet.of(PackedDesign(inputs), y, sets)
    assert len(model) == np.linalg.matrix_rank(multiply_columns(inputs, [(), *sets]))
    assert_allclose(model.residual, 0, atol=1e-9)


def test_no_terms():
    design, _, _, y = problem()
    model = ActiveSet.of(design, y, [])
    assert model.terms == [()]
    assert_array_equal(model.coef, ActiveSet(design, y).coef)
