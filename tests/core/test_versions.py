"""Estimators that another version of skmohn has stored."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import skmohn
from skmohn import (
    BLMClassifier,
    EnergyNetImputer,
    EnergyNetTransformer,
    MOHNDensity,
    MOHNRegressor,
)
from skmohn._core import _estimator

MODELS = [
    MOHNRegressor("full", max_order=1),
    MOHNDensity(random_state=0),
    BLMClassifier((2,), max_flips=10, random_state=0),
    EnergyNetImputer(EnergyNetTransformer(None, [2], n_final_epochs=1)),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_another_version_is_warned_of(model, monkeypatch):
    X = np.random.default_rng(0).choice([0.0, 1.0], (30, 3))
    model = clone(model).fit(X, X[:, 0].astype(int))
    file = pickle.dumps(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for same in (pickle.loads(file), copy.deepcopy(model)):
            assert vars(same).keys() == vars(model).keys()
    monkeypatch.setattr(_estimator, "__version__", "99.0")
    name = type(model).__name__
    words = f"{name} was saved by skmohn {skmohn.__version__} and is loaded by 99.0"
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        pickle.loads(file)
    # Estimators inside of others have theirs.
    assert any(words in str(warning.message) for warning in record)
