"""What one row costs beside its model: counts of checks and of reads of limits."""

from unittest import mock

import numpy as np
import pytest

from skmohn import EnergyNetTransformer, MOHNRegressor
from skmohn._core import _text, _times, _validation
from skmohn.energynet import RBM, _rbm

RNG = np.random.default_rng(0)
X = RNG.integers(0, 2, (60, 8)).astype(float)


@pytest.fixture(scope="module")
def transformer():
    return EnergyNetTransformer(n_components=2, random_state=0).fit(X)


def test_limits_of_memory_are_not_read_for_one_row(transformer):
    with mock.patch.object(_validation, "memory_limit") as limit:
        transformer.transform(X[:1])
    assert not limit.called


def test_layers_of_a_stack_are_not_checked_again(transformer):
    with mock.patch.object(_rbm, "check_array", wraps=_rbm.check_array) as check:
        (layer,) = transformer.layers_
    assert not check.called
    bad = layer.weights.copy()
    bad[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        RBM(bad, layer.hidden_bias, layer.visible_bias)


def test_columns_of_numbers_are_not_looked_at():
    y = X @ np.arange(8.0)
    model = MOHNRegressor(strategy="given", terms=[0, 1]).fit(X, y)
    with (
        mock.patch.object(_text, "column_types") as of_text,
        mock.patch.object(_times, "column_types") as of_times,
    ):
        model.predict(X[:1])
    assert not of_text.called
    assert not of_times.called
