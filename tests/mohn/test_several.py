"""Several targets: what they share, what each has, and scikit-learn's conventions."""

import copy
import operator
import pickle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.multioutput import MultiOutputRegressor, RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from support import Callback

from skmohn import GPOptions, MOHNRegressor
from skmohn._core._fitting import gather_warnings
from skmohn.inspection import ImportancesDisplay, WeightsDisplay, selection_stability
from skmohn.integrations import to_networkx
from skmohn.mohn._gp.covariance_function import Prior
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.heteroscedastic_noise import fit_noise_model, smooth_noise
from skmohn.mohn._gp.hyperparameter_uncertainty import (
    EvidenceCurvature,
    marginalize_hyperparameters,
)
from skmohn.mohn._gp.marginal_likelihood import Evidence, join_equal_rows
from skmohn.mohn._gp.model import fit_gp
from skmohn.mohn._gp.shared import SharedFactor, TargetPosterior, remember
from skmohn.mohn._gp.transform_selection import keep_scale
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._multioutput import MultiTargetModel
from skmohn.mohn._table.rows import EncodedRows
from skmohn.optimize import maximize

CONSTANT_NOISE = GPOptions(noise="constant")


def make_targets(n_targets=3, n_rows=120, seed=0, noise=0.4):
    """Draw bits, and functions of the same six of them, in which they matter alike."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n_rows, 8))
    signs = rng.choice([-1.0, 1.0], (n_targets, 4))
    parts = [X[:, 0] * X[:, 1], X[:, 2] * X[:, 3], X[:, 4], X[:, 5] * X[:, 0] * X[:, 2]]
    y = np.transpose(parts) @ signs.T + noise * rng.standard_normal((n_rows, n_targets))
    return X, y


X, Y = make_targets()


@pytest.fixture(scope="module")
def shared():
    """Return a Gaussian process of three targets that share hyperparameters."""
    return MOHNRegressor("gp", gp_options=CONSTANT_NOISE).fit(X, Y)


# ------------------------------------------------------------------------- conventions


@pytest.mark.slow_cases("auto")
@pytest.mark.parametrize("strategy", ["auto", "gp", "spike_slab", "msda", "full"])
def test_every_strategy_equals_a_fit_for_each_target_or_shares(strategy):
    model = MOHNRegressor(strategy, max_order=2, max_iter=20, random_state=0)
    prediction = model.fit(X, Y).predict(X)
    assert prediction.shape == Y.shape
    assert_allclose(model.score(X, Y), r2_score(Y, prediction))
    for k, part in enumerate(model.estimators_):
        assert_allclose(part.predict(X), prediction[:, k], rtol=1e-9, atol=1e-12)
        if k not in model.shared_targets_:
            alone = clone(model)
            assert_array_equal(alone.fit(X, Y[:, k]).predict(X), part.predict(X))
    assert bool(model.shared_targets_) == (strategy == "gp")


def test_given_terms_are_those_of_every_target():
    model = MOHNRegressor("given", terms=[(0, 1), (4,)]).fit(X, Y)
    assert model.terms_ == [(4,), (0, 1)]
    products = np.column_stack([X[:, 4], X[:, 0] * X[:, 1]])
    ols = LinearRegression().fit(products, Y)
    assert_allclose(model.weights_, ols.coef_)
    assert_allclose(model.intercept_, ols.intercept_)
    assert_allclose(model.predict(X), ols.predict(products))


def test_a_column_of_targets_stays_one():
    ols = LinearRegression().fit(X, Y[:, :1])
    model = MOHNRegressor("full", max_order=2).fit(X, Y[:, :1])
    flat = MOHNRegressor("full", max_order=2).fit(X, Y[:, 0])
    assert model.predict(X).shape == ols.predict(X).shape == (len(X), 1)
    assert_array_equal(model.predict(X)[:, 0], flat.predict(X))
    assert model.weights_.shape == (1, len(flat.terms_))
    assert not hasattr(flat, "estimators_")


def test_lists_and_frames_are_taken():
    model = MOHNRegressor("full", max_order=2).fit(X, Y)
    listed = clone(model).fit(X.tolist(), Y.tolist())
    assert_array_equal(listed.weights_, model.weights_)
    assert model.target_names_ == [0, 1, 2]
    framed = clone(model).fit(
        pd.DataFrame(X).add_prefix("x"), pd.DataFrame(Y, columns=list("abc"))
    )
    assert framed.target_names_ == ["a", "b", "c"]
    assert framed.feature_names_in_.tolist() == [f"x{i}" for i in range(8)]
    assert_array_equal(framed.weights_, model.weights_)
    assert set(framed.terms_table()["target"]) == {"a", "b", "c"}
    assert framed.stopping_reason_.startswith("target a: ")
    assert_array_equal(
        framed.explain(pd.DataFrame(X[:1]).add_prefix("x"), "b")["contribution"],
        framed.estimators_[1].explain(pd.DataFrame(X[:1]).add_prefix("x"))[
            "contribution"
        ],
    )


@pytest.mark.slow
def test_tools_of_scikit_learn():
    model = MOHNRegressor("pursuit", max_order=2, random_state=0)
    assert get_tags(model).target_tags.multi_output
    assert cross_val_score(model, X, Y, cv=2).min() > 0.5
    model = MOHNRegressor("full", max_order=2)
    assert cross_val_predict(model, X, Y, cv=2).shape == Y.shape
    search = GridSearchCV(model, {"max_order": [1, 2]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"max_order": 2}
    chain = RegressorChain(model, order=[2, 0, 1]).fit(X, Y)
    assert chain.predict(X).shape == Y.shape
    pipeline = make_pipeline(FunctionTransformer(), model).fit(X, Y)
    each = MultiOutputRegressor(model).fit(X, Y)
    assert_array_equal(pipeline.predict(X), each.predict(X))


def test_a_fit_is_undone_and_replaced_as_a_whole():
    model = MOHNRegressor("full", max_order=2).fit(X, Y)
    before = vars(model).copy()
    with pytest.raises(ValueError, match="y contains NaN, in column 1"):
        model.fit(X, np.where(np.arange(3) == 1, np.nan, Y))
    assert vars(model) == before
    model.fit(X, Y[:, 0])
    assert model.predict(X).shape == (len(X),)
    assert not hasattr(model, "estimators_")
    assert not hasattr(model, "shared_targets_")
    model.fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert isinstance(model.model_, MultiTargetModel)
    assert model.model_.models == [part.model_ for part in model.estimators_]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.empty((120, 0)), "y has no column"),
        (np.full((120, 2), np.inf), "y contains infinity, in column 0"),
        (Y[:50], "inconsistent numbers of samples"),
    ],
)
def test_targets_that_cannot_be_learned_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        MOHNRegressor().fit(X, y)


def test_a_target_with_gaps_is_named():
    # Before pandas 3 a frame shares the memory of its array.
    y = pd.DataFrame(Y.copy(), columns=["a", "b", "c"])
    y.loc[3, "c"] = np.nan
    with pytest.raises(ValueError, match="in column 'c'"):
        MOHNRegressor().fit(X, y)


def test_validation_samples_have_as_many_targets():
    model = MOHNRegressor("pursuit")
    with pytest.raises(ValueError, match="y_val has 2 columns, but y has 3"):
        model.fit(X, Y, X_val=X[:20], y_val=Y[:20, :2])
    with pytest.raises(ValueError, match="y_val must have two dimensions"):
        model.fit(X, Y, X_val=X[:20], y_val=Y[:20, 0])
    early = MOHNRegressor("pursuit", early_stopping=True, random_state=0).fit(X, Y)
    own = clone(early).fit(X, Y[:, 2])
    assert_array_equal(early.predict(X)[:, 2], own.predict(X))
    held = model.fit(X[20:], Y[20:], X_val=X[:20], y_val=Y[:20])
    alone = clone(model).fit(X[20:], Y[20:, 1], X_val=X[:20], y_val=Y[:20, 1])
    assert_array_equal(held.predict(X)[:, 1], alone.predict(X))


def test_folds_of_an_iterator_serve_all_targets():
    folds = list(KFold(3).split(X))
    model = MOHNRegressor("pursuit", max_order=2, cv=iter(folds), random_state=0).fit(
        X, Y
    )
    again = MOHNRegressor("pursuit", max_order=2, cv=folds, random_state=0).fit(X, Y)
    assert_array_equal(model.weights_, again.weights_)


def test_warnings_name_their_targets():
    rng = np.random.default_rng(0)
    y = rng.standard_normal((12, 2))
    with pytest.warns(ConvergenceWarning, match="^targets 0, 1: ") as caught:
        MOHNRegressor("full", max_order=2).fit(X[:12], y)
    assert len(caught) == 1


def test_what_is_set_after_a_fit_counts_for_all(shared):
    model = copy.deepcopy(shared)
    for part in model.estimators_:
        # What makes the limits show.
        object.__setattr__(part.model_, "y_min", 50.0)
        object.__setattr__(part.model_, "y_max", 60.0)
    assert_array_equal(model.predict(X), 50.0)
    assert "(clip)" in set(model.explain(X[0], target=2)["term"])
    model.set_params(gp_options__clip=False)
    assert (model.predict(X) < 50.0).all()
    assert "(clip)" not in set(model.explain(X[0], target=2)["term"])


class _Counter(Callback):
    """A callback that counts tasks and may stop each fit."""

    max_propagation_depth = None

    def __init__(self, stop):
        self.stop, self.ends = stop, []

    def on_fit_task_end(self, estimator, context, **data):
        """Count the end of a task; stop the search of a target."""
        self.ends.append(context.task_name)
        return self.stop and context.task_name == "iteration"


@pytest.mark.slow_cases("False")
@pytest.mark.needs_sklearn("1.9", "callbacks")
@pytest.mark.parametrize("stop", [False, True])
def test_callbacks_follow_each_target(stop):
    counter = _Counter(stop)
    model = MOHNRegressor("pursuit").set_callbacks(counter)
    with gather_warnings():
        model.fit(X, Y)
    assert counter.ends.count("iteration") >= 3
    assert counter.ends[-1] == "fit"
    assert model.predict(X).shape == Y.shape
    if stop:
        assert len(model.history_) == 3


def test_a_change_of_one_targets_model_counts(shared):
    model = copy.deepcopy(shared)
    part = model.estimators_[1].partial_fit(X[:40], Y[:40, 1])
    assert_array_equal(model.predict(X)[:, 1], part.predict(X))
    assert np.any(model.predict(X)[:, 1] != shared.predict(X)[:, 1])


def test_unfitted_estimators_are_refused():
    with pytest.raises(NotFittedError):
        MOHNRegressor().predict(X)
    with pytest.raises(NotFittedError):
        MOHNRegressor().explain(X[0])
    with pytest.raises(NotFittedError):
        MOHNRegressor().significance_table(X, Y)


def test_terms_of_several_targets_are_tested_on_further_rows():
    model = MOHNRegressor("pursuit", max_order=2, random_state=0).fit(X[:60], Y[:60])
    table = model.significance_table(X[60:], Y[60:])
    for k, part in enumerate(model.estimators_):
        rows = table[table["target"] == k].drop(columns="target")
        own = part.significance_table(X[60:], Y[60:, k])
        pd.testing.assert_frame_equal(rows.reset_index(drop=True), own)
    with pytest.raises(ValueError, match="y has 2 columns, but fit was given 3"):
        model.significance_table(X[60:], Y[60:, :2])
    with pytest.raises(ValueError, match="X is missing"):
        model.significance_table(None, Y)


def test_what_takes_one_target_says_so(shared):
    for use in (
        maximize,
        to_networkx,
        WeightsDisplay.from_estimator,
        ImportancesDisplay.from_estimator,
    ):
        with pytest.raises(ValueError, match=r"3 targets.*pass .*estimators_\[k\]"):
            use(shared)
        use(shared.estimators_[1])
        plt.close("all")
    with pytest.raises(ValueError, match="y should be a 1d array"):
        selection_stability(MOHNRegressor("pursuit"), X, Y)


# -------------------------------------------------------------------------- attributes


def test_attributes_are_those_of_the_targets(shared):
    parts = shared.estimators_
    assert set(shared.terms_) == {term for part in parts for term in part.terms_}
    assert shared.terms_ == sorted(shared.terms_, key=lambda term: (len(term), term))
    for k, part in enumerate(parts):
        for j, term in enumerate(shared.terms_):
            mean, std = part.weight_posterior(term)
            assert_allclose(shared.weights_[k, j], mean)
            assert_allclose(shared.standard_errors_[k, j], std)
            assert_allclose(shared.weight_posterior(term, target=k), (mean, std))
        assert shared.intercept_[k] == part.intercept_
        assert shared.noise_std_[k] == part.noise_std_
        assert_array_equal(shared.relevance_[k], part.relevance_)
    importances = [part.feature_importances_ for part in parts]
    assert_allclose(shared.feature_importances_, np.mean(importances, axis=0))
    evidences = [part.log_marginal_likelihood_ for part in parts]
    assert_allclose(shared.log_marginal_likelihood_, sum(evidences))
    assert {record["target"] for record in shared.history_} == {0, 1, 2}
    assert {record["target"] for record in shared.search_coverage_} == {0, 1, 2}


def test_a_dense_target_has_weights_for_the_terms_of_others():
    y = np.column_stack([2.0 * X[:, 0] + 0.1 * X[:, 1] + Y[:, 0], 3.0 * X[:, 6]])
    model = MOHNRegressor("gp").fit(X, y)
    first = model.estimators_[0]
    assert (6,) in model.terms_
    assert (6,) not in first.terms_
    place = model.terms_.index((6,))
    found = model.weights_[0, place], model.standard_errors_[0, place]
    assert_allclose(found, first.weight_posterior((6,)))
    assert found[1] > 0.0


@pytest.mark.parametrize("flip", [False, True])
def test_columns_that_vary_at_outliers_of_another_target_alone_have_weights(flip):
    rows, y = X.copy(), np.tile(X[:, 0] * X[:, 1], (2, 1)).T
    y += 0.1 * np.random.default_rng(0).standard_normal(y.shape)
    rows[:, 7] = np.isin(np.arange(len(X)), [7, 20])
    y[:, 0] += 500.0 * rows[:, 7]
    y[:, 1] += 50.0 * rows[:, 7]
    # Of which two values are outliers is for the first target to decide.
    y[20, 0] *= -1.0
    order = [1, 0] if flip else [0, 1]
    model = MOHNRegressor("pursuit", random_state=0).fit(rows, y[:, order])
    first, second = (model.estimators_[k] for k in order)
    assert first.outliers_[[7, 20]].all()
    assert (7,) in second.terms_
    assert (7,) not in first.term_names_.labels
    index = model.terms_.index((7,))
    assert_allclose(model.weights_[order, index], [0.0, 25.0], atol=1.0)


def test_weights_that_a_sparse_target_left_out_are_zero():
    model = MOHNRegressor("pursuit", max_order=2, random_state=0).fit(
        X, np.column_stack([X[:, 0] * X[:, 1], 2.0 * X[:, 3] - 1.0])
    )
    assert model.terms_ == [(3,), (0, 1)]
    assert_allclose(model.weights_, [[0, 1], [2, 0]], atol=1e-12)
    assert_allclose(model.intercept_, [0, -1], atol=1e-12)
    assert model.interaction_graph_.components == ((0, 1), (3,))
    assert model.interaction_graph_.unused == (2, 4, 5, 6, 7)


def test_tables_have_a_column_for_the_target(shared):
    for table, own in (
        (shared.terms_table(), lambda part: part.terms_table()),
        (shared.sobol_indices(), lambda part: part.sobol_indices()),
    ):
        assert table.columns[0] == "target"
        for k, part in enumerate(shared.estimators_):
            rows = table[table["target"] == k].drop(columns="target")
            pd.testing.assert_frame_equal(rows.reset_index(drop=True), own(part))


@pytest.mark.parametrize("target", [None, 3, -1, "a", True])
def test_a_target_must_be_one(shared, target):
    with pytest.raises(ValueError, match="not one of the 3 targets"):
        shared.explain(X[0], target=target)


def test_a_single_target_has_no_other():
    model = MOHNRegressor("gp").fit(X, Y[:, 0])
    for ask in (
        lambda: model.explain(X[0], 0),
        lambda: model.weight_posterior((0,), target=0),
    ):
        with pytest.raises(ValueError, match="leave target out"):
            ask()


@pytest.mark.needs_sklearn("1.9", "fitted attributes in the HTML")
def test_html_has_a_line_for_each_target(shared):
    html = shared._repr_html_()
    assert "3 targets" in html
    assert "same hyperparameters: 3" in html
    assert html.count("all weights of 8 inputs") >= 3


# ------------------------------------------------------------------------------ shared


def test_one_prior_and_one_factor_serve_all(shared):
    assert shared.shared_targets_ == [0, 1, 2]
    models = [part.model_ for part in shared.estimators_]
    assert all(isinstance(m.posterior, TargetPosterior) for m in models)
    assert len({id(m.posterior.shared) for m in models}) == 1
    assert len({m.prior.noise_variance for m in models}) == 1


def test_shared_equals_separate_at_the_same_hyperparameters(shared):
    prior = shared.estimators_[0].model_.prior
    rows = EncodedRows(X, np.empty((len(X), 0), dtype=int))
    mean, std = shared.predict(X, return_std=True)
    for k, part in enumerate(shared.estimators_):
        alone = fit_gp(rows, Y[:, k], covariance=Covariance(prior), noise="constant")
        assert_allclose(mean[:, k], alone.predictive_mean(rows), atol=1e-8)
        variance = part.model_.posterior.latent_variance(rows)
        assert_allclose(variance, alone.posterior.latent_variance(rows), atol=1e-8)
        assert_allclose(part.model_.log_evidence(), alone.log_evidence())
        left = part.model_.posterior.leave_one_out()
        assert_allclose(left, alone.posterior.leave_one_out(), atol=1e-8)
        assert std[:, k].min() >= part.model_.y_std * np.sqrt(prior.noise_variance)
        assert_allclose(std[:, k], part.predict(X, return_std=True)[1])


def test_joint_evidence_is_that_of_independent_gaussians():
    rng = np.random.default_rng(0)
    prior = Prior(rng.uniform(0.05, 0.5, 8), np.empty(0), 0.8, 0.3, 0.2)
    rows = EncodedRows(X, np.empty((len(X), 0), dtype=int))
    tau = np.tanh(prior.ard_rates)
    products = np.prod((1 + tau * X[:, None] * X) / (1 + tau), axis=2)
    covariance = 0.8 * products + 1.0 + 0.3 * (X * tau) @ X.T + 0.2 * np.eye(len(X))
    sign, log_det = np.linalg.slogdet(covariance)
    assert sign == 1
    expected = -0.5 * np.sum(Y * np.linalg.solve(covariance, Y))
    expected -= 1.5 * (log_det + len(X) * np.log(2 * np.pi))
    evidence = Evidence(join_equal_rows(rows, Y))
    assert_allclose(evidence.value(prior), expected)


def test_targets_pay_together_for_the_hyperparameters(shared):
    models = [part.model_ for part in shared.estimators_]
    assert not any(model.covariance.terms for model in models)
    standard = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    rows = EncodedRows(X, np.empty((len(X), 0), dtype=int))
    sample = join_equal_rows(rows, standard)
    joint = ExactPosterior.condition(models[0].covariance, sample)
    _, log_occam_factor = marginalize_hyperparameters(joint, len(sample))
    price = sum(model.description_length() + model.log_evidence() for model in models)
    assert_allclose(price, -log_occam_factor)


def test_directions_that_matter_to_any_target_are_looked_along():
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (60, 80))
    rows = EncodedRows(inputs, np.empty((60, 0), dtype=int))
    covariance = Covariance(Prior(np.full(80, 0.02), np.empty(0), 1.0, 1.0, 0.1))
    y = inputs[:, 3] + 0.1 * rng.standard_normal(60)
    one = EvidenceCurvature.around(
        ExactPosterior.condition(covariance, join_equal_rows(rows, y))
    )
    both = join_equal_rows(rows, np.column_stack([0.0 * y, y]))
    assert_array_equal(
        EvidenceCurvature.around(ExactPosterior.condition(covariance, both)).basis,
        one.basis,
    )


def test_the_order_of_the_targets_does_not_matter(shared):
    order = [2, 0, 1]
    permuted = clone(shared).fit(X, Y[:, order])
    # But for the last bits: sums over columns of other arrays round otherwise.
    assert_allclose(permuted.predict(X), shared.predict(X)[:, order], atol=1e-9)
    assert_allclose(permuted.weights_, shared.weights_[order], atol=1e-9)


@pytest.mark.slow_cases("1")
@pytest.mark.parametrize("seed", range(2))
def test_targets_of_another_kind_keep_hyperparameters_of_their_own(seed):
    rows, alike = make_targets(4, 200, seed=seed)
    rng = np.random.default_rng(seed)
    other = 3.0 * rows[:, 6] * rows[:, 7] + 0.01 * rng.standard_normal(200)
    model = MOHNRegressor("gp").fit(rows, np.column_stack([alike, other]))
    assert model.shared_targets_ == [0, 1, 2, 3]
    alone = MOHNRegressor("gp").fit(rows, other)
    assert_array_equal(model.predict(rows)[:, 4], alone.predict(rows))


def test_scales_are_asked_for_as_of_one_target():
    rows = EncodedRows(X, np.empty((len(X), 0), dtype=int))
    targets = np.column_stack([Y[:, 0], np.exp(2.0 * Y[:, 1]), Y[:, 2], Y[:, 0] > 0])
    prior = Prior(np.full(8, 0.1), np.empty(0), 1.0, 1.0, 0.2)
    asked = Covariance(prior), rows
    keeps = keep_scale(*asked, targets, None, 0)
    assert keeps.tolist() == [True, False, True, True]
    for k in range(4):
        assert keep_scale(*asked, targets[:, [k]], None, 0) == keeps[[k]]
    assert not len(keep_scale(*asked, targets[:, []], None, 0))


def test_a_constant_target_and_scales_far_apart():
    scales = np.array([1e-9, 1.0, 1e12])
    y = np.column_stack([scales * Y + 5.0 * scales, np.full(len(X), 7.0)])
    model = MOHNRegressor("gp", gp_options=CONSTANT_NOISE).fit(X, y)
    assert model.shared_targets_ == [0, 1, 2]
    assert_allclose(model.predict(X)[:, 3], 7.0)
    plain = MOHNRegressor("gp", gp_options=CONSTANT_NOISE).fit(X, Y)
    expected = scales * plain.predict(X) + 5.0 * scales
    assert_allclose(model.predict(X)[:, :3] / scales, expected / scales, atol=1e-4)


def test_a_multiple_of_a_target_is_predicted_as_that_multiple():
    model = MOHNRegressor("gp").fit(X, np.column_stack([Y[:, 0], -2.0 * Y[:, 0]]))
    assert model.shared_targets_ == [0, 1]
    mean, std = model.predict(X, return_std=True)
    assert_allclose(mean[:, 1], -2.0 * mean[:, 0])
    assert_allclose(std[:, 1], 2.0 * std[:, 0])


def test_more_targets_than_rows():
    rows, y = make_targets(16, 12, seed=3)
    model = MOHNRegressor("gp").fit(rows, y)
    assert model.predict(rows).shape == (12, 16)
    assert model.weights_.shape == (16, len(model.terms_))
    assert len(model.shared_targets_) > 12


@pytest.mark.parametrize(
    ("method", "shape"),
    [
        ("latent_mean", (120, 3)),
        ("latent_variance", (120, 3)),
        ("predictive_mean", (120, 3)),
        ("predictive_std", (120, 3)),
        ("quantiles", (120, 3, 2)),
        ("log_density", (120, 3)),
        ("sample", (120, 3, 4)),
    ],
)
def test_a_model_of_several_targets_has_an_axis_of_them(shared, method, shape):
    model = shared.model_
    rows = model.encode(X, None)
    more = {
        "quantiles": [(np.array([0.1, 0.9]),)] * 3,
        "log_density": [(column,) for column in Y.T],
        "sample": [(4, np.random.default_rng(k)) for k in range(3)],
    }.get(method, [()] * 3)
    alone = [
        getattr(part, method)(own, *given)
        for part, own, given in zip(model.models, rows, more, strict=True)
    ]
    together = {"log_density": (Y,), "sample": (4, np.random.default_rng(0))}
    found = getattr(model, method)(rows, *together.get(method, more[0]))
    assert found.shape == shape
    if method == "sample":
        assert_array_equal(found[:, 0], alone[0])
        assert not np.any(found[:, 1] == found[:, 2])
    else:
        assert_allclose(found, np.stack(alone, axis=1), rtol=1e-9, atol=1e-12)
    assert model.has_posterior
    assert not model.is_sparse


def test_draws_of_each_target_have_a_seed_of_their_own(shared):
    rng = np.random.RandomState(5)
    own = [part.sample_y(X[:5], 3, rng) for part in shared.estimators_]
    assert_array_equal(shared.sample_y(X[:5], 3, 5), np.stack(own, axis=1))


def test_draws_vary_as_predicted(shared):
    mean, std = shared.predict(X[:5], return_std=True)
    draws = shared.sample_y(X[:5], n_samples=4000)
    assert draws.shape == (5, 3, 4000)
    assert_allclose(draws.mean(axis=2), mean, atol=0.05)
    assert_allclose(draws.std(axis=2), std, rtol=0.06)
    # Given the data, targets are independent.
    apart = draws - draws.mean(axis=2, keepdims=True)
    assert abs(np.mean(apart[0, 0] * apart[0, 1])) < 0.05 * std[0, 0] * std[0, 1]
    assert_array_equal(shared.sample_y(X[:5], 2), shared.sample_y(X[:5], 2))


def test_weights_count_samples():
    counts = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = MOHNRegressor("gp").fit(X, Y, sample_weight=counts)
    repeated = MOHNRegressor("gp").fit(
        np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0)
    )
    assert weighted.shared_targets_ == [0, 1, 2]
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-4)


def test_pickles_keep_one_factor(shared):
    for other in (pickle.loads(pickle.dumps(shared)), copy.deepcopy(shared)):
        factors = {id(part.model_.posterior.shared) for part in other.estimators_}
        assert len(factors) == 1
        for mine, own in zip(
            other.predict(X[:7], return_std=True),
            shared.predict(X[:7], return_std=True),
            strict=True,
        ):
            assert_allclose(mine, own, rtol=1e-10)


def test_skops_stores_what_targets_share(shared):
    """A part that kept the context of its callbacks could not be stored."""
    skops = pytest.importorskip("skops.io")
    stored = skops.dumps(shared)
    trusted = skops.get_untrusted_types(data=stored)
    assert all(name.startswith("skmohn.") for name in trusted)
    back = skops.loads(stored, trusted=trusted)
    assert_array_equal(back.predict(X), shared.predict(X))
    assert all(map(operator.is_, back.model_.targets, back.estimators_))
    assert len({id(part.model_.posterior.shared) for part in back.estimators_}) == 1


def test_further_samples_extend_one_factor():
    rows, y = make_targets(3, 160, seed=1)
    model = MOHNRegressor("gp", gp_options=CONSTANT_NOISE)
    model.partial_fit(rows[:120], y[:120])
    before = model.predict(rows)
    alone = copy.deepcopy(model.estimators_[1])
    first = copy.deepcopy(model).partial_fit(rows[120:], y[120:])
    assert_array_equal(model.predict(rows), before)
    parts = first.estimators_
    assert len({id(part.model_.posterior.shared) for part in parts}) == 1
    alone.partial_fit(rows[120:], y[120:, 1])
    for mine, own in zip(
        first.predict(rows, return_std=True),
        alone.predict(rows, return_std=True),
        strict=True,
    ):
        assert_allclose(mine[:, 1], own, atol=1e-10)
    with pytest.raises(ValueError, match="y has 2 columns, but fit was given 3"):
        model.partial_fit(rows[:9], y[:9, :2])
    with pytest.raises(ValueError, match="y must have two dimensions"):
        model.partial_fit(rows[:9], y[:9, 0])


def test_what_is_remembered_is_of_the_same_rows(shared):
    posterior = shared.estimators_[0].model_.posterior
    rows = EncodedRows(X, np.empty((len(X), 0), dtype=int))
    some = rows.take(slice(9))
    with remember():
        assert_allclose(posterior.latent_mean(rows)[:9], posterior.latent_mean(some))
        assert_allclose(
            posterior.latent_variance(rows)[:9], posterior.latent_variance(some)
        )
    kept = pickle.loads(pickle.dumps(posterior.shared))
    assert "lower" not in vars(kept)
    (panel,), (own,) = kept.lower.panels, posterior.shared.lower.panels
    assert_array_equal(panel.corner, own.corner)


def test_warm_starts_begin_where_each_target_ended():
    exact = np.column_stack([X[:, 0] * X[:, 1] * X[:, 2], X[:, 3] - X[:, 4] * X[:, 5]])
    model = MOHNRegressor("pursuit", warm_start=True).fit(X, exact)
    cold, earlier = len(model.history_), model.estimators_
    assert len(model.fit(X, exact).history_) < cold
    assert model.estimators_[0] is not earlier[0]
    # Others are learned from the start.
    assert model.fit(X, Y[:, :2]).predict(X).shape == (len(X), 2)
    assert model.fit(X, Y[:, 0]).predict(X).shape == (len(X),)


def test_categories_gaps_and_levels_are_shared():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "letter": rng.choice(list("abc"), 150),
            "dose": rng.uniform(0, 10, 150),
            "bit": rng.integers(0, 2, 150).astype(float),
        }
    )
    wave = np.sin(table["dose"]) * 2.0
    signs = np.array([1.0, -1.0])
    y = np.outer(wave + (table["letter"] == "a"), signs)
    y += 0.2 * rng.standard_normal(y.shape)
    table.loc[::10, "bit"] = np.nan
    table.loc[3::10, "letter"] = None
    model = MOHNRegressor("auto").fit(table, y)
    assert model.shared_targets_ == [0, 1]
    assert model.score(table, y) > 0.85
    assert any(isinstance(label, tuple) for term in model.terms_ for label in term)
    mean, std = model.predict(table, return_std=True)
    for k, part in enumerate(model.estimators_):
        own = part.predict(table, return_std=True)
        assert_allclose(mean[:, k], own[0], atol=1e-10)
        assert_allclose(std[:, k], own[1], atol=1e-10)


def test_levels_of_some_targets():
    rng = np.random.default_rng(1)
    numbers = rng.uniform(-1, 1, (150, 3))
    wave = np.sign(np.sin(9.0 * numbers[:, 0])) + 0.1 * rng.standard_normal(150)
    line = 3.0 * numbers[:, 1] + 0.01 * rng.standard_normal(150)
    model = MOHNRegressor("gp", random_state=0).fit(
        numbers, np.column_stack([wave, line])
    )
    assert model.shared_targets_ == []
    with_levels, without = model.estimators_
    assert with_levels.coding_.thresholds
    assert not without.coding_.thresholds
    assert model.coding_ is with_levels.coding_
    alone = MOHNRegressor("gp", random_state=0).fit(numbers, line)
    assert_array_equal(model.predict(numbers)[:, 1], alone.predict(numbers))
    levels = [j for j, term in enumerate(model.terms_) if isinstance(term[0], tuple)]
    assert levels
    assert_array_equal(model.weights_[1, levels], 0.0)


def test_noise_that_differs_by_row_is_each_targets_own():
    rng = np.random.default_rng(0)
    rows, y = make_targets(2, 300, noise=0.0)
    y[:, 0] += np.where(rows[:, 7] > 0, 1.0, 0.1) * rng.standard_normal(300)
    y[:, 1] += 0.7 * rng.standard_normal(300)
    model = MOHNRegressor("gp").fit(rows, y)
    assert model.shared_targets_ == [0, 1]
    _, std = model.predict(rows, return_std=True)
    is_loud = rows[:, 7] > 0
    assert std[is_loud, 0].mean() > 2.0 * std[~is_loud, 0].mean()
    assert_allclose(std[is_loud, 1].mean(), std[~is_loud, 1].mean(), rtol=0.05)


def test_noise_of_several_targets_is_smoothed_as_that_of_each():
    rows, y = make_targets(2, 100)
    rows = EncodedRows(rows, np.empty((100, 0), dtype=int))
    covariance = Covariance(Prior(np.full(8, 0.2), np.empty(0), 1.0, 1.0, 0.1))
    samples = [join_equal_rows(rows, column) for column in y.T]
    factor = SharedFactor(covariance, samples[0])
    posteriors = [factor.condition(sample) for sample in samples]
    for posterior, smoothed in zip(posteriors, smooth_noise(posteriors), strict=True):
        alone = ExactPosterior.condition(covariance, posterior.sample)
        (own,) = smooth_noise([alone])
        for mine, other in zip(smoothed, own, strict=True):
            assert (mine is None) == (other is None)
            if other is not None and not isinstance(other, Prior):
                assert_allclose(mine, other, atol=1e-9)
        assert fit_noise_model(posterior, smoothed)[1] == fit_noise_model(alone)[1]


def test_uncertainty_of_hyperparameters_is_that_of_all_targets():
    covariance = Covariance(Prior(np.full(8, 0.2), np.empty(0), 1.0, 1.0, 0.1))
    rows = EncodedRows(X, np.empty((len(X), 0), dtype=int))
    one = ExactPosterior.condition(covariance, join_equal_rows(rows, Y[:, 0]))
    twice = np.column_stack([Y[:, 0], Y[:, 0]])
    both = ExactPosterior.condition(covariance, join_equal_rows(rows, twice))
    # Two equal targets say what one says of twice as many rows.
    _, log_occam_factor = marginalize_hyperparameters(one, 2 * len(X))
    assert_allclose(
        marginalize_hyperparameters(both, len(X))[1], log_occam_factor, rtol=1e-5
    )
