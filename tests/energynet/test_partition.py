"""Partition functions against the list of all states."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from skmohn.energynet import (
    RBM,
    LogPartition,
    annealed_importance_sampling,
    exact_log_partition,
    log_partition,
)
from skmohn.energynet._groups import Groups
from skmohn.energynet._partition import (
    annealed_weights,
    conservative_log_z,
    converged_log_partition,
    log_partition_of,
    warn_if_unreliable,
)

PARTITION = "skmohn.energynet._partition"


def draws(exact, n, seed=0):
    """Independent samples of the exact distribution."""
    p = exact.joint.sum(axis=1)
    return exact.V[np.random.default_rng(seed).choice(len(p), n, p=p / p.sum())]


def rbm_of_zeros(n_visible, n_hidden):
    """An RBM all of whose states have the same probability."""
    return RBM(np.zeros((n_hidden, n_visible)), np.zeros(n_hidden), np.zeros(n_visible))


@given(st.integers(0, 1000), st.integers(1, 7), st.integers(0, 7))
def test_exact_log_partition_is_the_sum_over_states(
    list_states, seed, n_visible, n_hidden
):
    exact = list_states(n_visible, n_hidden, seed=seed, scale=2.0)
    assert_allclose(exact_log_partition(exact.rbm).value, exact.log_z, rtol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 500.0])
@pytest.mark.parametrize("groups", [None, np.array([2, 4, 1, 3])])
@pytest.mark.parametrize("n_hidden", [5, 9])
def test_exact_log_partition_of_more_states_than_go_together(
    list_states, n_hidden, groups, scale
):
    """Of either side, and of weights whose exponentials overflow."""
    exact = list_states(10, n_hidden, seed=1, scale=scale, groups=groups)
    assert_allclose(exact_log_partition(exact.rbm).value, exact.log_z, rtol=1e-12)


def test_exact_log_partition_where_products_of_units_would_overflow():
    rng = np.random.default_rng(0)
    rbm = RBM(rng.normal(0, 20, (9, 60)), rng.normal(size=9), rng.normal(size=60))
    H = ((np.arange(512)[:, None] >> np.arange(9)) & 1).astype(float)
    logits = H @ rbm.weights.astype(float) + rbm.visible_bias
    exponents = H @ rbm.hidden_bias + np.logaddexp(0, logits).sum(axis=1)
    assert exponents.max() > 1000
    assert_allclose(
        exact_log_partition(rbm).value, np.logaddexp.reduce(exponents), rtol=1e-12
    )


def test_exact_log_partition_of_products_just_beyond_what_overflows():
    bias = np.array([20.0, 590.0, 580.0])
    exact = exact_log_partition(RBM(np.zeros((3, 2)), bias, np.zeros(2))).value
    assert exact == pytest.approx(bias.sum() + 2 * np.log(2))


def test_exact_log_partition_goes_through_many_states():
    exact = exact_log_partition(rbm_of_zeros(21, 14))
    assert exact.value == pytest.approx(35 * np.log(2), rel=1e-12)
    assert (exact.standard_error, exact.effective_sample_size) == (0.0, np.inf)


def test_exact_log_partition_refuses_large_rbms():
    rbm = rbm_of_zeros(30, 21)
    with pytest.raises(ValueError, match="use annealed_importance_sampling"):
        exact_log_partition(rbm)


@pytest.mark.slow_cases("[2-4]")
@pytest.mark.parametrize("seed", range(5))
def test_ais_is_within_a_hundredth_of_a_nat_at_the_defaults(list_states, seed):
    exact = list_states(10, 7, seed=seed, scale=1.5)
    estimate = annealed_importance_sampling(
        exact.rbm, draws(exact, 500), random_state=seed
    )
    assert abs(estimate.value - exact.log_z) < 0.01
    assert estimate.standard_error < 0.005
    assert estimate.effective_sample_size > 90


def test_ais_counts_the_levels_that_groups_can_have(list_states):
    exact = list_states(10, 7, seed=0, groups=np.array([2, 4, 1, 3]))
    estimate = annealed_importance_sampling(
        exact.rbm, draws(exact, 500), n_temperatures=1000, random_state=0
    )
    assert estimate.value == pytest.approx(exact.log_z, abs=0.02)


def test_standard_error_is_the_spread_of_estimates(list_states):
    exact = list_states(10, 7, seed=1, scale=1.5)
    found = [
        annealed_importance_sampling(
            exact.rbm, draws(exact, 500), n_temperatures=10, random_state=seed
        )
        for seed in range(200)
    ]
    errors = np.array([f.value for f in found]) - exact.log_z
    claimed = np.sqrt(np.mean([f.standard_error**2 for f in found]))
    assert errors.std() == pytest.approx(claimed, rel=0.25)
    assert abs(errors.mean()) < 0.5 * errors.std()
    assert np.mean([f.effective_sample_size for f in found]) < 95


def test_any_data_may_be_the_start(list_states):
    exact = list_states(6, 4, seed=2)
    for X in (np.zeros((3, 6)), np.ones((3, 6)), np.full((2, 6), 0.3)):
        estimate = annealed_importance_sampling(exact.rbm, X, random_state=0)
        assert estimate.value == pytest.approx(exact.log_z, abs=0.02)


def test_estimates_can_be_repeated(listed):
    first, again, other = (
        annealed_importance_sampling(
            listed.rbm, listed.V, n_temperatures=20, random_state=seed
        )
        for seed in (3, 3, 4)
    )
    assert first == again != other


def test_log_partition_is_exact_where_that_is_fast(listed):
    assert log_partition(listed.rbm, listed.V) == exact_log_partition(listed.rbm)
    large = rbm_of_zeros(30, 25)
    estimate = log_partition(
        large, np.full((2, 30), 0.5), n_temperatures=3, n_chains=5, random_state=0
    )
    assert isinstance(estimate, LogPartition)
    assert estimate.value == pytest.approx(55 * np.log(2), rel=1e-5)
    assert estimate.effective_sample_size == pytest.approx(5)


@pytest.mark.parametrize(
    ("n_visible", "n_hidden", "is_exact"),
    [
        (8, 25, True),
        (25, 8, True),
        (21, 21, False),  # too many states, though there are few units
        (18, 400, False),  # states that could be listed, of too many units
        (400, 18, False),
        (1100, 1030, False),  # as many states as no float can count
    ],
)
def test_states_are_listed_where_there_are_few(n_visible, n_hidden, is_exact):
    X = np.full((2, n_visible), 0.5)
    found = log_partition(
        rbm_of_zeros(n_visible, n_hidden),
        X, n_temperatures=1, n_chains=2, random_state=0,
    )  # fmt: skip
    assert (found.effective_sample_size == np.inf) == is_exact
    assert found.value == pytest.approx((n_visible + n_hidden) * np.log(2), rel=1e-5)


@pytest.mark.parametrize(
    ("seed", "scale", "taken"),
    [
        (8, 1.0, 0),  # the first one does, though more temperatures give a better one
        (0, 1.0, 1),
        (8, 3.0, 0),  # more temperatures give a worse one
    ],
)
def test_an_estimate_that_does_not_do_is_made_again(seed, scale, taken):
    rng = np.random.default_rng(seed)
    shapes = (22, 22), 22, 22
    rbm = RBM(*(rng.normal(0.0, scale, shape) for shape in shapes))
    X = np.full((2, 22), 0.5)
    options = {"n_chains": 30, "random_state": seed}
    tried = [log_partition(rbm, X, n_temperatures=n, **options) for n in (10, 40)]
    sizes = [found.effective_sample_size for found in tried]
    assert (sizes[0] >= 10, np.argmax(sizes)) in [(True, 1), (False, taken)]
    found = converged_log_partition(rbm, X, n_temperatures=10, **options)
    assert found == tried[taken]


def test_few_temperatures_are_enough_where_they_agree(monkeypatch):
    rng = np.random.default_rng(0)
    rbm = RBM(rng.normal(0.0, 0.2, (18, 30)), np.zeros(18), np.zeros(30))
    X = np.full((2, 30), 0.5)
    exact = exact_log_partition(rbm).value
    asked = []

    def watched(*args, n_temperatures, **options):
        asked.append(n_temperatures)
        return annealed_weights(*args, n_temperatures=n_temperatures, **options)

    monkeypatch.setattr(f"{PARTITION}.annealed_weights", watched)
    monkeypatch.setattr(f"{PARTITION}.is_enumerable", lambda rbm: False)
    found = converged_log_partition(rbm, X, n_temperatures=6400, random_state=0)
    assert asked == [100, 400]
    assert found.value == pytest.approx(exact, abs=4 * found.standard_error)
    assert found.standard_error <= 0.05


@pytest.mark.parametrize(("spread", "step"), [(1.5, 0.0), (0.1, 1.0)])
def test_all_temperatures_are_taken_where_they_are_needed(monkeypatch, spread, step):
    # Weights that spread, or estimates that are apart.
    asked = []

    def annealed(*args, n_temperatures, **options):
        asked.append(n_temperatures)
        return [spread * np.linspace(-1.0, 1.0, 100) + step * len(asked)]

    monkeypatch.setattr(f"{PARTITION}.annealed_weights", annealed)
    monkeypatch.setattr(f"{PARTITION}.is_enumerable", lambda rbm: False)
    rbm = rbm_of_zeros(3, 3)
    converged_log_partition(rbm, np.full((2, 3), 0.5), n_temperatures=6400)
    assert asked == [100, 400, 1600, 6400]


def hidden_mode(n, lift):
    """An RBM of one unit whose chains hardly ever find most of its probability."""
    slope = 4.0
    bias = n * np.log(2.0) + lift - n * np.logaddexp(0.0, slope)
    return RBM(np.full((1, n), slope), [bias], np.zeros(n))


def test_modes_that_chains_miss_are_found_by_a_narrow_rbm(monkeypatch):
    rbm, reference_rbm = hidden_mode(80, 15.0), hidden_mode(80, 14.0)
    X = np.full((2, 80), 0.5, np.float32)
    exact = exact_log_partition(rbm).value
    options = {"n_temperatures": 200, "random_state": 0}
    alone = annealed_importance_sampling(rbm, X, **options)
    # Sure, and wrong.
    assert alone.effective_sample_size > 90
    assert alone.value < exact - 10
    weights = annealed_weights(rbm, X, reference_rbm=reference_rbm, **options)
    assert [len(of_start) for of_start in weights] == [50, 50]
    found = log_partition_of(weights)
    assert found.value == pytest.approx(exact, abs=3 * found.standard_error + 0.01)
    assert converged_log_partition(rbm, X, **options).value == exact
    monkeypatch.setattr(f"{PARTITION}.is_enumerable", lambda rbm: False)
    settled = converged_log_partition(rbm, X, reference_rbm=reference_rbm, **options)
    assert settled.value == pytest.approx(exact, abs=0.1)
    assert converged_log_partition(rbm, X, **options).value < exact - 10


@pytest.mark.parametrize("groups", [None, Groups([3, 2, 3], [True, False, True])])
def test_chains_from_an_rbm_have_weights_without_bias(list_states, groups):
    listed = list_states(8, 5, seed=0, groups=groups)
    reference_rbm = list_states(8, 3, seed=1, groups=groups).rbm
    X = np.random.default_rng(0).random((20, 8)).astype(np.float32)
    if groups is not None:
        X = np.minimum.accumulate(X, axis=1) / 3.0
    (_, weights) = annealed_weights(
        listed.rbm,
        X,
        reference_rbm=reference_rbm,
        n_temperatures=8,
        n_chains=8000,
        random_state=0,
    )
    error = np.exp(weights - listed.log_z).std() / np.sqrt(len(weights))
    mean = np.exp(weights - listed.log_z).mean()
    assert error < 0.05
    assert mean == pytest.approx(1.0, abs=3.5 * error)


def test_estimates_that_agree_are_one():
    rng = np.random.default_rng(0)
    log_weights = [rng.normal(size=500), rng.normal(size=500)]
    found = log_partition_of(log_weights)
    assert found.value == pytest.approx(logsumexp(log_weights) - np.log(1000))
    # The mean of exp(x) is exp(1 / 2).
    assert found.value == pytest.approx(0.5, abs=0.2)
    apart = log_partition_of([log_weights[0], log_weights[1] + 9.0])
    assert apart.value == pytest.approx(logsumexp(log_weights[1]) + 9.0 - np.log(500))
    assert conservative_log_z(log_weights) == pytest.approx(0.5, abs=0.2)
    assert conservative_log_z([log_weights[0], 3.0 * log_weights[1]]) == pytest.approx(
        4.5, abs=0.8
    )
    # What says little of the same value is not asked: alone it would be 3.
    spread = 4.0 * log_weights[1] - 5.0
    assert conservative_log_z([spread, log_weights[0]]) == pytest.approx(0.5, abs=0.2)


def test_an_unsettled_estimate_is_said():
    warn_if_unreliable(LogPartition(0.0, 0.1, 10.0), 1)
    with pytest.warns(UserWarning, match="layer 1 may be wrong"):
        warn_if_unreliable(LogPartition(0.0, 0.1, 9.9), 1)


@pytest.mark.parametrize("options", [{"n_temperatures": 0}, {"n_chains": 1}])
def test_bad_counts_are_refused(listed, options):
    with pytest.raises(ValueError, match=f"'{next(iter(options))}' parameter of"):
        annealed_importance_sampling(listed.rbm, listed.V, **options)


def test_what_is_no_rbm_or_does_not_fit_is_refused(listed):
    with pytest.raises(ValueError, match="'rbm' parameter of"):
        exact_log_partition(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="'rbm' parameter of"):
        annealed_importance_sampling([], listed.V)
    for function in (annealed_importance_sampling, log_partition):
        with pytest.raises(ValueError, match="X has 4 columns instead of 5"):
            function(listed.rbm, np.zeros((2, 4)))
