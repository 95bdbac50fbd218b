"""Complex numbers: numpy would drop a part of them."""

import numpy as np
import pandas as pd
import pytest

from skmohn import (
    BLMClassifier,
    BLMRegressor,
    EnergyNetClassifier,
    EnergyNetRegressor,
    MOHNClassifier,
    MOHNGLMRegressor,
    MOHNRegressor,
    MOHNTransformer,
)

X = np.random.default_rng(0).normal(size=(20, 3))
Y = (X[:, 0] > 0).astype(int) + 1j
ESTIMATORS = [
    *(BLMClassifier, BLMRegressor, EnergyNetClassifier, EnergyNetRegressor),
    *(MOHNClassifier, MOHNGLMRegressor, MOHNRegressor, MOHNTransformer),
]
FORMS = {
    "array": Y,
    "objects": Y.astype(object),
    "list": Y.tolist(),
    "series": pd.Series(Y),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_complex_targets_are_named(cls, form):
    model = cls()
    with pytest.raises(ValueError, match=r"y has complex numbers.* y\.real"):
        model.fit(X, FORMS[form])
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("cls", [BLMRegressor, EnergyNetRegressor, MOHNRegressor])
def test_complex_targets_of_two_columns_are_named(cls):
    with pytest.raises(ValueError, match=r"y has complex numbers.* y\.real"):
        cls().fit(X, np.column_stack([Y, Y.real]))


def test_complex_columns_weights_and_validation_targets_are_named():
    model, y = MOHNRegressor(), Y.real
    with pytest.raises(ValueError, match=r"X has complex numbers.* X\.imag"):
        model.fit(X + 1j, y)
    with pytest.raises(ValueError, match="sample_weight has complex numbers"):
        model.fit(X, y, sample_weight=np.ones(20) + 1j)
    for times in (np.arange(20).astype("M8[D]"), np.arange(20).astype("m8[s]")):
        with pytest.raises(
            TypeError, match=r"sample_weight has .*64.*, but weights must be num"
        ):
            model.fit(X, y, sample_weight=times)
    with pytest.raises(ValueError, match=r"y_val has complex .* y_val\.real"):
        model.fit(X, y, X_val=X, y_val=Y)
    with pytest.raises(ValueError, match=r"could not convert .*complex"):
        model.fit(X, np.array(["complex", *y[1:]], dtype=object))
