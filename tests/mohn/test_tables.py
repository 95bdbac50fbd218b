"""Tables of other libraries: dates, arrays of the array API."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from skmohn import MOHNClassifier, MOHNRegressor, MOHNTransformer

RNG = np.random.default_rng(0)
X = RNG.choice([-1.0, 1.0], (60, 6))
Y = X[:, 0] + 2.0 * X[:, 1] * X[:, 2]
WEIGHTS = RNG.integers(1, 3, 60)
MODELS = [
    MOHNRegressor("pursuit"),
    MOHNClassifier("pursuit", C=1.0, class_weight="balanced"),
    MOHNTransformer("pursuit", target_type="continuous"),
]


def answer(model, X):
    return model.transform(X) if hasattr(model, "transform") else model.predict(X)


# ---------------------------------------------------------------------- array API


@pytest.mark.parametrize("model", MODELS)
def test_arrays_of_another_library(model):
    xp = pytest.importorskip("array_api_strict")
    y = Y if not isinstance(model, MOHNClassifier) else (Y > 0).astype(int)
    expected = clone(model).fit(X, y, WEIGHTS)
    theirs, their_y, their_weights = map(xp.asarray, (X, y, WEIGHTS))
    model = clone(model).fit(theirs, their_y, their_weights)
    assert model.terms_ == expected.terms_
    assert_array_equal(answer(model, theirs), answer(expected, X))


# scikit-learn 1.6 compares their types with numpy's in r2_score, 1.6.0 their devices.
@pytest.mark.needs_sklearn("1.6.1", "a score of predictions by another library")
@pytest.mark.filterwarnings("ignore:You are comparing a array_api_strict dtype")
def test_arrays_of_another_library_in_all_that_a_regressor_does():
    xp = pytest.importorskip("array_api_strict")
    theirs, their_y = xp.asarray(X), xp.asarray(Y)
    model = MOHNRegressor("pursuit").fit(theirs, their_y, X_val=theirs, y_val=their_y)
    assert model.score(theirs, their_y) == pytest.approx(1.0)
    assert_allclose(model.explain(theirs[0, ...])["contribution"].sum(), Y[0])
    model.partial_fit(theirs, their_y)


# -------------------------------------------------------------------------- times

DAYS = np.datetime64("2024-01-01") + RNG.permutation(60)
SECONDS = DAYS.astype("datetime64[s]").astype(float)
NUMBERS = SECONDS / 86400 - 19_700


def frame_of(kind):
    flags = X[:, 0]
    day = pd.Series(DAYS)
    if kind == "polars":
        return pl.DataFrame({"day": DAYS, "flag": flags})
    if kind == "polars dates":
        days = [datetime.date(2024, 1, 1) + (d - DAYS.min()).item() for d in DAYS]
        return pl.DataFrame({"day": days, "flag": flags})
    if kind == "zone":
        day = day.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    if kind == "arrow":
        day = day.astype("timestamp[ns][pyarrow]")
    return pd.DataFrame({"day": day, "flag": flags})


@pytest.mark.parametrize("kind", ["pandas", "zone", "arrow", "polars", "polars dates"])
@pytest.mark.parametrize("model", MODELS)
def test_dates_are_numbers(model, kind):
    model = clone(model).set_params(strategy="full")
    y = NUMBERS * X[:, 0]
    y = y > 0 if isinstance(model, MOHNClassifier) else y
    numbers = np.column_stack([SECONDS, X[:, 0]])
    expected = clone(model).fit(numbers, y)
    frame = frame_of(kind)
    model.fit(frame, y)
    # scikit-learn 1.9 is the first that reads names off polars 2.
    if hasattr(StandardScaler().fit(frame[["flag"]]), "feature_names_in_"):
        assert model.feature_names_in_.tolist() == ["day", "flag"]
    assert model.coding_.kind.tolist() == ["numeric", "two-valued"]
    assert_allclose(answer(model, frame), answer(expected, numbers), rtol=1e-9)


def test_dates_beside_categories_durations_and_gaps():
    frame = pd.DataFrame(
        {
            "day": pd.Series(DAYS),
            "since": pd.Series(DAYS[::-1] - DAYS.min()),
            "sex": np.where(X[:, 0] > 0, "m", "f"),
        }
    )
    frame.loc[7, ["day", "since"]] = None
    y = NUMBERS + 10 * X[:, 0]
    model = MOHNRegressor("full", max_order=1).fit(frame, y)
    codes = np.where(frame["day"].isna(), np.nan, SECONDS)
    since = np.where(frame["since"].isna(), np.nan, SECONDS[::-1] - SECONDS.min())
    plain = np.column_stack([codes, since, X[:, 0]])
    expected = MOHNRegressor("full", max_order=1).fit(plain, y)
    assert_allclose(model.predict(frame), expected.predict(plain), rtol=1e-9)
    assert_allclose(
        model.explain(frame.iloc[3])["contribution"].sum(), model.predict(frame)[3]
    )
    assert model.categories_.keys() == {2}


def test_array_of_dates():
    table = np.column_stack([DAYS, DAYS[::-1]])
    model = MOHNRegressor("full", max_order=1).fit(table, NUMBERS)
    assert_allclose(model.predict(table), NUMBERS, atol=1e-6)
