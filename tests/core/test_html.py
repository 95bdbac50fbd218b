"""The table of fitted attributes does not wait for those that take time."""

import numpy as np
import pytest
from sklearn.utils import estimator_html_repr

from skmohn import EnergyNetTransformer, MOHNClassifier, MOHNRegressor

X = np.random.default_rng(0).choice([-1.0, 1.0], (40, 3))
MODELS = [
    (MOHNRegressor("pursuit"), "feature_importances_"),
    (MOHNClassifier(max_order=1), "feature_importances_"),
    (EnergyNetTransformer(None, 2, polish=1), "log_partition_"),
]


@pytest.mark.parametrize(("model", "name"), MODELS)
def test_what_takes_time_is_not_computed_for_the_html(model, name, monkeypatch):
    model.fit(X, np.where(X[:, 0] > 0, 1, 2))
    assert len(getattr(model, name)) > 0
    asked = []
    attribute = getattr(type(model), name)
    slow = type(attribute)(lambda self: asked.append(self) or attribute.fget(self))
    monkeypatch.setattr(type(model), name, slow)
    html = estimator_html_repr(model)
    assert name not in html
    assert not asked
    assert "n_features_in_" in html
    getattr(model, name)
    assert asked == [model]
