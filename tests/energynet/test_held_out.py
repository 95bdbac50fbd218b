"""Widths by what units are worth to samples that did not train them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from skmohn import EnergyNetTransformer
from skmohn.energynet._gaps import Gaps
from skmohn.energynet._growth import HELD_OUT_REASON, NatsControl, _Ladder
from skmohn.energynet._training import Plan


def net(**parameters):
    options = {"growth": "held_out", "max_layers": 1, "n_temperatures": 1000}
    return EnergyNetTransformer(**options | {"random_state": 0} | parameters)


def test_width_is_better_for_other_samples_than_the_shortest_description():
    X = (load_digits().data >= 8).astype(float)
    train, test = X[::3], X[1::3]
    found = net().fit(train)
    shortest = net(growth="description_length").fit(train)
    assert found.score(test) > shortest.score(test) + 0.5
    wide = net(n_components=200).fit(train)
    assert found.score(test) > wide.score(test) - 0.7
    assert found.n_components_per_layer_[0] < 200
    assert found.width_reasons_ == [HELD_OUT_REASON]
    decisions = [record for record in found.history_ if "price" in record]
    assert {record["price"] for record in decisions} == {0.0}


def test_structure_that_is_not_there_is_not_learnt():
    rng = np.random.default_rng(0)
    train, test = rng.integers(0, 2, (2, 500, 8)).astype(float)
    assert net().fit(train).score(test) > -8 * np.log(2) - 0.15


@pytest.mark.parametrize("resample", [False, True])
def test_samples_that_decide_do_not_train(resample):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (50, 20)).astype(np.float32)
    rows = {tuple(row) for row in X}
    assert len(rows) == 50
    unknown = rng.random((10, 20)) < 0.3
    place = np.where(np.arange(50) < 10, np.arange(50), -1)
    plan = Plan(resample=resample, gaps=Gaps(place, unknown))
    ladder = _Ladder(X, plan, NatsControl(held_out=True), 3, lambda *_: None)
    assert (len(ladder.X), len(ladder.data)) == (40, 10)
    apart = {tuple(row) for row in ladder.X}, {tuple(row) for row in ladder.data}
    assert apart[0] | apart[1] == rows
    assert not apart[0] & apart[1]
    # Gaps go with their samples.
    for part, gaps in ((ladder.X, ladder.plan.gaps), (ladder.data, ladder.gaps)):
        places = gaps.place if gaps else np.full(len(part), -1)
        for row, k in zip(part, places, strict=True):
            assert k == place[np.flatnonzero((row == X).all(axis=1))[0]]
    ladder.take_all()
    assert ladder.X is X
    assert ladder.plan is plan


@pytest.mark.parametrize("n_samples", [2, 3, 7])
def test_few_samples(n_samples):
    X = np.random.default_rng(0).integers(0, 2, (n_samples, 4)).astype(float)
    X[0], X[1] = 0.0, 1.0
    assert np.isfinite(net().fit(X).transform(X)).all()


def test_gaps_and_categories_and_limits():
    rng = np.random.default_rng(0)
    common = rng.integers(0, 3, 300)
    X = np.column_stack([common, common, rng.normal(common)]).astype(float)
    X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    model = net(categorical_features=[0, 1]).fit(X)
    again = net(categorical_features=[0, 1]).fit(X[::-1])
    assert_array_equal(model.weights_[0], again.weights_[0])
    independent = net(categorical_features=[0, 1], n_components=1, polish=0).fit(X)
    assert model.score(X) > independent.score(X) + 0.5
    digits = (load_digits().data[:300] >= 8).astype(float)
    message = r"still growing at max_units=8: raise max_units$"
    with pytest.warns(ConvergenceWarning, match=message):
        net(max_units=8, polish=5).fit(digits)
