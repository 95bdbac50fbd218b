"""Hidden Chow-Liu trees, beside sums over all states."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from skmohn.energynet._chow_liu import UNKNOWN, PairCounter
from skmohn.energynet._hidden_tree import HiddenChowLiuTree

N_STATES = np.array([2, 3, 2, 4, 2])


def all_states(n_states):
    """Every row of states."""
    return np.array(list(product(*map(range, n_states))), np.int16)


def rows_of_copies(n_rows, seed=0, n_states=N_STATES):
    """Rows whose columns are noisy copies of one another, some of them unknown."""
    rng = np.random.default_rng(seed)
    source = rng.integers(0, 12, (n_rows, 1))
    noise = rng.integers(0, 12, (n_rows, len(n_states)))
    which = rng.random(noise.shape) < 0.2
    states = (np.where(which, noise, source) % n_states).astype(np.int16)
    states[rng.random(states.shape) < 0.1] = UNKNOWN
    return states


def trained(states, n_states, n_hidden, n_epochs):
    """Tree after some epochs."""
    start = HiddenChowLiuTree.start(PairCounter.of(states, n_states), n_hidden, 0)
    *_, last = start.fit_epochs(states, n_epochs, 0)
    return last


@pytest.fixture(scope="module")
def fitted():
    """A tree of three hidden states a column, with unknown states in training."""
    return trained(rows_of_copies(300), N_STATES, 3, 4)


def by_definition(tree, rows):
    """Log-likelihoods by a sum over all hidden states."""
    rows, (n, n_hidden) = rows[:, tree.order], tree.transition.shape[:2]
    found = np.zeros((len(rows), n_hidden**n))
    for i, hidden in enumerate(product(range(n_hidden), repeat=n)):
        for j, (state, parent) in enumerate(zip(hidden, tree.parents, strict=True)):
            of_parent = hidden[parent] if parent >= 0 else 0
            found[:, i] += np.log(tree.transition[j, of_parent, state])
            found[:, i] += np.log(tree.emission[j, rows[:, j], state])
    return logsumexp(found, axis=1)


def test_likelihoods_are_sums_over_hidden_states(fitted):
    every = all_states(N_STATES)
    found = fitted.log_likelihood(every)
    assert_allclose(found, by_definition(fitted, every), atol=1e-10)
    assert logsumexp(found) == pytest.approx(0.0, abs=1e-6)


def test_unknown_states_are_summed_out(fitted):
    every = all_states(N_STATES)
    log_p = fitted.log_likelihood(every)
    rows = rows_of_copies(40, 1)
    for row, found in zip(rows, fitted.log_likelihood(rows), strict=True):
        agrees = np.all((every == row) | (row == UNKNOWN), axis=1)
        assert found == pytest.approx(logsumexp(log_p[agrees]), abs=1e-10)


def test_a_row_does_not_depend_on_the_others(fitted):
    rows = rows_of_copies(300, 2)
    found = fitted.log_likelihood(rows)
    assert_allclose(fitted.log_likelihood(rows[7:8]), found[7:8], rtol=1e-12)


def test_training_rows_become_likelier():
    states = rows_of_copies(600)
    start = HiddenChowLiuTree.start(PairCounter.of(states, N_STATES), 4, 0)
    trees = [start, *start.fit_epochs(states, 6, 0)]
    nats = [tree.log_likelihood(states).mean() for tree in trees]
    assert np.all(np.diff(nats) > -0.02)
    # Independent columns have the sum of their entropies.
    alone = sum(
        np.log(np.bincount(column[column >= 0]) / np.sum(column >= 0))[column]
        * (column >= 0)
        for column in states.T
    )
    assert nats[-1] > alone.mean() + 0.4


def test_exact_relations_of_columns_are_learned():
    # Two columns are copies, and a third is their opposite.
    bits = np.random.default_rng(0).integers(0, 2, (500, 3)).astype(np.int16)
    states = np.column_stack([bits, bits, 1 - bits])
    sizes = np.full(9, 2)
    tree = trained(states, sizes, 4, 30)
    assert tree.log_likelihood(states).mean() > -3.0 * np.log(2.0) - 0.05


def test_many_children_do_not_underflow():
    rng = np.random.default_rng(0)
    source = rng.integers(0, 2, (300, 1))
    flips = rng.random((300, 400)) < 0.3
    states = np.concatenate([source, source ^ flips], axis=1).astype(np.int16)
    tree = trained(states, np.full(401, 2), 2, 2)
    assert np.isfinite(tree.log_likelihood(states)).all()
    assert np.isfinite(tree.transition).all()


def test_a_single_column_is_a_tree():
    states = np.array([[0], [1], [1], [2]] * 50, np.int16)
    tree = trained(states, np.array([3]), 2, 5)
    p = np.exp(tree.log_likelihood(np.array([[0], [1], [2]], np.int16)))
    assert_allclose(p, [0.25, 0.5, 0.25], atol=0.01)


@pytest.mark.parametrize("n_hidden", [1, 4])
@pytest.mark.parametrize("seed", range(4))
def test_columns_have_the_frequencies_of_all_rows(n_hidden, seed):
    states = np.maximum(rows_of_copies(600), 0)
    start = HiddenChowLiuTree.start(PairCounter.of(states, N_STATES), n_hidden, seed)
    # From the first epoch on, when steps are large.
    for tree in start.fit_epochs(states, 3, seed):
        for j, size in enumerate(N_STATES):
            alone = np.full((size, len(N_STATES)), UNKNOWN, np.int16)
            alone[:, j] = np.arange(size)
            p = np.exp(tree.log_likelihood(alone))
            assert_allclose(p, np.bincount(states[:, j]) / 600, atol=3e-3)


def test_fits_are_the_same_with_the_same_seed():
    states = rows_of_copies(100)
    first, second = (trained(states, N_STATES, 2, 2) for _ in range(2))
    assert_array_equal(first.transition, second.transition)
