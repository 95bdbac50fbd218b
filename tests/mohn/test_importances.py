"""Importances of columns: against enumeration, and in the hands of other tools."""

import functools
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_selection import RFE, SelectFromModel

from skmohn import MOHNClassifier, MOHNRegressor, MOHNTransformer
from skmohn.mohn._sparse import sobol

RNG = np.random.default_rng(0)
X = RNG.choice([-1.0, 1.0], (100, 6))
# What a linear model sees is in columns 0 and 3, what matters also in 2 and 5.
NUMBERS = X[:, 0] + 0.5 * X[:, 3] + X[:, 2] * X[:, 5]
COLUMNS = [0, 2, 3, 5]
MODELS = [MOHNRegressor("pursuit"), MOHNRegressor("gp"), MOHNClassifier("pursuit")]


def target_of(model):
    return NUMBERS if isinstance(model, MOHNRegressor) else NUMBERS > 0


def total_indices(values, chances):
    """Total Sobol indices of functions on a grid, the last axis, all together."""
    joint = functools.reduce(np.multiply.outer, chances)[..., None]

    def variance(axes):
        center = np.sum(values * joint, axis=axes, keepdims=True)
        center = center / np.sum(joint, axis=axes, keepdims=True)
        return np.sum(joint * (values - center) ** 2)

    axes = tuple(range(values.ndim - 1))
    return np.array([variance((i,)) for i in axes]) / variance(axes)


def shares_of(column, values):
    """How often each value is there."""
    return np.array([np.mean(column == value) for value in values])


@pytest.fixture(params=["subsets", "pairs"])
def way(request, replace_constants):
    """Whether subsets of products are enumerated, or pairs of products."""
    if request.param == "subsets":
        replace_constants(sobol, n_easy_subsets=math.inf)
    else:
        replace_constants(sobol, max_subsets=0.0)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifier_by_enumeration(order, n_classes):
    categories = [["A", "C", "G", "T"], ["big", "mid", "tiny"], ["no", "yes"], [0, 1]]
    names = ["base", "size", "yes", "flag"]
    frame = pd.DataFrame(
        {n: RNG.choice(part, 60) for n, part in zip(names, categories, strict=True)}
    )
    y = RNG.integers(0, n_classes, 60)
    model = MOHNClassifier("full", max_order=order, C=1.0).fit(frame, y)
    rows = pd.DataFrame(itertools.product(*categories), columns=names)
    values = model.decision_function(rows).reshape(4, 3, 2, 2, -1)
    chances = [shares_of(frame[n], c) for n, c in zip(names, categories, strict=True)]
    expected = total_indices(values, chances)
    assert_allclose(model.feature_importances_, expected, atol=1e-12)


@pytest.mark.usefixtures("way")
def test_classifier_with_few_of_many_categories():
    frame = pd.DataFrame({"base": list("ABCDEFGH") * 10, "flag": [0, 1] * 40})
    frame["flag"] = RNG.permutation(frame["flag"])
    model = MOHNClassifier("given", terms=[[("base", "C")], [("base", "F"), "flag"]])
    model.fit(frame, RNG.integers(0, 2, 80))
    rows = pd.DataFrame(itertools.product("ABCDEFGH", [0, 1]), columns=frame.columns)
    values = model.decision_function(rows).reshape(8, 2, 1)
    expected = total_indices(values, [np.full(8, 1 / 8), [0.5, 0.5]])
    assert_allclose(model.feature_importances_, expected, atol=1e-12)


@pytest.mark.usefixtures("way")
def test_columns_are_distributed_as_in_fit():
    numbers = np.column_stack([RNG.lognormal(2, 1, 100), X[:, :2]])
    y = RNG.integers(0, 2, 100)
    model = MOHNClassifier("full", max_order=2).fit(numbers, y)
    # The mean of a square of a line at these two is that over the column.
    ends = numbers[:, 0].mean() + np.array([-1, 1]) * numbers[:, 0].std()
    rows = list(itertools.product(ends, [-1, 1], [-1, 1]))
    values = model.decision_function(rows).reshape(2, 2, 2, 1)
    chances = [[0.5, 0.5], *(shares_of(X[:, j], [-1, 1]) for j in range(2))]
    expected = total_indices(values, chances)
    assert_allclose(model.feature_importances_, expected, atol=1e-12)


def test_products_of_many_columns_beside_a_categorical_one():
    table = pd.DataFrame((RNG.random((200, 30)) < 0.6).astype(int))
    table.columns = [f"x{j}" for j in range(30)]
    table["base"] = RNG.choice(list("ACG"), 200)
    terms = [tuple(range(30)), (0, 1), [("base", "C"), 2]]
    model = MOHNClassifier("given", terms=terms)
    model.fit(table, table["x0"] ^ table["x1"] ^ (RNG.random(200) < 0.2))
    total = model.feature_importances_
    assert total[:2].min() > 0.5
    assert_allclose(total[3:30], total[3], rtol=1.0)
    assert total[30] < 0.3


@pytest.mark.filterwarnings("ignore:no column of X varies")
@pytest.mark.parametrize("model", MODELS)
def test_constant_columns_and_constant_models_have_none(model):
    table = np.column_stack([X[:, :3], np.ones(100)])
    importances = clone(model).fit(table, target_of(model)).feature_importances_
    assert importances.shape == (4,)
    assert importances[3] == 0.0
    nothing = clone(model).fit(np.ones((100, 2)), target_of(model))
    assert_array_equal(nothing.feature_importances_, [0.0, 0.0])


def test_regressor_has_the_total_indices():
    model = MOHNRegressor.from_terms([(0,), (0, 2)], [3.0, 4.0])
    assert_allclose(model.feature_importances_, [1.0, 0.0, 16 / 25])


# Of the last four columns there are sixteen different rows only.
@pytest.mark.filterwarnings("ignore:the samples are too few")
@pytest.mark.parametrize("model", MODELS)
def test_selectors_keep_the_columns_of_interactions(model):
    y = target_of(model)
    assert not hasattr(model, "feature_importances_")
    kept = SelectFromModel(clone(model), threshold=0.02).fit(X, y).get_support()
    assert np.flatnonzero(kept).tolist() == COLUMNS
    chosen = RFE(clone(model), n_features_to_select=4, step=2).fit(X, y)
    assert np.flatnonzero(chosen.support_).tolist() == COLUMNS


@pytest.mark.parametrize("model", [*MODELS, MOHNTransformer("pursuit")])
def test_nothing_looks_like_a_linear_model(model):
    # Explainers and reports take whatever has coef_ for linear in the columns.
    fitted = clone(model).fit(X, target_of(model))
    assert not {name for name in dir(fitted) if name.startswith("coef")}


@pytest.mark.parametrize("scale", [1e160, 1e-200, 5e-324])
def test_shares_are_those_of_weights_of_any_size(scale):
    terms, weights = [(0,), (1,), (0, 1)], np.ones(3)
    model = MOHNRegressor.from_terms(terms, scale * weights)
    assert_allclose(model.sobol_indices()["total"], 2 / 3)
    assert_allclose(model.sobol_indices()["first_order"], 1 / 3)
    assert_allclose(model.terms_table()["variance_share"], 1 / 3)
