"""What reproduces a target by chance is not called exact."""

import math
from itertools import combinations

import numpy as np
import pytest

from skmohn import MOHNRegressor
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn._design.design import PackedDesign
from skmohn.mohn._sparse.exact_fit import ExactFitTest, rounding_variance
from skmohn.mohn._sparse.model import SparseModel
from skmohn.mohn._table.rows import EncodedRows

CUBE = 1.0 - 2.0 * (np.arange(8)[:, None] >> np.arange(3) & 1)


def products(inputs, terms):
    return np.stack([inputs[:, list(term)].prod(axis=1) for term in [(), *terms]], 1)


def share_reproduced(inputs, orders, models):
    """Fraction of the orders of a target that one of the models reproduces."""
    found = np.zeros(len(orders), dtype=bool)
    for terms in models:
        columns = products(inputs, terms)
        coef = np.linalg.lstsq(columns, orders.T)[0]
        found |= np.abs(columns @ coef - orders.T).max(axis=0) < 1e-9
    return found.mean()


@pytest.mark.parametrize("n_ones", [2, 4])
@pytest.mark.parametrize("n_pairs", [1, 2, 3])
def test_information_bounds_what_chance_reproduces(n_ones, n_pairs):
    """All orders of a target, and all models with so many pairs of three inputs."""
    orders = np.zeros((math.comb(8, n_ones), 8))
    for order, ones in zip(orders, combinations(range(8), n_ones), strict=True):
        order[list(ones)] = 1.0
    chance = ExactFitTest(CUBE, orders[0])
    assert chance.information == pytest.approx(math.log(len(orders)))
    models = list(combinations(combinations(range(3), 2), n_pairs))
    share = share_reproduced(CUBE, orders, models)
    left = (8 - n_pairs - 1) / 8
    assert share <= len(models) * math.exp(-left * chance.information)


@pytest.mark.parametrize("n_terms", [1, 2, 3])
def test_replicates_of_all_rows_bound_what_chance_reproduces(n_terms):
    """All orders of twelve coins at the four rows of two inputs, and all models."""
    square = np.repeat(CUBE[:4, :2], 3, axis=0)
    orders = np.zeros((math.comb(12, 6), 12))
    for order, ones in zip(orders, combinations(range(12), 6), strict=True):
        order[list(ones)] = 1.0
    chance = ExactFitTest(square, orders[0])
    assert (chance.n_rows, chance.n_values) == (4, 12)
    assert chance.information == pytest.approx(math.log(len(orders)))
    models = list(combinations([(0,), (1,), (0, 1)], n_terms))
    share = share_reproduced(square, orders, models)
    left = (12 - n_terms - 1) / 12
    assert 0.0 < share <= len(models) * math.exp(-left * chance.information)


def test_information_is_that_of_different_rows_and_values():
    y = np.repeat([0.0, 1.0, 2.0, 2.0, 0.1 + 0.2, 0.3, 5.0], 3)
    # A row that is not there, and columns of more than two values: not all of them.
    for rows in (CUBE[:7], np.arange(7.0)[:, None], np.eye(7)[:, :4]):
        chance = ExactFitTest(np.repeat(rows, 3, axis=0), np.resize(y, 3 * len(rows)))
        assert chance.n_rows == chance.n_values == len(np.unique(rows, axis=0))
    chance = ExactFitTest(np.repeat(CUBE[:7], 3, axis=0), y)
    assert chance.information == pytest.approx(math.log(math.factorial(7) / 2 / 2))


def test_replicates_tell_a_parity_from_chance_where_no_row_is_left():
    X = np.random.default_rng(1).choice([-1.0, 1.0], (60, 4))
    rows, first = np.unique(X, axis=0, return_index=True)
    assert len(rows) == 16
    y = X[:, 0] * X[:, 1]
    assert MOHNRegressor().fit(X, y).stopping_reason_.startswith("exact")
    # One sample each is not enough, nor are many where a row is not there.
    assert not ExactFitTest(rows, y[first]).is_significant([(0, 1)])
    known = np.any(rows[0] != X, axis=1)
    assert not ExactFitTest(X[known], y[known]).is_significant([(0, 1)])


def test_terms_of_few_inputs_are_quickly_named():
    """A conjunction of four of 20 inputs has 15 terms, and chance hardly makes it."""
    X = np.random.default_rng(0).choice([-1.0, 1.0], (200, 20))
    y = np.all(X[:, 3:7] > 0, axis=1).astype(float)
    terms = [t for k in range(1, 5) for t in combinations(range(3, 7), k)]
    assert ExactFitTest(X, y).is_significant(terms)
    spread = [tuple(range(k, k + len(term))) for k, term in enumerate(terms)]
    assert not ExactFitTest(X, y).is_significant(spread)


def test_more_columns_than_floats_have_exponents():
    """Two to the power of their number is beyond the largest float."""
    inputs = np.random.default_rng(0).choice([-1.0, 1.0], (30, 1100))
    chance = ExactFitTest(inputs, inputs[:, 0])
    assert (chance.n_rows, chance.n_features) == inputs.shape
    assert chance.is_significant([(0,)])


def test_constant_is_exact():
    assert ExactFitTest(CUBE, np.ones(8)).is_significant([])
    assert not ExactFitTest(CUBE, np.ones(8)).is_significant([(0,)])
    assert (
        MOHNRegressor("pursuit").fit(CUBE, np.ones(8)).stopping_reason_[:5] == "exact"
    )


def test_variance_of_rounding():
    assert rounding_variance(np.array([3.0, 1.0, 1.5, 3.0])) == pytest.approx(1 / 48)
    assert rounding_variance(np.ones(3)) == 0.0
    steps = np.round(np.random.default_rng(0).uniform(0, 9, 5000), 1)
    assert rounding_variance(steps) == pytest.approx(1e-2 / 12)


RANDOM = {
    "coin": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "die": lambda rng, n: rng.integers(1, 7, n).astype(float),
    "normal": lambda rng, n: rng.standard_normal(n),
}


@pytest.mark.slow_cases("(die|normal)-search0-seeds0")
@pytest.mark.filterwarnings("ignore:the samples are too few")
@pytest.mark.parametrize(
    ("search", "seeds"),
    [
        (("pursuit",), [2, 4, 6, 7, 10]),
        (("msda",), [14, 22, 36]),
        (("msda", "ols"), [2, 10, 11]),
    ],
)
@pytest.mark.parametrize("kind", RANDOM)
def test_random_targets_are_never_exact(search, kind, seeds):
    """What each would reproduce of these coins, by chance."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X = rng.choice([-1.0, 1.0], (12, 5))
        y = RANDOM[kind](rng, 12)
        model = MOHNRegressor(*search, random_state=0).fit(X, y)
        assert not model.stopping_reason_.startswith("exact")
        square = np.tile(X[:, :2], (2, 1))
        repeated = MOHNRegressor(*search, random_state=0)
        repeated.fit(square, RANDOM[kind](rng, 24))
        assert not repeated.stopping_reason_.startswith("exact")
        assert model.noise_std_ > 0.2 * np.std(y)
        if not np.isnan(model.standard_errors_).any():
            assert np.all(model.standard_errors_ > 0.05 * np.std(y))


def test_posterior_after_a_search_is_as_wide_as_steps_of_the_target():
    """A product of two inputs that 12 coins follow may yet be one."""
    X = np.random.default_rng(0).choice([-1.0, 1.0], (12, 5))
    y = (X[:, 0] * X[:, 1] > 0).astype(float)
    graph = WalshPolynomial(((0, 1),), np.array([0.5]), 0.5)
    model = SparseModel.condition(graph, PackedDesign(X), y)
    assert model.y_std**2 * model.noise_variance == pytest.approx(1 / 12)
    rows = EncodedRows(X, np.empty((12, 0), dtype=int))
    assert np.all(model.predictive_std(rows) > math.sqrt(1 / 12))
