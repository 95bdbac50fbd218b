"""Integers that floats do not keep apart, such as identifiers of databases."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from skmohn import BLMRegressor, EnergyNetTransformer, MOHNClassifier, MOHNRegressor

N = 24
STEPS = np.arange(N) % 4
LONG = 2**62 + STEPS
FLAGS = np.arange(N) % 3 % 2
COLUMNS = {
    "int64": LONG,
    "uint64": LONG.astype(np.uint64),
    "objects": pd.Series([2**70 + int(step) for step in STEPS], dtype=object),
    "nullable": pd.array([pd.NA, *LONG[1:].tolist()], dtype="Int64"),
    "arrow": pd.Series(LONG, dtype="int64[pyarrow]"),
}
# Which floats keep apart, or which are no numbers.
APART = {
    "short": 2**53 - STEPS,
    "spaced": 2**62 + 2**12 * STEPS,
    "constant": np.full(N, 2**62 + 1),
    "negative": np.where(STEPS == 0, -(2**63), STEPS),
    "text": LONG.astype(str),
    "bool": STEPS > 1,
}
MODELS = [
    MOHNRegressor("gp", random_state=0),
    BLMRegressor((2,), n_bits=4, max_flips=20, random_state=0),
    EnergyNetTransformer(None, 2, n_final_epochs=1, random_state=0),
]


def warnings_of_merged(model, X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [str(w.message) for w in caught if "2 ** 53" in str(w.message)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_columns_whose_integers_merge_are_named_once(model):
    kinds = ["objects"] if isinstance(model, BLMRegressor) else list(COLUMNS)
    for kind in {*kinds, "int64", "uint64", "arrow"}:
        X = pd.DataFrame({"id": COLUMNS[kind], "flag": FLAGS})
        (message,) = warnings_of_merged(clone(model), X, STEPS)
        assert message.startswith("column id has integers above 2 ** 53")
        assert message.endswith("or convert identifiers to text with astype(str)")
    both = np.column_stack([LONG, STEPS, LONG])
    (message,) = warnings_of_merged(clone(model), both, STEPS)
    assert message.startswith("column 0, column 2 have integers")
    for library in (pl.DataFrame, pa.table):
        X = library({"flag": FLAGS, "id": LONG})
        assert len(warnings_of_merged(clone(model), X, STEPS)) == 1


@pytest.mark.parametrize("kind", APART)
def test_others_are_not(kind):
    X = pd.DataFrame({"id": APART[kind], "flag": FLAGS})
    model = MOHNRegressor("gp", outliers="keep", random_state=0)
    assert warnings_of_merged(model, X, STEPS) == []
    if kind not in {"text", "negative"}:
        assert warnings_of_merged(model, X[["flag"]], APART[kind]) == []


def test_beside_categories_and_not_of_them():
    X = pd.DataFrame({"letter": list("ab") * (N // 2), "id": LONG})
    assert len(warnings_of_merged(MOHNRegressor("gp"), X, STEPS)) == 1
    model = MOHNRegressor("gp", categorical_features=["letter", "id"])
    assert warnings_of_merged(model, X, STEPS) == []
    assert model.score(X, STEPS) > 0.99


@pytest.mark.parametrize("model", MODELS[:2], ids=lambda model: type(model).__name__)
def test_targets_that_merge_are_warned_of_once(model):
    for y in (LONG, COLUMNS["objects"], np.column_stack([STEPS, LONG])):
        (message,) = warnings_of_merged(clone(model), FLAGS[:, None], y)
        assert message.startswith("y has integers above 2 ** 53 that differ")


def test_classes_are_kept_apart():
    model = MOHNClassifier("gp", random_state=0)
    assert warnings_of_merged(model, STEPS[:, None], LONG) == []
    np.testing.assert_array_equal(model.predict(STEPS[:, None]), LONG)
