"""What one row costs beside its model: counts of checks and of reads of limits."""

import pickle
from typing import Any
from unittest import mock

import numpy as np
import pytest
from sklearn.utils import validation

from skmohn import (
    BLMRegressor,
    EnergyNetTransformer,
    GPOptions,
    MOHNClassifier,
    MOHNRegressor,
)
from skmohn._core import _text, _times, _validation
from skmohn.energynet import RBM, _rbm
from skmohn.mohn._gp import weight_prior

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


def reader(model: Any):
    """Method that reads rows."""
    return getattr(model, "predict", None) or model.transform


@pytest.fixture(scope="module")
def numbers():
    table = RNG.uniform(size=(60, 4))
    return table, table[:, 0] + (table[:, 1] > 0.5)


@pytest.mark.parametrize(
    "model",
    [
        BLMRegressor((2,), max_flips=10),
        EnergyNetTransformer(n_components=2, passthrough=True),
        MOHNRegressor(strategy="gp"),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore:the loss was still falling")
def test_a_row_is_checked_once(model, numbers):
    table, y = numbers
    model.fit(table, y)
    read = reader(model)
    with mock.patch.object(
        validation, "check_array", wraps=validation.check_array
    ) as check:
        read(table[:1])
    assert check.call_count == 1


@pytest.mark.parametrize(
    "model",
    [
        MOHNRegressor(strategy="gp", gp_options=GPOptions(numeric="thermometer")),
        MOHNClassifier(strategy="gp"),
        EnergyNetTransformer(n_components=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_is_computed_once_is_not_stored(model, numbers):
    table, y = numbers
    model.fit(table, y > 1.0 if isinstance(model, MOHNClassifier) else y)
    stored = pickle.dumps(model)
    read = reader(model)
    found = read(table)
    assert len(pickle.dumps(model)) == len(stored)
    again = pickle.loads(stored)
    read = reader(again)
    np.testing.assert_array_equal(read(table), found)


def test_tables_of_categories_are_computed_once(numbers):
    table, y = numbers
    options = GPOptions(numeric="thermometer")
    model = MOHNRegressor(strategy="gp", gp_options=options).fit(table, y)
    model = pickle.loads(pickle.dumps(model))
    made = weight_prior.CategoryTables
    with mock.patch.object(weight_prior, "CategoryTables", wraps=made) as tables:
        model.predict(table[:1])
        model.predict(table[1:2])
    assert tables.call_count == 1
