"""Columns by their names: what two are called is refused, what is made is unique."""

import numpy as np
import pandas as pd
import pytest

from skmohn import EnergyNetTransformer, MOHNRegressor
from skmohn._core._names import find_columns, index_names, unique_names


def test_made_names_are_counted():
    assert unique_names(["a", "b"]) == ["a", "b"]
    assert unique_names(["a", "a", "a"], {"a (2)"}) == ["a", "a (3)", "a (4)"]
    assert unique_names(["a"], ["a", "a (2)"]) == ["a (3)"]
    assert unique_names(["a", "a", "a (2)"]) == ["a", "a (2)", "a (2) (2)"]


def test_a_name_of_two_columns():
    index = index_names(["a", "b", "a"])
    assert find_columns(["b", 2], index, 3, "given") == [1, 2]
    with pytest.raises(ValueError, match=r"given has 'a'.*name of columns \[0, 2\]"):
        find_columns(["a"], index, 3, "given")


def test_a_categorical_column_of_two_names():
    X = pd.DataFrame(np.eye(3), columns=["a", "b", "a"])
    for estimator in (
        MOHNRegressor(categorical_features=["a"]),
        EnergyNetTransformer(categorical_features=["a"]),
    ):
        with pytest.raises(ValueError, match=r"categorical_features has 'a'.*\[0, 2\]"):
            estimator.fit(X, [1.0, 2.0, 3.0])


def test_a_target_of_two_names():
    X = np.random.default_rng(0).choice([-1.0, 1.0], (40, 3))
    model = MOHNRegressor("dense").fit(X, pd.DataFrame(X, columns=["a", "b", "c"]))
    # As scikit-learn before 1.9 leaves them.
    model.target_names_ = ["a", "b", "a"]
    with pytest.raises(ValueError, match=r"target has 'a'.* columns \[0, 2\]"):
        model.weight([0], target="a")
    assert model.weight([1], target="b")[0] == pytest.approx(1.0, abs=0.1)
    for target in ("c", 3, True, None, 0.5):
        with pytest.raises(ValueError, match="none of the 3 targets"):
            model.weight([0], target=target)
