"""The RBM against the list of all its states, and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare
from sklearn.neural_network import BernoulliRBM

from skmohn.energynet import RBM

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 6), st.integers(0, 5))
def test_free_energies_are_sums(list_states, seed, n_visible, n_hidden):
    exact = list_states(n_visible, n_hidden, seed=seed)
    log_joint = np.log(exact.joint) + exact.log_z
    by_visible = np.logaddexp.reduce(log_joint, axis=1)
    by_hidden = np.logaddexp.reduce(log_joint, axis=0)
    assert_allclose(-exact.rbm.free_energy(exact.V), by_visible, rtol=1e-5, atol=1e-5)
    if n_hidden:
        marginal = exact.rbm.log_hidden_marginal(exact.H)
        assert_allclose(marginal, by_hidden, rtol=1e-5, atol=1e-5)


def test_conditionals_are_ratios_of_sums(listed):
    joint, rbm = listed.joint, listed.rbm
    given_v = joint @ listed.H / joint.sum(axis=1, keepdims=True)
    given_h = joint.T @ listed.V / joint.sum(axis=0)[:, None]
    assert_allclose(rbm.hidden_probabilities(listed.V), given_v, rtol=1e-5)
    assert_allclose(rbm.visible_probabilities(listed.H), given_h, rtol=1e-5)


def test_free_energy_is_that_of_scikit_learn():
    X = np.random.default_rng(0).integers(0, 2, (300, 30)).astype(np.float64)
    peer = BernoulliRBM(20, n_iter=3, random_state=0).fit(X)
    rbm = RBM(peer.components_, peer.intercept_hidden_, peer.intercept_visible_)
    assert_allclose(rbm.free_energy(X), peer._free_energy(X), rtol=1e-5)
    assert_allclose(rbm.hidden_probabilities(X), peer.transform(X), rtol=1e-5)


def test_many_rows_are_as_few(listed):
    V = np.tile(listed.V, (300, 1))
    energy = listed.rbm.free_energy(V)
    assert_allclose(energy, np.tile(energy[: len(listed.V)], 300))


def test_samples_have_the_exact_distribution(listed):
    V = listed.rbm.sample(20_000, n_steps=200, random_state=0)
    counts = np.bincount((V @ 2 ** np.arange(5)).astype(int), minlength=32)
    expected = listed.joint.sum(axis=1) * len(V)
    assert expected.min() >= 5
    assert chisquare(counts, expected).pvalue > 1e-3


def test_samples_can_be_repeated_and_start_anywhere(listed):
    rbm = listed.rbm
    first, again = (rbm.sample(50, 5, random_state=7) for _ in range(2))
    assert_array_equal(first, again)
    assert (rbm.sample(50, 5, random_state=8) != first).any()
    start = listed.V.copy()
    assert_array_equal(rbm.sample(V=start, n_steps=0), start)
    rbm.sample(V=start, n_steps=3, random_state=0)
    assert_array_equal(start, listed.V)


def test_transposed_exchanges_the_sides(listed):
    other = type(listed)(listed.rbm.transposed())
    assert_allclose(other.joint, listed.joint.T, rtol=1e-6)
    assert other.rbm.n_visible == listed.rbm.n_hidden


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [0.0], [0.0]), "weights must have 2 dimension"),
        (([[np.nan]], [0.0], [0.0]), "Input weights contains NaN"),
        (([[1.0]], [np.inf], [0.0]), "Input hidden_bias contains infinity"),
        (([["a"]], [0.0], [0.0]), "could not convert string to float: .*'a'"),
        (([[1.0]], [0.0], [[0.0]]), "visible_bias must have 1 dimension"),
        (([[1.0, 2.0]], [0.0], [0.0]), r"shape \(1, 2\), but the biases need \(1, 1\)"),
    ],
)
def test_bad_weights_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        RBM(*arguments)


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ([[0.0, 1.0]], "V has 2 columns instead of 5"),
        ([[0.0, 1.0, 2.0, 0.0, 0.0]], "V must lie between 0 and 1"),
        ([[0.0, 1.0, -0.1, 0.0, 0.0]], "V must lie between 0 and 1"),
        ([[0.0, 1.0, np.nan, 0.0, 0.0]], "Input V contains NaN"),
        ([0.0] * 5, "Expected 2D array"),
    ],
)
def test_bad_states_are_refused(listed, states, message):
    with pytest.raises(ValueError, match=message):
        listed.rbm.free_energy(states)


@pytest.mark.parametrize("wrong", [{"n_samples": 0}, {"n_steps": -1}])
def test_bad_numbers_of_samples_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name} == "):
        RBM([[1.0]], [0.0], [0.0]).sample(**wrong)
