"""Log-likelihoods and complexities against sums over all states and hand counts."""

from itertools import pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import entropy

from skmohn.energynet import (
    RBM,
    annealed_importance_sampling,
    dbn_log_likelihood,
    description_length,
    exact_log_partition,
)
from skmohn.energynet._groups import Groups
from skmohn.energynet._likelihood import (
    independent_bits,
    parameter_complexity,
    rademacher_complexity,
    unit_price,
)


def exact_dbn(layers):
    """Log-probability of all visible states: the top's prior, passed down."""
    top = layers[-1]
    prior = top.joint.sum(axis=1)
    for layer in reversed(layers[:-1]):
        given_hidden = layer.joint / layer.joint.sum(axis=0)
        prior = given_hidden @ prior
    return np.log(prior)


def test_one_layer_needs_no_draws(listed):
    z = exact_log_partition(listed.rbm)
    exact = listed.log_likelihood
    assert_allclose(dbn_log_likelihood([listed.rbm], listed.V, z), exact, rtol=1e-5)


@pytest.mark.slow_cases("[23]")
@pytest.mark.parametrize("seed", range(4))
def test_dbn_estimate_is_close_at_the_defaults(list_states, seed):
    layers = [
        list_states(10, 7, seed=seed, scale=0.5),
        list_states(7, 6, seed=seed + 10, scale=0.5),
    ]
    rbms, exact = [layer.rbm for layer in layers], exact_dbn(layers)
    z = exact_log_partition(rbms[-1])
    estimate = dbn_log_likelihood(rbms, layers[0].V, z, random_state=seed)
    # The mean over samples of the stack itself.
    assert abs(np.exp(exact) @ (estimate - exact)) < 0.3
    z = annealed_importance_sampling(rbms[-1], layers[1].V, random_state=seed)
    with_ais = dbn_log_likelihood(rbms, layers[0].V, z, random_state=seed)
    assert abs(np.exp(exact) @ (with_ais - exact)) < 0.3


def test_dbn_estimate_of_the_likelihood_is_unbiased(list_states, replace_constants):
    replace_constants("skmohn.energynet._likelihood", max_enumerated_units=0)
    layers = [list_states(*n, seed=k) for k, n in enumerate([(5, 4), (4, 4), (4, 3)])]
    rbms, V = [layer.rbm for layer in layers], layers[0].V
    z = exact_log_partition(rbms[-1])
    many = dbn_log_likelihood(rbms, V, z, n_draws=20_000, random_state=0)
    assert_allclose(np.exp(many - exact_dbn(layers)), 1.0, atol=0.05)
    assert np.exp(many).sum() == pytest.approx(1.0, abs=0.02)
    few = [
        dbn_log_likelihood(rbms, V, z, n_draws=2, random_state=seed).mean()
        for seed in range(30)
    ]
    assert np.mean(few) < many.mean()


@pytest.mark.parametrize("widths", [(5, 4, 3), (5, 4, 4, 3)])
def test_few_units_are_summed_up(list_states, widths):
    shapes = pairwise(widths)
    layers = [list_states(*shape, seed=k) for k, shape in enumerate(shapes)]
    rbms = [layer.rbm for layer in layers]
    z = exact_log_partition(rbms[-1])
    found = dbn_log_likelihood(rbms, layers[0].V, z, n_draws=1, random_state=0)
    assert_allclose(found, exact_dbn(layers), rtol=1e-5)
    assert len(dbn_log_likelihood(rbms, np.zeros((1, 5)), z)) == 1


def test_few_units_over_groups_are_summed_up(list_states):
    groups = Groups([2, 1, 3], [True, True, False])
    layers = [list_states(6, 3, seed=0, groups=groups), list_states(3, 2, seed=1)]
    z = exact_log_partition(layers[1].rbm)
    rbms = [layer.rbm for layer in layers]
    found = dbn_log_likelihood(rbms, layers[0].V, z, n_draws=1)
    assert_allclose(found, exact_dbn(layers), rtol=1e-5)


def test_few_units_above_many_are_drawn(list_states, replace_constants):
    replace_constants("skmohn.energynet._likelihood", max_enumerated_units=3)
    layers = [list_states(5, 4, seed=0), list_states(4, 3, seed=1)]
    rbms, V = [layer.rbm for layer in layers], layers[0].V
    z = exact_log_partition(rbms[-1])
    drawn = dbn_log_likelihood(rbms, V, z, n_draws=20_000, random_state=0)
    assert_allclose(np.exp(drawn - exact_dbn(layers)), 1.0, atol=0.05)
    assert np.abs(drawn - exact_dbn(layers)).max() > 1e-4


def test_transposed_layer_leaves_the_likelihood_as_it_is(listed):
    rbm, upper = listed.rbm, listed.rbm.transposed()
    alone = dbn_log_likelihood([rbm], listed.V, exact_log_partition(rbm))
    z = exact_log_partition(upper).value
    stacked = dbn_log_likelihood([rbm, upper], listed.V, z, n_draws=3)
    assert_allclose(stacked, alone, rtol=1e-5)


def test_estimates_can_be_repeated(list_states, replace_constants):
    replace_constants("skmohn.energynet._likelihood", max_enumerated_units=0)
    rbms = [list_states(5, 4, seed=0).rbm, list_states(4, 3, seed=1).rbm]
    X = np.eye(5)
    first, again, other = (
        dbn_log_likelihood(rbms, X, 0.0, random_state=seed) for seed in (0, 0, 1)
    )
    assert (first == again).all()
    assert (first != other).any()


def test_layers_that_do_not_fit_are_refused(list_states):
    lower, upper = list_states(5, 4, seed=0).rbm, list_states(3, 2, seed=0).rbm
    with pytest.raises(ValueError, match="layer 1 sees 3 units, but the layer below"):
        dbn_log_likelihood([lower, upper], np.eye(5), 0.0)
    with pytest.raises(ValueError, match="layers is empty"):
        dbn_log_likelihood([], np.eye(5), 0.0)
    with pytest.raises(TypeError, match="layers must be RBMs, got a str"):
        dbn_log_likelihood([lower, "upper"], np.eye(5), 0.0)
    with pytest.raises(ValueError, match="X has 4 columns instead of 5"):
        dbn_log_likelihood([lower], np.eye(4), 0.0)
    with pytest.raises(ValueError, match="'n_draws' parameter of dbn_log_likelihood"):
        dbn_log_likelihood([lower], np.eye(5), 0.0, n_draws=0)


# -------------------------------------------------------------------- independent


def test_independent_bits_have_the_means_of_the_data():
    X = (np.random.default_rng(0).random((500, 4)) < [0.1, 0.5, 0.9, 0.0]).astype(float)
    rbm = independent_bits(X)
    z = exact_log_partition(rbm)
    mean = (X.sum(axis=0) + 0.5) / 501
    exact = (X * np.log(mean) + (1 - X) * np.log(1 - mean)).sum(axis=1)
    assert_allclose(dbn_log_likelihood([rbm], X, z), exact, rtol=1e-5)
    states = np.array(list(product([0, 1], repeat=4)))
    p = np.exp(dbn_log_likelihood([rbm], states, z))
    assert p.sum() == pytest.approx(1.0, rel=1e-5)


# ------------------------------------------------------------------- complexities


@pytest.mark.parametrize(
    ("p", "exponent"), [(2, 0.5), (1, 0.0), (4, 0.75), (np.inf, 1)]
)
def test_rademacher_bound_by_hand(p, exponent):
    rng = np.random.default_rng(0)
    first, second = (
        RBM(rng.normal(size=shape), np.zeros(shape[0]), np.zeros(shape[1]))
        for shape in ((4, 6), (3, 4))
    )
    X = np.full((50, 6), 0.25)
    X[3, 2] = 0.75
    largest = [
        max(np.linalg.norm(unit, p) for unit in layer.weights)
        for layer in (first, second)
    ]
    root = np.sqrt(2 * np.log(12) / 50)
    one = 0.75 * largest[0] * 6**exponent * root
    assert rademacher_complexity([first], X, p=p) == pytest.approx(one, rel=1e-5)
    both = 2 * one * largest[1] * 4**exponent
    assert rademacher_complexity([first, second], X, p=p) == pytest.approx(both, 1e-5)


def test_units_cost_by_the_entropy_of_their_inputs():
    X = np.array([[0, 0, 1], [0, 1, 1], [0, 0, 0], [0, 1, 1]], float)
    n_bits = entropy([0.25, 0.75], base=2) + 1
    price = 0.5 * (n_bits + 1) / 2 * np.log(4) / 4
    assert unit_price(X, unit_cost=0.5) == pytest.approx(price)
    first = RBM(np.zeros((5, 3)), np.zeros(5), np.zeros(3))
    second = RBM(np.zeros((2, 5)), np.zeros(2), np.zeros(5))
    # All hidden units of the first are 1 half of the time.
    total = 4 * (5 * price + 2 * 0.5 * (5 + 1) / 2 * np.log(4) / 4)
    cost = parameter_complexity([first, second], X, unit_cost=0.5)
    assert cost == pytest.approx(total, rel=1e-6)


def test_description_length_is_cost_minus_log_likelihood(listed):
    z = exact_log_partition(listed.rbm)
    V, log_likelihood = listed.V, listed.log_likelihood.sum()
    by_parameters = description_length([listed.rbm], V, z, unit_cost=2.0)
    assert by_parameters.log_likelihood == pytest.approx(log_likelihood, rel=1e-5)
    assert by_parameters.complexity == pytest.approx(
        parameter_complexity([listed.rbm], V, unit_cost=2.0)
    )
    total = by_parameters.complexity - by_parameters.log_likelihood
    assert by_parameters.total == total
    bound = description_length([listed.rbm], V, z, complexity="rademacher", p=1)
    assert bound.complexity == rademacher_complexity([listed.rbm], V, p=1)


def test_bad_choices_are_refused(listed):
    with pytest.raises(
        ValueError, match="'complexity' parameter of description_length"
    ):
        description_length([listed.rbm], listed.V, 0.0, complexity="bits")
    with pytest.raises(ValueError, match="'unit_cost' parameter of description_length"):
        description_length([listed.rbm], listed.V, 0.0, unit_cost=())
    with pytest.raises(ValueError, match="'log_partition' parameter of description"):
        description_length([listed.rbm], listed.V, "auto")
    with pytest.raises(ValueError, match="'p' parameter of description_length"):
        description_length([listed.rbm], listed.V, 0.0, p=0.5)
