"""What cannot work is refused, or done as well as it can be, in clear words."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from support import replaced, traced_memory

from skmohn import DeltaOptions, GPOptions, MOHNClassifier, MOHNRegressor, MSDAOptions

RNG = np.random.default_rng(0)
X = RNG.choice([-1.0, 1.0], (100, 6))
Y = 1 + X[:, 0] + 2 * X[:, 1] * X[:, 2]

STRATEGIES = {
    "auto": MOHNRegressor(),
    "pursuit": MOHNRegressor("pursuit"),
    "spike_slab": MOHNRegressor("spike_slab"),
    "msda": MOHNRegressor("msda", random_state=0),
    "full": MOHNRegressor("full", max_order=2),
    "delta": MOHNRegressor("full", "delta", max_order=1, max_iter=1000),
    "lasso": MOHNRegressor("full", "lasso", max_order=2),
    "given": MOHNRegressor("given", terms=[(0,)]),
}


@pytest.fixture(params=STRATEGIES)
def estimator(request):
    """One of the strategies, unfitted."""
    return clone(STRATEGIES[request.param])


def refused(estimator, *args, match, error=ValueError, **kwargs):
    """Check that neither an unfitted nor a fitted estimator is changed by a refusal."""
    before = dict(vars(estimator))
    with pytest.raises(error, match=match):
        estimator.fit(*args, **kwargs)
    assert vars(estimator) == before
    parameters = estimator.get_params()
    fitted = estimator.set_params(**MOHNRegressor().get_params()).fit(X, Y)
    fitted.set_params(**parameters)
    expected = fitted.predict(X)
    with pytest.raises(error, match=match):
        fitted.fit(*args, **kwargs)
    assert_array_equal(fitted.predict(X), expected)
    assert fitted.stopping_reason_.startswith("exact")


# ------------------------------------------------------------------------- the data


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_target_that_is_not_finite(estimator, value):
    word = "NaN" if np.isnan(value) else "infinity"
    refused(estimator, X, replaced(Y, 3, value), match=f"Input y contains {word}")


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_input(estimator, value):
    refused(estimator, replaced(X, (3, 1), value), Y, match="Input X contains infinity")


def test_single_sample(estimator):
    refused(estimator, X[:1], Y[:1], match=r"1 sample\(s\).*minimum of 2")


def test_no_sample(estimator):
    refused(estimator, X[:0], Y[:0], match=r"0 sample\(s\)")


def test_no_column(estimator):
    refused(estimator, X[:, :0], Y, match=r"0 feature\(s\)")


def test_no_target(estimator):
    refused(estimator, X, None, match="requires y to be passed")


def test_lengths_that_differ(estimator):
    refused(estimator, X, Y[:-1], match="inconsistent numbers of samples")


def test_targets_of_three_dimensions(estimator):
    refused(estimator, X, np.zeros((100, 2, 2)), match="dim.* <= 2")


def test_several_targets_with_a_gap(estimator):
    y = replaced(np.column_stack([Y, Y]), (3, 1), np.nan)
    refused(estimator, X, y, match="y contains NaN, in column 1")


def test_one_dimension(estimator):
    refused(estimator, X[0], Y, match="Expected 2D array")


@pytest.mark.parametrize(
    "name", ["pursuit", "spike_slab", "msda", "full", "delta", "lasso"]
)
def test_no_column_that_varies(name):
    with pytest.warns(ConvergenceWarning, match="no column of X varies") as caught:
        model = clone(STRATEGIES[name]).set_params(max_order=None).fit(X * 0 + 3, Y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert model.terms_ == []
    assert_allclose(model.predict(X), Y.mean())


def test_no_known_value():
    with pytest.warns(ConvergenceWarning, match="no column of X varies"):
        model = MOHNRegressor().fit(np.full((5, 2), np.nan), Y[:5])
    assert_allclose(model.predict(X[:, :2]), Y[:5].mean())


def test_given_term_of_a_constant_column():
    constant = X.copy()
    constant[:, 1] = 1.0
    given = MOHNRegressor("given", terms=[(0,), (1, 2)])
    refused(
        given, constant, Y, match=r"terms has \(1, 2\), but column 1 of X is constant"
    )


def test_constant_target(estimator):
    model = estimator.fit(X, np.full(100, -7.0))
    assert_allclose(model.predict(X), -7)
    assert np.abs(model.weights_).max(initial=0) < 1e-9


@pytest.mark.parametrize("n_samples", [2, 3, 5, 10])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_very_few_samples_give_a_modest_model(n_samples):
    for name in ("pursuit", "msda", "lasso"):
        model = clone(STRATEGIES[name]).fit(X[:n_samples], Y[:n_samples])
        assert len(model.terms_) < n_samples
        prediction = model.predict(X)
        assert np.isfinite(prediction).all()
        assert np.abs(prediction).max() <= 20


def test_fewer_samples_than_weights():
    model = MOHNRegressor("full", max_order=3)
    with pytest.warns(
        ConvergenceWarning, match="of 41 weights cannot be told apart from"
    ) as caught:
        model.fit(X[:20], Y[:20])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert_allclose(model.predict(X[:20]), Y[:20], atol=1e-9)


def test_iterations_that_run_out():
    X = RNG.choice([-1.0, 1.0], (200, 30))
    y = X @ RNG.standard_normal(30) + X[:, 0] * X[:, 1]
    for estimator, words in (
        (
            MOHNRegressor("msda", max_iter=1, random_state=0),
            "msda stopped at max_iter=1",
        ),
        (MOHNRegressor("full", "delta", max_order=1, max_iter=2), "max_iter=2 epochs"),
    ):
        with pytest.warns(ConvergenceWarning, match=words):
            estimator.fit(X, y)
        assert "max_iter" in estimator.stopping_reason_


def test_step_that_is_too_long():
    model = MOHNRegressor(
        "full", "delta", max_order=2, delta_options=DeltaOptions(learning_rate=5.0)
    )
    refused(model, X, Y, match="learning_rate is 5")


# ------------------------------------------------------------------- the parameters


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        (None, 'strategy="given" needs terms'),
        ([(0,), (6,)], r"terms has \(6,\), but 6 is not a feature.*from 0 to 5"),
        ([(-1, 2)], r"terms has \(-1, 2\), but -1 is not a feature"),
        ([(0.5,)], r"0.5 is not a feature"),
        ([(0, 0)], r"terms has \(0, 0\), which repeats a feature"),
        ([(0, 1), (2,), (1, 0)], r"terms has \(0, 1\) more than once"),
        ([(0,), ()], "terms has an empty set; the constant is always included"),
        ([(0,), "x"], r"'x' is not a feature"),
        ([(0, "x")], r"'x' is not a feature"),
    ],
)
def test_impossible_terms(terms, words):
    refused(MOHNRegressor("given", terms=terms), X, Y, match=words)


def test_terms_by_names_that_are_not_there():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    for terms in ([("a", "z")], [("a", 1, "z")], ["z"]):
        refused(
            MOHNRegressor("given", terms=terms), frame, Y, match="'z' is not a feature"
        )


def test_terms_above_the_order():
    given = MOHNRegressor("given", terms=[(0, 1, 2)], max_order=2)
    refused(given, X, Y, match=r"terms has \(0, 1, 2\), which is above max_order=2")


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("strategy", "magic"),
        ("learning_rule", "hebb"),
        ("max_order", 0),
        ("alpha", -1),
        ("max_iter", 0),
        ("selection", "aic"),
        ("cv", 1.5),
        ("early_stopping", "yes"),
        ("validation_fraction", 1.0),
        ("work_budget", -1),
        ("memory_budget", None),
        ("delta_options", 0.1),
        ("msda_options", {"batch_size": 3}),
        ("warm_start", 2),
        ("random_state", "seed"),
        ("n_jobs", 1.5),
    ],
)
def test_parameter_out_of_range(parameter, value):
    model = MOHNRegressor(**{parameter: value})
    refused(model, X, Y, match=f"The '{parameter}' parameter of MOHNRegressor must be")


@pytest.mark.parametrize(
    ("control", "parameter", "value"),
    [
        (DeltaOptions, "learning_rate", 0),
        (DeltaOptions, "tol", -1),
        (DeltaOptions, "n_iter_no_change", 0),
        (GPOptions, "noise", "loud"),
        (GPOptions, "clip", "yes"),
        (GPOptions, "numeric", "spline"),
        (GPOptions, "one_hot", "all"),
        (MSDAOptions, "batch_size", 0),
        (MSDAOptions, "penalty_factor", -1.0),
        (MSDAOptions, "penalty_factor", []),
        (MSDAOptions, "penalty_factor", [1.0, -1.0]),
        (MSDAOptions, "penalty_factor", [[1.0]]),
        (MSDAOptions, "penalty_factor", [1.0, np.inf]),
        (MSDAOptions, "penalty_factor", ["many"]),
    ],
)
def test_parameter_of_a_control_out_of_range(control, parameter, value):
    name = f"{control.__name__.removesuffix('Options').lower()}_options"
    model = MOHNRegressor(**{name: control(**{parameter: value})})
    words = f"The '{parameter}' parameter of {control.__name__} must be"
    refused(model, X, Y, match=words)
    model = MOHNRegressor().fit(X, Y).set_params(**{f"{name}__{parameter}": value})
    refused(model, X, Y, match=words)
    if control is DeltaOptions:
        with pytest.raises(ValueError, match=words):
            model.partial_fit(X, Y)


@pytest.mark.parametrize("strategy", ["pursuit", "gp", "spike_slab"])
def test_unit_of_weights_does_not_matter(strategy):
    weights = np.random.default_rng(0).uniform(0.1, 1.0, len(Y))
    one, other = (
        MOHNRegressor(strategy, random_state=0).fit(X, Y, unit * weights).predict(X[:9])
        for unit in (1.0, 2.0**900)
    )
    assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.zeros(100), "at least one non-zero|zero for every sample"),
        (-np.ones(100), "[Nn]egative"),
        (np.ones(99), "sample_weight.shape"),
        (np.full(100, np.nan), "sample_weight contains NaN"),
    ],
)
def test_impossible_weights(estimator, weights, words):
    refused(estimator, X, Y, weights, match=words)


# ------------------------------------------------------------------- validation data


def test_validation_samples_come_in_pairs(estimator):
    refused(estimator, X, Y, X_val=X, match="y_val is missing")
    refused(estimator, X, Y, y_val=Y, match="X_val is missing")


@pytest.mark.parametrize(
    ("X_val", "y_val", "words"),
    [
        (X[:, :5], Y, "5 features.*expecting 6"),
        (X, Y[:-1], "inconsistent numbers of samples"),
        (X, replaced(Y, 0, np.nan), "y_val must be one-dimensional and finite"),
        (X, np.column_stack([Y, Y]), "y_val must be one-dimensional and finite"),
        (replaced(X, (0, 0), np.inf), Y, "infinity"),
    ],
)
def test_impossible_validation_samples(X_val, y_val, words):
    refused(MOHNRegressor(), X, Y, X_val=X_val, y_val=y_val, match=words)


def test_too_few_samples_to_hold_some_out():
    model = MOHNRegressor(early_stopping=True, validation_fraction=0.1)
    refused(
        model, X[:5], Y[:5], match="validation_fraction=0.1 of 5 samples leaves nothing"
    )


# ------------------------------------------------------------------------ prediction


def test_prediction_before_the_fit():
    for use in (lambda m: m.predict(X), lambda m: m.terms_table()):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            use(MOHNRegressor())


def test_number_of_columns_at_predict():
    model = MOHNRegressor().fit(X, Y)
    for wrong in (X[:, :5], np.hstack([X, X])):
        with pytest.raises(
            ValueError, match=rf"X has {wrong.shape[1]} features.*expecting 6"
        ):
            model.predict(wrong)
        with pytest.raises(
            ValueError, match=rf"X has {wrong.shape[1]} features.*expecting 6"
        ):
            model.partial_fit(wrong, Y)


def test_unseen_columns_at_predict_are_named():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = MOHNRegressor().fit(frame, Y)
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time:\n- z.*seen at.*- c"):
        model.predict(frame.rename(columns={"c": "z"}))
    with pytest.raises(
        ValueError, match=r"(?s)seen at fit time, yet now missing:\n- f"
    ):
        model.predict(frame[list("abcde")])


def test_infinite_input_at_predict():
    model = MOHNRegressor().fit(X, Y)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(replaced(X, (0, 0), np.inf))


def test_failed_partial_fit_changes_nothing():
    model = MOHNRegressor(delta_options=DeltaOptions(learning_rate=1e3)).fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="learning_rate"):
        model.partial_fit(np.tile(X, (20, 1)), np.tile(Y + 1, 20))
    assert all(vars(model)[name] is before[name] for name in before)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X, replaced(Y, 0, np.nan))
    assert all(vars(model)[name] is before[name] for name in before)


# --------------------------------------------------------------------------- memory


@pytest.mark.parametrize(
    ("n_features", "max_order", "figure"),
    [(60, 5, "5,985,197 weights"), (300, None, "weights up to order 300")],
)
def test_terabytes_are_refused_before_they_are_allocated(n_features, max_order, figure):
    X = RNG.choice([-1.0, 1.0], (100, n_features))
    model = MOHNRegressor("full", max_order=max_order)
    with traced_memory() as peak:
        with pytest.raises(MemoryError, match=figure) as caught:
            model.fit(X, Y)
        assert peak() < 20e6
    message = str(caught.value)
    assert "GiB of memory, but this process may" in message
    assert 'lower max_order or use strategy="pursuit"' in message


def test_memory_refusal_leaves_the_old_model():
    wide = RNG.choice([-1.0, 1.0], (100, 60))
    refused(MOHNRegressor("full", max_order=5), wide, Y, match="GiB", error=MemoryError)


def test_memory_budget_that_is_too_small_only_limits_the_search():
    model = MOHNRegressor(memory_budget=0).fit(X, Y)
    assert model.terms_ == [(0,), (1, 2)]


@pytest.mark.parametrize(
    "model", [MOHNRegressor("spike_slab"), MOHNRegressor("pursuit"), MOHNClassifier()]
)
def test_weights_beside_one_of_which_all_others_are_nothing_are_refused(model):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y, weight = X[:, 0] > 0.0, np.ones(60)
    for heaviest, row in ((1e12, 2), (1e300, 3)):
        weight[row] = heaviest
        weight[0] = 0.0
        named = f"the largest sample_weight, {heaviest:g}, is"
        with pytest.raises(ValueError, match=re.escape(named)):
            model.fit(X, y, sample_weight=weight)
    weight[2:4] = 1e9
    model.fit(X, y, sample_weight=weight)
