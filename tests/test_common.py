"""The common checks of scikit-learn, and those that ``check_estimator`` leaves out."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_estimator,
    check_global_output_transform_pandas,
    check_inplace_ensure_writeable,
    check_param_validation,
    check_set_output_transform,
    check_set_output_transform_pandas,
    check_set_output_transform_polars,
    check_transformer_get_feature_names_out,
    check_transformer_get_feature_names_out_pandas,
    parametrize_with_checks,
)
from sklearn.utils.validation import has_fit_parameter

from skmohn import (
    BlackBoxSearchCV,
    BLMClassifier,
    BLMRegressor,
    DeltaOptions,
    EnergyNetClassifier,
    EnergyNetImputer,
    EnergyNetOutlierDetector,
    EnergyNetRegressor,
    EnergyNetTransformer,
    GPOptions,
    InfiniteRBMOptions,
    MOHNClassifier,
    MOHNDensity,
    MOHNFeatureSelector,
    MOHNGLMRegressor,
    MOHNRegressor,
    MOHNTransformer,
)
from skmohn.datasets import make_sparse_walsh

# Every check is made of one estimator of each class, which is as cheap as its class
# allows: what names, signatures, tags and validation decide is the same for all of its
# parameters. Others pass the checks that another path of a fit could fail: those of
# CHECKS_OF_FITS, and on a smaller table `test_a_fit_keeps_to_itself`. That weights of
# all are repeated rows is tested on this table too. `make test-slow` makes every check
# of all of them, and of the defaults.
FEW_UNITS = EnergyNetTransformer(None, 3, n_final_epochs=5)
MLP_OF_CLASSES = MLPClassifier((4,), solver="lbfgs", max_iter=50)
CHEAP = [
    MOHNRegressor("full", max_order=1),
    MOHNTransformer("full", 1),
    MOHNClassifier("full", 1),
    MOHNDensity(2),
    MOHNGLMRegressor("full", max_order=1, C=1.0),
    BLMRegressor((3,), max_flips=1500),
    BLMClassifier((3,), max_flips=1500),
    FEW_UNITS,
    EnergyNetClassifier(
        FEW_UNITS, MLPClassifier((5,), solver="lbfgs", activation="tanh", max_iter=100)
    ),
    EnergyNetImputer(FEW_UNITS),
    EnergyNetOutlierDetector(FEW_UNITS),
    EnergyNetRegressor(
        FEW_UNITS, MLPRegressor(hidden_layer_sizes=(5,), solver="lbfgs", max_iter=50)
    ),
    MOHNFeatureSelector(RidgeClassifier(), n_evaluations=2, cv=2),
    # Errors of data are those of the estimator, as in scikit-learn's own checks.
    BlackBoxSearchCV(
        RidgeClassifier(), {"alpha": [0.1, 1.0]}, cv=2, error_score="raise"
    ),
]
# It converges where it fits all rows: only then do weights equal repeated rows.
DELTA = MOHNRegressor(
    "full", "delta", max_order=1, max_iter=5000, delta_options=DeltaOptions(tol=1e-9)
)
MOHNS = [
    MOHNRegressor(),
    MOHNRegressor("pursuit"),
    MOHNRegressor("pursuit", "lasso", max_order=2),
    MOHNRegressor("full", "lasso", max_order=1),
    DELTA,
    MOHNRegressor("msda", max_order=1, max_iter=50),
    MOHNRegressor("spike_slab", max_order=2),
    MOHNRegressor(
        "gp",
        gp_options=GPOptions(noise="constant", clip=False, one_hot="auto"),
        handle_unknown="missing",
    ),
]
PRODUCTS = [
    MOHNTransformer(),
    MOHNTransformer("logistic", 2, target_type="classes", include_inputs=False),
    MOHNTransformer("pursuit", max_terms=20, include_inputs=False, selection="ebic"),
    MOHNTransformer("full", 2),
]
CLASSIFIERS = [
    MOHNClassifier(),
    MOHNClassifier("pursuit", C=1.0, max_terms=30, include_inputs=False),
]
GLMS = [
    MOHNGLMRegressor(),
    MOHNGLMRegressor("full", "negative_binomial", max_order=1),
    MOHNGLMRegressor("full", "gamma", max_order=1),
    MOHNGLMRegressor("full", "tweedie", max_order=1, C=1.0),
]
NETWORKS = [
    BLMRegressor((), loss="pinball", n_bits=4),
    BLMRegressor((5, 3), "relu", loss="huber", n_restarts=3, ensemble=2),
    BLMClassifier((8,), "step", loss="hinge", n_bits=3, search="gray"),
]
STACKS = [
    EnergyNetTransformer(learning_rate=1.0, n_final_epochs=5, coding="minmax"),
    EnergyNetTransformer(
        "infinite_rbm",
        max_layers=1,
        max_units=10,
        n_final_epochs=5,
        infinite_rbm_options=InfiniteRBMOptions(threshold=0.5),
    ),
    EnergyNetTransformer(
        None, [5, 3], n_final_epochs=20, layer="all", passthrough=True
    ),
]
ENERGY_NETS = [
    # The network is selected among several.
    EnergyNetClassifier(FEW_UNITS),
    EnergyNetImputer(FEW_UNITS, strategy="mode", add_indicator=True),
    EnergyNetOutlierDetector(FEW_UNITS, contamination=0.1),
    EnergyNetRegressor(
        FEW_UNITS,
        MLPRegressor(activation="logistic", solver="lbfgs", max_iter=100),
        init="generative",
    ),
]
OTHERS = MOHNS + PRODUCTS + CLASSIFIERS + GLMS + NETWORKS + STACKS + ENERGY_NETS
# Those of the classes that are not among the others by their defaults.
DEFAULTS = [
    BLMRegressor(),
    BLMClassifier(),
    EnergyNetTransformer(),
    EnergyNetClassifier(),
    EnergyNetImputer(),
    EnergyNetOutlierDetector(),
    EnergyNetRegressor(),
    MOHNDensity(),
    MOHNFeatureSelector(RidgeClassifier()),
    BlackBoxSearchCV(RidgeClassifier(), {"alpha": [0.1, 1.0]}, error_score="raise"),
]


def label(estimator):
    """Name a parameterisation by what is not the default."""
    return " ".join(str(estimator).split())


# What a path of a fit decides on tables of its own: answers, and the smallest tables.
CHECKS_OF_FITS = {
    "check_classifiers_train",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_outlier_contamination",
    "check_outliers_fit_predict",
    "check_outliers_train",
    "check_regressors_train",
    "check_transformer_general",
}

# Sparse matrices take the path of sparse arrays, and weighted sparse tables do. That
# weights are repeated rows is tested on a table of fewer columns than 30.
REPEATED_CHECKS = {
    "check_estimator_sparse_matrix",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
}

# Checks that are wrong themselves, by version of scikit-learn; the table has no place
# for what an estimator does wrong.
WRONG_CHECKS = {
    ("1.6", "EnergyNetTransformer", "check_positive_only_tag_during_fit"): (
        'X is of integers, for coding="minmax" too, and a mean is subtracted in place'
    ),
    ("1.6", "MOHNDensity", "check_positive_only_tag_during_fit"): (
        "X is of integers, which categories are, and a mean is subtracted in place"
    ),
}


def test_checks_of_fits_are_checks():
    checks = parametrize_with_checks(CHEAP).args[1]
    assert {check.func.__name__ for _, check in checks} >= CHECKS_OF_FITS


def test_cheap_estimators_are_of_every_class():
    assert {type(e) for e in CHEAP} == {type(e) for e in OTHERS + DEFAULTS}
    assert len({type(e) for e in CHEAP}) == len(CHEAP)


@pytest.mark.parametrize(
    "model",
    [
        MOHNClassifier("full", 1),
        BLMClassifier((3,), max_flips=500, random_state=0),
        # A square loss has probabilities of 0.
        BLMClassifier((3,), loss="squared", max_flips=500, random_state=0),
        EnergyNetClassifier(FEW_UNITS, MLPClassifier(max_iter=5), random_state=0),
    ],
    ids=label,
)
@pytest.mark.filterwarnings("error:divide by zero")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_log_probabilities_are_where_probabilities_are(model):
    X = np.random.default_rng(0).normal(size=(60, 3))
    for y in (X[:, 0] > 0, np.digitize(X[:, 0], [-0.5, 0.5])):
        probabilities = model.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(
            np.exp(model.predict_log_proba(X)), probabilities, atol=1e-12
        )
    if "loss" in model.get_params():
        assert not hasattr(
            model.set_params(loss="hinge").fit(X, y), "predict_log_proba"
        )


def excuses(estimator):
    """Checks that are wrong for an estimator in this scikit-learn, with reasons."""
    minor = ".".join(sklearn.__version__.split(".")[:2])
    return {
        check: reason
        for (version, name, check), reason in WRONG_CHECKS.items()
        if (version, name) == (minor, type(estimator).__name__)
    }


def without_repeats(mark):
    """All checks of the cheap estimators, those of fits of the others."""
    names, pairs = mark.args
    pairs = [
        (estimator, check)
        for estimator, check in pairs
        if (
            any(estimator is cheap for cheap in CHEAP)
            and check.func.__name__ not in REPEATED_CHECKS | excuses(estimator).keys()
        )
        # Of those that are made of several containers and types, the first.
        or (check.func.__name__ in CHECKS_OF_FITS and not check.keywords)
        or (estimator is DELTA and "equivalence_on_dense" in check.func.__name__)
    ]
    # To write an estimator takes long, and each has many checks.
    return pytest.mark.parametrize(names, pairs, ids=cache(mark.kwargs["ids"]))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@without_repeats(parametrize_with_checks(CHEAP + OTHERS))
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def answers(estimator, X):
    """What the methods that take a table alone say, by their names."""
    names = (
        "predict",
        "predict_proba",
        "decision_function",
        "score_samples",
        "transform",
    )
    return {n: getattr(estimator, n)(X) for n in names if hasattr(estimator, n)}


def small_problem(estimator):
    """Twenty rows of three columns, and a target with three values or classes."""
    X = 3 * np.random.default_rng(0).uniform(size=(20, 3))
    y = np.floor(X[:, 0]) + 1
    if isinstance(estimator, EnergyNetImputer):
        X[::4, 1] = np.nan
    for given in (X, y):
        given.setflags(write=False)
    return clone(estimator).set_params(random_state=0), X, y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", OTHERS, ids=label)
def test_a_fit_keeps_to_itself(estimator):
    """What scikit-learn asks of seven fits: state, rows, pickles, the same again."""
    model, X, y = small_problem(estimator)
    state = model.fit(X, y).__dict__.copy()
    expected = answers(model, X)
    assert model.__dict__ == state
    loaded = answers(pickle.loads(pickle.dumps(model)), X)
    again = answers(model.fit(X, y), X)
    for name, answer in expected.items():
        by_row = np.concatenate([getattr(model, name)(row) for row in np.split(X, 20)])
        assert_allclose(by_row, answer, atol=1e-7, err_msg=name)
        assert_array_equal(loaded[name], answer, err_msg=name)
        assert_allclose(again[name], answer, atol=1e-7, err_msg=name)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        estimator
        for estimator in CHEAP + OTHERS
        if estimator is not DELTA and has_fit_parameter(estimator, "sample_weight")
    ],
    ids=label,
)
def test_whole_weights_are_repeated_rows(estimator):
    model, X, y = small_problem(estimator)
    rng = np.random.default_rng(1)
    weights, order = rng.integers(0, 5, 20), rng.permutation(20)
    weighted = clone(model).fit(X[order], y[order], sample_weight=weights[order])
    repeated = model.fit(X.repeat(weights, axis=0), y.repeat(weights))
    expected = answers(repeated, X)
    for name, answer in answers(weighted, X).items():
        assert_allclose(answer, expected[name], atol=1e-9, err_msg=name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", CHEAP + OTHERS + DEFAULTS, ids=label)
def test_every_check_of_scikit_learn(estimator):
    check_estimator(estimator, on_skip=None, expected_failed_checks=excuses(estimator))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", CHEAP, ids=label)
@pytest.mark.parametrize(
    "check",
    [
        check_param_validation,
        check_dataframe_column_names_consistency,
        check_inplace_ensure_writeable,
    ],
    ids=lambda check: check.__name__,
)
def test_checks_that_check_estimator_leaves_out(estimator, check):
    check(type(estimator).__name__, clone(estimator))


# Scikit-learn compares names that are strings alone.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "estimator",
    [e for e in CHEAP if not isinstance(e, BlackBoxSearchCV)],
    ids=label,
)
def test_labels_in_another_order_are_refused(estimator):
    model, X, y = small_problem(estimator)
    for columns in ([2, 0, 1], pd.MultiIndex.from_tuples([("b", 1), ("a", 2), "ab"])):
        frame = pd.DataFrame(X, columns=columns)
        expected = answers(model.fit(frame, y), X)
        moved = frame.sort_index(axis=1)
        for name in expected:
            with pytest.raises(ValueError, match="another order: there they were"):
                getattr(model, name)(moved)
        # Other labels are no order.
        for name, answer in answers(model, frame.set_axis([7, 8, 9], axis=1)).items():
            assert_array_equal(answer, expected[name])


TRANSFORMERS = [e for e in CHEAP if hasattr(e, "transform")]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# The checks themselves fit on frames and transform arrays, and the other way round.
@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")
@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=label)
@pytest.mark.parametrize(
    "check",
    [
        check_global_output_transform_pandas,
        check_set_output_transform,
        check_set_output_transform_pandas,
        check_set_output_transform_polars,
    ],
    ids=lambda check: check.__name__,
)
def test_checks_of_containers_that_check_estimator_leaves_out(transformer, check):
    check(type(transformer).__name__, clone(transformer))


# Names follow from what a fit has found and from what is asked for.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "transformer",
    [*TRANSFORMERS, *PRODUCTS[1:3], STACKS[-1], ENERGY_NETS[1]],
    ids=label,
)
@pytest.mark.parametrize(
    "check",
    [
        check_transformer_get_feature_names_out,
        check_transformer_get_feature_names_out_pandas,
    ],
    ids=lambda check: check.__name__,
)
def test_checks_of_names_that_check_estimator_leaves_out(transformer, check):
    check(type(transformer).__name__, clone(transformer))


def output(estimator, X):
    """What a fitted estimator is for."""
    names = "transform", "predict", "score_samples"
    use = next(filter(None, (getattr(estimator, name, None) for name in names)))
    return use(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("container", ["pandas", "polars"])
@pytest.mark.parametrize(
    "estimator",
    [
        MOHNRegressor("full", max_order=1),
        MOHNRegressor("spike_slab"),
        MOHNRegressor("gp", gp_options=GPOptions(numeric="multilinear")),
        MOHNTransformer("full", 1, target_type="classes"),
        MOHNClassifier("full", 1),
        BLMRegressor((2,), max_flips=100),
        BLMClassifier((2,), max_flips=100),
        FEW_UNITS,
        EnergyNetClassifier(FEW_UNITS, MLP_OF_CLASSES),
        # The network is selected among several.
        EnergyNetRegressor(FEW_UNITS),
    ],
    ids=label,
)
def test_container_that_transformers_give_changes_no_answer(estimator, container):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(40, 3))
    table = numbers
    if isinstance(estimator, MOHNRegressor | MOHNClassifier | MOHNTransformer):
        table = pd.DataFrame(numbers, columns=list("abc"))
        table["text"] = np.where(numbers[:, 0] > 0, "yes", "no")
        table["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(
            rng.integers(9, size=40), unit="D"
        )
    y = numbers[:, 0] > 0
    y = y.astype(float) if isinstance(estimator, MOHNRegressor) else y
    estimator = clone(estimator).set_params(random_state=0)
    expected = output(estimator.fit(table, y), table)
    with sklearn.config_context(transform_output=container):
        answer = output(clone(estimator).fit(table, y), table)
        assert not hasattr(estimator, "score") or estimator.score(table, y) is not None
    assert_array_equal(np.asarray(answer), expected)


def noisy_problem():
    problem = make_sparse_walsh(
        n_features=12, n_terms=8, n_samples=200, noise=0.5, random_state=0
    )
    return problem.X, problem.y


@pytest.mark.parametrize("estimator", [CHEAP[0], *MOHNS], ids=label)
def test_threads_equal_serial(estimator):
    X, y = noisy_problem()
    X = X + 0.25 * (estimator.strategy == "full")
    serial = clone(estimator).set_params(random_state=0).fit(X, y)
    with parallel_config(backend="threading"):
        parallel = clone(estimator).set_params(random_state=0, n_jobs=2).fit(X, y)
    assert parallel.terms_ == serial.terms_
    assert_array_equal(parallel.weights_, serial.weights_)
    assert parallel.intercept_ == serial.intercept_
    assert_array_equal(parallel.standard_errors_, serial.standard_errors_)
    assert parallel.search_coverage_ == serial.search_coverage_
    assert parallel.stopping_reason_ == serial.stopping_reason_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", [BLMClassifier((3,)), *NETWORKS[1:]], ids=label)
def test_networks_from_threads_equal_serial_ones(estimator):
    X, y = noisy_problem()
    estimator = clone(estimator).set_params(random_state=0, n_restarts=3)
    serial = clone(estimator).fit(X, y > 0)
    with parallel_config(backend="threading"):
        parallel = clone(estimator).set_params(n_jobs=2).fit(X, y > 0)
    assert_array_equal(parallel.codes_, serial.codes_)
    assert parallel.loss_curve_ == serial.loss_curve_
    assert_array_equal(parallel.predict(X), serial.predict(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "estimator",
    # Beside each class, what else draws while it searches or grows.
    [*CHEAP, MOHNRegressor("pursuit"), MOHNS[5], PRODUCTS[2], NETWORKS[1], *STACKS],
    ids=label,
)
def test_the_seed_alone_decides_and_numpys_global_state_is_left_alone(estimator):
    X, y = (part[:60] for part in noisy_problem())
    y = y if isinstance(estimator, MOHNRegressor) else y > 0
    np.random.seed(0)  # noqa: NPY002
    expected = np.random.uniform(size=3)  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    first, second = (
        output(clone(estimator).set_params(random_state=3).fit(X, y), X)
        for _ in range(2)
    )
    assert_array_equal(first, second)
    assert_array_equal(np.random.uniform(size=3), expected)  # noqa: NPY002
