"""``MOHNRegressor(strategy="gp")``: what a user sees."""

import itertools
import pickle
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from skmohn import GPOptions, MOHNRegressor


def make_data(n_rows=150, n=8, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n_rows, n)).astype(float)
    s = 2 * X - 1
    y = 5 + 2 * s[:, 0] - 1.5 * s[:, 1] * s[:, 2] + s[:, 3] + 0.5 * s[:, 0] * s[:, 4]
    y += (
        0.1
        * rng.standard_normal((3,))
        @ np.stack([s[:, 5], s[:, 6], s[:, 0] * s[:, 6]])
    )
    return X, y + noise * rng.standard_normal(n_rows)


@pytest.fixture(scope="module")
def fitted():
    X, y = make_data()
    return MOHNRegressor("gp").fit(X, y)


def test_predicts_better_than_least_squares_on_noise(fitted):
    X, y = make_data()
    T, t = make_data(seed=1)
    peer = make_pipeline(PolynomialFeatures(3), LinearRegression()).fit(X, y)
    assert fitted.score(T, t) > peer.score(T, t) > 0.9


def test_std_covers_new_observations(fitted):
    X, y = make_data(seed=1, n_rows=400)
    mean, std = fitted.predict(X, return_std=True)
    assert_array_equal(mean, fitted.predict(X))
    assert 0.8 < np.mean(np.abs(y - mean) < 1.645 * std) < 0.98


@pytest.mark.slow
def test_significant_terms_have_posterior_errors(fitted):
    assert {(0,), (1, 2), (3,), (0, 4)} <= set(fitted.terms_)
    assert len(fitted.standard_errors_) == len(fitted.weights_) == len(fitted.terms_)
    for term, coef, error in zip(
        fitted.terms_, fitted.weights_, fitted.standard_errors_, strict=True
    ):
        assert fitted.weight_posterior(term) == pytest.approx((coef, error))
    assert fitted.weight_posterior(()) == pytest.approx(
        (fitted.intercept_, 0.03), abs=0.03
    )
    assert fitted.intercept_ == pytest.approx(5, abs=0.1)
    assert 0.2 < fitted.noise_std_ < 0.4
    table = fitted.terms_table()
    assert table["term"][0] == "x0"
    assert 0.9 < sum(table["variance_share"]) <= 1.0
    assert "of the variance" in fitted.stopping_reason_


def test_relevance_tells_what_matters(fitted):
    relevance = fitted.relevance_
    assert relevance.shape == (8,)
    assert relevance[:3].min() > relevance[7]
    assert np.isfinite(fitted.log_marginal_likelihood_)


def test_draws_scatter_around_the_prediction(fitted):
    X, _ = make_data(seed=2, n_rows=5)
    draws = fitted.sample_y(X, 500)
    mean, std = fitted.predict(X, return_std=True)
    assert draws.shape == (5, 500)
    assert_allclose(draws.mean(axis=1), mean, atol=0.1)
    assert_allclose(draws.std(axis=1), std, rtol=0.2)
    assert_array_equal(draws, fitted.sample_y(X, 500))
    assert np.any(draws != fitted.sample_y(X, 500, random_state=1))


@pytest.mark.parametrize("n_samples", [None, 0, 2.5])
def test_number_of_draws_is_checked(fitted, n_samples):
    with pytest.raises((TypeError, ValueError), match="n_samples"):
        fitted.sample_y(make_data(seed=2, n_rows=5)[0], n_samples)


@pytest.mark.parametrize("term", [None, 0.5, [[0]], [(0, [1])]])
def test_what_is_no_term_is_refused(fitted, term):
    with pytest.raises(TypeError, match="term"):
        fitted.weight_posterior(term)


def test_unknown_values_are_averaged_over():
    X, y = make_data()
    model = MOHNRegressor("gp", gp_options=GPOptions(clip=False)).fit(X, y)
    both = np.repeat(X[:1], 2, axis=0)
    both[:, 0] = 0, 1
    unknown = X[:1].copy()
    unknown[0, 0] = np.nan
    assert model.predict(unknown)[0] == pytest.approx(model.predict(both).mean())
    X[np.random.default_rng(0).uniform(size=X.shape) < 0.1] = np.nan
    assert MOHNRegressor("gp").fit(X, y).score(X, y) > 0.8


def test_clipping():
    X, y = make_data(noise=0.0)
    y = np.maximum(y, 4.0)
    clipped = MOHNRegressor("gp").fit(X, y)
    free = MOHNRegressor("gp", gp_options=GPOptions(clip=False)).fit(X, y)
    T, _ = make_data(seed=5)
    assert clipped.predict(T).min() >= 4.0
    assert_allclose(clipped.predict(T), np.clip(free.predict(T), y.min(), y.max()))


def test_partial_fit_conditions_exactly_in_any_order():
    X, y = make_data()
    start = MOHNRegressor("gp").fit(X[:60], y[:60])
    one, other = (pickle.loads(pickle.dumps(start)) for _ in range(2))
    one.partial_fit(X[60:], y[60:])
    for part in (slice(100, 150), slice(60, 100)):
        other.partial_fit(X[part], y[part])
    T, t = make_data(seed=3)
    assert_allclose(one.predict(T), other.predict(T), atol=1e-8)
    assert one.terms_ == other.terms_
    assert one.score(T, t) > start.score(T, t)
    assert_array_equal(one.relevance_, start.relevance_)


def test_noisy_rows_are_told():
    rng = np.random.default_rng(0)
    X, y = make_data(n_rows=300, noise=0.05)
    y += 1.5 * X[:, 7] * rng.standard_normal(300)
    model = MOHNRegressor("gp").fit(X, y)
    _, std = model.predict(X, return_std=True)
    assert np.median(std[X[:, 7] == 1]) > 2 * np.median(std[X[:, 7] == 0])
    constant = MOHNRegressor("gp", gp_options=GPOptions(noise="constant")).fit(X, y)
    _, std = constant.predict(X, return_std=True)
    assert np.median(std[X[:, 7] == 1]) < 1.3 * np.median(std[X[:, 7] == 0])


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_history_callbacks_and_validation():
    from sklearn.callback import ScoringMonitor

    X, y = make_data()
    T, t = make_data(seed=1)
    monitor = ScoringMonitor(scoring="r2")
    model = MOHNRegressor("gp").set_callbacks(monitor).fit(X, y, X_val=T, y_val=t)
    heights = [record["log_posterior"] for record in model.history_[:-1]]
    assert heights == sorted(heights)
    last = model.history_[-1]
    assert last["way"] == "cholesky"
    assert last["n_weights"] == len(model.terms_)
    assert last["validation_rmse"] == pytest.approx(
        np.sqrt(np.mean((t - model.predict(T)) ** 2))
    )


def test_warm_start_begins_where_the_last_fit_ended():
    X, y = make_data()
    # Choosing a scale would begin the climb of the first fit.
    control = GPOptions(target_transform=None)
    model = MOHNRegressor("gp", warm_start=True, gp_options=control).fit(X, y)
    n_steps, value = model.n_iter_, model.log_marginal_likelihood_
    model.fit(X, y)
    assert model.n_iter_ < n_steps
    assert model.log_marginal_likelihood_ == pytest.approx(value, abs=0.1)


def test_what_chooses_the_scale_begins_the_climb():
    X, y = make_data()
    chosen = MOHNRegressor("gp").fit(X, y)
    fixed = MOHNRegressor("gp", gp_options=GPOptions(target_transform=None))
    fixed.fit(X, y)
    assert chosen.n_iter_ < 0.5 * fixed.n_iter_
    assert chosen.log_marginal_likelihood_ == pytest.approx(
        fixed.log_marginal_likelihood_, abs=0.1
    )


def test_constant_columns_have_no_relevance_and_no_weight():
    X, y = make_data()
    X[:, 2] = 1.0
    model = MOHNRegressor("gp").fit(X, y)
    assert model.relevance_[2] == 0
    with pytest.raises(ValueError, match="term has 2, which was constant in fit"):
        model.weight_posterior((0, 2))


def test_nothing_varies():
    with pytest.warns(match="no column of X varies"):
        model = MOHNRegressor("gp").fit(np.ones((5, 2)), np.arange(5.0))
    assert_allclose(model.predict(np.ones((1, 2))), 2.0)


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ((0, 0), "repeats a feature"),
        ((8,), "term has 8, which is not a feature: use indices from 0 to 7"),
        (("x",), "term has 'x', which is not a feature"),
        ((0, True), "term has True, which is not a feature"),
    ],
)
def test_terms_that_are_none(fitted, term, message):
    with pytest.raises(ValueError, match=message):
        fitted.weight_posterior(term)


def test_names_of_columns():
    pd = pytest.importorskip("pandas")
    X, y = make_data()
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = MOHNRegressor("gp").fit(frame, y)
    assert model.weight_posterior(("b", "c")) == model.weight_posterior((2, 1))
    assert model.weight_posterior("a") == model.weight_posterior(0)


def test_sparse_strategies_have_no_posterior():
    X, y = make_data()
    model = MOHNRegressor("pursuit").fit(X, y)
    for error in (ValueError, AttributeError):
        with pytest.raises(
            error, match='needs a posterior, but strategy="pursuit" has'
        ):
            model.predict(X, return_std=True)
    for ask in (
        lambda: model.relevance_,
        lambda: model.log_marginal_likelihood_,
        lambda: model.weight_posterior((0,)),
        lambda: model.sample_y(X),
    ):
        with pytest.raises(AttributeError, match='fit with strategy="gp"'):
            ask()
    # Nor has a model that was dense before.
    model.set_params(strategy="gp").fit(X, y).set_params(strategy="pursuit")
    with pytest.raises(AttributeError, match="strategy"):
        model.fit(X, y).sample_y(X)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        MOHNRegressor("gp").weight_posterior((0,))


def test_other_learning_rules_are_refused():
    X, y = make_data()
    with pytest.raises(ValueError, match="learning_rule: strategy='gp' takes none"):
        MOHNRegressor("gp", "lasso").fit(X, y)


def test_memory_is_refused_before_anything_is_learned():
    X, y = make_data()
    with pytest.raises(MemoryError, match="memory_budget is 1,000 bytes"):
        MOHNRegressor("gp", memory_budget=1000).fit(X, y)


def test_pickles_grow_with_the_rows_only():
    X, y = make_data(400)
    sizes = []
    for n_rows in (100, 400):
        model = MOHNRegressor("gp").fit(X[:n_rows], y[:n_rows])
        stored = pickle.dumps(model)
        sizes.append(len(stored))
        again = pickle.loads(stored)
        for one, other in zip(
            again.predict(X[:20], return_std=True),
            model.predict(X[:20], return_std=True),
            strict=True,
        ):
            assert_array_equal(one, other)
        # Also what was learned later.
        model.partial_fit(X[:7], y[:7])
        again.partial_fit(X[:7], y[:7])
        assert_allclose(again.predict(X), model.predict(X))
        assert_allclose(*(m.sample_y(X[:3]) for m in (again, model)), rtol=1e-6)
    # A factor of 400 rows alone would take 1.3 MB.
    assert sizes[1] < 4e5


@pytest.mark.slow
def test_copies_of_models_of_many_rows_say_the_same(replace_constants):
    replace_constants("skmohn.mohn._gp.model", max_rows_exact=50)
    replace_constants("skmohn.mohn._gp.model", max_inducing=200)
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (400, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    model = MOHNRegressor("gp", random_state=0).fit(X, y)
    assert model.history_[-1]["way"] == "nystroem"
    pickled = pickle.loads(pickle.dumps(model))
    for copied in (pickled, deepcopy(model), clone(model).fit(X, y)):
        for one, other in zip(
            copied.predict(X, return_std=True),
            model.predict(X, return_std=True),
            strict=True,
        ):
            assert_array_equal(one, other)


@pytest.mark.parametrize("columns", ["signs", "categories"])
def test_all_weights_hold_nothing_out(columns):
    X, y = make_data(60)
    options = {"strategy": "gp"}
    if columns == "categories":
        X = np.hstack([X, np.resize([0.0, 1.0, 2.0], (60, 1))])
        options = {"categorical_features": [X.shape[1] - 1]}
    plain = MOHNRegressor(**options, random_state=0).fit(X, y)
    early = MOHNRegressor(**options, random_state=0, early_stopping=True).fit(X, y)
    assert_array_equal(early.predict(X), plain.predict(X))


def test_batches_of_weighted_rows_make_no_difference():
    X, y = make_data(90)
    weights = np.random.default_rng(0).uniform(0.1, 5.0, 90)
    models = []
    for batches in ([30, 90], [30, 40, 41, 90]):
        model = MOHNRegressor("gp", gp_options=GPOptions(noise="constant")).fit(
            X[:30], y[:30], weights[:30]
        )
        for first, last in itertools.pairwise(batches):
            part = slice(first, last)
            model.partial_fit(X[part], y[part], weights[part])
        models.append(model)
    one, other = (np.array(m.predict(X, return_std=True)) for m in models)
    assert_allclose(one, other, rtol=1e-8)
    # In the unit of the first call, as if all had been fitted at these precisions.
    assert models[0].model_.posterior.sample.weight.sum() == pytest.approx(
        weights.sum() / weights[:30].mean()
    )


def test_further_rows_widen_the_range_of_predictions():
    X, y = make_data(60)
    model = MOHNRegressor("gp").fit(X, y)
    above, below = np.max(y) + 100.0, np.min(y) - 100.0
    rows = np.repeat(X[:2], 200, axis=0)
    model.partial_fit(rows, np.repeat([above, below], 200))
    assert model.predict(X[:1])[0] > np.max(y) + 10.0
    assert model.predict(X[1:2])[0] < np.min(y) - 10.0
