"""Samples with unknown values in training, against sums over all completions."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from skmohn import (
    EnergyNetClassifier,
    EnergyNetRegressor,
    EnergyNetTransformer,
    InfiniteRBMOptions,
)
from skmohn.energynet import RBM, _missing, exact_log_partition
from skmohn.energynet._groups import Groups
from skmohn.energynet._groups import list_states as list_of
from skmohn.energynet._growth import unit_values
from skmohn.energynet._likelihood import known_log_likelihoods
from skmohn.energynet._missing import MissingMask, hidden_sampler, known_free_energies
from skmohn.energynet._partition import LogPartition
from skmohn.energynet._rbm import random_stream

NAN = np.nan
MIXED = Groups([3, 1, 2, 1], [True, False, False, True])


@pytest.fixture(params=[4, 14], ids=["listed", "annealed"])
def exact(request, list_states):
    return list_states(7, request.param, seed=1, scale=0.7, groups=MIXED)


def holes(n, seed=0, groups=MIXED):
    """Samples of which columns are unknown, and their missing values."""
    rng = np.random.default_rng(seed)
    states = list_of(groups, 0, groups.n_states)
    V = states[rng.integers(len(states), size=n)].astype(np.float32)
    is_missing = rng.random((n, len(groups.sizes))) < 0.5
    is_missing[0], is_missing[1] = False, True
    incomplete = is_missing.any(axis=1)
    index = np.where(incomplete, np.cumsum(incomplete) - 1, -1)
    return V, MissingMask(
        index, np.repeat(is_missing[incomplete], groups.sizes, axis=1)
    )


def fitting(exact, V, missing):
    """For each sample, which of the listed states complete it."""
    unknown = np.zeros(V.shape, bool)
    unknown[missing.rows] = missing.unknown
    return [np.all((v == exact.V) | u, axis=1) for v, u in zip(V, unknown, strict=True)]


@pytest.fixture
def annealed_only(monkeypatch):
    """Anneal where there are few completions, too."""

    def none(rbm, unknown, n_most):
        return np.zeros(len(unknown), bool)

    monkeypatch.setattr(_missing, "have_few_completions", none)


def test_few_completions_are_summed_up(exact):
    V, missing = holes(20)
    fits = fitting(exact, V, missing)
    expected = [logsumexp(exact.log_likelihood[fit]) for fit in fits]
    # All but those of which nothing is known: as many as one chain has temperatures.
    is_short = np.sum(fits, axis=1) < MIXED.n_states
    options = {"n_chains": 1, "n_temperatures": MIXED.n_states - 1}
    found = -known_free_energies(exact.rbm, V, missing, 0, **options) - exact.log_z
    assert_allclose(found[is_short], np.array(expected)[is_short], atol=1e-5)
    errors = np.abs(found - expected)[~is_short]
    assert np.all((errors > 1e-3) == (exact.rbm.n_hidden > 12))


@pytest.mark.usefixtures("annealed_only")
def test_missing_values_are_summed_out_of_free_energies(exact):
    V, missing = holes(20)
    log_p = exact.log_likelihood
    expected = [logsumexp(log_p[fits]) for fits in fitting(exact, V, missing)]
    found, options = -known_free_energies(exact.rbm, V, missing, 0) - exact.log_z, {}
    if exact.rbm.n_hidden > 12:
        assert np.mean(found - expected) == pytest.approx(0.0, abs=0.03)
        options = {"n_chains": 400}
        found = -known_free_energies(exact.rbm, V, missing, 0, **options) - exact.log_z
        assert_allclose(found, expected, atol=0.03)
    else:
        assert_allclose(found, expected, atol=1e-4)
    # What is at missing values does not count.
    V[1] = 0.0
    same = -known_free_energies(exact.rbm, V, missing, 0, **options) - exact.log_z
    assert_allclose(same[1:], found[1:], atol=1e-12)
    assert_array_equal(
        known_free_energies(exact.rbm, V, None, 0), exact.rbm.free_energy(V)
    )


@pytest.mark.usefixtures("annealed_only")
def test_annealing_starts_near_the_means_given_what_is_known():
    """From hidden units of logit zero the errors are a quarter larger."""
    states = list_of(Groups.bits(8), 0, 2**8).astype(np.float32)
    errors = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        parameters = rng.standard_normal((14, 8)), 3.0 * rng.standard_normal(14)
        rbm = RBM(*parameters, rng.standard_normal(8))
        V = rbm.sample(100, 100, random_state=seed)
        X = np.where(rng.random(V.shape) < 0.5, np.nan, V)
        missing = MissingMask.of(X, np.ones(8, int))
        known, energies = ~np.isnan(X), rbm.free_energy(states)
        fits = [
            np.all((states == v) | ~k, axis=1) for v, k in zip(V, known, strict=True)
        ]
        expected = [logsumexp(-energies[fit]) for fit in fits]
        found = -known_free_energies(rbm, V, missing, seed, n_temperatures=5)
        errors.append(np.sqrt(np.mean((found - expected)[missing.rows] ** 2)))
    assert np.mean(errors) < 0.145


def test_missing_values_take_states_by_their_probabilities(exact):
    """A step leaves the distribution given what is known as it is."""
    V, missing = holes(2)
    n = 30_000
    V = np.repeat(V[1:], n, axis=0)
    # The second and the third column are known.
    unknown = np.zeros(7, bool)
    unknown[[0, 1, 2, 6]] = True
    missing = MissingMask(np.arange(n), np.tile(unknown, (n, 1)))
    first = V[0].copy()
    stream = random_stream(0)
    missing.burn_in(exact.rbm, V, 25, stream)
    assert_array_equal(V[:, ~unknown], np.tile(first[~unknown], (n, 1)))
    p = exact.joint.sum(axis=1)
    fits = np.all((first == exact.V) | unknown, axis=1)
    counts = [np.sum(np.all(v == V, axis=1)) for v in exact.V[fits]]
    assert sum(counts) == n
    assert np.abs(np.array(counts) / n - p[fits] / p[fits].sum()).max() < 0.012


def test_beginning_is_what_others_have():
    V, missing = holes(400)
    units = V.copy()
    rows, unknown = missing.rows, missing.unknown
    units[rows] = np.where(unknown, np.nan, units[rows])
    missing.fill_from_donors(units, MIXED, np.random.default_rng(0))
    known = np.ones(V.shape, bool)
    known[rows] = ~unknown
    assert_array_equal(units[known], V[known])
    means = np.array([V[known[:, j], j].mean() for j in range(7)])
    begun = np.array([units[~known[:, j], j].mean() for j in range(7)])
    assert np.abs(means - begun).max() < 0.1
    states = {tuple(v) for v in list_of(MIXED, 0, MIXED.n_states)}
    assert {tuple(v) for v in units} <= states


def test_value_of_a_unit_is_what_is_lost_of_the_known(list_states):
    exact = list_states(7, 4, seed=1, scale=0.7, groups=MIXED)
    rbm, (V, missing) = exact.rbm, holes(60)
    p = exact.joint.sum(axis=1)
    model = np.repeat(exact.V, np.round(p * 100_000).astype(int), axis=0)
    stream = random_stream(0)
    missing.burn_in(rbm, V, 20, stream)

    def draws():
        for _ in range(400):
            missing.burn_in(rbm, V, 1, stream)
            yield V[missing.rows]

    values, activity = unit_values(rbm, V.copy(), model.astype("f4"), missing, draws())
    kept = np.arange(rbm.n_hidden) != 2
    without = type(rbm)(
        rbm.weights[kept], rbm.hidden_bias[kept],
        rbm.visible_bias + activity[2] * rbm.weights[2], MIXED,
    )  # fmt: skip

    def log_likelihood(rbm):
        known = -known_free_energies(rbm, V, missing, 0).mean()
        return known - exact_log_partition(rbm).value

    lost = log_likelihood(rbm) - log_likelihood(without)
    assert values[2] == pytest.approx(lost, abs=0.01)


def test_likelihood_of_a_stack_adds_what_upper_layers_gain(list_states):
    lower = list_states(7, 4, seed=1, groups=MIXED)
    upper = list_states(4, 3, seed=2)
    V, missing = holes(12)
    missing.burn_in(lower.rbm, V, 20, random_stream(0))
    rbms, z = [lower.rbm, upper.rbm], LogPartition(upper.log_z)
    options = z, 4000, 0
    complete = known_log_likelihoods(rbms, V, None, *options)
    found = known_log_likelihoods(rbms, V, missing, *options)
    known = -known_free_energies(lower.rbm, V, missing, 0)
    assert_allclose(found - complete, known + lower.rbm.free_energy(V), atol=1e-5)
    assert found[0] == complete[0]
    # A stack whose upper layer says what the lower says has its likelihood.
    bits = list_states(5, 4, seed=3)
    V, missing = holes(12, groups=Groups.bits(5))
    layers = [bits.rbm, bits.rbm.transposed()]
    found = known_log_likelihoods(layers, V, missing, LogPartition(bits.log_z), 10, 0)
    expected = [logsumexp(bits.log_likelihood[f]) for f in fitting(bits, V, missing)]
    assert_allclose(found, expected, atol=1e-4)


# ------------------------------------------------------------------------ estimators


def pairs(n=600, seed=0):
    """Six bits, of which the last three copy the others."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, (n, 3))
    noise = rng.random((n, 3)) < 0.05
    return np.column_stack([first, first ^ noise]).astype(float)


def with_holes(X, fraction=0.3, seed=1):
    missing = np.random.default_rng(seed).random(X.shape) < fraction
    return np.where(missing, NAN, X)


def net(n_components=6, **parameters):
    options = {"n_final_epochs": 60, "random_state": 0, **parameters}
    return EnergyNetTransformer(n_components=n_components, **options)


def test_incomplete_samples_are_learned_from():
    X = pairs()
    missing = with_holes(X, 0.4)
    complete = missing[~np.isnan(missing).any(axis=1)]
    assert len(complete) < 60
    test = pairs(seed=7)
    found = net(n_final_epochs=200).fit(missing).score(test)
    assert found > net(n_final_epochs=200).fit(complete).score(test) + 0.3
    assert found > net(n_final_epochs=200).fit(X).score(test) - 0.6
    # A column that is never known beside another is linked by a third.
    apart = X.copy()
    apart[::2, 0], apart[1::2, 3] = NAN, NAN
    assert np.isfinite(net().fit(apart).score(test))


@pytest.mark.slow_cases("parameters0")
@pytest.mark.parametrize(
    "parameters",
    [
        {"n_components": None, "n_final_epochs": 120},
        {"n_components": [5, 3]},
        {"n_components": None, "growth": "infinite_rbm", "max_layers": 1},
        {"n_components": 4, "coding": "thermometer", "n_bins": 3},
    ],
)
def test_every_growth_learns_from_missing_values(parameters):
    X, test = with_holes(pairs(300)), pairs(seed=7)
    options = {"n_temperatures": 300, "max_layers": 1, "n_final_epochs": 250}
    if parameters.get("growth"):
        options |= {
            "infinite_rbm_options": InfiniteRBMOptions(threshold=0.9),
            "n_final_epochs": 5,
        }
        X = X[:80]
    model = net(**options | parameters).fit(X)
    again = net(**options | parameters).fit(X[::-1])
    # Neither the order of the samples, nor what stands at missing values, decides.
    assert_array_equal(model.weights_[0], again.weights_[0])
    if not parameters.get("growth"):
        independent = 6 * np.log(0.5)
        density = model.coding_.log_density(test).mean()
        assert model.score(test) - density > independent + 0.5
    assert np.isfinite(model.transform(X)).all()
    assert_array_equal(
        pickle.loads(pickle.dumps(model)).transform(X), model.transform(X)
    )
    for found in getattr(model, "log_likelihood_", []):
        assert np.isfinite(found)


def test_likelihood_of_a_fit_is_that_of_what_is_known():
    X = with_holes(pairs())
    growth = "description_length"
    model = EnergyNetTransformer(growth, random_state=0, max_layers=1).fit(X)
    assert model.log_likelihood_[0] == pytest.approx(model.score(X), abs=1e-3)
    # Unlike complete samples, these say less than all columns would.
    assert model.log_likelihood_[0] > -6 * np.log(2) * 0.75
    assert model.n_components_per_layer_[0] in (3, 4)


def test_monitor_and_warm_start_and_partial_fit():
    X = with_holes(pairs(200))
    model = net(monitor=20, warm_start=True).fit(X)
    record = [r for r in model.history_ if "log_likelihood" in r][-1]
    assert record["log_likelihood"] == pytest.approx(model.score(X), abs=0.1)
    before = model.score(X)
    assert model.fit(X).score(X) > before - 0.05
    model = net().partial_fit(X)
    for _ in range(60):
        model.partial_fit(X)
    assert model.score(X) > net(n_final_epochs=1).fit(X).score(X)
    # A batch of which a whole column is unknown.
    batch = X[:30].copy()
    batch[:, 2] = NAN
    assert np.isfinite(model.partial_fit(batch).score(X))


def test_weights_are_repeated_rows():
    X = with_holes(pairs(100))
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    model = net().fit(X, sample_weight=weights)
    repeated = net().fit(np.repeat(X, weights, axis=0))
    assert_array_equal(model.weights_[0], repeated.weights_[0])


def test_samples_of_which_nothing_is_known_say_nothing():
    X = with_holes(pairs(200))
    more = np.vstack([X, np.full((50, 6), NAN)])
    assert_array_equal(net().fit(more).weights_[0], net().fit(X).weights_[0])
    assert net().fit(more).n_samples_seen_ == len(X)


def test_appended_columns_of_a_fit_with_missing_values_are_standardized():
    X = with_holes(np.random.default_rng(0).normal(5, 2, (300, 3)), 0.2)
    features = net(passthrough=True).fit_transform(X)
    assert np.isfinite(features).all()
    assert np.abs(features[:, -3:].mean(axis=0)).max() < 0.1


@pytest.mark.slow_cases(
    "(?!(EnergyNetRegressor-generative|EnergyNetClassifier-random)$).*"
)
@pytest.mark.parametrize("init", ["random", "generative"])
@pytest.mark.parametrize("kind", [EnergyNetClassifier, EnergyNetRegressor])
def test_networks_with_labels_learn_from_missing_values(kind, init):
    X, missing = pairs(), with_holes(pairs(), 0.2)
    target = np.where(X[:, 0] == 1, 3.0, 1.0)
    model = kind(net(8), init=init, random_state=0).fit(missing, target)
    assert model.score(X, target) > 0.95
    # Where a column is unknown its copy says nearly the same.
    tell = X.copy()
    tell[:, 0] = NAN
    assert model.score(tell, target) > 0.7
    frame = pd.DataFrame(missing, columns=list("abcdef")).assign(
        word=np.where(X[:, 1] == 1, "yes", None)
    )
    frame.loc[:100, "word"] = "no"
    assert kind(net(8), init=init, random_state=0).fit(frame, target).score(
        frame, target
    ) > (0.8 if kind is EnergyNetClassifier else 0.5)


def test_a_draw_of_hidden_units_is_one_of_the_rbm(exact):
    V = holes(2)[0][:1]
    n = 20_000
    drawn = hidden_sampler(exact.rbm, random_stream(0))(np.repeat(V, n, axis=0))
    mean = exact.rbm.hidden_probabilities(V)[0]
    assert np.abs(drawn.mean(axis=0) - mean).max() < 0.02
