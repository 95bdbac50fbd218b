"""Mixtures of Chow-Liu trees, beside counts, sums over all states and expectations."""

from itertools import islice, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp, softmax
from sklearn.metrics import mutual_info_score

from skmohn.energynet import _tree_mixture
from skmohn.energynet._hidden_tree import UNKNOWN, chow_liu_tree
from skmohn.energynet._tree_mixture import (
    PairCounter,
    TreeMixture,
    TreeMixtureConstants,
    improve_mixture,
    start_responsibilities,
)

N_STATES = np.array([2, 3, 2, 4])


def rows(n_rows, seed=0, unknown=0.0):
    """Rows of two kinds, whose columns are noisy copies of one or of the other."""
    rng = np.random.default_rng(seed)
    source, kind = rng.integers(0, 12, (n_rows, 2)), rng.integers(0, 2, n_rows)
    noise = rng.integers(0, 12, (n_rows, 4))
    copied = source[:, [0, 0, 1, 1]]
    copied[kind == 1] = source[kind == 1][:, [0, 1, 0, 1]]
    which = rng.random(noise.shape) < 0.2
    states = (np.where(which, noise, copied) % N_STATES).astype(np.int16)
    states[rng.random(states.shape) < unknown] = UNKNOWN
    return states


def every():
    """Every row of states."""
    return np.array(list(product(*map(range, N_STATES))), np.int16)


def without_prior(monkeypatch):
    """Count rows alone."""
    monkeypatch.setattr(
        _tree_mixture, "_MIXTURE", TreeMixtureConstants(pseudocount=0.0)
    )


def test_a_tree_has_the_counts_of_pairs(monkeypatch):
    without_prior(monkeypatch)
    states, weights = rows(400), np.random.default_rng(1).integers(0, 3, 400)
    tree = PairCounter.of(states, N_STATES).fit_tree(weights.astype(float))
    repeated = np.repeat(states, weights, axis=0)
    information = np.array(
        [[mutual_info_score(a, b) for a in repeated.T] for b in repeated.T]
    )
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


def test_pairs_with_an_unknown_state_do_not_count(monkeypatch):
    without_prior(monkeypatch)
    states = rows(400, unknown=0.3)[:, :2]
    n_states = N_STATES[:2]
    tree = PairCounter.of(states, n_states).fit_tree(np.ones(400))
    known = states[(states != UNKNOWN).all(axis=1)]
    first, second = tree.order
    for a, b in product(range(n_states[first]), range(n_states[second])):
        of_first = known[known[:, first] == a]
        expected = np.mean(of_first[:, second] == b)
        assert tree.transition[1, a, b] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("unknown", [0.0, 0.2])
def test_probabilities_sum_to_one_and_unknown_states_are_summed_out(unknown):
    states = rows(300, unknown=unknown)
    counter = PairCounter.of(states, N_STATES)
    start = start_responsibilities(states, 3, 0)
    *_, mixture = islice(improve_mixture(counter, states, start), 4)
    log_p = mixture.log_likelihood(every())
    assert logsumexp(log_p) == pytest.approx(0.0, abs=1e-8)
    new = rows(30, 1, unknown=0.4)
    for row, found in zip(new, mixture.log_likelihood(new), strict=True):
        agrees = np.all((every() == row) | (row == UNKNOWN), axis=1)
        assert found == pytest.approx(logsumexp(log_p[agrees]), abs=1e-8)


def test_steps_make_training_rows_likelier():
    states = rows(800)
    counter, start = PairCounter.of(states, N_STATES), np.full((800, 1), 1.0)
    (one,) = islice(improve_mixture(counter, states, start), 1)
    start = start_responsibilities(states, 4, 0)
    mixtures = list(islice(improve_mixture(counter, states, start), 40))
    nats = [mixture.log_likelihood(states).mean() for mixture in mixtures]
    # The pseudocounts are no part of the likelihood.
    assert np.all(np.diff(nats) > -0.002)
    assert nats[-1] > one.log_likelihood(states).mean() + 0.02
    # Weights are means of responsibilities.
    expected = softmax(mixtures[-2].log_joint(states), axis=1).sum(axis=0) + 0.25
    assert_allclose(mixtures[-1].weights, expected / 801.0, rtol=1e-6)


def test_states_that_no_row_has_are_possible():
    states = np.zeros((20, 3), np.int16)
    sizes = np.array([2, 3, 2])
    tree = PairCounter.of(states, sizes).fit_tree(np.ones(20))
    found = tree.log_likelihood(np.array([[1, 2, 1]], np.int16))
    assert np.isfinite(found).all()


def test_components_start_at_distinct_rows():
    states = np.zeros((100, 3), np.int16)
    states[50] = 1
    found = start_responsibilities(states, 5, 0)
    assert found.shape == (100, 2)
    assert_allclose(found.sum(axis=1), 1.0)
    assert found[50].argmax() != found[0].argmax()


def test_likelihoods_of_a_mixture_are_those_of_its_trees():
    states = rows(200)
    counter = PairCounter.of(states, N_STATES)
    weights = np.random.default_rng(0).random((2, 200))
    trees = tuple(counter.fit_tree(of) for of in weights)
    mixture = TreeMixture(np.array([0.3, 0.7]), trees)
    first, second = (np.exp(tree.log_likelihood(states)) for tree in trees)
    expected = np.log(0.3 * first + 0.7 * second)
    assert_allclose(mixture.log_likelihood(states), expected, rtol=1e-10)


def test_a_mean_of_mixtures_is_that_of_their_probabilities():
    states = rows(300)
    counter = PairCounter.of(states, N_STATES)
    mixtures = []
    for seed, n_components in enumerate((2, 5)):
        start = start_responsibilities(states, n_components, seed)
        mixtures += islice(improve_mixture(counter, states, start), 1)
    found = TreeMixture.mean(mixtures)
    expected = np.mean([np.exp(of.log_likelihood(every())) for of in mixtures], axis=0)
    assert_allclose(np.exp(found.log_likelihood(every())), expected)
