"""The common checks of scikit-learn, and those that ``check_estimator`` leaves out."""

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_inplace_ensure_writeable,
    check_param_validation,
    parametrize_with_checks,
)

from skmohn import BLMClassifier, BLMRegressor, MOHNRegressor
from skmohn.datasets import make_sparse_walsh

# Every parameterisation has to pass every check: there is no list of exceptions.
MOHNS = [
    MOHNRegressor(),
    MOHNRegressor(max_order=2, learning_rule="lasso"),
    MOHNRegressor("full", max_order=1),
    MOHNRegressor("full", "lasso", max_order=1),
    # Long enough to converge: only then do weights of rows equal repeated rows.
    MOHNRegressor("full", "delta", max_order=1, max_iter=5000, tol=1e-9),
    MOHNRegressor("msda", max_order=1, max_iter=50),
]
NETWORKS = [
    BLMRegressor(),
    BLMRegressor((), loss="pinball", n_bits=4),
    BLMRegressor((5, 3), "relu", loss="huber", n_restarts=3, ensemble=2),
    BLMClassifier(),
    BLMClassifier((8,), loss="squared", search="gray", telescopic="threshold"),
    BLMClassifier((8,), "step", loss="hinge", n_bits=3),
]
ESTIMATORS = MOHNS + NETWORKS


def label(estimator):
    """Name a parameterisation by what is not the default."""
    return " ".join(str(estimator).split())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=label)
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


def noisy_problem():
    problem = make_sparse_walsh(
        n_features=12, n_terms=8, n_samples=200, noise=0.5, random_state=0
    )
    return problem.X, problem.y


@pytest.mark.parametrize("estimator", MOHNS, ids=label)
def test_threads_equal_serial(estimator):
    X, y = noisy_problem()
    X = X + 0.25 * (estimator.strategy == "full")
    serial = clone(estimator).set_params(random_state=0).fit(X, y)
    with parallel_config(backend="threading"):
        parallel = clone(estimator).set_params(random_state=0, n_jobs=2).fit(X, y)
    assert parallel.terms_ == serial.terms_
    assert_array_equal(parallel.coef_, serial.coef_)
    assert parallel.intercept_ == serial.intercept_
    assert_array_equal(parallel.standard_errors_, serial.standard_errors_)
    assert parallel.search_coverage_ == serial.search_coverage_
    assert parallel.stopping_reason_ == serial.stopping_reason_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", NETWORKS, ids=label)
def test_networks_from_threads_and_processes_equal_serial_ones(estimator):
    X, y = noisy_problem()
    estimator = clone(estimator).set_params(random_state=0, n_restarts=3)
    serial = clone(estimator).fit(X, y > 0)
    for backend in ("threading", "loky"):
        with parallel_config(backend=backend):
            parallel = clone(estimator).set_params(n_jobs=2).fit(X, y > 0)
        assert_array_equal(parallel.codes_, serial.codes_)
        assert parallel.loss_curve_ == serial.loss_curve_
        assert_array_equal(parallel.predict(X), serial.predict(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=label)
def test_same_seed_same_model(estimator):
    X, y = noisy_problem()
    y = y if estimator in MOHNS else y > 0
    first, second = (
        clone(estimator).set_params(random_state=3).fit(X, y) for _ in range(2)
    )
    assert_array_equal(first.predict(X), second.predict(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "estimator", [*ESTIMATORS, MOHNRegressor(selection="lasso")], ids=label
)
def test_fit_leaves_numpys_global_random_state_alone(estimator):
    X, y = noisy_problem()
    y = y > 0 if estimator in NETWORKS else y
    np.random.seed(0)  # noqa: NPY002
    expected = np.random.uniform(size=3)  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    clone(estimator).set_params(random_state=0).fit(X, y).predict(X)
    assert_array_equal(np.random.uniform(size=3), expected)  # noqa: NPY002
