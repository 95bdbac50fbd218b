"""Intervals of rows with unknown inputs: enumeration, calibration, training as well."""

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import cumulative_trapezoid
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skmohn import GPOptions, MOHNClassifier, MOHNRegressor
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._missing_inputs import MissingInputs
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._table.rows import EncodedRows
from skmohn.mohn._training_data import Copies


def make_data(n_rows, seed, share=0.0, n_inputs=8):
    """A function of order two in which everything matters, and noise."""
    rng = np.random.default_rng(7)
    coef = rng.normal(size=(n_inputs, n_inputs)) / n_inputs
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n_rows, n_inputs))
    y = np.einsum("di,ij,dj->d", X, coef, X) + X @ coef[0] * 2
    y += 0.1 * rng.standard_normal(n_rows)
    return np.where(rng.random(X.shape) < share, np.nan, X), y


def std_beside_gaps(model, rows):
    return model.y_std * np.sqrt(
        model.latent_variance(rows) + model.noise_variance_at(rows)
    )


def all_completions(row):
    places = np.flatnonzero(np.isnan(row))
    filled = np.tile(row, (2 ** len(places), 1))
    filled[:, places] = list(itertools.product([-1.0, 1.0], repeat=len(places)))
    return filled


@pytest.mark.parametrize("strategy", ["auto", "gp", "spike_slab"])
def test_variance_over_completions_is_added(strategy):
    model = MOHNRegressor(strategy, gp_options=GPOptions(clip=False, noise="constant"))
    model.fit(*make_data(250, 0))
    X, _ = make_data(6, 1, share=0.4)
    _, std = model.predict(X, return_std=True)
    posterior = model.model_
    plain = std_beside_gaps(posterior, model._to_rows(X))
    spread = [np.std(model.predict(all_completions(row))) for row in X]
    assert max(spread) > 3 * max(plain)
    assert_allclose(std, np.hypot(plain, spread))
    draws = model.sample_y(X, 20_000)
    assert_allclose(draws.std(axis=1), std, rtol=0.05)


@pytest.mark.parametrize("train_share", [0.0, 0.15])
def test_standard_deviations_are_those_of_the_errors(train_share):
    model = MOHNRegressor("gp").fit(*make_data(300, 0, share=train_share))
    X, y = make_data(2000, 1, share=0.15)
    n_gaps = np.isnan(X).sum(axis=1)
    mean, std = model.predict(X, return_std=True)
    for n in (1, 2, 3):
        part = n_gaps == n
        error = np.mean((y - mean)[part] ** 2)
        assert error == pytest.approx(np.mean(std[part] ** 2), rel=0.3)
    # Complete rows are known better, though their fraction of the noise is a guess.
    assert np.mean(std[n_gaps == 0]) < 0.75 * np.mean(std[n_gaps == 1])


def make_rare(n_rows, share, seed):
    """Rare flags beside skewed numbers, which all matter, and some missing values."""
    rng = np.random.default_rng(seed)
    flags = rng.random((n_rows, 3)) < 0.07
    X = np.column_stack([flags, rng.gamma(3.0, size=(n_rows, 2))])
    y = X @ [4.0, -3.0, 3.0, 1.0, 0.5] + 0.2 * rng.standard_normal(n_rows)
    return np.where(rng.random(X.shape) < share, np.nan, X), y


@pytest.mark.parametrize("strategy", ["auto", "gp", "pursuit", "spike_slab"])
def test_a_missing_value_is_averaged_over_those_of_its_column(strategy):
    X, y = make_rare(400, 0.0, 0)
    model = MOHNRegressor(strategy, random_state=0)
    model.set_params(gp_options=GPOptions(clip=False, target_transform=None))
    model.fit(X, y)
    row = np.array([0.0, 0.0, 1.0, 1.0, 1.0])
    for column in range(3):
        hidden = np.where(np.arange(5) == column, np.nan, row)
        completions = np.tile(row, (400, 1))
        completions[:, column] = X[:, column]
        expected = model.predict(completions).mean()
        assert_allclose(model.predict([hidden]), expected, rtol=1e-9)


@pytest.mark.parametrize("strategy", ["auto", "gp", "spike_slab"])
def test_rare_flags_and_skewed_numbers_are_learned_beside_missing_values(strategy):
    (X, y), (X_new, y_new) = make_rare(200, 0.05, 0), make_rare(1000, 0.05, 1)
    model = MOHNRegressor(strategy, random_state=0).fit(X, y)
    ridge = make_pipeline(SimpleImputer(), RidgeCV(np.logspace(-3, 3, 13))).fit(X, y)
    assert model.score(X_new, y_new) > ridge.score(X_new, y_new) - 0.03


def make_frequent(n_rows, fraction, seed):
    """Categories of which four rows in five have the same, and some missing values."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(5, (n_rows, 3), p=[0.8, 0.05, 0.05, 0.05, 0.05])
    effects = np.random.default_rng(0).normal(size=(3, 5))
    y = effects[np.arange(3), codes].sum(axis=1) + 0.2 * rng.standard_normal(n_rows)
    X = np.array(list("abcde"), dtype=object)[codes]
    X[rng.random(X.shape) < fraction] = None
    return X, y


@pytest.mark.parametrize("fraction", [0.05, 0.2])
def test_frequent_categories_are_likelier_where_they_are_missing(fraction):
    X, y = make_frequent(200, fraction, 1)
    X_new, y_new = make_frequent(2000, fraction, 2)
    model = MOHNRegressor(random_state=0).fit(X, y)
    commonest = SimpleImputer(strategy="most_frequent", missing_values=None)
    ridge = make_pipeline(commonest, OneHotEncoder(), RidgeCV()).fit(X, y)
    assert model.score(X_new, y_new) > ridge.score(X_new, y_new) - 0.02
    _, std = model.predict(X_new, return_std=True)
    error = np.sqrt(np.mean((y_new - model.predict(X_new)) ** 2))
    assert np.sqrt(np.mean(std**2)) == pytest.approx(error, rel=0.2)


def test_log_odds_of_a_missing_category_are_the_mean_of_its_column():
    X, y = make_frequent(200, 0.0, 0)
    model = MOHNClassifier("full", 1, C=1.0).fit(X[:, :1], y > 0)
    each, counts = np.unique(X[:, :1], return_counts=True)

    def log_odds(rows):
        return np.subtract(*model.predict_log_proba(rows).T)

    expected = np.average(log_odds(each[:, None]), weights=counts)
    assert_allclose(log_odds([[None]]), expected, rtol=1e-9)


def test_rare_values_of_missing_flags_are_as_improbable_in_intervals():
    X, y = make_rare(400, 0.0, 0)
    options = GPOptions(clip=False, noise="constant", target_transform=None)
    model = MOHNRegressor("gp", gp_options=options, random_state=0).fit(X, y)
    row = np.array([0.0, 0.0, 1.0, 3.0, 3.0])
    completions = np.tile(row, (400, 1))
    completions[:, 0] = X[:, 0]
    row[0] = np.nan
    _, std = model.predict([row], return_std=True)
    rows = model._to_rows(np.array([row]))
    plain = std_beside_gaps(model.model_, rows)
    assert_allclose(std, np.hypot(plain, np.std(model.predict(completions))), rtol=1e-6)
    draws = model.sample_y([row], 20_000, random_state=0)
    assert_allclose(draws.std(), std[0], rtol=0.05)


@pytest.mark.parametrize("strategy", ["gp", "spike_slab"])
def test_quantiles_and_densities_of_missing_flags_are_those_of_draws(strategy):
    rng = np.random.default_rng(0)
    X = (rng.random((200, 3)) < [0.1, 0.5, 0.5]).astype(float)
    y = 4.0 * X[:, 0] + X[:, 1] + 0.2 * rng.standard_normal(200)
    model = MOHNRegressor(strategy, random_state=0).fit(X, y)
    rows = [[np.nan, 1.0, 0.0], [np.nan, np.nan, np.nan], [0.0, 1.0, 0.0]]
    chances = [0.05, 0.25, 0.5, 0.95]
    ends = model.predict_quantiles(rows, chances)
    draws = model.sample_y(rows, 20_000)
    assert_allclose(
        (draws[:, :, None] < ends[:, None]).mean(axis=1), [chances] * 3, atol=0.015
    )
    grid = np.linspace(-4.0, 9.0, 2001)
    for row, end in zip(rows, ends, strict=True):
        density = np.exp(model.log_density([row] * len(grid), grid))
        below = cumulative_trapezoid(density, grid, initial=0.0)
        assert_allclose(np.interp(end, grid, below), chances, atol=1e-3)
        assert below[-1] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("estimator", [MOHNRegressor, MOHNClassifier])
def test_names_of_missing_categories_do_not_matter(estimator):
    X, y = make_frequent(150, 0.1, 0)
    y = y if estimator is MOHNRegressor else y > 0
    others = X.copy()
    for old, new in zip("abcde", "ecbda", strict=True):
        others[old == X] = new
    plain, renamed = (estimator(random_state=0).fit(rows, y) for rows in (X, others))
    # Two missing categories are completed by chance.
    is_enumerated = np.sum(np.equal(X, None), axis=1) < 2
    for method in ("predict", "predict_proba", "predict_quantiles"):
        if hasattr(plain, method):
            expected = getattr(plain, method)(X[is_enumerated])
            found = getattr(renamed, method)(others[is_enumerated])
            assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("estimator", [MOHNRegressor, MOHNClassifier])
def test_contributions_add_up_where_a_category_is_missing(estimator):
    X, y = make_frequent(150, 0.1, 0)
    model = estimator(random_state=0).fit(X, y if estimator is MOHNRegressor else y > 0)
    row = np.array(["a", None, "c"], dtype=object)
    total = model.explain(row)["contribution"].sum()
    if estimator is MOHNRegressor:
        (value,) = model.predict([row])
    else:  # log-odds of the class that is likelier
        value = np.ptp(model.predict_log_proba([row]))
    assert total == pytest.approx(float(value), rel=1e-6)


def test_weights_of_rows_count_in_the_means_of_columns():
    X, y = make_rare(60, 0.1, 0)
    counts = np.resize([1, 3, 0, 2], 60)
    again = np.repeat(np.arange(60), counts)
    once = MOHNRegressor(random_state=0).fit(X, y, sample_weight=counts)
    often = MOHNRegressor(random_state=0).fit(X[again], y[again])
    assert once.coding_.centers.keys() == often.coding_.centers.keys()
    assert_allclose([*once.coding_.centers.values()], [*often.coding_.centers.values()])


def test_means_of_many_columns_are_stored_in_a_byte_each():
    rng = np.random.default_rng(0)
    X = (rng.random((200, 10_000)) < 0.07).astype(float)
    y = 3.0 * X[:, 0] + 0.1 * rng.standard_normal(200)
    model = MOHNRegressor("pursuit", random_state=0).fit(X, y)
    stored = pickle.dumps(model)
    assert len(stored) < 20_000
    centers = pickle.loads(stored).coding_.centers
    assert len(centers) > 9_000
    assert centers == model.coding_.centers


def test_balanced_flags_keep_the_middle():
    X, y = make_data(200, 0, share=0.1)
    assert not MOHNRegressor("gp").fit(X, y).coding_.centers


@pytest.mark.parametrize("strategy", ["auto", "full", "pursuit", "gp", "spike_slab"])
@pytest.mark.parametrize("share", [0.0, 0.15])
def test_missing_numbers_are_averaged_out(strategy, share):
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, 2, 300), rng.standard_normal(300)])
    y = 2.0 * X[:, 0] * X[:, 1] + X[:, 1] + 0.2 * rng.standard_normal(300)
    X[rng.random(300) < share, 1] = np.nan
    options = {} if strategy not in ("auto", "full") else {"max_order": 2}
    model = MOHNRegressor(strategy, random_state=0, **options).fit(X, y)
    values = X[~np.isnan(X[:, 1]), 1]
    for flag in (0.0, 1.0):
        completions = np.column_stack([np.full(len(values), flag), values])
        expected = model.predict(completions).mean()
        assert model.predict([[flag, np.nan]])[0] == pytest.approx(expected, abs=0.08)


def test_exact_sparse_models_know_what_gaps_do():
    model = MOHNRegressor.from_terms([(0,), (1, 2)], [2.0, 1.0])
    _, std = model.predict([[np.nan, 1, 1], [1, np.nan, 1], [1, 1, 1]], return_std=True)
    assert_allclose(std, [2.0, 1.0, 0.0])


def test_categories_are_completed_too():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"base": rng.choice(list("ACGT"), 200), "flag": rng.integers(0, 2, 200)}
    )
    y = frame["base"].map({"A": 0.0, "C": 1.0, "G": 3.0, "T": 6.0}) + frame["flag"]
    model = MOHNRegressor("gp", gp_options=GPOptions(clip=False, noise="constant"))
    model.fit(frame, y + 0.05 * rng.standard_normal(200))
    each = pd.DataFrame({"base": list("ACGT"), "flag": 1})
    row = pd.DataFrame({"base": [None], "flag": [1]})
    _, std = model.predict(row, return_std=True)
    assert std[0] == pytest.approx(np.std(model.predict(each)), rel=0.05)


def test_many_gaps_are_drawn():
    weights = np.linspace(0.5, 2.0, 10)

    def mean(rows):
        return rows.inputs[:, :10] @ weights + 100.0 * rows.inputs[:, 10]

    # The last input is known: it is in the middle of its range.
    unknown = np.tile(np.arange(11) < 10, (2, 1))
    rows = EncodedRows(np.zeros((2, 11)), np.empty((2, 0), dtype=int), unknown)
    variance = MissingInputs().variance(mean, rows)
    assert variance[0] == variance[1]
    assert variance[0] == pytest.approx(weights @ weights, rel=0.5)


@pytest.mark.parametrize("strategy", ["auto", "gp", "spike_slab"])
def test_the_middle_of_three_values_is_not_unknown(strategy):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (400, 5)).astype(float)
    y = X[:, 0] + 0.2 * rng.standard_normal(400)
    model = MOHNRegressor(strategy, random_state=0).fit(X[:300], y[:300])
    _, std = model.predict([[0] * 5, [1] * 5, [2] * 5], return_std=True)
    assert_allclose(std, 0.2, rtol=0.25)
    mean, std = model.predict(X[300:], return_std=True)
    assert 0.8 < np.mean(np.abs(y[300:] - mean) < 1.645 * std) < 0.98
    _, std = model.predict([[np.nan, 1, 1, 1, 1]], return_std=True)
    assert std[0] == pytest.approx(np.hypot(np.std([0, 1, 2]), 0.2), rel=0.15)


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("strategy", ["auto", "gp", "spike_slab"])
def test_complete_rows_say_how_much_noise_there_is_beside_gaps(strategy, seed):
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (1200, 6))
    y = X @ [3.0, 2.0, 2.0, 1.0, 1.0, 1.0] + rng.standard_normal(1200)
    X[:150][rng.random((150, 6)) < 0.1] = np.nan
    model = MOHNRegressor(strategy, gp_options=GPOptions(noise="constant")).fit(
        X[:150], y[:150]
    )
    mean, std = model.predict(X[150:], return_std=True)
    error = np.mean((y[150:] - mean) ** 2)
    assert np.mean(std**2) == pytest.approx(error, rel=0.2)


@pytest.mark.parametrize("is_repeat", [False, True])
def test_dense_rows_are_left_out_as_by_fits_without_them(is_repeat):
    X, y = make_data(30, 0)
    X = np.unique(X, axis=0)
    y = y[: len(X)]
    weight = np.ones(len(X))
    weight[:10] = 2.0 if is_repeat else 1.5
    weight /= 1.0 if is_repeat else weight.mean()
    model = MOHNRegressor("gp", gp_options=GPOptions(noise="constant", clip=False))
    # Repeats are those of measurements that agree, not of copies.
    copies = Copies(weight, None, np.arange(len(X)))
    model._fit((X, y, None, None, None, None), {}, copies=copies)
    rows = model._to_rows(X).as_float()
    found = model.model_.leave_out(rows, y, weight, np.arange(len(X)))
    assert_allclose(found.count, weight if is_repeat else 1.0)
    posterior, scale = model.model_.posterior, model.model_.y_std
    for i in (0, 3, 15, 20):
        rest = replace(posterior.sample, weight=posterior.sample.weight.copy())
        # One of two observations at the same place, which here are equal.
        rest.weight[i] -= 1.0 if is_repeat else weight[i]
        others = np.flatnonzero(rest.weight > 0.0)
        without = ExactPosterior.condition(model.model_.covariance, rest.take(others))
        error = (y[i] - model.model_.y_mean) / scale - without.latent_mean(
            rows.take([i])
        )
        assert_allclose(found.squares[i], error**2, rtol=1e-6)
        assert_allclose(
            found.variance[i], without.latent_variance(rows.take([i])), rtol=1e-6
        )


def test_rows_that_count_twice_say_twice_how_much_noise_there_is():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (90, 6))
    y = X @ [3.0, 2.0, 2.0, 1.0, 1.0, 1.0] + rng.standard_normal(90)
    X[rng.random((90, 6)) < 0.1] = np.nan
    weight = np.repeat([1.0, 2.0], 45)
    twice = np.repeat(np.arange(90), weight.astype(int))
    parameters = {"strategy": "gp", "gp_options": GPOptions(noise="constant")}
    one = MOHNRegressor(**parameters).fit(X, y, sample_weight=weight)
    other = MOHNRegressor(**parameters).fit(X[twice], y[twice])
    share = one.model_.missing_inputs.missing_noise_fraction
    assert 0.1 < share < 0.9
    assert share == pytest.approx(
        other.model_.missing_inputs.missing_noise_fraction, rel=1e-3
    )


@pytest.mark.slow_cases("auto-multilinear|gp-thermometer")
@pytest.mark.parametrize("numeric", ["multilinear", "thermometer"])
@pytest.mark.parametrize("strategy", ["auto", "gp"])
def test_unknown_numbers_add_variance(strategy, numeric):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (200, 3))
    y = 5.0 * X[:, 0] + 0.1 * rng.standard_normal(200)
    model = MOHNRegressor(
        strategy, gp_options=GPOptions(numeric=numeric), random_state=0
    ).fit(X, y)
    rows = [[np.nan, 0.0, 0.0], [0.0, np.nan, 0.0], [0.0, 0.0, 0.0]]
    mean, std = model.predict(rows, return_std=True)
    # Around the prediction, over the values that there were.
    expected = np.sqrt(np.mean((5.0 * X[:, 0] - mean[0]) ** 2))
    assert std[0] == pytest.approx(expected, rel=0.1)
    assert np.all(std[1:] < 0.3)


def test_numbers_are_completed_by_training_values_with_their_levels():
    X = np.column_stack([np.repeat([0.0, 1.0, 8.0], [8, 4, 4]), np.tile([0, 1], 8)])
    X = np.vstack([X, [np.nan, 1.0]])
    coding = InputCoding.learn(X, max_levels=4)
    rows = coding.encode(X)

    def mean(rows):
        return rows.inputs[:, 0] + 10.0 * rows.categories[:, 0]

    found = MissingInputs.of(rows, coding)
    known = mean(rows.take(np.arange(16)))
    own = mean(rows.take([16]))
    expected = np.zeros(17)
    expected[16] = np.mean((known - own) ** 2)
    assert_allclose(found.variance(mean, rows), expected)
    # A row that counts twice is there twice.
    weight = np.ones(17)
    weight[8:12] = 2.0
    doubled = rows.take(np.repeat(np.arange(17), weight.astype(int)))
    one = MissingInputs.of(rows, coding, weight)
    other = MissingInputs.of(doubled, coding)
    assert_allclose(one.variance(mean, rows), other.variance(mean, rows))


def test_draws_are_of_completions():
    model = MOHNRegressor.from_terms([(0,), (1, 2)], [2.0, 1.0])
    draws = model.sample_y([[np.nan, 1, 1], [1, 1, 1]], 1000)
    assert set(draws[0]) == {-1.0, 3.0}
    assert np.mean(draws[0] == 3.0) == pytest.approx(0.5, abs=0.06)
    assert set(draws[1]) == {3.0}


def test_complete_rows_are_as_before():
    model = MOHNRegressor("gp").fit(*make_data(100, 0))
    X, _ = make_data(20, 1)
    _, std = model.predict(X, return_std=True)
    assert_allclose(std, std_beside_gaps(model.model_, model._to_rows(X)), rtol=1e-12)


def test_exact_models_of_rows_with_gaps_have_no_noise():
    X, _ = make_data(60, 0, share=0.05)
    y = 2.0 * np.nan_to_num(X[:, 1]) + 1.0
    model = MOHNRegressor().fit(X, y)
    assert model.noise_std_ == 0.0
    row = np.ones((2, 8))
    row[1, 1] = np.nan
    assert_allclose(model.predict(row, return_std=True), [[3.0, 1.0], [0.0, 2.0]])
