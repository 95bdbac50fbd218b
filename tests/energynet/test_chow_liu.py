"""Chow-Liu trees, beside counts, networkx, scikit-learn and sums over all states."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn.metrics import mutual_info_score

from skmohn.energynet import _chow_liu
from skmohn.energynet._chow_liu import (
    UNKNOWN,
    ChowLiuConstants,
    PairCounter,
    chow_liu_tree,
)

N_STATES = np.array([2, 3, 2, 4])


def rows(n_rows, seed=0, unknown=0.0):
    """Rows whose columns are noisy copies of one another."""
    rng = np.random.default_rng(seed)
    source, noise = rng.integers(0, 12, (n_rows, 1)), rng.integers(0, 12, (n_rows, 4))
    which = rng.random(noise.shape) < np.array([0.1, 0.3, 0.5, 0.2])
    states = (np.where(which, noise, source) % N_STATES).astype(np.int16)
    states[rng.random(states.shape) < unknown] = UNKNOWN
    return states


def without_prior(monkeypatch):
    """Count rows alone."""
    monkeypatch.setattr(_chow_liu, "_CHOW_LIU", ChowLiuConstants(pseudocount=0.0))


def test_a_tree_has_the_counts_of_pairs(monkeypatch):
    without_prior(monkeypatch)
    states, weights = rows(400), np.random.default_rng(1).integers(0, 3, 400)
    tree = PairCounter.of(states, N_STATES).fit_tree(weights.astype(float))
    repeated = np.repeat(states, weights, axis=0)
    information = np.array(
        [[mutual_info_score(a, b) for a in repeated.T] for b in repeated.T]
    )
    np.fill_diagonal(information, 0.0)
    order, parents = chow_liu_tree(information)
    assert_array_equal(tree.order, order)
    assert_array_equal(tree.parents, parents)
    # Log-likelihoods are those of frequencies, by definition.
    expected = np.zeros(len(repeated))
    for j, parent in zip(order, parents, strict=True):
        others = [] if parent < 0 else [order[parent]]
        for i, row in enumerate(repeated):
            alike = np.all(repeated[:, others] == row[others], axis=1)
            expected[i] += np.log(np.mean(repeated[alike, j] == row[j]))
    assert_allclose(tree.log_likelihood(repeated), expected, atol=1e-5)


@pytest.mark.parametrize("unknown", [0.0, 0.3])
def test_information_is_that_of_known_pairs(monkeypatch, unknown):
    without_prior(monkeypatch)
    states = rows(500, unknown=unknown)
    found = PairCounter.of(states, N_STATES).information()
    for i, j in product(range(4), repeat=2):
        both = np.all(states[:, [i, j]] != UNKNOWN, axis=1)
        expected = mutual_info_score(*states[both][:, [i, j]].T) if i != j else 0.0
        assert found[i, j] == pytest.approx(expected, abs=1e-6)


def test_a_row_with_independent_columns_is_added():
    states, weights = rows(300), np.random.default_rng(0).random(300)
    tree = PairCounter.of(states, N_STATES).fit_tree(weights)
    first, second = tree.order[:2]
    shape = N_STATES[first], N_STATES[second]
    joint = np.zeros(shape)
    np.add.at(joint, (states[:, first], states[:, second]), weights)
    # In the frequencies each column counts once more, whatever its state.
    of_first, of_second = (
        np.bincount(states[:, j], minlength=N_STATES[j]) + 1.0 / N_STATES[j]
        for j in (first, second)
    )
    joint += np.outer(of_first, of_second) / 301.0**2
    expected = np.log(joint / joint.sum(axis=1, keepdims=True))
    found = tree.log_transition[1, : shape[0], : shape[1]]
    assert_allclose(found, expected, atol=1e-5)


def test_pairs_with_an_unknown_state_do_not_count(monkeypatch):
    without_prior(monkeypatch)
    states = rows(400, unknown=0.3)[:, :2]
    n_states = N_STATES[:2]
    tree = PairCounter.of(states, n_states).fit_tree(np.ones(400))
    known = states[(states != UNKNOWN).all(axis=1)]
    first, second = tree.order
    for a, b in product(range(n_states[first]), range(n_states[second])):
        of_first = known[known[:, first] == a]
        expected = np.log(np.mean(of_first[:, second] == b))
        assert tree.log_transition[1, a, b] == pytest.approx(expected, abs=1e-6)


def test_unknown_states_are_summed_out():
    every = np.array(list(product(*map(range, N_STATES))), np.int16)
    tree = PairCounter.of(rows(300), N_STATES).fit_tree(np.ones(300))
    log_p = tree.log_likelihood(every)
    assert logsumexp(log_p) == pytest.approx(0.0, abs=1e-12)
    new = rows(60, 1, unknown=0.3)
    assert 0 < np.sum(np.any(new == UNKNOWN, axis=1)) < len(new)
    for row, found in zip(new, tree.log_likelihood(new), strict=True):
        agrees = np.all((every == row) | (row == UNKNOWN), axis=1)
        assert found == pytest.approx(logsumexp(log_p[agrees]), abs=1e-10)


def test_states_that_no_row_has_are_possible():
    states = np.zeros((20, 3), np.int16)
    sizes = np.array([2, 3, 2])
    tree = PairCounter.of(states, sizes).fit_tree(np.ones(20))
    found = tree.log_likelihood(np.array([[1, 2, 1]], np.int16))
    assert np.isfinite(found).all()


def test_edges_are_those_of_a_maximum_spanning_tree():
    nx = pytest.importorskip("networkx")
    rng = np.random.default_rng(0)
    information = rng.random((30, 30))
    information = information + information.T
    order, parents = chow_liu_tree(information)
    assert sorted(order) == list(range(30))
    # The root has the most information, and parents come first.
    assert order[0] == information.sum(axis=1).argmax()
    assert parents[0] == -1
    assert np.all(parents[1:] < np.arange(1, 30))
    found = {frozenset((order[j], order[p])) for j, p in enumerate(parents) if p >= 0}
    graph = nx.from_numpy_array(information)
    expected = nx.maximum_spanning_tree(graph).edges()
    assert found == {frozenset(edge) for edge in expected}


def test_columns_without_information_have_a_tree():
    for d in (1, 5):
        order, parents = chow_liu_tree(np.zeros((d, d)))
        assert sorted(order) == list(range(d))
        assert np.all(parents < np.arange(d))
        assert np.sum(parents < 0) == 1
