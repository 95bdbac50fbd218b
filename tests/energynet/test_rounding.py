"""Numbers that are equal but for rounding, and the same numbers far from zero."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from skmohn import (
    EnergyNetClassifier,
    EnergyNetImputer,
    EnergyNetOutlierDetector,
    EnergyNetRegressor,
    EnergyNetTransformer,
)


def mixed_table(n=80, seed=1):
    """Measurements, grades in tenths, words and flags, some of them missing."""
    rng = np.random.default_rng(seed)
    columns = {
        "a": rng.normal(size=n),
        "b": rng.exponential(size=n),
        "h": np.round(rng.normal(size=n), 1),
    }
    numbers = pd.DataFrame(columns).astype(np.float32).astype(np.float64)
    y = numbers["b"] + numbers["h"] + 0.5 * rng.normal(size=n)
    numbers.loc[rng.random(n) < 0.1, "b"] = np.nan
    words = {"c": pd.Categorical(rng.choice(list("xyz"), n)), "d": rng.random(n) < 0.5}
    return numbers.assign(**words), y.to_numpy()


def change(X, how):
    """The same numbers, but for rounding or the origin."""
    numbers = ["a", "b", "h"]
    X = X.copy()
    if how == "shift":
        X[numbers] += 1e6
    elif how == "float32":
        X[numbers] = X[numbers].astype(np.float32)
    else:
        noise = np.random.default_rng(0).normal(size=(len(X), 3))
        X[numbers] *= 1.0 + 1e-12 * noise
    return X


@cache
def answers(cls, how):
    """What a network says of the table that it learned from."""
    X, y = mixed_table()
    y = (y > 1.0).astype(int) if cls is EnergyNetClassifier else y
    X = X if how == "as it is" else change(X, how)
    model = cls(random_state=0).fit(X, y)
    return model.predict_proba(X) if cls is EnergyNetClassifier else model.predict(X)


# Inputs take one path to either network.
@pytest.mark.slow_cases("EnergyNetRegressor-.*")
@pytest.mark.parametrize("how", ["shift", "float32", "noise"])
@pytest.mark.parametrize("cls", [EnergyNetClassifier, EnergyNetRegressor])
def test_networks_do_not_multiply_rounding(cls, how):
    # It was up to 0.16 in probabilities.
    assert_allclose(answers(cls, how), answers(cls, "as it is"), atol=1e-5)


FEW_UNITS = EnergyNetTransformer(None, 3, n_final_epochs=20, random_state=0)


@pytest.mark.parametrize(
    "detector",
    [FEW_UNITS, EnergyNetOutlierDetector(FEW_UNITS, random_state=0)],
    ids=lambda detector: type(detector).__name__,
)
def test_thresholds_do_not_split_numbers_that_differ_by_rounding(detector):
    X, _ = mixed_table()
    expected, found = (
        clone(detector).fit(table).score_samples(table)
        for table in (X, change(X, "noise"))
    )
    assert_allclose(found, expected, atol=1e-5)


def test_rows_of_fit_are_the_same_anomalies_in_fewer_digits():
    rng = np.random.default_rng(0)
    X = rng.normal(10.0, 1.0, size=(60, 3))
    X[0], X[1] = [14.0, 6.0, 14.0], [1e6, 10.0, 10.0]
    detector = EnergyNetOutlierDetector(FEW_UNITS, random_state=0).fit(X)
    expected = detector.score_samples(X)
    six_digits = [[float(f"{value:.6g}") for value in row] for row in X.tolist()]
    for rounded in (X.astype(np.float32), six_digits):
        # It was up to 0.6: a row counted among its own neighbors. Ranks of 60 rows are
        # 0.016 and more apart, and scores between them are interpolated.
        assert_allclose(detector.score_samples(rounded), expected, atol=5e-3)


def test_units_of_numbers_with_settings():
    X, _ = mixed_table()
    table = X[["a", "b", "h"]]
    models = [
        clone(FEW_UNITS).fit(part)
        for part in (table, change(X, "noise")[["a", "b", "h"]])
    ]
    codings = [model.coding_ for model in models]
    for j in range(3):
        thresholds = [coding.thresholds[j] for coding in codings]
        assert_allclose(thresholds[1], thresholds[0], atol=1e-9)
    assert_array_equal(codings[0].atom_fractions[2], codings[1].atom_fractions[2])


def test_fills_and_scores_of_rows_that_are_equal_but_for_rounding():
    rng = np.random.default_rng(0)
    n = 40
    X = np.column_stack([rng.choice([0.0, 1.0], (n, 2)), rng.poisson(3, (n, 2))])
    X = np.column_stack([X, rng.normal(size=n)])
    rounded = X * (1.0 + 1e-12 * rng.normal(size=X.shape))
    copies = X.repeat(2, axis=0)
    jittered = copies * (1.0 + 1e-12 * rng.normal(size=copies.shape))
    stack = EnergyNetTransformer(
        n_components=3, whiten=True, n_final_epochs=5, random_state=0
    )
    detector = EnergyNetOutlierDetector(stack)
    for table, other in ((X, rounded), (copies, jittered)):
        expected, found = (
            detector.fit(rows).score_samples(X) for rows in (table, other)
        )
        # It was up to 1.3 standard deviations of the scores.
        assert_allclose(found, expected, atol=1e-5)
    X[::3, 0] = X[1::3, 4] = rounded[::3, 0] = rounded[1::3, 4] = np.nan
    imputer = EnergyNetImputer(stack)
    expected, found = (imputer.fit(rows).transform(X) for rows in (X, rounded))
    assert_allclose(found, expected, atol=1e-5)
