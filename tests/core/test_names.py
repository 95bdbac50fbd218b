"""Columns by their names: what two are called is refused, what is made is unique."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skmohn import (
    EnergyNetImputer,
    EnergyNetTransformer,
    Genotypes,
    GPOptions,
    MOHNClassifier,
    MOHNRegressor,
    MOHNTransformer,
)
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
    model = MOHNRegressor("gp").fit(X, pd.DataFrame(X, columns=["a", "b", "c"]))
    # As scikit-learn before 1.9 leaves them.
    model.target_names_ = ["a", "b", "a"]
    with pytest.raises(ValueError, match=r"target has 'a'.* columns \[0, 2\]"):
        model.weight_posterior([0], target="a")
    assert model.weight_posterior([1], target="b")[0] == pytest.approx(1.0, abs=0.1)
    for target in ("c", 3, True, None, 0.5):
        with pytest.raises(ValueError, match="not one of the 3 targets"):
            model.weight_posterior([0], target=target)


# ------------------------------------------------------------------ names that are made


def bits(*names):
    """Columns of 0 and 1."""
    X = np.random.default_rng(0).integers(0, 2, (80, len(names)))
    return pd.DataFrame(X, columns=list(names))


PRODUCTS = bits("a", "b", "a x b")
AMBIGUOUS = bits("a", "a x b", "b x c", "c")
LETTERS = bits("g=a", "g_a").assign(g=list("abca" * 20), h=list("pqqp" * 20))


@pytest.mark.parametrize(
    ("X", "terms", "expected"),
    [
        (PRODUCTS, [(0,), (0, 1), (2,)], ["a", "a x b", "a x b (2)"]),
        (PRODUCTS, [(0, 2), (0, 1)], ["a x b (2)", "a x (a x b)"]),
        (AMBIGUOUS, [(0, 2), (1, 3)], ["a x (b x c)", "(a x b) x c"]),
        (LETTERS[["g=a", "h"]], [(0,), (1,)], ["g=a", "h=q"]),
        (LETTERS[["g=a", "h"]].set_axis(["h=q", "h"], axis=1), [(0,), (1,)],
         ["h=q", "h=q (2)"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("container", ["default", "pandas", "polars"])
def test_products_are_not_called_as_columns_are(X, terms, expected, container):
    y = np.arange(80) % 2 == 0
    model = MOHNTransformer("given", terms=terms, include_inputs=False).fit(X, y)
    names = model.get_feature_names_out().tolist()
    assert sorted(names) == sorted(expected)
    made = model.set_output(transform=container).transform(X)
    assert container == "default" or list(made.columns) == names
    assert list(dict.fromkeys(names)) == names


def test_a_model_of_all_weights_names_each_once():
    control = GPOptions(numeric="thermometer")
    X = LETTERS.assign(t=1.7e9 + np.arange(80) % 7, **{"g=b": np.arange(80) % 3})
    y = 2.0 * (X.g == "a") - 2.0 * X["g=a"] + X["g=b"] + (X.t > 1.7e9 + 3)
    model = MOHNRegressor("gp", gp_options=control).fit(X, y)
    names = model.term_names_.names
    assert len(set(names)) == len(names)
    assert {"g=a", "g=a (2)", "g=b", "g=b (2)"} <= {*names, "g=b"}
    assert "t < 1700000000.5" in names
    for table in (model.terms_table(), model.explain(X[:1]), model.sobol_indices()):
        first = table.iloc[:, 0]
        assert len(set(first)) == len(first)
    classifier = MOHNClassifier("logistic", max_order=2).fit(PRODUCTS, PRODUCTS.a)
    terms = classifier.terms_table()["term"]
    assert len(set(terms)) == len(terms)


def test_variants_of_one_id_are_numbered():
    counts = np.random.default_rng(0).integers(0, 3, (80, 3))
    X = Genotypes.from_counts(counts, names=["rs1", "rs1", "rs1"])
    model = MOHNTransformer("given", terms=[0, (0, 2), 1], include_inputs=False)
    model.fit(X, counts[:, 0] > 0)
    names = ["rs1", "rs1 (2)", "rs1 x rs1 (3)"]
    assert sorted(model.get_feature_names_out()) == names


@pytest.mark.parametrize("container", ["default", "pandas", "polars"])
def test_units_and_indicators_are_not_called_as_columns_are(container):
    X = bits("layer0_unit0", "missingindicator_a", "a").astype(float)
    X["g"], X["g_p"] = LETTERS.h, X.a
    stack = EnergyNetTransformer(None, [2], n_temperatures=20, passthrough=True)
    stack.set_output(transform=container).fit(X)
    expected = ["layer0_unit0 (2)", "layer0_unit1", *X.columns[:3]]
    expected += ["g_p (2)", "g_q", "g_p"]
    assert stack.get_feature_names_out().tolist() == expected
    assert stack.transform(X).shape[1] == len(expected)
    # Where columns do not follow, units are called as ever.
    alone = clone(stack).set_params(passthrough=False).fit(X)
    assert alone.get_feature_names_out().tolist() == ["layer0_unit0", "layer0_unit1"]
    missing = X.drop(columns=["g", "g_p"])
    missing.loc[3, "a"] = np.nan
    imputer = EnergyNetImputer(clone(alone), add_indicator=True)
    imputer.set_output(transform=container).fit(missing)
    names = [*missing.columns, "missingindicator_a (2)"]
    assert imputer.get_feature_names_out().tolist() == names
    assert imputer.transform(missing).shape[1] == 4
