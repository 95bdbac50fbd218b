"""The density above the layers: a mixture of these and of trees."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from support import all_states

from skmohn.energynet import EnergyNetTransformer, _portfolio
from skmohn.energynet._chow_liu import PairCounter
from skmohn.energynet._groups import Groups, list_states
from skmohn.energynet._growth_held_out import hold_out
from skmohn.energynet._missing import MissingMask
from skmohn.energynet._portfolio import (
    PortfolioConstants,
    read_states,
    stacking_weights,
)
from skmohn.energynet._tree_mixture import TreeMixture

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
    """Layers, a hidden tree and a mixture of trees, all of which have a weight."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = net().fit(copies(400))
    # As where all count: no table has such weights for sure.
    portfolio = found._portfolio
    portfolio.weights.update(layers=0.4, tree=0.4, tree_mixture=0.2)
    counter = PairCounter.of(copies(400).astype(np.int16), np.full(8, 2))
    trees = tuple(counter.fit_tree(weights) for weights in np.eye(400)[:2])
    portfolio.trees["tree_mixture"] = TreeMixture(np.array([0.3, 0.7]), trees)
    assert "tree" in portfolio.trees
    return found


def test_trees_have_the_weight_where_columns_are_copies():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        both, layers = (net(density=d).fit(copies(400)) for d in ("auto", "layers"))
    assert both.ensemble_weights_["layers"] < 0.5
    assert set(both.ensemble_weights_) == {"layers", "tree", "tree_mixture"}
    assert layers.ensemble_weights_ == {"layers": 1.0}
    test = copies(400, 1)
    assert both.score(test) > layers.score(test) + 0.1
    # Features are those of the layers.
    assert_array_equal(both.transform(test), layers.transform(test))
    assert both.log_likelihood_ == layers.log_likelihood_


@pytest.mark.parametrize("counts", [[70, 30], [20, 60, 10, 110]])
@pytest.mark.parametrize("seed", range(4))
def test_levels_of_a_column_have_their_frequencies(counts, seed):
    levels = np.array(list("abcd"), object)[: len(counts), None]
    X = np.repeat(levels, counts, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = EnergyNetTransformer(random_state=seed).fit(X)
    p = np.exp(model.score_samples(levels))
    # One row more, of which it is not known what it has.
    smoothed = (np.array(counts) + 1.0 / len(counts)) / (len(X) + 1.0)
    assert_allclose(p, smoothed, atol=0.01)


def test_many_rows_with_missing_values():
    X, rng = copies(3000), np.random.default_rng(0)
    X[rng.random(X.shape) < 0.02] = NAN
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = net(n_final_epochs=1).fit(X)
    # Layers and trees are compared by the same rows, of which each takes annealing.
    assert set(model.ensemble_weights_) == {"layers", "tree", "tree_mixture"}
    held, kept = hold_out(3000, has_missing=True)
    assert len(held) == 500
    assert not np.intersect1d(held, kept).size
    assert len(hold_out(3000, has_missing=False)[0]) == 600


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
    by_tree, by_mixture = (
        portfolio.trees[name].log_likelihood(states)
        for name in ("tree", "tree_mixture")
    )
    expected = 0.4 * np.exp(by_layers) + 0.4 * np.exp(by_tree)
    expected = np.log(expected + 0.2 * np.exp(by_mixture))
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


def kinds(n_rows, seed):
    """Rows of two kinds, in which columns are copies of other ones, up to noise."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (n_rows, 4))
    kind = rng.integers(0, 2, (n_rows, 1))
    copied = np.where(kind == 0, bits, 1 - bits[:, ::-1])
    noise = rng.random(copied.shape) < 0.02
    return np.hstack([kind, bits, np.abs(copied - noise)]).astype(float)


def test_no_mixture_where_it_would_cost_too_much(monkeypatch):
    constants = PortfolioConstants(max_work=10.0)
    monkeypatch.setattr(_portfolio, "_PORTFOLIO", constants)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = net().fit(copies(60))
    assert set(found.ensemble_weights_) == {"layers", "tree"}
    assert np.isfinite(found.score(copies(20, 1)))


@pytest.mark.parametrize(
    ("limit", "min_gain", "n_trees"),
    # A step of a mixture takes 160 * 9**2 multiplications for each of four components.
    [(1e12, -1.0, 20), (1e12, 1.0, 12), (4.9 * 51_840, -1.0, 12), (1.0, -1.0, 4)],
)
def test_a_mixture_has_as_many_starts_as_gain_and_cost_no_more(
    monkeypatch, limit, min_gain, n_trees
):
    constants = PortfolioConstants(
        n_components=(4,), n_starts=(3, 5), max_work_starts=limit, min_gain=min_gain,
        min_weight=0.0,
    )  # fmt: skip
    monkeypatch.setattr(_portfolio, "_PORTFOLIO", constants)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture = net().fit(kinds(200, 0))._portfolio.trees["tree_mixture"]
    assert len(mixture.trees) == n_trees
    assert mixture.weights.sum() == pytest.approx(1.0)


def test_kinds_of_rows_have_a_mixture_of_trees():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = net().fit(kinds(600, 0))
    weights, held_out = found.ensemble_weights_, found._portfolio.held_out
    assert weights["tree_mixture"] > 0.2
    assert held_out["tree_mixture"] > held_out["layers"] + 1.0
    # Entropy: five bits that are free, and noise in four.
    best = -5.0 * np.log(2.0) - 4.0 * 0.098
    assert found.score(kinds(600, 1)) > best - 0.2
