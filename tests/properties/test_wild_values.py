"""One wild value moves what an estimator says of no other sample."""

import numpy as np
import pytest
from sklearn.neural_network import MLPRegressor

from skmohn import BLMClassifier, BLMRegressor, EnergyNetRegressor, EnergyNetTransformer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 2))
Y = X[:, 0] + 0.2 * RNG.normal(size=100)
OTHERS = np.arange(100) != 7
REGRESSORS = {
    "blm": BLMRegressor(random_state=0),
    "energynet": EnergyNetRegressor(
        EnergyNetTransformer(n_components=2, n_final_epochs=5),
        MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs"),
        random_state=0,
    ),
}


def with_wild(values, wild):
    values = values.copy()
    values[(7,) + (0,) * (values.ndim - 1)] = wild
    return values


@pytest.mark.parametrize("wild", [1e4, -1e100])
@pytest.mark.parametrize("name", REGRESSORS)
# What scikit-learn's networks say of steps.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_regressors(name, wild):
    for table, targets in ((with_wild(X, wild), Y), (X, with_wild(Y, wild))):
        predicted = REGRESSORS[name].fit(table, targets).predict(X)
        assert np.corrcoef(predicted[OTHERS], Y[OTHERS])[0, 1] > 0.9


@pytest.mark.parametrize("wild", [1e4, -1e300])
def test_classifiers(wild):
    model = BLMClassifier(random_state=0).fit(with_wild(X, wild), Y > 0.0)
    assert model.score(X, Y > 0.0) > 0.85
