"""What is measured of networks while they are trained, in the scripts on S4."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss

from benchmarks.shared import common, traces

RNG = np.random.default_rng(0)


def test_classes_become_columns():
    y = np.repeat(["b", "a", "c"], 20)
    table = traces.Table.of(RNG.normal(size=(60, 2)), y, seed=1)
    assert table.y.shape == (42, 3)
    assert_array_equal(table.y.sum(axis=1), 1)
    total = table.y.sum(axis=0) + table.y_test.sum(axis=0)
    assert_array_equal(total, [20, 20, 20])


def test_cross_entropy_is_the_sum_over_all_outputs():
    target = RNG.integers(2, size=(30, 3)).astype(float)
    output = RNG.uniform(0.01, 0.99, size=(30, 3))
    by_column = [log_loss(target[:, k], output[:, k], labels=[0, 1]) for k in range(3)]
    assert_allclose(traces.cross_entropy(target, output), sum(by_column))
    # What is no probability counts as one that is nearly certain.
    far = traces.cross_entropy(np.ones((1, 1)), np.array([[-2.0]]))
    assert_allclose(far, -np.log(traces.CLIP))


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(common, "clock", lambda: now[0])
    return now


def test_a_look_takes_no_time_of_the_training(clock):
    table = traces.Table(
        np.zeros((2, 1)), np.ones((2, 1)), np.zeros((3, 1)), np.ones((3, 1))
    )
    trace = traces.Trace(table, "squared")

    def outputs_of(X):
        clock[0] += 100.0
        return np.full(len(X), 0.5)

    clock[0] = 4.0
    trace.look(outputs_of, 0.0)
    clock[0] += 0.1
    # Not due yet.
    trace.look(outputs_of, 0.5 / traces.LOOKS)
    clock[0] += 5.9
    trace.look(outputs_of, 1.0 / traces.LOOKS)
    assert_allclose(trace.seconds, [4.0, 10.0])
    assert trace.train == trace.test == [0.5, 0.5]


def test_a_sweep_tells_the_mean_and_its_spread():
    tables, kept, stored = [0.1, 0.3], {}, []

    def run(table, units, seed):
        trace = traces.Trace(None, "squared", [2.0], [0.0], [table / units])
        return trace, seed

    report = SimpleNamespace(
        options=SimpleNamespace(seeds=range(5, 7)),
        run=lambda what, seed, **found: stored.append((what, seed, found["test"])),
    )
    rows = list(traces.sweep(report, [("a", (1, 2), run)], tables, kept))
    assert rows[0] == ("a", 1, 2, "0.2 ± 0.14", "0.2000", "0.0000", 2.0)
    assert stored[1] == ("a, 1", 6, 0.3)
    assert kept["a", 2][0][1] == 5
    assert traces.best(kept, "a") == (2, pytest.approx(0.1))
