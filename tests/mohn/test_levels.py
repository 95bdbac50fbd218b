"""Levels of numeric columns: when they are there, what they say, their names."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor

from skmohn import GPOptions, MOHNClassifier, MOHNRegressor
from skmohn.mohn._gp import transform_selection
from skmohn.mohn._gp.marginal_likelihood import Evidence, join_equal_rows, learn_prior
from skmohn.mohn._gp.transform_selection import _Part, choose_scale
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._table.rows import EncodedRows, standardize


def make_step(n_rows=150, seed=0):
    """A step in one column, a line in another, and their product."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(0.0, 10.0, (n_rows, 3)), columns=["dose", "age", "no"])
    high = (X["dose"] > 5.0) & (X["dose"] < 8.0)
    y = 3.0 * high + 0.2 * X["age"] * (1 + high)
    return X, y.to_numpy() + 0.1 * rng.standard_normal(n_rows)


@pytest.fixture(scope="module")
def fitted():
    return MOHNRegressor("gp").fit(*make_step())


@pytest.mark.slow
def test_curves_are_fitted_better_than_by_boosting():
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    train, test = slice(0, 150), slice(150, 300)
    scores = {
        name: model.fit(X[train], y[train]).score(X[test], y[test])
        for name, model in {
            "auto": MOHNRegressor(gp_options=GPOptions(noise="constant")),
            "line": MOHNRegressor(
                gp_options=GPOptions(numeric="multilinear", noise="constant")
            ),
            "boosting": HistGradientBoostingRegressor(random_state=0),
        }.items()
    }
    assert scores["auto"] > max(scores["boosting"], scores["line"] + 0.1)


def test_lines_stay_lines():
    X, _ = (part[:200] for part in load_diabetes(return_X_y=True))
    noise = 0.3 * np.random.default_rng(0).standard_normal(200)
    y = X[:, 2:6].sum(axis=1) / X.std() + noise
    model = MOHNRegressor("gp").fit(X, y)
    line = MOHNRegressor("gp", gp_options=GPOptions(numeric="multilinear")).fit(X, y)
    assert model.coding_.categoricals == ()
    assert_array_equal(model.predict(X), line.predict(X))
    forced = MOHNRegressor("gp", gp_options=GPOptions(numeric="thermometer")).fit(
        X[:100], y[:100]
    )
    assert len(forced.coding_.categoricals) == 9


@pytest.mark.parametrize("n_rows", [100, 103])
@pytest.mark.parametrize("estimator", [MOHNRegressor, MOHNClassifier])
def test_columns_may_have_another_sign(estimator, n_rows):
    X, y = make_step(n_rows)
    if estimator is MOHNClassifier:
        y = y > np.median(y)
    fresh, _ = make_step(50, seed=1)
    sign = np.array([-1.0, 1.0, -1.0])
    found = estimator(random_state=0).fit(X, y)
    mirrored = estimator(random_state=0).fit(X * sign, y)
    method = "predict" if estimator is MOHNRegressor else "predict_proba"
    assert_allclose(
        getattr(mirrored, method)(fresh * sign), getattr(found, method)(fresh), 1e-6
    )


@pytest.mark.slow
def test_the_evidence_decides(fitted):
    X, y = make_step()
    forced = MOHNRegressor("gp", gp_options=GPOptions(numeric="thermometer")).fit(X, y)
    assert_array_equal(fitted.predict(X), forced.predict(X))
    line = MOHNRegressor("gp", gp_options=GPOptions(numeric="multilinear")).fit(X, y)
    assert fitted.log_marginal_likelihood_ > line.log_marginal_likelihood_ + 50
    assert "3 inputs, 3 of them with levels, by" in fitted.stopping_reason_


@pytest.mark.parametrize("strategy", ["pursuit", "full"])
def test_sparse_models_have_lines_alone(strategy):
    X, y = make_step()
    model = MOHNRegressor(
        strategy, gp_options=GPOptions(numeric="thermometer"), max_order=2
    ).fit(X, y)
    assert model.coding_.categoricals == ()


def test_exact_sparse_models_of_numbers_are_still_chosen():
    X = np.random.default_rng(0).uniform(-1, 1, (60, 5))
    X[:2] = [[-1.0], [1.0]]
    model = MOHNRegressor().fit(X, 1 + X[:, 0] * X[:, 1] - X[:, 4])
    assert model.terms_ == [(4,), (0, 1)]
    assert model.stopping_reason_.startswith("exact")
    assert_allclose(model.predict(X[:5]), 1 + X[:5, 0] * X[:5, 1] - X[:5, 4])


def test_weights_of_levels_are_parts_of_the_function(fitted):
    """The mean over a level of one column minus that over all, others unknown."""
    thresholds = fitted.coding_.thresholds[0]
    inside = np.r_[0.0, (thresholds[:-1] + thresholds[1:]) / 2, 10.0]
    known = [fitted.weight_posterior([("dose", level)])[0] for level in range(16)]
    assert np.sum(known) == pytest.approx(0.0, abs=1e-9)
    # The step is significant of its surroundings, the line being apart.
    assert min(np.array(known)[(inside > 5.2) & (inside < 7.8)]) > max(
        np.array(known)[(inside < 4.8)]
    )
    mean, std = fitted.weight_posterior([("dose", 8), "age"])
    assert mean > 0
    assert std > 0


def test_levels_are_called_by_their_ends(fitted):
    names = fitted.term_names_.names
    low, high = (f"{end:.6g}" for end in fitted.coding_.thresholds[1][[0, -1]])
    assert names[3 + 16] == f"age < {low}"
    assert names[3 + 31] == f"age >= {high}"
    assert names[3 + 17].startswith(f"{low} <= age < ")
    with pytest.raises(ValueError, match=r"'dose', 16.* is not one of its categories"):
        fitted.weight_posterior([("dose", 16)])


def test_relevance_is_that_of_the_column(fitted):
    relevance = fitted.relevance_
    assert relevance.shape == (3,)
    assert relevance[0] > 5 * relevance[2]


def test_unknown_numbers_and_numbers_beyond(fitted):
    X, _ = make_step(20, seed=1)
    schema = X.assign(dose=np.nan)
    mean, std = fitted.predict(schema, return_std=True)
    spread = np.ptp([fitted.predict(X.assign(dose=d)) for d in range(11)], axis=0)
    assert np.all(np.isfinite(mean))
    assert np.all(std > 0)
    low, high = (
        np.quantile([fitted.predict(X.assign(dose=d)) for d in range(11)], q, axis=0)
        for q in (0.0, 1.0)
    )
    assert np.all((low - 0.1 * spread < mean) & (mean < high + 0.1 * spread))
    assert np.all(np.isfinite(fitted.predict(X.assign(dose=1e6))))


def test_unknown_numbers_in_fit():
    X, y = make_step(200)
    X.iloc[::7, 0] = np.nan
    model = MOHNRegressor("gp").fit(X, y)
    assert len(model.coding_.categoricals) == 3
    complete = X.notna().all(axis=1)
    assert model.score(X[complete], y[complete]) > 0.95


@pytest.mark.slow
def test_rows_may_follow_and_models_be_copied(fitted):
    X, y = make_step()
    model = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(model.predict(X), fitted.predict(X))
    more, targets = make_step(30, seed=2)
    model.partial_fit(more, targets)
    fresh, truth = make_step(200, seed=3)
    assert model.score(fresh, truth) > 0.9
    # Choosing levels or a scale would begin the climb of the first fit.
    control = GPOptions(numeric="thermometer", target_transform=None)
    again = MOHNRegressor("gp", warm_start=True, gp_options=control).fit(X, y)
    n_steps = again.n_iter_
    assert again.fit(X, y).n_iter_ < n_steps


@pytest.mark.parametrize("n_asked", [50, 400])
def test_weights_count_repeated_rows(n_asked, replace_constants):
    replace_constants(transform_selection, max_rows=n_asked)
    X, y = make_step(60)
    X = X.iloc[:, :2]
    counts = np.resize([1, 2, 3], 60)
    model = MOHNRegressor("gp", random_state=0)
    weighted = model.fit(X, y, sample_weight=counts).predict(X)
    assert len(model.coding_.categoricals) == 2
    repeated = model.fit(X.loc[X.index.repeat(counts)], np.repeat(y, counts))
    assert_allclose(weighted, repeated.predict(X), atol=1e-6)


def test_bad_numeric():
    X, y = make_step()
    with pytest.raises(ValueError, match="The 'numeric' parameter"):
        MOHNRegressor(gp_options=GPOptions(numeric="spline")).fit(X, y)


@pytest.mark.parametrize(("curve", "pay"), [(0.0, False), (0.8, True)])
def test_levels_are_taken_for_their_evidence(curve, pay):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (60, 1))
    y = X[:, 0] + curve * X[:, 0] ** 2 + 0.4 * rng.standard_normal(60)
    coding = InputCoding.learn(X, max_levels=8)
    rows = coding.encode(X)
    standard, _, _ = standardize(y)
    evidences = []
    for alphabets in ((), coding.alphabets):
        part = EncodedRows(rows.inputs, rows.categories[:, : len(alphabets)])
        sample = join_equal_rows(part, standard)
        prior = learn_prior(sample, alphabets).prior
        evidences.append(Evidence(sample, alphabets).value(prior))
    lines, curves = evidences
    assert (curves > lines) == pay
    assert abs(curves - lines) < 5.0
    found = choose_scale(None, rows, coding.alphabets, 1, y, None, 0)
    assert found.has_levels == pay


@pytest.mark.parametrize(
    ("larger", "share", "weak", "of_refits", "are_taken"),
    [
        (1.02, 0.09, 0.5, 1.01, True),
        (1.04, 0.09, 0.5, 0.99, False),
        (1.02, 0.11, 0.5, 1.01, False),
        (1.02, 0.11, 0.5, 0.99, True),
        # Any noise makes signals weak.
        (1.02, 0.09, 0.0, 1.01, False),
        (1.02, 0.09, 0.0, 0.99, True),
    ],
)
def test_levels_must_not_cost_accuracy(
    larger, share, weak, of_refits, are_taken, monkeypatch, replace_constants
):
    X = np.random.default_rng(0).uniform(size=(80, 1))
    y = np.sin(9.0 * X[:, 0])
    coding = InputCoding.learn(X, max_levels=16)

    def be(value):
        return lambda self, trial, *_: value if trial.has_levels else 1.0

    module = "skmohn.mohn._gp.transform_selection"
    replace_constants(module, min_weak_noise=weak)
    monkeypatch.setattr(_Part, "error", be(larger))
    monkeypatch.setattr(_Part, "largest_fraction", lambda self: share)
    monkeypatch.setattr(_Part, "error_of_refits", be(of_refits))
    data = coding.encode(X), coding.alphabets
    assert choose_scale(None, *data, 1, y, None, 0).has_levels is are_taken
    assert choose_scale("auto", *data, 1, y, None, 0).has_levels is are_taken


def test_share_of_the_squares_in_one_row():
    rows = EncodedRows(
        np.linspace(-1.0, 1.0, 20)[:, None], np.empty((20, 0), dtype=int)
    )
    y = np.r_[np.zeros(19), 10.0]
    # Of squares around the mean of 1/2 each zero has 1/4 and the ten 9.5 squared.
    share = _Part.draw(rows, y, None, 0).largest_fraction()
    assert share == pytest.approx(9.5**2 / (19 * 0.25 + 9.5**2))


def test_some_rows_are_asked_for_all(monkeypatch):
    asked = []
    evaluate = _Part.evaluate

    def count(part, transforms, posterior):
        asked.append(len(posterior.sample))
        return evaluate(part, transforms, posterior)

    monkeypatch.setattr(_Part, "evaluate", count)
    X = np.linspace(-1.0, 1.0, 900)[:, None]
    coding = InputCoding.learn(X, max_levels=8)
    choose_scale(None, coding.encode(X), coding.alphabets, 1, X[:, 0], None, 0)
    assert asked == [400, 400]
