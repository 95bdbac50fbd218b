"""``MOHNRegressor(strategy="auto")``: sparse or dense, and the posterior of either."""

import copy
import itertools
import math
import pickle
from functools import partial
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.signal import lfilter
from scipy.stats import multivariate_normal, sem
from scipy.stats import t as student_t
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import KFold

from skmohn import DeltaOptions, MOHNRegressor
from skmohn._core._units import power_of_two_scale
from skmohn._core._walsh import WalshPolynomial
from skmohn.datasets import make_ising, make_mk_trap, make_sparse_walsh
from skmohn.mohn import _strategies
from skmohn.mohn._design.design import make_design
from skmohn.mohn._design.terms import choice_length
from skmohn.mohn._gp import solve as _solve
from skmohn.mohn._gp.model import GPModel, fit_gp
from skmohn.mohn._gp.solve import _is_out_of_reach as is_out_of_reach
from skmohn.mohn._models import FitResult
from skmohn.mohn._options import FitSettings
from skmohn.mohn._sparse.model import SparseModel
from skmohn.mohn._strategies import STRATEGIES
from skmohn.mohn._strategies import _is_trusted as is_trusted
from skmohn.mohn._strategies import _predicts_better as predicts_better
from skmohn.mohn._strategies import _refit_of as refit_of
from skmohn.mohn._table.rows import Categorical, EncodedRows
from skmohn.mohn._table.target import UNCHANGED, Logarithm
from skmohn.mohn._training_data import TrainingData

TERMS = ((0,), (2,), (1, 3), (0, 2, 4))


def make_dense(n_rows=150, n=8, noise=0.3, seed=0):
    """Every weight matters a little, those of few inputs more."""
    weights = np.random.default_rng(9)
    terms = [q for k in (1, 2, 3) for q in itertools.combinations(range(n), k)]
    coef = [weights.standard_normal() / 3 ** len(term) for term in terms]
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n_rows, n))
    y = sum(c * X[:, list(q)].prod(axis=1) for c, q in zip(coef, terms, strict=True))
    return X, y + noise * np.std(y) * rng.standard_normal(n_rows)


def make_sparse(n_rows=200, noise=0.5, seed=0):
    return make_sparse_walsh(
        30, {1: 4, 2: 4}, n_samples=n_rows, noise=noise, random_state=seed
    )


@pytest.fixture(scope="module")
def dense_fit():
    return MOHNRegressor(random_state=0).fit(*make_dense())


@pytest.fixture(scope="module")
def sparse_fit():
    """A fit of 400 rows, and 2000 others of the same function."""
    data = make_sparse(2400)
    model = MOHNRegressor(random_state=0).fit(data.X[:400], data.y[:400])
    return model, data.X[400:], data.y[400:]


# --------------------------------------------------- the posterior of a sparse model


def problem(kind):
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (40, 6))
    y = 3 + 2 * inputs[:, 0] - inputs[:, 1] * inputs[:, 3] + rng.standard_normal(40)
    weights = None
    if kind == "unknown":
        inputs[rng.uniform(size=inputs.shape) < 0.2] = 0.0
    if kind == "repeats":
        weights = rng.integers(1, 4, 40).astype(float)
    if kind == "precisions":
        weights = rng.uniform(0.5, 1.5, 40)
        weights /= weights.mean()
    if kind == "duplicated":
        inputs[:, 2] = inputs[:, 0]
    return inputs, y, weights


def explicit(inputs, terms):
    return np.stack([inputs[:, list(t)].prod(axis=1) for t in ((), *terms)], axis=1)


def expand(inputs, y, weights):
    """Rows and relative noise variances that say the same without weights."""
    if weights is None:
        return inputs, y, np.ones(len(y))
    if np.all(weights == np.rint(weights)):
        times = weights.astype(int)
        return (
            np.repeat(inputs, times, axis=0),
            np.repeat(y, times),
            np.ones(sum(times)),
        )
    return inputs, y, 1 / weights


KINDS = ["plain", "unknown", "repeats", "precisions", "duplicated"]


@pytest.mark.parametrize("kind", KINDS)
def test_evidence_is_the_largest_density_of_the_targets(kind):
    inputs, y, weights = problem(kind)
    graph = WalshPolynomial(TERMS, np.ones(len(TERMS)), 0.0)
    found = SparseModel.condition(graph, make_design(inputs, weights), y)
    rows, targets, relative = expand(inputs, y, weights)
    center = np.average(y, weights=weights)
    scale = math.sqrt(np.average((y - center) ** 2, weights=weights))
    columns = explicit(rows, TERMS)

    def density(logs):
        spread, noise = np.exp(logs)
        own = np.array([1.0] + [spread] * len(TERMS))
        K = scale**2 * ((columns * own) @ columns.T + noise * np.diag(relative))
        return multivariate_normal(np.full(len(targets), center), K).logpdf(targets)

    best = minimize(lambda logs: -density(logs), [-1.0, -1.0], method="Nelder-Mead")
    assert found.log_evidence() == pytest.approx(-best.fun, abs=1e-4)
    # And the posterior is that of the same model by explicit inversion.
    noise = found.noise_variance
    assert math.log(noise) == pytest.approx(best.x[1], abs=0.02)
    spread = math.exp(best.x[0])
    own = np.array([1.0] + [1 / spread] * len(TERMS))
    precision = columns.T @ (columns / (noise * relative[:, None])) + np.diag(own)
    covariance = scale**2 * np.linalg.inv(precision)
    new = np.random.default_rng(1).choice([-1.0, 0.0, 1.0], (20, 6))
    u = explicit(new, TERMS)
    std = np.sqrt(np.einsum("ij,jk,ik->i", u, covariance, u) + scale**2 * noise)
    # The noise is known from so many observations only.
    doubt = student_t(len(targets) - len(TERMS) - 1).var()
    std *= doubt**0.5
    new_rows = EncodedRows(new, np.empty((20, 0), dtype=int))
    assert_allclose(found.predictive_std(new_rows), std, rtol=2e-3)
    for j, term in enumerate(((), *TERMS)):
        own = (doubt * covariance[j, j]) ** 0.5
        assert found.weight_posterior(term)[1] == pytest.approx(own, rel=0.02)
    assert found.weight_posterior((5,)) == (0.0, 0.0)
    draws = found.sample(new_rows, 20_000, np.random.default_rng(0))
    assert_allclose(draws.std(axis=1), std, rtol=0.05)
    assert_allclose(draws.mean(axis=1), graph.predict(new), atol=0.1)


@pytest.mark.parametrize("n_rows", [4, 5, 30])
def test_intervals_of_a_mean_are_no_narrower_than_those_of_student(n_rows):
    y = np.random.default_rng(0).standard_normal(n_rows)
    graph = WalshPolynomial((), np.empty(0), float(y.mean()))
    found = SparseModel.condition(graph, make_design(np.zeros((n_rows, 1))), y)
    std = found.predictive_std(
        EncodedRows(np.zeros((1, 1)), np.empty((1, 0), dtype=int))
    )[0]
    own = student_t(n_rows - 1).std() * np.std(y, ddof=1)
    assert std == pytest.approx(own * np.sqrt(1 + 1 / n_rows), rel=0.1)


@pytest.mark.parametrize("kind", ["plain", "repeats", "precisions"])
def test_predictions_vary_as_much_as_left_out_rows_are_off(kind):
    inputs, y, weights = problem(kind)
    graph, design = (
        WalshPolynomial(TERMS, np.ones(4), 0.0),
        make_design(inputs, weights),
    )
    rows = EncodedRows(inputs, np.empty((40, 0), dtype=int))

    def usual(left_out):
        found = SparseModel.condition(graph, design, y, left_out)
        assert found.log_evidence() == plain.log_evidence()
        return np.average(found.predictive_std(rows) ** 2, weights=weights)

    plain = SparseModel.condition(graph, design, y)
    own = np.average(plain.predictive_std(rows) ** 2, weights=weights)
    assert usual(np.sqrt(0.9 * own)) == pytest.approx(own)
    assert usual(np.sqrt(2.0 * own)) == pytest.approx(2.0 * own)


@pytest.mark.parametrize("left_out", [0.0, 50.0])
def test_weights_vary_as_much_as_the_function_that_they_make(left_out):
    """Products of -1 and +1 are orthogonal over all rows."""
    inputs, y, _ = problem("plain")
    graph = WalshPolynomial(TERMS, np.ones(4), 0.0)
    found = SparseModel.condition(graph, make_design(inputs), y, left_out)
    cube = np.array(list(itertools.product([-1.0, 1.0], repeat=inputs.shape[1])))
    rows = EncodedRows(cube, np.empty((len(cube), 0), dtype=int))
    std = found.y_std * np.sqrt(found.latent_variance(rows))
    of_weights = [found.weight_posterior(term)[1] ** 2 for term in [(), *TERMS]]
    assert np.mean(std**2) == pytest.approx(sum(of_weights))


def test_true_weights_are_within_their_intervals():
    """Nine rows and five weights: the noise is hardly known."""
    rng, held = np.random.default_rng(0), []
    for _ in range(200):
        inputs, true = rng.choice([-1.0, 1.0], (9, 6)), rng.standard_normal(5)
        columns = explicit(inputs, TERMS)
        if np.linalg.cond(columns) > 10.0:  # of weights that cannot be told apart
            continue
        y = columns @ true + 0.5 * rng.standard_normal(9)
        fitted = np.linalg.lstsq(columns, y, rcond=None)[0]
        graph = WalshPolynomial(TERMS, fitted[1:], fitted[0])
        found = SparseModel.condition(graph, make_design(inputs), y)
        for term, weight in zip(TERMS, true[1:], strict=True):
            mean, std = found.weight_posterior(term)
            held.append(abs(weight - mean) < 1.645 * std)
    assert 0.85 < np.mean(held) < 0.95


@pytest.mark.slow_cases(r"seeds0-0\.8-0\.97")
@pytest.mark.parametrize(
    ("seeds", "least", "most"),
    [((0,), 0.8, 0.97), pytest.param((0, 1, 4), 0.85, 0.95, marks=pytest.mark.slow)],
)
def test_intervals_know_that_terms_were_chosen(seeds, least, most):
    held = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X = rng.choice([-1.0, 1.0], (560, 20))
        y = X[:, 0] + X[:, 3] + X[:, 1] * X[:, 2] + X[:, 4] * X[:, 5]
        # In units that are far from 1: the errors of the folds are in others.
        y = 1e3 * (y + 1.4 * rng.standard_normal(560))
        model = MOHNRegressor(random_state=0).fit(X[:60], y[:60])
        mean, std = model.predict(X[60:], return_std=True)
        held.append(np.mean(np.abs(y[60:] - mean) < 1.645 * std))
    assert least < np.mean(held) < most


def test_description_length_counts_the_choices():
    graph = WalshPolynomial(TERMS, np.ones(4), 0.0)
    inputs, y, _ = problem("plain")
    found = SparseModel.condition(graph, make_design(inputs), y)
    choices = math.comb(6, 2) * math.comb(15, 1) * math.comb(20, 1)
    assert choice_length(TERMS, 6) == pytest.approx(math.log(choices))
    assert found.description_length() + found.log_evidence() == pytest.approx(
        math.log(choices) - found.log_occam_factor
    )
    assert found.log_occam_factor < 0


def test_a_model_without_terms_has_a_posterior():
    inputs, y, _ = problem("plain")
    found = SparseModel.condition(
        WalshPolynomial((), np.empty(0), 3.0), make_design(inputs), y
    )
    rows = EncodedRows(inputs, np.empty((40, 0), dtype=int))
    assert_allclose(found.predictive_std(rows), np.std(y), rtol=0.1)


# ------------------------------------------------------------------------ the choice


def test_exact_models_are_sparse_and_certain():
    data = make_sparse(noise=0.0)
    model = MOHNRegressor().fit(data.X, data.y)
    pursuit = MOHNRegressor("pursuit").fit(data.X, data.y)
    assert model.terms_ == pursuit.terms_ == data.terms
    assert model.stopping_reason_ == pursuit.stopping_reason_
    # Nothing was done but pursuit.
    assert len(model.history_) == len(pursuit.history_)
    mean, std = model.predict(data.X, return_std=True)
    assert_array_equal(mean, pursuit.predict(data.X))
    assert_array_equal(std, 0)
    assert_array_equal(model.sample_y(data.X[:5], 2), np.stack([mean[:5]] * 2, axis=1))
    assert model.weight_posterior(data.terms[0]) == (model.weights_[0], 0.0)
    assert model.log_marginal_likelihood_ == np.inf
    with pytest.raises(AttributeError, match="the sparse one was chosen"):
        _ = model.relevance_


def test_sparse_functions_with_noise_lose_nothing(sparse_fit):
    model, data = sparse_fit[0], make_sparse(2400)
    pursuit = MOHNRegressor("pursuit", random_state=0)
    pursuit.fit(data.X[:400], data.y[:400])
    assert model.terms_ == pursuit.terms_
    assert_array_equal(model.weights_, pursuit.weights_)
    assert model.stopping_reason_.startswith("the sparse model")
    last = model.history_[-1]
    assert last["chosen"] == "sparse"
    assert last["description_length_sparse"] < last["description_length_gp"]
    nouns = {"sparse": "sparse model", "gp": "Gaussian process"}
    for name, noun in (nouns | {"spike_slab": "spike-and-slab model"}).items():
        number = last[f"description_length_{name}"]
        assert f"{noun} {number:.1f}" in model.stopping_reason_


@pytest.mark.slow_cases("3-.*")
@pytest.mark.parametrize(("snr", "n_samples"), [(10, 250), (3, 600)])
def test_weights_of_one_strength_are_known_better(snr, n_samples):
    data = make_ising((4, 4), n_samples=n_samples, snr=snr, random_state=0)
    columns = [data.X[:, list(term)].prod(axis=1) for term in data.terms]
    f = np.transpose(columns) @ data.weights
    errors = [
        np.mean((model.fit(data.X, data.y).predict(data.X) - f) ** 2)
        for model in (
            MOHNRegressor(random_state=0),
            MOHNRegressor("pursuit", random_state=0),
        )
    ]
    assert errors[0] < 0.5 * errors[1]


@pytest.mark.slow
def test_sparse_models_know_how_sure_they_are(sparse_fit):
    model, fresh, targets = sparse_fit
    assert model.history_[-1]["chosen"] == "sparse"
    mean, std = model.predict(fresh, return_std=True)
    assert_array_equal(mean, model.predict(fresh))
    assert 0.86 < np.mean(np.abs(targets - mean) < 1.645 * std) < 0.94
    for term, coef, error in zip(
        model.terms_, model.weights_, model.standard_errors_, strict=True
    ):
        assert model.weight_posterior(term) == pytest.approx((coef, error), rel=1e-12)
    assert model.weight_posterior((0, 1, 2, 3)) == (0.0, 0.0)
    assert np.isfinite(model.log_marginal_likelihood_)
    draws = model.sample_y(fresh[:3], 4000)
    assert_allclose(draws.std(axis=1), std[:3], rtol=0.1)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(fresh, return_std=True)[1], std)


@pytest.mark.slow
def test_dense_functions_are_predicted_as_by_all_weights(dense_fit):
    (X, y), model = make_dense(), dense_fit
    dense = MOHNRegressor("gp", random_state=0).fit(X, y)
    assert model.stopping_reason_.startswith("no description is clearly shorter than")
    assert model.history_[-1]["chosen"] == "gp"
    assert model.history_[-1]["description_length_gp"] == pytest.approx(
        dense.model_.description_length()
    )
    for one, other in zip(
        model.predict(X, return_std=True),
        dense.predict(X, return_std=True),
        strict=True,
    ):
        assert_allclose(one, other)
    assert_array_equal(model.relevance_, dense.relevance_)
    assert_array_equal(model.sample_y(X[:4], 3), dense.sample_y(X[:4], 3))
    T, t = make_dense(seed=1)
    pursuit = MOHNRegressor("pursuit", random_state=0).fit(X, y)
    assert model.score(T, t) > pursuit.score(T, t)


@pytest.mark.slow
def test_structures_that_are_long_to_say_are_kept_when_they_predict():
    data = make_mk_trap(4, 4, n_samples=250, snr=10, random_state=0)
    model = MOHNRegressor(random_state=0).fit(data.X, data.y)
    last = model.history_[-1]
    assert last["description_length_gp"] < last["description_length_sparse"]
    assert last["chosen"] == "sparse"
    assert "sparse model predicts held-out rows better" in model.stopping_reason_
    pursuit = MOHNRegressor("pursuit", random_state=0).fit(data.X, data.y)
    assert_array_equal(model.predict(data.X), pursuit.predict(data.X))


@pytest.mark.slow_cases(
    "parameters0-max_order requires|parameters1-learning_rule requires"
)
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"max_order": 2}, "max_order requires"),
        ({"learning_rule": "lasso"}, "learning_rule requires"),
        ({"memory_budget": 1e4}, "memory_budget is 9.8 KiB"),
    ],
)
def test_stays_sparse_where_it_must(parameters, words):
    X, y = make_dense()
    model = MOHNRegressor(random_state=0, **parameters).fit(X, y)
    pursuit = MOHNRegressor("pursuit", random_state=0, **parameters).fit(X, y)
    assert model.terms_ == pursuit.terms_
    assert model.stopping_reason_.startswith("the sparse model, because ")
    assert words in model.stopping_reason_
    assert np.all(model.predict(X, return_std=True)[1] > 0)


def test_nothing_varies():
    with pytest.warns(ConvergenceWarning, match="no column"):
        model = MOHNRegressor().fit(np.ones((5, 2)), np.arange(5.0))
    assert_array_equal(model.predict(np.ones((2, 2))), 2)
    with pytest.raises(ValueError, match="columns that vary"):
        model.predict(np.ones((2, 2)), return_std=True)


def test_products_of_categories_are_for_the_gaussian_process():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 80), rng.integers(0, 2, (80, 3))])
    y = (X[:, 0] == 1) * (2.0 * X[:, 1] - 1.0) + 0.1 * rng.standard_normal(80)
    model = MOHNRegressor(categorical_features=[0]).fit(X, y)
    dense = MOHNRegressor("gp", categorical_features=[0]).fit(X, y)
    assert model.stopping_reason_.startswith("the Gaussian process has the shortest")
    assert_array_equal(model.predict(X), dense.predict(X))


def make_noise(kind, n_rows, n_columns, seed):
    rng = np.random.default_rng(seed)
    if kind == "numbers":
        return rng.standard_normal((n_rows, n_columns)), rng
    values = {"signs": [-1.0, 1.0], "counts": [0.0, 1.0, 2.0]}.get(kind, list("ACGT"))
    return rng.choice(values, (n_rows, n_columns)), rng


@pytest.mark.slow_cases("(counts|numbers)-20")
@pytest.mark.parametrize(
    ("kind", "n_rows"),
    [
        ("signs", 10),
        ("counts", 20),
        ("numbers", 10),
        ("numbers", 20),
        ("categories", 10),
    ],
)
def test_nothing_stands_out_of_noise(kind, n_rows):
    X, rng = make_noise(kind, n_rows, 12, 0)
    y = 5.0 + 3.0 * rng.standard_normal(n_rows)
    model = MOHNRegressor(random_state=0).fit(X, y)
    assert model.stopping_reason_.startswith("nothing is significant")
    assert model.history_[-1]["chosen"] in {"nothing", "additive"}
    assert model.terms_ == []
    assert model.weights_.shape == model.standard_errors_.shape == (0,)
    mean, std = model.predict(X, return_std=True)
    # The mean itself is off by as much as that of so many rows.
    assert np.mean((mean - y.mean()) ** 2) < 3.0 * np.var(y) / n_rows
    own = np.std(y, ddof=1)
    assert model.noise_std_ == pytest.approx(own, rel=0.2)
    assert_allclose(std, student_t(n_rows - 1).std() * own, rtol=0.2)
    assert {row["kept"] for row in model.search_coverage_} == {0}


@pytest.mark.slow
def test_of_more_noise_nothing_is_listed_and_little_predicted():
    chosen, moved = [], []
    for seed in range(8):
        X, rng = make_noise("counts", 60, 10, seed)
        y = 5.0 + 3.0 * rng.standard_normal(60)
        model = MOHNRegressor(random_state=0).fit(X, y)
        assert model.terms_ == []
        assert model.stopping_reason_.startswith("nothing is significant")
        assert {row["kept"] for row in model.search_coverage_} == {0}
        chosen.append(model.history_[-1]["chosen"])
        moved.append(np.mean((model.predict(X) - y.mean()) ** 2) / np.var(y))
    assert set(chosen) <= {"nothing", "additive"}
    # The mean itself is off by a sixtieth.
    assert np.mean(moved) < 0.02


@pytest.mark.parametrize(
    ("seed", "chosen", "low", "high"),
    [(10, "additive", 0.0, 1.5), (14, "additive", 3.0, 4.0), (18, "gp", 4.0, 5.0)],
)
def test_a_little_shorter_than_nothing_is_chance(seed, chosen, low, high):
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (20, 5))
    y = 0.5 * X[:, 0] + rng.standard_normal(20)
    model = MOHNRegressor(random_state=0).fit(X, y)
    last = model.history_[-1]
    lengths = {
        name.removeprefix("description_length_"): length
        for name, length in last.items()
        if name.startswith("description_length_")
    }
    nothing = lengths.pop("nothing")
    assert low < nothing - min(lengths.values()) < high
    assert last["chosen"] == chosen
    is_chance = model.stopping_reason_.startswith("nothing is significant")
    assert is_chance == (low == 0.0)
    assert not (is_chance and model.terms_)


@pytest.mark.parametrize("n_rows", [15, 30])
def test_weak_signals_of_few_rows_are_predicted_as_ridge_does(n_rows):
    scores = np.zeros((8, 2))
    for seed in range(len(scores)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n_rows + 500, 6))
        signal = X @ rng.normal(size=6)
        y = 0.6 * signal / signal.std() + rng.normal(size=len(X))
        for k, model in enumerate((MOHNRegressor(random_state=0), BayesianRidge())):
            model.fit(X[:n_rows], y[:n_rows])
            scores[seed, k] = model.score(X[n_rows:], y[n_rows:])
    assert np.median(scores[:, 0] - scores[:, 1]) > -0.02


def make_few_terms():
    """Far longer to describe by all weights than by those of three products."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (150, 20))
    y = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] * X[:, 4] + X[:, 5]
    return X, y + 0.1 * rng.standard_normal(150)


@pytest.mark.slow_cases("inf")
@pytest.mark.parametrize("reach", [None, np.inf])
def test_a_gaussian_process_far_out_of_reach_is_given_up(reach, replace_constants):
    if reach is not None:
        replace_constants("skmohn.mohn._gp.solve", max_length_per_row=reach)
    X, y = make_few_terms()
    model = MOHNRegressor(random_state=0).fit(X, y)
    last = model.history_[-1]
    is_given_up = "Gaussian process far longer" in model.stopping_reason_
    assert is_given_up == ("description_length_gp" not in last) == (reach is None)
    assert last["chosen"] == "sparse"
    if reach is not None:
        lengths = last["description_length_gp"], last["description_length_sparse"]
        assert lengths[0] - lengths[1] > 0.2 * len(y)


@pytest.mark.parametrize(("density", "expected"), [(-14.0, False), (-16.0, True)])
def test_known_hyperparameters_are_charged_by_their_density(density, expected):
    def fit(**options):
        return SimpleNamespace(description_length=lambda: 205.0, n_observed=100.0)

    # Within 20 nats, 0.2 a row, it may become the shorter one.
    assert is_out_of_reach(fit, density, "auto", 200.0) is expected


def fit_and_count(X, y, weight=None):
    """How often all rows are asked whether a Gaussian process is within reach."""
    with mock.patch.object(_solve, "_is_out_of_reach", wraps=is_out_of_reach) as whole:
        model = MOHNRegressor(random_state=0).fit(X, y, weight)
    return whole.call_count, model


@pytest.mark.parametrize("is_weighted", [False, True])
def test_some_of_many_rows_show_what_is_within_reach(is_weighted, replace_constants):
    X, y = make_dense(60)
    weight = np.full(60, 2.0) if is_weighted else None
    n_all, model = fit_and_count(X, y, weight)
    replace_constants(_solve, n_rows_reach=40)
    n_some, same = fit_and_count(X, y, weight)
    assert (n_all, n_some) == (1, 0)
    assert_array_equal(same.predict(X), model.predict(X))


def test_all_rows_decide_what_is_out_of_reach_of_some(replace_constants):
    replace_constants(_solve, n_rows_reach=50)
    n_some, model = fit_and_count(*make_few_terms())
    assert n_some == 1
    assert "Gaussian process far longer" in model.stopping_reason_


def test_a_gaussian_process_that_loses_is_not_listed(monkeypatch, replace_constants):
    replace_constants("skmohn.mohn._gp.solve", max_length_per_row=np.inf)
    calls, listed = [], GPModel.significant_terms
    monkeypatch.setattr(
        GPModel,
        "significant_terms",
        lambda model, order: calls.append(model) or listed(model, order),
    )
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (100, 8))
    noise = 0.1 * rng.standard_normal(100)
    model = MOHNRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1] * X[:, 2] + noise)
    last = model.history_[-1]
    lengths = last["description_length_gp"], last["description_length_sparse"]
    assert lengths[0] > lengths[1] + _strategies._AUTO.max_excess_gp
    assert not calls
    X, y = make_dense(60)
    assert MOHNRegressor(random_state=0).fit(X, y).history_[-1]["chosen"] == "gp"
    assert calls


def test_a_gaussian_process_within_reach_is_learned_from_all_rows(dense_fit):
    X, y = make_dense()
    assert dense_fit.history_[-1]["chosen"] == "gp"
    alone = MOHNRegressor("gp", random_state=0).fit(X, y)
    assert_array_equal(dense_fit.predict(X), alone.predict(X))


# A sparse model that explains the data better than any other, once its terms are known.
KNOWN_TERMS = SimpleNamespace(data_description_length=lambda: -np.inf)


@pytest.mark.parametrize(("errors", "is_better"), [(1.5, False), (2.5, True)])
def test_left_out_rows_must_be_predicted_better_by_two_errors(errors, is_better):
    X, y = make_dense(60)
    rows = EncodedRows(X, np.empty((60, 0), dtype=int))
    model = fit_gp(rows, y, strong_terms=False, noise="constant")
    folds = list(KFold(5).split(X))
    left_out = []
    for train, test in folds:
        part = fit_gp(
            rows.take(train),
            y[train],
            covariance=model.covariance,
            strong_terms=False,
            noise="constant",
        )
        residual = (
            y[test] - part.predictive_mean(rows.take(test))
        ) / power_of_two_scale(y)
        left_out.append(np.mean(residual**2))
    gains = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    gains += errors * sem(gains) - gains.mean()
    selection = SimpleNamespace(folds=folds, errors=np.array(left_out) - gains)
    samples = TrainingData(rows, y)
    sparse = SimpleNamespace(selection=selection, model=KNOWN_TERMS)
    settings = FitSettings()
    assert predicts_better(sparse, model, samples, settings) == is_better


@pytest.mark.parametrize("is_clear", [False, True])
def test_few_rows_of_the_folds_may_do(monkeypatch, replace_constants, is_clear):
    replace_constants("skmohn.mohn._strategies", n_rows_per_stage=(30, 40, 45))
    asked = []
    monkeypatch.setattr(
        "skmohn.mohn._strategies.fit_gp",
        lambda rows, *args, **kwargs: (
            asked.append(len(rows)) or fit(rows, *args, **kwargs)
        ),
    )
    fit = fit_gp
    X, y = make_dense(60)
    rows = EncodedRows(X, np.empty((60, 0), dtype=int))
    model = fit(rows, y, strong_terms=False, noise="constant")
    folds = list(KFold(5).split(X))
    # No model is better than one without errors, and any is than one with large ones.
    errors = np.full(5, 100.0) if is_clear else np.zeros(5)
    selection = SimpleNamespace(folds=folds, errors=errors)
    sparse = SimpleNamespace(selection=selection, model=KNOWN_TERMS)
    found = predicts_better(sparse, model, TrainingData(rows, y), FitSettings())
    assert found == (not is_clear)
    assert asked == [30] * 5 + ([] if is_clear else [40] * 5 + [45] * 5)


def test_a_few_large_targets_do_not_make_a_model_better():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 4))
    X[rng.random(X.shape) < 0.05] = np.nan
    log_y = 2.0 * np.nan_to_num(X[:, 0] - X[:, 1]) + 0.2 * rng.standard_normal(90)
    model = MOHNRegressor(random_state=0).fit(X, np.exp(log_y))
    last = model.history_[-1]
    assert last["chosen"] in ("additive", "gp")
    for on_scale in ("additive", "gp"):
        length = last[f"description_length_{on_scale}"]
        assert length < last["description_length_sparse"] - 100
    assert np.corrcoef(np.log(model.predict(X)), log_y)[0, 1] > 0.95


@pytest.mark.slow
def test_rough_tables_of_many_rows_are_not_taken_for_nothing(
    monkeypatch, replace_constants
):
    replace_constants("skmohn.mohn._gp.model", max_rows_exact=300)
    replace_constants("skmohn.mohn._gp.model", max_inducing=60)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (600, 4))
    tables = rng.standard_normal((3, 6, 6))
    y = sum(tables[i][X[:, i], X[:, i + 1]] for i in range(3))
    model = MOHNRegressor(categorical_features=range(4), random_state=0).fit(X, y)
    last = model.history_[-1]
    assert last["chosen"] == "gp"
    # Below the lengths of blocks is that of all rows.
    model.set_params(strategy="gp")
    of_blocks = last["description_length_gp"]
    monkeypatch.undo()
    of_all = model.fit(X, y).model_.description_length()
    assert of_all < of_blocks < 0.5 * (of_all + last["description_length_nothing"])


# -------------------------------------------------------- what else a fit can be asked


@pytest.mark.parametrize("strategy", ["auto", "gp", "spike_slab", "pursuit"])
def test_progress_knows_how_long_a_history_can_become(strategy):
    model = MOHNRegressor(strategy, max_iter=2, random_state=0).fit(*make_dense(60))
    max_steps = STRATEGIES[model.strategy].max_steps
    assert len(model.history_) == max_steps(FitSettings.of(model))


def test_validation_samples_take_the_place_of_folds():
    X, y = make_dense(300)
    for how in ({"X_val": X[200:], "y_val": y[200:]}, {}):
        model = MOHNRegressor(early_stopping=not how, random_state=0)
        model.fit(X[:200], y[:200], **how)
        said = [r["validation_rmse"] for r in model.history_ if "validation_rmse" in r]
        assert min(said) > 0
        assert model.history_[-1]["chosen"] == "gp"


def test_warm_start_goes_on_from_either(dense_fit):
    X, y = make_dense()
    model = copy.deepcopy(dense_fit).set_params(warm_start=True)
    assert_allclose(model.fit(X, y).predict(X), dense_fit.predict(X), atol=0.02)
    data = make_sparse(noise=0.0)
    model.fit(data.X, data.y)
    assert model.terms_ == data.terms


def test_partial_fit_conditions_the_dense_and_corrects_the_sparse(
    dense_fit, sparse_fit
):
    X, y = make_dense()
    dense = copy.deepcopy(dense_fit).partial_fit(X[:9], y[:9])
    assert np.all(dense.predict(X, return_std=True)[1] > 0)
    fitted, more, targets = sparse_fit
    sparse = copy.deepcopy(fitted).set_params(
        delta_options=DeltaOptions(learning_rate=0.01)
    )
    sparse.partial_fit(more[:200], targets[:200])
    assert sparse.terms_ == fitted.terms_
    with pytest.raises(ValueError, match="partial_fit of a sparse model"):
        sparse.predict(more, return_std=True)


def test_partial_fit_conditions_the_sparse(sparse_fit):
    fitted, more, targets = sparse_fit
    model = copy.deepcopy(fitted)
    prior = model.model_
    weights = np.resize([0.5, 1.0, 2.5], 200)
    model.partial_fit(more[:90], targets[:90], weights[:90])
    model.partial_fit(more[90:200], targets[90:200], weights[90:])
    # Of a Gaussian process with the covariance and the mean of the first fit.
    rows, noise = model._to_rows(more[:260]), prior.noise_variance
    covariance = prior.given_covariance(rows)
    seen, new = slice(0, 200), slice(200, None)
    mean = prior.latent_mean(rows)
    residual = (targets[seen] - mean[seen]) / prior.y_std
    of_seen = covariance[seen, seen] + np.diag(noise / weights)
    gain = np.linalg.solve(of_seen, covariance[seen]).T
    assert_allclose(
        model.predict(more[200:260]), (mean + prior.y_std * gain @ residual)[new]
    )
    left = covariance[new, new] - (gain @ covariance[seen])[new, new]
    assert_allclose(model.model_.given_covariance(rows)[new, new], left, atol=1e-12)
    of_targets = multivariate_normal(np.zeros(200), of_seen).logpdf(residual)
    gained = model.model_.evidence - prior.evidence
    assert gained == pytest.approx(of_targets - 200 * np.log(prior.y_std))
    assert np.all(model.standard_errors_ < fitted.standard_errors_)
    repeats = np.resize([1.0, 2.0, 3.0], 60)
    again = np.repeat(np.arange(60), repeats.astype(int))
    once, often = copy.deepcopy(fitted), copy.deepcopy(fitted)
    once.partial_fit(more[:60], targets[:60], repeats)
    often.partial_fit(more[again], targets[again])
    assert_allclose(once.weights_, often.weights_)
    assert once.model_.evidence == pytest.approx(often.model_.evidence)


def test_further_rows_do_not_spoil_a_sparse_model():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (200, 5)).astype(float)
    function = X[:, 0] + 2.0 * X[:, 1] * X[:, 2] - X[:, 3]
    y = function + 0.3 * rng.standard_normal(200)
    model = MOHNRegressor(random_state=0).fit(X[:40], y[:40])
    assert model.history_[-1]["chosen"] == "sparse"
    before = np.std(model.predict(X) - function)
    for start in range(40, 200, 40):
        model.partial_fit(X[start : start + 40], y[start : start + 40])
    # By the delta rule, whose last steps follow the noise, it was three times as large.
    assert np.std(model.predict(X) - function) < before


def test_weights_count_repeated_rows():
    X, y = make_dense(50)
    weights = np.random.default_rng(0).integers(0, 3, 50)
    one = MOHNRegressor(random_state=0).fit(X, y, weights)
    rows = np.repeat(np.arange(50), weights)
    other = MOHNRegressor(random_state=0).fit(X[rows], y[rows])
    lengths = [
        [r for name, r in model.history_[-1].items() if name.startswith("desc")]
        for model in (one, other)
    ]
    assert_allclose(*lengths, rtol=1e-3)


@pytest.mark.parametrize("value", [0.0, 0.1, 0.7, 1e9])
def test_constant_targets_are_certain(value):
    """Also where their mean is off by rounding."""
    X = np.random.default_rng(0).choice([-1.0, 1.0], (6, 4))
    mean, std = MOHNRegressor().fit(X, np.full(6, value)).predict(X, return_std=True)
    assert_allclose(mean, value, rtol=1e-12)
    assert_allclose(std, 0.0)


@pytest.mark.slow_cases("auto")
@pytest.mark.parametrize("strategy", ["auto", "gp"])
def test_two_noisy_values_are_classes(strategy):
    """A regressor predicts their mean; who wants probabilities is told where."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (60, 4))
    y = (X[:, 0] + rng.standard_normal(60) > 0).astype(float)
    model = MOHNRegressor(strategy, random_state=0)
    with pytest.warns(UserWarning, match="MOHNClassifier predicts the probability"):
        model.fit(X, y)
    # Three values, exact functions and few samples are no reason to.
    model.fit(X, y + (X[:, 1] > 0))
    model.fit(X[:19], y[:19])
    MOHNRegressor().fit(X, np.prod(X[:, :2], axis=1))


@pytest.mark.parametrize(
    ("how", "gain", "over_gp", "order", "kind", "expected"),
    [
        ("cv", 2.0, -30.0, 4, "numeric", True),
        ("whole", 9.0, math.inf, 2, "two-valued", False),
        ("whole", 11.0, math.inf, 2, "two-valued", True),
        ("whole", 40.0, -9.0, 2, "two-valued", True),
        ("whole", 40.0, -11.0, 2, "two-valued", False),
        ("whole", 40.0, -9.0, 4, "two-valued", True),
        ("whole", 40.0, -9.0, 3, "numeric", True),
        ("whole", 40.0, -9.0, 4, "numeric", False),
    ],
)
def test_terms_chosen_by_all_rows_count_beyond_chance_alone(
    how, gain, over_gp, order, kind, expected
):
    selection = SimpleNamespace(how=how)
    sparse = SimpleNamespace(selection=selection, terms=[tuple(range(order))])
    samples = SimpleNamespace(coding=SimpleNamespace(kind=np.array([kind])))
    lengths = {"nothing": 100.0, "sparse": 100.0 - gain}
    if math.isfinite(over_gp):
        lengths["gp"] = lengths["sparse"] + over_gp
    assert is_trusted(sparse, lengths, samples) is expected


def test_products_of_many_numeric_columns_are_not_trusted():
    # A product of seven numeric columns had made R2 -0.09 of 0.84.
    rng = np.random.default_rng([15, 60, 6])
    X = rng.standard_normal((2060, 8))
    mean = 3.0 + X @ rng.normal(0.0, 0.6, 8)
    y = np.clip(np.round(mean + rng.normal(0.0, 0.7, 2060)), 1.0, 5.0)
    model = MOHNRegressor(random_state=0).fit(X[:60], y[:60])
    assert model.score(X[60:], np.clip(mean[60:], 1.0, 5.0)) > 0.8


@pytest.mark.parametrize(
    ("kind", "gain", "off", "expected"),
    [
        ("numeric", 12.0, 1.0, True),
        ("numeric", 12.0, 0.9, False),
        ("numeric", 41.0, 1.0, False),
        ("two-valued", 12.0, 1.0, False),
    ],
)
def test_products_of_few_rows_are_tried_on_others(
    monkeypatch, kind, gain, off, expected
):
    folds = [(np.arange(4), np.arange(4, 8)), (np.arange(4, 8), np.arange(4))]
    sparse = SimpleNamespace(selection=SimpleNamespace(folds=folds))
    found = {"sparse": sparse, "spike_slab": SimpleNamespace(model=None)}
    lengths = {"nothing": 100.0, "spike_slab": 100.0 - gain}
    samples = SimpleNamespace(coding=SimpleNamespace(kind=np.array([kind])))
    errors = {True: off, False: 1.0}
    monkeypatch.setattr(
        _strategies,
        "_fold_errors",
        lambda fit, *_: np.full(2, errors[isinstance(fit, partial)]),
    )
    assert _strategies._loses_to_mean(found, lengths, samples) is expected


def test_outlying_counts_are_not_products_of_numbers():
    # R2 was -1.8: three of the largest of 60 counts are in rows with large products.
    rng = np.random.default_rng([2, 60, 5])
    X = rng.standard_normal((2060, 8))
    mean = np.exp(0.8 * X[:, 0] + 0.5 * X[:, 1] * X[:, 2])
    y = 1.0 * rng.poisson(mean) * (rng.random(2060) < 0.5)
    model = MOHNRegressor(random_state=0).fit(X[:60], y[:60])
    assert model.score(X[60:], 0.5 * mean[60:]) > 0.0
    assert "no better than y's mean" in model.stopping_reason_


def test_a_gaussian_process_is_chosen_where_products_are_collinear():
    # Conjunctions of columns that go with their neighbors: R2 was 0.65, for 0.90.
    rng = np.random.default_rng(2)
    steps = rng.standard_normal((1120, 70))
    X = np.sign(lfilter([1.0], [1.0, -0.97], steps)[:, 50:])
    conjunctions = [X[:, rng.choice(20, 3, replace=False)] > 0.0 for _ in range(6)]
    f = sum(rng.standard_normal() * columns.all(axis=1) for columns in conjunctions)
    y = f + 0.1 * np.std(f) * rng.standard_normal(len(f))
    model = MOHNRegressor(random_state=0).fit(X[:120], y[:120])
    last = model.history_[-1]
    assert last["description_length_spike_slab"] < last["description_length_gp"]
    assert "Gaussian process predicts held-out rows better" in model.stopping_reason_
    average = MOHNRegressor("spike_slab", random_state=0).fit(X[:120], y[:120])
    assert model.score(X[120:], f[120:]) > average.score(X[120:], f[120:]) + 0.1


def test_no_process_is_fitted_to_many_rows_whose_errors_are_noise(monkeypatch):
    def refuse(*_):
        raise AssertionError

    rng = np.random.default_rng(0)
    X = rng.standard_normal((1001, 3))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(1001)
    monkeypatch.setattr(_strategies, "_refit_of", refuse)
    model = MOHNRegressor(random_state=0).fit(X, y)
    assert "the spike-and-slab model has the shortest" in model.stopping_reason_


@pytest.mark.parametrize(
    ("errors", "others", "expected"),
    [
        ([0.7, 0.7, 0.7], [1.0, 1.0, 1.0], True),
        ([0.8, 0.8, 0.8], [1.0, 1.0, 1.0], False),
        # One fold has most of the errors.
        ([1.1, 1.1, 0.1], [1.0, 1.0, 9.0], False),
        ([0.9, 0.9, 0.1], [1.0, 1.0, 9.0], True),
    ],
)
def test_errors_are_clearly_less_on_all_folds_and_on_most(errors, others, expected):
    errors, others = np.array(errors), np.array(others)
    assert _strategies._is_clearly_less(errors, others) is expected


def solution_of(length, terms=(), highest=3):
    """A solution of a known description length."""
    graph = WalshPolynomial(tuple(terms), np.ones(len(terms)), 0.0)
    model = SimpleNamespace(
        description_length=lambda: length,
        transform=UNCHANGED,
        y_min=-np.inf,
        y_max=np.inf,
    )
    coverage = [{"order": highest}]
    return FitResult.of_weights(
        graph, np.zeros(len(terms)), 1.0, "", coverage, model=model
    )


@pytest.mark.parametrize(
    ("terms", "lengths", "highest", "is_better", "expected"),
    [
        # As short, with a list that controls the false discoveries.
        (TERMS, (100.0, 109.0), 3, False, "spike_slab"),
        (TERMS, (100.0, 91.0), 3, True, "spike_slab"),
        # Longer by so much that it is not of the same function.
        (TERMS, (100.0, 111.0), 3, False, "sparse"),
        # The same list.
        (TERMS[:2], (100.0, 109.0), 3, False, "sparse"),
        (TERMS[:2], (100.0, 91.0), 3, True, "sparse"),
        # Sets of the sparse model's order were not tried.
        (TERMS, (100.0, 109.0), 2, False, "sparse"),
        (TERMS, (100.0, 91.0), 2, True, "sparse"),
        (TERMS, (100.0, 91.0), 2, False, "spike_slab"),
        # The mean describes the data as well.
        (TERMS, (190.0, 199.0), 3, False, "sparse"),
    ],
)
def test_sparse_models_with_unsupported_terms_are_averaged(
    terms, lengths, highest, is_better, expected, monkeypatch
):
    monkeypatch.setattr(_strategies, "_is_trusted", lambda *_: True)
    monkeypatch.setattr(_strategies, "_predicts_better", lambda *_: is_better)
    found = {
        "sparse": solution_of(lengths[0], terms),
        "spike_slab": solution_of(lengths[1], TERMS[:2], highest),
        "nothing": solution_of(200.0),
    }
    samples, records = SimpleNamespace(y=np.arange(100.0)), []
    chosen = _strategies._choose(
        found, samples, FitSettings(), lambda record, *_: records.append(record)
    )
    assert chosen.model is found[expected].model
    assert records[0]["chosen"] == expected
    is_said = "the sparse model is not the only one that fits" in chosen.stopping_reason
    assert is_said is (expected == "spike_slab" and lengths[0] < lengths[1])


@pytest.mark.parametrize(("longer", "expected"), [(-0.1, "gp"), (0.1, "additive")])
def test_how_long_a_gaussian_process_can_be_and_yet_be_chosen(longer, expected):
    # Sparse model, average and additive model give way to each other, and that to it.
    constants = _strategies._AUTO
    gain = constants.min_gain_over_average + constants.min_gain_weak
    gain += constants.min_gain_over_additive
    assert gain < constants.max_excess_gp
    longest = 100.0 + gain
    found = {
        "sparse": solution_of(100.0, TERMS),
        "spike_slab": solution_of(109.98, TERMS[:2]),
        "additive": solution_of(111.96, TERMS[:1]),
        "gp": solution_of(longest + longer, [(0, 1)]),
        "nothing": solution_of(140.0),
    }
    samples = SimpleNamespace(y=np.arange(100.0))
    chosen = _strategies._choose(found, samples, FitSettings(), lambda *_: None)
    assert chosen.model is found[expected].model


@pytest.mark.parametrize(
    ("other", "shorter", "nothing", "expected"),
    [
        ("gp", 1.9, 110.0, "additive"),
        ("gp", 2.1, 110.0, "gp"),
        ("spike_slab", 1.9, 110.0, "additive"),
        ("spike_slab", 2.1, 110.0, "spike_slab"),
        # It is not surely better than the mean.
        ("gp", 2.1, 102.8, "additive"),
        ("gp", 2.1, 103.0, "gp"),
        ("gp", 3.1, 101.0, "gp"),
        # The mean has the shortest description, or nearly.
        ("gp", -5.0, 97.1, "additive"),
        ("gp", -5.0, 96.9, "nothing"),
    ],
)
def test_weak_signals_are_additive_unless_another_model_is_clearly_shorter(
    other, shorter, nothing, expected
):
    found = {
        "additive": solution_of(100.0, TERMS[:1]),
        other: solution_of(100.0 - shorter, TERMS[:1]),
        "nothing": solution_of(nothing),
    }
    coding = SimpleNamespace(kind=np.array(["two-valued"]))
    samples = SimpleNamespace(y=np.arange(100.0), coding=coding)
    chosen = _strategies._choose(found, samples, FitSettings(), lambda *_: None)
    assert chosen.model is found[expected].model


@pytest.mark.parametrize(
    ("transform", "apart", "off", "expected"),
    [
        (Logarithm(), 2.9, 0.5, "spike_slab"),
        (Logarithm(), -2.9, 0.5, "spike_slab"),  # tied with the Gaussian process
        (Logarithm(), 3.1, 0.5, "gp"),
        (Logarithm(), 2.9, 0.01, "gp"),  # not clearly better
        (UNCHANGED, 2.9, 0.5, "gp"),
    ],
)
def test_of_models_as_short_a_scale_costs_no_accuracy(transform, apart, off, expected):
    rng = np.random.default_rng(0)
    y = np.arange(100.0)
    errors = rng.standard_normal((2, 100))
    found = {
        "spike_slab": solution_of(100.0 + apart),
        "gp": solution_of(100.0),
        "nothing": solution_of(200.0),
    }
    found["gp"].model.transform = transform
    for name, error in zip(found, (errors[0], (1.0 + off) * errors[1]), strict=False):
        found[name].model.left_out_means = lambda *_, error=error: [y + error]
    rows = SimpleNamespace(as_float=lambda: None)
    samples = SimpleNamespace(y=y, rows=rows, sample_weight=None)
    chosen = _strategies._choose(found, samples, FitSettings(), lambda *_: None)
    assert chosen.model is found[expected].model


def test_a_gaussian_process_is_kept_where_spikes_and_slabs_say_the_same():
    X, y = make_dense(1300)
    model = MOHNRegressor(random_state=0).fit(X[:200], y[:200])
    lengths = model.history_[-1]
    assert lengths["chosen"] == "gp"
    apart = lengths["description_length_gp"]
    apart -= lengths["description_length_spike_slab"]
    assert 0.0 < apart < 3.0
    assert model.stopping_reason_.startswith("no description is clearly shorter")


@pytest.mark.parametrize("keeps_covariance", [True, False])
def test_refits_on_folds_know_the_categories(keeps_covariance):
    """Whether hyperparameters are learned again or not, and on another scale."""
    rng = np.random.default_rng(0)
    alphabets = (Categorical(4, False), Categorical(3, False))
    categories = rng.integers([4, 3], size=(60, 2))
    effects = rng.normal(size=4)
    y = np.exp(effects[categories[:, 0]] + 0.1 * rng.normal(size=60))
    rows = EncodedRows(np.zeros((60, 0)), categories)
    model = fit_gp(rows, y, alphabets=alphabets, transform=Logarithm())
    samples = SimpleNamespace(
        rows=rows,
        y=y,
        sample_weight=None,
        seed=0,
        term_names=SimpleNamespace(alphabets=alphabets),
    )
    refit = refit_of(model, samples, FitSettings.of(MOHNRegressor()), keeps_covariance)
    again = refit(np.arange(40))
    assert again.covariance.alphabets == alphabets
    means = again.predictive_mean(rows.take(np.arange(40, 60)))
    assert np.corrcoef(np.log(means), np.log(y[40:]))[0, 1] > 0.9
