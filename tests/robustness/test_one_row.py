"""What one row costs beside its model: counts of checks and of reads of limits."""

import pickle
import warnings
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import validation

from skmohn import (
    BLMRegressor,
    EnergyNetTransformer,
    GPOptions,
    MOHNClassifier,
    MOHNRegressor,
)
from skmohn._core import _categories, _text, _times, _validation
from skmohn.energynet import RBM, _rbm, _table
from skmohn.mohn._design import design
from skmohn.mohn._gp import covariance_function, weight_prior

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
        read(table[:1].tolist())
    assert check.call_count == 1


@pytest.fixture(scope="module")
def readers(numbers):
    """Estimators that were fitted to an array or to a data frame."""
    table, y = numbers
    frame = pd.DataFrame(table, columns=list("abcd"))
    return {
        kind: [
            MOHNRegressor(strategy="gp").fit(X, y),
            MOHNClassifier(strategy="gp").fit(X, y > 1.0),
            EnergyNetTransformer(n_components=2).fit(X),
        ]
        for kind, X in (("array", table), ("frame", frame))
    }


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_floats_are_not_checked_by_more_than_their_sum(readers, numbers, kind):
    table = numbers[0][:1]
    row = table if kind == "array" else pd.DataFrame(table, columns=list("abcd"))
    for model in readers[kind]:
        read = reader(model)
        with mock.patch.object(validation, "check_array") as check:
            read(row)
        assert not check.called


def rows_of(kind):
    """Rows as users pass them, some of which are refused."""
    table = RNG.uniform(size=(3, 4))
    frame = pd.DataFrame(table, columns=list("abcd"))
    return {
        "array": table,
        "float32": table.astype(np.float32),
        "integers": (table > 0.5).astype(int),
        "Fortran order": np.asfortranarray(table),
        "large": np.full((3, 4), 1e308),
        "unknown": np.where(table > 0.7, np.nan, table),
        "infinite": np.where(table > 0.7, np.inf, table),
        "infinities": np.array([[np.inf, -np.inf, 0.0, 0.0]]),
        "three columns": table[:, :3],
        "no rows": table[:0],
        "one dimension": table[0],
        "complex": table + 1j,
        "text": table.astype(str),
        "frame": frame,
        "frame of float and int": frame.assign(b=[0, 1, 0]),
        "frame of float and bool": frame.assign(b=[False, True, False]),
        "frame of objects": frame.astype(object),
        "frame with pandas' NA": frame.convert_dtypes().assign(b=pd.NA),
        "frame of categories": frame.assign(b=frame["b"].astype("category")),
        "frame with infinity": frame.assign(b=np.inf),
        "columns in another order": frame[list("badc")],
        "other names": frame.set_axis(list("abce"), axis=1),
        "more columns": frame.assign(e=0.0),
    }[kind]


def outcome(read, row):
    """What is returned or refused, and the warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = np.asarray(read(row)).tobytes()
        except (TypeError, ValueError) as error:
            found = repr(error)
    return found, [str(warning.message) for warning in told]


@pytest.mark.parametrize("fitted", ["array", "frame"])
@pytest.mark.parametrize("kind", [
    "array", "float32", "integers", "Fortran order", "large", "unknown", "infinite",
    "infinities", "three columns", "no rows", "one dimension", "complex", "text",
    "frame", "frame of float and int", "frame of float and bool", "frame of objects",
    "frame with pandas' NA", "frame of categories", "frame with infinity",
    "columns in another order", "other names", "more columns",
])  # fmt: skip
def test_what_is_not_checked_again_is_read_as_what_is(readers, fitted, kind):
    row = rows_of(kind)
    for model in readers[fitted]:
        found = outcome(reader(model), row)
        with (
            mock.patch.object(_categories, "array_as_fitted", return_value=None),
            mock.patch.object(_table, "array_as_fitted", return_value=None),
        ):
            assert outcome(reader(model), row) == found


def test_what_a_prior_makes_of_inputs_is_computed_once(numbers):
    table, y = numbers
    model = MOHNClassifier(strategy="gp").fit(table, y > 1.0)
    model.predict_proba(table[:1])
    with mock.patch.object(covariance_function.Prior, "tau") as tau:
        model.predict_proba(table[1:2])
    assert not tau.mock_calls


def test_terms_of_classes_are_read_once(numbers):
    table, y = numbers
    options = {"strategy": "given", "terms": [0, (1, 2)]}
    model = MOHNClassifier(**options).fit(table, y > 1.0)
    model.predict_proba(table[:1])
    with mock.patch.object(design, "flatten_sets") as flatten:
        model.predict_proba(table[1:2])
    assert not flatten.called


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
    made = weight_prior.PriorTables
    with mock.patch.object(weight_prior, "PriorTables", wraps=made) as tables:
        model.predict(table[:1])
        model.predict(table[1:2])
    assert tables.call_count == 1
