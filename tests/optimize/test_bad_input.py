"""What is refused, and in which words."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from skmohn import MOHNRegressor
from skmohn.optimize import maximize, minimize

TERMS = {(0, 1): 1.0, (2,): 0.5}


@pytest.fixture(scope="module")
def model():
    """A model of two bits, a number, a constant and a column that is not known."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": rng.integers(0, 2, 60),
            "b": rng.integers(0, 2, 60),
            "dose": rng.uniform(2.0, 4.0, 60),
            "lab": np.full(60, 3.0),
            "lost": np.full(60, np.nan),
        }
    )
    y = X["a"] * X["b"] + X["dose"]
    return MOHNRegressor("full", max_order=2).fit(X, y)


def test_unfitted_model():
    with pytest.raises(NotFittedError):
        maximize(MOHNRegressor())


@pytest.mark.parametrize("model", [LinearRegression(), [1.0], None, "f"])
def test_other_models(model):
    with pytest.raises(TypeError, match="model must be a fitted MOHNRegressor"):
        maximize(model)


def test_model_that_is_more_than_its_terms(model):
    class More(MOHNRegressor):
        def predict(self, X):
            return super().predict(X) + 0.1

    more = More()
    vars(more).update(vars(model))
    with pytest.raises(ValueError, match="something other than the sum of its terms_"):
        maximize(more)


@pytest.mark.parametrize("key", [0, "ab", frozenset])
def test_keys_that_are_no_sets(key):
    with pytest.raises(TypeError, match="tuples or frozensets of variables"):
        maximize({key: 1.0})


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({(0, 0): 1.0}, "repeats a variable"),
        ({(10**9,): 1.0}, "integers must be indices from 0"),
        ({(0,): np.nan}, "not finite"),
        ({(0,): 1e308, (1,): 1e308}, "exceeds the largest float"),
        ({(0,): np.inf}, "not finite"),
        ({(): np.nan, (0,): 1.0}, "not finite"),
    ],
)
def test_terms_that_make_no_sense(terms, words):
    with pytest.raises(ValueError, match=words):
        maximize(terms)


@pytest.mark.parametrize(
    ("fixed", "words"),
    [
        ({"z": 1}, r"'z', which is neither a name nor an index .* \('a', 'b', "),
        ({5: 1}, "5, which is neither"),
        ({-1: 1}, "-1, which is neither"),
        ({"a": 2}, r"fixed gives variable 'a' the value 2; the model takes 0 or 1"),
        ({"a": 0.5}, "takes 0 or 1"),
        ({"a": np.nan}, "value nan; the model takes 0 or 1"),
        ({"a": None}, "value None"),
        ({"a": "yes"}, "value 'yes'"),
        ({"dose": 5.0}, r"takes from 2\.0.* to [34]\."),
        ({"dose": np.inf}, "value inf"),
        ({"lab": 4.0}, "takes only 3"),
        ({"lost": 4.0}, "takes only nan"),
        ({"a": 1, 0: 1}, "variable 0, twice"),
        ({True: 1}, "has True, which is neither a name nor an index"),
    ],
)
def test_fixed(model, fixed, words):
    with pytest.raises(ValueError, match=words):
        maximize(model, fixed=fixed)


@pytest.mark.parametrize(
    ("x0", "words"),
    [
        ([1, 1], r"x0 must have shape \(3,\)"),
        ([[1, 1, 1]], r"x0 must have shape \(3,\)"),
        ([1, 1, 0], "x0 gives variable 2 the value 0; the model takes -1 or 1"),
        ([1, 1, np.nan], "value nan"),
        ("abc", "x0"),
        ([1, [1, 1]], r"x0 must have shape \(3,\), .* got \(2,\)"),
        ([1, [1, 1], 1], r"x0 gives variable 1 the value \[1, 1\]"),
    ],
)
def test_start(x0, words):
    with pytest.raises(ValueError, match=words):
        maximize(TERMS, x0=x0)


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "genetic"},
        {"fixed": [0]},
        {"n_restarts": 0},
        {"n_restarts": 1.5},
        {"max_evaluations": 0},
        {"max_evaluations": np.nan},
        {"time_limit": 0},
        {"time_limit": -1.0},
        {"time_limit": np.nan},
        {"return_optima": "yes"},
        {"options": [1]},
        {"callback": 3},
        {"random_state": "a"},
        {"n_jobs": 1.5},
        {"n_jobs": 0},
    ],
    ids=str,
)
@pytest.mark.parametrize("search", [maximize, minimize])
def test_parameters_are_named(search, settings):
    (name,) = settings
    with pytest.raises(
        ValueError, match=f"The '{name}' parameter of {search.__name__}"
    ):
        search(TERMS, **settings)


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        (
            "tabu",
            {"n_sweeps": 10},
            r"'n_sweeps', which is not an option of method='tabu'",
        ),
        ("hill_climb", {"x": 10}, "it has none"),
        ("tabu", {"n_steps": 0}, r"options\['n_steps'\] must be an int"),
        ("tabu", {"tenure": -1}, "tenure"),
        ("annealing", {"n_sweeps": 1.5}, "n_sweeps"),
        ("annealing", {"temperatures": 1.0}, "two finite numbers above 0"),
        ("annealing", {"temperatures": (1.0, 2.0)}, "the higher first"),
        ("annealing", {"temperatures": (1.0, 0.0)}, "above 0"),
        ("annealing", {"temperatures": (np.nan, 1.0)}, "finite"),
        ("weight_satisfaction", {"max_order": 31}, "max_order"),
        ("exact", {"max_width": 40}, "max_width"),
        ("auto", {"n_sweeps": 0}, "n_sweeps"),
    ],
)
def test_options(method, options, words):
    with pytest.raises(ValueError, match=words):
        maximize(TERMS, method, options=options)


@pytest.mark.parametrize(
    "setting", [{"x0": [1, 1, 1]}, {"n_restarts": 3}, {"n_jobs": 2}], ids=str
)
def test_exact_has_no_restarts(setting):
    (name,) = setting
    with pytest.raises(ValueError, match=f'{name} does not apply to method="exact"'):
        maximize(TERMS, "exact", **setting)


@pytest.mark.parametrize("method", ["auto", "exact"])
def test_methods_without_local_optima(method):
    with pytest.raises(ValueError, match="return_optima needs a method"):
        maximize(TERMS, method, return_optima=True)


def test_errors_of_a_callback_are_raised():
    def callback(intermediate_result):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        maximize(TERMS, "tabu", callback=callback)


def test_model_is_left_as_it_was(model):
    before = vars(model).copy()
    maximize(model, fixed={"a": 1}, x0=[1, 0, 3.0, 3.0, np.nan])
    assert vars(model) == before


@pytest.mark.parametrize("weight", ["a", None, 1j, 10**400], ids=str)
def test_weights_that_are_no_numbers(weight):
    with pytest.raises(ValueError, match=r"for the term \(0,\), which is not a float"):
        maximize({(0,): weight})


# ------------------------------------------------------------------ large integers


@pytest.mark.parametrize("given", [10**400, -(10**400), 2**53 + 1])
def test_integers_that_are_no_floats(given):
    X = np.array([[0.0, 1.0], [2.0**53, 1.0], [0.0, -1.0], [2.0**53, -1.0]])
    model = MOHNRegressor("full", max_order=1).fit(X, X[:, 1])
    assert minimize(model, fixed={0: 2**53}).x[0] == 2**53
    match = "the value (of an integer beyond any float|9007199254740993); the model"
    with pytest.raises(ValueError, match="fixed gives variable 0 " + match):
        minimize(model, fixed={0: given})
    with pytest.raises(ValueError, match="x0 gives variable 0 " + match):
        minimize(model, x0=[given, 1])


def test_categories_that_are_no_floats():
    codes = 2**53 + np.arange(24) % 4
    X = pd.DataFrame({"code": codes, "z": np.arange(24) // 4 % 2})
    model = MOHNRegressor("gp", categorical_features=["code"])
    model.fit(X, X["z"] + np.arange(24) % 4)
    for code in codes[:4].tolist():
        x = minimize(model, fixed={"code": code}).x
        assert x.tolist() == [code, 0]
