"""The layout of the weights, and what the network computes with them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neural_network import MLPClassifier, MLPRegressor

from skmohn import BLMRegressor
from skmohn.blm._network import Layout, forward

layer_sizes = st.lists(st.integers(1, 6), min_size=2, max_size=5).map(tuple)


@given(layer_sizes)
def test_weights_lie_unit_by_unit_with_the_bias_first(sizes):
    layout = Layout(sizes)
    weights = np.arange(layout.n_weights) * 1.0
    coefs, intercepts, own = layout.split(weights)
    assert own == []
    target, source, first = layout.wiring()
    index, fan_in = 0, []
    # Row 0 is the constant; each unit of each layer has the next row.
    begin = 1
    for layer, (n_in, n_out) in enumerate(pairwise(sizes)):
        assert coefs[layer].shape == (n_in, n_out)
        assert intercepts[layer].shape == (n_out,)
        for k in range(n_out):
            row = begin + n_in + k
            assert first[row] == index
            assert intercepts[layer][k] == weights[index]
            assert (target[index], source[index]) == (row, 0)
            index += 1
            for i in range(n_in):
                assert coefs[layer][i, k] == weights[index]
                assert (target[index], source[index]) == (row, begin + i)
                index += 1
            fan_in += [n_in] * (n_in + 1)
        begin += n_in
    assert index == layout.n_weights == len(target) == len(source)
    assert_array_equal(layout.spread(sizes[:-1]), fan_in)
    assert_array_equal(layout.first_units, np.cumsum([1, *sizes]))


def test_split_copies():
    weights = np.zeros(8)
    coefs, intercepts, _ = Layout((1, 2, 1)).split(weights[:7])
    coefs[0][:] = intercepts[1][:] = 1
    assert not weights.any()


def weights_of(sizes, seed=0):
    layout = Layout(sizes)
    return layout.split(np.random.default_rng(seed).normal(size=layout.n_weights))[:2]


@pytest.mark.parametrize("activation", ["identity", "tanh", "logistic", "relu"])
@pytest.mark.parametrize("hidden", [(), (4,), (4, 3)])
@pytest.mark.parametrize(
    ("n_outputs", "out_activation"),
    [
        (1, "identity"),
        (3, "identity"),
        (1, "logistic"),
        (3, "logistic"),
        (3, "softmax"),
    ],
)
def test_outputs_are_those_of_scikit_learns_network(
    activation, hidden, n_outputs, out_activation
):
    X = np.random.default_rng(1).normal(size=(20, 5))
    coefs, intercepts = weights_of((5, *hidden, n_outputs))
    if out_activation == "identity":
        mlp = MLPRegressor(hidden, activation=activation)
    else:
        mlp = MLPClassifier(hidden, activation=activation)
    mlp.coefs_, mlp.intercepts_ = coefs, intercepts
    mlp.n_layers_, mlp.n_outputs_ = len(hidden) + 2, n_outputs
    mlp.out_activation_ = out_activation
    found = forward(X, coefs, intercepts, activation, out_activation)
    assert found.shape == (20, n_outputs)
    assert_allclose(found, mlp._forward_pass_fast(X).reshape(20, -1), rtol=1e-12)


def test_step_is_one_above_zero():
    coefs, intercepts = [np.eye(3), np.ones((3, 1))], [np.zeros(3), np.zeros(1)]
    X = np.array([[-1.0, 0.0, 1e-8], [1.0, 2.0, -3.0], [0.1, 0.2, 0.3]])
    assert_array_equal(forward(X, coefs, intercepts, "step", "identity").T, [[0, 2, 3]])


def test_sums_beyond_every_exponential():
    coefs, intercepts = [np.full((1, 2), 1e4)], [np.array([0.0, 1.0])]
    X = np.array([[-1.0], [1.0]])
    for activation in ("logistic", "softmax"):
        with np.errstate(over="raise", invalid="raise"):
            found = forward(X, coefs, intercepts, "tanh", activation)
        assert np.isfinite(found).all()


# --------------------------------------------------------------------------- memory

X = np.linspace(-1, 1, 10)[:, None]


@pytest.mark.parametrize(
    "hidden", [(10**7, 10**7), (10**9,), (200_000, 200_000), (10**15, 10**15)]
)
def test_networks_that_no_memory_holds_are_refused_before_they_are_made(hidden):
    model = BLMRegressor(hidden)
    with pytest.raises(
        MemoryError, match=r"GiB of memory, but this process may"
    ) as raised:
        model.fit(X, X.ravel())
    assert "hidden_layer_sizes" in str(raised.value)
    assert not hasattr(model, "coefs_")


def test_refusal_leaves_the_old_network():
    model = BLMRegressor((2,), alpha=100, random_state=0)
    model.fit(X, X.ravel())
    expected = model.predict(X)
    model.set_params(hidden_layer_sizes=(10**7, 10**7))
    with pytest.raises(MemoryError, match="GiB"):
        model.fit(X, X.ravel())
    model.set_params(hidden_layer_sizes=(2,))
    assert_array_equal(model.predict(X), expected)
