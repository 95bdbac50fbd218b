"""The density above the layers: a mixture of these and a hidden tree."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from support import all_states

from skmohn.energynet import EnergyNetTransformer
from skmohn.energynet._groups import Groups, list_states
from skmohn.energynet._missing import MissingMask
from skmohn.energynet._portfolio import read_states, stacking_weights

NAN = np.nan


def copies(n_rows, seed=0):
    """Indicators of categories, and noisy copies of them, as a tree has them."""
    rng = np.random.default_rng(seed)
    indicators = np.eye(4)[rng.integers(0, 4, n_rows)]
    noise = rng.random((n_rows, 4)) < 0.05
    return np.column_stack([indicators, np.abs(indicators - noise)])


def net(**options):
    """A short fit, whose layers grow."""
    given = {"max_units": 4, "max_layers": 1, "n_final_epochs": 5, "random_state": 0}
    return EnergyNetTransformer(**(given | options))


@pytest.fixture(scope="module")
def fitted():
    """Layers and a tree, of which both have a weight."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = net().fit(copies(400))
    # As where both count: no table has such weights for sure.
    found._portfolio.weights.update(layers=0.4, tree=0.6)
    return found


def test_a_tree_has_the_weight_where_columns_are_copies():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        both, layers = (net(density=d).fit(copies(400)) for d in ("auto", "layers"))
    assert both.ensemble_weights_["tree"] > 0.5
    assert layers.ensemble_weights_ == {"layers": 1.0}
    test = copies(400, 1)
    assert both.score(test) > layers.score(test) + 0.1
    # Features are those of the layers.
    assert_array_equal(both.transform(test), layers.transform(test))
    assert both.log_likelihood_ == layers.log_likelihood_


def test_probabilities_of_all_rows_sum_to_one(fitted):
    assert logsumexp(fitted.score_samples(all_states(8))) == pytest.approx(
        0.0, abs=1e-4
    )


def test_missing_values_are_summed_out(fitted):
    every = all_states(8)
    log_p = fitted.score_samples(every)
    rows = copies(20, 2)
    rows[np.random.default_rng(0).random(rows.shape) < 0.4] = NAN
    for row, found in zip(rows, fitted.score_samples(rows), strict=True):
        agrees = np.all((every == row) | np.isnan(row), axis=1)
        assert found == pytest.approx(logsumexp(log_p[agrees]), abs=1e-6)


def test_a_mixture_is_that_of_its_members(fitted):
    rows, portfolio = copies(50, 3), fitted._portfolio
    (first,), (z,) = fitted.layers_, fitted.log_partition_
    by_layers = -first.free_energy(rows) - z.value
    encoded = fitted._encode(fitted._read_table(rows)).arrange(fitted.coding_)
    states = read_states(encoded.units, None, encoded.groups)
    by_tree = portfolio.tree.log_likelihood(states)
    expected = np.log(0.4 * np.exp(by_layers) + 0.6 * np.exp(by_tree))
    assert_allclose(fitted.score_samples(rows), expected, atol=1e-5)


def test_widths_that_are_given_have_no_tree():
    found = EnergyNetTransformer(None, 3, n_final_epochs=2).fit(copies(50))
    assert found.ensemble_weights_ == {"layers": 1.0}


def test_partial_fit_leaves_the_tree():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = net().fit(copies(100))
    assert "tree" in found.ensemble_weights_
    assert found.partial_fit(copies(100)).ensemble_weights_ == {"layers": 1.0}


def test_scores_have_the_error_of_the_partition_function(fitted):
    rows = copies(50, 3)
    mean, error = fitted.score(rows, return_std=True)
    assert mean == fitted.score(rows)
    assert error == fitted.log_partition_[0].standard_error


def test_weights_are_the_likeliest():
    rng = np.random.default_rng(0)
    log_p = rng.normal(size=(200, 2))

    def loss(weight):
        return -np.logaddexp(
            np.log(weight) + log_p[:, 0], np.log1p(-weight) + log_p[:, 1]
        ).mean()

    expected = minimize_scalar(loss, bounds=(1e-6, 1 - 1e-6), method="bounded").x
    found = stacking_weights(log_p)
    assert_allclose(found, [expected, 1.0 - expected], atol=1e-3)
    # The worst of three loses all.
    worse = np.column_stack([log_p, log_p.min(axis=1) - 5.0])
    assert_allclose(stacking_weights(worse), [*found, 0.0], atol=1e-3)


def test_states_are_those_of_units():
    groups = Groups([3, 2, 1], [True, False, True])
    units = list_states(groups, 0, groups.n_states).astype(np.float32)
    found = read_states(units, None, groups)
    number = np.arange(groups.n_states)
    expected = np.column_stack([number % 4, number // 4 % 3, number // 12])
    assert_array_equal(found, expected)
    values = np.zeros((len(units), 3))
    values[::2, 1] = NAN
    found = read_states(units, MissingMask.of(values, groups.sizes), groups)
    expected[::2, 1] = -1
    assert_array_equal(found, expected)
