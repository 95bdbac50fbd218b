"""Small fits of every family."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.neural_network import MLPClassifier

from skmohn import (
    BLMClassifier,
    BLMController,
    BLMRegressor,
    EnergyNetClassifier,
    EnergyNetTransformer,
    MOHNClassifier,
    MOHNRegressor,
    MOHNTransformer,
)
from skmohn.blm._search import Search
from skmohn.datasets import InvertedPendulum

RNG = np.random.default_rng(0)
SIGNS = RNG.choice([-1.0, 1.0], (40, 5))
PRODUCT = SIGNS[:, 0] * SIGNS[:, 1] + SIGNS[:, 2]
PENDULUM = InvertedPendulum(n_simulations=2, duration=1.5)
CHEAP = EnergyNetTransformer(None, 4, n_final_epochs=2, random_state=0)
MLP = MLPClassifier(solver="lbfgs", max_iter=30)

# Estimator, what it is fitted to, and what it is fitted to then.
FITS = {
    "MOHNRegressor": (
        MOHNRegressor(),
        (SIGNS, PRODUCT + 0.3 * SIGNS[:, 4] ** 2),
        (-SIGNS[:24], PRODUCT[:24] + RNG.normal(size=24)),
    ),
    "MOHNClassifier": (
        # Folds of exact classes are drawn, without a seed by numpy's own generator.
        MOHNClassifier(random_state=0),
        (SIGNS, PRODUCT > 0),
        (SIGNS[:30], SIGNS[:30, 3] * SIGNS[:30, 1] > 0),
    ),
    "MOHNTransformer": (
        MOHNTransformer(),
        (SIGNS, PRODUCT),
        (SIGNS, SIGNS[:, 3] * SIGNS[:, 1]),
    ),
    "BLMClassifier": (
        BLMClassifier((2,), max_flips=300, n_restarts=2, random_state=0),
        (SIGNS, PRODUCT > 0),
        (SIGNS, SIGNS[:, 3] > 0),
    ),
    "BLMRegressor": (
        BLMRegressor((2,), max_flips=300, warm_start=True, random_state=0),
        (SIGNS, PRODUCT),
        (SIGNS, -PRODUCT),
    ),
    "BLMController": (
        BLMController((2,), max_evaluations=30, n_restarts=2, random_state=0),
        (PENDULUM,),
        (InvertedPendulum(n_simulations=2, duration=2.0),),
    ),
    "EnergyNetTransformer": (CHEAP, (SIGNS > 0,), (SIGNS < 0,)),
    "EnergyNetTransformer that goes on": (
        EnergyNetTransformer(
            None, 4, n_final_epochs=2, warm_start=True, random_state=0
        ),
        (SIGNS > 0,),
        (SIGNS < 0,),
    ),
    "EnergyNetClassifier": (
        EnergyNetClassifier(CHEAP, MLP, random_state=0),
        (SIGNS, PRODUCT > 0),
        (SIGNS, SIGNS[:, 3] > 0),
    ),
}


@pytest.fixture(params=FITS)
def fits(request):
    """An estimator that is not fitted yet, and the data of two fits."""
    return FITS[request.param]


@pytest.fixture(
    params=[name for name, (model, *_) in FITS.items() if hasattr(model, "partial_fit")]
)
def partial_fits(request):
    """The same, of those that can go on with further samples."""
    return FITS[request.param]


@pytest.fixture
def all_fits():
    """All of them."""
    return list(FITS.values())


def _without_times(state):
    """What two fits to the same data have in common: what is pickled, but no times."""
    if isinstance(state, dict):
        return {
            key: _without_times(value)
            for key, value in state.items()
            if "seconds" not in str(key) and "time" not in str(key)
        }
    if isinstance(state, list | tuple):
        return [_without_times(part) for part in state]
    if isinstance(state, np.random.RandomState):
        return _without_times(state.get_state())
    if isinstance(state, Search):
        return _without_times(state.__reduce__()[1])
    if hasattr(state, "__dict__") and not isinstance(state, type):
        is_own = type(state).__module__.startswith("skmohn.")
        is_part = is_own and not isinstance(state, BaseEstimator)
        return _without_times(state.__getstate__() if is_part else vars(state))
    return state


@pytest.fixture
def are_equal():
    """Whether two fitted estimators hold the same, to the last bit."""

    def compare(left, right):
        try:
            np.testing.assert_equal(_without_times(left), _without_times(right))
        except AssertionError:
            return False
        return True

    return compare
