"""Mixtures of Chow-Liu trees, beside sums over all states and expectations."""

from itertools import islice, product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp, softmax

from skmohn.energynet._chow_liu import UNKNOWN, PairCounter
from skmohn.energynet._tree_mixture import (
    TreeMixture,
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
