"""Several fits at once: threads, and processes that are forked or spawned."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_all_start_methods, get_context
from threading import Barrier

import pytest
from joblib import parallel_config
from sklearn.base import clone

from skmohn import MOHNClassifier, MOHNRegressor

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    # Python 3.12 and later, of a fork beside threads of other tests.
    "ignore:This process:DeprecationWarning",
)


@pytest.mark.slow_cases("MOHNRegressor")
def test_four_threads_that_fit_at_once(fits, are_equal):
    estimator, *data = fits
    expected = [clone(estimator).fit(*args) for args in data]
    start = Barrier(4)

    def fit(args):
        start.wait()
        return clone(estimator).fit(*args)

    with ThreadPoolExecutor(4) as threads:
        for k, model in enumerate(threads.map(fit, data * 2)):
            assert are_equal(model, expected[k % 2])


@pytest.mark.slow_cases("spawn")
@pytest.mark.parametrize(
    "method", sorted({"fork", "spawn"} & {*get_all_start_methods()})
)
def test_other_processes_find_the_same(method, all_fits, are_equal):
    with ProcessPoolExecutor(1, get_context(method)) as process:
        for estimator, args, _ in all_fits:
            found = process.submit(clone(estimator).fit, *args).result()
            assert are_equal(found, clone(estimator).fit(*args))


# One test: processes are started once, and each of them loads skmohn.
@pytest.mark.slow
def test_parts_of_a_fit_may_be_found_in_processes(all_fits, are_equal):
    (_, _, noisy), (_, classes, _), *others = all_fits
    dense = [(MOHNClassifier("gp", random_state=0), classes, None)]
    selections = [
        (MOHNRegressor("pursuit", selection=selection, random_state=0), noisy, None)
        for selection in ("cv", "lasso", "auto")
    ]
    in_parts = [fit for fit in others if getattr(fit[0], "n_restarts", 1) > 1]
    assert len(in_parts) == 2
    with parallel_config(backend="loky"):
        for estimator, args, _ in selections + dense + in_parts:
            found = clone(estimator).set_params(n_jobs=2).fit(*args)
            serial = clone(estimator).fit(*args)
            assert are_equal(found.set_params(n_jobs=None), serial)
