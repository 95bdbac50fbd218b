"""Numbers that are equal but for rounding, and the same numbers far from zero."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

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


@pytest.mark.parametrize("how", ["shift", "float32", "noise"])
@pytest.mark.parametrize("cls", [EnergyNetClassifier, EnergyNetRegressor])
def test_networks_do_not_multiply_rounding(cls, how):
    X, y = mixed_table()
    y = (y > 1.0).astype(int) if cls is EnergyNetClassifier else y
    other = change(X, how)
    use = "predict_proba" if cls is EnergyNetClassifier else "predict"
    expected = getattr(cls(random_state=0).fit(X, y), use)(X)
    found = getattr(cls(random_state=0).fit(other, y), use)(other)
    # It was up to 0.16 in probabilities.
    assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("cls", [EnergyNetTransformer, EnergyNetOutlierDetector])
def test_thresholds_do_not_split_numbers_that_differ_by_rounding(cls):
    X, _ = mixed_table()
    other = change(X, "noise")
    models = [cls(random_state=0).fit(table) for table in (X, other)]
    expected, found = (
        model.score_samples(table)
        for model, table in zip(models, (X, other), strict=True)
    )
    assert_allclose(found, expected, atol=1e-5)


def test_units_of_numbers_with_settings():
    X, _ = mixed_table()
    table = X[["a", "b", "h"]]
    models = [
        EnergyNetTransformer(random_state=0).fit(part)
        for part in (table, change(X, "noise")[["a", "b", "h"]])
    ]
    codings = [model.coding_ for model in models]
    for j in range(3):
        thresholds = [coding.thresholds[j] for coding in codings]
        assert_allclose(thresholds[1], thresholds[0], atol=1e-9)
    assert_array_equal(codings[0].is_point[2], codings[1].is_point[2])


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
