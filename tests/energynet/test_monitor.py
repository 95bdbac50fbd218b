"""Log-likelihoods while layers are trained, against lists of all states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from support import Callback

from skmohn import EnergyNetTransformer, InfiniteRBMOptions
from skmohn.energynet import RBM, dbn_log_likelihood, exact_log_partition
from skmohn.energynet._scoring import Monitor

NAMES = "log_likelihood", "validation_log_likelihood"


@pytest.fixture(scope="module")
def bits():
    return (load_digits().data > 6).astype(float)


def patch_of(bits):
    """Eight columns."""
    return bits[:, 18:26]


def recorded(net, name):
    return [(r["epoch"], r[name]) for r in net.history_ if name in r and "epoch" in r]


class Keep(Callback):
    """A callback that keeps the likelihoods of all states, epoch by epoch."""

    def __init__(self):
        self.found = []

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name == "iteration":
            (rbm,) = fitted_estimator.layers_
            V = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(float)
            minus_energy = -rbm.free_energy(V)
            self.found.append(minus_energy - np.logaddexp.reduce(minus_energy))


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_likelihoods_against_enumeration(bits):
    X, X_val = patch_of(bits)[:1200], patch_of(bits)[1200:]
    keep = Keep()
    net = EnergyNetTransformer(None, 5, n_final_epochs=7, monitor=2, random_state=0)
    net.set_callbacks(keep).fit(X, X_val=X_val)
    for name, samples in zip(NAMES, (X, X_val), strict=True):
        found = recorded(net, name)
        assert [epoch for epoch, _ in found] == [2, 4, 6]
        codes = (samples @ 2 ** np.arange(8)).astype(int)
        expected = [keep.found[epoch - 1][codes].mean() for epoch, _ in found]
        assert_allclose([value for _, value in found], expected, atol=1e-5)
    values = [value for _, value in recorded(net, NAMES[0])]
    assert values == sorted(values)


@pytest.mark.parametrize("growth", ["description_length", "infinite_rbm", None])
def test_monitor_changes_nothing_else(bits, growth):
    net = EnergyNetTransformer(
        growth,
        None if growth else 4,
        max_layers=1,
        n_final_epochs=3,
        n_temperatures=20,
        infinite_rbm_options=InfiniteRBMOptions(threshold=0.9, beta=1.5),
        random_state=0,
    )
    X = patch_of(bits)
    plain, watched = clone(net).fit(X), net.set_params(monitor=1).fit(X)
    assert_array_equal(plain.weights_[0], watched.weights_[0])
    assert plain.n_iter_ == watched.n_iter_
    steps = [r for r in watched.history_ if "steps" in r and "price" not in r]
    assert [r["epoch"] for r in steps] == list(range(1, len(steps) + 1))
    assert all(np.isfinite(r["log_likelihood"]) for r in steps)
    assert not any("epoch" in r for r in watched.history_ if r not in steps)
    assert not any(NAMES[1] in r for r in watched.history_)
    if growth is not None:
        # The last of them is what is found in the end.
        found = watched.log_likelihood_[0]
        assert steps[-1]["log_likelihood"] == pytest.approx(found, abs=1e-5)


def test_likelihood_of_a_stack_and_of_probabilities():
    X = load_digits().data[:100, 18:26] / 16
    net = EnergyNetTransformer(
        None, [5, 4], n_final_epochs=2, monitor=2, random_state=1
    )
    net.fit(X)
    last = net.history_[-1]
    assert (last["layer"], last["epoch"]) == (1, 4)
    # Bits are drawn once, for the score several times.
    assert last["log_likelihood"] == pytest.approx(net.score(X), abs=0.1)


def test_layer_of_many_units_is_estimated(bits):
    net = EnergyNetTransformer(None, 40, n_final_epochs=20, monitor=20, random_state=0)
    net.fit(bits)
    ((_, found),) = recorded(net, NAMES[0])
    assert found == pytest.approx(net.score(bits), abs=0.5)


def test_at_most_2000_samples_stand_for_all():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(5000, 3)).astype(np.float32)
    rbm = RBM(rng.normal(size=(2, 3)), rng.normal(size=2), rng.normal(size=3))
    monitor = Monitor({}, 1, {"nats": (X, None)}, 10, 10, seed=0)
    assert monitor.bits["nats"][0].shape == (2000, 3)
    expected = dbn_log_likelihood([rbm], X, exact_log_partition(rbm)).mean()
    assert monitor.measure([rbm])["nats"] == pytest.approx(expected, abs=0.05)


def test_training_that_goes_on_is_recorded_too(bits):
    net = EnergyNetTransformer(
        None, 5, n_final_epochs=3, monitor=1, warm_start=True, random_state=0
    )
    first = recorded(net.fit(patch_of(bits)), NAMES[0])
    further = recorded(net.fit(patch_of(bits)), NAMES[0])
    assert len(first) == len(further) == 3
    assert further[0][1] > first[0][1]
