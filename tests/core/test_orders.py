"""Lists that are sets, or arrays with masks, as parameters and arguments."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skmohn import BLMClassifier, EnergyNetTransformer, MOHNGLMRegressor
from skmohn.optimize import maximize

X = np.random.default_rng(0).integers(0, 2, (40, 3)).astype(float)
MASKED = np.ma.array([0.5, 0.5, 0.5], mask=[False, True, False])


@pytest.fixture(scope="module")
def network():
    with pytest.warns(ConvergenceWarning):
        return BLMClassifier((2,), max_flips=5, random_state=0).fit(X, X[:, 0])


@pytest.fixture(scope="module")
def counts():
    return MOHNGLMRegressor("given", terms=[(0,)], C=1.0).fit(X, 2.0 + X[:, 0])


def test_sets_have_no_order(network, counts):
    message = "must have an order, but a set has none"
    with pytest.raises(ValueError, match=f"n_components {message}"):
        EnergyNetTransformer(n_components={2, 3}).fit(X)
    with pytest.raises(ValueError, match=f"one_hot {message}"):
        network.to_c("net", one_hot={(0, 1)})
    with pytest.raises(ValueError, match=f"quantiles {message}"):
        counts.predict_quantiles(X, {0.1, 0.9})
    with pytest.raises(TypeError, match="got a set, which is not an array"):
        network.to_c("net", input_scale={1.0, 2.0, 3.0})


def test_what_is_masked_is_no_value(network, counts):
    with pytest.raises(ValueError, match="Input quantiles contains NaN"):
        counts.predict_quantiles(X, MASKED)
    with pytest.raises(ValueError, match="Input input_scale contains NaN"):
        network.to_c("net", input_scale=MASKED)
    with pytest.raises(ValueError, match="nan"):
        maximize({(0, 1, 2): 1.0}, "hill_climb", x0=np.ma.array(MASKED * 2.0))
