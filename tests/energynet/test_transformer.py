"""EnergyNetTransformer: structure, features, likelihoods, samples, going on."""

import pickle
import tracemalloc
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import skops.io
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import chisquare, ks_2samp, multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neural_network import BernoulliRBM
from sklearn.pipeline import make_pipeline
from support import StopAfter, all_states

from skmohn import EnergyNetTransformer, InfiniteRBMOptions
from skmohn.energynet import (
    LogPartition,
    annealed_importance_sampling,
    dbn_log_likelihood,
    description_length,
    exact_log_partition,
)
from skmohn.energynet import _kernels as kernels
from skmohn.energynet._growth import GIVEN_REASON, PAYING_REASON
from skmohn.energynet._infinite_rbm import GAMMA_REASON
from skmohn.energynet._likelihood import rademacher_complexity
from skmohn.energynet._stack import ALL_LAYERS, DEEP_ENOUGH
from skmohn.energynet._stack_trainer import GIVEN_DEPTH, STOPPED


@pytest.fixture(scope="module")
def digits():
    return load_digits().data[:1200] / 16


@pytest.fixture(scope="module")
def bits(digits):
    return (digits > 0.4).astype(float)


@pytest.fixture(scope="module")
def grown(bits):
    return by_price().fit(bits)


@pytest.fixture(scope="module")
def deep(bits):
    return EnergyNetTransformer(None, [9, 6, 4], n_final_epochs=20, random_state=0).fit(
        bits
    )


def by_price(**parameters):
    return EnergyNetTransformer("description_length", random_state=0, **parameters)


def few(**parameters):
    parameters = {
        "n_components": 5,
        "n_final_epochs": 10,
        "random_state": 0,
        **parameters,
    }
    return EnergyNetTransformer(None, **parameters)


# ------------------------------------------------------------------------ structure


@pytest.mark.slow
def test_growth_by_price_finds_width_and_depth(grown, bits):
    (width,) = grown.n_components_per_layer_
    assert 10 <= width <= 28
    assert grown.weights_[0].shape == (width, 64)
    assert grown.stopping_reason_ == DEEP_ENOUGH
    assert grown.width_reasons_ == [PAYING_REASON]
    records = grown.history_
    assert [r["layer"] for r in records] == sorted(r["layer"] for r in records)
    finished = [r for r in records if r["stage"] == "layer"]
    assert len(finished) == 2
    for name in ("log_likelihood", "complexity", "description_length"):
        assert getattr(grown, f"{name}_") == [finished[0][name]]
    assert finished[1]["description_length"] >= grown.description_length_[0]
    assert grown.n_iter_ == len(records) == len(grown.history_.to_frame())


@pytest.mark.slow
def test_width_found_by_price_is_that_of_other_seeds(grown, bits):
    # One draw moves by a few units with the order in which a processor adds.
    others = [
        by_price(max_layers=1).set_params(random_state=seed).fit(bits)
        for seed in range(1, 4)
    ]
    widths = [net.n_components_per_layer_[0] for net in (grown, *others)]
    assert 13 <= np.mean(widths) <= 24


def test_what_is_said_of_a_grown_layer_is_so(bits):
    bits = bits[:400]
    # As many units as can be enumerated.
    grown = by_price(unit_cost=3, learning_rate=0.6).fit(bits)
    (rbm,) = grown.layers_
    (z,) = grown.log_partition_
    assert z.value == pytest.approx(exact_log_partition(rbm).value)
    assert grown.score(bits) == pytest.approx(grown.log_likelihood_[0], abs=1e-3)
    assert grown.description_length_[0] == pytest.approx(
        grown.complexity_[0] - len(bits) * grown.log_likelihood_[0]
    )


def test_dearer_units_make_narrower_layers(bits):
    net = by_price(learning_rate=0.6, n_final_epochs=0, max_layers=1)
    dear = clone(net).set_params(unit_cost=5).fit(bits[:300])
    cheap = clone(net).set_params(unit_cost=0.5).fit(bits[:300])
    assert dear.n_components_per_layer_[0] < cheap.n_components_per_layer_[0]


@pytest.mark.parametrize("n_bins", [2, 8])
def test_columns_that_are_independent_need_one_unit(n_bins):
    X = np.random.default_rng(0).normal(size=(600, 8))
    net = by_price(n_bins=n_bins, max_layers=1, n_final_epochs=0)
    assert net.fit(X).n_components_per_layer_ == [1]


def by_the_paper(**parameters):
    net = EnergyNetTransformer(
        "infinite_rbm",
        max_layers=1,
        learning_rate=0.1,
        n_final_epochs=0,
        n_temperatures=200,
        random_state=0,
    )
    return net.set_params(infinite_rbm_options__threshold=0.5).set_params(**parameters)


@pytest.fixture(scope="module")
def patch(bits):
    """A few columns, on which the paper's rule does not take long."""
    return bits[:200, 18:30]


def test_growth_of_the_paper(patch):
    net = by_the_paper().fit(patch)
    assert net.width_reasons_ == [GAMMA_REASON]
    # Polish is apart: without it all records are of growth, with gamma to its end.
    *grow, layer = net.history_
    assert {r["stage"] for r in grow} == {"grow"}
    assert grow[-1]["gamma"] <= 0.5
    assert grow[-1]["units"] == net.n_components_per_layer_[0]
    assert all(r["gamma"] > 0.5 for r in grow[:-1])
    polished = by_the_paper(n_final_epochs=100).fit(patch)
    assert polished.n_components_per_layer_ == net.n_components_per_layer_
    epochs = [r["epochs"] for r in polished.history_ if r["stage"] == "final"]
    assert sum(epochs) == 100
    assert polished.score(patch) > net.score(patch)
    assert polished.stopping_reason_ == ALL_LAYERS
    # Equation 2 with one layer.
    norm = np.linalg.norm(net.weights_[0].astype(float), axis=1).max()
    bound = norm * np.sqrt(12) * np.sqrt(2 * np.log(24) / 200)
    assert layer["complexity"] == pytest.approx(bound)


# Growth ends at few units.
EARLY = {"infinite_rbm_options__threshold": 0.95}


@pytest.fixture(scope="module")
def plain_paper(patch):
    """Weights as the paper leaves them, and after an epoch of polish."""
    rows, paper = patch[:60], by_the_paper(**EARLY)
    return [
        clone(paper).set_params(n_final_epochs=n).fit(rows).weights_[0] for n in (0, 1)
    ]


@pytest.mark.parametrize(
    "parameters",
    [{"infinite_rbm_options__beta": 1.5}, {"infinite_rbm_options__threshold": 0.9},
     {"infinite_rbm_options__n_gibbs": 3}, {"infinite_rbm_options__persistent": True},
     {"learning_rate": 0.2}, {"batch_size": 20},
     {"n_final_epochs": 1}, {"n_final_epochs": 1, "l2": 0.1}],
)  # fmt: skip
def test_each_parameter_of_the_paper_matters(patch, plain_paper, parameters):
    found = plain_paper[int("l2" in parameters)]
    other = by_the_paper(**EARLY | parameters).fit(patch[:60]).weights_[0]
    assert found.shape != other.shape or not np.allclose(found, other)


@pytest.mark.parametrize(
    ("parameters", "l2"),
    [({"n_components": 2}, 1.0), ({"n_components": 20}, 2.0), ({"max_units": 4}, 1.0),
     ({"growth": None, "n_components": 2}, 1.0),
     ({"growth": "description_length", "max_units": 4}, 0.25)],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:layer 0 was still growing")
def test_price_of_weights_is_that_of_a_prior(parameters, l2):
    X = np.random.default_rng(0).integers(2, size=(50, 5)).repeat(2, axis=1)
    net = EnergyNetTransformer(
        max_layers=1, n_final_epochs=5, density="layers", random_state=0, **parameters
    )
    given = clone(net).set_params(l2=l2 / 50)
    assert_array_equal(net.fit(X).weights_[0], given.fit(X).weights_[0])


def test_norm_of_the_bound_matters(patch):
    one, two = (by_the_paper(infinite_rbm_options__p=p).fit(patch) for p in (1.0, 2.0))
    assert_array_equal(one.weights_[0], two.weights_[0])
    assert one.complexity_ != two.complexity_


@pytest.mark.parametrize(("likelihood", "n_layers"), [("total", 2), ("mean", 1)])
def test_what_the_likelihood_counts_against_the_bound(patch, likelihood, n_layers):
    # So few units that partition functions are exact.
    net = by_the_paper(
        batch_size=1,
        learning_rate=0.3,
        max_layers=3,
        infinite_rbm_options__threshold=0.8,
        infinite_rbm_options__likelihood=likelihood,
        random_state=2,
    ).fit(patch)
    widths = patch.shape[1], *net.n_components_per_layer_
    assert max(map(min, pairwise(widths))) <= 20
    weight = {"total": len(patch), "mean": 1}[likelihood]
    for k in range(len(net.layers_)):
        layers = net.layers_[: k + 1]
        z = exact_log_partition(layers[-1])
        fit = dbn_log_likelihood(layers, patch, z, random_state=1).mean()
        length = rademacher_complexity(layers, patch) - weight * fit
        # One layer is exact, and of two the hidden units are drawn.
        error = (1e-4, 0.1)[k]
        assert net.log_likelihood_[k] == pytest.approx(fit, abs=error)
        assert net.description_length_[k] == pytest.approx(length, abs=error * weight)
    again = description_length(
        layers, patch, z, complexity="rademacher", likelihood=likelihood, random_state=0
    )
    assert again.total == pytest.approx(length, abs=0.1 * weight)
    # A bound of some nats is little for all samples, and much for their mean.
    assert len(net.layers_) == n_layers
    *kept, last = [r["description_length"] for r in net.history_ if "complexity" in r]
    assert kept == net.description_length_
    assert last >= kept[-1]


@pytest.mark.parametrize(("likelihood", "weight"), [("total", 80), ("mean", 1)])
def test_descriptions_of_the_paper_are_in_the_units_of_the_columns(likelihood, weight):
    X = np.random.default_rng(0).normal(scale=1e3, size=(80, 3))
    net = by_the_paper(
        coding="thermometer", infinite_rbm_options__likelihood=likelihood,
        infinite_rbm_options__threshold=0.9, batch_size=1,
    ).fit(X)  # fmt: skip
    (fit,), (length,) = net.log_likelihood_, net.description_length_
    # Densities of numbers in the thousands.
    assert fit < -15
    assert length == pytest.approx(net.complexity_[0] - weight * fit)
    (end,) = (record for record in net.history_ if record["stage"] == "layer")
    assert (end["log_likelihood"], end["description_length"]) == (fit, length)


def test_the_second_layer_of_the_paper_is_compared_with_the_first_alone(patch):
    # At the first steps the plain RBM describes the data worse than independent
    # columns do, which is no matter to the paper.
    net = by_the_paper(
        max_layers=2, batch_size=1, infinite_rbm_options__threshold=0.9
    ).fit(patch)
    mean = np.clip(patch.mean(axis=0), 0.01, 0.99)
    alone = (patch * np.log(mean) + (1 - patch) * np.log(1 - mean)).sum(axis=1).mean()
    assert net.log_likelihood_[0] < alone
    assert sum(r["stage"] == "layer" for r in net.history_) == 2


def test_rates_of_the_paper_are_the_default(patch):
    one, two = (
        by_the_paper(**rates, infinite_rbm_options__threshold=0.9)
        .fit(patch)
        .weights_[0]
        for rates in (
            {"learning_rate": "auto"},
            {"learning_rate": 0.01, "batch_size": 10},
        )
    )
    assert_array_equal(one, two)


def test_given_widths(deep, bits):
    assert deep.n_components_per_layer_ == [9, 6, 4]
    assert [w.shape for w in deep.weights_] == [(9, 64), (6, 9), (4, 6)]
    assert [b.shape for b in deep.hidden_bias_] == [(9,), (6,), (4,)]
    assert [b.shape for b in deep.visible_bias_] == [(64,), (9,), (6,)]
    assert deep.stopping_reason_ == GIVEN_DEPTH
    assert deep.width_reasons_ == [GIVEN_REASON] * 3
    assert not hasattr(deep, "description_length_")
    assert sum(r["stage"] == "train" for r in deep.history_) == 60


def test_layers_are_trained_on_their_inputs(deep, bits):
    # An RBM that learned nothing says as much of the data as independent bits.
    inputs = bits
    for rbm in deep.layers_:
        mean = inputs.mean(axis=0)
        assert_allclose(rbm.visible_probabilities(
            rbm.hidden_probabilities(inputs)).mean(axis=0), mean, atol=0.1)  # fmt: skip
        inputs = rbm.hidden_probabilities(inputs)


def test_widths_that_are_given_are_not_searched_for(bits):
    net = EnergyNetTransformer(
        n_components=[5, 3], n_final_epochs=2, random_state=0
    ).fit(bits)
    assert net.n_components_per_layer_ == [5, 3]
    same = EnergyNetTransformer(None, [5, 3], n_final_epochs=2, random_state=0).fit(
        bits
    )
    paper = clone(net).set_params(growth="infinite_rbm").fit(bits)
    for other in (same, paper):
        assert_array_equal(net.weights_[0], other.weights_[0])
    first = clone(net).partial_fit(bits)
    assert first.n_components_per_layer_ == [5, 3]


def test_a_layer_that_grows_takes_no_more_steps_than_it_may(bits):
    net = by_price(max_layers=1, max_steps=100, n_final_epochs=1).set_params(
        random_state=1
    )
    with pytest.warns(ConvergenceWarning, match="max_steps=100"):
        net.fit(bits)
    growing = [r["steps"] for r in net.history_ if r["stage"] in ("start", "grow")]
    assert max(growing) == 100


@pytest.mark.parametrize("growth", ["description_length", "infinite_rbm"])
@pytest.mark.parametrize("limit", ["max_units", "max_steps"])
def test_limits_of_growth_are_told_of(bits, growth, limit):
    value = {"max_units": 5, "max_steps": 650}[limit]
    control = InfiniteRBMOptions(beta=1.5, threshold=0.001)
    net = EnergyNetTransformer(
        growth,
        max_layers=1,
        n_final_epochs=1,
        infinite_rbm_options=control,
        n_temperatures=100,
        random_state=0,
    ).set_params(**{limit: value})
    price = (
        "infinite_rbm_options__threshold" if growth == "infinite_rbm" else "unit_cost"
    )
    words = f"{limit}={value}: raise {limit}, or raise the cost of a unit by {price}$"
    with pytest.warns(ConvergenceWarning, match=words):
        net.fit(bits)
    assert net.width_reasons_ == [limit]
    assert price in net.get_params()


# ------------------------------------------------------------------------- features


def test_transform_is_the_forward_pass(deep, bits):
    plain = clone(deep).set_params(standardize=False, layer="all").fit(bits)
    states, expected = bits, []
    for rbm in plain.layers_:
        states = rbm.hidden_probabilities(states)
        expected.append(states)
    assert_allclose(plain.transform(bits), np.hstack(expected), atol=1e-5)
    for layer in (0, 1, 2, -1, -3):
        plain.set_params(layer=layer)
        assert_allclose(plain.transform(bits), expected[layer], atol=1e-5)


def test_features_as_those_of_scikit_learn_with_the_same_weights(bits):
    net = few(standardize=False).fit(bits)
    peer = BernoulliRBM(5, n_iter=1, random_state=0).fit(bits[:50])
    peer.components_ = net.weights_[0].astype(float)
    peer.intercept_hidden_ = net.hidden_bias_[0].astype(float)
    peer.intercept_visible_ = net.visible_bias_[0].astype(float)
    assert_allclose(net.transform(bits), peer.transform(bits), atol=1e-6)
    z = exact_log_partition(net.layers_[0]).value
    free = peer._free_energy(bits)
    assert_allclose(net.score_samples(bits), -free - z, atol=1e-4)


@pytest.mark.slow_cases("False-(-1|0)|True-1")
@pytest.mark.parametrize("layer", [0, 1, -1, "all"])
@pytest.mark.parametrize("passthrough", [False, True])
def test_features_are_standardized_and_named(deep, digits, layer, passthrough):
    net = clone(deep).set_params(layer=layer, passthrough=passthrough)
    features = net.fit(digits).transform(digits)
    names = net.get_feature_names_out()
    assert features.shape == (len(digits), len(names))
    assert len(set(names)) == len(names)
    assert_allclose(features.mean(axis=0), 0, atol=1e-9)
    constant = features.std(axis=0) == 0
    assert_allclose(features.std(axis=0)[~constant], 1)
    # Pixels that are always empty.
    assert constant.sum() == 3 * passthrough
    k = {0: 0, 1: 1, -1: 2, "all": 0}[layer]
    assert names[0] == f"layer{k}_unit0"
    assert (names[-1] == "x63") == passthrough
    if passthrough:
        net.set_params(standardize=False)
        assert_array_equal(net.transform(digits)[:, -64:], digits)


def test_names_and_frames(bits):
    frame = pd.DataFrame(bits[:, 10:14], columns=list("abcd"))
    net = few(passthrough=True).set_output(transform="pandas").fit(frame)
    found = net.transform(frame)
    assert list(found.columns[-4:]) == list("abcd")
    assert found.columns[0] == "layer0_unit0"
    assert_array_equal(net.feature_names_in_, list("abcd"))


def test_precision_of_the_features(bits):
    net = few().fit(bits)
    single = net.transform(bits.astype(np.float32))
    assert single.dtype == np.float32
    assert net.transform(bits).dtype == np.float64
    assert_allclose(single, net.transform(bits), atol=1e-4)


def test_sparse_input(bits):
    net = few().fit(sparse.csr_array(bits))
    assert_array_equal(net.weights_[0], few().fit(bits).weights_[0])
    assert_array_equal(net.transform(sparse.csr_array(bits)), net.transform(bits))


@pytest.fixture(scope="module")
def wide(digits):
    return EnergyNetTransformer(None, [40, 40], random_state=0).fit(digits)


@pytest.mark.parametrize("layer", [-1, 0, "all"])
@pytest.mark.parametrize("standardize", [True, False])
def test_reconstruction(digits, wide, layer, standardize):
    net = pickle.loads(pickle.dumps(wide))
    net.set_params(layer=layer, standardize=standardize, passthrough=True)
    back = net.inverse_transform(net.transform(digits))
    assert back.shape == digits.shape
    error = np.mean((back - digits) ** 2)
    assert error < 0.5 * np.mean((digits.mean(axis=0) - digits) ** 2)
    # From the top of the two, or from the first layer alone.
    used = net.layers_[: 1 if layer == 0 else 2]
    states = digits
    for rbm in used:
        states = rbm.hidden_probabilities(states)
    for rbm in reversed(used):
        states = rbm.visible_probabilities(states)
    assert_allclose(back, states, atol=1e-4)


def test_reconstruction_of_other_columns():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(500, 1))
    X = 100 + 10 * (common + 0.1 * rng.normal(size=(500, 4)))
    for coding in ("thermometer", "minmax"):
        net = few(n_components=20, coding=coding, n_final_epochs="auto").fit(X)
        back = net.inverse_transform(net.transform(X))
        assert np.corrcoef(back[:, 0], X[:, 0])[0, 1] > 0.9
        error = np.sqrt(np.mean((back - X) ** 2, axis=0)) / X.std(axis=0)
        assert error.max() < (0.35 if coding == "thermometer" else 0.65)


# ---------------------------------------------------------------------- likelihoods


def test_likelihood_against_enumeration():
    X = np.random.default_rng(0).integers(2, size=(300, 6)).astype(float)
    X[:, 3] = X[:, 0]
    net = few(n_components=[4, 3], n_final_epochs=30, n_draws=3000).fit(X)
    lower, upper = net.layers_
    z = exact_log_partition(upper).value
    assert net.log_partition_[1].value == pytest.approx(z)
    # p(v) = sum over h of p(h) p(v | h), with p(h) by the upper RBM.
    H, V = all_states(4), all_states(6)
    log_h = -upper.free_energy(H) - z
    p = lower.visible_probabilities(H).astype(float)
    log_v_of_h = V @ np.log(p).T + (1 - V) @ np.log1p(-p).T
    exact = np.log(np.exp(log_v_of_h + log_h).sum(axis=1))
    assert np.exp(exact).sum() == pytest.approx(1, abs=1e-5)
    assert_allclose(net.score_samples(V), exact, atol=0.1)


@pytest.mark.parametrize("widths", [5, [5, 4]])
@pytest.mark.parametrize("coding", ["probability", "thermometer"])
def test_score_of_a_sample_does_not_depend_on_those_beside_it(digits, widths, coding):
    X = digits[:20, 20:30]
    net = few(n_components=widths, coding=coding, n_draws=5).fit(X)
    found = net.score_samples(X)
    assert_array_equal(net.score_samples(X), found)
    assert_allclose(net.score_samples(X[::-1])[::-1], found, rtol=1e-12)
    assert_allclose(net.score_samples(X[7:8]), found[7:8], rtol=1e-12)
    assert net.score(X) == pytest.approx(found.mean())


def test_scores_of_layers_are_the_same_in_batches_of_any_size(
    digits, monkeypatch, replace_constants
):
    X = digits[:200, 18:28] > 0.5
    net = few(n_components=[13, 6, 5], n_draws=7).fit(X)
    found = net.score_samples(X)
    asked = []
    bernoulli = kernels.bernoulli

    def watched(probabilities, state, out):
        asked.append(len(out))
        bernoulli(probabilities, state, out)

    monkeypatch.setattr(kernels, "bernoulli", watched)
    for most, n_samples in [(4096, 200), (40, 5), (7, 1), (1, 1)]:
        replace_constants("skmohn.energynet._likelihood", max_rows=most)
        asked.clear()
        assert_array_equal(net.score_samples(X), found)
        assert asked == [7 * n_samples] * (2 * len(X) // n_samples)


def test_score_of_probabilities_is_the_mean_over_their_bits(digits):
    X = digits[:300, 18:24]
    net = few(n_final_epochs="auto").fit(X)
    every = net.score_samples(all_states(6))
    weight = np.prod(
        np.where(all_states(6)[None] == 1, X[:, None], 1 - X[:, None]), axis=2
    )
    exact = weight @ every
    assert net.score(X) == pytest.approx(exact.mean(), abs=0.1)
    assert np.corrcoef(net.score_samples(X), exact)[0, 1] > 0.9


def test_partition_function_is_estimated_when_asked_for(bits):
    bits = bits[:400]
    net = few(n_components=30, n_final_epochs="auto", n_temperatures=1000).fit(bits)
    (found,) = net.log_partition_
    assert net.log_partition_[0] is found
    # The seed is that of the fit, whenever it is asked for.
    assert clone(net).fit(bits).log_partition_ == [found]
    again = annealed_importance_sampling(net.layers_[0], bits, random_state=1)
    assert found.value == pytest.approx(again.value, abs=0.2)
    assert found.effective_sample_size > 50
    expected = dbn_log_likelihood(net.layers_, bits, found).mean()
    assert net.score(bits) == pytest.approx(expected, abs=1e-4)


def test_training_raises_the_likelihood(bits):
    untrained, trained = (
        few(n_final_epochs=0).fit(bits),
        few(n_final_epochs="auto").fit(bits),
    )
    mean = bits.mean(axis=0).clip(1e-3, 1 - 1e-3)
    independent = (bits @ np.log(mean) + (1 - bits) @ np.log(1 - mean)).mean()
    assert trained.score(bits) > independent + 3
    assert trained.score(bits) > untrained.score(bits) + 3


# -------------------------------------------------------------------------- samples


@pytest.mark.parametrize("widths", [3, [4, 3]])
def test_samples_have_the_distribution_of_the_model(widths):
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(300, 4)).astype(float)
    X[:, 1] = X[:, 0]
    net = few(n_components=widths, n_final_epochs=100).fit(X)
    *lower, top = net.layers_
    # Exact: the top's own distribution, then down through the layers.
    below = all_states(top.n_visible)
    p = np.exp(-top.free_energy(below) - exact_log_partition(top).value)
    for rbm in reversed(lower):
        V, q = all_states(rbm.n_visible), rbm.visible_probabilities(below)
        p = np.prod(np.where(V[:, None] == 1, q, 1 - q), axis=2) @ p
        below = V
    drawn = net.sample(4000, n_steps=100, random_state=0)
    assert set(np.unique(drawn)) == {0.0, 1.0}
    counts = np.bincount((drawn @ [1, 2, 4, 8]).astype(int), minlength=16)
    assert chisquare(counts, 4000 * p / p.sum()).pvalue > 0.001
    assert_array_equal(net.sample(5, random_state=3), net.sample(5, random_state=3))


@pytest.mark.parametrize(("n_columns", "width"), [(20, 7), (20, 16), (10, 30)])
def test_samples_are_of_distant_modes_as_often_as_the_model_has_them(n_columns, width):
    """Where the states of the hidden or of the visible units are few."""
    rng = np.random.default_rng(0)
    is_rare = rng.random((800, 1)) < 0.1
    X = (is_rare ^ (rng.random((800, n_columns)) < 0.02)).astype(float)
    net = few(n_components=width, n_final_epochs="auto").fit(X)
    (rbm,), V = net.layers_, all_states(n_columns)
    p = np.exp(-rbm.free_energy(V) - exact_log_partition(rbm).value)
    expected = p[V.mean(axis=1) > 0.5].sum()
    found = np.mean(net.sample(4000, 100, random_state=0).mean(axis=1) > 0.5)
    assert found == pytest.approx(expected, abs=0.03)


def test_samples_of_thermometers_look_like_the_data():
    rng = np.random.default_rng(0)
    X = rng.normal(50, 5, (400, 1)) + rng.normal(size=(400, 3))
    net = few(n_components=15, n_final_epochs="auto").fit(X)
    drawn = net.sample(500, random_state=0)
    assert np.corrcoef(drawn.T)[0, 1] > 0.7
    assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=1.5)
    for column, values in zip(drawn.T, X.T, strict=True):
        assert ks_2samp(column, values).pvalue > 1e-3


# ------------------------------------------------------------------------- going on


def test_partial_fit_keeps_the_structure_and_learns(bits):
    net = few(n_final_epochs=0).fit(bits)
    before, records = net.score(bits), list(net.history_)
    features = net.transform(bits)
    for _ in range(20):
        assert net.partial_fit(bits) is net
    assert net.score(bits) > before + 1
    assert net.n_components_per_layer_ == [5]
    assert net.history_ == records
    assert net.n_iter_ == len(records) + 20
    assert not np.allclose(net.transform(bits), features)


def test_partial_fit_from_nothing(bits):
    net, again = few(), few()
    for start in range(0, 1200, 200):
        net.partial_fit(bits[start : start + 200])
        again.partial_fit(bits[start : start + 200])
    assert net.n_iter_ == 6
    assert_array_equal(net.weights_[0], again.weights_[0])
    assert net.transform(bits[:1]).shape == (1, 5)
    # One row is enough to go on with.
    assert np.isfinite(net.partial_fit(bits[:1]).transform(bits)).all()


def test_partial_fit_of_what_grows_begins_with_a_fit(patch):
    net = by_price(unit_cost=3, max_layers=1, n_final_epochs=2)
    first = clone(net).partial_fit(patch[:100])
    fitted = clone(net).fit(patch[:100])
    assert_array_equal(first.weights_[0], fitted.weights_[0])
    first.partial_fit(patch)
    assert first.n_components_per_layer_ == fitted.n_components_per_layer_
    # It was said of other weights.
    assert not hasattr(first, "description_length_")
    assert first.score(patch) != fitted.score(patch)


def test_warm_start_goes_on(bits):
    net = few(warm_start=True, n_final_epochs=3, n_components=[5, 4], n_draws=20).fit(
        bits
    )
    first, weights = net.score(bits[:300]), net.weights_
    net.set_params(n_final_epochs=30).fit(bits)
    assert net.score(bits[:300]) > first
    assert [w.shape for w in net.weights_] == [w.shape for w in weights]
    cold = net.set_params(n_final_epochs=0).fit(bits)
    assert_array_equal(cold.weights_[0], net.weights_[0])
    grown = by_price(
        unit_cost=3, learning_rate=0.6, max_layers=1, n_final_epochs=2, warm_start=True
    )
    widths = grown.fit(bits[:200]).n_components_per_layer_
    assert any("price" in record for record in grown.history_)
    grown.set_params(unit_cost=0.01).fit(bits[:200])
    assert grown.n_components_per_layer_ == widths
    assert not any("price" in record for record in grown.history_)


def test_fitted_state_can_be_pickled(bits):
    grown = by_price(learning_rate=0.6, max_layers=1, n_final_epochs=2).fit(bits[:200])
    copy = pickle.loads(pickle.dumps(grown))
    assert_array_equal(copy.transform(bits), grown.transform(bits))
    assert copy.score(bits) == grown.score(bits)
    assert copy.history_ == grown.history_
    packed = skops.io.dumps(grown)
    trusted = skops.io.get_untrusted_types(data=packed)
    assert all(name.startswith("skmohn.") for name in trusted)
    copy = skops.io.loads(packed, trusted=trusted)
    assert_array_equal(copy.transform(bits), grown.transform(bits))


def test_nothing_before_the_fit(bits):
    net = EnergyNetTransformer()
    for name in ("layers_", "log_partition_"):
        assert not hasattr(net, name)
    for call in (net.transform, net.inverse_transform, net.score, net.score_samples):
        with pytest.raises(NotFittedError):
            call(bits)
    for call in (net.sample, net.get_feature_names_out):
        with pytest.raises(NotFittedError):
            call()


# ------------------------------------------------------------------------ callbacks


@pytest.mark.needs_sklearn("1.9", "callbacks")
@pytest.mark.parametrize("growth", ["description_length", "infinite_rbm", None])
def test_callback_can_stop_a_fit(bits, growth):
    stop = StopAfter(3)
    widths = 5 if growth is None else None
    net = EnergyNetTransformer(growth, widths, n_temperatures=300, random_state=0)
    net.set_callbacks(stop)
    net.fit(bits)
    assert len(net.history_) == 3
    assert net.stopping_reason_ == STOPPED
    assert stop.shapes[2] == net.transform(bits).shape
    assert not hasattr(net, "description_length_")
    assert np.isfinite(net.score(bits))


class Foretold(StopAfter):
    """Keep how many epochs are foretold."""

    def on_fit_task_begin(self, estimator, context):
        if context.parent is None:
            self.n_epochs = context.max_subtasks

    def on_fit_task_end(self, estimator, context):
        return False


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_steps_of_many_columns_are_finer():
    X = np.random.default_rng(0).integers(2, size=(20, 800)).astype(float)
    foretold = Foretold(0)
    wide = EnergyNetTransformer(None, [8, 3], n_temperatures=1, random_state=0)
    wide.set_callbacks(foretold).fit(X)
    # 6000 of a rate of 0.1 and 20 at once, 3000 of 0.2 for the second layer.
    assert len(wide.history_) == 300 + 150
    # The last iteration notices that there is nothing more to do; one is for long work.
    assert foretold.n_epochs == len(wide.history_) + 2


@pytest.mark.needs_sklearn("1.9", "callbacks")
@pytest.mark.parametrize(
    ("n_columns", "n_values", "n_epochs", "rate", "size"),
    [(40, 8, 5000, 0.2, 50), (800, 2, 5000, 0.1, 200), (800, 2, 50, 0.2, 50)],
)
def test_pace_of_columns_not_of_their_units(n_columns, n_values, n_epochs, rate, size):
    """Of three epochs; they could be so many."""
    X = np.random.default_rng(0).integers(n_values, size=(250, n_columns))
    paced = {"learning_rate": rate, "batch_size": size}
    auto, given = (
        EnergyNetTransformer(
            None,
            3,
            n_final_epochs=n_epochs,
            n_temperatures=1,
            random_state=0,
            **options,
        )
        .set_callbacks(StopAfter(3))
        .fit(X)
        for options in ({}, paced)
    )
    assert_array_equal(auto.weights_[0], given.weights_[0])


class KeepWeights(StopAfter):
    """Keep the weights of all epochs in the place of shapes."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name == "iteration":
            self.shapes.append([w.copy() for w in fitted_estimator.weights_])
        return len(self.shapes) >= self.n


def grown_until(stop, X):
    net = by_price(
        unit_cost=0.2, max_layers=2, max_units=16, learning_rate=1.0, n_final_epochs=2,
        n_temperatures=20, n_draws=20,
    )  # fmt: skip
    return net.set_callbacks(stop).fit(X[:100])


@pytest.fixture(scope="module")
def all_epochs(patch):
    """A fit that is not stopped: what each record is of, and the weights then."""
    watcher = KeepWeights(np.inf)
    net = grown_until(watcher, patch)
    return [(r["layer"], r["stage"]) for r in net.history_], watcher.shapes


@pytest.mark.needs_sklearn("1.9", "callbacks")
@pytest.mark.parametrize(
    "when",
    [(0, "start"), (0, "grow"), (0, "drop"), (0, "final"), (0, "layer"), (1, "start")],
)
def test_stop_leaves_the_stack_as_it_was_then(patch, all_epochs, when):
    records, weights = all_epochs
    n = records.index(when) + 1
    net = grown_until(KeepWeights(n), patch)
    assert [(r["layer"], r["stage"]) for r in net.history_] == records[:n]
    assert net.stopping_reason_ == STOPPED
    assert net.width_reasons_ == [STOPPED] * (when[0] + 1)
    for found, expected in zip(net.weights_, weights[n - 1], strict=True):
        assert_array_equal(found, expected)


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_scores_are_monitored(bits):
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring={"nats": lambda net, X, y: net.score(X)})
    # scikit-learn scores when there are targets alone.
    net = few(n_final_epochs=3).set_callbacks(monitor).fit(bits, np.zeros(len(bits)))
    log = monitor.get_logs()
    scores = [row["nats"] for row in log.data if row["task_name"] == "iteration"]
    assert len(scores) == len(net.history_) + 1
    assert scores[-1] == pytest.approx(net.score(bits))


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_progress_bar_of_unknown_length(bits, capsys):
    from sklearn.callback import ProgressBar

    pytest.importorskip("rich")
    pipeline = make_pipeline("passthrough", by_the_paper(max_units=3))
    pipeline.set_callbacks(ProgressBar(max_propagation_depth=None))
    with pytest.warns(ConvergenceWarning, match="max_units"):
        pipeline.fit(bits)
    assert "EnergyNetTransformer" in capsys.readouterr().out


# --------------------------------------------------------------------------- claims


def test_features_of_digits_are_better_than_those_before_training(bits):
    y = load_digits().target
    first, second = slice(0, 400), slice(400, 800)

    def score(n_epochs):
        net = EnergyNetTransformer(None, 20, n_final_epochs=n_epochs, random_state=0)
        features = net.fit(bits[first]).transform(bits[:800])
        model = LogisticRegression(max_iter=500).fit(features[first], y[first])
        return model.score(features[second], y[second])

    assert score(150) > score(0) + 0.03


@pytest.mark.slow
def test_digits_with_logistic_regression():
    X, y = load_digits(return_X_y=True)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    scores = {
        name: cross_val_score(
            make_pipeline(first, LogisticRegression(max_iter=500)), X / 16, y, cv=folds
        ).mean()
        for name, first in (
            ("ours", EnergyNetTransformer(None, 100, random_state=0)),
            (
                "theirs",
                BernoulliRBM(100, learning_rate=0.06, n_iter=20, random_state=0),
            ),
        )
    }
    assert scores["ours"] > 0.96
    assert scores["ours"] > scores["theirs"] + 0.01


@pytest.mark.slow
def test_structures_of_folds_are_alike(bits):
    widths = [
        by_price(learning_rate=0.6, n_final_epochs=0, max_layers=1)
        .fit(part)
        .n_components_per_layer_[0]
        for part in (bits[:1200:2], bits[1:1200:2])
    ]
    assert all(abs(a - b) <= 4 for a, b in pairwise(widths))


# ---------------------------------------------------------- thermometers and densities


@pytest.fixture(scope="module")
def correlated():
    """Two correlated normal columns around 5."""
    rng = np.random.default_rng(0)
    return 5 + rng.normal(size=(400, 1)) + 0.5 * rng.normal(size=(400, 2))


def test_outliers_are_unlikely(correlated):
    net = EnergyNetTransformer(learning_rate=0.6, random_state=0).fit(correlated)
    typical = net.score_samples(correlated).min()
    odd = [[1000, 1000], [-1000, 5], [5, 15], [9, 1]]
    assert np.all(net.score_samples(odd) < typical)
    near = net.score_samples([[5, 5], [5, 6], [4, 7], [3, 8], [2, 9]])
    assert np.all(np.diff(near) < 0)


def test_density_is_one_in_all(correlated):
    net = EnergyNetTransformer(n_components=4, n_final_epochs=30, random_state=0)
    net.fit(correlated)
    grid = np.linspace(-25, 35, 401)
    rows = np.array(np.meshgrid(grid, grid)).reshape(2, -1).T
    mass = np.exp(net.score_samples(rows)).sum() * (grid[1] - grid[0]) ** 2
    assert mass == pytest.approx(1, abs=0.03)


def test_scores_of_different_codings_can_be_compared(correlated):
    net = EnergyNetTransformer(n_components=4, random_state=0)
    search = GridSearchCV(net, {"n_bins": [2, 8]}, cv=2, refit=False).fit(correlated)
    two, eight = search.cv_results_["mean_test_score"]
    assert eight > two + 0.1
    # A Gaussian of the right covariance is the best there is.
    best = multivariate_normal(correlated.mean(axis=0), np.cov(correlated.T))
    assert eight < best.logpdf(correlated).mean()
    # In other units densities are others, by as much for both.
    scaled = clone(search).fit(correlated * 10).cv_results_["mean_test_score"]
    assert_allclose(scaled, [two - 2 * np.log(10), eight - 2 * np.log(10)], atol=1e-6)


def test_what_a_fit_says_is_what_a_score_says(correlated):
    # Records are of the layers.
    net = EnergyNetTransformer(
        density="layers", monitor=50, learning_rate=0.6, random_state=0
    )
    net.fit(correlated)
    assert net.log_likelihood_[-1] == pytest.approx(net.score(correlated), abs=1e-3)
    assert net.description_length_[-1] == pytest.approx(
        net.complexity_[-1] - 400 * net.log_likelihood_[-1]
    )
    measured = [r["log_likelihood"] for r in net.history_ if "epoch" in r and (
        "log_likelihood" in r
    )]  # fmt: skip
    assert measured[-1] == pytest.approx(net.score(correlated), abs=0.2)


@pytest.mark.parametrize("widths", [3, [4, 3]])
def test_samples_are_numbers_within_levels_and_single_values(widths):
    X = np.column_stack([load_wine().data[:, :3], np.arange(178) % 3, np.full(178, 7)])
    net = EnergyNetTransformer(
        n_components=widths, n_final_epochs=20, random_state=0
    ).fit(X)
    drawn = net.sample(200, 20, random_state=0)
    for j in range(3):
        thresholds = net.coding_.thresholds[j]
        level = np.searchsorted(thresholds, drawn[:, j])
        assert len(np.unique(level)) == len(thresholds) + 1
        within = drawn[(level > 0) & (level < len(thresholds)), j]
        assert len(np.unique(within)) == len(within)
    assert set(drawn[:, 3]) == {0.0, 1.0, 2.0}
    assert set(drawn[:, 4]) == {7.0}


# --------------------------------------------------------------- weights of samples


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_components": [3, 2]},
        {
            "growth": "infinite_rbm",
            "max_layers": 1,
            "infinite_rbm_options__threshold": 0.9,
        },
    ],
)
def test_whole_weights_are_repeated_rows_in_any_order(parameters):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 3)), rng.integers(0, 4, 60)
    net = EnergyNetTransformer(n_final_epochs=5, random_state=0).set_params(
        **parameters
    )
    order = rng.permutation(60)
    repeated = clone(net).fit(X.repeat(weights, axis=0))
    weighted = clone(net).fit(X[order], sample_weight=weights[order])
    for name in ("weights_", "hidden_bias_", "visible_bias_"):
        for one, two in zip(
            getattr(weighted, name), getattr(repeated, name), strict=True
        ):
            assert_array_equal(one, two)
    assert_allclose(weighted.transform(X), repeated.transform(X), rtol=1e-9)
    assert weighted.n_samples_seen_ == weights.sum()
    one, two = (
        clone(net).set_params(growth=None, n_components=3).partial_fit(*args)
        for args in ((X, None, weights), (X.repeat(weights, axis=0),))
    )
    assert_array_equal(one.weights_[0], two.weights_[0])


def test_other_weights_say_how_often_a_sample_counts():
    X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 50, axis=0)
    weights = np.repeat([0.3, 0.9], 50)
    net = few(n_components=2, n_final_epochs=100).fit(X, sample_weight=weights)
    assert net.n_samples_seen_ == 100
    drawn = net.sample(1000, 100, random_state=0)
    assert drawn[:, 0].mean() == pytest.approx(0.75, abs=0.08)
    same = few(n_components=2, n_final_epochs=100).fit(X, sample_weight=weights * 1e-9)
    assert_array_equal(same.weights_[0], net.weights_[0])


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.zeros(60), "non-zero number"),
        (-np.ones(60), "[Nn]egative"),
        (np.ones(3), "60"),
    ],
)
def test_impossible_weights(weights, words):
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(ValueError, match=words):
        few().fit(X, sample_weight=weights)


# ------------------------------------------------ partition functions, badly known

PARTITION = "skmohn.energynet._partition"


def test_a_partition_function_that_is_not_known_is_told_of(monkeypatch):
    asked = []

    def estimate(rbm, X, *, n_temperatures, **options):
        asked.append(n_temperatures)
        return n_temperatures

    def estimate_of(n_temperatures):
        return LogPartition(1.0, 1.0, 2.0 + n_temperatures / 1000)

    monkeypatch.setattr(f"{PARTITION}.annealed_weights", estimate)
    monkeypatch.setattr(f"{PARTITION}.log_partition_of", estimate_of)
    monkeypatch.setattr(f"{PARTITION}.is_enumerable", lambda rbm: False)
    net = few(n_temperatures=1000, n_final_epochs=2).fit(all_states(6))
    with pytest.warns(UserWarning, match=r"size .* is 6\.0.*raise n_temperatures"):
        net.score(all_states(6))
    # Few of them first, as no more may be needed.
    assert asked == [16, 63, 250, 1000, 4000]
    asked.clear()
    net = few(n_temperatures=2000, n_final_epochs=2).fit(all_states(6))
    assert net.log_partition_[0].effective_sample_size == 10.0
    net = few(n_temperatures=9000, n_final_epochs=2).fit(all_states(6))
    assert net.log_partition_[0].effective_sample_size == 11.0
    assert asked == [32, 125, 500, 2000, 8000, 141, 563, 2250, 9000]


def test_memory_is_that_of_the_table_its_units_and_a_batch():
    X = np.random.default_rng(0).normal(size=(30_000, 8))
    net = EnergyNetTransformer(
        None, 2, n_final_epochs=1, n_temperatures=5, random_state=0
    )
    net.fit(X[:100]).score(X[:100])
    units = 4 * 7 * X.size
    peaks = []
    tracemalloc.start()
    for call in (net.fit, net.transform, net.score_samples):
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        call(X)
        peaks.append(tracemalloc.get_traced_memory()[1] - before)
    tracemalloc.stop()
    # In another order, and as units.
    assert peaks[0] < X.nbytes + 1.5 * units
    assert max(peaks[1:]) < units


@pytest.mark.parametrize("parameters", [{}, {"whiten": True}, {"coding": "minmax"}])
def test_how_a_table_lies_in_memory_does_not_matter(parameters):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(50, 5)) @ rng.normal(size=(5, 5))
    net = few(n_components=3, n_final_epochs=2, **parameters)
    expected = clone(net).fit(table)
    for other in (
        np.asfortranarray(table),
        np.repeat(table, 2, axis=1)[:, ::2],
        pd.DataFrame(table),
    ):
        model = clone(net).fit(other)
        assert_array_equal(model.weights_[0], expected.weights_[0])
        for method in ("transform", "score_samples"):
            found = getattr(model, method)(other)
            assert_array_equal(found, getattr(expected, method)(table))
