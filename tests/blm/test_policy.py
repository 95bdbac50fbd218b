"""Controllers: compiled steps against plain loops, shapes, and use by a simulator."""

import runpy
import subprocess
import sys

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from skmohn.blm import BLMRegressor, Policy, make_policy
from skmohn.blm._network import Layout
from skmohn.blm._policy import act

FUNCTIONS = {
    "identity": lambda x: x,
    "tanh": np.tanh,
    "logistic": expit,
    "relu": lambda x: np.maximum(x, 0.0),
    "step": lambda x: (x > 0).astype(float),
}


def plain_run(observations, parts, activation, out_activation):
    """Outputs at all steps, by numpy alone."""
    coefs, intercepts, own = parts
    hidden = [np.zeros(len(b)) for b in intercepts[:-1]]
    outputs = []
    for below in observations:
        for layer in range(len(hidden)):
            total = below @ coefs[layer] + intercepts[layer]
            if own:
                total = total + hidden[layer] @ own[layer]
            below = hidden[layer] = FUNCTIONS[activation](total)
        outputs.append(FUNCTIONS[out_activation](below @ coefs[-1] + intercepts[-1]))
    return np.array(outputs)


@given(
    sizes=st.lists(st.integers(1, 5), min_size=2, max_size=5),
    recurrent=st.booleans(),
    activation=st.sampled_from(sorted(FUNCTIONS)),
    out_activation=st.sampled_from(sorted(FUNCTIONS)),
    seed=st.integers(0, 2**32 - 1),
)
def test_steps_are_those_of_a_plain_loop(
    sizes, recurrent, activation, out_activation, seed
):
    rng = np.random.default_rng(seed)
    layout = Layout(tuple(sizes), recurrent)
    weights = rng.normal(size=layout.n_weights)
    policy = make_policy(
        sizes,
        weights,
        recurrent=recurrent,
        activation=activation,
        out_activation=out_activation,
    )
    observations = rng.normal(size=(6, sizes[0]))
    expected = plain_run(
        observations, layout.split(weights), activation, out_activation
    )
    state, action, found = policy.initial_state(), np.empty(sizes[-1]), []
    for observation in observations:
        policy.step(observation, state, action)
        found.append(action.copy())
    assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_of_an_estimator_make_a_policy_with_its_outputs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    model = BLMRegressor((4,), standardize=False, max_flips=200, random_state=0)
    model.fit(X, X[:, 0])
    weights = model.codes_ * Layout((3, 4, 1)).spread(model.w_max_ / (2**11 - 1))
    policy = make_policy((3, 4, 1), weights)
    found = [act(policy, row)[0][0] for row in X]
    assert_allclose(found, model.predict(X), rtol=1e-9)


def test_ranges_within_a_layer_are_their_own():
    layout = Layout((2, 3, 1), recurrent=True)
    ranges = layout.spread([10.0, 5.0], [1.0, 0.5])
    coefs, intercepts, own = layout.split(ranges)
    assert layout.n_weights == 3 * (1 + 2 + 3) + (1 + 3)
    assert np.all(coefs[0] == 10)
    assert np.all(coefs[1] == 5)
    assert np.all(intercepts[0] == 10)
    assert np.all(intercepts[1] == 5)
    assert own[0].shape == (3, 3)
    assert np.all(own[0] == 1)


@numba.njit
def outputs_of(policy, observations):
    state = policy.initial_state()
    # To assign a row would take three seconds to compile.
    found = np.empty((observations.shape[0], policy.sizes[-1]))
    for k in range(observations.shape[0]):
        policy.step(observations[k], state, found[k])
    return found


def test_a_compiled_simulator_gets_the_same_answers():
    rng = np.random.default_rng(1)
    policy = make_policy((2, 3, 2, 2), rng.normal(size=36), recurrent=True)
    observations = rng.normal(size=(5, 2))
    state, action = policy.initial_state(), np.empty(2)
    for observation, found in zip(
        observations, outputs_of(policy, observations), strict=True
    ):
        policy.step(observation, state, action)
        assert_array_equal(found, action)


SIMULATOR = """
import numba
import numpy as np
from skmohn.blm import make_policy

@numba.njit(cache=True)
def simulate(policy):
    state, action = policy.initial_state(), np.empty(1)
    policy.step(np.ones(2), state, action)
    return action[0]

assert simulate(make_policy((2, 1), [1.0, 2.0, 3.0])) == 6.0
hits = sum(simulate.stats.cache_hits.values())
print(hits)
"""


@pytest.mark.slow
def test_a_compiled_simulator_can_be_cached(tmp_path):
    file = tmp_path / "simulator.py"
    file.write_text(SIMULATOR, encoding="utf-8")
    assert runpy.run_path(str(file), run_name="__main__")["hits"] == 0
    # Another process finds what this one has compiled.
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "1"


def test_acting_leaves_the_state_that_it_is_given():
    policy = make_policy((1, 2, 1), np.ones(11), recurrent=True)
    first, state = act(policy, [1.0])
    kept = state.copy()
    second, _ = act(policy, [1.0], state)
    again, _ = act(policy, [1.0], state)
    assert_array_equal(state, kept)
    assert first != second == again


def test_shapes_that_do_not_fit_are_named():
    policy = make_policy((2, 3, 1), np.zeros(13))
    with pytest.raises(ValueError, match=r"observation has shape \(3,\).*takes \(2,\)"):
        act(policy, np.zeros(3))
    with pytest.raises(ValueError, match=r"state has shape \(1,\).*has \(2, 3\)"):
        act(policy, np.zeros(2), np.zeros(1))
    arrays = {"observation": np.zeros(2), "state": np.zeros((2, 3)), "out": np.zeros(1)}
    for name, shape in (("observation", (3,)), ("state", (2, 2)), ("out", (2,))):
        wrong = {**arrays, name: np.zeros(shape)}
        with pytest.raises(ValueError, match="shapes") as raised:
            policy.step(*wrong.values())
        assert raised.value.args[1:] == (shape, arrays[name].shape)
    with pytest.raises(ValueError, match="shapes"):
        outputs_of(policy, np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"weights have shape \(5,\).*needs \(13,\)"):
        make_policy((2, 3, 1), np.zeros(5))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sizes": ["a", "b"]}, "sizes must be two or more positive integers"),
        ({"sizes": [2, 0]}, "sizes must be two or more positive integers"),
        ({"sizes": [2]}, "sizes must be two or more positive integers"),
        ({"sizes": 3}, "'sizes' parameter of make_policy must be an array-like"),
        ({"weights": 1.0}, "'weights' parameter of make_policy must be an array-like"),
        ({"weights": ["a"] * 13}, "could not convert string to float"),
        ({"activation": "sine"}, "'activation' parameter of make_policy must be"),
        ({"out_activation": ["tanh"]}, "'out_activation' parameter of make_policy"),
        ({"recurrent": "yes"}, "'recurrent' parameter of make_policy must be"),
    ],
)
def test_make_policy_names_the_parameter_that_is_wrong(wrong, message):
    with pytest.raises(ValueError, match=message):
        make_policy(**{"sizes": (2, 3, 1), "weights": np.zeros(13), **wrong})


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_no_other_named_tuple_gets_the_methods():
    class Impostor(Policy):
        pass

    impostor = Impostor(*make_policy((1, 1), [0.0, 0.0]))
    with pytest.raises(numba.core.errors.TypingError, match="initial_state"):
        outputs_of(impostor, np.zeros((1, 1)))
