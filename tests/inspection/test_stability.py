"""Which terms come back in refits, against refits on the drawn rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from skmohn import BLMRegressor, MOHNFeatureSelector, MOHNRegressor, MOHNTransformer
from skmohn.datasets import make_sparse_walsh
from skmohn.inspection import selection_stability


def noisy(n_rows=120):
    return make_sparse_walsh(
        8, {1: 2, 2: 2}, snr=2, heredity=None, n_samples=n_rows, random_state=0
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("replace", [False, True])
def test_it_equals_fits_on_the_drawn_rows(replace):
    data = noisy()
    model = MOHNRegressor("full", "lasso", max_order=2, alpha=0.4)
    found = selection_stability(
        model, data.X, data.y, n_resamples=15, replace=replace, random_state=3
    ).set_index("term")
    weights = {}
    for seed in check_random_state(3).randint(2**31, size=15).tolist():
        random = np.random.RandomState(seed)
        if replace:
            rows = random.randint(len(data.y), size=len(data.y))
            assert len(set(rows.tolist())) < 0.8 * len(rows)
        else:
            rows = np.sort(random.permutation(len(data.y))[:76])
        refit = clone(model).set_params(random_state=random.randint(2**31))
        refit.fit(data.X[rows], data.y[rows])
        for term, coef in zip(refit.terms_, refit.weights_, strict=True):
            weights.setdefault(" x ".join(f"x{i}" for i in term), []).append(coef)
    assert set(weights) == set(found.index)
    for name, own in weights.items():
        assert found.loc[name, "order"] == name.count("x ") + 1
        assert found.loc[name, "frequency"] == pytest.approx(len(own) / 15)
        assert found.loc[name, "mean"] == pytest.approx(np.mean(own))
        if len(own) > 1:
            assert found.loc[name, "sd"] == pytest.approx(np.std(own, ddof=1))
        else:
            assert np.isnan(found.loc[name, "sd"])
    assert np.all(np.diff(found["frequency"]) <= 0)


@pytest.mark.slow
def test_true_terms_come_back_and_false_ones_do_not():
    data = noisy(300)
    model = MOHNRegressor("pursuit").fit(data.X, data.y)
    before = model.weights_.copy()
    table = selection_stability(
        model, data.X, data.y, n_resamples=10, random_state=0
    ).set_index("term")
    true = [" x ".join(f"x{i}" for i in term) for term in data.terms]
    strong = [name for name, c in zip(true, data.weights, strict=True) if abs(c) > 0.3]
    assert strong
    assert (table.loc[strong, "frequency"] == 1.0).all()
    assert table.drop(true, errors="ignore")["frequency"].max() < 0.5
    assert_allclose(model.weights_, before)


def test_result_does_not_depend_on_n_jobs():
    data = noisy(60)
    with parallel_config(backend="threading"):
        tables = [
            selection_stability(
                MOHNRegressor("msda"), data.X, data.y,
                n_resamples=4, n_jobs=n_jobs, random_state=5,
            )
            for n_jobs in (1, 2)
        ]  # fmt: skip
    pd.testing.assert_frame_equal(*tables)


def test_weights_of_numeric_columns_are_for_the_same_coding():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.exponential(size=(25, 2)), rng.integers(0, 2, 25)])
    y = 1 + 2 * X[:, 0] + X[:, 0] * X[:, 1] - 3 * X[:, 0] * X[:, 1] * X[:, 2] + X[:, 2]
    # Every sample is fitted exactly, so that all refits are the same function.
    whole = MOHNRegressor("full").fit(X, y)
    table = selection_stability(
        MOHNRegressor("full"), X, y, n_resamples=6, random_state=0
    ).set_index("term")
    assert (table["frequency"] == 1.0).all()
    assert_allclose(table["sd"], 0.0, atol=1e-9)
    for term, coef in zip(whole.terms_, whole.weights_, strict=True):
        name = " x ".join(f"x{i}" for i in term)
        assert table.loc[name, "mean"] == pytest.approx(coef, abs=1e-9)


def test_categories_have_their_names():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"base": rng.choice(["A", "C", "G"], 80), "flag": rng.integers(0, 2, 80)}
    )
    y = 2.0 * (frame["base"] == "G") * frame["flag"] + 0.05 * rng.standard_normal(80)
    table = selection_stability(
        MOHNRegressor("gp"), frame, y, n_resamples=4, random_state=0
    ).set_index("term")
    assert table.loc["flag x base=G", "frequency"] == 1.0
    assert table.loc["flag x base=G", "mean"] == pytest.approx(2 / 3, abs=0.1)


def test_refits_that_ended_early_are_counted():
    data = noisy(60)
    model = MOHNRegressor("msda", max_iter=1)
    with pytest.warns(ConvergenceWarning, match="3 of 3 refits ended early"):
        selection_stability(model, data.X, data.y, n_resamples=3, random_state=0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weight_of_zero_is_not_selected():
    # The third column follows from the others: its weight is set to 0.
    X = np.eye(3)[np.arange(30) % 3]
    model = MOHNRegressor("full", max_order=1)
    table = selection_stability(
        model, X, X @ [1.0, 2.0, 4.0], n_resamples=3, random_state=0
    )
    assert model.fit(X, X @ [1.0, 2.0, 4.0]).weights_.tolist().count(0.0) == 1
    assert len(table) == 2


class Talkative(MOHNRegressor):
    def fit(self, X, y, sample_weight=None):
        warnings.warn("rows are few", UserWarning, stacklevel=2)
        return super().fit(X, y, sample_weight)


def test_other_warnings_of_refits_are_kept():
    data = noisy(60)
    with pytest.warns(UserWarning, match="rows are few"):
        selection_stability(
            Talkative("pursuit"), data.X, data.y, n_resamples=1, random_state=0
        )


def test_nothing_selected_is_an_empty_table():
    X = np.random.default_rng(0).integers(0, 2, (40, 3))
    table = selection_stability(
        MOHNRegressor("pursuit"), X, np.zeros(40), n_resamples=2, random_state=0
    )
    assert list(table) == ["term", "order", "frequency", "mean", "sd"]
    assert len(table) == 0


def test_one_resample_may_be_said_by_true():
    given = {"X": np.tile(np.eye(2), (8, 1)), "y": np.arange(16.0), "random_state": 0}
    model = MOHNRegressor("given", terms=[(0,)])
    one, other = (selection_stability(model, **given, n_resamples=n) for n in (1, True))
    assert one.equals(other)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"model": object()}, "model"),
        ({"n_resamples": 0}, "n_resamples"),
        ({"n_jobs": 1.5}, "n_jobs"),
        ({"random_state": "a"}, "random_state"),
        ({"y": [1.0]}, "inconsistent numbers of samples"),
    ],
)
def test_bad_input_is_named(wrong, name):
    given = {"model": MOHNRegressor(), "X": np.eye(4), "y": np.arange(4.0)} | wrong
    with pytest.raises(ValueError, match=name):
        selection_stability(given.pop("model"), given.pop("X"), given.pop("y"), **given)


def test_no_jobs():
    X = np.random.default_rng(0).choice([-1.0, 1.0], (20, 2))
    model = MOHNRegressor("full", max_order=1)
    with pytest.raises(ValueError, match="'n_jobs' parameter of selection_stability"):
        selection_stability(model, X, X[:, 0], n_jobs=0)
    for estimator in (
        model.set_params(n_jobs=0),
        MOHNTransformer(n_jobs=0),
        BLMRegressor(n_jobs=0),
        MOHNFeatureSelector(MOHNRegressor(), n_jobs=0),
    ):
        name = type(estimator).__name__
        with pytest.raises(ValueError, match=f"'n_jobs' parameter of {name}"):
            estimator.fit(X, X[:, 0])
